/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock-peer: our own driver among those of the peers. It speaks their protocol (run.py says
 * what that is), so that all are measured by the same runner with the same workloads.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../floor.h"
#include "../measure.h"
#include "../ours.h"
#include "redlock.h"

#define CALLERS_MAX 256
#define SECONDS_MAX 60
#define WAIT_MS 5000 /* for the one name: far more than a fair turn takes */

enum api {
    API_FLOOR,   /* raw sockets */
    API_ASYNC,   /* callbacks, one client */
    API_DIRECT,  /* blocking calls of threads on one client, which they drive themselves */
    API_THREAD,  /* the same on one client with REDLOCK_THREAD */
    API_CLIENTS, /* the same, a client for every thread */
};

struct settings {
    enum api api;
    bool one_name; /* all callers want the same lock, and wait for it */
    bool hung;     /* a node stops with the signal to go: count from the first call on */
    uint32_t flags;
    unsigned callers;
    double seconds;
    char *nodes;
    const char *node[REDLOCK_NODES_MAX];
    size_t node_count;
};

/* One thread that acquires and releases, and what came of it. */
struct caller {
    pthread_t thread;
    const struct settings *settings;
    struct window *window;
    redlock *client;
    bool ticks; /* it is alone and drives the window itself */
    struct name name;
    uint64_t cycles;
    uint64_t failures;
    struct latency acquire;
};

static int complain(const char *what, const char *why)
{
    fprintf(stderr, "redlock-peer: %s: %s\n", what, why);
    return -1;
}

/* ---- threads ---- */

static void one_cycle(struct caller *caller)
{
    const struct settings *settings = caller->settings;
    redlock_request request = {.size = sizeof request,
                               .flags = settings->flags,
                               .wait_ms = settings->one_name ? WAIT_MS : 0};
    redlock_lock *lock = NULL;
    if (!settings->one_name)
        name_next(&caller->name);
    int64_t started_ns = now_ns();
    int error =
        redlock_acquire(caller->client, caller->name.text, BENCH_TTL_MS, &request, &lock);
    int64_t took_ns = now_ns() - started_ns;
    if (error == REDLOCK_OK)
        error = redlock_release(lock);
    redlock_lock_free(lock);
    if (window_state(caller->window) != WINDOW_MEASURING)
        return;
    caller->cycles += error == REDLOCK_OK;
    caller->failures += error != REDLOCK_OK;
    if (error == REDLOCK_OK)
        latency_add(&caller->acquire, took_ns);
}

static void *caller_main(void *data)
{
    struct caller *caller = data;
    while (window_state(caller->window) != WINDOW_OVER) {
        one_cycle(caller);
        if (caller->ticks)
            window_tick(caller->window);
    }
    return NULL;
}

/* What the caller got that got least, and the one that got most: alike when all were served. */
struct extent {
    uint64_t least;
    uint64_t most;
};

static struct extent extent_of(const struct caller *callers, unsigned count)
{
    struct extent extent = {.least = UINT64_MAX};
    for (unsigned i = 0; i < count; i++) {
        if (callers[i].cycles < extent.least)
            extent.least = callers[i].cycles;
        if (callers[i].cycles > extent.most)
            extent.most = callers[i].cycles;
    }
    return extent;
}

static int run_callers(struct caller *callers, unsigned count, struct window *window)
{
    unsigned started = 0;
    callers[0].ticks = count == 1;
    for (; started < count; started++)
        if (pthread_create(&callers[started].thread, NULL, caller_main, &callers[started]) != 0)
            break;
    struct timespec tick = {.tv_nsec = 1000000};
    while (count > 1 && window_tick(window) != WINDOW_OVER)
        nanosleep(&tick, NULL);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(callers[i].thread, NULL);
        window->sample->cycles += callers[i].cycles;
        window->sample->failures += callers[i].failures;
        latency_merge(&window->sample->acquire, &callers[i].acquire);
    }
    return started == count ? 0 : complain("pthread_create", strerror(EAGAIN));
}

static void set_up_callers(struct caller *callers, const struct settings *settings,
                           struct window *window, redlock *const *clients, size_t client_count)
{
    for (unsigned i = 0; i < settings->callers; i++) {
        callers[i].settings = settings;
        callers[i].window = window;
        callers[i].client = clients[i % client_count];
        name_first(&callers[i].name, settings->one_name ? 0 : i);
    }
}

/* ---- one measurement ---- */

/* Ready; the other end says when to begin. */
static int wait_for_go(void)
{
    char line[16];
    puts("ready");
    fflush(stdout);
    return fgets(line, sizeof line, stdin) ? 0 : complain("standard input", "closed");
}

