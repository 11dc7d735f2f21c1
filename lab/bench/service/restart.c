/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon is replaced again and again under load, on a socket that stays open. */
#include <err.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clients.h"
#include "cycles.h"
#include "io/clock.h"
#include "lab/stats/series.h"
#include "parts.h"
#include "processes.h"

#define RESTARTS 5
#define LEASES 16
#define BETWEEN_US 700000

struct restart_result {
    unsigned restarts;
    unsigned long renewals, cycles; /* that went well */
    unsigned long refused;          /* connections */
    unsigned long lost;             /* leases that were gone before the client gave them back */
    unsigned long again; /* requests that got no answer or 503, and were sent again */
    double longest_ms;   /* from a request's first try to its answer */
};

/* What the load tells the process that restarts. */
struct board {
    struct restart_result result;
    _Atomic bool stop;
};

static struct sockaddr_un place;

/* On a connection of its own. The status; 0: no answer; -1: the connection was refused. */
static int try_request(const char *request, char *answer, size_t size)
{
    int fd = clients_try(place.sun_path);
    size_t got = 0;
    ssize_t count;

    answer[0] = '\0';
    if (fd < 0)
        return -1;
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request))
        while (got < size - 1 && (count = recv(fd, answer + got, size - 1 - got, 0)) > 0)
            got += (size_t)count;
    answer[got] = '\0';
    close(fd);
    return got > 12 ? atoi(answer + 9) : 0;
}

/* Until there is an answer that decides. */
static int await_answer(struct board *board, const char *request, char *answer, size_t size)
{
    int64_t from_ns = rl_now_ns();
    double ms;
    int status;

    for (;;) {
        status = try_request(request, answer, size);
        if (status > 0 && status != 503)
            break;
        board->result.refused += status < 0;
        board->result.again += status >= 0;
        usleep(1000);
    }
    ms = (double)(rl_now_ns() - from_ns) / 1e6;
    if (ms > board->result.longest_ms)
        board->result.longest_ms = ms;
    return status;
}

static const char *write_request(const char *method, unsigned lease, unsigned turn,
                                 const char *grant, const char *body)
{
    static char text[1024];

    snprintf(text, sizeof text,
             "%s /v1/locks/restart/%u HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Lease-Id: lease-over-restarts-%010u-%u-%u\r\n%s%s%s"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             method, lease, (unsigned)getpid(), lease, turn, grant ? "Grant: " : "",
             grant ? grant : "", grant ? "\r\n" : "", strlen(body), body);
    return text;
}

/* Acquires with new ids until one is granted: an answer that was lost leaves its id spent. */
static unsigned take(struct board *board, unsigned lease, unsigned turn, char grant[256])
{
    char answer[4096];
    const char *at;

    for (;; turn++) {
        int status =
            await_answer(board, write_request("PUT", lease, turn, NULL, "{\"ttl_ms\":20000}"),
                         answer, sizeof answer);

        if (status == 201)
            break;
        if (status != 409)
            errx(1, "PUT: %s", answer);
        await_answer(board, write_request("DELETE", lease, turn, NULL, ""), answer,
                     sizeof answer);
    }
    at = strstr(answer, "\"grant\":\"") + strlen("\"grant\":\"");
    snprintf(grant, 256, "%.*s", (int)strcspn(at, "\""), at);
    return turn;
}

static void load(struct board *board)
{
    static char grants[LEASES][256];
    unsigned turns[LEASES], turn = 1000;
    char answer[4096], grant[256];

    for (unsigned i = 0; i < LEASES; i++)
        turns[i] = take(board, i, 0, grants[i]);
    while (!board->stop) {
        for (unsigned i = 0; i < LEASES; i++) {
            int status = await_answer(
                board, write_request("POST", i, turns[i], grants[i], "{\"ttl_ms\":20000}"),
                answer, sizeof answer);

            board->result.renewals += status == 200;
            board->result.lost += status == 410;
            if (status != 200 && status != 410)
                errx(1, "POST: %s", answer);
        }
        turn = take(board, LEASES, turn, grant);
        /* A repeated DELETE finds it gone: its first answer was lost. */
        await_answer(board, write_request("DELETE", LEASES, turn++, grant, ""), answer,
                     sizeof answer);
        board->result.cycles++;
    }
    for (unsigned i = 0; i < LEASES; i++)
        if (await_answer(board, write_request("DELETE", i, turns[i], grants[i], ""), answer,
                         sizeof answer) == 410 &&
            !strstr(answer, "ENDED"))
            board->result.lost++;
}

static int open_listener(const char *path)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    place.sun_family = AF_UNIX;
    snprintf(place.sun_path, sizeof place.sun_path, "%s", path);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&place, sizeof place) != 0 ||
        listen(fd, 4096) != 0)
        err(1, "%s", path);
    return fd;
}

static struct restart_result restart(const struct bench *bench)
{
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char path[108], log[160];
    const char *argv[] = {bench->redlockd, "--drain", "1", NULL};
    struct restart_result result;
    int listener, status = 0;
    pid_t daemon, client;

    if (board == MAP_FAILED)
        err(1, "mmap");
    snprintf(path, sizeof path, "%.96s/restart", bench->directory);
    snprintf(log, sizeof log, "%s/restart.log", bench->directory);
    listener = open_listener(path);
    daemon = process_start(argv, listener, log);
    client = process_fork();
    if (client == 0) {
        load(board);
        _exit(0);
    }
    for (unsigned i = 0; i < RESTARTS; i++) {
        usleep(BETWEEN_US);
        /* As systemd does: the old one first, whose socket stays. */
        if (process_end(daemon, SIGTERM) != 0)
            errx(1, "redlockd did not end well: see %s", log);
        daemon = process_start(argv, listener, log);
        board->result.restarts++;
    }
    usleep(BETWEEN_US);
    board->stop = true;
    waitpid(client, &status, 0);
    if (status != 0)
        errx(1, "the load of the restarts ended early");
    process_end(daemon, SIGTERM);
    close(listener);
    unlink(path);
    result = board->result;
    munmap(board, sizeof *board);
    return result;
}

void part_restart(struct bench *bench)
{
    struct restart_result result = restart(bench);

    table_note("restarts under load, with a socket that stays and a drain of 1 s",
               "%u: %lu renewals, %lu cycles, %lu requests sent again, longest answer %.0f ms",
               result.restarts, result.renewals, result.cycles, result.again,
               result.longest_ms);
    table_most("leases lost over the restarts", (double)result.lost, 0, "");
    table_most("connections refused over the restarts", (double)result.refused, 0, "");
}
