/* SPDX-License-Identifier: BSD-2-Clause */
/* How long after kill -9 of a client the nodes know nothing of it any more. */
#ifndef REDLOCK_BENCH_SERVICE_DEATHS_H
#define REDLOCK_BENCH_SERVICE_DEATHS_H

#include <stdbool.h>

#include "bench/latency.h"

/* A client that waits in the queue of a lock that is held; or one that holds a lock by
 * its open stream. */
enum death { DEATH_OF_WAITER, DEATH_OF_STREAM };

/* `count` times. False: the daemon does not serve such requests. */
bool deaths_run(enum death kind, const char *address, unsigned count, struct latency *took);

#endif
