/* SPDX-License-Identifier: BSD-2-Clause */
/* The line that `systemctl status` shows: "3/5 nodes vote, 812 leases". Sent when
 * it has changed. */
#ifndef REDLOCKD_LIFE_STATUS_H
#define REDLOCKD_LIFE_STATUS_H

#include <stdint.h>

#include "leases/leases.h"
#include "system/notify.h"

#define STATUS_TEXT_MAX 96

struct status {
    struct loop_part part;
    struct notify *notify;
    struct leases *leases;
    int64_t next_ns;            /* the next look */
    char text[STATUS_TEXT_MAX]; /* what was sent last */
};

/* A part of the loop; does nothing where there is no manager. */
int64_t status_turn(void *status, int64_t now_ns);

#endif
