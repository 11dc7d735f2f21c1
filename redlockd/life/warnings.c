/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/warnings.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/log.h"
#include "system/sockets.h"

#define UNIX "unix:"
#define TOKEN "token:"
#define CERT "cert:"

/* What is being looked at, and how much was found. */
struct look {
    const struct settings *settings;
    const struct access *access;
    unsigned count;
};

__attribute__((format(printf, 3, 4))) static void warn(struct look *look, unsigned line,
                                                       const char *format, ...)
{
    char text[SETTINGS_WHY_MAX];
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    settings_locate(look->settings, line, text, sizeof text);
    log_line("warning: %s", text);
    look->count++;
}

/* ---- listeners --------------------------------------------------------------------------- */

static void look_at_directory(struct look *look, const struct settings_listener *listener,
                              unsigned line)
{
    const char *path = listener->address + strlen(UNIX);
    char directory[PATH_MAX];

    /* With the slash: a link to a directory is one. */
    snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(path, '/') - path) + 1, path);
    if (access(directory, W_OK | X_OK) != 0)
        warn(look, line, "listen: no socket can be made in %s: %s", directory, strerror(errno));
}

static void look_at_group(struct look *look, const struct settings_listener *listener,
                          unsigned line)
{
    char why[SETTINGS_WHY_MAX];

    if (listener->group[0] && sockets_group(listener->group, why, sizeof why) < 0)
        warn(look, line, "%s", why);
}

/* No client of such a listener has a principal. */
static void look_at_proof(struct look *look, const struct settings_listener *listener,
                          unsigned line)
{
    const struct settings *settings = look->settings;

    if (look->access->tokens.count > 0)
        return;
    if (listener->tls && !settings->tls_client_ca[0])
        warn(look, line, "listen: no client can use tls:%s: set tokens or tls-client-ca",
             listener->address);
    else if (!listener->tls && strncmp(listener->address, UNIX, strlen(UNIX)) != 0)
        warn(look, line, "listen: no client can use %s: set tokens", listener->address);
    else if (listener->is_proxy)
        warn(look, line,
             "listen: no client behind the proxy of %s can prove itself: set tokens",
             listener->address);
}

static void look_at_listeners(struct look *look)
{
    const struct settings *settings = look->settings;

    if (settings->count[SETTING_LISTEN] == 0)
        warn(look, 0,
             "nothing to listen on, unless the service manager passes sockets: set listen");
    for (unsigned i = 0; i < settings->count[SETTING_LISTEN]; i++) {
        const struct settings_listener *listener = &settings->listeners[i];
        unsigned line = settings->listen[i].line;

        if (strncmp(listener->address, UNIX, strlen(UNIX)) == 0)
            look_at_directory(look, listener, line);
        look_at_group(look, listener, line);
        look_at_proof(look, listener, line);
    }
}

/* ---- rules ------------------------------------------------------------------------------- */

static bool has_token(const struct access_tokens *tokens, const char *name)
{
    for (unsigned i = 0; i < tokens->count; i++)
        if (strcmp(tokens->token[i].name, name) == 0)
            return true;
    return false;
}

static void look_at_rule(struct look *look, unsigned number)
{
    const struct settings *settings = look->settings;
    const struct access_rules *rules = &look->access->rules;
    const struct access_rule *rule = &rules->rule[number];
    unsigned line = settings->rules[number].line;

    if (strncmp(rule->principal, TOKEN, strlen(TOKEN)) == 0) {
        if (!settings->tokens[0])
            warn(look, line, "allow: %s is no client: there are no tokens", rule->principal);
        else if (!has_token(&look->access->tokens, rule->principal + strlen(TOKEN)))
            warn(look, line, "allow: %s is no client: %s has no token of that name",
                 rule->principal, settings->tokens);
    }
    if (strncmp(rule->principal, CERT, strlen(CERT)) == 0 && !settings->tls_client_ca[0])
        warn(look, line, "allow: %s is no client: there is no tls-client-ca", rule->principal);
    for (unsigned i = 0; i < number; i++) {
        if (!access_rule_hides(&rules->rule[i], rule))
            continue;
        warn(look, line, "allow: the rule for %s %s in line %u decides before this one",
             rules->rule[i].principal, rules->rule[i].name, settings->rules[i].line);
        return;
    }
}

/* ---- files ------------------------------------------------------------------------------- */

/* Root can read what the user of the service cannot. */
static void look_at_file(struct look *look, enum settings_key key, const char *path)
{
    struct stat info;

    if (!path[0] || geteuid() != 0 || stat(path, &info) != 0 || info.st_mode & S_IROTH)
        return;
    warn(look, look->settings->line[key],
         "%s: %s can be read by its owner only, and this look was by root: a service that "
         "runs as another user gets it by LoadCredential=",
         settings_key_name(key), path);
}

static void look_at_files(struct look *look)
{
    const struct settings *settings = look->settings;

    look_at_file(look, SETTING_QUORUM_CONFIG, settings->quorum_config);
    look_at_file(look, SETTING_TLS_CERT, settings->tls_cert);
    look_at_file(look, SETTING_TLS_KEY, settings->tls_key);
    look_at_file(look, SETTING_TLS_CLIENT_CA, settings->tls_client_ca);
    look_at_file(look, SETTING_TLS_CLIENT_CRL, settings->tls_client_crl);
    look_at_file(look, SETTING_TOKENS, settings->tokens);
    if (settings->tokens[0] && look->access->tokens.count == 0)
        warn(look, settings->line[SETTING_TOKENS], "tokens: there is no token in %s",
             settings->tokens);
}

unsigned warnings_tell(const struct settings *settings, const struct access *access)
{
    struct look look = {settings, access, 0};

    look_at_listeners(&look);
    for (unsigned i = 0; i < access->rules.count; i++)
        look_at_rule(&look, i);
    look_at_files(&look);
    return look.count;
}
