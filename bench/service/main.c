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
    double cpu_us[ROUNDS_MAX]; /* of the server, per request */
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
    int64_t cpu_ns = floors_cpu_ns(row->pid);
    int64_t from_ns = rl_now_ns();
    uint64_t answers = load_run(&row->load, request, sizeof request - 1, answer_size, ROUND_NS);
    int64_t took_ns = rl_now_ns() - from_ns;

    cpu_ns = floors_cpu_ns(row->pid) - cpu_ns;
    row->per_s[round] = (double)answers * 1e9 / (double)took_ns;
    row->cpu_us[round] = (double)cpu_ns / 1e3 / (double)answers;
}

static void print(struct row *row, int rounds, const struct row *floor)
{
    double per_s = median(row->per_s, rounds), cpu_us = median(row->cpu_us, rounds);

    printf("%-34s %10.0f /s %8.2f us", row->name, per_s, cpu_us);
    if (floor)
        printf(" %8.2f %8.2f", per_s / floor->per_s[rounds / 2],
               floor->cpu_us[rounds / 2] / cpu_us);
    printf("\n");
}

int main(int argc, char **argv)
{
    static struct row rows[2] = {{.name = "E0 raw epoll echo"}, {.name = "E1 HTTP layer"}};
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS_DEFAULT;
    char directory[] = "/tmp/redlock-bench-XXXXXX", paths[2][64], answer[4096];
    size_t size;

    if (rounds < 1 || rounds > ROUNDS_MAX)
        errx(64, "rounds: from 1 to %d", ROUNDS_MAX);
    if (!mkdtemp(directory))
        err(1, "%s", directory);
    for (int i = 0; i < 2; i++)
        snprintf(paths[i], sizeof paths[i], "%s/e%d", directory, i);
    rows[1].pid = floors_http(paths[1], body, sizeof body - 1);
    load_open(&rows[1].load, paths[1], CONNECTIONS);
    size = load_ask(&rows[1].load, request, sizeof request - 1, answer, sizeof answer);
    if (size < 12 || memcmp(answer, "HTTP/1.1 201", 12) != 0)
        errx(1, "unexpected answer: %.*s", (int)size, answer);
    rows[0].pid = floors_echo(paths[0], answer, size);
    load_open(&rows[0].load, paths[0], CONNECTIONS);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < 2; i++)
            measure(&rows[i], round, size);

    printf("%d keep-alive connections on a unix socket, %zu bytes up, %zu down, median of %d\n"
           "%-34s %13s %11s %8s %8s\n",
           CONNECTIONS, sizeof request - 1, size, rounds, "", "requests", "server", "of E0",
           "CPU of E0");
    print(&rows[0], rounds, NULL);
    print(&rows[1], rounds, &rows[0]);
    printf("goal: E1 at least %.1f of E0\n", GOAL);
    for (int i = 0; i < 2; i++) {
        load_close(&rows[i].load);
        kill(rows[i].pid, SIGKILL);
        waitpid(rows[i].pid, NULL, 0);
        unlink(paths[i]);
    }
    rmdir(directory);
    return 0;
}
