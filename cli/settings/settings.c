/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "settings/config.h"
#include "settings/duration.h"
#include "settings/quorums.h"
#include "settings/trust.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define DEFAULT_NODE "127.0.0.1:6379"
#define TIMEOUT_MAX_MS 60000

static const char out_of_memory[] = "does not fit in memory";

static const char *const names[SETTING_FILE_END] = {
    [SETTING_NODES] = "nodes",
    [SETTING_PREFIX] = "prefix",
    [SETTING_USER] = "user",
    [SETTING_PASSWORD_FILE] = "password-file",
    [SETTING_TLS_CA] = "tls-ca",
    [SETTING_TLS_CERT] = "tls-cert",
    [SETTING_TLS_KEY] = "tls-key",
    [SETTING_TLS_NAME] = "tls-name",
    [SETTING_NODE_TIMEOUT] = "node-timeout",
    [SETTING_CONNECT_TIMEOUT] = "connect-timeout",
    [SETTING_MAX_TTL] = "max-ttl",
    [SETTING_NO_NATIVE] = "no-native",
    [SETTING_GUARD] = "guard",
    [SETTING_TTL] = "ttl",
    [SETTING_WAIT] = "wait",
};

enum setting settings_key(const char *name)
{
    for (int i = SETTING_NONE + 1; i < SETTING_FILE_END; i++) {
        if (strcmp(names[i], name) == 0)
            return (enum setting)i;
    }
    return SETTING_NONE;
}

const char *settings_name(enum setting setting)
{
    return setting > SETTING_NONE && setting < SETTING_FILE_END ? names[setting] : "";
}

void settings_init(struct settings *s)
{
    *s = (struct settings){.ttl_ms = SETTINGS_TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER};
}

void settings_free(struct settings *s)
{
    for (int i = 0; i < SETTING_END; i++)
        free(s->text[i]);
    for (size_t i = 0; i < s->node_count; i++)
        free(s->nodes[i]);
    if (s->password)
        explicit_bzero(s->password, strlen(s->password));
    free(s->password);
    settings_init(s);
}

bool settings_is_given(const struct settings *s, enum setting setting)
{
    return s->given & (1u << setting);
}

static const char *set_time(int64_t *target_ms, const char *value, int64_t most_ms,
                            const char *too_much, bool store)
{
    int64_t parsed_ms = 0;
    const char *problem = duration_parse(value, &parsed_ms);
    if (problem)
        return problem;
    if (parsed_ms == 0)
        return "is zero, which is too short";
    if (parsed_ms > most_ms)
        return too_much;
    if (store)
        *target_ms = parsed_ms;
    return NULL;
}

static const char *set_wait(struct settings *s, const char *value, bool store)
{
    int64_t wait_ms = REDLOCK_WAIT_FOREVER;
    if (strcmp(value, "forever") != 0) {
        const char *problem = duration_parse(value, &wait_ms);
        if (problem)
            return problem;
    }
    if (store)
        s->wait_ms = wait_ms;
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

static const char *set_guard(struct settings *s, const char *value, bool store)
{
    static const char *const words[] = {
        [GUARD_ON] = "on", [GUARD_OFF] = "off", [GUARD_STRICT] = "strict"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(value, words[i]) != 0)
            continue;
        if (store)
            s->guard = (enum guard)i;
        return NULL;
    }
    return "is neither on, off nor strict";
}

static const char *set_text(struct settings *s, enum setting setting, const char *value,
                            bool store)
{
    if (*value == '\0' && setting != SETTING_PREFIX)
        return "is empty";
    if (setting == SETTING_PREFIX && strlen(value) > REDLOCK_PREFIX_MAX)
        return "is too long: a prefix has at most 64 bytes";
    if (!store)
        return NULL;
    char *copy = strdup(value);
    if (!copy)
        return out_of_memory;
    free(s->text[setting]);
    s->text[setting] = copy;
    return NULL;
}

static const char *apply(struct settings *s, enum setting setting, const char *value,
                         bool store)
{
    static const char minute[] = "is too long: at most 60s";
    switch (setting) {
    case SETTING_NODES:
        return quorums_add(s, value, store);
    case SETTING_NODE_TIMEOUT:
        return set_time(&s->node_timeout_ms, value, TIMEOUT_MAX_MS, minute, store);
    case SETTING_CONNECT_TIMEOUT:
        return set_time(&s->connect_timeout_ms, value, TIMEOUT_MAX_MS, minute, store);
    case SETTING_MAX_TTL:
        return set_time(&s->max_ttl_ms, value, REDLOCK_TTL_LIMIT_MS, "is too long: at most 1d",
                        store);
    case SETTING_TTL:
        return set_time(&s->ttl_ms, value, REDLOCK_TTL_LIMIT_MS, "is too long: at most 1d",
                        store);
    case SETTING_WAIT:
        return set_wait(s, value, store);
    case SETTING_NO_WAIT:
        if (store)
            s->wait_ms = 0;
        return NULL;
    case SETTING_NO_NATIVE:
        return set_switch(&s->no_native, value, store);
    case SETTING_GUARD:
        return set_guard(s, value, store);
    case SETTING_STRICT:
        return set_guard(s, "strict", store);
    case SETTING_NO_GUARD:
        return set_guard(s, "off", store);
    case SETTING_JSON:
        return set_switch(&s->json, value, store);
    case SETTING_VERBOSE:
        return set_switch(&s->verbose, value, store);
    case SETTING_QUIET:
        return set_switch(&s->quiet, value, store);
    default:
        return set_text(s, setting, value, store);
    }
}

