/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a service reports to its manager (sd_notify(3)), without libsystemd: one datagram of
 * lines to the socket that NOTIFY_SOCKET names. Without that variable everything here does
 * nothing.
 *
 * Nothing waits: a message that the manager's socket does not take is dropped. The next
 * watchdog sign repeats nothing, since each message stands alone.
 */
#ifndef REDLOCKD_SYSTEM_NOTIFY_H
#define REDLOCKD_SYSTEM_NOTIFY_H

#include <stdint.h>

#include "system/loop.h"

struct notify {
    struct loop_part part;
    int fd; /* connected; -1: there is no manager */
    int64_t
        /* send a sign of life this often: half of WATCHDOG_USEC; 0: never */
        watchdog_ns;
    int64_t next_ns; /* the next sign of life */
};

/* Reads the environment, and takes the variables out of it: children are not the service. */
void notify_init(struct notify *notify);
void notify_free(struct notify *notify);

void notify_ready(struct notify *notify);
void notify_stopping(struct notify *notify);
/* With the time that the manager compares: ready again follows when the reload is done. */
void notify_reloading(struct notify *notify);
/* One line for `systemctl status`. */
void notify_status(struct notify *notify, const char *text);

/* A part of the loop: the watchdog's signs of life, which stop when the loop does. */
int64_t notify_turn(void *notify, int64_t now_ns);

#endif
