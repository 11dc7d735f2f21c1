/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "redlock.h"
#include "results.h"

static int decimals(double size)
{
    if (size == 0 || size >= 100)
        return 0;
    if (size >= 10)
        return 1;
    return size >= 0.1 ? 2 : 4;
}

const char *figure(double value, char out[FIGURE_MAX])
{
    char digits[FIGURE_MAX];
    char *to = out;
    int length = snprintf(digits, sizeof digits, "%.*f", decimals(fabs(value)), value);
    int whole = (int)strcspn(digits, ".");
    for (int i = 0; i < length && to < out + FIGURE_MAX - 2; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0 && digits[i - 1] != '-')
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

#define NOISE_PERCENT 25 /* spread of the floor above which the machine was busy */

/* "-" for what is not known. */
static const char *figure_or_dash(double value, char out[FIGURE_MAX])
{
    if (value < 0)
        return "-";
    return figure(value, out);
}

static const char *const verdict_words[] = {
    [VERDICT_NONE] = "", [VERDICT_MET] = "yes", [VERDICT_MISSED] = "NO"};

static void print_row(const struct row *row)
{
    char cell[5][FIGURE_MAX], target[24];
    char spread[FIGURE_MAX] = "";
    double ratio = row_ratio(row);

    target_text(&row->target, target);
    if (row->ours.count == 0) {
        printf("%-48s %s\n", row->what, row->note);
        return;
    }
    if (row->ours.count > 1)
        snprintf(spread, sizeof spread, "%.0f %%", row_spread_percent(row));
    printf("%-48s %9s %-10s %-21s %9s %7s %8s %4s %7s %7s %8s%s%s\n", row->what,
           figure(series_median(&row->ours), cell[0]), row->unit,
           row->baseline ? row->baseline : "",
           row->theirs.count ? figure(series_median(&row->theirs), cell[1]) : "",
           ratio >= 0 ? figure(ratio, cell[2]) : "", target, verdict_words[row_verdict(row, 0)],
           spread, figure_or_dash(row->cost.client_us, cell[3]),
           figure_or_dash(row->cost.servers_us, cell[4]), row->note[0] ? "  " : "", row->note);
}

static void print_noise(const struct results *results)
{
    const struct machine *m = &results->machine;
    printf("\nmachine: %d cores, %s; load average %.1f before, %.1f after; %.1f %% of the CPU "
           "time stolen\n",
           m->cores, m->kernel, m->load_before, m->load_after, m->steal_percent);
    if (m->floor_spread_percent < 0)
        return;
    printf("noise: the floor itself, 64 in flight, varied by %.0f %% between rounds%s\n",
           m->floor_spread_percent,
           m->floor_spread_percent > NOISE_PERCENT
               ? "; the machine is busy with something else,\nso take all of this with care"
               : "");
}

void table_print(const struct results *results)
{
    printf("\nredlock %s on %zu nodes (%s); medians of %u rounds of %g s, sides in turn\n\n",
           redlock_version(), results->machine.nodes, results->machine.server, results->rounds,
           results->seconds);
    printf("%-48s %9s %-10s %-21s %9s %7s %8s %4s %7s %7s %8s\n", "measure", "ours", "",
           "compared with", "", "ratio", "target", "met", "spread", "client", "servers");
    for (unsigned i = 0; i < results->row_count; i++)
        print_row(&results->row[i]);
    puts("\nA cycle is an acquire and a release, each decided by a majority of the nodes. "
         "Floor: raw\n"
         "pipelined sockets that do the same commands and nothing else. Spread: from the least "
         "to\n"
         "the largest of the rounds. Client, servers: CPU in us per cycle, of all nodes "
         "together.");
    print_noise(results);
}