static void print_result(const struct sample *sample, const struct extent *extent)
{
    double cycles = sample->cycles ? (double)sample->cycles : 1;
    printf("{\"cycles\":%llu,\"failures\":%llu,\"seconds\":%.4f,\"p50_us\":%.1f,"
           "\"p99_us\":%.1f,\"client_us\":%.2f",
           (unsigned long long)sample->cycles, (unsigned long long)sample->failures,
           sample->seconds, latency_quantile_us(&sample->acquire, 0.5),
           latency_quantile_us(&sample->acquire, 0.99), sample->client_cpu_s * 1e6 / cycles);
    if (sample->servers_cpu_s >= 0)
        printf(",\"servers_us\":%.2f", sample->servers_cpu_s * 1e6 / cycles);
    if (extent->most > 0)
        printf(",\"least\":%llu,\"most\":%llu", (unsigned long long)extent->least,
               (unsigned long long)extent->most);
    puts("}");
}

static int run_floor(const struct settings *settings, const struct servers *servers,
                     struct window *window, struct sample *sample)
{
    struct floor *floor = floor_open(servers, true);
    if (!floor || wait_for_go() != 0) {
        floor_close(floor);
        return -1;
    }
    window_open(window, servers, settings->seconds, sample);
    int result = floor_run(floor, settings->callers, window);
    floor_close(floor);
    return result;
}

static int run_ours(const struct settings *settings, const struct servers *servers,
                    struct window *window, struct sample *sample, struct extent *extent)
{
    redlock *clients[CALLERS_MAX] = {NULL};
    size_t wanted = settings->api == API_CLIENTS ? settings->callers : 1;
    size_t client_count = 0;
    struct caller *callers = calloc(settings->callers, sizeof *callers);
    int result = -1;

    for (; callers && client_count < wanted; client_count++) {
        clients[client_count] =
            ours_open(servers, settings->api == API_THREAD ? REDLOCK_THREAD : 0);
        if (!clients[client_count])
            goto cleanup;
    }
    if (!callers || wait_for_go() != 0)
        goto cleanup;
    window_open(window, servers, settings->seconds, sample);
    if (settings->hung)
        window->warm_until_ns = 0;
    if (settings->api == API_ASYNC) {
        result = ours_run_async(clients[0], settings->callers, window);
    } else {
        set_up_callers(callers, settings, window, clients, client_count);
        result = run_callers(callers, settings->callers, window);
        *extent = extent_of(callers, settings->callers);
    }
cleanup:
    while (client_count > 0)
        redlock_close(clients[--client_count]);
    free(callers);
    return result;
}

/* ---- arguments ---- */

static int parse_api(struct settings *settings, const char *text)
{
    static const char *const names[] = {"floor", "async", "direct", "thread", "clients"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) {
            settings->api = (enum api)i;
            return 0;
        }
    }
    return complain("no such --api", text);
}

static int parse_workload(struct settings *settings, const char *text)
{
    settings->one_name = strcmp(text, "one_name") == 0;
    settings->hung = strcmp(text, "hung") == 0;
    if (settings->one_name || settings->hung || strcmp(text, "distinct") == 0)
        return 0;
    return complain("no such --workload", text);
}

static int parse_nodes(struct settings *settings, char *text)
{
    for (char *word; (word = strsep(&text, ", "));) {
        if (*word && settings->node_count == REDLOCK_NODES_MAX)
            return complain("--nodes", "too many");
        if (*word)
            settings->node[settings->node_count++] = word;
    }
    return 0;
}

static int parse_arguments(struct settings *settings, int argc, char **argv)
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
    int result = 0;
    for (int option;
         result == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'a':
            result = parse_api(settings, optarg);
            break;
        case 'n':
            result = parse_nodes(settings, optarg);
            break;
        case 'w':
            result = parse_workload(settings, optarg);
            break;
        case 'c':
            settings->callers = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 's':
            settings->seconds = strtod(optarg, NULL);
            break;
        case 'f':
            settings->flags |= REDLOCK_FAIR;
            break;
        default:
            result = -1;
        }
    }
    if (result == 0 && (settings->node_count == 0 || settings->callers < 1 ||
                        settings->callers > CALLERS_MAX || !(settings->seconds > 0) ||
                        settings->seconds > SECONDS_MAX))
        result =
            complain("usage", "redlock-peer --api floor|async|direct|thread|clients [--fair]\n"
                              "    --nodes HOST:PORT,... --workload distinct|one_name|hung "
                              "--callers N --seconds S");
    return result;
}

int main(int argc, char **argv)
{
    static struct sample sample;
    static struct servers servers;
    struct window window;
    struct settings settings = {.api = API_DIRECT, .callers = 1, .seconds = 1};
    struct extent extent = {0};

    if (parse_arguments(&settings, argc, argv) != 0)
        return 64;
    if (servers_find(&servers, settings.node, settings.node_count) != 0)
        return 69;
    int result = settings.api == API_FLOOR
                     ? run_floor(&settings, &servers, &window, &sample)
                     : run_ours(&settings, &servers, &window, &sample, &extent);
    if (result != 0)
        return EXIT_FAILURE;
    print_result(&sample, &extent);
    return EXIT_SUCCESS;
}
