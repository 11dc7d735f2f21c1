/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tally of one round of votes. The quorum is a majority of the configured nodes, never of
 * the connected ones (A2): two majorities of the same N nodes share a node, and that node is
 * why two holders cannot be.
 */
#ifndef RL_CORE_TALLY_H
#define RL_CORE_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rules.h"

enum rl_verdict {
    RL_TALLY_PENDING,
    RL_TALLY_WON,
    RL_TALLY_LOST, /* as soon as winning is impossible, without waiting for the rest (A4) */
};

struct rl_tally {
    uint8_t node_count;
    uint8_t quorum; /* so many of them win */
    uint8_t yes_count;
    uint8_t no_count;
    uint16_t yes; /* bit per node */
    uint16_t no;  /* disjoint from yes */
};

/* How many of so many nodes are a majority. */
static inline uint8_t rl_quorum(uint8_t node_count)
{
    return (uint8_t)(node_count / 2 + RL_RULE(MAJORITY));
}

/* So many nodes, a bit each. */
static inline uint16_t rl_all_nodes(uint8_t node_count)
{
    return (uint16_t)((1u << node_count) - 1);
}

static inline uint8_t rl_count_nodes(uint16_t nodes)
{
    uint8_t count = 0;

    for (; nodes; nodes &= (uint16_t)(nodes - 1))
        count++;
    return count;
}

/* Counts one node's vote. False, and nothing changes, when that node has voted already. */
static inline bool rl_tally_vote(struct rl_tally *tally, uint8_t node, bool yes)
{
    uint16_t bit = (uint16_t)(1u << node);

    if ((tally->yes | tally->no) & bit)
        return false;
    if (yes) {
        tally->yes |= bit;
        tally->yes_count++;
    } else {
        tally->no |= bit;
        tally->no_count++;
    }
    return true;
}

/* The request is sent again: the node's no is not its last word. */
static inline void rl_tally_reconsider(struct rl_tally *tally, uint8_t node)
{
    uint16_t bit = (uint16_t)(1u << node);

    if (tally->no & bit) {
        tally->no &= (uint16_t)~bit;
        tally->no_count--;
    }
}

/* The node's vote, whatever it was or would have been, is a no. */
static inline void rl_tally_revoke(struct rl_tally *tally, uint8_t node)
{
    uint16_t bit = (uint16_t)(1u << node);

    if (tally->yes & bit) {
        tally->yes &= (uint16_t)~bit;
        tally->yes_count--;
    }
    rl_tally_vote(tally, node, false);
}

static inline enum rl_verdict rl_tally_verdict(const struct rl_tally *tally)
{
    if (tally->yes_count >= tally->quorum)
        return RL_TALLY_WON;
    if (tally->node_count - tally->no_count < tally->quorum)
        return RL_TALLY_LOST;
    return RL_TALLY_PENDING;
}

/* The nodes that have not voted yet, a bit each. */
static inline uint16_t rl_tally_pending(const struct rl_tally *tally)
{
    return (uint16_t)(rl_all_nodes(tally->node_count) & ~(tally->yes | tally->no));
}

#endif
