/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/file.h"
#include "config/node_list.h"
#include "config/quote.h"
#include "config/trust.h"
#include "drive/detail.h"

static bool is_closed(const struct rl_config *c, enum rl_setting setting)
{
    return c->closed & (1u << setting);
}

static void close_setting(struct rl_config *c, enum rl_setting setting)
{
    c->closed |= 1u << setting;
}

static int read_environment(struct rl_config *c)
{
    const char *nodes = secure_getenv("REDLOCK_NODES");

    if (nodes) {
        /* Set but empty is a mistake in a script; falling back to other nodes than the rest
         * of the fleet uses would be a lock that excludes no other client. */
        const char *problem = rl_config_set(c, RL_SETTING_NODES, nodes);
        if (problem)
            return rl_detail(rl_config_error(problem),
                             "the environment variable REDLOCK_NODES %s", problem);
    }
    const char *password = secure_getenv("REDLOCK_PASSWORD");
    if (password && *password && !is_closed(c, RL_SETTING_PASSWORD_FILE)) {
        c->password = strdup(password);
        if (!c->password)
            return rl_detail(REDLOCK_NOMEM, "out of memory");
        close_setting(c, RL_SETTING_PASSWORD_FILE);
    }
    return REDLOCK_OK;
}

/* The key may stand in the same file as the certificate. */
static enum rl_setting key_setting(const struct rl_config *c)
{
    return c->text[RL_SETTING_TLS_KEY] ? RL_SETTING_TLS_KEY : RL_SETTING_TLS_CERT;
}

static int check_file(const struct rl_config *c, enum rl_setting setting, const char *what)
{
    const char *path = c->text[setting];
    struct stat info;

    if (!path || (setting == RL_SETTING_TOKEN_FILE && !c->may_use_service))
        return REDLOCK_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int problem = fd < 0 || fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
    if (problem == 0) {
        int error = rl_trust_check(what, path, fd);

        if (error == REDLOCK_OK && setting == RL_SETTING_PASSWORD_FILE)
            rl_trust_warn(c, "the password", path, fd);
        if (error == REDLOCK_OK && setting == RL_SETTING_TOKEN_FILE)
            rl_trust_warn(c, "the token", path, fd);
        if (error == REDLOCK_OK && setting == key_setting(c))
            rl_trust_warn(c, "the TLS key", path, fd);
        close(fd);
        return error;
    }
    if (fd >= 0)
        close(fd);
    char shown[RL_QUOTE_PATH_MAX];
    rl_quote_path(shown, path);
    return rl_detail(REDLOCK_INVAL, "%s: cannot read %s: %s", rl_config_name(setting), shown,
                     strerror(problem));
}

static int check(const struct rl_config *c)
{
    static const struct {
        enum rl_setting setting;
        const char *what;
    } files[] = {
        {RL_SETTING_PASSWORD_FILE, "the password file"},
        {RL_SETTING_TOKEN_FILE, "the token file"},
        {RL_SETTING_TLS_CA, "the TLS CA file"},
        {RL_SETTING_TLS_CERT, "the TLS certificate file"},
        {RL_SETTING_TLS_KEY, "the TLS key file"},
    };
    int error = c->node_count > 0 ? rl_node_list_check(c) : REDLOCK_OK;
    if (error)
        return error;
    if (c->text[RL_SETTING_TLS_KEY] && !c->text[RL_SETTING_TLS_CERT])
        return rl_detail(REDLOCK_INVAL, "tls-key is given without tls-cert");
    for (size_t i = 0; i < sizeof files / sizeof files[0] && !error; i++)
        error = check_file(c, files[i].setting, files[i].what);
    return error;
}

int rl_config_load(struct rl_config *c)
{
    char looked[RL_LOOKED_MAX] = "";

    c->closed |= c->given;
    const char *source = c->node_count > 0 ? c->nodes_option : "REDLOCK_NODES";
    int error = read_environment(c);
    if (error)
        return error;
    c->closed |= c->given;
    bool named = c->node_count > 0;
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
    if (!(o->flags & (REDLOCK_STRICT | REDLOCK_NO_GUARD)))
        o->flags |= c->guard;
    fill_number(&o->node_timeout_ms, c->node_timeout_ms);
    fill_number(&o->connect_timeout_ms, c->connect_timeout_ms);
    fill_number(&o->max_ttl_ms, c->max_ttl_ms);
    fill_text(&o->prefix, c->text[RL_SETTING_PREFIX]);
    fill_text(&o->username, c->text[RL_SETTING_USER]);
    fill_text(&o->password, c->password);
    fill_text(&o->password_file, c->text[RL_SETTING_PASSWORD_FILE]);
    fill_text(&o->tls_ca_file, c->text[RL_SETTING_TLS_CA]);
    fill_text(&o->tls_cert_file, c->text[RL_SETTING_TLS_CERT]);
    fill_text(&o->tls_key_file, c->text[RL_SETTING_TLS_KEY]);
    fill_text(&o->tls_server_name, c->text[RL_SETTING_TLS_NAME]);
}

int rl_config_complete(struct rl_config *c, redlock_options *o)
{
    c->file = o->config_file;
    /* What belongs together comes from one source. */
    if (o->password || o->password_file)
        close_setting(c, RL_SETTING_PASSWORD_FILE);
    if (o->tls_ca_file)
        close_setting(c, RL_SETTING_TLS_CA);
    if (o->tls_cert_file || o->tls_key_file) {
        close_setting(c, RL_SETTING_TLS_CERT);
        close_setting(c, RL_SETTING_TLS_KEY);
    }
    int error = rl_config_load(c);
    if (!error)
        rl_config_apply(c, o);
    return error;
}
