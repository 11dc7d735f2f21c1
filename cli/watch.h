/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A child under a lock: signals are passed on, the lock is renewed, and the child is ended
 * before the validity is, should renewal fail.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "child.h"
#include "hold.h"

struct watch {
    struct hold *hold;
    struct child child;
    int signal_fd, timer_fd;
    int64_t grace_ms;       /* TERM goes out this long before the validity ends */
    int64_t kill_margin_ms; /* and KILL this long before */
    int64_t hold_until_ns;  /* the lock is kept until then, even if the child ends before */
    bool hurried;           /* a signal cut that short */
    bool terminated;        /* TERM or KILL was sent because the lock was ending */
    bool killed;            /* KILL was sent for that reason */
};

/* How long before the end of the validity KILL is due, for a lock of this TTL. */
int64_t watch_kill_margin_ms(int64_t ttl_ms);

/*
 * From the start of the child until nothing keeps the lock from being released. Returns 0 or
 * errno; then the child has been killed.
 */
int watch_child(struct watch *w);

#endif
