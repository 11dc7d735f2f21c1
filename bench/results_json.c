/* SPDX-License-Identifier: BSD-2-Clause */
#include "json.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "redlock.h"

#define SUB_BUCKETS 8 /* of a power of two: each about a tenth wide */

/* Texts here come from this program and from servers' version numbers, but one never knows. */
static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if ((unsigned char)*text >= ' ')
            fputc(*text, out);
    }
    fputc('"', out);
}

static void put_text_or_null(FILE *out, const char *text)
{
    if (text && *text)
        put_text(out, text);
    else
        fputs("null", out);
}

static void put_number(FILE *out, bool known, double value)
{
    if (known && isfinite(value))
        fprintf(out, "%.6g", value);
    else
        fputs("null", out);
}

static void put_field(FILE *out, const char *name, bool known, double value)
{
    fprintf(out, ", \"%s\": ", name);
    put_number(out, known, value);
}

static void put_series(FILE *out, const char *name, const struct series *series)
{
    fprintf(out, ", \"%s\": [", name);
    for (unsigned i = 0; i < series->count; i++) {
        fputs(i ? ", " : "", out);
        put_number(out, true, series->value[i]);
    }
    fputc(']', out);
}

static void put_machine(FILE *out, const struct results *results)
{
    const struct machine *m = &results->machine;
    fprintf(out, "  \"machine\": {\"cores\": %d, \"kernel\": ", m->cores);
    put_text(out, m->kernel);
    put_field(out, "load_before", m->load_before >= 0, m->load_before);
    put_field(out, "load_after", m->load_after >= 0, m->load_after);
    put_field(out, "steal_percent", true, m->steal_percent);
    fputs(", \"server\": ", out);
    put_text(out, m->server);
    fprintf(out, ", \"nodes\": %zu, \"rounds\": %u, \"seconds\": %g", m->nodes, results->rounds,
            results->seconds);
    put_field(out, "floor_spread_percent", m->floor_spread_percent >= 0,
              m->floor_spread_percent);
    fputs("},\n", out);
}

static void put_row(FILE *out, const struct row *row)
{
    static const char *const met[] = {
        [VERDICT_NONE] = "null", [VERDICT_MET] = "true", [VERDICT_MISSED] = "false"};
    bool ran = row->ours.count > 0;
    double ratio = row_ratio(row);
    char target[24];
    target_text(&row->target, target);
    fprintf(out, "    {\"id\": \"%s\", \"what\": ", row->id);
    put_text(out, row->what);
    put_field(out, "ours", ran, series_median(&row->ours));
    fputs(", \"unit\": ", out);
    put_text(out, row->unit);
    fputs(", \"baseline\": ", out);
    put_text_or_null(out, row->baseline);
    put_field(out, "baseline_value", row->theirs.count > 0, series_median(&row->theirs));
    put_field(out, "ratio", ratio >= 0, ratio);
    fputs(", \"target\": ", out);
    put_text_or_null(out, target);
    fprintf(out, ", \"met\": %s", met[row_verdict(row, 0)]);
    put_field(out, "spread_percent", row->ours.count > 1, row_spread_percent(row));
    put_field(out, "calls", row->cost.calls >= 0, row->cost.calls);
    put_field(out, "client_us", row->cost.client_us >= 0, row->cost.client_us);
    put_field(out, "servers_us", row->cost.servers_us >= 0, row->cost.servers_us);
    fputs(", \"note\": ", out);
    put_text_or_null(out, row->note);
    put_series(out, "ours_rounds", &row->ours);
    put_series(out, "baseline_rounds", &row->theirs);
    fputc('}', out);
}

static void put_callers(FILE *out, const struct caller_point *p)
{
    double servers_us = series_median(&p->servers_us);
    fprintf(out, "    {\"api\": \"%s\", \"callers\": %u", p->api, p->callers);
    put_field(out, "per_s", true, series_median(&p->per_s));
    put_field(out, "p50_us", true, series_median(&p->p50_us));
    put_field(out, "p99_us", true, series_median(&p->p99_us));
    put_field(out, "client_us", true, series_median(&p->client_us));
    put_field(out, "servers_us", servers_us >= 0, servers_us);
    put_field(out, "calls", true, series_median(&p->calls));
    put_field(out, "switches", true, series_median(&p->switches));
    fputc('}', out);
}

/* Several of the histogram's steps together, empty ones left out. */
static void put_histogram(FILE *out, const char *name, const struct latency *latency)
{
    unsigned width = (1u << LATENCY_SUB_BITS) / SUB_BUCKETS;
    const char *comma = "";
    fprintf(out, "\"%s\": [", name);
    for (unsigned i = 0; i < LATENCY_BUCKETS; i += width) {
        unsigned long long count = 0;
        for (unsigned k = i; k < i + width; k++)
            count += latency->bucket[k];
        if (count) {
            fprintf(out, "%s{\"us\": %.6g, \"count\": %llu}", comma,
                    (double)latency_bucket_ns(i) / 1e3, count);
            comma = ", ";
        }
    }
    fputc(']', out);
}

static void put_held(FILE *out, const struct held_point *p)
{
    fprintf(out, "    {\"locks\": %u", p->locks);
    put_field(out, "bytes_per_lock", p->bytes_per_lock >= 0, p->bytes_per_lock);
    put_field(out, "rss_per_lock", true, p->rss_per_lock);
    put_field(out, "cpu_us_per_lock_s", true, p->cpu_us_per_lock_s);
    put_field(out, "calls_per_renewal", true, p->renewal.calls);
    put_field(out, "client_us_per_renewal", true, p->renewal.client_us);
    put_field(out, "servers_us_per_renewal", p->renewal.servers_us >= 0, p->renewal.servers_us);
    put_field(out, "late_p99_ms", true, p->late_p99_ms);
    fprintf(out,
            ", \"ttl_ms\": %lld, \"lost\": %llu, \"renewals\": %llu, "
            "\"failed_renewals\": %llu}",
            (long long)p->ttl_ms, (unsigned long long)p->lost, (unsigned long long)p->renewals,
            (unsigned long long)p->failed_renewals);
}

static void put_all(FILE *out, const struct results *results)
{
    fprintf(out, "{\n  \"version\": \"%s\",\n", redlock_version());
    put_machine(out, results);
    fputs("  \"rows\": [\n", out);
    for (unsigned i = 0; i < results->row_count; i++) {
        put_row(out, &results->row[i]);
        fputs(i + 1 < results->row_count ? ",\n" : "\n", out);
    }
    fputs("  ],\n  \"callers\": [\n", out);
    for (unsigned i = 0; i < results->callers_count; i++) {
        put_callers(out, &results->callers[i]);
        fputs(i + 1 < results->callers_count ? ",\n" : "\n", out);
    }
    fputs("  ],\n  \"hung\": {", out);
    put_histogram(out, "healthy", &results->healthy);
    fputs(",\n    ", out);
    put_histogram(out, "one_hung", &results->one_hung);
    fputs("},\n  \"held\": [\n", out);
    for (unsigned i = 0; i < results->held_count; i++) {
        put_held(out, &results->held[i]);
        fputs(i + 1 < results->held_count ? ",\n" : "\n", out);
    }
    fputs("  ]\n}\n", out);
}

int json_write(const struct results *results, const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out) {
        perror(path);
        return -1;
    }
    put_all(out, results);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        perror(path);
        return -1;
    }
    return 0;
}
