/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock-peer: our own driver among those of the peers. It speaks their protocol (run.py says
 * what that is) and knows the library by its public header only, as the others know theirs.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "redlock.h"

#define TTL_MS 10000
#define WARM_SECONDS 0.3
#define WAIT_MS 5000 /* for the one name: far more than a turn takes */
#define CALLERS_MAX 256
#define SECONDS_MAX 60
#define NAME_SIZE 64
#define TIMES_MAX 65536 /* latencies that one caller keeps in one run */

enum api {
    API_ASYNC,   /* events, one client */
    API_DIRECT,  /* blocking calls of threads on one client, which they drive themselves */
    API_THREAD,  /* the same on one client with REDLOCK_THREAD */
    API_CLIENTS, /* the same, a client for every thread */
};

enum state { STATE_RUNNING, STATE_OVER };

struct settings {
    enum api api;
    bool one_name; /* all callers want the same lock, and wait for it */
    uint32_t flags;
    unsigned callers;
    double seconds;
    const char *node[REDLOCK_NODES_MAX];
    size_t node_count;
};

/* All callers of one run. A run ends by the clock: what is in flight then is not counted. */
struct run {
    const struct settings *settings;
    const char *word; /* in the names, so that no run meets leftovers of another */
    int process;
    atomic_int state;
    int64_t end_ns;
    int64_t ended_ns; /* when it really was over: a timer is not exact to the nanosecond */
    unsigned idle;    /* asynchronous callers that stopped */
};

/* A caller acquires and releases, one after the other; and what came of it. */
struct caller {
    pthread_t thread;
    struct run *run;
    redlock *client;
    unsigned number;
    unsigned serial;
    char name[NAME_SIZE];
    int64_t started_ns;
    unsigned cycles;
    unsigned failures;
    unsigned time_count;
    float *time_us; /* TIMES_MAX */
};

