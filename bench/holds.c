/* SPDX-License-Identifier: BSD-2-Clause */
#include "holds.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ours.h"

#define IN_FLIGHT 64 /* acquires under way at the same time */
#define ACQUIRE_WAIT_MS 10000
#define MS_NS 1000000LL
#define LOOKS_PER_TTL 12 /* more often than renewals come, so that none is missed */
#define LOOK_EVERY_MAX_MS 250

struct hold {
    redlock_lock *lock;
    int64_t deadline_ns; /* when last looked at; 0: not held */
};

struct holds {
    redlock *client;
    struct hold *hold;
    unsigned count;
    unsigned started;
    unsigned ended;  /* acquires that have ended, well or not */
    int64_t pace_ns; /* between the starts of two acquires */
    int64_t begun_ns;
    int error;
    struct window *window;
    struct holds_result *result;
};

static int complain(const char *what, int error)
{
    fprintf(stderr, "redlock-bench: %s: %s: %s\n", what, redlock_strerror(error),
            redlock_detail());
    return -1;
}

/* ---- acquiring ---- */

static void on_acquired(redlock_lock *lock, int error, void *data)
{
    struct holds *holds = data;
    (void)lock;
    holds->ended++;
    if (error != REDLOCK_OK && holds->error == REDLOCK_OK) {
        complain("acquire", error);
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
    int error = redlock_start(holds->client, name, holds->result->ttl_ms, &request,
                              &holds->hold[holds->started].lock);
    if (error != REDLOCK_OK)
        holds->error = error;
    else
        holds->started++;
}

static bool may_start(const struct holds *holds)
{
    return holds->started < holds->count && holds->started - holds->ended < IN_FLIGHT &&
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
    while (holds->ended < holds->count && holds->error == REDLOCK_OK) {
        while (may_start(holds))
            start_one(holds);
        int done = redlock_process(holds->client, 1);
        if (done < 0)
            return complain("process", done);
    }
    holds->result->acquire_s = (double)(now_ns() - holds->begun_ns) / 1e9;
    return holds->error == REDLOCK_OK ? 0 : -1;
}

/* ---- holding ---- */

/*
 * A renewal moves the deadline to its own start plus a constant: two deadlines of a lock are as
 * far apart as the starts of the two renewals. What exceeds a third of the TTL is lateness.
 */
static void look(struct holds *holds, struct hold *hold)
{
    struct holds_result *result = holds->result;
    int64_t deadline_ns = redlock_deadline_ns(hold->lock);
    int64_t left_ms = redlock_remaining_ms(hold->lock);
    int64_t late_ns = deadline_ns - hold->deadline_ns - result->ttl_ms * MS_NS / 3;
    bool renewed = deadline_ns && hold->deadline_ns && deadline_ns != hold->deadline_ns;

    hold->deadline_ns = deadline_ns;
    if (window_state(holds->window) != WINDOW_MEASURING)
        return;
    if (deadline_ns && left_ms < result->least_left_ms)
        result->least_left_ms = left_ms;
    if (!renewed)
        return;
    result->renewals++;
    latency_add(&result->late, late_ns);
    if ((double)late_ns / 1e3 > result->latest_us)
        result->latest_us = (double)late_ns / 1e3;
}

static int hold_all(struct holds *holds)
{
    int64_t every_ms = holds->result->ttl_ms / LOOKS_PER_TTL;
    if (every_ms > LOOK_EVERY_MAX_MS)
        every_ms = LOOK_EVERY_MAX_MS;
    for (int64_t look_ns = now_ns(); window_tick(holds->window) != WINDOW_OVER;) {
        int64_t left_ns = look_ns - now_ns();
        int done = left_ns > 0 ? redlock_process(holds->client, (int)(left_ns / MS_NS) + 1) : 0;
        if (done < 0)
            return complain("process", done);
        if (now_ns() < look_ns)
            continue;
        for (unsigned i = 0; i < holds->count; i++)
            look(holds, &holds->hold[i]);
        look_ns += every_ms * MS_NS;
    }
    return 0;
}

static unsigned count_connects(redlock *client, size_t node_count)
{
    unsigned sum = 0;
    for (size_t i = 0; i < node_count; i++) {
        redlock_node_info info = {.size = sizeof info};
        if (redlock_node(client, i, &info) == REDLOCK_OK)
            sum += info.connects;
    }
    return sum;
}

int holds_run(redlock *client, unsigned count, int64_t ttl_ms, bool burst,
              struct window *window, struct holds_result *out)
{
    struct holds holds = {.client = client, .count = count, .window = window, .result = out};
    int result = -1;

    *out = (struct holds_result){.count = count, .ttl_ms = ttl_ms, .least_left_ms = ttl_ms};
    holds.pace_ns = burst ? 0 : ttl_ms * MS_NS / 3 / count;
    holds.hold = calloc(count, sizeof *holds.hold);
    if (!holds.hold)
        return complain("calloc", REDLOCK_NOMEM);
    unsigned connects = count_connects(client, window->servers->count);
    if (acquire_all(&holds) == 0) {
        window_open(window, window->servers, window->seconds, window->sample);
        result = hold_all(&holds);
        out->reconnects = count_connects(client, window->servers->count) - connects;
    }
    for (unsigned i = 0; i < count; i++)
        redlock_lock_free(holds.hold[i].lock);
    ours_settle(client, window);
    free(holds.hold);
    return result;
}

/* ---- telling ---- */

void holds_table(const struct holds_result *result, const struct window *window)
{
    const struct sample *sample = window->sample;
    printf("redlock %s on %zu nodes (%s): one client renews %u locks with a TTL of %g s\n\n",
           redlock_version(), window->servers->count, window->servers->version, result->count,
           (double)result->ttl_ms / 1e3);
    printf("acquired all in    %.2f s\n", result->acquire_s);
    printf("renewals           %llu in %.1f s, %.0f a second\n",
           (unsigned long long)result->renewals, sample->seconds,
           (double)result->renewals / sample->seconds);
    printf("late by            p50 %.2f ms, p99 %.2f ms, at most %.2f ms\n",
           latency_quantile_us(&result->late, 0.50) / 1e3,
           latency_quantile_us(&result->late, 0.99) / 1e3, result->latest_us / 1e3);
    printf("least time left    %lld ms of %lld\n", (long long)result->least_left_ms,
           (long long)result->ttl_ms);
    printf("failed renewals    %llu, locks lost %llu, reconnections %u\n",
           (unsigned long long)result->jeopardies, (unsigned long long)result->lost,
           result->reconnects);
    if (result->failure[0])
        printf("  first failure    %s\n", result->failure);
    if (result->loss[0])
        printf("  first loss       %s\n", result->loss);
    printf("CPU of the client  %.1f %% of a core\n",
           100 * sample->client_cpu_s / sample->seconds);
    if (sample->servers_cpu_s >= 0)
        printf("CPU of the servers %.1f %% of a core, all %zu together\n",
               100 * sample->servers_cpu_s / sample->seconds, window->servers->count);
    puts("\nLate: how long after a third of the TTL a renewal started.");
}

void holds_json(const struct holds_result *result, const struct window *window)
{
    const struct sample *sample = window->sample;
    printf("{\n  \"version\": \"%s\", \"nodes\": %zu, \"server\": \"%s\",\n", redlock_version(),
           window->servers->count, window->servers->version);
    printf("  \"holds\": %u, \"ttl_ms\": %lld, \"seconds\": %.3f, \"acquire_s\": %.3f,\n",
           result->count, (long long)result->ttl_ms, sample->seconds, result->acquire_s);
    printf("  \"renewals\": %llu, \"failed_renewals\": %llu, \"lost\": %llu,\n",
           (unsigned long long)result->renewals, (unsigned long long)result->jeopardies,
           (unsigned long long)result->lost);
    printf("  \"late_p50_ms\": %.3f, \"late_p99_ms\": %.3f, \"late_max_ms\": %.3f,\n",
           latency_quantile_us(&result->late, 0.50) / 1e3,
           latency_quantile_us(&result->late, 0.99) / 1e3, result->latest_us / 1e3);
    printf("  \"least_left_ms\": %lld, \"client_cpu\": %.4f, ",
           (long long)result->least_left_ms, sample->client_cpu_s / sample->seconds);
    if (sample->servers_cpu_s >= 0)
        printf("\"servers_cpu\": %.4f\n}\n", sample->servers_cpu_s / sample->seconds);
    else
        puts("\"servers_cpu\": null\n}");
}
