/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "floor.h"
#include "measure.h"
#include "variant.h"

enum way { FLOOR, CLASSIC, ASYNC, FENCED, BLOCKING, THREADS };

/*
 * In the order in which a round goes through them: what is compared stands side by side. Every
 * second round goes backwards, so that neither side always runs second.
 */
static const struct {
    enum way way;
    unsigned callers;
} plan[] = {
    {FLOOR, 1},   {ASYNC, 1},   {BLOCKING, 1}, {THREADS, 1},  {FLOOR, 4},    {ASYNC, 4},
    {THREADS, 4}, {FLOOR, 16},  {ASYNC, 16},   {THREADS, 16}, {CLASSIC, 64}, {FLOOR, 64},
    {ASYNC, 64},  {FENCED, 64}, {THREADS, 64}, {FLOOR, 256},  {ASYNC, 256},
};

#define PLANNED (sizeof plan / sizeof plan[0])

/* Everything that is opened once and used by all rounds. */
struct cycles {
    const struct servers *servers;
    struct floor *floor;
    struct floor *classic;
    redlock *direct;   /* drives itself: asynchronous and blocking variants */
    redlock *threaded; /* has an I/O thread */
    redlock *strict;
    struct variant variant[PLANNED];
};

static int open_all(struct cycles *cycles)
{
    cycles->floor = floor_open(cycles->servers, FLOOR_AS_LIBRARY);
    cycles->classic = floor_open(cycles->servers, FLOOR_CLASSIC);
    cycles->direct = measure_client(cycles->servers, 0);
    cycles->threaded = measure_client(cycles->servers, REDLOCK_THREAD);
    cycles->strict = measure_client(cycles->servers, REDLOCK_STRICT);
    return cycles->floor && cycles->classic && cycles->direct && cycles->threaded &&
                   cycles->strict
               ? 0
               : -1;
}

static void close_all(struct cycles *cycles)
{
    redlock_close(cycles->strict);
    redlock_close(cycles->threaded);
    redlock_close(cycles->direct);
    floor_close(cycles->classic);
    floor_close(cycles->floor);
}

static int run_one(struct cycles *cycles, size_t index, struct window *window)
{
    unsigned callers = plan[index].callers;
    struct callers ours = {.client = &cycles->direct, .client_count = 1, .count = callers};
    switch (plan[index].way) {
    case FLOOR:
        return floor_run(cycles->floor, callers, window);
    case CLASSIC:
        return floor_run(cycles->classic, callers, window);
    case ASYNC:
        break;
    case FENCED:
        ours.client = &cycles->strict;
        ours.flags = REDLOCK_FENCED;
        break;
    case BLOCKING:
        ours.way = CALLERS_BLOCKING;
        break;
    case THREADS:
        ours.client = &cycles->threaded;
        ours.way = CALLERS_THREADS;
        break;
    }
    return measure_callers(ours, window);
}

static int run_rounds(struct cycles *cycles, const struct options *options)
{
    static struct sample sample;
    for (unsigned round = 0; round < options->rounds; round++) {
        for (size_t i = 0; i < PLANNED; i++) {
            size_t index = round % 2 ? PLANNED - 1 - i : i;
            struct window window;
            measure_open(&window, cycles->servers, options->seconds, &sample);
            if (run_one(cycles, index, &window) != 0)
                return -1;
            variant_add(&cycles->variant[index], &sample);
        }
    }
    return 0;
}

static const struct variant *find(const struct cycles *cycles, enum way way, unsigned callers)
{
    for (size_t i = 0; i < PLANNED; i++)
        if (plan[i].way == way && plan[i].callers == callers)
            return &cycles->variant[i];
    return NULL; /* only for what is not in the plan */
}

static const char same_commands[] = "floor, same commands";

static void add_async(const struct cycles *cycles, struct results *results, unsigned callers,
                      const char *id, const char *what, const char *cpu_id,
                      const char *cpu_what)
{
    const struct variant *ours = find(cycles, ASYNC, callers);
    const struct variant *floor = find(cycles, FLOOR, callers);
    struct row *row = results_row(results, id, what, "cycles/s", same_commands);
    variant_compare(row, ours, floor);
    row->target = (struct target){TARGET_AT_LEAST, 0.85, false};

    row = results_row(results, cpu_id, cpu_what, "us/cycle", same_commands);
    row->ours = ours->client_us;
    row->theirs = floor->client_us;
    row->target = (struct target){TARGET_AT_MOST, 3, false};
}

