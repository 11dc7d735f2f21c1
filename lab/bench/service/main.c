/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the service costs, each row beside its floor in one run: short rounds of all rows in
 * turn, the median of each figure, and of each ratio within a round, since what else the
 * machine does changes from second to second.
 *
 * usage: REDLOCK_NODES=... redlock-bench-service REDLOCKD DIRECTORY [ROUNDS [PART]]
 *
 * DIRECTORY exists and is the caller's: sockets, logs and the data of etcd go there.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lab/stats/series.h"
#include "parts.h"

#define ROUNDS_DEFAULT 12

static const struct part {
    const char *name;
    void (*run)(struct bench *bench);
} parts[] = {
    {"floors", part_floors},
    {"crowd", part_crowd},
    {"classes", part_classes},
    {"etcd", part_etcd},
};

/* 10,000 connections have two ends here: one in this process, one in the daemon. */
static void raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    static struct bench bench;

    if (argc < 3 || argc > 5 || !getenv("REDLOCK_NODES"))
        errx(64, "usage: REDLOCK_NODES=... redlock-bench-service REDLOCKD DIRECTORY [ROUNDS "
                 "[PART]]");
    bench.redlockd = argv[1];
    bench.directory = argv[2];
    bench.rounds = argc > 3 ? atoi(argv[3]) : ROUNDS_DEFAULT;
    if (bench.rounds < 1 || bench.rounds > ROUNDS_MAX)
        errx(64, "rounds: from 1 to %d", ROUNDS_MAX);
    raise_limit();
    bench_open(&bench);
    table_begin(bench.rounds);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc < 5 || strcmp(argv[4], parts[i].name) == 0)
            parts[i].run(&bench);
    bench_close(&bench);
    return table_end();
}
