/* SPDX-License-Identifier: BSD-2-Clause */
#include "ours.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CONNECT_WAIT_MS 5000
/* A fenced lock leaves its counter behind for a day: names in use have one, so
 * these get one. */
#define NAMES_REUSED 16

#define SETTLE_MS 2000 /* for the replies of slower nodes after a run */

int ours_complain(const char *what, int error)
{
    fprintf(stderr, "redlock-bench: %s: %s: %s\n", what, redlock_strerror(error),
            redlock_detail());
    return -1;
}

/* ---- opening and settling ---- */

/* True when no node owes a reply; with `up`, and every one is connected. */
static bool is_quiet(redlock *client, size_t node_count, bool up)
{
    for (size_t i = 0; i < node_count; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO();
        if (redlock_node(client, i, &info) != REDLOCK_OK || info.pending > 0 ||
            (up && info.state != REDLOCK_NODE_UP))
            return false;
    }
    return true;
}

/* Nodes that may not vote, being too young for instance, are found out here,
 * with the reason. */
static int try_one(redlock *client)
{
    redlock_lock *lock = NULL;
    struct name name;
    name_first(&name, 0, 0);
    int error = redlock_acquire(client, name.text, BENCH_TTL_MS, NULL, &lock);
    if (error == REDLOCK_OK)
        error = redlock_release(lock);
    if (error != REDLOCK_OK)
        ours_complain("trying a lock", error);
    redlock_lock_free(lock);
    return error;
}

redlock *ours_open(const struct servers *servers, uint32_t flags)
{
    redlock_options options =
        REDLOCK_OPTIONS(.nodes = servers->url, .node_count = servers->count, .flags = flags,
                        .prefix = BENCH_PREFIX);
    redlock *client = NULL;
    int error = redlock_open(&options, &client);
    if (error != REDLOCK_OK) {
        ours_complain("redlock_open", error);
        return NULL;
    }
    int64_t give_up_ns = now_ns() + CONNECT_WAIT_MS * 1000000LL;
    do {
        error = redlock_ping(client, NULL);
    } while (!is_quiet(client, servers->count, true) && now_ns() < give_up_ns);
    if (is_quiet(client, servers->count, true)) {
        error = try_one(client);
    } else {
        ours_complain("not every node answers", error);
        error = REDLOCK_NOQUORUM;
    }
    if (error != REDLOCK_OK) {
        redlock_close(client);
        return NULL;
    }
    return client;
}

void ours_settle(redlock *client, const struct window *window)
{
    int64_t give_up_ns = now_ns() + SETTLE_MS * 1000000LL;
    struct timespec tick = {.tv_nsec = 1000000};
    const redlock_event *event;
    while (!is_quiet(client, window->servers->count, false) && now_ns() < give_up_ns)
        if (redlock_next(client, &event, 1) < 0)
            nanosleep(&tick, NULL);
}

/* ---- asynchronous ---- */

struct async_run {
    redlock *client;
    struct window *window;
    const struct ours_terms *terms;
    unsigned idle; /* callers that stopped because the window is over */
    int error;     /* a call that cannot fail did */
};

struct async_caller {
    struct async_run *run;
    unsigned number;
    struct name name;
    int64_t started_ns;
};

static void async_begin(struct async_caller *caller);

static void async_end(struct async_caller *caller, redlock_lock *lock, int error)
{
    bool counts = window_counts(caller->run->window);
    struct sample *sample = caller->run->window->sample;
    redlock_lock_free(lock);
    sample->cycles += counts && error == REDLOCK_OK;
    sample->failures += counts && error != REDLOCK_OK;
    if (counts)
        latency_add(&sample->cycle, now_ns() - caller->started_ns);
    if (counts && error == REDLOCK_OK && caller->run->terms->turns)
        caller->run->terms->turns[caller->number]++;
    async_begin(caller);
}

static void async_handle(const redlock_event *event)
{
    struct async_caller *caller = event->data;
    if (event->type == REDLOCK_EVENT_RELEASED || event->error != REDLOCK_OK) {
        async_end(caller, event->lock, event->error);
        return;
    }
    if (event->type != REDLOCK_EVENT_ACQUIRED)
        return;
    if (window_counts(caller->run->window))
        latency_add(&caller->run->window->sample->acquire, now_ns() - caller->started_ns);
    int error = redlock_start_release(event->lock);
    if (error != REDLOCK_OK)
        caller->run->error = error;
}

static void async_begin(struct async_caller *caller)
{
    struct async_run *run = caller->run;
    if (window_state(run->window) == WINDOW_OVER) {
        run->idle++;
        return;
    }
    const struct ours_terms *terms = run->terms;
    redlock_request request =
        REDLOCK_REQUEST(.flags = terms->flags, .wait_ms = terms->wait_ms, .data = caller);
    redlock_lock *lock;
    if (!terms->name)
        name_next(&caller->name);
    const char *name = terms->name ? terms->name : caller->name.text;
    caller->started_ns = now_ns();
    int error = redlock_start_acquire(run->client, name, BENCH_TTL_MS, &request, &lock);
    if (error != REDLOCK_OK)
        run->error = error;
}

