/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes that go down, into quarantine and up again, and quorums that lose their majority:
 * looked at every second, and reported to the log and to one listener. This also makes the
 * library look after nodes while no lock is requested (redlock_node() in redlock.h), on which
 * /readyz and the metrics of nodes rest.
 *
 * The log has at most one line about a node, and one about a quorum, in CHANGES_LOG_EVERY_NS.
 * The first change after a calm is logged at once; of a flapping node each line shows how many
 * changes there were since the one before.
 */
#ifndef REDLOCKD_NODES_CHANGES_H
#define REDLOCKD_NODES_CHANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "redlock.h"
#include "system/loop.h"

#define CHANGES_LOG_EVERY_NS (10 * RL_NS_PER_S)
#define CHANGES_NODES_MAX (REDLOCK_QUORUMS_MAX * REDLOCK_NODES_MAX)

enum changes_state {
    CHANGES_UNKNOWN, /* its first connection is being made */
    CHANGES_DOWN,
    CHANGES_QUARANTINED,
    CHANGES_UP,
};

/* A node or a quorum; of a quorum UP is a majority, and DOWN is none. */
struct change {
    unsigned char state;    /* enum changes_state, as seen last */
    unsigned char logged;   /* as logged last; UNKNOWN: nothing yet, which means UP */
    unsigned count;         /* changes since the last line */
    int64_t quiet_until_ns; /* no line before */
};

struct changes {
    struct loop_part part;
    redlock *client;
    void *context;
    void (*on_node)(void *context, const redlock_node_info *node, enum changes_state state);
    int64_t next_ns; /* the next look */
    struct change node[CHANGES_NODES_MAX];
    struct change quorum[REDLOCK_QUORUMS_MAX];
};

/* Looks now, and reports what has changed. */
void changes_look(struct changes *changes, int64_t now_ns);

/* A part of the loop. */
int64_t changes_turn(void *changes, int64_t now_ns);

#endif
