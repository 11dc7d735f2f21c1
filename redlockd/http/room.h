/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Room for one more connection, where there are as many as there may be.
 *
 * A client that comes then is let in all the same, and another connection ends for it: one
 * without a request under way, since its client can come back. That is
 *     a *stranger* (no request of it was allowed by a rule) before a known one,
 *     of these one of the address or local user that has most connections,
 *     of these one that has been as it is for long: idle, or with half a head or half a TLS
 *     handshake.
 * So a flood takes the place of its own connections, also one that begins requests and never
 * ends them, and a client that is new has the time of a whole flood for its first request.
 * Looked at are the HTTP_ROOM_LOOKED oldest of each kind, however many there are.
 *
 * The same for memory: the answers and events that clients do not take have HTTP_UNSENT_MAX
 * bytes together. Then strangers lose before known ones, and of these the one for which most
 * waits, among those that have taken nothing for longest.
 *
 * Half of all places are kept for the listeners, in equal shares: what waits for locks on one
 * of them, and is not ended for others, leaves the others theirs.
 */
#ifndef REDLOCKD_HTTP_ROOM_H
#define REDLOCKD_HTTP_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define HTTP_ROOM_LOOKED 8
#define HTTP_UNSENT_MAX (64u << 20)
#define HTTP_ROOM_SOURCES 1024 /* addresses and users are counted by a hash */

struct http_server;
struct http_connection;
struct http_peer;

/* Where a connection comes from: the user of a unix socket, or an IPv4 address, or an IPv6
 * network (/64). Below HTTP_ROOM_SOURCES. */
uint16_t http_room_source(const struct http_peer *peer, const struct sockaddr_storage *address);

/* May this listener have one more? */
bool http_room_is_free(const struct http_server *server, int listener);

/* The connection that makes room for one of this listener; NULL: none can. */
struct http_connection *http_room_loser(struct http_server *server, int listener);

/* Closes it for others. */
void http_room_evict(struct http_connection *connection);

/* Notes what the connection has unsent, and closes others, or this one, if all
 * have too much. */
void http_room_count_unsent(struct http_connection *connection);

#endif
