/* SPDX-License-Identifier: BSD-2-Clause */
/* R: the library driven asynchronously in this process, with the requests that
 * redlockd would make. */
#ifndef REDLOCK_BENCH_SERVICE_LIBRARY_H
#define REDLOCK_BENCH_SERVICE_LIBRARY_H

#include <stdint.h>

#include "redlock.h"
#include "samples.h"

struct library_result {
    uint64_t cycles;
    double cpu_us; /* of this process */
    double seconds;
    struct samples acquire_us;
};

/* As many at a time as `callers`, each with a lock of its own. Adds to the result. */
void library_run(redlock *client, unsigned callers, int64_t duration_ns,
                 struct library_result *result);

#endif
