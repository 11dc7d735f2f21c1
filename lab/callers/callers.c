/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/callers/callers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CONNECT_WAIT_MS 5000
#define SETTLE_MS 2000 /* for the replies of slower nodes after a run */

/* A fenced lock leaves its counter behind for a day: names in use have one, so
 * these get one. */
#define NAMES_REUSED 16

/* One caller, and the request that it repeats. */
struct caller {
    const struct callers *callers;
    struct window *window;
    redlock *client;
    unsigned number;
    struct name name;
    char key[REDLOCK_IDEMPOTENCY_KEY_SIZE + 1];
    redlock_request request;
    int64_t started_ns;
    pthread_t thread;
    struct sample *tally; /* of a thread: counted by itself */
};

int callers_complain(const char *what, int error)
{
    fprintf(stderr, "%s: %s: %s: %s\n", program_invocation_short_name, what,
            redlock_strerror(error), redlock_detail());
    return -1;
}

/* True when no node owes a reply; with `up`, and every one is connected. */
static bool is_quiet(redlock *client, bool up)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    for (size_t i = 0; redlock_node(client, i, &info) == REDLOCK_OK; i++)
        if (info.pending > 0 || (up && info.state != REDLOCK_NODE_UP))
            return false;
    return true;
}

/* Nodes that may not vote, being too young for instance, are found out here, with the reason;
 * nodes that are late, on a busy machine, are given time. */
static int try_one(redlock *client, int64_t ttl_ms)
{
    redlock_request q = REDLOCK_REQUEST(.wait_ms = CONNECT_WAIT_MS);
    redlock_lock *lock = NULL;
    struct name name;
    int error;
    name_first(&name, 0, 0);
    error = redlock_acquire(client, name.text, ttl_ms, &q, &lock);
    if (error == REDLOCK_OK)
        error = redlock_release(lock);
    if (error != REDLOCK_OK)
        callers_complain("trying a lock", error);
    redlock_lock_free(lock);
    return error;
}

redlock *callers_open(const redlock_options *options, int64_t ttl_ms)
{
    redlock *client = NULL;
    int error = redlock_open(options, &client);
    int64_t give_up_ns;
    if (error != REDLOCK_OK) {
        callers_complain("redlock_open", error);
        return NULL;
    }
    give_up_ns = now_ns() + CONNECT_WAIT_MS * RL_NS_PER_MS;
    do {
        error = redlock_ping(client, NULL);
    } while (!is_quiet(client, true) && now_ns() < give_up_ns);
    if (is_quiet(client, true)) {
        error = try_one(client, ttl_ms);
    } else {
        callers_complain("not every node answers", error);
        error = REDLOCK_NOQUORUM;
    }
    if (error != REDLOCK_OK) {
        redlock_close(client);
        return NULL;
    }
    return client;
}

void callers_settle(redlock *client)
{
    int64_t give_up_ns = now_ns() + SETTLE_MS * RL_NS_PER_MS;
    struct timespec tick = {.tv_nsec = RL_NS_PER_MS};
    const redlock_event *event;
    while (!is_quiet(client, false) && now_ns() < give_up_ns)
        if (redlock_next(client, &event, 1) < 0)
            nanosleep(&tick, NULL);
}

static void prepare(struct caller *c, const struct callers *callers, unsigned number,
                    struct window *window)
{
    *c = (struct caller){
        .callers = callers,
        .window = window,
        .client = callers->client[number % callers->client_count],
        .number = number,
        .request =
            REDLOCK_REQUEST(.flags = callers->flags, .wait_ms = callers->wait_ms,
                            .label = callers->label,
                            .idempotency_key = callers->keyed ? c->key : NULL, .data = c),
    };
    name_first(&c->name, number, callers->flags & REDLOCK_FENCED ? NAMES_REUSED : 0);
}

/* The name of the next lock; the time of the request begins. */
static const char *begin(struct caller *c)
{
    static uint64_t keys;
    if (!c->callers->name)
        name_next(&c->name);
    if (c->callers->keyed)
        snprintf(c->key, sizeof c->key, "%022llu", (unsigned long long)++keys);
    c->started_ns = now_ns();
    return c->callers->name ? c->callers->name : c->name.text;
}

/* A cycle is over; `acquire_ns`: how long the acquire took. */
static void count_cycle(struct caller *c, struct sample *sample, int64_t acquire_ns, int error)
{
    if (!window_counts(c->window))
        return;
    if (error != REDLOCK_OK) {
        sample->failures++;
        return;
    }
    sample->cycles++;
    latency_add(&sample->acquire, acquire_ns);
    latency_add(&sample->cycle, now_ns() - c->started_ns);
    if (c->callers->turns)
        c->callers->turns[c->number]++;
}

