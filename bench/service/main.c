/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the service costs, each row beside its floor in one run: short rounds of all rows in turn, and the
 * median of each, since what else the machine does changes from second to second.
 *
 * usage: redlock-bench-service [ROUNDS]
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/time.h"
#include "floors.h"
#include "io/clock.h"
#include "load.h"

#define CONNECTIONS 64
#define ROUND_NS (300 * RL_NS_PER_MS)
#define ROUNDS_DEFAULT 15
#define ROUNDS_MAX 1000
#define GOAL 0.8
#define BATCHES 200

static const char body[] = "{\"name\":\"billing/nightly\",\"grant\":\"Kx9vTq0Zb3m7u1Yd5r8sWA\","
                           "\"fence\":1790000000123456,\"after_ms\":1,\"valid_ms\":29629,"
                           "\"ttl_ms\":30000}\n";

static const char request[] =
    "PUT /v1/locks/billing/nightly HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n"
    "Accept: */*\r\nLease-Id: 5f0cQw8Zb3m7u1Yd5r8sWA\r\nContent-Type: application/json\r\n"
    "Content-Length: 58\r\n\r\n{\"ttl_ms\":30000,\"wait_ms\":0,\"fenced\":true,\"label\":\"bench\"}";

struct row {
    const char *name;
    pid_t pid;
    struct load load;
    double per_s[ROUNDS_MAX];
    struct floor floor; /* the same server in this process */
    struct load floor_load;
    double alone_us[ROUNDS_MAX]; /* what a request costs there, from epoll_wait() to send() */
};

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

static void measure(struct row *row, int round, size_t answer_size)
{
    int64_t from_ns = rl_now_ns();
    uint64_t answers = load_run(&row->load, request, sizeof request - 1, answer_size, ROUND_NS);

    row->per_s[round] = (double)answers * 1e9 / (double)(rl_now_ns() - from_ns);
}

/* All requests are there before the clock starts, and no other process is needed. */
static void measure_alone(struct row *row, int round, size_t answer_size)
{
    static double batch_us[BATCHES];

    for (int i = 0; i < BATCHES; i++) {
        int64_t from_ns;

        load_send(&row->floor_load, request, sizeof request - 1);
        from_ns = rl_now_ns();
        row->floor.serve(&row->floor);
        batch_us[i] = (double)(rl_now_ns() - from_ns) / 1e3 / CONNECTIONS;
        load_take(&row->floor_load, answer_size);
    }
    row->alone_us[round] = median(batch_us, BATCHES);
}

static void print(struct row *row, int rounds, const struct row *floor)
{
    double per_s = median(row->per_s, rounds), alone_us = median(row->alone_us, rounds);

    printf("%-34s %10.0f /s %8.2f us", row->name, per_s, alone_us);
    if (floor)
        printf(" %8.2f %8.2f", per_s / floor->per_s[rounds / 2],
               floor->alone_us[rounds / 2] / alone_us);
    printf("\n");
}

int main(int argc, char **argv)
{
    static struct row rows[2] = {{.name = "E0 raw epoll echo"}, {.name = "E1 HTTP layer"}};
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS_DEFAULT;
    char directory[] = "/tmp/redlock-bench-XXXXXX", paths[4][64], answer[4096];
    size_t size;

    if (rounds < 1 || rounds > ROUNDS_MAX)
        errx(64, "rounds: from 1 to %d", ROUNDS_MAX);
    if (!mkdtemp(directory))
        err(1, "%s", directory);
    for (int i = 0; i < 4; i++)
        snprintf(paths[i], sizeof paths[i], "%s/e%d", directory, i);
    rows[1].pid = floors_http(paths[1], body, sizeof body - 1);
    load_open(&rows[1].load, paths[1], CONNECTIONS);
    size = load_ask(&rows[1].load, request, sizeof request - 1, answer, sizeof answer);
    if (size < 12 || memcmp(answer, "HTTP/1.1 201", 12) != 0)
        errx(1, "unexpected answer: %.*s", (int)size, answer);
    rows[0].pid = floors_echo(paths[0], answer, size);
    load_open(&rows[0].load, paths[0], CONNECTIONS);
    floors_echo_here(&rows[0].floor, paths[2], answer, size);
    floors_http_here(&rows[1].floor, paths[3], body, sizeof body - 1);
    for (int i = 0; i < 2; i++) {
        load_open(&rows[i].floor_load, paths[2 + i], CONNECTIONS);
        for (int k = 0; k < CONNECTIONS; k++)
            rows[i].floor.serve(&rows[i].floor); /* accepts all */
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 2; i++) {
            measure(&rows[i], round, size);
            measure_alone(&rows[i], round, size);
        }
    }

    printf("%d keep-alive connections on a unix socket, %zu bytes up, %zu down, median of %d\n"
           "%-34s %13s %11s %8s %8s\n",
           CONNECTIONS, sizeof request - 1, size, rounds, "", "requests", "alone", "of E0",
           "alone");
    print(&rows[0], rounds, NULL);
    print(&rows[1], rounds, &rows[0]);
    printf("goal: E1 at least %.1f of E0\n", GOAL);
    printf(
        "alone: batches of all connections in one process, so that no scheduler is measured\n");
    for (int i = 0; i < 2; i++) {
        load_close(&rows[i].load);
        kill(rows[i].pid, SIGKILL);
        waitpid(rows[i].pid, NULL, 0);
    }
    for (int i = 0; i < 4; i++)
        unlink(paths[i]);
    rmdir(directory);
    return 0;
}
