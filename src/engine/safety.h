/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The safety checks: those of the audit (G7) that decide, with the profile `correctness`,
 * whether a node's grants count. They go by what the node reported when it was greeted, cost no
 * request, and only take votes away.
 *
 *     role        a master without replicas and failover, or a Sentinel group
 *     identity    no other node is the same server
 *     membership  it is in the set of these nodes, by init and not by its name
 *     max_ttl     it was initialised with the max_ttl of this client
 *     eviction    its memory policy evicts no lock
 *     clock       it agrees with the others, as far as fencing tokens need that
 */
#ifndef RL_ENGINE_SAFETY_H
#define RL_ENGINE_SAFETY_H

#include "core/audit.h"
#include "engine/engine.h"

#define RL_SAFETY_CHECKS "role, identity, membership, max_ttl, eviction, clock"

/* What the audit judges, of all nodes. with_sets: of their sets as well. */
void rl_safety_gather(const struct rl_engine *engine, bool with_sets,
                      struct rl_audit_node nodes[REDLOCK_NODES_MAX]);

/* The first check that a node does not pass, or does not answer. NONE:
 * it passes all. */
enum redlock_reason rl_safety_find(const struct rl_engine *engine, uint8_t node);

/* The name of the check that this is a reason of. */
const char *rl_safety_check_name(enum redlock_reason reason);

#endif
