/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "http/server_internal.h"
#include "io/clock.h"

#define SLAB_CONNECTIONS 64
#define HEAD_TIMEOUT_NS (10 * RL_NS_PER_S)
#define IDLE_TIMEOUT_NS (75 * RL_NS_PER_S)
#define STALL_TIMEOUT_NS (30 * RL_NS_PER_S)
#define LINGER_NS (2 * RL_NS_PER_S)

struct http_slab {
    struct http_slab *next;
    struct http_connection connections[SLAB_CONNECTIONS];
};

/* ---- memory ---------------------------------------------------------------------------- */

void http_server_give(struct http_server *server, struct http_connection *connection)
{
    connection->state = HTTP_CLOSED;
    connection->next_free = server->free;
    server->free = connection;
}

static bool add_slab(struct http_server *server)
{
    struct http_slab *slab = calloc(1, sizeof *slab);

    if (!slab)
        return false;
    slab->next = server->slabs;
    server->slabs = slab;
    for (int i = SLAB_CONNECTIONS; i-- > 0;)
        http_server_give(server, &slab->connections[i]);
    return true;
}

struct http_connection *http_server_take(struct http_server *server)
{
    struct http_connection *connection;

    if (!server->free && !add_slab(server))
        return NULL;
    connection = server->free;
    server->free = connection->next_free;
    return connection;
}

/* What was closed is on no stack any more. */
static void reclaim(struct http_server *server)
{
    struct http_connection *connection = server->closed;

    if (!connection)
        return;
    server->closed = NULL;
    while (connection) {
        struct http_connection *next = connection->next_free;

        http_server_give(server, connection);
        connection = next;
    }
    for (unsigned i = 0; i < server->listener_count; i++)
        http_listener_continue(&server->listeners[i]);
}

/* ---- deadlines ------------------------------------------------------------------------- */

static void expire(struct http_server *server, int64_t now_ns)
{
    for (size_t i = 0; i < HTTP_DUE_COUNT; i++) {
        struct rl_deadline *due;

        while ((due = rl_span_due(&server->due[i], now_ns)) != NULL)
            http_connection_expire(http_connection_of(due));
    }
}

static int64_t next_deadline(struct http_server *server, int64_t now_ns)
{
    int64_t next_ns = RL_NEVER_NS;

    for (size_t i = 0; i < HTTP_DUE_COUNT; i++) {
        int64_t list_ns = rl_span_next_ns(&server->due[i]);

        if (list_ns < next_ns)
            next_ns = list_ns;
    }
    for (unsigned i = 0; i < server->listener_count; i++) {
        int64_t listener_ns = http_listener_turn(&server->listeners[i], now_ns);

        if (listener_ns < next_ns)
            next_ns = listener_ns;
    }
    return next_ns;
}

/* ---- turns ----------------------------------------------------------------------------- */

void http_server_set_date(struct http_server *server, int64_t now_ns)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t seconds;
    struct tm utc;
    char text[32];

    server->date_ns = now_ns;
    seconds = time(NULL);
    gmtime_r(&seconds, &utc);
    /* Not %a and %b: these depend on the locale. */
    strftime(text, sizeof text, "day, %d mon %Y %H:%M:%S GMT", &utc);
    memcpy(text, days + (size_t)utc.tm_wday * 3, 3);
    memcpy(text + 8, months + (size_t)utc.tm_mon * 3, 3);
    memcpy(server->date, text, HTTP_DATE_SIZE);
}

static void continue_handshake(struct http_server *server)
{
    struct rl_deadline *first = server->handshakes.first;
    struct http_connection *connection;

    if (!first || server->handshake_turn == server->loop->turns)
        return;
    server->handshake_turn = server->loop->turns;
    connection =
        (struct http_connection *)(void *)((char *)first -
                                           offsetof(struct http_connection, handshake));
    rl_deadline_remove(first);
    http_connection_advance(connection);
}

static int64_t turn(void *context, int64_t now_ns)
{
    struct http_server *server = context;

    continue_handshake(server);
    expire(server, now_ns);
    reclaim(server);
    return server->handshakes.first ? 0 : next_deadline(server, now_ns);
}

/* ---- the public part -------------------------------------------------------------------- */

static int64_t or_default(int64_t value_ns, int64_t default_ns)
{
    return value_ns > 0 ? value_ns : default_ns;
}

struct http_server *http_server_new(struct loop *loop, const struct http_handler *handler,
                                    const struct http_options *options)
{
    struct http_server *server = calloc(1, sizeof *server);

    if (!server)
        return NULL;
    server->loop = loop;
    server->handler = *handler;
    server->connections_max =
        options->connections_max ? options->connections_max : HTTP_CONNECTIONS_DEFAULT;
    server->due[HTTP_DUE_HEAD].span_ns = or_default(options->head_timeout_ns, HEAD_TIMEOUT_NS);
    server->due[HTTP_DUE_IDLE].span_ns = server->due[HTTP_DUE_KNOWN].span_ns =
        or_default(options->idle_timeout_ns, IDLE_TIMEOUT_NS);
    server->due[HTTP_DUE_STALL].span_ns = server->due[HTTP_DUE_UNREAD].span_ns =
        or_default(options->stall_timeout_ns, STALL_TIMEOUT_NS);
    server->due[HTTP_DUE_LINGER].span_ns = LINGER_NS;
    http_server_set_date(server, rl_now_ns());
    loop_add_part(loop, &server->part, server, turn);
    return server;
}

int http_server_listen(struct http_server *server, int fd, int number,
                       struct http_tls_context *tls, bool cert_optional)
{
    struct http_listener *listener = &server->listeners[server->listener_count];

    if (server->listener_count == HTTP_LISTENERS_MAX || number >= HTTP_LISTENERS_MAX) {
        close(fd);
        errno = ENOSPC;
        return -1;
    }
    if (http_listener_open(listener, server, fd, number, tls, cert_optional) < 0)
        return -1;
    server->listener_count++;
    return 0;
}

void http_server_drain(struct http_server *server)
{
    server->is_draining = true;
}

void http_server_stop(struct http_server *server)
{
    server->is_draining = true;
    for (unsigned i = 0; i < server->listener_count; i++)
        http_listener_close(&server->listeners[i]);
    server->listener_count = 0;
    while (server->due[HTTP_DUE_KNOWN].first)
        http_connection_close(http_connection_of(server->due[HTTP_DUE_KNOWN].first));
    for (struct rl_deadline *at = server->due[HTTP_DUE_IDLE].first, *next; at; at = next) {
        next = at->next;
        /* One that was accepted a moment ago may have sent its first request. */
        if (http_connection_of(at)->read_ns != 0)
            http_connection_close(http_connection_of(at));
    }
}

bool http_server_is_idle(const struct http_server *server)
{
    return server->counts.connections ==
           server->due[HTTP_DUE_IDLE].count + server->due[HTTP_DUE_KNOWN].count;
}

bool http_server_is_done(const struct http_server *server)
{
    return server->counts.connections == 0;
}

const struct http_tally *http_server_tally(const struct http_server *server)
{
    return &server->tally;
}

void http_server_counts(const struct http_server *server, struct http_counts *counts)
{
    *counts = server->counts;
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    http_server_stop(server);
    for (struct http_slab *slab = server->slabs, *next; slab; slab = next) {
        next = slab->next;
        for (int i = 0; i < SLAB_CONNECTIONS; i++)
            http_connection_close(&slab->connections[i]);
    }
    while (server->slabs) {
        struct http_slab *slab = server->slabs;

        server->slabs = slab->next;
        free(slab);
    }
    rl_pool_free(&server->pool);
    free(server);
}
