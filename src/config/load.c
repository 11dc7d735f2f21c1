/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quote.h"
#include "config/sources.h"
#include "drive/detail.h"

static void close_setting(struct rl_config *c, enum rl_setting setting)
{
    c->closed |= 1u << setting;
}

/* Of a password in a file and one that a command prints, the stronger source
 * decides for both. */
static void close_given(struct rl_config *c)
{
    const uint32_t of_nodes =
        1u << RL_SETTING_PASSWORD_FILE | 1u << RL_SETTING_PASSWORD_COMMAND;
    const uint32_t of_sentinels =
        1u << RL_SETTING_SENTINEL_PASSWORD_FILE | 1u << RL_SETTING_SENTINEL_PASSWORD_COMMAND;

    c->closed |= c->given;
    if (c->closed & of_nodes)
        c->closed |= of_nodes;
    if (c->closed & of_sentinels)
        c->closed |= of_sentinels;
}

/* From the environment, unless a stronger source has named the file that it would be in. */
static int read_password(struct rl_config *c, const char *variable, enum rl_setting file,
                         char **out)
{
    const char *password = secure_getenv(variable);

    if (!password || !*password || (c->closed & (1u << file)))
        return REDLOCK_OK;
    *out = strdup(password);
    if (!*out)
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    close_setting(c, file);
    return REDLOCK_OK;
}

/*
 * What all clients of the nodes must have alike, so that a container needs no file for it. Set
 * but empty is a mistake in a script; falling back to other nodes than the rest of the fleet
 * uses would be a lock that excludes no other client.
 */
static int read_environment(struct rl_config *c)
{
    static const enum rl_setting settings[] = {RL_SETTING_NODES, RL_SETTING_MAX_TTL};
    static const char *const variables[] = {"REDLOCK_NODES", "REDLOCK_MAX_TTL"};
    int error;

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = secure_getenv(variables[i]);
        const char *problem = value ? rl_config_set(c, settings[i], value) : NULL;

        if (problem)
            return rl_detail(rl_config_error(problem), "the environment variable %s %s",
                             variables[i], problem);
    }
    error = read_password(c, "REDLOCK_PASSWORD", RL_SETTING_PASSWORD_FILE, &c->password);
    return error ? error
                 : read_password(c, "REDLOCK_SENTINEL_PASSWORD",
                                 RL_SETTING_SENTINEL_PASSWORD_FILE, &c->sentinel_password);
}

/* secret: what stands in it that others must not read; NULL: nothing. */
static int check_file(struct rl_config *c, enum rl_setting setting, const char *what,
                      const char *secret)
{
    const char *path = c->text[setting];
    char shown[RL_QUOTE_PATH_MAX];
    struct stat info;
    int error = REDLOCK_OK;
    int fd;
    int problem;

    if (!path || (setting == RL_SETTING_TOKEN_FILE && !c->may_use_service))
        return REDLOCK_OK;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    problem = fd < 0 || fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
    if (problem == 0) {
        error = rl_trust_check(what, path, fd);
        if (error == REDLOCK_OK && secret)
            rl_trust_warn(c, secret, path, fd);
    }
    if (fd >= 0)
        close(fd);
    if (problem == 0)
        return error;
    rl_quote_path(shown, path);
    return rl_detail(REDLOCK_INVAL, "%s: cannot read %s: %s", rl_config_name(setting), shown,
                     strerror(problem));
}

static int check(struct rl_config *c)
{
    bool has_key = c->text[RL_SETTING_TLS_KEY];
    int error = c->node_count > 0 ? rl_node_list_check(c) : REDLOCK_OK;

    if (error)
        return error;
    if (has_key && !c->text[RL_SETTING_TLS_CERT])
        return rl_detail(REDLOCK_INVAL, "tls-key is given without tls-cert");
    error = check_file(c, RL_SETTING_PASSWORD_FILE, "the password file", "the password");
    if (!error)
        error = check_file(c, RL_SETTING_SENTINEL_PASSWORD_FILE,
                           "the password file of the sentinels", "the password");
    if (!error)
        error = check_file(c, RL_SETTING_TOKEN_FILE, "the token file", "the token");
    if (!error)
        error = check_file(c, RL_SETTING_TLS_CA, "the TLS CA file", NULL);
    /* The key may stand in the same file as the certificate. */
    if (!error)
        error = check_file(c, RL_SETTING_TLS_CERT, "the TLS certificate file",
                           has_key ? NULL : "the TLS key");
    return error ? error : check_file(c, RL_SETTING_TLS_KEY, "the TLS key file", "the TLS key");
}

