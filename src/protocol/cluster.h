/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The votes of a Redis Cluster (docs/elected.md): fixed hash slots, evenly spaced, and what a
 * node of the cluster reports about their owners.
 */
#ifndef RL_PROTOCOL_CLUSTER_H
#define RL_PROTOCOL_CLUSTER_H

#include "base/slice.h"
#include "core/electors.h"

#define RL_VOTES_MAX 7
#define RL_VOTES_USUAL 3

/* What stands in front of every key and channel of a vote: "redlock.{um}". */
#define RL_TAG_MAX 16

/*
 * A vote of a cluster with that many. Two letters that hash near the middle of its part of the
 * slots: on a fresh cluster the votes are on as many masters as they can be.
 */
struct rl_cluster_vote {
    const char *name; /* the hash tag */
    uint16_t slot;
};

/* NULL: there is no such number of votes, which is 1, 3, 5 or 7; or no such vote. */
const struct rl_cluster_vote *rl_cluster_vote(uint8_t votes, uint8_t which);

/*
 * The id of the node whose CLUSTER NODES this is. 0, or -1: the text names no node as itself,
 * which it does whenever a node of a cluster has written it.
 */
int rl_cluster_read_self(struct rl_slice nodes, char id[RL_ELECTOR_ID_SIZE + 1]);

/*
 * Who owns the slot, and with which epoch? An owner of term `*out` is empty where no line
 * claims the slot, or one without an address does. What a node knows of itself has no host
 * before others have named it: self_host stands for that.
 */
void rl_cluster_read_owner(struct rl_slice nodes, uint16_t slot, const char *self_host,
                           struct rl_term *out);

#endif
