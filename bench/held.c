/* SPDX-License-Identifier: BSD-2-Clause */
#include "held.h"

#include <stdio.h>
#include <stdlib.h>

#include "holds.h"
#include "ours.h"

#define LATE_SHARE 0.05 /* of the TTL, which the latest per cent of renewals may be late */
#define BYTES_MAX 512
#define GROWTH_MAX 1.5

/* A fresh client each time: memory that an earlier one has left over would flatter the next. */
static int hold_some(const struct options *options, const struct servers *servers,
                     unsigned locks, struct held_point *out, struct holds_result *result)
{
    static struct sample sample;
    /* Every lock is renewed once in a third of its TTL. */
    struct holds_terms terms = {.count = locks,
                                .ttl_ms = options->ttl_ms,
                                .burst = options->burst,
                                .servers = servers,
                                .seconds = (double)options->ttl_ms / 3e3};
    redlock *client = ours_open(servers, 0);
    if (!client)
        return -1;
    int error = holds_run(client, &terms, &sample, result);
    redlock_close(client);
    if (error != 0)
        return -1;
    double cpu_s = sample.client_cpu_s - result->look_cpu_s;
    *out = (struct held_point){.locks = locks,
                               .bytes_per_lock = result->bytes / locks,
                               .rss_per_lock = result->rss / locks,
                               .cpu_us_per_lock_s = cpu_s * 1e6 / sample.seconds / locks,
                               .late_p99_ms = latency_quantile_us(&result->late, 0.99) / 1e3,
                               .ttl_ms = options->ttl_ms,
                               .renewals = result->renewals,
                               .failed_renewals = result->jeopardies,
                               .lost = result->lost};
    return 0;
}

static void add(struct results *results, const char *id, const char *what, const char *unit,
                double value, struct target target)
{
    struct row *row = results_row(results, id, what, unit, NULL);
    series_add(&row->ours, value);
    row->target = target;
}

/* Each row speaks of the worst number of locks; the JSON has them all. */
static void tell(struct results *results)
{
    const struct held_point *first = &results->held[0];
    const struct held_point *last = &results->held[results->held_count - 1];
    double bytes = 0, late_share = 0;
    uint64_t lost = 0;
    for (unsigned i = 0; i < results->held_count; i++) {
        const struct held_point *p = &results->held[i];
        double share = p->late_p99_ms / (double)p->ttl_ms;
        bytes = p->bytes_per_lock > bytes ? p->bytes_per_lock : bytes;
        late_share = share > late_share ? share : late_share;
        lost += p->lost;
    }
    if (bytes > 0)
        add(results, "held_bytes", "held locks, memory of the client", "bytes/lock", bytes,
            (struct target){TARGET_AT_MOST, BYTES_MAX, true});
    add(results, "held_late", "held locks, p99 lateness of renewals", "of TTL", late_share,
        (struct target){TARGET_BELOW, LATE_SHARE, false});
    add(results, "held_lost", "held locks, lost", "locks", (double)lost,
        (struct target){TARGET_AT_MOST, 0, true});
    struct row *row = results_row(results, "held_cpu", "most locks, CPU per lock and second",
                                  "us", "fewest locks");
    series_add(&row->ours, last->cpu_us_per_lock_s);
    series_add(&row->theirs, first->cpu_us_per_lock_s);
    row->target = (struct target){TARGET_AT_MOST, GROWTH_MAX, false};
}

int held_measure(const struct options *options, const struct servers *servers,
                 struct results *results)
{
    static struct holds_result result;
    for (unsigned i = 0; i < options->locks_count && i < HELD_MAX; i++) {
        fprintf(stderr, "  %u locks\n", options->locks[i]);
        if (hold_some(options, servers, options->locks[i], &results->held[i], &result) != 0)
            return -1;
        results->held_count++;
        if (result.failure[0])
            fprintf(stderr, "  a renewal failed: %s\n", result.failure);
        if (result.loss[0])
            fprintf(stderr, "  a lock was lost: %s\n", result.loss);
    }
    tell(results);
    return 0;
}
