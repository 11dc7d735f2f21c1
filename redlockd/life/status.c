/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/status.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "nodes/quorums.h"

#define LOOK_EVERY_NS RL_NS_PER_S

static void write_status(const struct leases *leases, char text[STATUS_TEXT_MAX])
{
    struct quorum_view quorums[REDLOCK_QUORUMS_MAX];
    unsigned count = quorums_look(leases->client, quorums);
    unsigned voting = 0, nodes = 0;

    for (unsigned i = 0; i < count; i++) {
        voting += quorums[i].voting;
        nodes += quorums[i].nodes;
    }
    snprintf(text, STATUS_TEXT_MAX, "%s%u/%u nodes vote, %zu leases",
             leases->is_draining ? "draining: " : "", voting, nodes, leases->table.held_count);
}

int64_t status_turn(void *context, int64_t now_ns)
{
    struct status *status = context;
    char text[STATUS_TEXT_MAX];

    if (status->notify->fd < 0)
        return RL_NEVER_NS;
    if (now_ns < status->next_ns)
        return status->next_ns;
    status->next_ns = now_ns + LOOK_EVERY_NS;
    write_status(status->leases, text);
    if (strcmp(text, status->text) != 0) {
        strcpy(status->text, text);
        notify_status(status->notify, text);
    }
    return status->next_ns;
}
