/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the library and Python: no Python runs inside a callback of the library.
 *
 * The callbacks of the library run inside redlock_process() or on its I/O thread. Those of op.c
 * note what happened in the operation that it happened to and put that operation into the client's
 * list of news. Python takes the news out, many with one call: after redlock_process() in an event
 * loop, in a thread of the binding otherwise. So the I/O thread never waits for the interpreter's
 * lock and touches nothing of an interpreter that is shutting down.
 */
#ifndef RLPY_SHIM_H
#define RLPY_SHIM_H

#include <redlock.h>

/* What happened to an operation; several may have happened since it was last looked at. */
enum rlpy_news {
    RLPY_DONE = 1,     /* it ended; number: enum redlock_error. Threads wait for this instead */
    RLPY_LOST = 2,     /* the lock is gone; number: enum redlock_error */
    RLPY_JEOPARDY = 4, /* a renewal failed, or succeeded again; number: enum redlock_error */
    RLPY_QUEUED = 8,   /* number: the place in the queue */
    RLPY_WARNING = 16  /* about a node, id 0; number: the address of an rlpy_warning */
};

#define RLPY_NEWS_FIELDS 3 /* id, enum rlpy_news, number */

typedef struct rlpy_client rlpy_client;

/* A lock with its handle, or a question; Python knows it by its id. */
typedef struct rlpy_op rlpy_op;

typedef struct rlpy_warning {
    char *address;
    char *text;
} rlpy_warning;

/* A check of an audit, copied. */
typedef struct rlpy_check {
    int verdict;
    char *address;
    char *name;
    char *text;
    char *remedy;
    char *quorum;
} rlpy_check;

/* The error of the last call of this thread below that returned NULL. */
int rlpy_error(void);

/* Opens a client; options->warn is set here. NULL: rlpy_error() and redlock_detail(). */
rlpy_client *rlpy_open(const redlock_options *options);

/* redlock_close(), once. Waiting threads get CANCELED. */
void rlpy_close(rlpy_client *client);

/* The memory goes with the last operation of the client. Closes it before, if it is open. */
void rlpy_client_free(rlpy_client *client);

int rlpy_fd(rlpy_client *client);

/*
 * redlock_process() without waiting, then up to `max` news into `out`, RLPY_NEWS_FIELDS numbers for
 * each. Returns how many; `max` means that there may be more. A negative error of the library.
 */
int rlpy_turn(rlpy_client *client, int64_t *out, int max);

/* The news alone, without redlock_process(). */
int rlpy_take(rlpy_client *client, int64_t *out, int max);

/* For a thread: sleeps until there is news or rlpy_stop_news() was called; 0 after that. */
int rlpy_await_news(rlpy_client *client);
void rlpy_stop_news(rlpy_client *client);

void rlpy_warning_free(rlpy_warning *warning);

/*
 * An operation that nothing was started for yet, to be ended by rlpy_free(). Python has it in its
 * hands before a lock can be held through it: an interrupt between the two leaks nothing.
 */
rlpy_op *rlpy_new(rlpy_client *client, int64_t id);

/*
 * redlock_start(). `terms` may be NULL; of it counts what is not given here, and no callback.
 * `tells_place`: RLPY_QUEUED is wanted.
 */
int rlpy_start(rlpy_op *op, const char *name, size_t name_length, int64_t ttl_ms,
               int64_t wait_ms, uint32_t flags, const redlock_request *terms, int tells_place);

/* redlock_adopt_as() */
int rlpy_adopt(rlpy_op *op, const char *name, const char *value, const redlock_request *terms);

enum rlpy_question {
    RLPY_QUERY,
    RLPY_LIST,
    RLPY_BREAK,
    RLPY_RELEASE_TAGGED,
    RLPY_PING,
    RLPY_ADMIT,
    RLPY_AUDIT
};

/* `word`: the mark or the tag. `quorum`: which one alone; -1: the whole client. */
int rlpy_ask(rlpy_op *op, int question, const char *name, const char *word, int64_t ttl_ms,
             int quorum);

int rlpy_start_extend(rlpy_op *op, int64_t ttl_ms);
int rlpy_start_release(rlpy_op *op);

/* redlock_cancel(): from any thread. */
int rlpy_cancel(rlpy_op *op);

/*
 * For a thread: sleeps until the operation has ended. 0: it has. 1: a signal came, or slice_ms
 * (-1: no limit) have passed.
 */
int rlpy_wait(rlpy_op *op, int slice_ms);

/* How the last operation ended, and what redlock_detail() said of it and of the loss. */
int rlpy_outcome(const rlpy_op *op);
const char *rlpy_detail(const rlpy_op *op);
const char *rlpy_lost_detail(const rlpy_op *op);

/* redlock_lock_free() or redlock_forget(), and the memory: from any thread, at any time. */
void rlpy_free(rlpy_op *op);

/* redlock_lock_leave(), and the memory. */
void rlpy_leave(rlpy_op *op);

int64_t rlpy_remaining_ms(const rlpy_op *op);
int64_t rlpy_deadline_ns(const rlpy_op *op);
int rlpy_state(const rlpy_op *op);
int64_t rlpy_fence(const rlpy_op *op);
int rlpy_position(const rlpy_op *op);
int rlpy_slot(const rlpy_op *op);
int rlpy_margin(const rlpy_op *op);
const char *rlpy_value(const rlpy_op *op);
int rlpy_report(const rlpy_op *op, redlock_report *out);

/* What a question found; NULL and 0: nothing of that. The memory is the operation's. */
const redlock_info *rlpy_answer_info(const rlpy_op *op);
const redlock_report *rlpy_answer_report(const rlpy_op *op);
size_t rlpy_answer_count(const rlpy_op *op);
const char *rlpy_answer_name(const rlpy_op *op, size_t index);
const rlpy_check *rlpy_answer_check(const rlpy_op *op, size_t index);

int rlpy_node(rlpy_client *client, size_t index, redlock_node_info *out);
int rlpy_stats(rlpy_client *client, redlock_stats *out);
int rlpy_quorum_of(rlpy_client *client, const char *name);

/* How many operations exist in this process: what tests count. */
int64_t rlpy_op_count(void);

#endif
