/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/safety.h"

#include "engine/sets.h"

void rl_safety_gather(const struct rl_engine *engine, bool with_sets,
                      struct rl_audit_node nodes[REDLOCK_NODES_MAX])
{
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_session *session = &engine->node[i].session;
        const struct rl_elected *elected = engine->node[i].elected;

        nodes[i] = (struct rl_audit_node){
            .reachable = session->state == RL_SESSION_UP,
            .facts = &session->facts,
            .objection = with_sets && !rl_sets_is_slot_refused(engine, i)
                             ? rl_sets_objection(engine, i)
                             : REDLOCK_REASON_NONE,
            .set_by_client = with_sets && rl_sets_is_by_client(engine, i),
            .max_ttl_ms = engine->max_ttl_ns / RL_NS_PER_MS,
            .window = &session->guard.window,
        };
        for (uint8_t k = 0; elected && elected->login.vote_count && k <= i; k++)
            if (engine->node[k].elected == elected->home)
                nodes[i].cluster = (uint8_t)(k + 1);
    }
}

/* In the order of the checks; of each, what is worst first. */
static const struct {
    enum redlock_reason reason;
    const char *check;
} order[] = {
    {REDLOCK_REASON_SENTINEL, "role"},
    {REDLOCK_REASON_CLUSTER, "role"},
    {REDLOCK_REASON_REPLICA, "role"},
    {REDLOCK_REASON_FAILOVER, "role"},
    {REDLOCK_REASON_SAME_SERVER, "identity"},
    {REDLOCK_REASON_OTHER_SET, "membership"},
    {REDLOCK_REASON_OTHER_NUMBER, "membership"},
    {REDLOCK_REASON_OTHER_QUORUM, "membership"},
    {REDLOCK_REASON_NO_SET, "membership"},
    {REDLOCK_REASON_SET_PENDING, "membership"},
    {REDLOCK_REASON_SET_CHANGED, "membership"},
    {REDLOCK_REASON_SET_UNREADABLE, "membership"},
    {REDLOCK_REASON_VERSION, "membership"},
    {REDLOCK_REASON_SET_BY_NAME, "membership"},
    {REDLOCK_REASON_NO_SETS, "membership"},
    {REDLOCK_REASON_MAX_TTL, "max_ttl"},
    {REDLOCK_REASON_EVICTION, "eviction"},
    {REDLOCK_REASON_SKEW, "clock"},
};

const char *rl_safety_check_name(enum redlock_reason reason)
{
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (order[i].reason == reason)
            return order[i].check;
    return "role, identity or eviction"; /* INFO is forbidden: none of them is known */
}

enum redlock_reason rl_safety_find(const struct rl_engine *engine, uint8_t node)
{
    const struct rl_node *at = &engine->node[node];
    const struct rl_facts *facts = &at->session.facts;
    struct rl_audit_node nodes[REDLOCK_NODES_MAX];
    uint64_t findings;

    rl_safety_gather(engine, true, nodes);
    /* Its greeting has been answered, or this reply would not be judged. */
    nodes[node].reachable = true;
    findings = rl_audit_findings(nodes, engine->policy.node_count, node);
    if (!at->elected && (facts->replica_count > 0 || facts->was_promoted))
        findings |= RL_FINDING(FAILOVER);
    if (!engine->set_answer[node].set[0])
        findings |= RL_FINDING(NO_SETS);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (findings >> order[i].reason & 1)
            return order[i].reason;
    /* What it does not report may be so: unknown is not passed. */
    return facts->has_server && facts->has_replication && facts->has_memory
               ? REDLOCK_REASON_NONE
               : REDLOCK_REASON_INFO;
}
