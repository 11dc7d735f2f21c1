/* SPDX-License-Identifier: BSD-2-Clause */
#include "keep.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define IN_FLIGHT 64 /* acquires under way at the same time */
#define ACQUIRE_WAIT_MS 10000
#define RELEASES_AT_ONCE 1024
#define MS_NS 1000000LL
#define LOOKS_PER_TTL                                                                          \
    12             /* of each lock: more often than renewals come, so that none is missed */
#define SLICES 100 /* looked at one after the other, so that looking delays nothing */

struct kept_lock {
    redlock_lock *lock;
    int64_t deadline_ns; /* when last looked at; 0: not held */
};

struct keep {
    redlock *client;
    const struct options *options;
    unsigned count; /* of the locks */
    struct kept_lock *lock;
    unsigned started;
    unsigned ended;  /* acquires that have ended, well or not */
    int64_t pace_ns; /* between the starts of two acquires */
    int64_t begun_ns;
    int error;
    struct window window;
    struct keep_result *result;
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

/* Keeps the library's words about the first of its kind. */
static void note(char *out, size_t size, const redlock_event *event)
{
    if (!out[0])
        snprintf(out, size, "%s", event->detail);
}

static void handle(struct keep *keep, const redlock_event *event)
{
    struct keep_result *result = keep->result;
    switch (event->type) {
    case REDLOCK_EVENT_ACQUIRED:
        keep->ended++;
        if (event->error != REDLOCK_OK && keep->error == REDLOCK_OK) {
            fprintf(stderr, "redlock-bench: acquire: %s\n", event->detail);
            keep->error = event->error;
        }
        return;
    case REDLOCK_EVENT_JEOPARDY:
        result->jeopardies++;
        note(result->failure, sizeof result->failure, event);
        return;
    case REDLOCK_EVENT_LOST:
        result->lost++;
        note(result->loss, sizeof result->loss, event);
        return;
    default:
        return;
    }
}

static int drive(struct keep *keep, int timeout_ms)
{
    const redlock_event *event;
    int result = redlock_next(keep->client, &event, timeout_ms);
    for (; result == 1; result = redlock_next(keep->client, &event, 0))
        handle(keep, event);
    return result < 0 ? callers_complain("redlock_next", result) : 0;
}

static void start_one(struct keep *keep)
{
    redlock_request request =
        REDLOCK_REQUEST(.flags = REDLOCK_RENEW, .wait_ms = ACQUIRE_WAIT_MS);
    char name[40];
    snprintf(name, sizeof name, "bench-%08x-hold-%06u", (unsigned)getpid(), keep->started);
    int error = redlock_start_acquire(keep->client, name, keep->options->ttl_ms, &request,
                                      &keep->lock[keep->started].lock);
    if (error != REDLOCK_OK)
        keep->error = error;
    else
        keep->started++;
}

static bool may_start(const struct keep *keep)
{
    return keep->started < keep->count && keep->started - keep->ended < IN_FLIGHT &&
           now_ns() >= keep->begun_ns + keep->pace_ns * keep->started &&
           keep->error == REDLOCK_OK;
}

/*
 * Spread over a third of the TTL, the renewals come evenly from then on. In a burst they fall
 * due together for ever: the hardest case for their punctuality.
 */
static int acquire_all(struct keep *keep)
{
    keep->begun_ns = now_ns();
    while (keep->ended < keep->count && keep->error == REDLOCK_OK) {
        while (may_start(keep))
            start_one(keep);
        if (drive(keep, 1) != 0)
            return -1;
    }
    return keep->error == REDLOCK_OK ? 0 : -1;
}

/* ---- renewing ---- */

/*
 * A renewal moves the deadline to its own start plus a constant: two deadlines of a lock are as
 * far apart as the starts of the two renewals. What exceeds a third of the TTL is lateness.
 */
static void look(struct keep *keep, struct kept_lock *kept)
{
    int64_t deadline_ns = redlock_deadline_ns(kept->lock);
    int64_t late_ns = deadline_ns - kept->deadline_ns - keep->options->ttl_ms * MS_NS / 3;
    bool renewed = deadline_ns && kept->deadline_ns && deadline_ns != kept->deadline_ns;

    kept->deadline_ns = deadline_ns;
    if (!renewed || window_state(&keep->window) != WINDOW_MEASURING)
        return;
    keep->result->renewals++;
    latency_add(&keep->result->late, late_ns);
}

static double thread_cpu_s(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Looking at a hundred thousand locks costs about as much as renewing them: it is set apart. */
static void look_at_slice(struct keep *keep, unsigned slice)
{
    double before_s = thread_cpu_s();
    for (unsigned i = slice; i < keep->count; i += SLICES)
        look(keep, &keep->lock[i]);
    if (window_state(&keep->window) == WINDOW_MEASURING)
        keep->result->look_cpu_s += thread_cpu_s() - before_s;
}

static int renew_all(struct keep *keep)
{
    int64_t every_ns = keep->options->ttl_ms * MS_NS / LOOKS_PER_TTL / SLICES;
    unsigned slice = 0;
    for (unsigned i = 0; i < keep->count; i++)
        keep->lock[i].deadline_ns = redlock_deadline_ns(keep->lock[i].lock);
    for (int64_t look_ns = now_ns(); window_tick(&keep->window) != WINDOW_OVER;) {
        int64_t left_ns = look_ns - now_ns();
        if (left_ns > 0 && drive(keep, (int)(left_ns / MS_NS) + 1) != 0)
            return -1;
        if (now_ns() < look_ns)
            continue;
        look_at_slice(keep, slice++ % SLICES);
        look_ns += every_ns;
    }
    return 0;
}

/* A burst of releases would take the servers' time from what is measured next. */
static void release_all(struct keep *keep)
{
    for (unsigned i = 0; i < keep->started; i++) {
        redlock_lock_free(keep->lock[i].lock);
        if (i % RELEASES_AT_ONCE == 0)
            callers_settle(keep->client);
    }
    callers_settle(keep->client);
}

int keep_run(redlock *client, const struct options *options, const struct servers *servers,
             unsigned count, struct sample *sample, struct keep_result *out)
{
    struct keep keep = {.client = client, .options = options, .count = count, .result = out};
    int result = -1;

    *out = (struct keep_result){.bytes = -1};
    keep.pace_ns = options->burst ? 0 : options->ttl_ms * MS_NS / 3 / count;
    keep.lock = calloc(count, sizeof *keep.lock);
    if (!keep.lock)
        return callers_complain("calloc", REDLOCK_NOMEM);
    double bytes = allocated_bytes();
    double rss = resident_bytes();
    int acquired = acquire_all(&keep);
    /* Every lock is renewed once in a third of its TTL. */
    measure_open(&keep.window, servers, (double)options->ttl_ms / 3e3, sample);
    if (acquired == 0) {
        result = renew_all(&keep);
        window_close(&keep.window);
        if (bytes >= 0)
            out->bytes = allocated_bytes() - bytes;
        out->rss = resident_bytes() - rss;
    }
    release_all(&keep);
    free(keep.lock);
    return result;
}
