/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One scheduler on many machines, each of which runs this program: the one that leads prints
 * the jobs, with its term, for as long as it leads. `REDLOCK_NODES=... ./scheduler`; with a
 * number, it resigns for good after so many jobs.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lead.h"

/* `data` counts the jobs that are left to be done. */
static bool act(struct lead *l, void *data)
{
    long *left = data;

    for (; lead_may_act(l) && *left > 0; --*left, sleep(1))
        printf("term %" PRId64 ": a job\n", l->term), fflush(stdout);
    return *left > 0;
}

int main(int argc, char **argv)
{
    redlock_options options = REDLOCK_OPTIONS(.flags = REDLOCK_THREAD);
    struct lead lead = {.name = "example:scheduler", .ttl_ms = 10000};
    long left = argc > 1 ? atol(argv[1]) : LONG_MAX;
    int error = redlock_open(&options, &lead.client);

    if (error != REDLOCK_OK || (error = lead_run(&lead, act, &left)) != REDLOCK_OK)
        fprintf(stderr, "scheduler: %s\n", redlock_detail());
    redlock_close(lead.client);
    return error == REDLOCK_OK ? 0 : 1;
}
