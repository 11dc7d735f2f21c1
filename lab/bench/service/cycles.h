/* SPDX-License-Identifier: BSD-2-Clause */
/* Acquire and release, as the two servers want it. Every caller has a lock of its own. */
#ifndef REDLOCK_BENCH_SERVICE_CYCLES_H
#define REDLOCK_BENCH_SERVICE_CYCLES_H

#include "clients.h"

/* PUT and DELETE. The HTTP layer that answers at once takes the same bytes. */
extern const struct cycle cycle_redlockd;

/* etcd's JSON gateway: a lease, the lock under it, unlock; and the same with the lease of
 * the last time. */
extern const struct cycle cycle_etcd;
extern const struct cycle cycle_etcd_kept;

/* A PUT that waits as long as a plain request may, for the lock that the benchmark holds. */
size_t cycles_write_wait(unsigned number, char *out, size_t size);
#define CYCLES_HELD "bench:held"

#endif
