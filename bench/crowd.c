/* SPDX-License-Identifier: BSD-2-Clause */
#include "crowd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "ours.h"
#include "variant.h"

#define CALLERS 16
#define WAIT_MS 20000   /* nobody waits as long, unless something is wrong */
#define SECONDS_MIN 1.2 /* shares of a few dozen turns need this long */
#define TURNS_MIN 10    /* of the median caller, for shares to mean anything */

/* How the callers are arranged, and what they ask for. */
static const struct side {
    bool together; /* callbacks of one client in one thread; else a thread and a client each */
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

/* A thread with a client of its own is to the servers like a process. */
struct caller {
    pthread_t thread;
    redlock *client;
    struct crowd *crowd;
    uint64_t turns; /* while measuring */
    int error;
};

struct crowd {
    struct caller caller[CALLERS];
    struct window window;
    struct sample sample;
    uint32_t flags;
    unsigned idle; /* asynchronous callers that stopped */
    char name[40];
};

static void take_turn(struct caller *caller)
{
    redlock_request request = {
        .size = sizeof request, .flags = caller->crowd->flags, .wait_ms = WAIT_MS};
    redlock_lock *lock = NULL;
    caller->error =
        redlock_acquire(caller->client, caller->crowd->name, BENCH_TTL_MS, &request, &lock);
    if (caller->error != REDLOCK_OK) {
        ours_complain("waiting in a crowd", caller->error);
        return;
    }
    caller->turns += window_counts(&caller->crowd->window);
    redlock_release(lock);
    redlock_lock_free(lock);
}

static void *caller_main(void *data)
{
    struct caller *caller = data;
    while (window_state(&caller->crowd->window) != WINDOW_OVER && caller->error == REDLOCK_OK)
        take_turn(caller);
    return NULL;
}

/* ---- callbacks ---- */

static void begin(struct caller *caller);

/* As with the threads: a release that too few nodes answered in time ends nothing. */
static void on_released(redlock_lock *lock, int error, void *data)
{
    (void)error;
    redlock_lock_free(lock);
    begin(data);
}

static void on_acquired(redlock_lock *lock, int error, void *data)
{
    struct caller *caller = data;
    caller->turns += error == REDLOCK_OK && window_counts(&caller->crowd->window);
    if (error == REDLOCK_OK)
        error = redlock_start_release(lock, on_released, data);
    caller->error = error;
    if (error != REDLOCK_OK)
        on_released(lock, error, data);
}

static void begin(struct caller *caller)
{
    struct crowd *crowd = caller->crowd;
    redlock_request request = {.size = sizeof request,
                               .flags = crowd->flags,
                               .wait_ms = WAIT_MS,
                               .done = on_acquired,
                               .data = caller};
    redlock_lock *lock;
    bool over = window_state(&crowd->window) == WINDOW_OVER;
    if (!over && caller->error == REDLOCK_OK)
        caller->error =
            redlock_start(crowd->caller[0].client, crowd->name, BENCH_TTL_MS, &request, &lock);
    crowd->idle += over || caller->error != REDLOCK_OK;
    if (caller->error != REDLOCK_OK)
        ours_complain("waiting in a crowd", caller->error);
}

static int run_together(struct crowd *crowd)
{
    int error = 0;
    crowd->idle = 0;
    for (unsigned i = 0; i < CALLERS; i++) {
        crowd->caller[i].turns = 0;
        begin(&crowd->caller[i]);
    }
    while (crowd->idle < CALLERS && error == 0) {
        error = redlock_process(crowd->caller[0].client, WAIT_MS) < 0;
        window_tick(&crowd->window);
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        crowd->sample.cycles += crowd->caller[i].turns;
        error |= crowd->caller[i].error;
    }
    window_close(&crowd->window);
    return error == 0 ? 0 : -1;
}

/* ---- threads ---- */

static int run_apart(struct crowd *crowd)
{
    struct timespec tick = {.tv_nsec = 1000000};
    unsigned started = 0;
    int error = 0;
    for (; started < CALLERS; started++) {
        struct caller *caller = &crowd->caller[started];
        caller->turns = 0;
        if (pthread_create(&caller->thread, NULL, caller_main, caller) != 0)
            break;
    }
    while (window_tick(&crowd->window) != WINDOW_OVER)
        nanosleep(&tick, NULL);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(crowd->caller[i].thread, NULL);
        crowd->sample.cycles += crowd->caller[i].turns;
        error |= crowd->caller[i].error;
    }
    window_close(&crowd->window);
    return started == CALLERS && error == 0 ? 0 : -1;
}

static double share(const struct crowd *crowd)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (unsigned i = 0; i < CALLERS; i++) {
        uint64_t turns = crowd->caller[i].turns;
        least = turns < least ? turns : least;
        most = turns > most ? turns : most;
    }
    return most ? (double)least / (double)most : 0;
}

/* What every side gave: as a variant, and the shares. */
struct outcome {
    struct variant variant[SIDES];
    struct series share[SIDES];
};

static int run_rounds(const struct options *options, const struct servers *servers,
                      struct crowd *crowd, struct outcome *outcome)
{
    double seconds = options->seconds < SECONDS_MIN ? SECONDS_MIN : options->seconds;
    for (unsigned round = 0; round < options->rounds; round++) {
        for (unsigned i = 0; i < SIDES; i++) {
            unsigned side = round % 2 ? SIDES - 1 - i : i;
            crowd->flags = sides[side].flags;
            snprintf(crowd->name, sizeof crowd->name, "bench-%08x-crowd-%u-%u",
                     (unsigned)getpid(), round, side);
            window_open(&crowd->window, servers, seconds, &crowd->sample);
            if ((sides[side].together ? run_together : run_apart)(crowd) != 0)
                return -1;
            variant_add(&outcome->variant[side], &crowd->sample);
            if (crowd->sample.cycles >= TURNS_MIN * CALLERS)
                series_add(&outcome->share[side], share(crowd));
        }
    }
    return 0;
}

static void tell(const struct outcome *outcome, struct results *results)
{
    for (unsigned side = 0; side < SIDES; side++) {
        struct row *row =
            results_row(results, sides[side].id, sides[side].what, "locks/s", NULL);
        row->ours = outcome->variant[side].per_s;
        row->cost = variant_cost(&outcome->variant[side]);
        row = results_row(results, sides[side].share_id, sides[side].share_what, "share", NULL);
        row->ours = outcome->share[side];
        if (row->ours.count == 0)
            snprintf(row->note, sizeof row->note, "too few turns to tell");
        if (sides[side].flags & REDLOCK_FAIR)
            row->target = (struct target){TARGET_AT_LEAST, 0.9, false};
    }
}

int crowd_measure(const struct options *options, const struct servers *servers,
                  struct results *results)
{
    struct crowd *crowd = calloc(1, sizeof *crowd);
    struct outcome *outcome = calloc(1, sizeof *outcome);
    int result = crowd && outcome ? 0 : -1;
    for (unsigned i = 0; i < CALLERS && result == 0; i++) {
        crowd->caller[i].crowd = crowd;
        crowd->caller[i].client = ours_open(servers, 0);
        result = crowd->caller[i].client ? 0 : -1;
    }
    if (result == 0)
        result = run_rounds(options, servers, crowd, outcome);
    if (result == 0)
        tell(outcome, results);
    for (unsigned i = 0; crowd && i < CALLERS; i++)
        redlock_close(crowd->caller[i].client);
    free(outcome);
    free(crowd);
    return result;
}
