/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "config/sources.h"

#define TIMEOUT_MAX_MS 60000
_Static_assert(RL_DURATION_MAX_MS == REDLOCK_WAIT_MAX_MS, "a duration can be a wait");

const char rl_config_no_memory[] = "does not fit in memory";

static const char *const names[RL_SETTING_END + 1] = {
    [RL_SETTING_NODES] = "nodes",
    [RL_SETTING_PREFIX] = "prefix",
    [RL_SETTING_USER] = "user",
    [RL_SETTING_PASSWORD_FILE] = "password-file",
    [RL_SETTING_PASSWORD_COMMAND] = "password-command",
    [RL_SETTING_PASSWORD_MAX_AGE] = "password-max-age",
    [RL_SETTING_SENTINEL_USER] = "sentinel-user",
    [RL_SETTING_SENTINEL_PASSWORD_FILE] = "sentinel-password-file",
    [RL_SETTING_SENTINEL_PASSWORD_COMMAND] = "sentinel-password-command",
    [RL_SETTING_TLS_CA] = "tls-ca",
    [RL_SETTING_TLS_CERT] = "tls-cert",
    [RL_SETTING_TLS_KEY] = "tls-key",
    [RL_SETTING_TLS_NAME] = "tls-name",
    [RL_SETTING_NODE_TIMEOUT] = "node-timeout",
    [RL_SETTING_CONNECT_TIMEOUT] = "connect-timeout",
    [RL_SETTING_MAX_TTL] = "max-ttl",
    [RL_SETTING_NO_NATIVE] = "no-native",
    [RL_SETTING_PROFILE] = "profile",
    [RL_SETTING_GUARD] = "guard",
    [RL_SETTING_TTL] = "ttl",
    [RL_SETTING_WAIT] = "wait",
    [RL_SETTING_SERVICE] = "service",
    [RL_SETTING_TOKEN_FILE] = "token-file",
    [RL_SETTING_INSECURE] = "insecure",
};

int rl_config_error(const char *problem)
{
    return problem == rl_config_no_memory ? REDLOCK_NOMEM : REDLOCK_INVAL;
}

enum rl_setting rl_config_key(const char *name)
{
    for (int i = RL_SETTING_NONE + 1; i < RL_SETTING_END; i++)
        if (strcmp(names[i], name) == 0)
            return (enum rl_setting)i;
    return RL_SETTING_NONE;
}

const char *const *rl_config_keys(void)
{
    return names + RL_SETTING_NONE + 1;
}

const char *rl_config_name(enum rl_setting setting)
{
    return setting > RL_SETTING_NONE && setting < RL_SETTING_END ? names[setting] : "";
}

void rl_config_init(struct rl_config *c)
{
    *c = (struct rl_config){.ttl_ms = RL_CONFIG_TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER};
}

