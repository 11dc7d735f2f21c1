/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/room.h"

#include <netinet/in.h>
#include <string.h>

#include "http/server_internal.h"

#define HASH_FACTOR UINT64_C(0x9E3779B97F4A7C15)
#define HASH_SHIFT 54 /* leaves 10 bits */
_Static_assert(HTTP_ROOM_SOURCES == 1 << (64 - HASH_SHIFT), "a hash has a counter");

/* Of the oldest of each list the one that goes before all others; NULL: none can. */
static struct http_connection *pick(
    struct http_server *server, const enum http_due *lists, size_t count,
    bool (*can)(const struct http_connection *connection, int listener), int listener,
    bool (*before)(const struct http_connection *connection,
                   const struct http_connection *other))
{
    struct http_connection *loser = NULL;

    for (size_t i = 0; i < count; i++) {
        struct rl_deadline *at = server->due[lists[i]].first;

        for (int looked = 0; at && looked < HTTP_ROOM_LOOKED; looked++, at = at->next) {
            struct http_connection *connection = http_connection_of(at);

            if (can(connection, listener) && (!loser || before(connection, loser)))
                loser = connection;
        }
    }
    return loser;
}

/* ---- places ---------------------------------------------------------------------------- */

uint16_t http_room_source(const struct http_peer *peer, const struct sockaddr_storage *address)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    uint64_t key = 0;

    if (peer->is_unix)
        key = peer->uid;
    else if (address->ss_family == AF_INET)
        key = ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr;
    else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        memcpy(&key, v6->sin6_addr.s6_addr + 12, 4);
    else
        memcpy(&key, v6->sin6_addr.s6_addr, sizeof key);
    return (uint16_t)((key * 2 + peer->is_unix) * HASH_FACTOR >> HASH_SHIFT);
}

/* Places that each listener has for itself. */
static unsigned share(const struct http_server *server)
{
    return server->connections_max / (2 * server->listener_count);
}

bool http_room_is_free(const struct http_server *server, int listener)
{
    unsigned taken = server->counts.connections;

    for (unsigned i = 0; i < server->listener_count; i++) {
        int number = server->listeners[i].number;

        if (number != listener && server->counts.by_listener[number] < share(server))
            taken += share(server) - server->counts.by_listener[number];
    }
    return taken < server->connections_max;
}

/* Does its end make room for one of this listener, and does no handler wait for its answer? */
static bool can_go(const struct http_connection *connection, int listener)
{
    const struct http_server *server = connection->server;
    int own = connection->peer.listener;

    return !http_is_open(connection) &&
           (own == listener || server->counts.by_listener[own] > share(server));
}

/* Is it rather this one than the other? The first that is found, if neither. */
static bool goes_before(const struct http_connection *connection,
                        const struct http_connection *other)
{
    const uint32_t *sources = connection->server->sources;

    if (connection->is_known != other->is_known)
        return !connection->is_known;
    return sources[connection->peer.source] > sources[other->peer.source];
}

struct http_connection *http_room_loser(struct http_server *server, int listener)
{
    static const enum http_due lists[] = {HTTP_DUE_LINGER, HTTP_DUE_IDLE, HTTP_DUE_HEAD,
                                          HTTP_DUE_STALL, HTTP_DUE_KNOWN};

    return pick(server, lists, sizeof lists / sizeof *lists, can_go, listener, goes_before);
}

void http_room_evict(struct http_connection *connection)
{
    connection->server->counts.evicted++;
    http_connection_close(connection);
}

/* ---- memory ---------------------------------------------------------------------------- */

static bool frees_more(const struct http_connection *connection,
                       const struct http_connection *other)
{
    if (connection->is_known != other->is_known)
        return !connection->is_known;
    return connection->unsent > other->unsent;
}

static bool has_unsent(const struct http_connection *connection, int listener)
{
    (void)listener;
    return connection->unsent > 0;
}

void http_room_count_unsent(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    static const enum http_due lists[] = {HTTP_DUE_STALL, HTTP_DUE_UNREAD};
    struct http_connection *loser;

    server->unsent = server->unsent - connection->unsent + connection->out.capacity;
    connection->unsent = connection->out.capacity;
    while (server->unsent > HTTP_UNSENT_MAX) {
        loser = pick(server, lists, sizeof lists / sizeof *lists, has_unsent, 0, frees_more);
        if (!loser)
            return;
        http_room_evict(loser);
    }
}
