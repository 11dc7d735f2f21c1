/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/life.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/time.h"
#include "io/clock.h"
#include "system/log.h"
#include "system/sockets.h"

/* ---- settings ---------------------------------------------------------------------------- */

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static int open_tls(const struct settings *settings, struct http_tls_context **out, char *why,
                    size_t why_size)
{
    if (!settings->tls_cert[0])
        return 0;
    return http_tls_context_new(settings->tls_cert, or_null(settings->tls_key),
                                or_null(settings->tls_client_ca), why, why_size, out);
}

/* Passwords of locks and who holds them do not travel in the clear unless that was asked for. */
static int refuse_open(const char *address, char *why, size_t why_size)
{
    snprintf(why, why_size, "%s: plain TCP is for loopback: use tls:%s, or set insecure to yes",
             address, address);
    return -1;
}

static int check_listeners(const struct settings *settings, char *why, size_t why_size)
{
    for (unsigned i = 0; i < settings->listener_count; i++) {
        const struct settings_listener *listener = &settings->listeners[i];
        int is_local = sockets_check(listener->address, why, why_size);

        if (is_local < 0)
            return -1;
        if (listener->tls && !settings->tls_cert[0]) {
            snprintf(why, why_size, "tls:%s needs tls-cert", listener->address);
            return -1;
        }
        if (!is_local && !listener->tls && !settings->insecure)
            return refuse_open(listener->address, why, why_size);
    }
    return 0;
}

static int read_access(struct access *access, const struct settings *settings, char *why,
                       size_t why_size)
{
    *access = (struct access){0};
    for (unsigned i = 0; i < settings->allow_count; i++)
        if (access_add_rule(access, settings->allow[i], why, why_size) < 0)
            return -1;
    return settings->tokens[0] ? access_read_tokens(access, settings->tokens, why, why_size)
                               : 0;
}

int life_check(const struct settings *settings, char *why, size_t why_size)
{
    struct http_tls_context *tls = NULL;
    struct access access;

    if (check_listeners(settings, why, why_size) < 0 ||
        read_access(&access, settings, why, why_size) < 0 ||
        leases_check(or_null(settings->quorum_config), why, why_size) < 0 ||
        open_tls(settings, &tls, why, why_size) < 0)
        return -1;
    http_tls_context_free(tls);
    return 0;
}

/* ---- listeners --------------------------------------------------------------------------- */

static int listen_on(struct life *life, int fd, bool tls, int number, char *why,
                     size_t why_size)
{
    struct life_listener *listener = &life->listeners[number];
    size_t size = (size_t)snprintf(listener->name, sizeof listener->name, tls ? "tls:" : "");

    sockets_name(fd, listener->name + size, sizeof listener->name - size);
    if (http_server_listen(life->server, fd, number, tls ? life->tls : NULL) < 0) {
        snprintf(why, why_size, "cannot listen on %s: %s", listener->name, strerror(errno));
        return -1;
    }
    life->listener_count = (unsigned)number + 1;
    log_line("listening on %s", listener->name);
    return 0;
}

/* The manager's first, then ours; numbered in this order. */
static int open_listeners(struct life *life, char *why, size_t why_size)
{
    const struct settings *settings = life->settings;
    int fds[SETTINGS_LISTENERS_MAX];
    int count = sockets_inherited(fds, SETTINGS_LISTENERS_MAX, why, why_size);

    if (count < 0)
        return -1;
    if (count == 0 && settings->listener_count == 0) {
        snprintf(why, why_size, "nothing to listen on: give --listen, or see --help");
        return -1;
    }
    for (int i = 0; i < count; i++) {
        char name[LIFE_NAME_MAX];

        sockets_name(fds[i], name, sizeof name);
        if (!sockets_is_local(fds[i]) && !settings->insecure)
            return refuse_open(name, why, why_size);
        if (listen_on(life, fds[i], false, i, why, why_size) < 0)
            return -1;
    }
    for (unsigned i = 0; i < settings->listener_count; i++) {
        const struct settings_listener *listener = &settings->listeners[i];
        int fd = sockets_open(listener->address, why, why_size);

        if (fd < 0 || listen_on(life, fd, listener->tls, count + (int)i, why, why_size) < 0)
            return -1;
    }
    return 0;
}

