/* SPDX-License-Identifier: BSD-2-Clause */
#include "holds.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ours.h"

#define IN_FLIGHT 64 /* acquires under way at the same time */
#define ACQUIRE_WAIT_MS 10000
#define RELEASES_AT_ONCE 1024
#define MS_NS 1000000LL
#define LOOKS_PER_TTL                                                                          \
    12             /* of each lock: more often than renewals come, so that none is missed */
#define SLICES 100 /* looked at one after the other, so that looking delays nothing */

struct hold {
    redlock_lock *lock;
    int64_t deadline_ns; /* when last looked at; 0: not held */
};

struct holds {
    redlock *client;
    const struct holds_terms *terms;
    struct hold *hold;
    unsigned started;
    unsigned ended;  /* acquires that have ended, well or not */
    int64_t pace_ns; /* between the starts of two acquires */
    int64_t begun_ns;
    int error;
    struct window window;
    struct holds_result *result;
};

/* ---- memory ---- */

static double allocated_bytes(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
#else
    return -1;
#endif
}

static double resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return -1;
    if (fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* ---- acquiring ---- */

static void on_acquired(redlock_lock *lock, int error, void *data)
{
    struct holds *holds = data;
    (void)lock;
    holds->ended++;
    if (error != REDLOCK_OK && holds->error == REDLOCK_OK) {
        ours_complain("acquire", error);
        holds->error = error;
    }
}

/* Keeps the library's words about the first of its kind. */
static void note(char *out, size_t size)
{
    if (!out[0])
        snprintf(out, size, "%s", redlock_detail());
}

static void on_jeopardy(redlock_lock *lock, int error, void *data)
{
    struct holds *holds = data;
    (void)lock;
    holds->result->jeopardies += error != REDLOCK_OK;
    if (error != REDLOCK_OK)
        note(holds->result->failure, sizeof holds->result->failure);
}

static void on_lost(redlock_lock *lock, int error, void *data)
{
    struct holds *holds = data;
    (void)lock;
    (void)error;
    holds->result->lost++;
    note(holds->result->loss, sizeof holds->result->loss);
}

static void start_one(struct holds *holds)
{
    redlock_request request = {.size = sizeof request,
                               .flags = REDLOCK_RENEW,
                               .wait_ms = ACQUIRE_WAIT_MS,
                               .done = on_acquired,
                               .lost = on_lost,
                               .jeopardy = on_jeopardy,
                               .data = holds};
    char name[40];
    snprintf(name, sizeof name, "bench-%08x-hold-%06u", (unsigned)getpid(), holds->started);
    int error = redlock_start(holds->client, name, holds->terms->ttl_ms, &request,
                              &holds->hold[holds->started].lock);
    if (error != REDLOCK_OK)
        holds->error = error;
    else
        holds->started++;
}

static bool may_start(const struct holds *holds)
{
    return holds->started < holds->terms->count && holds->started - holds->ended < IN_FLIGHT &&
           now_ns() >= holds->begun_ns + holds->pace_ns * holds->started &&
           holds->error == REDLOCK_OK;
}

/*
 * Spread over a third of the TTL, the renewals come evenly from then on. In a burst they fall
 * due together for ever: the hardest case for their punctuality.
 */
static int acquire_all(struct holds *holds)
{
    holds->begun_ns = now_ns();
    while (holds->ended < holds->terms->count && holds->error == REDLOCK_OK) {
        while (may_start(holds))
            start_one(holds);
        int done = redlock_process(holds->client, 1);
        if (done < 0)
            return ours_complain("process", done);
    }
    return holds->error == REDLOCK_OK ? 0 : -1;
}

/* ---- holding ---- */

/*
 * A renewal moves the deadline to its own start plus a constant: two deadlines of a lock are as
 * far apart as the starts of the two renewals. What exceeds a third of the TTL is lateness.
 */
static void look(struct holds *holds, struct hold *hold)
{
    int64_t deadline_ns = redlock_deadline_ns(hold->lock);
    int64_t late_ns = deadline_ns - hold->deadline_ns - holds->terms->ttl_ms * MS_NS / 3;
    bool renewed = deadline_ns && hold->deadline_ns && deadline_ns != hold->deadline_ns;

    hold->deadline_ns = deadline_ns;
    if (!renewed || window_state(&holds->window) != WINDOW_MEASURING)
        return;
    holds->result->renewals++;
    latency_add(&holds->result->late, late_ns);
}

static double thread_cpu_s(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Looking at a hundred thousand locks costs about as much as renewing them: it is set apart. */
static void look_at_slice(struct holds *holds, unsigned slice)
{
    double before_s = thread_cpu_s();
    for (unsigned i = slice; i < holds->terms->count; i += SLICES)
        look(holds, &holds->hold[i]);
    if (window_state(&holds->window) == WINDOW_MEASURING)
        holds->result->look_cpu_s += thread_cpu_s() - before_s;
}

static int hold_all(struct holds *holds)
{
    int64_t every_ns = holds->terms->ttl_ms * MS_NS / LOOKS_PER_TTL / SLICES;
    unsigned slice = 0;
    for (unsigned i = 0; i < holds->terms->count; i++)
        holds->hold[i].deadline_ns = redlock_deadline_ns(holds->hold[i].lock);
    for (int64_t look_ns = now_ns(); window_tick(&holds->window) != WINDOW_OVER;) {
        int64_t left_ns = look_ns - now_ns();
        int done = left_ns > 0 ? redlock_process(holds->client, (int)(left_ns / MS_NS) + 1) : 0;
        if (done < 0)
            return ours_complain("process", done);
        if (now_ns() < look_ns)
            continue;
        look_at_slice(holds, slice++ % SLICES);
        look_ns += every_ns;
    }
    return 0;
}

/* A burst of releases would take the servers' time from what is measured next. */
static void release_all(struct holds *holds)
{
    for (unsigned i = 0; i < holds->started; i++) {
        redlock_lock_free(holds->hold[i].lock);
        if (i % RELEASES_AT_ONCE == 0)
            ours_settle(holds->client, &holds->window);
    }
    ours_settle(holds->client, &holds->window);
}

int holds_run(redlock *client, const struct holds_terms *terms, struct sample *sample,
              struct holds_result *out)
{
    struct holds holds = {.client = client, .terms = terms, .result = out};
    int result = -1;

    *out = (struct holds_result){.bytes = -1};
    holds.pace_ns = terms->burst ? 0 : terms->ttl_ms * MS_NS / 3 / terms->count;
    holds.hold = calloc(terms->count, sizeof *holds.hold);
    if (!holds.hold)
        return ours_complain("calloc", REDLOCK_NOMEM);
    double bytes = allocated_bytes();
    double rss = resident_bytes();
    int acquired = acquire_all(&holds);
    window_open(&holds.window, terms->servers, terms->seconds, sample);
    if (acquired == 0) {
        result = hold_all(&holds);
        window_close(&holds.window);
        if (bytes >= 0)
            out->bytes = allocated_bytes() - bytes;
        out->rss = resident_bytes() - rss;
    }
    release_all(&holds);
    free(holds.hold);
    return result;
}
