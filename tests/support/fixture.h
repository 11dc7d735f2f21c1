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
 * `.clients = 2` a second one in `other`. When it ends, locks that are still held are released,
 * which must succeed, and everything is freed, closed and stopped. A body that frees or closes
 * something itself uses redlock_lock_free() and client_close().
 */
#ifndef REDLOCK_TESTS_FIXTURE_H
#define REDLOCK_TESTS_FIXTURE_H

#include "check.h"
#include "client.h"

enum { NO_CLIENT = -1 };

struct fixture {
    const char *intent;
    size_t nodes;                                         /* 0: three */
    void (*start)(struct cluster *cluster, size_t nodes); /* NULL: cluster_start() */
    int clients;                                          /* 0: one; NO_CLIENT: none */
    uint32_t flags;                                       /* of the clients */
    uint32_t node_timeout_ms;                             /* 0: PATIENT_MS */
};

typedef void fixture_body(struct cluster *c, redlock *r, redlock *other);

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
        check_register(#name, fixture_of_##name.intent, run_##name);                           \
    }                                                                                          \
    static void name(__attribute__((unused)) struct cluster *c,                                \
                     __attribute__((unused)) redlock *r,                                       \
                     __attribute__((unused)) redlock *other)

void fixture_run(const struct fixture *f, fixture_body *body);

#endif
