/* SPDX-License-Identifier: BSD-2-Clause */
/* What nearly every test does with the library itself. */
#ifndef REDLOCK_TESTS_CLIENT_H
#define REDLOCK_TESTS_CLIENT_H

#include "servers.h"

/* Node timeout of tests that are not about time: a slow machine must not look like a fault. */
enum { PATIENT_MS = 2000 };

/* The cluster's nodes, patient, with quick retries; prefix and the rest by default. */
redlock_options client_options(const struct cluster *c);

redlock *client_open(const struct cluster *c, uint32_t flags);
redlock *client_open_with(const redlock_options *options);

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

/* Returns once every node answered one round of pings; fails the case after 10 s. */
void client_warm(redlock *r);

/* Returns once `count` nodes answered one round of pings; fails the case after 10 s. */
void client_warm_nodes(redlock *r, int count);

/*
 * Acquires like redlock_acquire(). Nodes that timed out while the machine was late (pulse.h) are
 * asked again: a node has a quarter of the TTL to answer, which is little if the TTL is.
 */
int client_acquire(redlock *r, const char *name, int64_t ttl_ms, const redlock_request *q,
                   redlock_lock **lock);

/* A held lock or a failed case. */
redlock_lock *client_lock(redlock *r, const char *name, int64_t ttl_ms);

/* A lock held on exactly `count` nodes of the cluster, the last of them a moment later. */
redlock_lock *client_lock_on(redlock *r, const struct cluster *c, int count, const char *name,
                             int64_t ttl_ms);

/* Releases and frees: must succeed. */
void client_unlock(redlock_lock *lock);

/*
 * Tries once, with a short TTL like client_acquire(); the outcome, with nothing left held by us.
 */
int client_try(redlock *r, const char *name, int64_t ttl_ms);

/* Acquires, waits until the key is on `wanted` nodes, releases; false: not within the time. */
bool client_recovers(redlock *r, const struct cluster *c, int wanted, int64_t timeout_ms);

/* What a done or lost callback was told, and how often: {0} at first. */
struct result {
    _Atomic int calls;
    _Atomic int error; /* of the last call */
};

/* The callback itself, with a struct result as its data. */
void result_note(redlock_lock *lock, int error, void *result);
bool result_is_told(void *result); /* for wait_until() */

int report_votes(const redlock_report *report, int vote);

/* Until so many votes more than needed hold it; false: not within the time. */
bool client_await_margin(const redlock_lock *lock, int wanted, int64_t timeout_ms);

/* Printed in failures. */
const char *report_text(const redlock_report *report);

/* Open descriptors of this process. */
int count_descriptors(void);

/* Peak resident memory of this process in KiB, and forgetting the old peak. */
long memory_peak_kib(void);
void memory_forget_peak(void);

#endif
