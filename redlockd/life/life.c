/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/life.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "io/clock.h"
#include "life/warnings.h"
#include "system/descriptors.h"
#include "system/log.h"
#include "system/sockets.h"

/* ---- settings ---------------------------------------------------------------------------- */

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

int life_check(const struct settings *settings, unsigned *warnings, char *why, size_t why_size)
{
    struct inputs *inputs = malloc(sizeof *inputs);
    int result = SETTINGS_WRONG;

    if (!inputs)
        snprintf(why, why_size, "out of memory");
    else if (inputs_read(inputs, settings, why, why_size) == 0 &&
             inputs_excuse(inputs, settings,
                           leases_check(or_null(settings->quorum_config), why, why_size),
                           why) == 0)
        result = 0;
    if (result == 0) {
        *warnings = inputs->warnings + warnings_tell(settings, &inputs->access);
        inputs_free(inputs);
    }
    free(inputs);
    return result;
}

/* ---- listeners --------------------------------------------------------------------------- */

/* `how`: what `listen` has for its address; NULL: nothing. */
static int listen_on(struct life *life, int fd, const struct settings_listener *how, int number,
                     char *why, size_t why_size)
{
    struct life_listener *listener = &life->listeners[number];
    bool tls = how && how->tls, is_proxy = how && how->is_proxy;
    size_t size = (size_t)snprintf(listener->name, sizeof listener->name, tls ? "tls:" : "");
    struct access *access = &life->inputs.access;
    bool is_tcp;

    sockets_name(fd, listener->name + size, sizeof listener->name - size);
    is_tcp = strncmp(listener->name, "unix:", 5) != 0;
    access->proxies |= (uint32_t)is_proxy << number;
    access->checks_host |= (uint32_t)(is_tcp && !tls && sockets_is_local(fd)) << number;
    if (http_server_listen(life->server, fd, number, tls ? life->inputs.tls : NULL,
                           how && how->cert_optional) < 0) {
        snprintf(why, why_size, "cannot listen on %s: %s", listener->name, strerror(errno));
        return -1;
    }
    life->listener_count = (unsigned)number + 1;
    life->routes.listeners[number] = listener->name;
    log_line("listening on %s", listener->name);
    return 0;
}

/* The line of `listen` with this address; NULL: there is none. */
static const struct settings_listener *listener_of(const struct settings *settings,
                                                   const char *address)
{
    for (unsigned i = 0; i < settings->count[SETTING_LISTEN]; i++)
        if (strcmp(settings->listeners[i].address, address) == 0)
            return &settings->listeners[i];
    return NULL;
}

/* A socket of the manager: what `listen` has for its address counts for it, too. */
static int listen_inherited(struct life *life, int fd, int number, bool *is_named, char *why,
                            size_t why_size)
{
    const struct settings *settings = &life->settings;
    const struct settings_listener *listener;
    char name[LIFE_NAME_MAX];

    sockets_name(fd, name, sizeof name);
    listener = listener_of(settings, name);
    if (listener)
        is_named[listener - settings->listeners] = true;
    if (!sockets_is_local(fd) && !settings->insecure && !(listener && listener->tls))
        return inputs_refuse_open(name, why, why_size);
    return listen_on(life, fd, listener, number, why, why_size);
}

/* The manager's first, then ours; numbered in this order. As life_open(). */
static int open_listeners(struct life *life, char *why, size_t why_size)
{
    const struct settings *settings = &life->settings;
    int fds[SETTINGS_LISTENERS_MAX];
    bool is_named[SETTINGS_LISTENERS_MAX] = {false}; /* the manager has opened it */
    int count = sockets_inherited(fds, SETTINGS_LISTENERS_MAX, why, why_size);
    int number;

    if (count < 0)
        return -1;
    number = count;
    if ((unsigned)count + settings->count[SETTING_LISTEN] > SETTINGS_LISTENERS_MAX) {
        snprintf(why, why_size, "at most %d sockets, with those of the service manager",
                 SETTINGS_LISTENERS_MAX);
        return -1;
    }
    if (count == 0 && settings->count[SETTING_LISTEN] == 0) {
        snprintf(why, why_size, "nothing to listen on: give --listen, or see --help");
        return SETTINGS_WRONG;
    }
    for (int i = 0; i < count; i++)
        if (listen_inherited(life, fds[i], i, is_named, why, why_size) < 0)
            return -1;
    for (unsigned i = 0; i < settings->count[SETTING_LISTEN]; i++) {
        const struct settings_listener *listener = &settings->listeners[i];
        int fd;

        if (is_named[i])
            continue;
        fd = sockets_open(listener->address, listener->mode, or_null(listener->group), why,
                          why_size);
        if (fd < 0 || listen_on(life, fd, listener, number++, why, why_size) < 0)
            return -1;
    }
    return 0;
}

