/* SPDX-License-Identifier: BSD-2-Clause */
/* New servers look like servers that have just lost everything. These are known to be new. */
#include <stdio.h>

#include "dev/quorum.h"
#include "ui/exit.h"
#include "ui/message.h"

#define ADDRESS_MAX 32
#define NODE_TIMEOUT_MS 2000 /* a busy machine is no reason to fail */

/* As the command will use them: their markers say which quorum they belong to. */
int dev_quorum_admit(const struct dev_quorum *q)
{
    char address[DEV_SERVERS_MAX][ADDRESS_MAX], name[DEV_SERVERS_MAX][DEV_QUORUM_MAX];
    const char *nodes[DEV_SERVERS_MAX];
    redlock_quorum quorums[DEV_SERVERS_MAX];
    redlock *client = NULL;
    int each = q->quorums > 0 ? q->count / q->quorums : q->count;
    for (int i = 0; i < q->count; i++) {
        snprintf(address[i], sizeof address[i], "127.0.0.1:%d", q->server[i].port);
        nodes[i] = address[i];
    }
    for (int i = 0; i < q->quorums; i++) {
        dev_quorum_name(q, &q->server[i * each], name[i]);
        quorums[i] = (redlock_quorum){
            .name = name[i], .nodes = &nodes[i * each], .node_count = (size_t)each};
    }
    redlock_options o = {
        .size = sizeof o,
        .nodes = q->quorums > 0 ? NULL : nodes,
        .node_count = q->quorums > 0 ? 0 : (size_t)q->count,
        .quorums = quorums,
        .quorum_count = (size_t)q->quorums,
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
