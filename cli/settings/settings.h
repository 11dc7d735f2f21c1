/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every subcommand needs to know: which nodes, how to talk to them, how to speak to the
 * user. A setting comes from the command line, else from the environment, else from the
 * configuration file, else it has its default.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than a client takes, so that a message can say how many. */
#define SETTINGS_NODES_MAX (REDLOCK_QUORUMS_MAX * (REDLOCK_NODES_MAX + 1))
#define SETTINGS_TTL_MS 10000
#define SETTINGS_MAX_TTL_MS 60000

/* The first SETTING_FILE_END of them are keys of the configuration file too. */
enum setting {
    SETTING_NONE,
    SETTING_NODES,
    SETTING_PREFIX,
    SETTING_USER,
    SETTING_PASSWORD_FILE,
    SETTING_TLS_CA,
    SETTING_TLS_CERT,
    SETTING_TLS_KEY,
    SETTING_TLS_NAME,
    SETTING_NODE_TIMEOUT,
    SETTING_CONNECT_TIMEOUT,
    SETTING_MAX_TTL,
    SETTING_NO_NATIVE,
    SETTING_GUARD,
    SETTING_TTL,
    SETTING_WAIT,
    SETTING_FILE_END,
    SETTING_NO_WAIT = SETTING_FILE_END,
    SETTING_STRICT,
    SETTING_NO_GUARD,
    SETTING_CONFIG,
    SETTING_JSON,
    SETTING_VERBOSE,
    SETTING_QUIET,
    SETTING_END,
};

/* How suspicious of the nodes to be; the library knows them as flags. */
enum guard { GUARD_ON, GUARD_OFF, GUARD_STRICT };

struct settings {
    char *text[SETTING_END];         /* owned; the settings that are plain strings */
    char *nodes[SETTINGS_NODES_MAX]; /* owned */
    size_t node_count;
    uint8_t quorum_of[SETTINGS_NODES_MAX]; /* of each node, from 1; 0: there are no quorums */
    char quorum[REDLOCK_QUORUMS_MAX][REDLOCK_QUORUM_MAX + 1]; /* names */
    size_t quorum_count;
    char *password; /* owned; of REDLOCK_PASSWORD */

    int64_t ttl_ms;
    int64_t wait_ms;                                         /* or REDLOCK_WAIT_FOREVER */
    int64_t node_timeout_ms, connect_timeout_ms, max_ttl_ms; /* 0: default of the library */
    enum guard guard;
    bool no_native, json, verbose, quiet;
    bool no_node_warnings; /* the subcommand itself tells what is doubtful about the nodes */

    uint32_t given;  /* bit per setting that has a value */
    uint32_t closed; /* bit per setting that a stronger source has decided */
};

/* Defaults. Everything it comes to own is given back by settings_free(). */
void settings_init(struct settings *s);
void settings_free(struct settings *s);

/*
 * Gives one setting the value `value` (NULL for a switch). Returns NULL or what is wrong with
 * it. Nodes add up; anything else is replaced. A setting that is closed is checked and left
 * alone.
 */
const char *settings_set(struct settings *s, enum setting setting, const char *value);

/* Has any source given it a value? */
bool settings_is_given(const struct settings *s, enum setting setting);

/* The setting that a line of the configuration file names; SETTING_NONE when there is none. */
enum setting settings_key(const char *name);
const char *settings_name(enum setting setting);

/*
 * After the command line has been read: environment, configuration file, checks. Returns 0 or
 * an exit status, after saying what is wrong.
 */
int settings_complete(struct settings *s);

/* Is there a password in one of these URLs, between the // and the @ of it? */
bool settings_have_password(const char *nodes);

/* Checks the TTL against the maximum. Returns 0 or an exit status, after saying why. */
int settings_check_ttl(const struct settings *s);

#endif
