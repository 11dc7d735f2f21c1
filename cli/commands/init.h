/* SPDX-License-Identifier: BSD-2-Clause */
/* `redlock init`: what may be held, and waiting until nothing can be. */
#ifndef CLI_INIT_H
#define CLI_INIT_H

#include <redlock.h>
#include <stdbool.h>

#include "settings/settings.h"

/* What is held on the nodes that `redlock init` is to let vote. */

/*
 * Looks for locks of one quorum. 0 when there are none; EXIT_IN_USE after listing them with
 * their holders, or another exit status after printing why it could not be seen.
 */
int init_refuse_held(const struct settings *s, redlock *client, redlock *member);

/*
 * `redlock init` while locks may be held: all nodes are watched for the guard time on one
 * connection each, as a client watches a young node (G1), before a marker shows that one of
 * them may vote. Nothing is written before that, so an interrupted one is simply begun anew.
 *
 * --wait: nodes of one set, or new ones, of which some have no marker of their incarnation.
 * What such a node may have forgotten has ended once the longest TTL has passed under the
 * watch. Locks of clients with other nodes than these do not end by that: no node may be in
 * another set.
 *
 * --replace OLD: a new server takes the place of one that is gone (docs/operations.md). A lock
 * that leaned on the old server has ended, or was renewed on the others, once the longest TTL
 * has passed since it stopped: it must not answer meanwhile.
 */

/* Zero: not begun. */
struct init_watch {
    uint32_t connects[REDLOCK_NODES_MAX]; /* of each node: another number, another connection */
    int64_t since_ns;                     /* 0: not begun */
    int64_t shown_ns;
    uint32_t newcomers; /* as the look before found; one more: a node was emptied meanwhile */
};

/*
 * --wait: goes on after a look that found every node. Returns 0, and *left_ms: look again after
 * that time, or sooner; 0: they may be admitted. Or an exit status after printing why not.
 */
int init_watch_step(const struct settings *s, struct init_watch *w, redlock *client,
                    redlock *member, const redlock_admission *found, int64_t *left_ms);

/* --replace: checks, and waits. 0 when the new node may be admitted, or an exit status. */
int init_watch_replace(struct settings *s, redlock *member, const char *old,
                       const redlock_admission *found);

#endif
