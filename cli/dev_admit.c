/* SPDX-License-Identifier: BSD-2-Clause */
/* New servers look like servers that have just lost everything. These are known to be new. */
#include <stdio.h>

#include "dev_quorum.h"
#include "exit.h"
#include "message.h"

#define ADDRESS_MAX 32
#define NODE_TIMEOUT_MS 2000 /* a busy machine is no reason to fail */

/* So many at a time as a client takes; what quorum they are of does not matter here. */
static int admit(const struct dev_server *servers, int count)
{
    char address[REDLOCK_NODES_MAX][ADDRESS_MAX];
    const char *nodes[REDLOCK_NODES_MAX];
    redlock *client = NULL;
    for (int i = 0; i < count; i++) {
        snprintf(address[i], sizeof address[i], "127.0.0.1:%d", servers[i].port);
        nodes[i] = address[i];
    }
    redlock_options o = {
        .size = sizeof o,
        .nodes = nodes,
        .node_count = (size_t)count,
        .node_timeout_ms = NODE_TIMEOUT_MS,
        .client_name = "redlock-dev",
    };
    int error = redlock_open(&o, &client);
    if (error == REDLOCK_OK)
        error = redlock_admit(client, NULL);
    int status = error == REDLOCK_OK
                     ? 0
                     : message_fail(exit_status_of(error),
                                    "the servers cannot be initialised: %s", redlock_detail());
    redlock_close(client);
    return status;
}

int dev_quorum_admit(const struct dev_quorum *q)
{
    int status = 0;
    for (int i = 0; i < q->count && status == 0; i += REDLOCK_NODES_MAX) {
        int left = q->count - i;
        status = admit(&q->server[i], left < REDLOCK_NODES_MAX ? left : REDLOCK_NODES_MAX);
    }
    return status;
}
