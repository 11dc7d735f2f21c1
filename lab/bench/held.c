/* SPDX-License-Identifier: BSD-2-Clause */
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "measure.h"
#include "parts.h"
#include "results.h"

#define IN_FLIGHT 64 /* acquires under way at the same time */
#define ACQUIRE_WAIT_MS 10000
#define RELEASES_AT_ONCE 1024
#define LOOKS_PER_TTL                                                                          \
    12             /* of each lock: more often than renewals come, so that none is missed */
#define SLICES 100 /* looked at one after the other, so that looking delays nothing */

/* Many locks of one client, acquired, kept renewed for a while, and given back. */
struct keep_result {
    uint64_t renewals;   /* seen while measuring */
    uint64_t lost;       /* locks that ended */
    double bytes;        /* memory of all locks together, by the allocator; negative: unknown */
    double look_cpu_s;   /* what our own looking took, out of the sample's client_cpu_s */
    struct latency late; /* start of a renewal against its time, a third of the TTL */
    char failure[128];   /* why the first renewal that failed did */
    char loss[128];      /* why the first lock that was lost was */
};

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

static double allocated_bytes(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
#else
    return -1;
#endif
}

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
    int error;
    snprintf(name, sizeof name, "bench-%08x-hold-%06u", (unsigned)getpid(), keep->started);
    error = redlock_start_acquire(keep->client, name, keep->options->ttl_ms, &request,
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

/* Spread over a third of the TTL, so that renewals come evenly from then on. */
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

/*
 * A renewal moves the deadline to its own start plus a constant: two deadlines of a lock are as
 * far apart as the starts of the two renewals. What exceeds a third of the TTL is lateness.
 */
static void look(struct keep *keep, struct kept_lock *kept)
{
    int64_t deadline_ns = redlock_deadline_ns(kept->lock);
    int64_t late_ns =
        deadline_ns - kept->deadline_ns - keep->options->ttl_ms * RL_NS_PER_MS / 3;
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
    int64_t every_ns = keep->options->ttl_ms * RL_NS_PER_MS / LOOKS_PER_TTL / SLICES;
    unsigned slice = 0;
    for (unsigned i = 0; i < keep->count; i++)
        keep->lock[i].deadline_ns = redlock_deadline_ns(keep->lock[i].lock);
    for (int64_t look_ns = now_ns(); window_tick(&keep->window) != WINDOW_OVER;) {
        int64_t left_ns = look_ns - now_ns();
        if (left_ns > 0 && drive(keep, (int)(left_ns / RL_NS_PER_MS) + 1) != 0)
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

/*
 * Acquires and renews `count` locks as the options say (ttl_ms). The client drives
 * itself. 0 or -1, with a message.
 */
static int keep_run(redlock *client, const struct options *options,
                    const struct servers *servers, unsigned count, struct sample *sample,
                    struct keep_result *out)
{
    struct keep keep = {.client = client, .options = options, .count = count, .result = out};
    int result = -1;
    double bytes;
    int acquired;

    *out = (struct keep_result){.bytes = -1};
    keep.pace_ns = options->ttl_ms * RL_NS_PER_MS / 3 / count;
    keep.lock = calloc(count, sizeof *keep.lock);
    if (!keep.lock)
        return callers_complain("calloc", REDLOCK_NOMEM);
    bytes = allocated_bytes();
    acquired = acquire_all(&keep);
    /* Every lock is renewed once in a third of its TTL. */
    measure_open(&keep.window, servers, (double)options->ttl_ms / 3e3, sample);
    if (acquired == 0) {
        result = renew_all(&keep);
        window_close(&keep.window);
        if (bytes >= 0)
            out->bytes = allocated_bytes() - bytes;
    }
    release_all(&keep);
    free(keep.lock);
    return result;
}

#define LATE_SHARE 0.05 /* of the TTL, which the latest per cent of renewals may be late */
#define BYTES_MAX 512
#define GROWTH_MAX 1.5

/* A fresh client each time: memory that an earlier one has left over would flatter the next. */
static int keep_some(const struct options *options, const struct servers *servers,
                     unsigned locks, struct held_point *out, struct keep_result *result)
{
    static struct sample sample;
    redlock *client = measure_client(servers, 0);
    int error;
    double cpu_s;
    if (!client)
        return -1;
    error = keep_run(client, options, servers, locks, &sample, result);
    redlock_close(client);
    if (error != 0)
        return -1;
    cpu_s = sample.client_cpu_s - result->look_cpu_s;
    *out = (struct held_point){.locks = locks,
                               .bytes_per_lock = result->bytes / locks,
                               .cpu_us_per_lock_s = cpu_s * 1e6 / sample.seconds / locks,
                               .late_p99_ms = latency_quantile_us(&result->late, 0.99) / 1e3,
                               .ttl_ms = options->ttl_ms,
                               .renewals = result->renewals,
                               .lost = result->lost};
    return 0;
}

/* Text of a row that lives as long as the results. */
__attribute__((format(printf, 1, 2))) static const char *about(const char *format, ...)
{
    static char text[ROWS_MAX][96];
    static unsigned used;
    char *out = text[used++ % ROWS_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(out, sizeof text[0], format, args);
    va_end(args);
    return out;
}

static struct row *add(struct results *results, const char *id, const char *what,
                       const char *unit, double value, struct target target)
{
    struct row *row = results_row(results, id, what, unit, NULL);
    series_add(&row->ours, value);
    row->target = target;
    return row;
}

/* Each row speaks of the worst number of locks, or of the largest; the JSON has them all. */
static void add_rows(struct results *results)
{
    const struct held_point *first = &results->held[0];
    const struct held_point *last = &results->held[results->held_count - 1];
    double bytes = 0, late_share = 0;
    uint64_t lost = 0;
    struct row *row;
    for (unsigned i = 0; i < results->held_count; i++) {
        const struct held_point *p = &results->held[i];
        double share = p->late_p99_ms / (double)p->ttl_ms;
        bytes = p->bytes_per_lock > bytes ? p->bytes_per_lock : bytes;
        late_share = share > late_share ? share : late_share;
        lost += p->lost;
    }
    row = results_row(results, "held_bytes",
                      about("up to %u locks held, memory of the client", last->locks),
                      "bytes/lock", NULL);
    row->target = (struct target){TARGET_AT_MOST, BYTES_MAX, true};
    if (bytes > 0)
        series_add(&row->ours, bytes);
    else
        snprintf(row->note, sizeof row->note, "this allocator does not report it");
    add(results, "held_late",
        about("up to %u locks held, p99 of renewals late by", last->locks), "of TTL",
        late_share, (struct target){TARGET_BELOW, LATE_SHARE, false});
    add(results, "held_lost", about("up to %u locks held, lost", last->locks), "locks",
        (double)lost, (struct target){TARGET_AT_MOST, 0, true});
    row = add(results, "held_cpu", about("%u locks held, CPU per lock", last->locks), "us/s",
              last->cpu_us_per_lock_s, (struct target){TARGET_AT_MOST, GROWTH_MAX, false});
    if (results->held_count < 2) {
        row->target.kind = TARGET_NONE; /* nothing has grown */
        return;
    }
    row->baseline = about("%u locks held", first->locks);
    series_add(&row->theirs, first->cpu_us_per_lock_s);
}

int held_measure(const struct options *options, const struct servers *servers,
                 struct results *results)
{
    static struct keep_result result;
    for (unsigned i = 0; i < options->locks_count && i < HELD_MAX; i++) {
        fprintf(stderr, "  %u locks\n", options->locks[i]);
        if (keep_some(options, servers, options->locks[i], &results->held[i], &result) != 0)
            return -1;
        results->held_count++;
        if (result.failure[0])
            fprintf(stderr, "  a renewal failed: %s\n", result.failure);
        if (result.loss[0])
            fprintf(stderr, "  a lock was lost: %s\n", result.loss);
    }
    add_rows(results);
    return 0;
}
