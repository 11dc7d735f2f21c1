/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tally of one round of votes, and the arithmetic of validity.
 *
 * The quorum is a majority of the configured nodes, never of the connected ones (A2): two
 * majorities of the same N nodes share a node, and that node is why two holders cannot be.
 */
#ifndef RL_CORE_QUORUM_H
#define RL_CORE_QUORUM_H

#include <stdbool.h>
#include <stdint.h>

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

uint8_t rl_quorum(uint8_t node_count);

/* Counts one node's vote. False, and nothing changes, when that node has voted already. */
bool rl_tally_vote(struct rl_tally *tally, uint8_t node, bool yes);

/* The node is asked again: its no is not its last word. */
void rl_tally_reconsider(struct rl_tally *tally, uint8_t node);

/* The node's vote, whatever it was or would have been, is a no. */
void rl_tally_revoke(struct rl_tally *tally, uint8_t node);

enum rl_verdict rl_tally_verdict(const struct rl_tally *tally);

/* The nodes that have not voted yet, a bit each. */
uint16_t rl_tally_pending(const struct rl_tally *tally);

/* What clocks may differ in rate over a TTL: ttl * ppm / 10^6 + 2 ms (A3). */
int64_t rl_drift_ns(int64_t ttl_ns, uint32_t drift_ppm);

/*
 * The end of the validity of a key whose request was started at start_ns. No node can have set
 * its key earlier than start_ns, so none lets it expire earlier than start_ns + ttl by its own
 * clock; the drift covers the difference between its clock's rate and ours.
 */
int64_t rl_validity_end_ns(int64_t start_ns, int64_t ttl_ns, uint32_t drift_ppm);

#endif
