/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A case with servers and clients:
 *
 *     CASE_ON(extends, "An extension moves the deadline.", .nodes = 5)
 *     {
 *         redlock_lock *lock = client_lock(r, "x", 20000);
 *         server_kill(&c->node[0]);
 *         CHECK_OK(redlock_extend(lock, 30000));
 *     }
 *
 * Its body finds the running servers in `c`, a client of all of them in `r`, and with
 * `.clients = 2` a second one in `other`; in CASE_NODES() it opens its clients itself. When it
 * ends, locks that still have time left are released, which must succeed, and everything is
 * freed, closed and stopped. A body that closes a client itself uses client_close(), and frees
 * that client's locks.
 *
 * With `.quorums = 2` there are so many quorums of `.nodes` each, in `fleet` (fleet.h).
 *
 * `.also = {REDLOCK_THREAD}` runs the body once more, with new servers and clients of these
 * `flags` instead of `.flags`.
 */
#ifndef REDLOCK_TESTS_FIXTURE_H
#define REDLOCK_TESTS_FIXTURE_H

#include "check.h"
#include "client.h"
#include "clock.h"

enum { NO_CLIENT = -1 };

struct fixture {
    const char *intent;
    size_t nodes;   /* 0: three */
    size_t quorums; /* 0: the nodes are of no quorum with a name */
    void (*start)(struct cluster *c, size_t nodes); /* NULL: cluster_start() */
    bool young;                                     /* the nodes may not vote yet */
    const char *max_ttl_ms;                         /* of their markers; NULL: a minute */
    int clients;                                    /* 0: one; NO_CLIENT: none */
    uint32_t flags;                                 /* of the clients */
    uint32_t also[3];                               /* of those of further runs */
    uint32_t node_timeout_ms;                       /* 0: PATIENT_MS */
    void (*notify)(void *data);                     /* of the clients */
};

struct fleet;
typedef void fixture_body(struct cluster *c, struct fleet *fleet, redlock *r, redlock *other,
                          uint32_t flags);

/* The build system greps for this as well, see CASE(). */
#define CASE_ON(name, ...)                                                                     \
    static fixture_body name;                                                                  \
    static const struct fixture fixture_of_##name = {.intent = __VA_ARGS__};                   \
    static void run_##name(void)                                                               \
    {                                                                                          \
        fixture_run(&fixture_of_##name, name);                                                 \
    }                                                                                          \
    __attribute__((constructor)) static void register_##name(void)                             \
    {                                                                                          \
        fixture_register(#name, &fixture_of_##name, run_##name);                               \
    }                                                                                          \
    static void name(UNUSED struct cluster *c, UNUSED struct fleet *fleet, UNUSED redlock *r,  \
                     UNUSED redlock *other, UNUSED uint32_t flags)
#define UNUSED __attribute__((unused))

/* Servers only. */
#define CASE_NODES(name, ...) CASE_ON(name, __VA_ARGS__, .clients = NO_CLIENT)

/* Its body is one call, for tables of cases that differ by data; options must follow. */
#define CASE_OF_ON(name, intent, call, ...)                                                    \
    CASE_ON(name, intent, __VA_ARGS__)                                                         \
    {                                                                                          \
        call;                                                                                  \
    }                                                                                          \
    static fixture_body name

void fixture_register(const char *name, const struct fixture *f, void (*run)(void));
void fixture_run(const struct fixture *f, fixture_body *body);

#endif
