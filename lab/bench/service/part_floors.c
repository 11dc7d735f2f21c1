/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTP layer beside a raw echo, and the daemon beside the HTTP layer and the library. */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "clients.h"
#include "cycles.h"
#include "floors.h"
#include "io/clock.h"
#include "lab/callers/callers.h"
#include "lab/stats/series.h"
#include "parts.h"
#include "processes.h"

#define MANY 64
#define SLICE_NS (300 * RL_NS_PER_MS)

static const char body[] = "{\"name\":\"billing/nightly\",\"grant\":\"Kx9vTq0Zb3m7u1Yd5r8sWA\","
                           "\"fence\":1790000000123456,\"after_ms\":1,\"remaining_ms\":29629,"
                           "\"ttl_ms\":30000}\n";

static const char request[] =
    "PUT /v1/locks/billing/nightly HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n"
    "Accept: */*\r\nLease-Id: 5f0cQw8Zb3m7u1Yd5r8sWA\r\nContent-Type: application/json\r\n"
    "Content-Length: "
    "58\r\n\r\n{\"ttl_ms\":30000,\"wait_ms\":0,\"fenced\":true,\"label\":\"bench\"}";

struct row {
    char path[BENCH_PATH_MAX];
    pid_t pid;
    struct clients callers;
    struct series per_s, cpu_us; /* the latter of the server, for a request */
};

struct floors {
    struct row e0, e1;
    struct cycle cycle; /* of both: the request, and as many bytes as its answer has */
    struct series e1_of_e0;
    struct clients e1_many, e1_one, daemon_many, daemon_one;
    struct series e1_cpu, r_cpu, daemon_cpu, cpu_ratio;
    struct series e1_p50, r_p50, daemon_p50, p50_ratio;
    struct series e1_rate, r_rate, daemon_rate;
};

static struct floors floors;

static double measure_rate(struct row *row)
{
    static struct clients_result result;
    double before_us = process_cpu_us(row->pid);

    result = (struct clients_result){0};
    clients_run(&row->callers, &floors.cycle, SLICE_NS, &result);
    series_add(&row->per_s, (double)result.cycles / result.seconds);
    series_add(&row->cpu_us, (process_cpu_us(row->pid) - before_us) / (double)result.cycles);
    return (double)result.cycles / result.seconds;
}

static size_t write_request(struct http_client *caller, unsigned step, char *out, size_t size)
{
    (void)caller;
    (void)step;
    (void)size;
    memcpy(out, request, sizeof request - 1);
    return sizeof request - 1;
}

/* All of its bytes, head and body. */
static size_t find_answer(const char *path, char *out, size_t size)
{
    int fd = clients_connect(path);
    ssize_t got = send(fd, request, sizeof request - 1, MSG_NOSIGNAL);

    if (got > 0)
        got = recv(fd, out, size, 0);
    close(fd);
    if (got < 12 || memcmp(out, "HTTP/1.1 201", 12) != 0)
        errx(1, "unexpected answer: %.*s", got > 0 ? (int)got : 0, out);
    return (size_t)got;
}

static void open_servers(const struct bench *bench)
{
    static char answer[4096];
    struct row *e0 = &floors.e0, *e1 = &floors.e1;

    snprintf(e0->path, sizeof e0->path, "%s/e0", bench->directory);
    snprintf(e1->path, sizeof e1->path, "%s/e1", bench->directory);
    e1->pid = floors_http(e1->path, body, sizeof body - 1);
    floors.cycle = (struct cycle){.name = "a floor",
                                  .steps = 1,
                                  .answer_size = find_answer(e1->path, answer, sizeof answer),
                                  .write = write_request};
    e0->pid = floors_echo(e0->path, answer, floors.cycle.answer_size);
    clients_open(&e0->callers, e0->path, MANY);
    clients_open(&e1->callers, e1->path, MANY);
    clients_open(&floors.e1_many, e1->path, MANY);
    clients_open(&floors.e1_one, e1->path, 1);
    clients_open(&floors.daemon_many, bench->address, MANY);
    clients_open(&floors.daemon_one, bench->address, 1);
}

static void close_row(struct row *row)
{
    clients_close(&row->callers);
    process_end(row->pid, SIGKILL);
    unlink(row->path);
}

/* Of the process that serves, per cycle. */
static double cpu_of(struct clients *callers, pid_t pid, struct series *rates)
{
    struct clients_result result = {0};
    double before_us = process_cpu_us(pid), us;

    clients_run(callers, &cycle_redlockd, SLICE_NS, &result);
    us = (process_cpu_us(pid) - before_us) / (double)result.cycles;
    series_add(rates, (double)result.cycles / result.seconds);
    return us;
}

