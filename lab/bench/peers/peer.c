/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock-peer: our own driver, and the floor of redlock-bench, among those of the peers. It
 * speaks their protocol: run.py says what that is.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../floor.h"
#include "../measure.h"

#define WARM_SECONDS 0.3
#define WAIT_MS 5000 /* for the one name: far more than a turn takes */
#define CALLERS_MAX 256
#define SECONDS_MAX 60

enum api {
    API_ASYNC,   /* events, one client */
    API_DIRECT,  /* blocking calls of threads on one client, which they drive themselves */
    API_THREAD,  /* the same on one client with REDLOCK_THREAD */
    API_CLIENTS, /* the same, a client for every thread */
    API_FLOOR,   /* no library: the floor */
};

struct settings {
    enum api api;
    bool one_name; /* all callers want the same lock, and wait for it */
    uint32_t flags;
    unsigned callers;
    double seconds;
    const char *node[REDLOCK_NODES_MAX];
    size_t node_count;
};

static struct servers servers;
static struct floor *floor_;
static redlock *client[CALLERS_MAX];
static unsigned client_count;
static uint64_t turns[CALLERS_MAX];

static bool set_up(const struct settings *settings)
{
    uint32_t flags = settings->api == API_THREAD ? REDLOCK_THREAD : 0;
    unsigned wanted = settings->api == API_CLIENTS ? settings->callers : 1;
    if (servers_find(&servers, settings->node, settings->node_count) != 0)
        return false;
    if (settings->api == API_FLOOR)
        return (floor_ = floor_open(&servers, FLOOR_AS_LIBRARY)) != NULL;
    while (client_count < wanted)
        if (!(client[client_count++] = measure_client(&servers, flags)))
            return false;
    return true;
}

/* All of it counts: a run ends when all callers have ended theirs. */
static int run_for(const struct settings *settings, double seconds, struct sample *sample)
{
    struct window window;
    struct callers callers = {
        .way = settings->api == API_ASYNC                              ? CALLERS_ASYNC
               : settings->api == API_DIRECT && settings->callers == 1 ? CALLERS_BLOCKING
                                                                       : CALLERS_THREADS,
        .client = client,
        .client_count = client_count,
        .count = settings->callers,
        .ttl_ms = BENCH_TTL_MS,
        .wait_ms = settings->one_name ? WAIT_MS : 0,
        .flags = settings->flags,
        .name = settings->one_name ? "bench-one-name" : NULL,
        .turns = turns,
    };
    int result;
    memset(turns, 0, sizeof turns);
    measure_open(&window, &servers, seconds, sample);
    window.warm_until_ns = 0;
    if (floor_)
        return floor_run(floor_, settings->callers, &window);
    result = callers_run(&callers, &window);
    window_close(&window);
    return result;
}

static int measure(const struct settings *settings, struct sample *sample)
{
    char line[16];
    if (run_for(settings, WARM_SECONDS, sample) != 0)
        return -1;
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) {
        fputs("redlock-peer: standard input closed before the signal to go\n", stderr);
        return -1;
    }
    return run_for(settings, settings->seconds, sample);
}

static void print_result(const struct settings *settings, const struct sample *sample)
{
    uint64_t least = turns[0], most = 0;
    double cycles = sample->cycles ? (double)sample->cycles : 1;
    for (unsigned i = 0; i < settings->callers; i++) {
        least = turns[i] < least ? turns[i] : least;
        most = turns[i] > most ? turns[i] : most;
    }
    printf("{\"cycles\":%llu,\"failures\":%llu,", (unsigned long long)sample->cycles,
           (unsigned long long)sample->failures);
    if (!floor_)
        printf("\"least\":%llu,\"most\":%llu,", (unsigned long long)least,
               (unsigned long long)most);
    printf("\"seconds\":%.4f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"client_us\":%.2f}\n",
           sample->seconds, latency_quantile_us(&sample->acquire, 0.5),
           latency_quantile_us(&sample->acquire, 0.99), sample->client_cpu_s * 1e6 / cycles);
}

static int parse_word(struct settings *settings, int option, char *text)
{
    static const char *const apis[] = {"async", "direct", "thread", "clients", "floor"};
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
    static struct sample sample;
    struct settings settings = {.api = API_DIRECT, .callers = 1, .seconds = 1};
    int bad = 0, result;
    for (int option; !bad && (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        bad = parse_word(&settings, option, optarg);
    if (bad || settings.node_count == 0) {
        fputs("usage: redlock-peer --api async|direct|thread|clients|floor [--fair]\n"
              "    --nodes HOST:PORT,... --workload distinct|one_name|hung --callers N "
              "--seconds S\n",
              stderr);
        return 64;
    }
    if (!set_up(&settings))
        return 69;
    result = measure(&settings, &sample);
    if (result == 0)
        print_result(&settings, &sample);
    for (unsigned i = 0; i < client_count; i++)
        redlock_close(client[i]);
    floor_close(floor_);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
