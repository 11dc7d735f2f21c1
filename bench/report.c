/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOISE_LIMIT 1.5

static const char *const kind_names[] = {"floor", "async", "blocking", "threads"};

static double per(double sum, uint64_t count)
{
    return count ? sum / (double)count : 0;
}

void variant_add(struct variant *variant, unsigned round, const struct sample *sample)
{
    double servers_s = sample->servers_cpu_s;
    variant->per_s[round] = (double)sample->cycles / sample->seconds;
    variant->p50_us[round] = latency_quantile_us(&sample->acquire, 0.50);
    variant->p99_us[round] = latency_quantile_us(&sample->acquire, 0.99);
    variant->client_us[round] = per(sample->client_cpu_s * 1e6, sample->cycles);
    variant->servers_us[round] = servers_s < 0 ? -1 : per(servers_s * 1e6, sample->cycles);
    variant->cycles += sample->cycles;
    variant->failures += sample->failures;
}

/* ---- statistics ---- */

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double median(const double *values, unsigned count)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, ascending);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double variant_ratio(const struct variant *variant, unsigned rounds)
{
    double ratio[ROUNDS_MAX];
    if (!variant->floor)
        return -1;
    for (unsigned i = 0; i < rounds; i++) {
        double floor_per_s = variant->floor->per_s[i];
        ratio[i] = floor_per_s > 0 ? variant->per_s[i] / floor_per_s : 0;
    }
    return median(ratio, rounds);
}

/* ---- for people ---- */

/* 43210 as "43,210". */
static const char *grouped(double value, char out[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%.0f", value);
    char *to = out;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

static void table_row(const struct variant *variant, unsigned rounds)
{
    char cycles[32];
    char ratio[16] = "-";
    char servers[16] = "-";
    double servers_us = median(variant->servers_us, rounds);
    if (variant->floor)
        snprintf(ratio, sizeof ratio, "%.2f", variant_ratio(variant, rounds));
    if (servers_us >= 0)
        snprintf(servers, sizeof servers, "%.1f", servers_us);
    printf("%-9s %8u  %9s %9s  %8.1f %8.1f  %8.1f %8s\n", kind_names[variant->kind],
           variant->callers, grouped(median(variant->per_s, rounds), cycles), ratio,
           median(variant->p50_us, rounds), median(variant->p99_us, rounds),
           median(variant->client_us, rounds), servers);
}

static void table_failures(const struct report *report)
{
    for (size_t i = 0; i < report->variant_count; i++) {
        const struct variant *v = &report->variant[i];
        if (v->failures)
            printf("%s, %u: %llu of %llu cycles failed\n", kind_names[v->kind], v->callers,
                   (unsigned long long)v->failures,
                   (unsigned long long)(v->cycles + v->failures));
    }
}

/* The floor does the same work in every round: if it varies, the machine does. */
static void table_noise(const struct report *report)
{
    double worst = 1;
    for (size_t i = 0; i < report->variant_count; i++) {
        const struct variant *v = &report->variant[i];
        for (unsigned a = 0; v->kind == VARIANT_FLOOR && a < report->rounds; a++)
            for (unsigned b = 0; b < report->rounds; b++)
                if (v->per_s[b] > 0 && v->per_s[a] / v->per_s[b] > worst)
                    worst = v->per_s[a] / v->per_s[b];
    }
    if (worst > NOISE_LIMIT)
        printf(
            "noise: the floor itself varied by a factor of %.1f between rounds; the machine is\n"
            "busy with something else, so take all of this with care\n",
            worst);
}

void report_table(const struct report *report)
{
    printf("redlock %s on %zu nodes (%s), releases by %s; medians of %u rounds of %g s\n\n",
           redlock_version(), report->servers->count, report->servers->version,
           report->release_word, report->rounds, report->seconds);
    puts("                                         acquire, us       CPU, us/cycle");
    puts("variant    callers   cycles/s  of floor       p50      p99    client  servers");
    for (size_t i = 0; i < report->variant_count; i++) {
        const struct variant *v = &report->variant[i];
        if (i > 0 && v->kind != VARIANT_ASYNC && v->kind != VARIANT_THREADS)
            putchar('\n');
        table_row(v, report->rounds);
    }
    puts(
        "\nA cycle is an acquire and a release, each decided by a majority, names distinct.\n"
        "floor: raw pipelined sockets doing the same commands, nothing else. async: one thread,\n"
        "redlock_start(). blocking: redlock_acquire(). threads: the same from many threads on\n"
        "one client with its I/O thread.");
    table_failures(report);
    table_noise(report);
}

/* ---- for programs ---- */

static void json_variant(const struct variant *v, unsigned rounds, bool last)
{
    double servers_us = median(v->servers_us, rounds);
    printf("    {\"variant\": \"%s\", \"callers\": %u, \"cycles_per_s\": %.1f, ",
           kind_names[v->kind], v->callers, median(v->per_s, rounds));
    if (v->floor)
        printf("\"ratio\": %.4f, ", variant_ratio(v, rounds));
    else
        printf("\"ratio\": null, ");
    printf("\"acquire_p50_us\": %.1f, \"acquire_p99_us\": %.1f, \"client_cpu_us\": %.2f, ",
           median(v->p50_us, rounds), median(v->p99_us, rounds), median(v->client_us, rounds));
    if (servers_us >= 0)
        printf("\"servers_cpu_us\": %.2f, ", servers_us);
    else
        printf("\"servers_cpu_us\": null, ");
    printf("\"cycles\": %llu, \"failures\": %llu, \"rounds_per_s\": [",
           (unsigned long long)v->cycles, (unsigned long long)v->failures);
    for (unsigned i = 0; i < rounds; i++)
        printf("%s%.1f", i ? ", " : "", v->per_s[i]);
    printf("]}%s\n", last ? "" : ",");
}

void report_json(const struct report *report)
{
    printf(
        "{\n  \"version\": \"%s\", \"nodes\": %zu, \"server\": \"%s\", \"release\": \"%s\",\n",
        redlock_version(), report->servers->count, report->servers->version,
        report->release_word);
    printf("  \"rounds\": %u, \"seconds\": %g,\n  \"variants\": [\n", report->rounds,
           report->seconds);
    for (size_t i = 0; i < report->variant_count; i++)
        json_variant(&report->variant[i], report->rounds, i + 1 == report->variant_count);
    puts("  ]\n}");
}
