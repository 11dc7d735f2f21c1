/* SPDX-License-Identifier: BSD-2-Clause */
#include "parts.h"

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clients.h"
#include "cycles.h"
#include "processes.h"

#define READY_TURNS 3000 /* of 10 ms */

void bench_await_ready(const char *address)
{
    static const char request[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int fd = clients_connect(address), status = 0;
    char body[1024];

    for (int i = 0; i < READY_TURNS && status != 200; i++) {
        status = clients_exchange(fd, request, sizeof request - 1, body, sizeof body);
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
    bench->daemon = process_start(argv, log);
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
