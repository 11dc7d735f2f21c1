/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/quote.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define DETAIL_MAX 1024 /* as much as the library reports of a failure */

void settings_init(struct settings *s)
{
    *s = (struct settings){0};
    rl_config_init(&s->config);
    s->config.nodes_option = "--nodes";
    s->config.without_nodes = "; to try things: redlock dev";
}

void settings_free(struct settings *s)
{
    rl_config_free(&s->config);
}

bool settings_is_given(const struct settings *s, int setting)
{
    return s->given & (1u << setting);
}

const char *settings_set(struct settings *s, int setting, const char *value)
{
    const char *problem = NULL;
    switch (setting) {
    case SETTING_NO_WAIT:
        problem = rl_config_set(&s->config, RL_SETTING_WAIT, "0");
        break;
    case SETTING_CONFIG:
        if (*value == '\0')
            return "is empty";
        s->config.file = value;
        break;
    case SETTING_JSON:
        s->json = true;
        break;
    case SETTING_VERBOSE:
        s->verbose = true;
        break;
    case SETTING_QUIET:
        s->quiet = true;
        break;
    default:
        problem = rl_config_set(&s->config, (enum rl_setting)setting, value);
    }
    if (!problem)
        s->given |= 1u << setting;
    return problem;
}

/* Files that show a secret, as the library reports them. */
static void warn_of_files(const struct rl_config *c)
{
    char safe[DETAIL_MAX], shown[RL_QUOTE_PATH_MAX];

    for (size_t i = 0; i < c->warning_count; i++) {
        rl_quote_safe(safe, sizeof safe, c->warning[i].text);
        rl_quote_safe(shown, sizeof shown, c->warning[i].path);
        message_node_warning(shown, safe);
    }
}

static int check_contradictions(const struct settings *s)
{
    if (settings_is_given(s, SETTING_NO_WAIT) && settings_is_given(s, RL_SETTING_WAIT))
        return message_usage("-n and -w contradict each other: wait or do not wait");
    if (s->quiet && s->verbose)
        return message_usage("-q and -v contradict each other");
    if (settings_is_given(s, RL_SETTING_SERVICE) && settings_is_given(s, RL_SETTING_NODES))
        return message_usage("--service and --nodes contradict each other: a service has its "
                             "own nodes");
    return 0;
}

/* Whatever names a service or nodes first: the command line, the environment, the file. */
static const char *find_service(struct settings *s)
{
    static const enum rl_setting from_environment[] = {RL_SETTING_SERVICE,
                                                       RL_SETTING_TOKEN_FILE};
    static const char *const variables[] = {"REDLOCK_SERVICE", "REDLOCK_TOKEN_FILE"};
    struct rl_config *c = &s->config;
    bool named = c->node_count > 0;
    for (size_t i = 0; i < 2 && c->may_use_service && !named; i++) {
        const char *value = secure_getenv(variables[i]);
        if (value && *value && !settings_is_given(s, from_environment[i]) &&
            rl_config_set(c, from_environment[i], value))
            return rl_config_no_memory;
    }
    if (named || (secure_getenv("REDLOCK_NODES") && !c->text[RL_SETTING_SERVICE]))
        c->closed |= 1u << RL_SETTING_SERVICE;
    return NULL;
}

static void warn_of_passwords(const struct settings *s)
{
    for (size_t i = 0; i < s->config.node_count; i++) {
        if (rl_config_has_password(s->config.nodes[i])) {
            message_warn("every user of this machine can see the password in --nodes with ps; "
                         "use REDLOCK_NODES, REDLOCK_PASSWORD or --password-file");
            return;
        }
    }
}

int settings_complete(struct settings *s)
{
    char safe[DETAIL_MAX];
    bool misled;
    int status, error;
    message_use_json(s->json);
    status = check_contradictions(s);
    if (status)
        return status;
    if (s->quiet)
        message_be_quiet();
    warn_of_passwords(s);
    if (find_service(s))
        return message_fail(EXIT_INTERNAL, "out of memory");
    error = rl_config_load(&s->config);
    if (!s->quiet)
        warn_of_files(&s->config);
    s->service = s->config.may_use_service ? s->config.text[RL_SETTING_SERVICE] : NULL;
    s->ttl_ms = s->config.ttl_ms;
    /* The default gives way to a smaller maximum. */
    if (!(s->config.given & (1u << RL_SETTING_TTL)) && s->config.max_ttl_ms &&
        s->ttl_ms > s->config.max_ttl_ms)
        s->ttl_ms = s->config.max_ttl_ms;
    s->wait_ms = s->config.wait_ms;
    if (error == REDLOCK_OK)
        return 0;
    rl_quote_safe(safe, sizeof safe, redlock_detail());
    /* A service does not help a subcommand that needs the nodes. */
    misled = s->config.node_count == 0 && !s->config.may_use_service &&
             (secure_getenv("REDLOCK_SERVICE") || s->config.text[RL_SETTING_SERVICE]);
    return message_fail(error == REDLOCK_INVAL ? EXIT_CONFIG : EXIT_INTERNAL, "%s%s", safe,
                        misled ? "; a service is for run, status, list, watch, wait, break and "
                                 "top --by class"
                               : "");
}

int64_t settings_max_ttl_ms(const struct settings *s)
{
    if (s->service)
        return REDLOCK_TTL_LIMIT_MS; /* it knows its own */
    return s->config.max_ttl_ms ? s->config.max_ttl_ms : SETTINGS_MAX_TTL_MS;
}

int settings_check_ttl(const struct settings *s)
{
    int64_t max_ttl_ms = settings_max_ttl_ms(s);
    bool from_file =
        (s->config.given & (1u << RL_SETTING_TTL)) && !settings_is_given(s, RL_SETTING_TTL);
    int status = from_file ? EXIT_CONFIG : EXIT_USAGE;
    char ttl[TEXT_TIME_MAX], limit[TEXT_TIME_MAX], wanted[TEXT_TIME_MAX];
    text_time(ttl, s->ttl_ms);
    text_time_option(wanted, s->ttl_ms);
    if (s->ttl_ms < REDLOCK_TTL_MIN_MS)
        return message_fail(status, "a TTL of %s is too short: at least %d ms", ttl,
                            REDLOCK_TTL_MIN_MS);
    text_time(limit, max_ttl_ms);
    if (s->ttl_ms > max_ttl_ms)
        return message_fail(
            status,
            "a TTL of %s is beyond the maximum of %s. The TTL is not how long the work may "
            "take: `redlock run` renews the lock by itself while COMMAND runs, and 30 s is "
            "enough. In the rare case that it is not: `redlock init --max-ttl %s` while "
            "nothing is held, then --max-ttl %s (or max-ttl in redlock.conf) for every client",
            ttl, limit, wanted, wanted);
    return 0;
}
