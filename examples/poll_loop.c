/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock inside an event loop: nothing here blocks, and no thread is started (but to look up
 * the host names of nodes that are not given by their addresses). The library is one descriptor
 * to watch and one call to make when it is readable. examples/libuv_loop.c and libevent_loop.c
 * do the same inside those loops.
 *
 *     redlock dev -c 3 -- ./poll_loop
 *
 * The lock goes through its whole life by events: acquired, extended, released. Meanwhile a
 * timer stands for everything else that the loop of a real program does.
 */
#include <errno.h>
#include <poll.h>
#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "life.h"

#define TICK_NS 20000000
#define LOOP_TIMEOUT_MS 30000

static int loop(redlock *client, int timer_fd, struct life *life)
{
    struct pollfd watched[2] = {
        {.fd = redlock_fd(client), .events = POLLIN},
        {.fd = timer_fd, .events = POLLIN},
    };
    unsigned ticks = 0;
    while (!life->is_over) {
        int ready = poll(watched, 2, LOOP_TIMEOUT_MS);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready <= 0) {
            fprintf(stderr, "nothing happened for %d ms\n", LOOP_TIMEOUT_MS);
            return 1;
        }
        if (watched[0].revents != 0) {
            life_drain(life, client);
        }
        if (watched[1].revents != 0) {
            uint64_t expirations;
            if (read(timer_fd, &expirations, sizeof expirations) == sizeof expirations) {
                ticks++;
            }
        }
    }
    printf("the loop did other work %u times meanwhile\n", ticks);
    return life->status;
}

int main(void)
{
    redlock *client;
    struct life life;
    struct itimerspec tick = {.it_value.tv_nsec = 1, .it_interval.tv_nsec = TICK_NS};
    int status = 1;

    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer_fd < 0 || timerfd_settime(timer_fd, 0, &tick, NULL) != 0) {
        perror("timerfd");
        return 1;
    }
    if (redlock_open(NULL, &client) != REDLOCK_OK) {
        fprintf(stderr, "%s\n", redlock_detail());
        close(timer_fd);
        return 1;
    }
    if (life_begin(&life, client, "example:poll-loop")) {
        status = loop(client, timer_fd, &life);
    }
    redlock_close(client);
    close(timer_fd);
    return status;
}
