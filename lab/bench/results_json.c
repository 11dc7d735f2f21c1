/* SPDX-License-Identifier: BSD-2-Clause */
#include "results.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "redlock.h"

#define SUB_BUCKETS 8 /* of a power of two: each about a tenth wide */

static void write_median(struct rl_json *j, const char *key, const struct series *series)
{
    rl_json_measured(j, key, series->count > 0 ? series_median(series) : -1);
}

static void write_machine(struct rl_json *j, const struct results *results)
{
    const struct machine *m = &results->machine;
    rl_json_object(j, "machine");
    rl_json_integer(j, "cores", m->cores);
    rl_json_string(j, "kernel", m->kernel);
    rl_json_measured(j, "load_before", m->load_before);
    rl_json_measured(j, "load_after", m->load_after);
    rl_json_measured(j, "steal_percent", m->steal_percent);
    rl_json_string(j, "server", m->server);
    rl_json_integer(j, "nodes", (int64_t)m->nodes);
    rl_json_integer(j, "rounds", results->rounds);
    rl_json_measured(j, "seconds", results->seconds);
    rl_json_measured(j, "floor_spread_percent", m->floor_spread_percent);
    rl_json_end_object(j);
}

static void write_row(struct rl_json *j, const struct row *row)
{
    enum verdict verdict = row_verdict(row, 0);
    char target[24];
    target_text(&row->target, target);
    rl_json_object(j, NULL);
    rl_json_string(j, "id", row->id);
    rl_json_string(j, "what", row->what);
    write_median(j, "ours", &row->ours);
    rl_json_string(j, "unit", row->unit);
    rl_json_string(j, "baseline", row->baseline);
    write_median(j, "baseline_value", &row->theirs);
    rl_json_measured(j, "ratio", row_ratio(row));
    rl_json_string(j, "target", *target ? target : NULL);
    if (verdict == VERDICT_NONE)
        rl_json_string(j, "met", NULL);
    else
        rl_json_bool(j, "met", verdict == VERDICT_MET);
    rl_json_measured(j, "spread_percent", row->ours.count > 1 ? row_spread_percent(row) : -1);
    rl_json_measured(j, "client_us", row->cost.client_us);
    rl_json_measured(j, "servers_us", row->cost.servers_us);
    rl_json_string(j, "note", row->note[0] ? row->note : NULL);
    rl_json_end_object(j);
}

static void write_callers(struct rl_json *j, const struct caller_point *p)
{
    const struct variant *v = &p->variant;
    rl_json_object(j, NULL);
    rl_json_string(j, "api", p->api);
    rl_json_integer(j, "callers", p->callers);
    write_median(j, "per_s", &v->per_s);
    write_median(j, "p50_us", &v->p50_us);
    write_median(j, "p99_us", &v->p99_us);
    write_median(j, "client_us", &v->client_us);
    write_median(j, "servers_us", &v->servers_us);
    rl_json_end_object(j);
}

/* Several of the histogram's steps together, empty ones left out. */
static void write_histogram(struct rl_json *j, const char *key, const struct latency *latency)
{
    unsigned width = (1u << LATENCY_SUB_BITS) / SUB_BUCKETS;
    rl_json_array(j, key);
    for (unsigned i = 0; i < LATENCY_BUCKETS; i += width) {
        uint64_t count = 0;
        for (unsigned k = i; k < i + width; k++)
            count += latency->bucket[k];
        if (count == 0)
            continue;
        rl_json_object(j, NULL);
        rl_json_measured(j, "us", (double)latency_bucket_ns(i) / 1e3);
        rl_json_integer(j, "count", (int64_t)count);
        rl_json_end_object(j);
    }
    rl_json_end_array(j);
}

static void write_held(struct rl_json *j, const struct held_point *p)
{
    rl_json_object(j, NULL);
    rl_json_integer(j, "locks", p->locks);
    rl_json_measured(j, "bytes_per_lock", p->bytes_per_lock);
    rl_json_measured(j, "cpu_us_per_lock_s", p->cpu_us_per_lock_s);
    rl_json_measured(j, "late_p99_ms", p->late_p99_ms);
    rl_json_integer(j, "ttl_ms", p->ttl_ms);
    rl_json_integer(j, "lost", (int64_t)p->lost);
    rl_json_integer(j, "renewals", (int64_t)p->renewals);
    rl_json_end_object(j);
}

static void write_all(struct rl_json *j, const struct results *results)
{
    rl_json_object(j, NULL);
    rl_json_string(j, "version", redlock_version());
    write_machine(j, results);
    rl_json_array(j, "rows");
    for (unsigned i = 0; i < results->row_count; i++)
        write_row(j, &results->row[i]);
    rl_json_end_array(j);
    rl_json_array(j, "callers");
    for (unsigned i = 0; i < results->callers_count; i++)
        write_callers(j, &results->callers[i]);
    rl_json_end_array(j);
    rl_json_object(j, "hung");
    write_histogram(j, "healthy", &results->healthy);
    write_histogram(j, "one_hung", &results->one_hung);
    rl_json_end_object(j);
    rl_json_array(j, "held");
    for (unsigned i = 0; i < results->held_count; i++)
        write_held(j, &results->held[i]);
    rl_json_end_array(j);
    rl_json_finish(j);
}

int results_json_write(const struct results *results, const char *path)
{
    struct rl_json j = {.out = path ? fopen(path, "w") : stdout};
    bool failed;
    if (!j.out) {
        perror(path);
        return -1;
    }
    write_all(&j, results);
    failed = ferror(j.out) != 0;
    if ((path ? fclose(j.out) : fflush(j.out)) != 0 || failed) {
        perror(path);
        return -1;
    }
    return 0;
}
