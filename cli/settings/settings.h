/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every subcommand needs to know: which nodes, how to talk to them, how to speak to the
 * user. What the configuration file can say too is read by the library, for any program alike
 * (src/config/); the rest is for the command line only.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

#define SETTINGS_MAX_TTL_MS 60000

/* Ids of options: the keys of the configuration file, and what only a command line has. */
enum setting {
    SETTING_NODES = RL_SETTING_NODES,
    SETTING_PREFIX = RL_SETTING_PREFIX,
    SETTING_USER = RL_SETTING_USER,
    SETTING_PASSWORD_FILE = RL_SETTING_PASSWORD_FILE,
    SETTING_PASSWORD_COMMAND = RL_SETTING_PASSWORD_COMMAND,
    SETTING_PASSWORD_MAX_AGE = RL_SETTING_PASSWORD_MAX_AGE,
    SETTING_SENTINEL_USER = RL_SETTING_SENTINEL_USER,
    SETTING_SENTINEL_PASSWORD_FILE = RL_SETTING_SENTINEL_PASSWORD_FILE,
    SETTING_SENTINEL_PASSWORD_COMMAND = RL_SETTING_SENTINEL_PASSWORD_COMMAND,
    SETTING_TLS_CA = RL_SETTING_TLS_CA,
    SETTING_TLS_CERT = RL_SETTING_TLS_CERT,
    SETTING_TLS_KEY = RL_SETTING_TLS_KEY,
    SETTING_TLS_NAME = RL_SETTING_TLS_NAME,
    SETTING_NODE_TIMEOUT = RL_SETTING_NODE_TIMEOUT,
    SETTING_CONNECT_TIMEOUT = RL_SETTING_CONNECT_TIMEOUT,
    SETTING_MAX_TTL = RL_SETTING_MAX_TTL,
    SETTING_NO_NATIVE = RL_SETTING_NO_NATIVE,
    SETTING_PROFILE = RL_SETTING_PROFILE,
    SETTING_GUARD = RL_SETTING_GUARD,
    SETTING_TTL = RL_SETTING_TTL,
    SETTING_WAIT = RL_SETTING_WAIT,
    SETTING_SERVICE = RL_SETTING_SERVICE,
    SETTING_TOKEN_FILE = RL_SETTING_TOKEN_FILE,
    SETTING_INSECURE = RL_SETTING_INSECURE,
    SETTING_NO_WAIT = RL_SETTING_END,
    SETTING_CONFIG,
    SETTING_JSON,
    SETTING_VERBOSE,
    SETTING_QUIET,
};

struct settings {
    struct rl_config config;
    int64_t ttl_ms, wait_ms; /* of the configuration, once complete */
    const char *service;     /* URL of a redlockd, asked instead of the nodes; NULL: they are */
    bool json, verbose, quiet;
    bool no_node_warnings; /* doubts about the nodes are shown otherwise, or by doctor */
    bool has_admitted;     /* what an init mends is no news any more */
    uint32_t given;        /* bit per setting that the command line has */
};

/* Defaults. Everything it comes to own is given back by settings_free(). */
void settings_init(struct settings *s);
void settings_free(struct settings *s);

/* Gives one setting the value `value` (NULL for a switch). Returns NULL or what is
 * wrong with it. */
const char *settings_set(struct settings *s, enum setting setting, const char *value);

/* Has the command line given it? */
bool settings_is_given(const struct settings *s, enum setting setting);

/*
 * After the command line has been read: environment, configuration file, checks. Returns 0 or
 * an exit status, after saying what is wrong.
 */
int settings_complete(struct settings *s);

/* Checks the TTL against the maximum. Returns 0 or an exit status, after saying why. */
int settings_check_ttl(const struct settings *s);
/* The longest that any client may ask for, as this command knows it. */
int64_t settings_max_ttl_ms(const struct settings *s);

#endif
