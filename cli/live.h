/* SPDX-License-Identifier: BSD-2-Clause */
/* The line that a terminal shows while a lock is waited for. */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#define LIVE_TICK_NS 100000000LL

struct live {
    bool on;    /* standard error is a terminal and nobody asked for silence */
    bool shown; /* a line is there to be erased */
    bool known; /* `info` is somebody's hold */
    int error;  /* of the last question */
    bool asked;
    int64_t started_ns;
    int64_t asked_ns;
    redlock_info info;
};

void live_begin(struct live *l, bool wanted);

/* Draws the line anew. Asks the nodes who holds the lock, every now and then. */
void live_draw(struct live *l, redlock *client, const char *name);

/* Leaves the terminal as it was. */
void live_erase(struct live *l);

#endif