struct async_run {
    struct caller *caller;
    int64_t *acquire_ns; /* of the cycle under way, for each caller */
    unsigned idle;       /* callers that stopped because the window is over */
    int error;           /* a call that cannot fail did */
};

static void async_begin(struct async_run *run, struct caller *c)
{
    redlock_lock *lock;
    const char *name;
    int error;
    if (window_state(c->window) == WINDOW_OVER) {
        run->idle++;
        return;
    }
    name = begin(c);
    error = redlock_start_acquire(c->client, name, c->callers->ttl_ms, &c->request, &lock);
    if (error != REDLOCK_OK)
        run->error = error;
}

static void async_handle(struct async_run *run, const redlock_event *event)
{
    struct caller *c = event->data;
    if (event->type != REDLOCK_EVENT_ACQUIRED && event->type != REDLOCK_EVENT_RELEASED)
        return;
    if (event->type == REDLOCK_EVENT_ACQUIRED && event->error == REDLOCK_OK) {
        int error;
        run->acquire_ns[c->number] = now_ns() - c->started_ns;
        error = redlock_start_release(event->lock);
        if (error != REDLOCK_OK)
            run->error = error;
        return;
    }
    count_cycle(c, c->window->sample, run->acquire_ns[c->number], event->error);
    redlock_lock_free(event->lock);
    async_begin(run, c);
}

static int run_async(struct caller *caller, unsigned count, struct window *window)
{
    struct async_run run = {.caller = caller,
                            .acquire_ns = calloc(count, sizeof *run.acquire_ns)};
    if (!run.acquire_ns)
        return callers_complain("calloc", REDLOCK_NOMEM);
    window_tick(window);
    for (unsigned i = 0; i < count; i++)
        async_begin(&run, &caller[i]);
    while (run.idle < count && run.error == REDLOCK_OK) {
        const redlock_event *event;
        int result = redlock_next(caller->client, &event, -1);
        while (result == 1) {
            async_handle(&run, event);
            result = redlock_next(caller->client, &event, 0);
        }
        if (result < 0)
            run.error = result;
        window_tick(window);
    }
    if (run.error != REDLOCK_OK) {
        callers_complain("asynchronous run", run.error);
        /* Not worth unwinding: requests in flight still point at the callers. */
        exit(EXIT_FAILURE);
    }
    free(run.acquire_ns);
    return 0;
}

static void blocking_cycle(struct caller *c, struct sample *sample)
{
    redlock_lock *lock = NULL;
    const char *name = begin(c);
    int error = redlock_acquire(c->client, name, c->callers->ttl_ms, &c->request, &lock);
    int64_t acquire_ns = now_ns() - c->started_ns;
    if (error == REDLOCK_OK) {
        error = redlock_release(lock);
        redlock_lock_free(lock);
    }
    count_cycle(c, sample, acquire_ns, error);
}

static int run_blocking(struct caller *caller, struct window *window)
{
    while (window_tick(window) != WINDOW_OVER)
        blocking_cycle(caller, window->sample);
    return 0;
}

static void *thread_main(void *data)
{
    struct caller *c = data;
    while (window_state(c->window) != WINDOW_OVER)
        blocking_cycle(c, c->tally);
    return NULL;
}

static int run_threads(struct caller *caller, unsigned count, struct window *window)
{
    struct sample *sample = window->sample, *tally = calloc(count, sizeof *tally);
    struct timespec tick = {.tv_nsec = RL_NS_PER_MS};
    unsigned started = 0;
    if (!tally)
        return callers_complain("calloc", REDLOCK_NOMEM);
    window_tick(window);
    for (; started < count; started++) {
        caller[started].tally = &tally[started];
        if (pthread_create(&caller[started].thread, NULL, thread_main, &caller[started]) != 0)
            break;
    }
    while (window_tick(window) != WINDOW_OVER)
        nanosleep(&tick, NULL);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(caller[i].thread, NULL);
        sample->cycles += tally[i].cycles;
        sample->failures += tally[i].failures;
        latency_merge(&sample->acquire, &tally[i].acquire);
        latency_merge(&sample->cycle, &tally[i].cycle);
    }
    free(tally);
    return started < count ? callers_complain("pthread_create", REDLOCK_SYSTEM) : 0;
}

int callers_run(const struct callers *callers, struct window *window)
{
    struct caller *caller = calloc(callers->count, sizeof *caller);
    int result = -1;
    if (!caller)
        return callers_complain("calloc", REDLOCK_NOMEM);
    for (unsigned i = 0; i < callers->count; i++)
        prepare(&caller[i], callers, i, window);
    switch (callers->way) {
    case CALLERS_ASYNC:
        result = run_async(caller, callers->count, window);
        break;
    case CALLERS_BLOCKING:
        result = run_blocking(caller, window);
        break;
    case CALLERS_THREADS:
        result = run_threads(caller, callers->count, window);
        break;
    }
    free(caller);
    return result;
}
