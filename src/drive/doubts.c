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

static const char *doubt_text(const redlock *client, uint8_t node, int doubt,
                              char out[REDLOCK_TEXT_MAX])
{
    const struct rl_facts *facts = &client->engine.node[node].session.facts;

    if (doubt != RL_DOUBT_MAX_TTL)
        return rl_audit_doubt_text(doubt);
    snprintf(out, REDLOCK_TEXT_MAX,
             "initialised with a max_ttl of %lld ms, here it is %lld ms: %s",
             (long long)facts->marker_max_ttl_ms, (long long)client->max_ttl_ms,
             rl_audit_doubt_text(doubt));
    return out;
}

void rl_find_doubts(redlock *client)
{
    struct rl_audit_node nodes[REDLOCK_NODES_MAX];

    gather(client, nodes);
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        uint32_t doubts = rl_audit_doubts(nodes, client->engine.policy.node_count, i);
        uint32_t news = doubts & ~client->warned[i];

        client->warned[i] |= news;
        for (int doubt = 0; news >> doubt; doubt++) {
            char room[REDLOCK_TEXT_MAX];

            if (news & (1u << doubt))
                rl_event_warn(client, client->engine.node[i].address,
                              doubt_text(client, i, doubt, room));
        }
    }
}
