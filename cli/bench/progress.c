/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/display.h"

#include <inttypes.h>
#include <stdio.h>

#include "bench/bench.h"
#include "system/timer.h"
#include "ui/errors.h"
#include "ui/text.h"

#define BAR_COLUMNS 30
#define BAR_COLUMNS_MIN 5
#define WORDS_MAX 160

void progress_begin(struct progress *p, bool wanted)
{
    *p = (struct progress){
        .on = wanted && errors_can_draw(),
        .utf8 = text_is_utf8(),
        .due_ns = timer_now_ns() + PROGRESS_TICK_NS,
    };
}

int64_t progress_due_ns(const struct progress *p)
{
    return p->on ? p->due_ns : TIMER_NEVER;
}

/* Of the last second, or of all of it while that is less. */
static double current_rate(struct progress *p, uint64_t locks, int64_t elapsed_ns)
{
    unsigned slot = p->ticks++ % PROGRESS_TICKS;
    bool full = p->ticks > PROGRESS_TICKS;
    uint64_t before = full ? p->locks[slot] : 0;
    int64_t since_ns = full ? p->at_ns[slot] : 0;
    p->locks[slot] = locks;
    p->at_ns[slot] = elapsed_ns;
    return elapsed_ns > since_ns
               ? (double)(locks - before) * 1e9 / (double)(elapsed_ns - since_ns)
               : 0;
}

/* How much of the run is over: whichever of its two ends is nearer. */
static double share(const struct bench_plan *plan, const struct bench_result *r,
                    int64_t elapsed_ns)
{
    double time = 0, count = 0;
    if (plan->duration_ms > 0)
        time = (double)elapsed_ns / ((double)plan->duration_ms * RL_NS_PER_MS);
    if (plan->count > 0)
        count = (double)(r->locks + bench_failures(r)) / (double)plan->count;
    return time > count ? time : count;
}

void progress_draw(struct progress *p, const struct bench_plan *plan,
                   const struct bench_result *r, int64_t elapsed_ns)
{
    char line[WORDS_MAX + BAR_TEXT_MAX + 8], words[WORDS_MAX],
        bar[BAR_TEXT_MAX] = "", spent[TEXT_TIME_MAX], all[TEXT_TIME_MAX];
    double rate;
    int used;
    size_t columns, free_columns;
    if (!p->on)
        return;
    p->due_ns = timer_now_ns() + PROGRESS_TICK_NS;
    text_time(spent, elapsed_ns / RL_NS_PER_MS);
    text_time(all, plan->duration_ms);
    rate = current_rate(p, r->locks, elapsed_ns);
    used = snprintf(words, sizeof words, "%s%s%s  %.0f locks/s  %" PRIu64 " failed", spent,
                    plan->duration_ms > 0 ? " of " : "", plan->duration_ms > 0 ? all : "", rate,
                    bench_failures(r));
    columns = errors_columns();
    free_columns = columns > (size_t)used + 4 ? columns - (size_t)used - 4 : 0;
    if (free_columns > BAR_COLUMNS)
        free_columns = BAR_COLUMNS;
    if (free_columns >= BAR_COLUMNS_MIN)
        bar_write(bar, share(plan, r, elapsed_ns), free_columns, p->utf8, true);
    snprintf(line, sizeof line, *bar ? "[%s] %s" : "%s%s", bar, words);
    errors_draw(line);
}
