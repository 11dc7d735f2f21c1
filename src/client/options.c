/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/calls.h"

#include <string.h>

#define DEFAULT_NODE_TIMEOUT_MS 50
#define DEFAULT_MAX_TTL_MS 60000
#define DEFAULT_PASSWORD_MAX_AGE_MS 300000
#define PASSWORD_MAX_AGE_LIMIT_MS 86400000
#define DEFAULT_DRIFT_PPM 10000
#define DEFAULT_RETRY_MIN_MS 10
#define DEFAULT_RETRY_MAX_MS 250
#define TIMEOUT_LIMIT_MS 60000
#define DRIFT_LIMIT_PPM 500000
#define CLIENT_NAME_MAX 64

static void set_default(uint32_t *field, uint32_t value)
{
    if (*field == 0)
        *field = value;
}

static int check_numbers(redlock_options *o)
{
    set_default(&o->node_timeout_ms, DEFAULT_NODE_TIMEOUT_MS);
    set_default(&o->connect_timeout_ms, RL_CONNECT_TIMEOUT_MS);
    set_default(&o->max_ttl_ms, DEFAULT_MAX_TTL_MS);
    set_default(&o->drift_ppm, DEFAULT_DRIFT_PPM);
    set_default(&o->password_max_age_ms, DEFAULT_PASSWORD_MAX_AGE_MS);
    set_default(&o->retry_min_ms, DEFAULT_RETRY_MIN_MS);
    if (o->retry_max_ms == 0)
        o->retry_max_ms =
            o->retry_min_ms > DEFAULT_RETRY_MAX_MS ? o->retry_min_ms : DEFAULT_RETRY_MAX_MS;

    if (o->node_timeout_ms > TIMEOUT_LIMIT_MS)
        return rl_detail(REDLOCK_INVAL, "node_timeout_ms %u is more than %d",
                         o->node_timeout_ms, TIMEOUT_LIMIT_MS);
    if (o->connect_timeout_ms > TIMEOUT_LIMIT_MS)
        return rl_detail(REDLOCK_INVAL, "connect_timeout_ms %u is more than %d",
                         o->connect_timeout_ms, TIMEOUT_LIMIT_MS);
    if (o->max_ttl_ms < REDLOCK_TTL_MIN_MS || o->max_ttl_ms > REDLOCK_TTL_LIMIT_MS)
        return rl_detail(REDLOCK_INVAL, "max_ttl_ms %u is not between %d and %d (one day)",
                         o->max_ttl_ms, REDLOCK_TTL_MIN_MS, REDLOCK_TTL_LIMIT_MS);
    if (o->drift_ppm > DRIFT_LIMIT_PPM)
        return rl_detail(REDLOCK_INVAL, "drift_ppm %u is more than %d (half of the TTL)",
                         o->drift_ppm, DRIFT_LIMIT_PPM);
    if (o->password_max_age_ms > PASSWORD_MAX_AGE_LIMIT_MS)
        return rl_detail(REDLOCK_INVAL, "password_max_age_ms %u is more than %d (one day)",
                         o->password_max_age_ms, PASSWORD_MAX_AGE_LIMIT_MS);
    if (o->retry_min_ms > o->retry_max_ms || o->retry_max_ms > TIMEOUT_LIMIT_MS)
        return rl_detail(REDLOCK_INVAL,
                         "retry_min_ms %u and retry_max_ms %u do not make a range up to %d",
                         o->retry_min_ms, o->retry_max_ms, TIMEOUT_LIMIT_MS);
    return REDLOCK_OK;
}

static int check_texts(redlock_options *o)
{
    if (!o->prefix)
        o->prefix = "redlock:";
    if (strlen(o->prefix) > REDLOCK_PREFIX_MAX)
        return rl_detail(REDLOCK_INVAL, "the prefix has %zu bytes; at most %d are allowed",
                         strlen(o->prefix), REDLOCK_PREFIX_MAX);
    if (strncmp(o->prefix, RL_RESERVED_PREFIX, sizeof RL_RESERVED_PREFIX - 1) == 0)
        return rl_detail(
            REDLOCK_INVAL,
            "the prefix '%s' is among the keys that stand beside locks (redlock.*)", o->prefix);
    if (!o->client_name)
        o->client_name = "redlock";
    if (!*o->client_name || strlen(o->client_name) > CLIENT_NAME_MAX)
        return rl_detail(REDLOCK_INVAL, "client_name must have 1 to %d characters",
                         CLIENT_NAME_MAX);
    for (const char *at = o->client_name; *at; at++)
        if (*at <= ' ' || *at > '~')
            return rl_detail(REDLOCK_INVAL,
                             "client_name may not contain spaces or special characters");
    if (!!o->password + !!o->password_file + !!o->password_command > 1)
        return rl_detail(REDLOCK_INVAL, "give one of password, password_file and "
                                        "password_command");
    if (!!o->sentinel_password + !!o->sentinel_password_file + !!o->sentinel_password_command >
        1)
        return rl_detail(REDLOCK_INVAL,
                         "give one of sentinel_password, sentinel_password_file and "
                         "sentinel_password_command");
    if (o->tls_key_file && !o->tls_cert_file)
        return rl_detail(REDLOCK_INVAL, "tls_key_file without tls_cert_file");
    return REDLOCK_OK;
}

int rl_options_read(const redlock_options *given, redlock_options *out)
{
    const uint32_t known =
        REDLOCK_THREAD | REDLOCK_NO_NATIVE | REDLOCK_STRICT | REDLOCK_NO_GUARD;
    int error = rl_struct_read("redlock_options", given, given->size, out, sizeof *out);

    if (error)
        return error;
    if (out->flags & ~known)
        return rl_detail(REDLOCK_INVAL, "unknown flags 0x%x in redlock_options",
                         out->flags & ~known);
    if ((out->flags & REDLOCK_STRICT) && (out->flags & REDLOCK_NO_GUARD))
        return rl_detail(REDLOCK_INVAL,
                         "REDLOCK_STRICT and REDLOCK_NO_GUARD exclude each other");
    return REDLOCK_OK;
}

int rl_options_check(redlock_options *o)
{
    int error;

    if (o->profile < 0 || o->profile > REDLOCK_PROFILE_CORRECTNESS)
        return rl_detail(REDLOCK_INVAL, "there is no profile %d", o->profile);
    if (o->profile == REDLOCK_PROFILE_CORRECTNESS && (o->flags & REDLOCK_NO_GUARD))
        return rl_detail(REDLOCK_INVAL,
                         "the profile correctness and a guard that is off exclude each other");
    if (!o->quorum_count && (o->node_count == 0 || !o->nodes))
        return rl_detail(REDLOCK_INVAL,
                         o->nodes ? "node_count is 0: give at least one node, or leave nodes "
                                    "NULL for those of the configuration"
                                  : "nodes is NULL, but node_count is %zu",
                         o->node_count);
    if (!o->quorum_count && o->node_count > REDLOCK_NODES_MAX)
        return rl_detail(REDLOCK_INVAL, "%zu nodes; at most %d are allowed in one quorum",
                         o->node_count, REDLOCK_NODES_MAX);
    error = check_numbers(o);
    return error ? error : check_texts(o);
}
