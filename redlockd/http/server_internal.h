/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the HTTP server share. */
#ifndef REDLOCKD_HTTP_SERVER_INTERNAL_H
#define REDLOCKD_HTTP_SERVER_INTERNAL_H

#include "http/answer.h"
#include "http/connection.h"
#include "http/listener.h"
#include "http/room.h"
#include "http/server.h"

/*
 * All listeners and connections. Connections are taken from slabs and go back to `free`; a slab
 * is freed with the server. One that was closed stays in `closed` until the turn is over, since
 * functions on the stack may still look at its state.
 */
struct http_server {
    struct loop *loop;
    struct loop_part part; /* of the loop: for deadlines, and for `closed` */
    struct http_handler handler;
    struct rl_pool pool;
    struct http_listener listeners[HTTP_LISTENERS_MAX];
    unsigned listener_count;
    unsigned connections_max;
    struct http_slab *slabs;
    struct http_connection *free;
    struct http_connection *closed;
    struct rl_span due[HTTP_DUE_COUNT];
    struct rl_span handshakes; /* no deadlines, but in order: one in each turn of the loop */
    uint64_t handshake_turn;   /* of the loop, in which the last was continued */
    struct http_counts counts;
    size_t unsent;                       /* of all connections: http_room_count_unsent() */
    uint32_t sources[HTTP_ROOM_SOURCES]; /* connections by http_peer.source */
    struct http_tally tally;
    int64_t date_ns; /* when `date` was written */
    char date[HTTP_DATE_SIZE + 1];
    bool is_draining;
    bool is_stopped;
};

/* Writes the Date of answers anew. It decides nothing: the only use of the wall clock. */
void http_server_set_date(struct http_server *server, int64_t now_ns);

/* A connection to open, or NULL: no memory, or too many. */
struct http_connection *http_server_take(struct http_server *server);
/* It was not opened, or is CLOSED. */
void http_server_give(struct http_server *server, struct http_connection *connection);

#endif
