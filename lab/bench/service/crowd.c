/* SPDX-License-Identifier: BSD-2-Clause */
#include "crowd.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients.h"
#include "cycles.h"
#include "io/clock.h"

#define PATIENCE_TURNS 6000 /* of 10 ms */

unsigned crowd_waiting(const char *address)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static char body[65536];
    int fd = clients_connect(address);
    const char *at;

    if (clients_ask(fd, request, sizeof request - 1, body, sizeof body) != 200)
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
        if (crowd_waiting(address) == count)
            return;
        usleep(10000);
    }
    errx(1, "%u requests wait, not %u", crowd_waiting(address), count);
}

void crowd_open(struct crowd *crowd, const char *address, unsigned count)
{
    *crowd = (struct crowd){calloc(count, sizeof *crowd->fds), count, rl_now_ns()};
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

void crowd_close(struct crowd *crowd, const char *address)
{
    for (unsigned i = 0; i < crowd->count; i++)
        close(crowd->fds[i]);
    free(crowd->fds);
    await(address, 0);
}
