/* SPDX-License-Identifier: BSD-2-Clause */
/* New servers look like servers that have just lost everything. These are known to be new. */
#include "dev/quorum.h"
#include "settings/open_client.h"
#include "ui/exit.h"
#include "ui/message.h"

#define NODE_TIMEOUT_MS 2000 /* a busy machine is no reason to fail */

/* As the command will use them: their markers say which quorum they belong to. */
int dev_quorum_admit(const struct dev_quorum *q)
{
    struct settings s;
    redlock *client = NULL;
    char nodes[DEV_NODES_MAX];
    int status, error;
    dev_quorum_nodes(q, nodes);
    settings_init(&s);
    s.config.node_timeout_ms = NODE_TIMEOUT_MS;
    s.no_node_warnings = true;
    status = settings_set(&s, SETTING_NODES, nodes)
                 ? message_fail(EXIT_INTERNAL, "out of memory")
                 : client_open(&s, &client);
    error = status ? REDLOCK_OK : redlock_admit(client, NULL);
    if (error != REDLOCK_OK)
        status = message_fail(exit_status_of(error), "the servers cannot be initialised: %s",
                              redlock_detail());
    redlock_close(client);
    settings_free(&s);
    return status;
}
