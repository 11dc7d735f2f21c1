/* SPDX-License-Identifier: BSD-2-Clause */
/* The cheap part of the audit: what a look at the greeting shows to be doubtful. */
#include "drive/doubts.h"

#include <stdio.h>

#include "core/audit.h"
#include "drive/client.h"
#include "engine/sets.h"

static void gather(const redlock *client, struct rl_audit_node *out)
{
    /* An admission changes the nodes' sets one by one: what it has not reached yet is no doubt. */
    bool are_sets_settled = client->questions.count[RL_TURN_ADMISSION][RL_ASKED] == 0;

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        const struct rl_node *node = &client->engine.node[i];

        out[i] = (struct rl_audit_node){
            .reachable = node->session.state == RL_SESSION_UP,
            .facts = &node->session.facts,
            .objection =
                are_sets_settled ? rl_sets_objection(&client->engine, i) : REDLOCK_REASON_NONE,
            .set_by_client = are_sets_settled && rl_sets_is_by_client(&client->engine, i),
            .max_ttl_ms = client->max_ttl_ms,
            .window = &node->session.guard.window,
        };
    }
}

static void warn(redlock *client, uint8_t node, enum redlock_reason reason)
{
    bool is_left_out =
        reason == REDLOCK_REASON_CLUSTER ||
        (reason >= REDLOCK_REASON_OTHER_SET && reason < REDLOCK_REASON_SAME_SERVER);
    char text[RL_WARNING_MAX];

    if (reason == REDLOCK_REASON_MAX_TTL)
        snprintf(text, sizeof text,
                 "initialised with a max_ttl of %lld ms, here it is %lld ms; %s",
                 (long long)client->engine.node[node].session.facts.marker_max_ttl_ms,
                 (long long)client->max_ttl_ms, rl_remedy(reason));
    else
        snprintf(text, sizeof text, "%s%s; %s", redlock_reason_text((int)reason),
                 is_left_out ? ", and does not count while the guard is on" : "",
                 rl_remedy(reason));
    rl_event_warn(client, client->engine.node[node].address, reason, text);
}

void rl_find_doubts(redlock *client)
{
    struct rl_audit_node nodes[REDLOCK_NODES_MAX];

    gather(client, nodes);
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        uint64_t doubts = rl_audit_doubts(nodes, client->engine.policy.node_count, i);
        uint64_t news = doubts & ~client->warned[i];

        client->warned[i] |= news;
        for (enum redlock_reason reason = 0; news >> reason; reason++)
            if (news >> reason & 1)
                warn(client, i, reason);
    }
}
