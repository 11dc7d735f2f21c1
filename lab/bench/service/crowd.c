/* SPDX-License-Identifier: BSD-2-Clause */
/* Thousands of requests that wait for one lock, each on a connection of its own. */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "clients.h"
#include "cycles.h"
#include "io/clock.h"
#include "lab/stats/series.h"
#include "parts.h"
#include "processes.h"

#define CROWD 10000
#define CROWD_SLICE_NS (500 * RL_NS_PER_MS)
#define CROWD_IDLE_US 500000
#define PATIENCE_TURNS 6000 /* of 10 ms */

struct crowd {
    int *fds;
    unsigned count;
};

/* How many requests wait, as the daemon's metrics have it. */
static unsigned count_waiting(const char *address)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static char body[65536];
    int fd = clients_connect(address);
    const char *at;

    if (clients_exchange(fd, request, sizeof request - 1, body, sizeof body) != 200)
        errx(1, "metrics: %s", body);
    close(fd);
    at = strstr(body, "\nredlockd_waiters ");
    if (!at)
        errx(1, "redlockd_waiters is not among the metrics");
    return (unsigned)strtoul(at + strlen("\nredlockd_waiters "), NULL, 10);
}

static void await(const char *address, unsigned count)
{
    for (int i = 0; i < PATIENCE_TURNS; i++) {
        if (count_waiting(address) == count)
            return;
        usleep(10000);
    }
    errx(1, "%u requests wait, not %u", count_waiting(address), count);
}

/* The daemon counts them as waiting when it returns. */
static void crowd_open(struct crowd *crowd, const char *address, unsigned count)
{
    *crowd = (struct crowd){calloc(count, sizeof *crowd->fds), count};
    if (!crowd->fds)
        err(1, "crowd");
    for (unsigned i = 0; i < count; i++) {
        char request[512];
        size_t size = cycles_write_wait(i, request, sizeof request);

        crowd->fds[i] = clients_connect(address);
        if (send(crowd->fds[i], request, size, MSG_NOSIGNAL) != (ssize_t)size)
            err(1, "send");
    }
    await(address, count);
}

static void crowd_close(struct crowd *crowd, const char *address)
{
    for (unsigned i = 0; i < crowd->count; i++)
        close(crowd->fds[i]);
    free(crowd->fds);
    await(address, 0);
}

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
