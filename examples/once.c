/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A job of a fleet: every machine starts this program, and it works on one of them in a period.
 *
 *     redlock dev -c 3 -- ./once [NAME [PERIOD_MS]]
 *
 * Status 0: it has worked. 75, as that of `redlock run --every`: another has, in this period.
 */
#include <redlock.h>
#include <stdio.h>
#include <stdlib.h>

#include "once.h"

#define STATUS_BUSY 75

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS(.flags = REDLOCK_THREAD);
    struct once job = {
        .name = argc > 1 ? argv[1] : "example:once",
        .label = "example once",
        .ttl_ms = 10000,
        .period_ms = argc > 2 ? atoll(argv[2]) : 60000,
    };
    int error = redlock_open(&options, &job.client);

    if (error == REDLOCK_OK)
        error = once_open_records(&options, job.period_ms, &job.records);
    if (error == REDLOCK_OK)
        error = once_begin(&job);
    if (error == REDLOCK_OK) {
        printf("this machine works\n");
        error = once_end(&job);
    } else if (error == REDLOCK_BUSY)
        printf("another has worked in this period, or works\n");
    if (error != REDLOCK_OK && error != REDLOCK_BUSY)
        fprintf(stderr, "%s: %s\n", redlock_strerror(error), redlock_detail());
    redlock_close(job.records);
    redlock_close(job.client);
    return error == REDLOCK_OK ? 0 : error == REDLOCK_BUSY ? STATUS_BUSY : 1;
}