int ours_run_async(redlock *client, unsigned in_flight, const struct ours_terms *terms,
                   struct window *window)
{
    struct async_run run = {.client = client, .window = window, .terms = terms};
    struct async_caller *callers = calloc(in_flight, sizeof *callers);
    if (!callers)
        return ours_complain("calloc", REDLOCK_NOMEM);
    for (unsigned i = 0; i < in_flight; i++) {
        callers[i].run = &run;
        callers[i].number = i;
        name_first(&callers[i].name, i, terms->flags & REDLOCK_FENCED ? NAMES_REUSED : 0);
        async_begin(&callers[i]);
    }
    while (run.idle < in_flight && run.error == REDLOCK_OK) {
        const redlock_event *event;
        int result = redlock_next(client, &event, -1);
        while (result == 1) {
            async_handle(event);
            result = redlock_next(client, &event, 0);
        }
        if (result < 0)
            run.error = result;
        window_tick(window);
    }
    if (run.error != REDLOCK_OK) {
        ours_complain("asynchronous run", run.error);
        /* Not worth unwinding: requests in flight still point at the callers. */
        exit(EXIT_FAILURE);
    }
    ours_settle(client, window);
    window_close(window);
    free(callers);
    return 0;
}

/* ---- blocking ---- */

struct blocking_tally {
    uint64_t cycles;
    uint64_t failures;
    struct latency acquire;
    struct latency cycle;
};

static void blocking_cycle(redlock *client, struct name *own, const struct ours_terms *terms,
                           const struct window *window, struct blocking_tally *tally)
{
    redlock_request request = REDLOCK_REQUEST(.flags = terms->flags, .wait_ms = terms->wait_ms);
    redlock_lock *lock = NULL;
    if (!terms->name)
        name_next(own);
    const char *name = terms->name ? terms->name : own->text;
    int64_t started_ns = now_ns();
    int error = redlock_acquire(client, name, BENCH_TTL_MS, &request, &lock);
    int64_t took_ns = now_ns() - started_ns;
    if (error == REDLOCK_OK) {
        error = redlock_release(lock);
        redlock_lock_free(lock);
    }
    if (!window_counts(window))
        return;
    if (error != REDLOCK_OK) {
        tally->failures++;
        return;
    }
    tally->cycles++;
    latency_add(&tally->acquire, took_ns);
    latency_add(&tally->cycle, now_ns() - started_ns);
}

static void add_tally(struct sample *sample, const struct blocking_tally *tally)
{
    sample->cycles += tally->cycles;
    sample->failures += tally->failures;
    latency_merge(&sample->acquire, &tally->acquire);
    latency_merge(&sample->cycle, &tally->cycle);
}

int ours_run_blocking(redlock *client, struct window *window)
{
    static const struct ours_terms terms = {0};
    struct blocking_tally *tally = calloc(1, sizeof *tally);
    struct name name;
    if (!tally)
        return ours_complain("calloc", REDLOCK_NOMEM);
    name_first(&name, 0, 0);
    while (window_tick(window) != WINDOW_OVER)
        blocking_cycle(client, &name, &terms, window, tally);
    add_tally(window->sample, tally);
    free(tally);
    ours_settle(client, window);
    window_close(window);
    return 0;
}

/* ---- threads ---- */

struct thread_caller {
    pthread_t thread;
    redlock *client;
    const struct ours_terms *terms;
    const struct window *window;
    unsigned number;
    struct blocking_tally tally;
};

static void *thread_main(void *data)
{
    struct thread_caller *c = data;
    struct name name;
    name_first(&name, c->number, 0);
    while (window_state(c->window) != WINDOW_OVER)
        blocking_cycle(c->client, &name, c->terms, c->window, &c->tally);
    return NULL;
}

int ours_run_threads(redlock *const *clients, unsigned client_count, unsigned threads,
                     const struct ours_terms *terms, struct window *window)
{
    struct thread_caller *callers = calloc(threads, sizeof *callers);
    if (!callers)
        return ours_complain("calloc", REDLOCK_NOMEM);
    unsigned started = 0;
    for (; started < threads; started++) {
        struct thread_caller *caller = &callers[started];
        *caller = (struct thread_caller){.client = clients[started % client_count],
                                         .terms = terms,
                                         .window = window,
                                         .number = started};
        if (pthread_create(&caller->thread, NULL, thread_main, caller) != 0)
            break;
    }
    struct timespec tick = {.tv_nsec = 1000000};
    while (window_tick(window) != WINDOW_OVER)
        nanosleep(&tick, NULL);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(callers[i].thread, NULL);
        add_tally(window->sample, &callers[i].tally);
        if (terms->turns)
            terms->turns[i] = callers[i].tally.cycles;
    }
    for (unsigned i = 0; i < client_count; i++)
        ours_settle(clients[i], window);
    window_close(window);
    free(callers);
    if (started < threads)
        return ours_complain("pthread_create", REDLOCK_SYSTEM);
    return 0;
}
