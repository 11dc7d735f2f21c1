/* SPDX-License-Identifier: BSD-2-Clause */
/* What nearly every test does with the library itself. */
#ifndef REDLOCK_TESTS_CLIENT_H
#define REDLOCK_TESTS_CLIENT_H

#include "events.h"
#include "servers.h"

/* Node timeout of tests that are not about time: a slow machine must not look like a fault. */
enum { PATIENT_MS = 2000 };

/* For tests in which a node hangs and must not be waited for: longer than SOON_MS. */
enum { FAR_MS = 20000 };

/*
 * The longest TTL that nodes allow by default. A quarter of it is what a node has to answer at
 * most, and more than SOON_MS; and a key that is left behind is still there after GIVE_UP_MS.
 */
enum { LONG_TTL_MS = 60000 };

/* A TTL that is renewed in time on a machine that is seconds late. */
enum { RENEWED_TTL_MS = 6000 };

/* The cluster's nodes, patient, with quick retries; prefix and the rest by default. */
redlock_options client_options(const struct cluster *c);

/*
 * What the functions of this file open is closed at the end of the case. Locks that are held
 * then are released first, which must succeed.
 */
redlock *client_open(const struct cluster *c, uint32_t flags);
redlock *client_open_with(const redlock_options *options);

/* With these fields of the options; those of client_options() where they are 0. */
redlock *client_open_as(const struct cluster *c, redlock_options o);
#define CLIENT_OPEN(c, ...) client_open_as(c, (redlock_options)REDLOCK_OPTIONS(__VA_ARGS__))

/* Before the end of the case. */
void client_close(redlock *r);

/* Open and warm: every node is connected, so what is sent reaches all of them at once. */
redlock *client_open_warm(const struct cluster *c, uint32_t flags);

/*
 * For tests about the per-node deadline. A loaded machine trips over the default of 50 ms now
 * and then: where every vote of the living nodes is needed, STEADY_MS is short enough too.
 */
enum { DEFAULT_MS = 50, STEADY_MS = 1000 };
redlock *client_open_hasty(const struct cluster *c, uint32_t flags, uint32_t node_timeout_ms);

/* Starts a cluster of `count` nodes and opens a client of it, warm. */
redlock *client_start(struct cluster *c, size_t count, uint32_t flags);
redlock *client_start_hasty(struct cluster *c, size_t count, uint32_t flags,
                            uint32_t node_timeout_ms);

/* Returns once every node of every quorum answered one round of pings; fails the case after
 * GIVE_UP_MS. */
void client_warm(redlock *r);

/* Returns once `count` nodes answered one round of pings; fails the case after GIVE_UP_MS. */
void client_warm_nodes(redlock *r, int count);

/* Pings once. How many nodes answered, of node_count (may be NULL). */
int client_ping(redlock *r, uint32_t *node_count);

/* What the client knows of a node. */
redlock_node_info client_node(redlock *r, size_t node);

/* What the nodes say about a name, or a failed case. */
redlock_info client_query(redlock *r, const char *name);

/* A held lock or a failed case. */
redlock_lock *client_lock(redlock *r, const char *name, int64_t ttl_ms);
redlock_lock *client_lock_as(redlock *r, const char *name, int64_t ttl_ms, redlock_request q);

/* By a request with these fields. */
#define CLIENT_LOCK(r, name, ttl_ms, ...)                                                      \
    client_lock_as(r, name, ttl_ms, (redlock_request)REDLOCK_REQUEST(__VA_ARGS__))

/* The handle of a request that was started. */
redlock_lock *client_start_as(redlock *r, const char *name, int64_t ttl_ms, redlock_request q);
#define CLIENT_START(r, name, ttl_ms, ...)                                                     \
    client_start_as(r, name, ttl_ms, (redlock_request)REDLOCK_REQUEST(__VA_ARGS__))

/* A lock held on exactly `count` nodes of the cluster, the last of them a moment later. */
redlock_lock *client_lock_on(redlock *r, const struct cluster *c, int count, const char *name,
                             int64_t ttl_ms);

/* Releases and frees: must succeed. */
void client_unlock(redlock_lock *lock);

/* Tries once; the outcome, with nothing left held by us. */
int client_try(redlock *r, const char *name, int64_t ttl_ms);
int client_try_as(redlock *r, const char *name, int64_t ttl_ms, redlock_request q);
#define CLIENT_TRY(r, name, ttl_ms, ...)                                                       \
    client_try_as(r, name, ttl_ms, (redlock_request)REDLOCK_REQUEST(__VA_ARGS__))

/* Acquires, waits until the key is on `wanted` nodes, releases; false:
 * not within GIVE_UP_MS. */
bool client_recovers(redlock *r, const struct cluster *c, int wanted);

int report_votes(const redlock_report *report, int vote);

/* Until so many votes more than needed hold it; false as wait_until(). */
bool client_await_margin(const redlock_lock *lock, int wanted);

/* Printed in failures; NULL: of no report. */
const char *report_text(const redlock_report *report);

/* Open descriptors of this process. */
int count_descriptors(void);

/* Peak resident memory of this process in KiB, and forgetting the old peak. */
long memory_peak_kib(void);
void memory_forget_peak(void);

#endif
