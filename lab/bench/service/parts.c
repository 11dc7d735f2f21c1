/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "clients.h"
#include "crowd.h"
#include "cycles.h"
#include "deaths.h"
#include "etcd.h"
#include "io/clock.h"
#include "lab/stats/series.h"
#include "processes.h"
#include "restart.h"
#include "table.h"

#define SLICE_NS (300 * RL_NS_PER_MS)
#define MANY 64
#define CROWD 10000
#define CROWD_SLICE_NS (500 * RL_NS_PER_MS)
#define CROWD_IDLE_US 500000
#define DEATHS 1000
#define RESTARTS 5
#define ETCD_TURNS 3
#define ETCD_SLICE_NS (3 * RL_NS_PER_S)
#define READY_TURNS 3000 /* of 10 ms */

/* ---- the daemon ------------------------------------------------------------------------- */

void bench_await_ready(const char *address)
{
    static const char request[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int fd = clients_connect(address), status = 0;
    char body[1024];

    for (int i = 0; i < READY_TURNS && status != 200; i++) {
        status = clients_ask(fd, request, sizeof request - 1, body, sizeof body);
        if (status != 200)
            usleep(10000);
    }
    if (status != 200)
        errx(1, "redlockd is not ready: %s", body);
    close(fd);
}

/* A process that holds the lock for which requests shall wait. */
static pid_t start_holder(void)
{
    redlock_options options = REDLOCK_OPTIONS(.client_name = "bench", .flags = REDLOCK_THREAD);
    redlock_request request = REDLOCK_REQUEST(.flags = REDLOCK_RENEW, .wait_ms = 30000);
    redlock_lock *lock = NULL;
    redlock *client = NULL;
    int ready[2];
    char byte;
    pid_t pid;

    if (pipe(ready) != 0)
        err(1, "pipe");
    pid = process_fork();
    if (pid == 0) {
        if (redlock_open(&options, &client) != REDLOCK_OK ||
            redlock_acquire(client, CYCLES_HELD, 30000, &request, &lock) != REDLOCK_OK)
            errx(1, "%s", redlock_detail());
        if (write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        errx(1, "the lock to wait for is not held");
    close(ready[0]);
    return pid;
}

/* All connections are up when a lock was waited for and released. */
static void warm_up(redlock *client)
{
    redlock_request request = REDLOCK_REQUEST(.wait_ms = 30000);
    redlock_lock *lock = NULL;

    if (redlock_acquire(client, "bench:warm", 1000, &request, &lock) != REDLOCK_OK)
        errx(1, "%s", redlock_detail());
    redlock_release(lock);
    redlock_lock_free(lock);
}

/* A machine that is busy is no reason for a node to be given up. */
static void set_patience(const struct bench *bench)
{
    char path[BENCH_PATH_MAX];
    FILE *file;

    snprintf(path, sizeof path, "%s/redlock.conf", bench->directory);
    file = fopen(path, "we");
    if (!file || fputs("node-timeout = 3s\n", file) < 0 || fclose(file) != 0)
        err(1, "%s", path);
    setenv("REDLOCK_CONFIG", path, 1);
}

void bench_open(struct bench *bench)
{
    char listen[BENCH_PATH_MAX + 8], log[BENCH_PATH_MAX];
    const char *argv[] = {bench->redlockd, "--listen", listen, "--connections", "20000", NULL};
    redlock_options options = REDLOCK_OPTIONS(.client_name = "bench");

    set_patience(bench);
    snprintf(bench->address, sizeof bench->address, "%s/redlockd", bench->directory);
    snprintf(listen, sizeof listen, "unix:%s", bench->address);
    snprintf(log, sizeof log, "%s/redlockd.log", bench->directory);
    bench->daemon = process_start(argv, -1, log);
    process_await(bench->address);
    bench_await_ready(bench->address);
    if (redlock_open(&options, &bench->client) != REDLOCK_OK)
        errx(1, "%s", redlock_detail());
    warm_up(bench->client);
    bench->holder = start_holder();
}

void bench_close(struct bench *bench)
{
    process_end(bench->holder, SIGKILL);
    redlock_close(bench->client);
    process_end(bench->daemon, SIGTERM);
    unlink(bench->address);
}

/* ---- beside 10,000 that wait ------------------------------------------------------------ */

static double put_p50(struct bench *bench, int64_t duration_ns)
{
    static struct clients callers;
    static struct clients_result result;

    result = (struct clients_result){0};
    clients_open(&callers, bench->address, 1);
    clients_run(&callers, &cycle_redlockd, duration_ns, &result);
    clients_close(&callers);
    return latency_quantile_us(&result.first, 0.5);
}

static double idle_cpu(struct bench *bench)
{
    double before_us = process_cpu_us(bench->daemon);
    int64_t from_ns = rl_now_ns();

    usleep(CROWD_IDLE_US);
    return (process_cpu_us(bench->daemon) - before_us) /
           ((double)(rl_now_ns() - from_ns) / 1e3) * 100;
}

/* Alone and beside the crowd in turn: each slice beside it is judged by the one before and the
 * one after, so that a machine which becomes slower or faster meanwhile changes nothing. */
void part_crowd(struct bench *bench)
{
    struct series without = {0}, with = {0}, ratio = {0}, memory = {0}, idle = {0};
    double before_us = put_p50(bench, CROWD_SLICE_NS);

    series_add(&without, before_us);
    for (int i = 0; i < bench->rounds; i++) {
        long before_kib = process_memory_kib(bench->daemon);
        double beside_us, after_us;
        struct crowd crowd;

        crowd_open(&crowd, bench->address, CROWD);
        /* Later rounds find the memory of the first: it is not given back. */
        if (i == 0)
            series_add(&memory,
                       (double)(process_memory_kib(bench->daemon) - before_kib) / CROWD);
        beside_us = put_p50(bench, CROWD_SLICE_NS);
        series_add(&idle, idle_cpu(bench));
        crowd_close(&crowd, bench->address);
        after_us = put_p50(bench, CROWD_SLICE_NS);
        series_add(&without, after_us);
        series_add(&with, beside_us);
        series_add(&ratio, beside_us / ((before_us + after_us) / 2));
        before_us = after_us;
    }
    table_note("one caller, unix socket, PUT p50: alone", "%.0f us", series_median(&without));
    table_note("the same beside 10,000 waiting requests", "%.0f us", series_median(&with));
    table_note("what 10,000 waiting requests cost the daemon by themselves",
               "%.1f %% of a processor", series_median(&idle));
    table_note("beside 10,000 waiting requests / without, by rounds: quartiles",
               "%.2f and %.2f", series_quantile(&ratio, 0.25), series_quantile(&ratio, 0.75));
    table_most("PUT p50 beside 10,000 waiting requests / without", series_median(&ratio), 1.1,
               "");
    table_most("memory per waiting connection", series_median(&memory), 3, " KiB");
}

/* ---- clients that are killed ------------------------------------------------------------ */

static void kill_some(struct bench *bench, enum death kind, const char *what)
{
    static struct latency took;
    char text[128];

    took = (struct latency){0};
    snprintf(text, sizeof text, "%s, p99 of %d", what, DEATHS);
    if (!deaths_run(kind, bench->address, DEATHS, &took)) {
        table_left_out(text, "streams are not served");
        return;
    }
    table_note(what, "p50 %.2f ms, longest %.2f ms", latency_quantile_us(&took, 0.5) / 1e3,
               latency_quantile_us(&took, 1) / 1e3);
    table_most(text, latency_quantile_us(&took, 0.99) / 1e3, 10, " ms");
}

void part_deaths(struct bench *bench)
{
    kill_some(bench, DEATH_OF_WAITER, "waiter killed -> out of the queue of every node");
    kill_some(bench, DEATH_OF_STREAM,
              "client of a stream killed -> its lock free on every node");
}

/* ---- restarts --------------------------------------------------------------------------- */

void part_restart(struct bench *bench)
{
    struct restart_result result = {0};

    restart_run(bench->redlockd, bench->directory, RESTARTS, &result);
    table_note("restarts under load, with a socket that stays and a drain of 1 s",
               "%u: %lu renewals, %lu cycles, %lu requests sent again, longest answer %.0f ms",
               result.restarts, result.renewals, result.cycles, result.again,
               result.longest_ms);
    table_most("leases lost over the restarts", (double)result.lost, 0, "");
    table_most("connections refused over the restarts", (double)result.refused, 0, "");
}

/* ---- etcd ------------------------------------------------------------------------------- */

struct figure {
    struct series per_s, p50_us;
};

static void measure(struct figure *figure, const char *address, const struct cycle *cycle,
                    unsigned count, int64_t duration_ns)
{
    static struct clients callers;
    struct clients_result result = {0};

    clients_open(&callers, address, count);
    /* The leases that a cycle keeps come from the one that makes them. */
    if (cycle == &cycle_etcd_kept) {
        struct clients_result first = {0};

        clients_run(&callers, &cycle_etcd, RL_NS_PER_MS, &first);
    }
    clients_run(&callers, cycle, duration_ns, &result);
    clients_close(&callers);
    series_add(&figure->per_s, (double)result.cycles / result.seconds);
    series_add(&figure->p50_us, latency_quantile_us(&result.cycle, 0.5));
}

static void print_figure(const char *what, struct figure *one, struct figure *many)
{
    table_note(what, "%.0f/s and p50 %.2f ms with one caller, %.0f/s with 64",
               series_median(&one->per_s), series_median(&one->p50_us) / 1e3,
               series_median(&many->per_s));
}

void part_etcd(struct bench *bench)
{
    static struct figure ours[2], leased[2], kept[2];
    char directory[BENCH_PATH_MAX];
    struct etcd etcd;
    double best_many, best_one;

    if (!etcd_is_there()) {
        table_left_out("beside etcd", "etcd is not installed");
        return;
    }
    snprintf(directory, sizeof directory, "%s/etcd", bench->directory);
    if (mkdir(directory, 0700) != 0)
        err(1, "%s", directory);
    etcd_start(&etcd, directory);
    for (int i = 0; i < ETCD_TURNS; i++)
        for (int many = 0; many < 2; many++) {
            unsigned count = many ? MANY : 1;

            measure(&ours[many], bench->address, &cycle_redlockd, count, RL_NS_PER_S);
            measure(&leased[many], etcd.leader, &cycle_etcd, count, ETCD_SLICE_NS);
            measure(&kept[many], etcd.leader, &cycle_etcd_kept, count, ETCD_SLICE_NS);
        }
    etcd_stop(&etcd);
    print_figure("redlockd, acquire and release", &ours[0], &ours[1]);
    print_figure("etcd, lease, lock and unlock", &leased[0], &leased[1]);
    print_figure("etcd, lock and unlock with a lease that is kept", &kept[0], &kept[1]);
    /* Against the faster of its two ways. */
    best_many = series_median(&kept[1].per_s) > series_median(&leased[1].per_s)
                    ? series_median(&kept[1].per_s)
                    : series_median(&leased[1].per_s);
    best_one = series_median(&kept[0].p50_us) < series_median(&leased[0].p50_us)
                   ? series_median(&kept[0].p50_us)
                   : series_median(&leased[0].p50_us);
    table_least("cycles/s with 64 callers / etcd's", series_median(&ours[1].per_s) / best_many,
                10, "");
    table_most("p50 of a cycle with one caller / etcd's",
               series_median(&ours[0].p50_us) / best_one, 0.33, "");
}
