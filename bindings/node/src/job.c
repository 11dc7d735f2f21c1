/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <stdlib.h>

#include "objects.h"

static int start(redlock *client, int what, const char *name, const char *fingerprint,
                 void *data)
{
    redlock_job job;

    switch (what) {
    case 0:
        return redlock_start_query(client, name, data, &job);
    case 1:
        return redlock_start_break(client, name, fingerprint, data, &job);
    case 2:
        return redlock_start_list(client, data, &job);
    case 4:
        return redlock_start_replicate(client, data, &job);
    default:
        return redlock_start_ping(client, data, &job);
    }
}

napi_value start_job(napi_env env, napi_callback_info info)
{
    napi_value argument[5];
    struct client *c;
    char *name;
    char *fingerprint;
    int error;

    values_arguments(env, info, 5, argument);
    c = client_of(env, argument[0]);
    if (!c)
        return new_number(env, REDLOCK_INVAL);
    name = value_text(env, argument[3]);
    fingerprint = value_text(env, argument[4]);
    error = start(c->redlock, (int)value_number(env, argument[2]), name, fingerprint,
                  (void *)(intptr_t)value_number(env, argument[1]));
    free(name);
    free(fingerprint);
    return new_number(env, error);
}

napi_value get_nodes(napi_env env, napi_callback_info info)
{
    napi_value argument;
    napi_value list = NULL;
    redlock_node_info node = REDLOCK_NODE_INFO();
    struct client *c;

    values_arguments(env, info, 1, &argument);
    c = client_of(env, argument);
    napi_create_array(env, &list);
    for (uint32_t i = 0; c && redlock_node(c->redlock, i, &node) == REDLOCK_OK; i++)
        napi_set_element(env, list, i, new_node(env, &node));
    return list;
}

napi_value get_stats(napi_env env, napi_callback_info info)
{
    napi_value argument;
    redlock_counters counters = REDLOCK_COUNTERS();
    struct client *c;

    values_arguments(env, info, 1, &argument);
    c = client_of(env, argument);
    if (c)
        redlock_stats(c->redlock, &counters);
    return new_counters(env, &counters);
}

napi_value get_quorum(napi_env env, napi_callback_info info)
{
    napi_value argument[2];
    struct client *c;
    char *name;
    int index;

    values_arguments(env, info, 2, argument);
    c = client_of(env, argument[0]);
    name = value_text(env, argument[1]);
    index = c ? redlock_quorum_of(c->redlock, name) : REDLOCK_INVAL;
    free(name);
    return new_number(env, index);
}
