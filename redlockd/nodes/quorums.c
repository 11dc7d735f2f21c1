/* SPDX-License-Identifier: BSD-2-Clause */
#include "nodes/quorums.h"

#include <string.h>

bool quorums_node_votes(const redlock_node_info *node)
{
    return node->state == REDLOCK_NODE_UP && !node->quarantined;
}

unsigned quorums_look(redlock *client, struct quorum_view out[REDLOCK_QUORUMS_MAX])
{
    redlock_node_info node = REDLOCK_NODE_INFO();
    unsigned count = 0;

    for (size_t i = 0; redlock_node(client, i, &node) == REDLOCK_OK; i++) {
        struct quorum_view *quorum = &out[node.quorum_index];

        if (node.quorum_index >= count) {
            count = node.quorum_index + 1;
            *quorum = (struct quorum_view){0};
            strcpy(quorum->name, node.quorum_name);
        }
        quorum->nodes++;
        quorum->voting += quorums_node_votes(&node);
        guarantee_add(&quorum->guarantee, &node);
    }
    for (unsigned i = 0; i < count; i++)
        out[i].needed = out[i].nodes / 2 + 1;
    return count;
}

bool quorums_are_ready(redlock *client)
{
    struct quorum_view quorums[REDLOCK_QUORUMS_MAX];
    unsigned count = quorums_look(client, quorums);

    for (unsigned i = 0; i < count; i++)
        if (quorums[i].voting < quorums[i].needed)
            return false;
    return count > 0;
}

bool quorums_are_of_another_set(redlock *client)
{
    redlock_node_info node = REDLOCK_NODE_INFO();

    for (size_t i = 0; redlock_node(client, i, &node) == REDLOCK_OK; i++)
        if (node.misplaced)
            return true;
    return false;
}
