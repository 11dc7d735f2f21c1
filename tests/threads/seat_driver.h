/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A caller that drives the client beside a resting I/O thread.
 *
 * The linker puts an epoll_wait() of ours in the place of the real one. It knows who drives, and can
 * keep a driver from coming back, as a scheduler might that has no time for its thread.
 */
#ifndef REDLOCK_TESTS_SEAT_DRIVER_H
#define REDLOCK_TESTS_SEAT_DRIVER_H

#include "client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    TTL_MS = 30000,
    OPEN_MS = 10000, /* for the seat to be taken; a machine that is too slow for it exists */
};

extern _Thread_local bool seat_is_caller; /* a thread of the test, not of the library */
extern _Atomic int seat_drives;           /* waits of callers: each is one in the seat */
extern _Atomic int seat_thread_waits;     /* those of the I/O thread, and the last one's time */
extern _Atomic int seat_thread_timeout_ms;

/* Acquires and releases. */
int seat_cycle(redlock *client, const char *name);

/* A thread that does nothing else. */
struct seat_hammer {
    redlock *client;
    pthread_t thread;
    _Atomic bool stop;
    _Atomic int cycles, failed;
};

/* Returns when it has driven for a while. */
void seat_hammer_start(struct seat_hammer *h, redlock *client);
void seat_hammer_stop(struct seat_hammer *h);
bool seat_has_driven(void *unused); /* for wait_until() */

/* It does not come back from its wait, in the seat; with_timer: from one that has the timer. */
void seat_hold_driver(bool with_timer);
void seat_let_driver_go(void);

/* Three nodes, a client with an I/O thread, and a hammer. */
struct seat_scene {
    struct cluster c;
    redlock *r;
    struct seat_hammer hammer;
};

void seat_begin(struct seat_scene *s);
void seat_end(struct seat_scene *s);

/* The calling thread's own calls, until it has driven for a while. */
void seat_drive(redlock *r);

#endif
