/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <stdlib.h>
#include <string.h>

struct field {
    const char *name;
    size_t offset;
};

static const struct field text_options[OPTION_TEXTS] = {
    {"prefix", offsetof(redlock_options, prefix)},
    {"username", offsetof(redlock_options, username)},
    {"password", offsetof(redlock_options, password)},
    {"passwordFile", offsetof(redlock_options, password_file)},
    {"passwordCommand", offsetof(redlock_options, password_command)},
    {"sentinelUsername", offsetof(redlock_options, sentinel_username)},
    {"sentinelPassword", offsetof(redlock_options, sentinel_password)},
    {"sentinelPasswordFile", offsetof(redlock_options, sentinel_password_file)},
    {"sentinelPasswordCommand", offsetof(redlock_options, sentinel_password_command)},
    {"clientName", offsetof(redlock_options, client_name)},
    {"tlsCaFile", offsetof(redlock_options, tls_ca_file)},
    {"tlsCertFile", offsetof(redlock_options, tls_cert_file)},
    {"tlsKeyFile", offsetof(redlock_options, tls_key_file)},
    {"tlsServerName", offsetof(redlock_options, tls_server_name)},
    {"configFile", offsetof(redlock_options, config_file)},
    {"traceFile", offsetof(redlock_options, trace_file)},
};

static const struct field number_options[] = {
    {"flags", offsetof(redlock_options, flags)},
    {"profile", offsetof(redlock_options, profile)},
    {"nodeTimeout", offsetof(redlock_options, node_timeout_ms)},
    {"connectTimeout", offsetof(redlock_options, connect_timeout_ms)},
    {"maxTtl", offsetof(redlock_options, max_ttl_ms)},
    {"driftPpm", offsetof(redlock_options, drift_ppm)},
    {"retryMin", offsetof(redlock_options, retry_min_ms)},
    {"retryMax", offsetof(redlock_options, retry_max_ms)},
    {"passwordMaxAge", offsetof(redlock_options, password_max_age_ms)},
};

/* [{name, nodes: [...]}, ...] */
static void read_quorums(napi_env env, napi_value list, struct options *out)
{
    uint32_t count = 0;

    if (value_is_absent(env, list) || napi_get_array_length(env, list, &count) != napi_ok)
        return;
    for (uint32_t i = 0; i < count && i < REDLOCK_QUORUMS_MAX; i++) {
        napi_value one = NULL;
        redlock_quorum *quorum = &out->quorums[i];

        napi_get_element(env, list, i, &one);
        quorum->name = value_text(env, value_property(env, one, "name"));
        quorum->nodes = (const char *const *)value_texts(env, value_property(env, one, "nodes"),
                                                         &quorum->node_count);
    }
    out->options.quorums = out->quorums;
    out->options.quorum_count = count;
}

void options_read(napi_env env, napi_value object, struct options *out)
{
    char *base = (char *)&out->options;

    *out = (struct options){.options = REDLOCK_OPTIONS()};
    out->nodes =
        value_texts(env, value_property(env, object, "nodes"), &out->options.node_count);
    out->options.nodes = (const char *const *)out->nodes;
    for (size_t i = 0; i < OPTION_TEXTS; i++) {
        out->texts[i] = value_text(env, value_property(env, object, text_options[i].name));
        memcpy(base + text_options[i].offset, &out->texts[i], sizeof out->texts[i]);
    }
    for (size_t i = 0; i < sizeof number_options / sizeof number_options[0]; i++) {
        napi_value value = value_property(env, object, number_options[i].name);
        uint32_t number = value_is_absent(env, value) ? 0 : (uint32_t)value_number(env, value);

        memcpy(base + number_options[i].offset, &number, sizeof number);
    }
    out->options.flags |= REDLOCK_THREAD;
    read_quorums(env, value_property(env, object, "quorums"), out);
}

void options_free(struct options *o)
{
    values_free_texts(o->nodes, o->options.node_count);
    for (size_t i = 0; i < OPTION_TEXTS; i++)
        free(o->texts[i]);
    for (size_t i = 0; i < o->options.quorum_count && i < REDLOCK_QUORUMS_MAX; i++) {
        free((char *)o->quorums[i].name);
        values_free_texts((char **)o->quorums[i].nodes, o->quorums[i].node_count);
    }
}
