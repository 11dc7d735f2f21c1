/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every subcommand needs to know: which nodes, how to connect to them, how to write to the
 * user. What the configuration file can set too is read by the library, for any program alike
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

/* Ids of options: the keys of the configuration file (enum rl_setting), and what only a command
 * line has. */
enum {
    SETTING_NO_WAIT = RL_SETTING_END,
    SETTING_CONFIG,
    SETTING_JSON,
    SETTING_VERBOSE,
    SETTING_QUIET,
};

struct settings {
    struct rl_config config;
    int64_t ttl_ms, wait_ms; /* of the configuration, once complete */
    const char *service;     /* URL of a redlockd, used instead of the nodes; NULL: they are */
    bool json, verbose, quiet;
    bool no_node_warnings; /* findings about the nodes are shown otherwise, or by doctor */
    bool has_admitted;     /* what an init mends is no news any more */
    uint32_t given;        /* bit per setting that the command line has */
};

/* Defaults. Everything it comes to own is given back by settings_free(). */
void settings_init(struct settings *s);
void settings_free(struct settings *s);

/* Gives one setting the value `value` (NULL for a switch). Returns NULL or what is
 * wrong with it. */
const char *settings_set(struct settings *s, int setting, const char *value);

/* Has the command line given it? */
bool settings_is_given(const struct settings *s, int setting);

/*
 * After the command line has been read: environment, configuration file, checks. Returns 0 or
 * an exit status, after printing what is wrong.
 */
int settings_complete(struct settings *s);

/* Checks the TTL against the maximum. Returns 0 or an exit status, after printing why. */
int settings_check_ttl(const struct settings *s);
/* The longest that any client may request, as this command knows it. */
int64_t settings_max_ttl_ms(const struct settings *s);

#endif
