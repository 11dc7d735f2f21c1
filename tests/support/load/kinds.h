/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks of every kind: asking for them, and what they leave on the nodes. */
#ifndef REDLOCK_TESTS_KINDS_H
#define REDLOCK_TESTS_KINDS_H

#include "servers.h"

#include <redlock.h>

/* What the tests request under one heading: every kind, and a mutex of several names. */
enum shape {
#define SHAPE_OF_KIND(name, number, text) SHAPE_##name = (number),
    REDLOCK_KINDS(SHAPE_OF_KIND)
#undef SHAPE_OF_KIND
        SHAPE_SEVERAL,
    SHAPES,
};

const char *shape_text(enum shape shape);
/* REDLOCK_KIND_ bits of its kind. */
uint32_t shape_traits(enum shape shape);
/* Is the same request granted again while it is held? */
bool shape_may_be_held_twice(enum shape shape);

/* Does what follows for every shape, and prints which: a failure comes behind it. */
#define FOR_SHAPES(each)                                                                       \
    for (enum shape each = SHAPE_MUTEX; each < SHAPES && shape_announce(each); each++)
bool shape_announce(enum shape shape);

/*
 * A request of that shape, tried once: owner "owner-a", two slots, and beside the name that is
 * given to the call the names "y" and "z".
 */
redlock_request shape_request(enum shape shape);

/* A request that excludes the shape's holder: another owner, or a mutex. */
redlock_request shape_rival(enum shape shape);

redlock_request reader_request(void);
redlock_request owner_request(const char *owner);
redlock_request slots_request(uint32_t slots);

/* A request under way. */
struct kind_waiter {
    redlock *client;
    redlock_lock *lock;
};

void kind_start(redlock *r, const char *name, int64_t ttl_ms, redlock_request q,
                int64_t wait_ms, struct kind_waiter *w);

/* Its outcome is the next event of its client. */
#define KIND_EXPECT(error, w) EXPECT((w).client, ACQUIRED, error, (w).lock)

/* On how many running nodes `value` holds `name` (prefix redlock:), whatever the kind. */
int kind_count_holds(const struct cluster *c, const char *name, const char *value);
bool kind_await_holds(const struct cluster *c, const char *name, const char *value, int wanted);

/* Waits until no node has a lock, a queue or a waiter of any name: fence counters may stay. */
bool kind_await_clean(const struct cluster *c);

/* Prints every key of every node: call it before failing over them. */
void kind_print(const struct cluster *c);

/* REDLOCK_TEST_SEED, or a random one; printed, so that a failure can be repeated. */
unsigned seed_choose(void);
int seed_draw(unsigned *seed, int low, int high);

#endif
