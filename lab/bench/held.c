/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "figure.h"
#include "keep.h"
#include "measure.h"

#define LATE_SHARE 0.05 /* of the TTL, which the latest per cent of renewals may be late */
#define BYTES_MAX 512
#define GROWTH_MAX 1.5

/* A fresh client each time: memory that an earlier one has left over would flatter the next. */
static int keep_some(const struct options *options, const struct servers *servers,
                     unsigned locks, struct held_point *out, struct keep_result *result)
{
    static struct sample sample;
    redlock *client = measure_client(servers, 0);
    if (!client)
        return -1;
    int error = keep_run(client, options, servers, locks, &sample, result);
    redlock_close(client);
    if (error != 0)
        return -1;
    double cpu_s = sample.client_cpu_s - result->look_cpu_s;
    double renewals = result->renewals ? (double)result->renewals : 1;
    struct cost renewal = {(double)sample.calls / renewals, cpu_s * 1e6 / renewals,
                           sample.servers_cpu_s < 0 ? -1
                                                    : sample.servers_cpu_s * 1e6 / renewals};
    *out = (struct held_point){.locks = locks,
                               .bytes_per_lock = result->bytes / locks,
                               .rss_per_lock = result->rss / locks,
                               .cpu_us_per_lock_s = cpu_s * 1e6 / sample.seconds / locks,
                               .renewal = renewal,
                               .late_p99_ms = latency_quantile_us(&result->late, 0.99) / 1e3,
                               .ttl_ms = options->ttl_ms,
                               .renewals = result->renewals,
                               .failed_renewals = result->jeopardies,
                               .lost = result->lost};
    return 0;
}

/* Text of a row that lives as long as the results. */
static const char *about(const char *format, const char *number)
{
    static char text[ROWS_MAX][96];
    static unsigned used;
    char *out = text[used++ % ROWS_MAX];
    snprintf(out, sizeof text[0], format, number);
    return out;
}

static struct row *add(struct results *results, const char *id, const char *what,
                       const char *unit, double value, struct target target)
{
    struct row *row = results_row(results, id, what, unit, NULL);
    series_add(&row->ours, value);
    row->target = target;
    return row;
}

/* Each row speaks of the worst number of locks, or of the largest; the JSON has them all. */
static void add_rows(struct results *results)
{
    const struct held_point *first = &results->held[0];
    const struct held_point *last = &results->held[results->held_count - 1];
    char most[FIGURE_MAX], fewest[FIGURE_MAX];
    double bytes = 0, late_share = 0;
    uint64_t lost = 0;
    for (unsigned i = 0; i < results->held_count; i++) {
        const struct held_point *p = &results->held[i];
        double share = p->late_p99_ms / (double)p->ttl_ms;
        bytes = p->bytes_per_lock > bytes ? p->bytes_per_lock : bytes;
        late_share = share > late_share ? share : late_share;
        lost += p->lost;
    }
    figure(last->locks, most);
    figure(first->locks, fewest);
    struct row *row = results_row(results, "held_bytes",
                                  about("up to %s locks held, memory of the client", most),
                                  "bytes/lock", NULL);
    row->target = (struct target){TARGET_AT_MOST, BYTES_MAX, true};
    if (bytes > 0)
        series_add(&row->ours, bytes);
    else
        snprintf(row->note, sizeof row->note, "this allocator does not tell");
    add(results, "held_late", about("up to %s locks held, p99 of renewals late by", most),
        "of TTL", late_share, (struct target){TARGET_BELOW, LATE_SHARE, false});
    add(results, "held_lost", about("up to %s locks held, lost", most), "locks", (double)lost,
        (struct target){TARGET_AT_MOST, 0, true});
    row = add(results, "held_cpu", about("%s locks held, CPU per lock", most), "us/s",
              last->cpu_us_per_lock_s, (struct target){TARGET_AT_MOST, GROWTH_MAX, false});
    if (results->held_count < 2) {
        row->target.kind = TARGET_NONE; /* nothing has grown */
        return;
    }
    row->baseline = about("%s locks held", fewest);
    series_add(&row->theirs, first->cpu_us_per_lock_s);
    row->cost = last->renewal;
    snprintf(row->note, sizeof row->note, "the last three per renewal");
}

int held_measure(const struct options *options, const struct servers *servers,
                 struct results *results)
{
    static struct keep_result result;
    for (unsigned i = 0; i < options->locks_count && i < HELD_MAX; i++) {
        fprintf(stderr, "  %u locks\n", options->locks[i]);
        if (keep_some(options, servers, options->locks[i], &results->held[i], &result) != 0)
            return -1;
        results->held_count++;
        if (result.failure[0])
            fprintf(stderr, "  a renewal failed: %s\n", result.failure);
        if (result.loss[0])
            fprintf(stderr, "  a lock was lost: %s\n", result.loss);
    }
    add_rows(results);
    return 0;
}
