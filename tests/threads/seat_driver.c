/* SPDX-License-Identifier: BSD-2-Clause */
#include "seat_driver.h"

#include "check.h"
#include "clock.h"
#include "io/reactor.h"

#include <stdio.h>

enum { HELD_MS = 60000 }; /* the longest that a driver is kept: longer than any case */

/* ---- who waits ----------------------------------------------------------------------------- */

_Thread_local bool seat_is_caller;
_Atomic int seat_drives;
_Atomic int seat_thread_waits;
_Atomic int seat_thread_timeout_ms;
static _Atomic bool is_wanted;   /* the next driver is kept when it has waited ... */
static _Atomic bool wants_timer; /* ... and has the timer among its events */
static _Atomic bool is_held;

int __real_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms);

static bool has_timer(const struct epoll_event *events, int count)
{
    for (int i = 0; i < count; i++)
        if (events[i].data.u32 == RL_REACTOR_TIMER)
            return true;
    return false;
}

int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
    if (!seat_is_caller) {
        seat_thread_waits++;
        seat_thread_timeout_ms = timeout_ms;
        return __real_epoll_wait(epoll, events, most, timeout_ms);
    }
    int count = __real_epoll_wait(epoll, events, most, timeout_ms);
    seat_drives++;
    if (is_wanted && (!wants_timer || has_timer(events, count))) {
        is_wanted = false;
        is_held = true;
        for (int64_t end_ms = now_ms() + HELD_MS; is_held && now_ms() < end_ms;)
            sleep_ms(1);
        is_held = false;
    }
    return count;
}

/* ---- a caller that hammers ----------------------------------------------------------------- */

int seat_cycle(redlock *client, const char *name)
{
    redlock_lock *lock;
    int error = redlock_acquire(client, name, TTL_MS, NULL, &lock);
    if (error != REDLOCK_OK)
        return error;
    error = redlock_release(lock);
    redlock_lock_free(lock);
    return error;
}

static void *hammer_main(void *data)
{
    struct seat_hammer *h = data;
    seat_is_caller = true;
    while (!h->stop) {
        char name[32];
        snprintf(name, sizeof name, "hammer-%d", h->cycles);
        h->failed += seat_cycle(h->client, name) != REDLOCK_OK;
        h->cycles++;
    }
    return NULL;
}

bool seat_has_driven(void *data)
{
    (void)data;
    return seat_drives > 100;
}

void seat_hammer_start(struct seat_hammer *h, redlock *client)
{
    *h = (struct seat_hammer){.client = client};
    seat_drives = 0;
    CHECK_INT(0, pthread_create(&h->thread, NULL, hammer_main, h));
    if (!wait_until(seat_has_driven, NULL, OPEN_MS))
        check_skip("no %d ms in which this machine answers", 1);
}

void seat_hammer_stop(struct seat_hammer *h)
{
    is_wanted = is_held = false;
    h->stop = true;
    pthread_join(h->thread, NULL);
    CHECK_INT(0, h->failed);
}

static bool is_caught(void *data)
{
    (void)data;
    return is_held;
}

void seat_hold_driver(bool with_timer)
{
    wants_timer = with_timer;
    is_wanted = true;
    CHECK(wait_until(is_caught, NULL, OPEN_MS));
}

void seat_let_driver_go(void)
{
    is_held = false;
}

void seat_begin(struct seat_scene *s)
{
    cluster_start(&s->c, 3);
    s->r = client_open_warm(&s->c, REDLOCK_THREAD);
    seat_hammer_start(&s->hammer, s->r);
}

void seat_end(struct seat_scene *s)
{
    seat_hammer_stop(&s->hammer);
    redlock_close(s->r);
}

void seat_drive(redlock *r)
{
    seat_is_caller = true;
    seat_drives = 0;
    for (int64_t end_ms = now_ms() + OPEN_MS; seat_drives < 50 && now_ms() < end_ms;)
        CHECK_OK(seat_cycle(r, "mine"));
    if (seat_drives < 50)
        check_skip("no %d ms in which this machine answers", 1);
}