static int complain(const char *what, const char *why)
{
    fprintf(stderr, "redlock-peer: %s: %s\n", what, why);
    return -1;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* ---- one caller ---- */

/* By the one thread that watches the clock. */
static void end_if_due(struct run *run)
{
    int64_t now = now_ns();
    if (now < run->end_ns || run->ended_ns)
        return;
    run->ended_ns = now;
    atomic_store_explicit(&run->state, STATE_OVER, memory_order_relaxed);
}

static bool is_over(struct run *run)
{
    return atomic_load_explicit(&run->state, memory_order_relaxed) == STATE_OVER;
}

static void next_name(struct caller *caller)
{
    const struct run *run = caller->run;
    if (run->settings->one_name)
        snprintf(caller->name, NAME_SIZE, "bench-%d-%s", run->process, run->word);
    else
        snprintf(caller->name, NAME_SIZE, "bench-%d-%s-%u-%u", run->process, run->word,
                 caller->number, caller->serial++);
}

static void note_acquired(struct caller *caller)
{
    if (caller->time_count < TIMES_MAX && !is_over(caller->run))
        caller->time_us[caller->time_count++] = (float)(now_ns() - caller->started_ns) / 1e3F;
}

static void note_cycle(struct caller *caller, int error)
{
    if (is_over(caller->run))
        return;
    caller->cycles += error == REDLOCK_OK;
    caller->failures += error != REDLOCK_OK;
}

static redlock_request request_of(const struct run *run)
{
    return (redlock_request)REDLOCK_REQUEST(.flags = run->settings->flags,
                                            .wait_ms = run->settings->one_name ? WAIT_MS : 0);
}

static void *blocking_main(void *data)
{
    struct caller *caller = data;
    redlock_request request = request_of(caller->run);
    while (!is_over(caller->run)) {
        redlock_lock *lock = NULL;
        next_name(caller);
        caller->started_ns = now_ns();
        int error = redlock_acquire(caller->client, caller->name, TTL_MS, &request, &lock);
        if (error == REDLOCK_OK) {
            note_acquired(caller);
            error = redlock_release(lock);
        }
        redlock_lock_free(lock);
        note_cycle(caller, error);
        if (caller->run->settings->callers == 1)
            end_if_due(caller->run);
    }
    return NULL;
}

/* ---- events ---- */

static void async_begin(struct caller *caller);

static void async_handle(const redlock_event *event)
{
    int error = event->error;
    if (event->type != REDLOCK_EVENT_ACQUIRED && event->type != REDLOCK_EVENT_RELEASED)
        return;
    if (event->type == REDLOCK_EVENT_ACQUIRED && error == REDLOCK_OK) {
        note_acquired(event->data);
        error = redlock_start_release(event->lock);
        if (error == REDLOCK_OK)
            return;
    }
    redlock_lock_free(event->lock);
    note_cycle(event->data, error);
    async_begin(event->data);
}

static void async_begin(struct caller *caller)
{
    struct run *run = caller->run;
    redlock_request request = request_of(run);
    redlock_lock *lock;
    request.data = caller;
    next_name(caller);
    caller->started_ns = now_ns();
    if (is_over(run) || redlock_start_acquire(caller->client, caller->name, TTL_MS, &request,
                                              &lock) != REDLOCK_OK)
        run->idle++;
}

/* ---- one run ---- */

static int run_async(struct run *run, struct caller *callers)
{
    unsigned count = run->settings->callers;
    for (unsigned i = 0; i < count; i++)
        async_begin(&callers[i]);
    while (run->idle < count) {
        const redlock_event *event;
        int result = redlock_next(callers[0].client, &event, 100);
        for (; result == 1; result = redlock_next(callers[0].client, &event, 0))
            async_handle(event);
        if (result < 0)
            return complain("redlock_next", redlock_detail());
        end_if_due(run);
    }
    return 0;
}

static int run_blocking(struct run *run, struct caller *callers)
{
    unsigned count = run->settings->callers;
    unsigned started = 0;
    while (started < count && pthread_create(&callers[started].thread, NULL, blocking_main,
                                             &callers[started]) == 0)
        started++;
    if (started < count)
        run->end_ns = now_ns();
    while (count > 1 && !is_over(run)) {
        struct timespec end = {.tv_sec = run->end_ns / 1000000000,
                               .tv_nsec = run->end_ns % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
        end_if_due(run);
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(callers[i].thread, NULL);
    return started == count ? 0 : complain("pthread_create", "no more threads");
}

/* For so many seconds; then how many it were. */
static int run_for(const struct settings *settings, struct caller *callers, const char *word,
                   double *seconds)
{
    int64_t started_ns = now_ns();
    struct run run = {.settings = settings,
                      .word = word,
                      .process = (int)getpid(),
                      .state = STATE_RUNNING,
                      .end_ns = started_ns + (int64_t)(*seconds * 1e9)};
    for (unsigned i = 0; i < settings->callers; i++) {
        callers[i].run = &run;
        callers[i].cycles = callers[i].failures = callers[i].time_count = 0;
    }
    int result = (settings->api == API_ASYNC ? run_async : run_blocking)(&run, callers);
    *seconds = (double)(run.ended_ns - started_ns) / 1e9;
    return result;
}

/* ---- the result ---- */

static int compare_times(const void *a, const void *b)
{
    float x = *(const float *)a;
    float y = *(const float *)b;
    return (x > y) - (x < y);
}

static double quantile(const float *sorted, size_t count, double q)
{
    return count ? (double)sorted[(size_t)((double)(count - 1) * q)] : 0;
}

static int print_result(const struct caller *callers, unsigned count, double seconds,
                        int64_t cpu_ns)
{
    unsigned cycles = 0;
    unsigned failures = 0;
    unsigned least = callers[0].cycles;
    unsigned most = 0;
    size_t time_count = 0;
    float *times = malloc(count * TIMES_MAX * sizeof *times);
    if (!times)
        return complain("malloc", "out of memory");
    for (unsigned i = 0; i < count; i++) {
        const struct caller *c = &callers[i];
        cycles += c->cycles;
        failures += c->failures;
        least = c->cycles < least ? c->cycles : least;
        most = c->cycles > most ? c->cycles : most;
        memcpy(times + time_count, c->time_us, c->time_count * sizeof *times);
        time_count += c->time_count;
    }
    qsort(times, time_count, sizeof *times, compare_times);
    printf("{\"cycles\":%u,\"least\":%u,\"most\":%u,\"failures\":%u,\"seconds\":%.4f,"
           "\"p50_us\":%.1f,\"p99_us\":%.1f,\"client_us\":%.2f}\n",
           cycles, least, most, failures, seconds, quantile(times, time_count, 0.5),
           quantile(times, time_count, 0.99), (double)cpu_ns / 1e3 / (cycles ? cycles : 1));
    free(times);
    return 0;
}

/* ---- setting up ---- */

static redlock *open_client(const struct settings *settings)
{
    redlock_options options =
        REDLOCK_OPTIONS(.nodes = settings->node, .node_count = settings->node_count,
                        .flags = settings->api == API_THREAD ? REDLOCK_THREAD : 0);
    redlock *client = NULL;
    if (redlock_open(&options, &client) != REDLOCK_OK)
        complain("redlock_open", redlock_detail());
    return client;
}

/* Clients, and the callers that use them. What was made before a failure goes
 * with the process. */
static struct caller *set_up(const struct settings *settings)
{
    struct caller *callers = calloc(settings->callers, sizeof *callers);
    for (unsigned i = 0; callers && i < settings->callers; i++) {
        callers[i].number = i;
        callers[i].client =
            i > 0 && settings->api != API_CLIENTS ? callers[0].client : open_client(settings);
        callers[i].time_us = malloc(TIMES_MAX * sizeof(float));
        if (!callers[i].client || !callers[i].time_us)
            return NULL;
    }
    return callers;
}

static void tear_down(struct caller *callers, const struct settings *settings)
{
    for (unsigned i = 0; i < settings->callers; i++) {
        if (i == 0 || settings->api == API_CLIENTS)
            redlock_close(callers[i].client);
        free(callers[i].time_us);
    }
    free(callers);
}

static int measure(const struct settings *settings, struct caller *callers)
{
    char line[16];
    double warm = WARM_SECONDS;
    double seconds = settings->seconds;
    if (run_for(settings, callers, "warm", &warm) != 0)
        return -1;
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return complain("standard input", "closed before the signal to go");
    int64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (run_for(settings, callers, "run", &seconds) != 0)
        return -1;
    return print_result(callers, settings->callers, seconds,
                        clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns);
}

static int parse_word(struct settings *settings, int option, char *text)
{
    static const char *const apis[] = {"async", "direct", "thread", "clients"};
    switch (option) {
    case 'a':
        for (size_t i = 0; i < sizeof apis / sizeof *apis; i++) {
            if (strcmp(text, apis[i]) == 0) {
                settings->api = (enum api)i;
                return 0;
            }
        }
        return -1;
    case 'n':
        for (char *word; (word = strsep(&text, ","));) {
            if (settings->node_count == REDLOCK_NODES_MAX)
                return -1;
            settings->node[settings->node_count++] = word;
        }
        return 0;
    case 'w':
        settings->one_name = strcmp(text, "one_name") == 0;
        return 0;
    case 'c':
        settings->callers = (unsigned)strtoul(text, NULL, 10);
        return settings->callers >= 1 && settings->callers <= CALLERS_MAX ? 0 : -1;
    case 's':
        settings->seconds = strtod(text, NULL);
        return settings->seconds > 0 && settings->seconds <= SECONDS_MAX ? 0 : -1;
    case 'f':
        settings->flags |= REDLOCK_FAIR;
        return 0;
    default:
        return -1;
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"api", required_argument, NULL, 'a'},
        {"nodes", required_argument, NULL, 'n'},
        {"workload", required_argument, NULL, 'w'},
        {"callers", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'},
        {"fair", no_argument, NULL, 'f'},
        {0},
    };
    struct settings settings = {.api = API_DIRECT, .callers = 1, .seconds = 1};
    int bad = 0;
    for (int option; !bad && (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        bad = parse_word(&settings, option, optarg);
    if (bad || settings.node_count == 0) {
        complain("usage", "redlock-peer --api async|direct|thread|clients [--fair]\n"
                          "    --nodes HOST:PORT,... --workload distinct|one_name|hung "
                          "--callers N --seconds S");
        return 64;
    }
    struct caller *callers = set_up(&settings);
    if (!callers)
        return 69;
    int result = measure(&settings, callers);
    tear_down(callers, &settings);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