int rl_config_load(struct rl_config *c)
{
    char looked[RL_LOOKED_MAX] = "";
    bool named;
    const char *source;
    int error;

    close_given(c);
    source = c->node_count > 0 ? c->nodes_option : "REDLOCK_NODES";
    error = read_environment(c);
    if (error)
        return error;
    close_given(c);
    named = c->node_count > 0;
    error = rl_config_read_file(c, looked);
    if (error)
        return error;
    snprintf(c->source, sizeof c->source, "%s", named ? source : looked);
    /* A server that happens to run on this machine is no default: two machines would each lock
     * their own. */
    if (c->node_count == 0 && !(c->may_use_service && c->text[RL_SETTING_SERVICE]))
        return rl_detail(
            REDLOCK_INVAL,
            "no nodes: set REDLOCK_NODES, %s%sor nodes in redlock.conf (looked in %s)%s",
            c->nodes_option ? c->nodes_option : "", c->nodes_option ? ", " : "", looked,
            c->without_nodes ? c->without_nodes : "");
    return check(c);
}

static void fill_number(uint32_t *field, int64_t value)
{
    if (*field == 0)
        *field = (uint32_t)value;
}

static void fill_text(const char **field, const char *value)
{
    if (!*field)
        *field = value;
}

void rl_config_apply(struct rl_config *c, redlock_options *o)
{
    rl_node_list_arrange(c);
    if (c->quorum_count) {
        o->quorums = c->quorums;
        o->quorum_count = c->quorum_count;
    } else {
        o->nodes = c->arranged;
        o->node_count = c->node_count;
    }
    if (c->no_native)
        o->flags |= REDLOCK_NO_NATIVE;
    if (!o->profile)
        o->profile = c->profile;
    if (!(o->flags & (REDLOCK_STRICT | REDLOCK_NO_GUARD)))
        o->flags |= c->guard;
    fill_number(&o->node_timeout_ms, c->node_timeout_ms);
    fill_number(&o->connect_timeout_ms, c->connect_timeout_ms);
    fill_number(&o->max_ttl_ms, c->max_ttl_ms);
    fill_text(&o->prefix, c->text[RL_SETTING_PREFIX]);
    fill_text(&o->username, c->text[RL_SETTING_USER]);
    fill_text(&o->password, c->password);
    fill_text(&o->password_file, c->text[RL_SETTING_PASSWORD_FILE]);
    fill_text(&o->password_command, c->text[RL_SETTING_PASSWORD_COMMAND]);
    fill_number(&o->password_max_age_ms, c->password_max_age_ms);
    fill_text(&o->sentinel_username, c->text[RL_SETTING_SENTINEL_USER]);
    fill_text(&o->sentinel_password, c->sentinel_password);
    fill_text(&o->sentinel_password_file, c->text[RL_SETTING_SENTINEL_PASSWORD_FILE]);
    fill_text(&o->sentinel_password_command, c->text[RL_SETTING_SENTINEL_PASSWORD_COMMAND]);
    fill_text(&o->tls_ca_file, c->text[RL_SETTING_TLS_CA]);
    fill_text(&o->tls_cert_file, c->text[RL_SETTING_TLS_CERT]);
    fill_text(&o->tls_key_file, c->text[RL_SETTING_TLS_KEY]);
    fill_text(&o->tls_server_name, c->text[RL_SETTING_TLS_NAME]);
}

int rl_config_complete(struct rl_config *c, redlock_options *o)
{
    int error;

    c->file = o->config_file;
    /* What belongs together comes from one source. */
    if (o->password || o->password_file || o->password_command)
        close_setting(c, RL_SETTING_PASSWORD_FILE);
    if (o->sentinel_password || o->sentinel_password_file || o->sentinel_password_command)
        close_setting(c, RL_SETTING_SENTINEL_PASSWORD_FILE);
    if (o->tls_ca_file)
        close_setting(c, RL_SETTING_TLS_CA);
    if (o->tls_cert_file || o->tls_key_file) {
        close_setting(c, RL_SETTING_TLS_CERT);
        close_setting(c, RL_SETTING_TLS_KEY);
    }
    error = rl_config_load(c);
    if (!error)
        rl_config_apply(c, o);
    return error;
}
