/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of the process, in two steps that a balancer and the clients can follow:
 *
 *     TERM      DRAINING  /readyz is 503, waits end with 503, streams are sent away. The
 *                         listeners stay open: clients renew and release, through new
 *                         connections too. Every answer ends its connection. Lasts until no
 *                         request is under way and no lease that was granted or renewed here is
 *                         valid, at most for `drain`.
 *               STOPPED   no new connections; idle ones are closed, the others after their
 *                         answer, within a second. Clients that connect to a socket of the
 *                         service manager wait in its queue for the next process.
 * A second TERM ends the process at once.
 */
#ifndef REDLOCKD_LIFE_DRAIN_H
#define REDLOCKD_LIFE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "http/server.h"
#include "leases/leases.h"
#include "system/loop.h"

struct drain {
    struct loop_part part;
    struct loop *loop;
    struct http_server *server;
    struct leases *leases;
    int64_t end_ns; /* of the step; RL_NEVER_NS: no end was requested */
    bool is_stopped;
};

void drain_init(struct drain *drain, struct loop *loop, struct http_server *server,
                struct leases *leases);
bool drain_has_begun(const struct drain *drain);
void drain_begin(struct drain *drain, int64_t span_ns);

#endif
