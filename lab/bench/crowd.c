/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"
#include "variant.h"

#define CALLERS 16
#define WAIT_MS 20000   /* longer than any caller waits, unless something is wrong */
#define SECONDS_MIN 1.2 /* shares of a few dozen turns need this long */
#define TURNS_MIN 10    /* of the median caller, for shares to mean anything */

/* How the callers are arranged, and what they ask for. */
static const struct side {
    bool together; /* events of one client in one thread; else a thread and a client each */
    uint32_t flags;
    const char *id, *what, *share_id, *share_what;
} sides[] = {
    {false, 0, "crowd_16", "16 callers, one name", "crowd_share_16",
     "16 callers, one name, least / most served"},
    {false, REDLOCK_FAIR, "crowd_fair_16", "16 callers, one name, fair", "crowd_fair_share_16",
     "16 callers, one name, fair, least / most served"},
    {true, 0, "crowd_async_16", "16 async, one name", "crowd_async_share_16",
     "16 async, one name, least / most served"},
    {true, REDLOCK_FAIR, "crowd_async_fair_16", "16 async, one name, fair",
     "crowd_async_fair_share_16", "16 async, one name, fair, least / most served"},
};
enum { SIDES = sizeof sides / sizeof *sides };

struct crowd {
    redlock
        *client[CALLERS];    /* a thread with a client of its own is to the servers a process */
    uint64_t turns[CALLERS]; /* of each caller in the last round */
    struct sample sample;
    struct variant variant[SIDES];
    struct series share[SIDES]; /* of the caller with the fewest turns, in those of the most */
};

static int run_side(struct crowd *crowd, unsigned side, const char *name, struct window *window)
{
    memset(crowd->turns, 0, sizeof crowd->turns);
    return measure_callers(
        (struct callers){.way = sides[side].together ? CALLERS_ASYNC : CALLERS_THREADS,
                         .client = crowd->client,
                         .client_count = sides[side].together ? 1 : CALLERS,
                         .count = CALLERS,
                         .flags = sides[side].flags,
                         .wait_ms = WAIT_MS,
                         .name = name,
                         .turns = crowd->turns},
        window);
}

static double share(const struct crowd *crowd)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (unsigned i = 0; i < CALLERS; i++) {
        least = crowd->turns[i] < least ? crowd->turns[i] : least;
        most = crowd->turns[i] > most ? crowd->turns[i] : most;
    }
    return most ? (double)least / (double)most : 0;
}

static int run_rounds(const struct options *options, const struct servers *servers,
                      struct crowd *crowd)
{
    double seconds = options->seconds < SECONDS_MIN ? SECONDS_MIN : options->seconds;
    for (unsigned round = 0; round < options->rounds; round++) {
        for (unsigned i = 0; i < SIDES; i++) {
            unsigned side = round % 2 ? SIDES - 1 - i : i;
            struct window window;
            char name[40];
            snprintf(name, sizeof name, "bench-%08x-crowd-%u-%u", (unsigned)getpid(), round,
                     side);
            measure_open(&window, servers, seconds, &crowd->sample);
            if (run_side(crowd, side, name, &window) != 0)
                return -1;
            variant_add(&crowd->variant[side], &crowd->sample);
            if (crowd->sample.cycles >= TURNS_MIN * CALLERS)
                series_add(&crowd->share[side], share(crowd));
        }
    }
    return 0;
}

static void add_rows(const struct crowd *crowd, struct results *results)
{
    for (unsigned side = 0; side < SIDES; side++) {
        struct row *row =
            results_row(results, sides[side].id, sides[side].what, "locks/s", NULL);
        row->ours = crowd->variant[side].per_s;
        row->cost = variant_cost(&crowd->variant[side]);
        variant_note_failures(row, &crowd->variant[side]);
        row = results_row(results, sides[side].share_id, sides[side].share_what, "share", NULL);
        row->ours = crowd->share[side];
        if (row->ours.count == 0)
            snprintf(row->note, sizeof row->note, "too few turns to compare");
        if (sides[side].flags & REDLOCK_FAIR)
            row->target = (struct target){TARGET_AT_LEAST, 0.9, false};
    }
}

int crowd_measure(const struct options *options, const struct servers *servers,
                  struct results *results)
{
    struct crowd *crowd = calloc(1, sizeof *crowd);
    int result = crowd ? 0 : -1;
    for (unsigned i = 0; i < CALLERS && result == 0; i++) {
        crowd->client[i] = measure_client(servers, 0);
        result = crowd->client[i] ? 0 : -1;
    }
    if (result == 0)
        result = run_rounds(options, servers, crowd);
    if (result == 0)
        add_rows(crowd, results);
    for (unsigned i = 0; crowd && i < CALLERS; i++)
        redlock_close(crowd->client[i]);
    free(crowd);
    return result;
}
