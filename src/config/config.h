/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a client is opened with when its program leaves it open: which nodes, how to talk to
 * them. A setting comes from the program (for the command: its command line), else from the
 * environment, else from the configuration file, else it has its default. redlock_open() and
 * the command use this room alike, so that both find the same nodes and complain in the same
 * words.
 */
#ifndef RL_CONFIG_CONFIG_H
#define RL_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quote.h"
#include "redlock.h"

/* More than a client takes, so that a message can name the number. */
#define RL_CONFIG_NODES_MAX (REDLOCK_QUORUMS_MAX * (REDLOCK_NODES_MAX + 1))
#define RL_CONFIG_PATH_MAX 4096
#define RL_CONFIG_SOURCE_MAX 448
#define RL_CONFIG_WARNINGS_MAX 4 /* the password, its file, the token, the TLS key */
#define RL_CONFIG_TTL_MS 30000   /* what the command takes unless another is given */

/* The keys of the configuration file. */
enum rl_setting {
    RL_SETTING_NONE,
    RL_SETTING_NODES,
    RL_SETTING_PREFIX,
    RL_SETTING_USER,
    RL_SETTING_PASSWORD_FILE,
    RL_SETTING_PASSWORD_COMMAND,
    RL_SETTING_PASSWORD_MAX_AGE,
    RL_SETTING_SENTINEL_USER,
    RL_SETTING_SENTINEL_PASSWORD_FILE,
    RL_SETTING_SENTINEL_PASSWORD_COMMAND,
    RL_SETTING_TLS_CA,
    RL_SETTING_TLS_CERT,
    RL_SETTING_TLS_KEY,
    RL_SETTING_TLS_NAME,
    RL_SETTING_NODE_TIMEOUT,
    RL_SETTING_CONNECT_TIMEOUT,
    RL_SETTING_MAX_TTL,
    RL_SETTING_NO_NATIVE,
    RL_SETTING_PROFILE,
    RL_SETTING_GUARD,
    RL_SETTING_TTL,        /* of the command only: a program names its own with every lock */
    RL_SETTING_WAIT,       /* the same */
    RL_SETTING_SERVICE,    /* of the command only: a redlockd to use instead of the nodes */
    RL_SETTING_TOKEN_FILE, /* its bearer token */
    RL_SETTING_INSECURE,   /* that goes to another machine without TLS, too */
    RL_SETTING_END,
};

/* A file that shows a secret to others. */
struct rl_config_warning {
    char path[RL_QUOTE_PATH_MAX];
    char text[2 * RL_QUOTE_PATH_MAX];
};

struct rl_config {
    char *text[RL_SETTING_END];       /* owned; the settings that are plain strings */
    char *nodes[RL_CONFIG_NODES_MAX]; /* owned; wiped when freed, as URLs may have passwords */
    size_t node_count;
    uint8_t quorum_of[RL_CONFIG_NODES_MAX]; /* of each node, from 1; 0: there are no quorums */
    char quorum[REDLOCK_QUORUMS_MAX][REDLOCK_QUORUM_MAX + 1]; /* names */
    size_t quorum_count;
    char *password;          /* owned; of REDLOCK_PASSWORD */
    char *sentinel_password; /* owned; of REDLOCK_SENTINEL_PASSWORD */

    int64_t ttl_ms;
    int64_t wait_ms; /* or REDLOCK_WAIT_FOREVER */
    /* 0: default of the library */
    int64_t node_timeout_ms, connect_timeout_ms, max_ttl_ms, password_max_age_ms;
    int32_t profile; /* enum redlock_profile */
    uint32_t guard;  /* REDLOCK_NO_GUARD, REDLOCK_STRICT or neither */
    bool no_native;
    bool insecure; /* of the service */

    bool may_use_service; /* with a service, there need be no nodes */
    const char *file;     /* to be read instead of the usual ones, or NULL; not owned */
    const char
        *nodes_option; /* what the program calls nodes that it was given; NULL: nothing */
    const char *without_nodes; /* ends the message that there are none; may be NULL */

    struct rl_config_warning warning[RL_CONFIG_WARNINGS_MAX];
    size_t warning_count;
    char source[RL_CONFIG_SOURCE_MAX]; /* what named the nodes, for people */

    uint32_t given;  /* bit per setting that has a value */
    uint32_t closed; /* bit per setting that a stronger source has decided */

    /* For redlock_options: the nodes in the order of their quorums, and the quorums. */
    const char *arranged[RL_CONFIG_NODES_MAX];
    redlock_quorum quorums[REDLOCK_QUORUMS_MAX];
};

/* Defaults. Everything it comes to own is given back by rl_config_free(). */
void rl_config_init(struct rl_config *c);
void rl_config_free(struct rl_config *c);

/*
 * Gives one setting the value `value` (NULL for a switch). Returns NULL or what is wrong with
 * it. Nodes add up; anything else is replaced. A setting that is closed is checked and left
 * alone.
 */
const char *rl_config_set(struct rl_config *c, enum rl_setting setting, const char *value);

/* The message of rl_config_set() without memory, and the error that its words stand for. */
extern const char rl_config_no_memory[];
int rl_config_error(const char *problem);

/* The setting that a line of the configuration file names; RL_SETTING_NONE: there is none. */
enum rl_setting rl_config_key(const char *name);
const char *rl_config_name(enum rl_setting setting);
/* All of them, and NULL. */
const char *const *rl_config_keys(void);

/*
 * After the program has set what it decides: environment, configuration file, checks. INVAL if
 * there are no nodes then. The error's text is in redlock_detail().
 */
int rl_config_load(struct rl_config *c);

/* Puts into `o` what it leaves at zero. The strings stay those of `c`: it must outlive `o`. */
void rl_config_apply(struct rl_config *c, redlock_options *o);

/* Both at once, for options without nodes; what they give is closed to other sources. */
int rl_config_complete(struct rl_config *c, redlock_options *o);

/* Is there a password in one of these URLs, between the // and the @ of it? */
bool rl_config_has_password(const char *nodes);

#endif