static void wipe(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

void rl_config_free(struct rl_config *c)
{
    for (int i = 0; i < RL_SETTING_END; i++)
        free(c->text[i]);
    for (size_t i = 0; i < c->node_count; i++)
        wipe(c->nodes[i]);
    wipe(c->password);
    wipe(c->sentinel_password);
    rl_config_init(c);
}

static const char *set_time(int64_t *target_ms, const char *value, int64_t most_ms, bool store)
{
    int64_t parsed_ms = 0;
    const char *problem = rl_duration_parse(value, &parsed_ms);

    if (problem)
        return problem;
    if (parsed_ms == 0)
        return "must be more than zero";
    if (parsed_ms > most_ms)
        return most_ms == TIMEOUT_MAX_MS ? "is too long: at most 60s"
                                         : "is too long: at most 1d";
    if (store)
        *target_ms = parsed_ms;
    return NULL;
}

static const char *set_wait(struct rl_config *c, const char *value, bool store)
{
    int64_t wait_ms = REDLOCK_WAIT_FOREVER;

    if (strcmp(value, "forever") != 0) {
        const char *problem = rl_duration_parse(value, &wait_ms);

        if (problem)
            return problem;
    }
    if (store)
        c->wait_ms = wait_ms;
    return NULL;
}

static const char *set_switch(bool *target, const char *value, bool store)
{
    bool on = !value || strcmp(value, "yes") == 0;

    if (!on && strcmp(value, "no") != 0)
        return "is neither yes nor no";
    if (store)
        *target = on;
    return NULL;
}

static const char *set_guard(struct rl_config *c, const char *value, bool store)
{
    bool is_off = strcmp(value, "off") == 0;
    bool is_strict = strcmp(value, "strict") == 0;

    if (!is_off && !is_strict && strcmp(value, "on") != 0)
        return "is neither on, off nor strict";
    if (store)
        c->guard = is_off ? REDLOCK_NO_GUARD : is_strict ? REDLOCK_STRICT : 0;
    return NULL;
}

static const char *set_profile(struct rl_config *c, const char *value, bool store)
{
    int profile = redlock_profile_number(value);

    if (profile < 0)
        return "is neither efficiency nor correctness";
    if (store)
        c->profile = profile;
    return NULL;
}

static const char *set_text(struct rl_config *c, enum rl_setting setting, const char *value,
                            bool store)
{
    char *copy;

    if (*value == '\0' && setting != RL_SETTING_PREFIX)
        return "is empty";
    if (setting == RL_SETTING_PREFIX && strlen(value) > REDLOCK_PREFIX_MAX)
        return "is too long: a prefix has at most 64 bytes";
    if (!store)
        return NULL;
    copy = strdup(value);
    if (!copy)
        return rl_config_no_memory;
    free(c->text[setting]);
    c->text[setting] = copy;
    return NULL;
}

static const char *apply(struct rl_config *c, enum rl_setting setting, const char *value,
                         bool store)
{
    switch (setting) {
    case RL_SETTING_NODES:
        return rl_node_list_add(c, value, store);
    case RL_SETTING_NODE_TIMEOUT:
        return set_time(&c->node_timeout_ms, value, TIMEOUT_MAX_MS, store);
    case RL_SETTING_CONNECT_TIMEOUT:
        return set_time(&c->connect_timeout_ms, value, TIMEOUT_MAX_MS, store);
    case RL_SETTING_MAX_TTL:
        return set_time(&c->max_ttl_ms, value, REDLOCK_TTL_LIMIT_MS, store);
    case RL_SETTING_PASSWORD_MAX_AGE:
        return set_time(&c->password_max_age_ms, value, REDLOCK_TTL_LIMIT_MS, store);
    case RL_SETTING_TTL:
        return set_time(&c->ttl_ms, value, REDLOCK_TTL_LIMIT_MS, store);
    case RL_SETTING_WAIT:
        return set_wait(c, value, store);
    case RL_SETTING_NO_NATIVE:
        return set_switch(&c->no_native, value, store);
    case RL_SETTING_INSECURE:
        return set_switch(&c->insecure, value, store);
    case RL_SETTING_PROFILE:
        return set_profile(c, value, store);
    case RL_SETTING_GUARD:
        return set_guard(c, value, store);
    default:
        return set_text(c, setting, value, store);
    }
}

const char *rl_config_set(struct rl_config *c, enum rl_setting setting, const char *value)
{
    uint32_t bit = 1u << setting;
    const char *problem = apply(c, setting, value, !(c->closed & bit));

    if (!problem)
        c->given |= bit;
    return problem;
}

bool rl_config_has_password(const char *nodes)
{
    /* A password may have a ; in it, see rl_node_list_add(). */
    for (const char *at = strchr(nodes, '@'); at; at = strchr(at + 1, '@')) {
        for (const char *c = at; c > nodes && !strchr("/, \t", c[-1]); c--)
            if (c[-1] == ':')
                return true;
    }
    return false;
}
