/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/audit.h"

#include <string.h>

/* Does this policy evict keys that have an expiry, as every lock has? */
static bool evicts(const char *policy)
{
    return strncmp(policy, "volatile-", 9) == 0 || strncmp(policy, "allkeys-", 8) == 0;
}

static bool is_duplicate(const struct rl_audit_node *nodes, uint8_t node_count, uint8_t node)
{
    const char *run_id = nodes[node].facts->run_id;

    for (uint8_t i = 0; i < node_count; i++)
        if (i != node && nodes[i].reachable && run_id[0] &&
            strcmp(nodes[i].facts->run_id, run_id) == 0)
            return true;
    return false;
}

/* Surely further apart than is fine, whatever the samples leave open. */
static bool are_apart(const struct rl_clock_window *a, const struct rl_clock_window *b)
{
    return a->low_ns - b->high_ns > RL_AUDIT_SKEW_NS ||
           b->low_ns - a->high_ns > RL_AUDIT_SKEW_NS;
}

/* More than the allowance away from most of the others whose clock is known. */
static bool is_skewed(const struct rl_audit_node *nodes, uint8_t node_count, uint8_t node)
{
    uint8_t near_count = 0;
    uint8_t far_count = 0;

    if (!nodes[node].window->known)
        return false;
    for (uint8_t i = 0; i < node_count; i++) {
        if (i == node || !nodes[i].reachable || !nodes[i].window->known)
            continue;
        if (are_apart(nodes[node].window, nodes[i].window))
            far_count++;
        else
            near_count++;
    }
    /* Two clocks that differ do not say which of them is wrong. */
    return far_count > near_count && (node_count == 2 || far_count + near_count >= 2);
}

uint32_t rl_audit_doubts(const struct rl_audit_node *nodes, uint8_t node_count, uint8_t node)
{
    const struct rl_facts *facts = nodes[node].facts;
    uint32_t doubts = 0;

    if (!nodes[node].reachable)
        return 0;
    if (is_duplicate(nodes, node_count, node))
        doubts |= 1u << RL_DOUBT_DUPLICATE;
    if (facts->cluster)
        doubts |= 1u << RL_DOUBT_CLUSTER;
    else if (facts->has_replication && !facts->master)
        doubts |= 1u << RL_DOUBT_REPLICA;
    if (facts->has_memory && facts->maxmemory_bytes > 0 && evicts(facts->maxmemory_policy))
        doubts |= 1u << RL_DOUBT_EVICTING;
    if (is_skewed(nodes, node_count, node))
        doubts |= 1u << RL_DOUBT_SKEWED;
    if (facts->cluster) /* that is why whatever its set is cannot be read */
        return doubts;
    if (nodes[node].objection == REDLOCK_REASON_NO_SET)
        doubts |= 1u << RL_DOUBT_UNPLACED;
    else if (nodes[node].objection == REDLOCK_REASON_SET_UNREADABLE)
        doubts |= 1u << RL_DOUBT_UNREAD;
    else if (nodes[node].objection != REDLOCK_REASON_NONE)
        doubts |= 1u << RL_DOUBT_MISPLACED;
    else if (nodes[node].set_by_client)
        doubts |= 1u << RL_DOUBT_BY_CLIENT;
    if (facts->marker_max_ttl_ms > 0 && facts->marker_max_ttl_ms != nodes[node].max_ttl_ms)
        doubts |= 1u << RL_DOUBT_MAX_TTL;
    if (node == 0 && node_count % 2 == 0)
        doubts |= 1u << RL_DOUBT_EVEN;
    return doubts;
}

const char *rl_audit_doubt_text(int doubt)
{
    switch (doubt) {
#define CASE(name, text)                                                                       \
    case RL_DOUBT_##name:                                                                      \
        return text;
        RL_DOUBTS(CASE)
#undef CASE
    }
    return "";
}