/* ---- signals ----------------------------------------------------------------------------- */

static void on_end(void *context)
{
    struct life *life = context;

    if (drain_has_begun(&life->drain)) {
        loop_stop(&life->loop);
        return;
    }
    notify_stopping(&life->notify);
    log_line("ending: renewals and releases go on for at most %u s", life->settings.drain_s);
    life->routes.view.is_draining = true;
    leaders_drain(&life->routes.view.leaders);
    feeds_drain(&life->journal.feeds);
    drain_begin(&life->drain, life->settings.drain_s * RL_NS_PER_S);
}

static void warn_of_fixed(const char *key)
{
    log_line(
        "%s has changed: it is read at the start only, and stays as it was until a restart",
        key);
}

/* A file that is being written anew is empty for a moment. All tokens at once are taken away by
 * leaving `tokens` out. */
static bool loses_tokens(const struct life *life, const struct settings *settings,
                         const struct inputs *inputs, char *why, size_t why_size)
{
    if (!settings->tokens[0] || inputs->access.tokens.count > 0 ||
        life->inputs.access.tokens.count == 0)
        return false;
    snprintf(why, why_size,
             "tokens: %s: there is no token in it: to have none, leave `tokens` out",
             settings->tokens);
    settings_locate(settings, settings->line[SETTING_TOKENS], why, why_size);
    return true;
}

/* 0, or -1 with a sentence and nothing changed. */
static int reload(struct life *life, struct settings *settings, struct inputs *inputs,
                  char *why, size_t why_size)
{
    *settings = life->settings;
    /* With --dev they are made up at the start, and have no file. */
    if (!settings->dev &&
        settings_read(settings, settings->argc, settings->argv, why, why_size) < 0)
        return -1;
    settings_keep_fixed(&life->settings, settings, warn_of_fixed);
    if (inputs_read(inputs, settings, why, why_size) < 0)
        return -1;
    if (loses_tokens(life, settings, inputs, why, why_size)) {
        inputs_free(inputs);
        return -1;
    }
    quorum_print_compare(&life->inputs.quorum, &inputs->quorum, warn_of_fixed);
    inputs_replace(&life->inputs, inputs);
    life->settings = *settings;
    return 0;
}

static void on_reload(void *context)
{
    struct life *life = context;
    struct settings *settings = malloc(sizeof *settings);
    struct inputs *inputs = malloc(sizeof *inputs);
    char why[SETTINGS_WHY_MAX] = "out of memory";

    notify_reloading(&life->notify);
    if (settings && inputs && reload(life, settings, inputs, why, sizeof why) == 0) {
        /* What was begun by rights that are gone ends before the next request is read. */
        leases_reload(&life->leases);
        leaders_reload(&life->routes.view.leaders);
        once_reload(&life->routes.once);
        redlock_reload_passwords(life->leases.client);
        if (life->library.records)
            redlock_reload_passwords(life->library.records);
        feeds_reload(&life->journal.feeds);
        log_line("reloaded: %u rules, %u tokens%s", life->inputs.access.rules.count,
                 life->inputs.access.tokens.count,
                 life->inputs.tls ? ", and the TLS files" : "");
        warnings_tell(settings, &life->inputs.access);
    } else {
        log_line("not reloaded, nothing has changed: %s", why);
    }
    free(settings);
    free(inputs);
    notify_ready(&life->notify);
}

