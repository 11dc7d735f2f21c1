/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/display.h"
#include "ui/table.h"
#include "ui/text.h"

#define HISTOGRAM_ROWS 16
#define HISTOGRAM_COLUMNS 41 /* that stand before the bar */
#define BAR_COLUMNS_MIN 8
#define BUSY_PERCENT 90 /* of a processor: this process can hardly do more */

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part * 100 / (double)whole : 0;
}

static void print_sum(const struct bench_plan *p, const struct bench_result *r)
{
    uint64_t failures = bench_failures(r);
    double rate = bench_per_second(r);
    printf("%" PRIu64 " locks in %.2f s: %.*f locks/s", r->locks, (double)r->elapsed_ns / 1e9,
           rate < 100 ? 1 : 0, rate);
    if (p->rate > 0)
        printf(" of %.15g wanted", p->rate);
    printf(", %" PRIu64 " failed", failures);
    if (r->unfinished > 0)
        printf(", %" PRIu64 " unfinished", r->unfinished);
    if (r->never_asked > 0)
        printf(", %" PRIu64 " never asked for", r->never_asked);
    putchar('\n');
}

static bool has_timed_out(const struct bench_result *r)
{
    bool timed_out = false;
    for (uint32_t i = 0; i < r->node_count; i++)
        timed_out = timed_out || r->node[i].vote == REDLOCK_VOTE_SILENT;
    return timed_out;
}

static void print_failures(const struct bench_result *r)
{
    const int error = -REDLOCK_NOQUORUM;
    for (int i = 0; i < BENCH_ERRORS; i++) {
        if (r->acquire_failed[i] > 0)
            printf("  %" PRIu64 " to acquire: %s (%s)\n", r->acquire_failed[i],
                   redlock_strerror(-i), redlock_error_name(-i));
        if (r->release_failed[i] > 0)
            printf("  %" PRIu64 " to release: %s (%s)\n", r->release_failed[i],
                   redlock_strerror(-i), redlock_error_name(-i));
    }
    if (r->acquire_failed[error] + r->release_failed[error] > 0 && has_timed_out(r))
        printf("Nodes timed out; --node-timeout TIME gives them longer.\n");
}

static void print_time(double time_ns)
{
    char text[HISTOGRAM_TIME_MAX];
    histogram_time(text, time_ns);
    printf(" %9s", text);
}

static void print_timing(const char *what, const struct bench_timing *t)
{
    static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};
    if (t->spread.count == 0)
        return;
    printf("%-8s", what);
    print_time((double)t->min_ns);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        print_time(latency_quantile_us(&t->spread, quantiles[i]) * 1e3);
    print_time((double)t->max_ns);
    putchar('\n');
}

static void print_timings(const struct bench_result *r)
{
    if (r->acquire.spread.count == 0)
        return;
    printf("\n%-8s %9s %9s %9s %9s %9s %9s\n", "LATENCY", "MIN", "P50", "P90", "P99", "P99.9",
           "MAX");
    print_timing("acquire", &r->acquire);
    print_timing("release", &r->release);
}

static void print_histogram(const struct bench_result *r)
{
    struct histogram h;
    char bar[BAR_TEXT_MAX], time[HISTOGRAM_TIME_MAX], bound[HISTOGRAM_TIME_MAX + 2];
    uint64_t largest = 0, sum = 0;
    size_t columns = text_columns(STDOUT_FILENO);
    size_t bar_columns =
        columns > HISTOGRAM_COLUMNS + BAR_COLUMNS_MIN ? columns - HISTOGRAM_COLUMNS - 1 : 0;
    bool utf8 = text_is_utf8();
    histogram_make(&h, &r->acquire.spread, HISTOGRAM_ROWS);
    if (h.count == 0)
        return;
    for (size_t i = 0; i < h.count; i++)
        largest = h.range[i].count > largest ? h.range[i].count : largest;
    printf("\n%-9s %10s %8s %9s\n", "ACQUIRED", "COUNT", "SHARE", "SUM");
    for (size_t i = 0; i < h.count; i++) {
        uint64_t count = h.range[i].count;
        sum += count;
        histogram_time(time, (double)h.range[i].up_to_ns);
        snprintf(bound, sizeof bound, "< %s", time);
        bar_write(bar, (double)count / (double)largest, bar_columns, utf8, false);
        printf("%9s %10" PRIu64 " %6.2f %% %7.3f %%%s%s\n", bound, count,
               percent(count, r->acquire.spread.count), percent(sum, r->acquire.spread.count),
               *bar ? "  " : "", bar);
    }
}

static void add_node(struct table *t, const struct bench_node *n, const redlock_node_info *info)
{
    uint64_t all = n->in_time + n->late + n->failed;
    const uint64_t part[] = {n->in_time, n->late, n->failed};
    char place[sizeof n->quorum_name + sizeof n->address];
    char share[3][HISTOGRAM_TIME_MAX], rtt[2][HISTOGRAM_TIME_MAX];
    snprintf(place, sizeof place, "%s%s%s", n->quorum_name, n->quorum_name[0] ? " " : "",
             n->address);
    for (size_t k = 0; k < 3; k++)
        snprintf(share[k], sizeof share[k], all > 0 ? "%5.1f %%" : "-", percent(part[k], all));
    histogram_time(rtt[0], latency_quantile_us(&n->rtt, 0.5) * 1e3);
    histogram_time(rtt[1], latency_quantile_us(&n->rtt, 0.99) * 1e3);
    table_row(t, TEXT_PLAIN,
              (const char *[]){place, share[0], share[1], share[2],
                               n->rtt.count > 0 ? rtt[0] : "-", n->rtt.count > 0 ? rtt[1] : "-",
                               n->failed == 0  ? ""
                               : info->text[0] ? info->text
                                               : redlock_vote_text(n->vote)});
    if (n->failed > 0)
        table_colour(t, 3, TEXT_BAD);
}

static void print_nodes(const struct bench_result *r, redlock *client)
{
    static const char *const heading[] = {"NODE",    "IN TIME", "LATE", "FAILED",
                                          "RTT P50", "RTT P99", "WHY",  NULL};
    struct table t;
    table_begin(&t, heading);
    for (uint32_t i = 0; i < r->node_count; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO();
        redlock_node(client, i, &info);
        add_node(&t, &r->node[i], &info);
    }
    putchar('\n');
    table_print(&t, "", stdout);
}

/* What keeps it from being faster? */
static void print_limit(const struct bench_plan *p, const struct bench_result *r)
{
    uint32_t cpu = bench_cpu_percent(r);
    printf("\nThis process used %" PRIu32 " %% of a processor", cpu);
    if (cpu >= BUSY_PERCENT)
        printf(": it is the limit, not the nodes.\n"
               "Several of them at once would show what the nodes can do.\n");
    else if (r->never_asked > 0)
        printf(".\nThe nodes did not keep up with %ld callers; more (--callers) may help, or a "
               "lower --rate.\n",
               p->callers);
    else if (p->rate <= 0 && !p->one_name && r->locks > 0)
        printf(
            ": it waited for the nodes.\nMore callers (--callers) may get more out of them.\n");
    else
        printf(".\n");
}

void bench_report(const struct bench_plan *p, const struct bench_result *r, redlock *client)
{
    print_sum(p, r);
    print_failures(r);
    if (p->one_name && r->most > 0)
        printf("Locks per caller: %" PRIu64 " to %" PRIu64
               "; the slowest had %.0f %% of the fastest\n",
               r->fewest, r->most, percent(r->fewest, r->most));
    print_timings(r);
    print_histogram(r);
    print_nodes(r, client);
    print_limit(p, r);
}
