/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a function in a process of its own and counts the system calls that it makes between two
 * marks (cost_own.h), its threads' included. A seccomp filter stops each call once for us, the
 * tracer; nothing is counted that stays in the process, as reading the clock does.
 */
#ifndef REDLOCK_TESTS_COST_COUNTS_H
#define REDLOCK_TESTS_COST_COUNTS_H

#include "servers.h"

/* One line per name that is counted by itself: name, printable word. */
#define TRACE_CALLS(X)                                                                         \
    X(SEND, "send")                                                                            \
    X(RECEIVE, "recv")                                                                         \
    X(EPOLL_WAIT, "epoll_wait")                                                                \
    X(TIMER, "timerfd_settime")                                                                \
    X(READ, "read")                                                                            \
    X(WRITE, "write")                                                                          \
    X(FUTEX, "futex")                                                                          \
    X(OTHER, "other calls")

enum trace_call {
#define TRACE_ENUM(name, text) TRACE_##name,
    TRACE_CALLS(TRACE_ENUM)
#undef TRACE_ENUM
        TRACE_CALL_COUNT,
};

enum { TRACE_NUMBERS_MAX = 1024 };

struct trace {
    long calls[TRACE_CALL_COUNT];
    long others[TRACE_NUMBERS_MAX]; /* by number: which the others were */
    /* Called while the traced process stands still at its first and its second mark. */
    void (*at_begin)(void *data);
    void (*at_end)(void *data);
    void *data;
};

/* Fails the case when `run` does not reach both marks and end well; skips it without rights. */
void trace_run(struct trace *trace, void (*run)(void *), void *argument);

/*
 * What the nodes have received, sent and executed by their own count. Asking adds to that, but
 * by an amount that is known to the byte and taken off again.
 */
struct node_counts {
    long long bytes_in;  /* from clients */
    long long bytes_out; /* to clients */
    long long commands;  /* executed, within scripts too */
    char text[4096];     /* "name calls" per line */
};

struct node_eyes;

struct node_eyes *node_eyes_open(const struct server *server);

/* Counts since the last call; the first one answers nothing of use. */
void node_eyes_look(struct node_eyes *eyes, struct node_counts *out);

#endif
