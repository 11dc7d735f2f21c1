/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock inside an event loop: nothing here blocks, and no thread is started. The library is
 * one descriptor to watch and one call to make when it is readable.
 *
 *     redlock dev -n 3 -- ./poll_loop
 *
 * The lock goes through its whole life by callbacks: acquired, extended, released. Meanwhile a
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

#define TTL_MS 5000
#define WAIT_MS 10000
#define TICK_NS 20000000
#define LOOP_TIMEOUT_MS 30000

/* "what: the error and its explanation" on stderr. */
static void complain(const char *what, int error)
{
    fprintf(stderr, "%s: %s: %s\n", what, redlock_strerror(error), redlock_detail());
}

struct app {
    bool finished;
    int status;
    unsigned ticks;
};

static void finish(struct app *app, const char *what, int error)
{
    if (error != REDLOCK_OK) {
        complain(what, error);
        app->status = 1;
    }
    app->finished = true;
}

static void on_released(redlock_lock *lock, int error, void *data)
{
    printf("released: %s\n", redlock_error_name(error));
    redlock_lock_free(lock); /* allowed in a callback, once the handle is not needed */
    finish(data, "release", error);
}

static void on_extended(redlock_lock *lock, int error, void *data)
{
    if (error == REDLOCK_OK) {
        printf("extended: %lld ms left\n", (long long)redlock_remaining_ms(lock));
    } else {
        complain("extend", error); /* the old deadline stands: release what we have */
    }
    error = redlock_start_release(lock, on_released, data);
    if (error != REDLOCK_OK) {
        redlock_lock_free(lock);
        finish(data, "release", error);
    }
}

static void on_acquired(redlock_lock *lock, int error, void *data)
{
    if (error == REDLOCK_OK) {
        printf("acquired: %lld ms left\n", (long long)redlock_remaining_ms(lock));
        error = redlock_start_extend(lock, TTL_MS, on_extended, data);
    }
    if (error != REDLOCK_OK) {
        redlock_lock_free(lock);
        finish(data, "acquire", error);
    }
}

/* At most once, if the lock ends before it was released: stop using what it protects. */
static void on_lost(redlock_lock *lock, int error, void *data)
{
    struct app *app = data;
    (void)lock;
    complain("lost", error);
    app->status = 1;
}

static int loop(redlock *client, int timer_fd, struct app *app)
{
    struct pollfd watched[2] = {
        {.fd = redlock_fd(client), .events = POLLIN},
        {.fd = timer_fd, .events = POLLIN},
    };
    while (!app->finished) {
        int ready = poll(watched, 2, LOOP_TIMEOUT_MS);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready <= 0) {
            fprintf(stderr, "nothing happened for %d ms\n", LOOP_TIMEOUT_MS);
            return 1;
        }
        if (watched[0].revents != 0) {
            int done = redlock_process(client, 0); /* callbacks run in here */
            if (done < 0) {
                complain("process", done);
                return 1;
            }
        }
        if (watched[1].revents != 0) {
            uint64_t expirations;
            if (read(timer_fd, &expirations, sizeof expirations) == sizeof expirations) {
                app->ticks++;
            }
        }
    }
    return app->status;
}

static int run(redlock *client, int timer_fd)
{
    struct app app = {.finished = false};
    redlock_request request = {
        .size = sizeof request,
        .wait_ms = WAIT_MS,
        .done = on_acquired,
        .lost = on_lost,
        .data = &app,
    };
    redlock_lock *lock;
    int error = redlock_start(client, "example:poll-loop", TTL_MS, &request, &lock);
    if (error != REDLOCK_OK) {
        complain("start", error);
        return 1;
    }
    int status = loop(client, timer_fd, &app);
    printf("the loop did other work %u times meanwhile\n", app.ticks);
    return status;
}

int main(void)
{
    redlock *client;
    struct itimerspec tick = {.it_value.tv_nsec = 1, .it_interval.tv_nsec = TICK_NS};

    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer_fd < 0 || timerfd_settime(timer_fd, 0, &tick, NULL) != 0) {
        perror("timerfd");
        return 1;
    }
    int error = redlock_open(NULL, &client);
    if (error != REDLOCK_OK) {
        complain("open", error);
        close(timer_fd);
        return 1;
    }
    int status = run(client, timer_fd);
    redlock_close(client);
    close(timer_fd);
    return status;
}
