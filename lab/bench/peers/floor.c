/* SPDX-License-Identifier: BSD-2-Clause */
/* redlock-peer-floor: the floor of redlock-bench with the protocol of
 * run.py; distinct names. */
#include "../floor.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../measure.h"
#include "../servers.h"

#define CALLERS_MAX 1024
#define WARM_SECONDS 0.3

struct settings {
    const char *node[REDLOCK_NODES_MAX];
    size_t node_count;
    unsigned callers;
    double seconds;
};

static int parse(struct settings *settings, int argc, char **argv)
{
    static const struct option options[] = {
        {"nodes", required_argument, NULL, 'n'},
        {"workload", required_argument, NULL, 'w'},
        {"callers", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'},
        {0},
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        char *text = optarg;
        if (option == 'n')
            for (char *word; (word = strsep(&text, ","));)
                if (settings->node_count < REDLOCK_NODES_MAX)
                    settings->node[settings->node_count++] = word;
        if (option == 'c')
            settings->callers = (unsigned)strtoul(optarg, NULL, 10);
        if (option == 's')
            settings->seconds = strtod(optarg, NULL);
        if (option == '?')
            return -1;
    }
    return settings->node_count > 0 && settings->callers >= 1 &&
                   settings->callers <= CALLERS_MAX && settings->seconds > 0
               ? 0
               : -1;
}

/* All of it counts: the warm-up came before. */
static int run(struct floor *floor, const struct servers *servers, unsigned callers,
               double seconds, struct sample *sample)
{
    struct window window;
    window_open(&window, servers, seconds, sample);
    window.warm_until_ns = 0;
    return floor_run(floor, callers, &window);
}

int main(int argc, char **argv)
{
    static struct sample sample;
    static struct servers servers;
    struct settings settings = {.callers = 1, .seconds = 1};
    char line[16];

    if (parse(&settings, argc, argv) != 0) {
        fputs("usage: redlock-peer-floor --nodes HOST:PORT,... --workload distinct "
              "--callers N --seconds S\n",
              stderr);
        return 64;
    }
    if (servers_find(&servers, settings.node, settings.node_count) != 0)
        return 69;
    struct floor *floor = floor_open(&servers, 0);
    if (!floor)
        return 69;
    int result = run(floor, &servers, settings.callers, WARM_SECONDS, &sample);
    if (result == 0) {
        puts("ready");
        fflush(stdout);
        result = fgets(line, sizeof line, stdin)
                     ? run(floor, &servers, settings.callers, settings.seconds, &sample)
                     : -1;
    }
    floor_close(floor);
    if (result != 0)
        return EXIT_FAILURE;
    double cycles = sample.cycles ? (double)sample.cycles : 1;
    printf("{\"cycles\":%llu,\"failures\":%llu,\"seconds\":%.4f,\"p50_us\":%.1f,"
           "\"p99_us\":%.1f,\"client_us\":%.2f,\"servers_us\":%.2f}\n",
           (unsigned long long)sample.cycles, (unsigned long long)sample.failures,
           sample.seconds, latency_quantile_us(&sample.acquire, 0.5),
           latency_quantile_us(&sample.acquire, 0.99), sample.client_cpu_s * 1e6 / cycles,
           sample.servers_cpu_s * 1e6 / cycles);
    return EXIT_SUCCESS;
}
