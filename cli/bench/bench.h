/* SPDX-License-Identifier: BSD-2-Clause */
/* What `redlock bench` is to measure, and what it has measured. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench/display.h"
#include "bench/latency.h"
#include "settings/settings.h"

#define BENCH_CALLERS_MAX 10000
#define BENCH_CLIENTS_MAX 64
#define BENCH_PREFIX_MAX 24 /* "redlock-bench-1a2b3c4d:" and its terminator */
#define BENCH_ERRORS 16     /* numbers of enum redlock_error, without their sign */

struct bench_plan {
    long callers, clients;
    int64_t duration_ms;           /* 0: no limit */
    long count;                    /* locks to request; 0: no limit */
    double rate;                   /* locks to request per second; 0: as fast as they come */
    bool one_name;                 /* all callers want the same lock */
    bool fence, fair;              /* flags of every request */
    int64_t hold_ms;               /* between acquire and release */
    int64_t ttl_ms, wait_ms;       /* of every request */
    char prefix[BENCH_PREFIX_MAX]; /* of the names */
};

/* How long something took, each time. */
struct bench_timing {
    struct latency spread;
    int64_t min_ns, max_ns; /* exact; meaningless while the spread is empty */
    double sum_ns;
};

/* One node, by the reports of a sample of the acquisitions. */
struct bench_node {
    char address[REDLOCK_ADDRESS_MAX];
    char quorum_name[REDLOCK_QUORUM_MAX + 1]; /* empty: there is but one */
    uint64_t in_time;                         /* answered before the acquisition was decided */
    uint64_t late;                            /* it was decided without */
    uint64_t failed; /* anything else: refused, timed out, in quarantine... */
    int32_t vote;    /* the last of those */
    struct latency rtt;
};

/*
 * Everything that was counted. asked = locks + failures (of both operations) + unfinished once
 * the run is over; acquire.spread.count = locks + failures of releases.
 */
struct bench_result {
    int64_t elapsed_ns; /* up to the end of the last lock */
    int64_t cpu_ns;     /* of this process, meanwhile */
    uint64_t asked;
    uint64_t locks;       /* acquired and released, each by a majority */
    uint64_t unfinished;  /* waits that the end of the run cut short */
    uint64_t never_asked; /* due by the rate, but every caller was busy until the end */
    uint64_t acquire_failed[BENCH_ERRORS], release_failed[BENCH_ERRORS];
    int last_error;
    char last_detail[REDLOCK_TEXT_MAX * 2]; /* of it */
    struct bench_timing acquire, release;
    uint64_t fewest, most;               /* locks of one caller */
    int signal;                          /* that ended the run early; 0: none */
    uint32_t quorum;                     /* of the first quorum */
    uint32_t quorum_count;               /* over which the locks are spread */
    uint32_t node_count;                 /* of all of them */
    uint32_t first[REDLOCK_QUORUMS_MAX]; /* node of each quorum */
    struct bench_node *node;
};

/* A run of `redlock bench`. */
struct bench {
    struct settings settings;
    struct bench_plan plan;
    struct bench_result *result;
    struct progress progress;
    redlock *client[BENCH_CLIENTS_MAX]; /* plan.clients of them */
    int signal_fd;
};

/*
 * Runs the callers in this thread until the plan, or a signal, ends it; everything acquired is
 * released then. Returns 0 or an exit status, after printing why.
 */
int load_run(struct bench *bench);

void bench_timing_add(struct bench_timing *t, int64_t took_ns);

uint64_t bench_failures(const struct bench_result *r);

/* Locks per second, to a tenth, and the share of one processor in percent. */
double bench_per_second(const struct bench_result *r);
uint32_t bench_cpu_percent(const struct bench_result *r);

/* Prints what was measured to standard output: for people, and as JSON. */
void bench_report(const struct bench_plan *p, const struct bench_result *r, redlock *client);
void bench_report_json(const struct bench_plan *p, const struct bench_result *r,
                       redlock *client);

#endif
