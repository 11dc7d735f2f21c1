/* SPDX-License-Identifier: BSD-2-Clause */
/* Thousands of requests that wait for one lock, each on a connection of its own. */
#ifndef REDLOCK_BENCH_SERVICE_CROWD_H
#define REDLOCK_BENCH_SERVICE_CROWD_H

#include <stdint.h>

struct crowd {
    int *fds;
    unsigned count;
    int64_t began_ns;
};

/* The daemon counts them as waiting when it returns. */
void crowd_open(struct crowd *crowd, const char *address, unsigned count);
void crowd_close(struct crowd *crowd, const char *address);

/* How many requests wait, as the daemon's metrics have it. */
unsigned crowd_waiting(const char *address);

#endif