/* What five servers and a client on few cores can do at most: hardly touched
 * by other programs. */
static void add_total_cpu(const struct cycles *cycles, struct results *results)
{
    const struct variant *ours = find(cycles, ASYNC, 64);
    const struct variant *floor = find(cycles, FLOOR, 64);
    struct row *row =
        results_row(results, "async_total_cpu_64",
                    "asynchronous, 64 in flight, CPU with servers", "us/cycle", same_commands);
    if (!cycles->servers->local) {
        snprintf(row->note, sizeof row->note, "the servers are not on this machine");
        return;
    }
    row->ours = series_sum(&ours->client_us, &ours->servers_us);
    row->theirs = series_sum(&floor->client_us, &floor->servers_us);
}

static void add_blocking(const struct cycles *cycles, struct results *results)
{
    const struct variant *floor = find(cycles, FLOOR, 1);
    const struct variant *direct = find(cycles, BLOCKING, 1);
    const struct variant *threaded = find(cycles, THREADS, 1);
    struct row *row = results_row(results, "blocking_1", "blocking, one caller, median cycle",
                                  "us", same_commands);
    row->ours = direct->cycle_p50_us;
    row->theirs = floor->cycle_p50_us;
    row->cost = variant_cost(direct);
    variant_note_failures(row, direct);
    row->target = (struct target){TARGET_AT_MOST, 1.15, false};

    row = results_row(results, "blocking_thread_1",
                      "blocking, I/O thread, one caller, median cycle", "us", same_commands);
    row->ours = threaded->cycle_p50_us;
    row->theirs = floor->cycle_p50_us;
    row->cost = variant_cost(threaded);
    variant_note_failures(row, threaded);
    row->target = (struct target){TARGET_AT_MOST, 1.5, false};

    row = results_row(results, "threads_64", "blocking, 64 threads on one client", "cycles/s",
                      same_commands);
    variant_compare(row, find(cycles, THREADS, 64), find(cycles, FLOOR, 64));
}

static void add_fenced(const struct cycles *cycles, struct results *results)
{
    struct row *row = results_row(results, "fenced_strict_64",
                                  "fenced and strict, 64 in flight", "cycles/s", "plain locks");
    variant_compare(row, find(cycles, FENCED, 64), find(cycles, ASYNC, 64));
    row->target = (struct target){TARGET_AT_LEAST, 0.6, false};
}

static void add_callers(const struct cycles *cycles, struct results *results)
{
    static const char *const api[] = {"floor", NULL, "async", NULL, "blocking", "threads"};
    for (size_t i = 0; i < PLANNED && results->callers_count < CALLERS_MAX; i++) {
        const struct variant *v = &cycles->variant[i];
        if (api[plan[i].way] && v->per_s.count > 0)
            results->callers[results->callers_count++] = (struct caller_point){
                .api = api[plan[i].way], .callers = plan[i].callers, .variant = *v};
    }
}

static void add_rows(const struct cycles *cycles, struct results *results)
{
    struct row *row;
    const struct series *floor;
    add_async(cycles, results, 64, "async_64", "asynchronous, 64 in flight", "async_cpu_64",
              "asynchronous, 64 in flight, client CPU");
    add_total_cpu(cycles, results);
    row = results_row(results, "async_64_classic", "asynchronous, 64 in flight", "cycles/s",
                      "floor, 1-key release");
    variant_compare(row, find(cycles, ASYNC, 64), find(cycles, CLASSIC, 64));
    add_async(cycles, results, 256, "async_256", "asynchronous, 256 in flight", "async_cpu_256",
              "asynchronous, 256 in flight, client CPU");
    add_blocking(cycles, results);
    add_fenced(cycles, results);
    add_callers(cycles, results);
    floor = &find(cycles, FLOOR, 64)->per_s;
    if (floor->count > 1)
        results->machine.floor_spread_percent = series_spread_percent(floor);
}

int cycles_measure(const struct options *options, const struct servers *servers,
                   struct results *results)
{
    struct cycles *cycles = calloc(1, sizeof *cycles);
    int result = -1;
    if (!cycles)
        return -1;
    cycles->servers = servers;
    if (open_all(cycles) == 0 && run_rounds(cycles, options) == 0) {
        add_rows(cycles, results);
        result = 0;
    }
    close_all(cycles);
    free(cycles);
    return result;
}