/* ---- signals ----------------------------------------------------------------------------- */

static void on_end(void *context)
{
    struct life *life = context;

    if (life->end_ns != RL_NEVER_NS) {
        loop_stop(&life->loop);
        return;
    }
    notify_stopping(&life->notify);
    log_line("ending: requests under way have %lld s",
             (long long)(life->settings->drain_ns / RL_NS_PER_S));
    life->end_ns = rl_now_ns() + life->settings->drain_ns;
    life->routes.view.is_draining = true;
    leases_drain(&life->leases);
    http_server_stop(life->server);
}

static void on_reload(void *context)
{
    struct life *life = context;
    const struct settings *settings = life->settings;
    char why[SETTINGS_WHY_MAX];

    notify_reloading(&life->notify);
    if (!life->tls)
        log_line("reloaded: there are no TLS files to read again");
    else if (http_tls_context_reload(life->tls, settings->tls_cert, or_null(settings->tls_key),
                                     or_null(settings->tls_client_ca), why, sizeof why) == 0)
        log_line("reloaded the TLS files");
    else
        log_line("not reloaded, nothing has changed: %s", why);
    notify_ready(&life->notify);
}

/* A part of the loop: ends it when the last request has its answer, or the time is over. */
static int64_t turn(void *context, int64_t now_ns)
{
    struct life *life = context;

    if (life->end_ns == RL_NEVER_NS)
        return RL_NEVER_NS;
    if (http_server_is_done(life->server) || now_ns >= life->end_ns)
        loop_stop(&life->loop);
    return life->end_ns;
}

/* ---- the process ------------------------------------------------------------------------- */

int life_open(struct life *life, const struct settings *settings, char *why, size_t why_size)
{
    struct http_options options = {.connections_max = settings->connections};
    struct http_handler handler;

    memset(life, 0, sizeof *life);
    life->settings = settings;
    life->end_ns = RL_NEVER_NS;
    life->notify.fd = -1;
    if (check_listeners(settings, why, why_size) < 0 ||
        read_access(&life->access, settings, why, why_size) < 0)
        return -1;
    life->signals.context = life;
    life->signals.on_end = on_end;
    life->signals.on_reload = on_reload;
    if (loop_init(&life->loop) < 0 || signals_open(&life->signals, &life->loop) < 0 ||
        routes_init(&life->routes, &life->leases, &life->access) < 0) {
        snprintf(why, why_size, "cannot start: %s", strerror(errno));
        life_close(life);
        return -1;
    }
    handler = routes_handler(&life->routes);
    life->server = http_server_new(&life->loop, &handler, &options);
    if (!life->server) {
        snprintf(why, why_size, "out of memory");
        life_close(life);
        return -1;
    }
    if (leases_open(&life->leases, &life->loop, or_null(settings->quorum_config),
                    settings->drift_ppm, why, why_size) < 0 ||
        open_tls(settings, &life->tls, why, why_size) < 0 ||
        open_listeners(life, why, why_size) < 0) {
        life_close(life);
        return -1;
    }
    routes_open(&life->routes, life->server);
    notify_init(&life->notify);
    loop_add_part(&life->loop, &life->notify, notify_turn);
    loop_add_part(&life->loop, life, turn);
    return 0;
}

void life_run(struct life *life)
{
    notify_ready(&life->notify);
    loop_run(&life->loop);
}

void life_close(struct life *life)
{
    /* The server first: what its clients left under way is taken back while the library still works. */
    http_server_free(life->server);
    leases_close(&life->leases);
    http_tls_context_free(life->tls);
    routes_free(&life->routes);
    signals_close(&life->signals);
    notify_free(&life->notify);
    loop_free(&life->loop);
}