/* ---- the process ------------------------------------------------------------------------- */

/* As many as there are descriptors for, beside those of the nodes. */
static unsigned fit_connections(unsigned wanted)
{
    unsigned fitting;

    if (wanted == 0)
        wanted = HTTP_CONNECTIONS_DEFAULT;
    fitting = descriptors_for(wanted);
    if (fitting < wanted)
        log_line("at most %u connections, not %u: raise the limit of open files (LimitNOFILE)",
                 fitting, wanted);
    return fitting;
}

int life_open(struct life *life, const struct settings *settings, char *why, size_t why_size)
{
    struct http_options options = {.connections_max = 0};
    struct http_handler handler;
    int result;

    memset(life, 0, sizeof *life);
    life->settings = *settings;
    life->notify.fd = -1;
    if (inputs_read(&life->inputs, settings, why, why_size) < 0)
        return SETTINGS_WRONG;
    life->signals.context = life;
    life->signals.on_end = on_end;
    life->signals.on_reload = on_reload;
    if (loop_init(&life->loop) < 0 || signals_open(&life->signals, &life->loop) < 0 ||
        journal_init(&life->journal, &life->inputs.access, &life->inputs.audit,
                     &life->inputs.classes) < 0 ||
        routes_init(&life->routes, &life->leases, &life->inputs.access, &life->journal,
                    settings->utf8_names) < 0 ||
        log_begin() < 0) {
        snprintf(why, why_size, "cannot start: %s", strerror(errno));
        life_close(life);
        return -1;
    }
    options.connections_max = fit_connections(settings->connections);
    handler = routes_handler(&life->routes);
    life->server = http_server_new(&life->loop, &handler, &options);
    if (!life->server) {
        snprintf(why, why_size, "out of memory");
        life_close(life);
        return -1;
    }
    result = leases_open(&life->leases, &life->loop, &life->inputs.access, &life->journal,
                         or_null(settings->quorum_config), settings->drift_ppm, why, why_size)
                 ? SETTINGS_WRONG
                 : open_listeners(life, why, why_size);
    life->leases.max_ttl_ms = life->inputs.quorum.max_ttl_ms;
    if (result == 0 &&
        library_open(&life->library, &life->leases, &life->routes.view, &life->routes.once,
                     or_null(life->settings.quorum_config), &life->inputs.quorum) < 0) {
        snprintf(why, why_size, "cannot start: %s", strerror(errno));
        result = -1;
    }
    if (result < 0) {
        life_close(life);
        return result;
    }
    if (!settings->dev)
        warnings_tell(settings, &life->inputs.access);
    routes_open(&life->routes, life->server);
    notify_init(&life->notify);
    loop_add_part(&life->loop, &life->notify.part, &life->notify, notify_turn);
    life->status = (struct status){.notify = &life->notify, .leases = &life->leases};
    loop_add_part(&life->loop, &life->status.part, &life->status, status_turn);
    drain_init(&life->drain, &life->loop, life->server, &life->leases);
    loop_add_part(&life->loop, &life->routes.changes.part, &life->routes.changes, changes_turn);
    loop_add_part(&life->loop, &life->journal.feeds.part, &life->journal.feeds, feeds_turn);
    loop_add_part(&life->loop, &life->routes.view.overview.part, &life->routes.view.overview,
                  overview_turn);
    loop_add_part(&life->loop, &life->routes.view.leaders.part, &life->routes.view.leaders,
                  leaders_turn);
    return 0;
}

void life_run(struct life *life)
{
    notify_ready(&life->notify);
    loop_run(&life->loop);
}

void life_close(struct life *life)
{
    /* The server first: what its clients left under way is taken back while the
     * library still works. */
    http_server_free(life->server);
    library_close(&life->library);
    leases_close(&life->leases);
    journal_free(&life->journal);
    inputs_free(&life->inputs);
    routes_free(&life->routes);
    signals_close(&life->signals);
    notify_free(&life->notify);
    loop_free(&life->loop);
    log_end();
}
