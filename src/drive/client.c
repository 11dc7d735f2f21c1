/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/client.h"

#include <stdlib.h>
#include <string.h>

#include "drive/next.h"
#include "drive/trace.h"

static void wipe(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void rl_client_tear_down(redlock *client)
{
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        rl_conn_close(&client->conn[i]);
        rl_conn_close(&client->subscriber[i]);
        rl_url_wipe(&client->url[i]);
    }
    rl_engine_free(&client->engine);
    rl_trace_close(client->engine.trace);
    rl_reactor_free(&client->reactor);
    rl_tls_context_free(client->tls);
    wipe(&client->username);
    wipe(&client->password);
    wipe(&client->client_name);
    wipe(&client->tls_server_name);
    explicit_bzero(&client->entropy, sizeof client->entropy);
    rl_pool_close(&client->kept_locks);
    if (!client->group)
        rl_reader_free(client->reader);
}
