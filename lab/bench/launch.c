/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "servers.h"

#define LAUNCHES 40 /* of each side in a round */
#define LAUNCHES_QUICK 15
#define WARM_UP 3 /* the first ones read the programs from the disk */

extern char **environ;

/* Wall time of one run in us, or negative: it did not start, or failed. */
static double launch(const char *const argv[])
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    int64_t started_ns, took_ns;
    int error;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    started_ns = now_ns();
    error = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    if (error == 0)
        waitpid(pid, &status, 0);
    took_ns = now_ns() - started_ns;
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? (double)took_ns / 1e3
                                                                       : -1;
}

/* "127.0.0.1:7001" or "redis://127.0.0.1:7001": what redis-cli wants is the two halves. */
static int split_address(const char *url, char *host, size_t host_size, char *port,
                         size_t port_size)
{
    const char *start = strncmp(url, "redis://", 8) == 0 ? url + 8 : url;
    const char *colon = strrchr(start, ':');
    if (!colon || strchr(start, '/') || strchr(start, '['))
        return -1;
    snprintf(host, host_size, "%.*s", (int)(colon - start), start);
    snprintf(port, port_size, "%s", colon + 1);
    return 0;
}

enum { RUN, PING, SIDES };

/* One after the other: whatever disturbs, disturbs both. */
static int run_round(const char *const *const argv[SIDES], unsigned launches, struct row *row)
{
    struct latency *took[SIDES] = {calloc(1, sizeof **took), calloc(1, sizeof **took)};
    int result = took[RUN] && took[PING] ? 0 : -1;
    for (unsigned i = 0; i < launches + WARM_UP && result == 0; i++) {
        for (unsigned k = 0; k < SIDES && result == 0; k++) {
            unsigned side = i % 2 ? SIDES - 1 - k : k;
            double took_us = launch(argv[side]);
            if (took_us < 0)
                result = -1;
            else if (i >= WARM_UP)
                latency_add(took[side], (int64_t)(took_us * 1e3));
        }
    }
    if (result == 0) {
        series_add(&row->ours, latency_quantile_us(took[RUN], 0.5) / 1e3);
        series_add(&row->theirs, latency_quantile_us(took[PING], 0.5) / 1e3);
    }
    free(took[RUN]);
    free(took[PING]);
    return result;
}

static bool answers(const char *const argv[])
{
    return launch(argv) >= 0;
}

int launch_measure(const struct options *options, const struct servers *servers,
                   struct results *results)
{
    char host[256], port[16], name[40];
    const char *redis_cli[] = {"redis-cli", "-h", host, "-p", port, "ping", NULL};
    const char *run[] = {quorum_command(), "run", name, "--", "true", NULL};
    const char *const *const argv[SIDES] = {run, redis_cli};
    struct row *row = results_row(results, "run", "redlock run NAME -- true, wall time", "ms",
                                  "redis-cli ping");
    unsigned launches;
    row->target = (struct target){TARGET_AT_MOST, 3, false};
    if (split_address(servers->url[0], host, sizeof host, port, sizeof port) != 0) {
        snprintf(row->note, sizeof row->note, "redis-cli gets host and port only");
        return 0;
    }
    snprintf(name, sizeof name, "bench-%08x-run", (unsigned)getpid());
    if (!answers(redis_cli))
        redis_cli[0] = "valkey-cli";
    if (!answers(redis_cli) || !answers(run)) {
        snprintf(row->note, sizeof row->note, "needs redis-cli and redlock");
        return 0;
    }
    launches = options->seconds < 0.5 ? LAUNCHES_QUICK : LAUNCHES;
    for (unsigned round = 0; round < options->rounds; round++)
        if (run_round(argv, launches, row) != 0) {
            fputs("redlock-bench: a command that worked before has failed\n", stderr);
            return -1;
        }
    return 0;
}