static double p50_of(struct clients *callers)
{
    struct clients_result result = {0};

    clients_run(callers, &cycle_redlockd, SLICE_NS, &result);
    return latency_quantile_us(&result.first, 0.5);
}

/* R: the library driven in this process, with the requests that redlockd would make. */
static struct sample run_library(const struct bench *bench, unsigned count)
{
    static struct sample sample;
    struct window window;
    struct callers callers = {.client = &bench->client,
                              .client_count = 1,
                              .count = count,
                              .ttl_ms = 30000,
                              .flags = REDLOCK_FENCED | REDLOCK_KEEP,
                              .label = "bench",
                              .keyed = true};

    window_open(&window, (double)SLICE_NS / 1e9, false, &sample);
    if (callers_run(&callers, &window) != 0 || sample.failures > 0)
        errx(1, "the library: %s", redlock_detail());
    window_close(&window);
    return sample;
}

static void measure_cpu(const struct bench *bench)
{
    double e1_us = cpu_of(&floors.e1_many, floors.e1.pid, &floors.e1_rate);
    double daemon_us = cpu_of(&floors.daemon_many, bench->daemon, &floors.daemon_rate);
    struct sample r = run_library(bench, MANY);
    double r_us = r.client_cpu_s * 1e6 / (double)r.cycles;

    series_add(&floors.r_rate, (double)r.cycles / r.seconds);
    series_add(&floors.e1_cpu, e1_us);
    series_add(&floors.daemon_cpu, daemon_us);
    series_add(&floors.r_cpu, r_us);
    series_add(&floors.cpu_ratio, daemon_us / (e1_us + r_us));
}

static void measure_p50(const struct bench *bench)
{
    double e1_us = p50_of(&floors.e1_one), daemon_us = p50_of(&floors.daemon_one);
    struct sample r = run_library(bench, 1);
    double r_us = latency_quantile_us(&r.acquire, 0.5);

    series_add(&floors.e1_p50, e1_us);
    series_add(&floors.daemon_p50, daemon_us);
    series_add(&floors.r_p50, r_us);
    series_add(&floors.p50_ratio, daemon_us / (e1_us + r_us));
}

static void print_rows(void)
{
    table_note("E0 raw echo, 64 connections", "%.0f requests/s, %.2f us of CPU each",
               series_median(&floors.e0.per_s), series_median(&floors.e0.cpu_us));
    table_note("E1 HTTP layer, 64 connections", "%.0f requests/s, %.2f us of CPU each",
               series_median(&floors.e1.per_s), series_median(&floors.e1.cpu_us));
    table_least("E1 / E0, requests/s", series_median(&floors.e1_of_e0), 0.8, "");
    table_note("CPU of 2 E1, 64 in flight", "%.1f us per PUT + DELETE, %.0f/s",
               series_median(&floors.e1_cpu), series_median(&floors.e1_rate));
    table_note("CPU of R, 64 in flight", "%.1f us per acquire + release, %.0f/s",
               series_median(&floors.r_cpu), series_median(&floors.r_rate));
    table_note("CPU of redlockd, 64 in flight", "%.1f us per PUT + DELETE, %.0f/s",
               series_median(&floors.daemon_cpu), series_median(&floors.daemon_rate));
    table_note("CPU of redlockd / (2 E1 + R), by rounds: quartiles", "%.2f and %.2f",
               series_quantile(&floors.cpu_ratio, 0.25),
               series_quantile(&floors.cpu_ratio, 0.75));
    table_most("CPU of redlockd / (2 E1 + R)", series_median(&floors.cpu_ratio), 1.25, "");
    table_note("one caller, p50: E1, R, PUT to redlockd", "%.0f us, %.0f us, %.0f us",
               series_median(&floors.e1_p50), series_median(&floors.r_p50),
               series_median(&floors.daemon_p50));
    table_most("one caller, PUT p50 / (E1 + R)", series_median(&floors.p50_ratio), 1.2, "");
}

void part_floors(struct bench *bench)
{
    open_servers(bench);
    for (int round = 0; round < bench->rounds; round++) {
        double e0 = measure_rate(&floors.e0), e1 = measure_rate(&floors.e1);

        series_add(&floors.e1_of_e0, e1 / e0);
        measure_cpu(bench);
        measure_p50(bench);
    }
    print_rows();
    clients_close(&floors.e1_many);
    clients_close(&floors.e1_one);
    clients_close(&floors.daemon_many);
    clients_close(&floors.daemon_one);
    close_row(&floors.e0);
    close_row(&floors.e1);
}
