/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Findings about nodes, from their INFO (G7). Only what a node answered is judged: a
 * node that answers nothing yields no finding here, and "unknown" in the full audit.
 */
#ifndef RL_CORE_AUDIT_H
#define RL_CORE_AUDIT_H

#include "core/guard.h"

/* Clocks that differ by more than this make fence tokens after a restart doubtful. */
#define RL_AUDIT_SKEW_NS (500 * RL_NS_PER_MS)

struct rl_audit_node {
    bool reachable; /* and greeted: its facts are there */
    const struct rl_facts *facts;
    const struct rl_clock_window *window;
    enum redlock_reason objection; /* to its set (G8), whether or not the guard is on */
    bool set_by_client; /* no init has written its set: a client has, or is about to */
    int64_t max_ttl_ms; /* of this client */
    uint8_t cluster;    /* the votes of one have the same number; 0: it is none */
};

/* The findings about one node among all, RL_FINDING() of each reason. */
uint64_t rl_audit_findings(const struct rl_audit_node *nodes, uint8_t node_count, uint8_t node);
#define RL_FINDING(name) (UINT64_C(1) << REDLOCK_REASON_##name)
_Static_assert(REDLOCK_REASON_EXPOSED < 64,
               "a finding is one bit of 64, and the reasons behind that one are no findings");

/* What to do about it; empty: nothing. */
const char *rl_remedy(enum redlock_reason reason);

#endif
