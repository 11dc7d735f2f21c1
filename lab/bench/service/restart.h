/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon is replaced again and again under load, on a socket that stays open. */
#ifndef REDLOCK_BENCH_SERVICE_RESTART_H
#define REDLOCK_BENCH_SERVICE_RESTART_H

struct restart_result {
    unsigned restarts;
    unsigned long renewals, cycles; /* that went well */
    unsigned long refused;          /* connections */
    unsigned long lost;             /* leases that were gone before the client gave them back */
    unsigned long again; /* requests that got no answer or 503, and were sent again */
    double longest_ms;   /* from a request's first try to its answer */
};

/* directory: for socket and log. */
void restart_run(const char *redlockd, const char *directory, unsigned restarts,
                 struct restart_result *result);

#endif
