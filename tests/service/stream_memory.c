/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams where memory is short: each allocation of a stream's life fails once. */
#include "lease_rig.h"

#include "check.h"
#include "inject_shim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVES_MAX 300
#define WAIT_TURNS 100

/* Turns until the stream holds, is refused or is gone; true: it holds. */
static bool await_outcome(int fd)
{
    for (int i = 0; i < WAIT_TURNS; i++) {
        bool end;
        const char *text = rig_read(one.rig, fd, &end);

        if (strstr(text, "event: granted"))
            return true;
        if (end || text[0] != '\0')
            return false;
        loop_turn(&one.rig->loop, 5);
    }
    return false;
}

/* Opened, renewed, drained away; the allocation of this number fails. False: it has
 * none so late. */
static bool live(int number, const char *id)
{
    int fd = rig_connect(one.rig);
    int counted;
    bool holds;

    inject_arm(INJECT_MEMORY, number, ENOMEM, false);
    rig_send(one.rig, fd, lease_stream_request(id, NULL, "{\"wait_ms\":1000}"));
    holds = await_outcome(fd);
    if (holds && first_stream())
        renew_now();
    leases_drain(&one.leases);
    one.leases.is_draining = false;
    replica_run(5);
    counted = inject_disarm();
    close(fd);
    for (int i = 0; i < SOON_MS / 10 && first_stream(); i++)
        replica_run(10);
    CHECK(!first_stream());
    CHECK_INT(0, one.leases.counts.waiting);
    CHECK_INT(0, one.leases.counts.streaming);
    /* What was cut is left to its TTL. */
    for (size_t i = 0; i < cluster.count; i++)
        server_int(&cluster.node[i], "DEL", KEY, NULL);
    return counted >= number;
}

CASE(each_allocation,
     "A stream for which an allocation fails is refused or cut, and never stuck.")
{
    int number = 1;
    char id[64];

    replica_begin();
    one.rig->may_break = true;
    for (; number < LIVES_MAX; number++) {
        snprintf(id, sizeof id, "stream-without-memory-%06d", number);
        if (!live(number, id))
            break;
    }
    CHECK_BETWEEN(3, LIVES_MAX - 1, number);
    /* And then all is well again. */
    rig_disconnect(one.rig, hold());
    await_nodes(0);
}
