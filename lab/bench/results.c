/* SPDX-License-Identifier: BSD-2-Clause */
#include "results.h"

#include <assert.h>
#include <stdio.h>

struct row *results_row(struct results *results, const char *id, const char *what,
                        const char *unit, const char *baseline)
{
    struct row *row;
    assert(results->row_count < ROWS_MAX);
    row = &results->row[results->row_count++];
    *row = (struct row){
        .id = id, .what = what, .unit = unit, .baseline = baseline, .cost = COST_UNKNOWN};
    return row;
}

double row_ratio(const struct row *row)
{
    struct series ratio = series_ratio(&row->ours, &row->theirs);
    return ratio.count ? series_median(&ratio) : -1;
}

double row_spread_percent(const struct row *row)
{
    struct series ratio = series_ratio(&row->ours, &row->theirs);
    return series_spread_percent(ratio.count ? &ratio : &row->ours);
}

enum verdict row_verdict(const struct row *row, double margin)
{
    const struct target *target = &row->target;
    double ratio = row_ratio(row);
    double judged = row->theirs.count ? ratio : series_median(&row->ours);
    double slack = target->exact ? 0 : margin;
    bool met = true;

    if (target->kind == TARGET_NONE || row->ours.count == 0)
        return VERDICT_NONE;
    switch (target->kind) {
    case TARGET_AT_LEAST:
        met = judged >= target->value * (1 - slack);
        break;
    case TARGET_AT_MOST:
        met = judged <= target->value * (1 + slack);
        break;
    case TARGET_BELOW:
        met = judged < target->value * (1 + slack);
        break;
    case TARGET_NONE:
        break;
    }
    return met ? VERDICT_MET : VERDICT_MISSED;
}

void target_text(const struct target *target, char out[24])
{
    static const char *const words[] = {[TARGET_NONE] = "",
                                        [TARGET_AT_LEAST] = ">=",
                                        [TARGET_AT_MOST] = "<=",
                                        [TARGET_BELOW] = "<"};
    out[0] = '\0';
    if (target->kind != TARGET_NONE)
        snprintf(out, 24, "%s %g", words[target->kind], target->value);
}
