/* SPDX-License-Identifier: BSD-2-Clause */
/* The scripts of the kinds, called on one server by hand. Names are given without prefix. */
#ifndef REDLOCK_TESTS_SCRIPT_CALLS_H
#define REDLOCK_TESTS_SCRIPT_CALLS_H

#include "check.h"
#include "servers.h"

/*
 * What the scripts that take a lock are asked; NULL: what a first attempt on a mutex would
 * send. kind: m mutex, s shared, o re-entrant (owner), k semaphore.
 */
struct take {
    const char *name; /* one, or several separated by commas; "x" by default */
    const char *value, *ttl, *kind, *group, *slot, *fence_life, *identity, *waiter, *ticket,
        *life, *incarnation; /* "i1" by default */
};

/* What acquire.lua is asked. */
struct acquire {
    const char *value, *incarnation; /* "": unknown */
    bool in_doubt, strict;
};

struct give {
    const char *name;
    const char *value;  /* NULL: leave.lua, which only leaves the queue */
    const char *waiter; /* "" by default */
    const char *ticket; /* to be put back in its place; NULL: to leave the queue */
};

/* The server of the case, started by begin() (see CASES_BEGIN_WITH()), and its clock then. */
extern struct server node;
extern long long begun_us;
void begin(void);

/* Every kind: m, s, o, k. With group "2" and slot "1": a reader, an owner, one of two slots. */
#define FOR_KINDS(kind)                                                                        \
    for (const char *const *kind##_at = script_kinds, *kind; (kind = *kind##_at) != NULL;      \
         kind##_at++)
extern const char *const script_kinds[];

/* The name "x" on that server. */
#define KEY "redlock:x"

/* A time that is running out: some of it has gone by, and not half of it. */
#define CHECK_LEFT(ms, actual) CHECK_BETWEEN((ms) / 2, ms, actual)

#define TAKE(...) call_take(&node, (struct take){__VA_ARGS__})
#define GRANTED(...) CHECK_INT(1, part_int(TAKE(__VA_ARGS__), 0))
#define REFUSED(...) CHECK_INT(0, part_int(TAKE(__VA_ARGS__), 0))
#define GIVE(...) call_give(&node, (struct give){__VA_ARGS__})
long long pttl(const char *key);

/* Replies as server_cmd() gives them: elements one per line. */
const char *call_take(const struct server *s, struct take t);
/* wait.lua: a mutex of one name, with a waiter. What it leaves out of its reply is added. */
const char *call_wait(const struct server *s, struct take t);
const char *call_acquire(const struct server *s, struct acquire a);
const char *call_give(const struct server *s, struct give g);

/* name: one, or several separated by commas. */
const char *call_renew(const struct server *s, const char *names, const char *value,
                       const char *ttl);
const char *call_align(const struct server *s, const char *names, const char *value,
                       const char *token);
const char *call_ticket(const struct server *s, const char *names);
const char *call_look(const struct server *s, const char *name);
const char *call_peek(const struct server *s, const char *name);
const char *call_break(const struct server *s, const char *name, const char *fingerprint);

/* value "": releases nothing and only wakes waiters. */
const char *call_release(const struct server *s, const char *name, const char *value);

/* Element `index` of a reply; empty past the last. Valid for 8 calls. */
const char *part(const char *reply, int index);
long long part_int(const char *reply, int index);
int part_count(const char *reply);

/*
 * CHECK_PARTS("#7, 0=1, 1~5000", reply): seven elements, element 0 is "1", and element 1 is a
 * time running out, as CHECK_LEFT() has it.
 */
#define CHECK_PARTS(expected, reply) check_parts(__FILE__, __LINE__, expected, reply)
void check_parts(const char *file, int line, const char *expected, const char *reply);

/* The server's clock in milliseconds. */
long long server_now_ms(const struct server *s);

#endif