const char *settings_set(struct settings *s, enum setting setting, const char *value)
{
    uint32_t bit = 1u << setting;
    const char *problem = apply(s, setting, value, !(s->closed & bit));
    if (!problem)
        s->given |= bit;
    return problem;
}

static int read_environment(struct settings *s)
{
    const char *nodes = getenv("REDLOCK_NODES");
    if (nodes) {
        /* Set but empty is a mistake in a script; falling back to another node than the rest
         * of the fleet uses would be a lock that excludes no other client. */
        const char *problem = settings_set(s, SETTING_NODES, nodes);
        if (problem)
            return message_fail(EXIT_CONFIG, "the environment variable REDLOCK_NODES %s",
                                problem);
    }
    const char *password = getenv("REDLOCK_PASSWORD");
    if (password && *password && !settings_is_given(s, SETTING_PASSWORD_FILE)) {
        s->password = strdup(password);
        if (!s->password)
            return message_fail(EXIT_INTERNAL, "out of memory");
        s->closed |= 1u << SETTING_PASSWORD_FILE;
    }
    return 0;
}

/* The key may stand in the same file as the certificate. */
static enum setting key_setting(const struct settings *s)
{
    return s->text[SETTING_TLS_KEY] ? SETTING_TLS_KEY : SETTING_TLS_CERT;
}

static int check_file(const struct settings *s, enum setting setting, const char *what)
{
    const char *path = s->text[setting];
    struct stat info;
    if (!path)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int problem = fd < 0 || fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
    if (problem == 0) {
        int status = trust_check(what, path, fd);
        if (status == 0 && setting == SETTING_PASSWORD_FILE)
            trust_warn("the password", path, fd);
        if (status == 0 && setting == key_setting(s))
            trust_warn("the TLS key", path, fd);
        close(fd);
        return status;
    }
    if (fd >= 0)
        close(fd);
    char shown[TEXT_PATH_MAX];
    text_path(shown, path);
    return message_fail(EXIT_CONFIG, "%s: cannot read %s: %s", settings_name(setting), shown,
                        strerror(problem));
}

static int check(const struct settings *s)
{
    static const struct {
        enum setting setting;
        const char *what;
    } files[] = {
        {SETTING_PASSWORD_FILE, "the password file"},
        {SETTING_TLS_CA, "the TLS CA file"},
        {SETTING_TLS_CERT, "the TLS certificate file"},
        {SETTING_TLS_KEY, "the TLS key file"},
    };
    int status = quorums_check(s);
    if (status)
        return status;
    if (s->text[SETTING_TLS_KEY] && !s->text[SETTING_TLS_CERT])
        return message_fail(EXIT_CONFIG, "tls-key is given without tls-cert");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        status = check_file(s, files[i].setting, files[i].what);
        if (status)
            return status;
    }
    return 0;
}

bool settings_have_password(const char *nodes)
{
    /* A password may have a ; in it, as quorums_add() says. */
    for (const char *at = strchr(nodes, '@'); at; at = strchr(at + 1, '@')) {
        for (const char *c = at; c > nodes && !strchr("/, \t", c[-1]); c--) {
            if (c[-1] == ':')
                return true;
        }
    }
    return false;
}

int settings_complete(struct settings *s)
{
    message_use_json(s->json);
    if (settings_is_given(s, SETTING_NO_WAIT) && settings_is_given(s, SETTING_WAIT))
        return message_usage("-n and -w contradict each other: wait or do not wait");
    if (settings_is_given(s, SETTING_STRICT) && settings_is_given(s, SETTING_NO_GUARD))
        return message_usage("--strict and --no-guard contradict each other");
    if (s->quiet && s->verbose)
        return message_usage("-q and -v contradict each other");
    if (s->quiet)
        message_be_quiet();
    for (size_t i = 0; i < s->node_count; i++) {
        if (settings_have_password(s->nodes[i])) {
            message_warn("every user of this machine can see the password in --nodes with ps; "
                         "use REDLOCK_NODES, REDLOCK_PASSWORD or --password-file");
            break;
        }
    }
    s->closed = s->given;
    if (settings_is_given(s, SETTING_NO_WAIT))
        s->closed |= 1u << SETTING_WAIT;
    if (settings_is_given(s, SETTING_STRICT) || settings_is_given(s, SETTING_NO_GUARD))
        s->closed |= 1u << SETTING_GUARD;
    int status = read_environment(s);
    if (status)
        return status;
    s->closed |= s->given;
    status = config_load(s);
    if (status)
        return status;
    if (s->node_count == 0 && settings_set(s, SETTING_NODES, DEFAULT_NODE))
        return message_fail(EXIT_INTERNAL, "out of memory");
    return check(s);
}

int settings_check_ttl(const struct settings *s)
{
    int64_t max_ttl_ms = s->max_ttl_ms ? s->max_ttl_ms : SETTINGS_MAX_TTL_MS;
    bool from_file = settings_is_given(s, SETTING_TTL) && !(s->closed & (1u << SETTING_TTL));
    int status = from_file ? EXIT_CONFIG : EXIT_USAGE;
    char ttl[TEXT_TIME_MAX], limit[TEXT_TIME_MAX];
    text_time(ttl, s->ttl_ms);
    if (s->ttl_ms < REDLOCK_TTL_MIN_MS)
        return message_fail(status, "a TTL of %s is too short: at least %d ms", ttl,
                            REDLOCK_TTL_MIN_MS);
    text_time(limit, max_ttl_ms);
    if (s->ttl_ms > max_ttl_ms)
        return message_fail(status,
                            "a TTL of %s is beyond the maximum of %s; raise it with "
                            "--max-ttl, for every client of these nodes alike",
                            ttl, limit);
    return 0;
}
