/* SPDX-License-Identifier: BSD-2-Clause */
/* The cheap part of the audit: what a look at the greeting shows to be doubtful. */
#include "drive/doubts.h"

#include "core/audit.h"
#include "drive/client.h"
#include "drive/enter.h"
#include "engine/sets.h"

static void gather(const redlock *client, struct rl_audit_node *out)
{
    /* An admission changes the nodes' sets one by one: what it has not reached yet is no doubt. */
    bool are_sets_settled = client->questions.turn_count[RL_TURN_ADMISSION] == 0;

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        const struct rl_node *node = &client->engine.node[i];

        out[i] = (struct rl_audit_node){
            .reachable = node->session.state == RL_SESSION_UP,
            .facts = &node->session.facts,
            .objection =
                are_sets_settled ? rl_sets_objection(&client->engine, i) : RL_GUARD_NONE_REASON,
            .set_by_client = are_sets_settled && node->said.by_client,
            .max_ttl_ms = client->max_ttl_ms,
            .window = &node->session.guard.window,
        };
    }
}

int rl_tell_doubts(redlock *client)
{
    struct rl_audit_node nodes[REDLOCK_NODES_MAX];
    int count = 0;

    gather(client, nodes);
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        uint32_t doubts = rl_audit_doubts(nodes, client->engine.policy.node_count, i);
        uint32_t news = doubts & ~client->warned[i];

        client->warned[i] |= news;
        for (int doubt = 0; news >> doubt; doubt++) {
            struct rl_frame frame;

            if (!(news & (1u << doubt)))
                continue;
            pthread_mutex_unlock(&client->mutex);
            rl_frame_enter(&frame, client);
            client->warn(client->engine.node[i].address, rl_audit_doubt_text(doubt),
                         client->warn_data);
            rl_frame_leave(&frame);
            pthread_mutex_lock(&client->mutex);
            count++;
        }
    }
    return count;
}
