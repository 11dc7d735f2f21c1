/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/connection.h"

#include <string.h>
#include <unistd.h>

#include "http/io.h"
#include "http/server_internal.h"
#include "http/tls.h"

#define READS_PER_TURN 2                    /* then other connections have a turn */
#define GATHERED_MAX (HTTP_BLOCK_LARGE / 2) /* bytes of answers that leave in one write */
#define LINGER_BYTES (64u << 10)

static void ready(struct loop_source *source, uint32_t events);

void http_connection_set_state(struct http_connection *connection, enum http_state state)
{
    struct http_counts *counts = &connection->server->counts;

    counts->suspended += state == HTTP_SUSPENDED;
    counts->suspended -= connection->state == HTTP_SUSPENDED;
    counts->streams += state == HTTP_STREAMING;
    counts->streams -= connection->state == HTTP_STREAMING;
    connection->state = state;
}

int http_connection_open(struct http_connection *connection, struct http_server *server, int fd,
                         const struct http_peer *peer, int64_t now_ns)
{
    memset(connection, 0, offsetof(struct http_connection, parser));
    http_parser_reset(&connection->parser);
    connection->server = server;
    connection->peer = *peer;
    connection->source.ready = ready;
    if (loop_add(server->loop, &connection->source, fd, EPOLLIN | EPOLLRDHUP | EPOLLET) < 0)
        return -1;
    /* A handshake is part of the first head. */
    http_deadline_set(peer->ssl ? &server->head : &server->idle, &connection->deadline, now_ns);
    server->counts.connections++;
    server->counts.by_listener[peer->listener]++;
    server->sources[peer->source]++;
    return 0;
}

/* ---- the end --------------------------------------------------------------------------- */

/* Tells the handler, once, and only one that asked for it. */
static void end_exchange(struct http_connection *connection, enum http_ended how)
{
    struct http_completion *completion = connection->exchange.completion;

    connection->exchange.completion = NULL;
    if (how != HTTP_ENDED_SENT)
        connection->server->counts.gone++;
    if (completion)
        completion->ended(completion, how);
}

void http_connection_close(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    bool was_open = http_is_open(connection);
    /* The last write may have got a byte through before it failed. */
    bool was_seen =
        connection->state == HTTP_ANSWERED && connection->sent > connection->answer_mark;

    if (connection->state == HTTP_CLOSED)
        return;
    http_connection_set_state(connection, HTTP_CLOSED);
    http_deadline_remove(&connection->deadline);
    http_deadline_remove(&connection->handshake);
    loop_remove(server->loop, &connection->source);
    if (connection->peer.ssl)
        http_tls_free(connection->peer.ssl);
    close(connection->source.fd);
    http_buffer_clear(&server->pool, &connection->in);
    http_buffer_clear(&server->pool, &connection->out);
    server->unsent -= connection->unsent;
    server->counts.connections--;
    server->counts.by_listener[connection->peer.listener]--;
    server->sources[connection->peer.source]--;
    if (was_open)
        end_exchange(connection, was_seen          ? HTTP_ENDED_SENT
                                 : connection->eof ? HTTP_ENDED_GONE
                                                   : HTTP_ENDED_CUT);
    connection->next_free = server->closed;
    server->closed = connection;
    loop_again(server->loop);
}

void http_connection_finish(struct http_connection *connection)
{
    http_connection_set_state(connection, HTTP_CLOSING);
}

void http_connection_mark(struct http_connection *connection)
{
    struct http_server *server = connection->server;

    if (connection->is_dirty)
        return;
    connection->is_dirty = true;
    connection->next_dirty = server->dirty;
    server->dirty = connection;
    loop_again(server->loop);
}

static void linger(struct http_connection *connection)
{
    while (connection->state == HTTP_LINGERING && connection->readable) {
        enum http_io result = http_io_discard(connection);

        if (result == HTTP_IO_END || result == HTTP_IO_BROKEN ||
            connection->lingered > LINGER_BYTES)
            http_connection_close(connection);
    }
}

/* All that was queued has been sent. */
static void shut(struct http_connection *connection)
{
    http_io_shut(connection);
    if (connection->eof) {
        http_connection_close(connection);
        return;
    }
    http_connection_set_state(connection, HTTP_LINGERING);
    http_deadline_set(&connection->server->linger, &connection->deadline,
                      connection->server->now_ns);
    connection->readable = true;
}

/* ---- output ---------------------------------------------------------------------------- */

char *http_connection_room(struct http_connection *connection, size_t size)
{
    size_t room;

    return http_buffer_room(&connection->server->pool, &connection->out, size, &room);
}

void http_connection_commit(struct http_connection *connection, size_t size)
{
    http_buffer_commit(&connection->out, size);
    connection->written += size;
}

/* What the kernel takes, the client may never read: the time of a stalled client begins with
 * the first bytes that find nothing before them. */
static enum http_io send_events(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    long before = http_io_untaken(connection);
    enum http_io result;

    if (before <= 0) {
        before = connection->untaken = 0;
        http_deadline_set(&server->unread, &connection->deadline, server->now_ns);
    }
    result = http_io_write(connection);
    connection->untaken += http_io_untaken(connection) - before;
    return result;
}

bool http_connection_is_stalled(struct http_connection *connection)
{
    long untaken = http_io_untaken(connection);

    if (untaken > 0 && untaken >= connection->untaken)
        return true;
    connection->untaken = untaken;
    return false;
}

/* Sends what is queued, and does what waits for that. */
static void flush(struct http_connection *connection)
{
    if (connection->wants_write)
        return;
    if (http_buffer_size(&connection->out) > 0 &&
        (connection->state == HTTP_STREAMING ? send_events(connection)
                                             : http_io_write(connection)) == HTTP_IO_BROKEN) {
        http_connection_close(connection);
        return;
    }
    if (connection->state == HTTP_ANSWERED && connection->sent > connection->answer_mark) {
        if (connection->is_last)
            http_connection_finish(connection);
        else
            http_connection_set_state(connection, HTTP_READING);
        end_exchange(connection, HTTP_ENDED_SENT);
    }
    if (http_buffer_size(&connection->out) > 0)
        return;
    if (connection->state == HTTP_ENDING) {
        http_connection_finish(connection);
        end_exchange(connection, HTTP_ENDED_SENT);
    }
    if (connection->state == HTTP_CLOSING)
        shut(connection);
}

/* ---- input ----------------------------------------------------------------------------- */

static void begin(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    struct http_parser *parser = &connection->parser;
    const char *bytes = connection->in.bytes + connection->in.start;
    size_t size = http_size(parser);
    struct http_request request = {
        .method = parser->method,
        .body = {bytes + parser->head_size, parser->body_size},
        .peer = &connection->peer,
        .received_ns = connection->read_ns,
        .eof = connection->eof,
        .parser = parser,
        .head = bytes,
    };

    http_target_split((struct rl_span){bytes + parser->target_at, parser->target_size},
                      &request.path, &request.query);
    server->counts.requests++;
    /* It has arrived: the next one, part of which may be here, has a time of its own. */
    if (connection->deadline.list == &server->head)
        http_deadline_remove(&connection->deadline);
    connection->is_last = http_is_last(parser);
    connection->is_head = parser->method == HTTP_HEAD;
    connection->exchange.completion = NULL;
    connection->op = 0;
    connection->began_ns = connection->read_ns;
    http_connection_set_state(connection, HTTP_SUSPENDED);
    server->handler.begin(server->handler.context, &connection->exchange, &request);
    http_buffer_take(&connection->in, size);
    http_parser_reset(parser);
    connection->said_continue = false;
}

void http_connection_refuse(struct http_connection *connection, int status, const char *code,
                            const char *detail)
{
    connection->server->counts.refused++;
    connection->op = 0;
    connection->began_ns = connection->read_ns;
    connection->is_last = true;
    connection->is_head = false;
    connection->exchange.completion = NULL;
    http_connection_set_state(connection, HTTP_SUSPENDED);
    http_answer_problem(&connection->exchange, status, code, detail,
                        status == 405 ? "Allow: GET, HEAD, PUT, POST, DELETE\r\n" : NULL);
}

/* The client waits for permission to send the body. */
static void say_continue(struct http_connection *connection)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char *room;

    connection->said_continue = true;
    room = http_connection_room(connection, sizeof text - 1);
    if (!room)
        return; /* it will send the body without being asked, after a while */
    memcpy(room, text, sizeof text - 1);
    http_connection_commit(connection, sizeof text - 1);
}

/* True: a request was begun or refused. */
static bool take_request(struct http_connection *connection)
{
    struct http_parser *parser = &connection->parser;
    size_t size = http_buffer_size(&connection->in);
    const struct http_refusal *refusal;

    if (size == 0)
        return false;
    switch (http_parse(parser, connection->in.bytes + connection->in.start, size)) {
    case HTTP_DONE:
        begin(connection);
        return true;
    case HTTP_REFUSED:
        refusal = http_refusal(parser->refusal);
        http_connection_refuse(connection, refusal->status, refusal->code, refusal->detail);
        return true;
    case HTTP_MORE:
        if (!connection->said_continue && http_expects_continue(parser, size))
            say_continue(connection);
        break;
    }
    return false;
}

/* Nothing more will come, and what has come is no request: goes once its answers are sent. Or
 * the client does not wait for its answer any more. */
static void meet_end(struct http_connection *connection)
{
    if (connection->state == HTTP_READING && !connection->readable && !connection->wants_write)
        http_connection_finish(connection);
    else if (connection->state == HTTP_SUSPENDED || connection->state == HTTP_STREAMING)
        http_connection_close(connection);
}

/* Reads and begins. True: something was begun or refused, and a flush may
 * make more possible. */
static bool consume(struct http_connection *connection, int *reads)
{
    bool is_worth_a_flush = false;

    while (connection->state == HTTP_READING && !connection->wants_write) {
        if (take_request(connection)) {
            is_worth_a_flush = true;
            if (http_buffer_size(&connection->out) > GATHERED_MAX)
                break;
            continue;
        }
        if (!connection->readable)
            break;
        if (++*reads > READS_PER_TURN) {
            http_connection_mark(connection);
            break;
        }
        switch (http_io_read(connection)) {
        case HTTP_IO_SOME:
        case HTTP_IO_NOTHING:
            break;
        case HTTP_IO_END:
            connection->eof = true;
            connection->readable = false;
            break;
        case HTTP_IO_BROKEN:
            http_connection_close(connection);
            break;
        }
    }
    return is_worth_a_flush;
}

/* ---- rest ------------------------------------------------------------------------------ */

/* Which deadline the connection has until the next event. */
static void set_deadline(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    struct http_deadline *deadline = &connection->deadline;

    if (connection->state == HTTP_LINGERING)
        return;
    if (connection->state == HTTP_STREAMING) {
        if (deadline->list != &server->unread)
            http_deadline_remove(deadline);
    } else if (http_buffer_size(&connection->out) > 0) {
        /* Any progress counts: a slow reader is not a stalled one. */
        if (deadline->list != &server->stall || connection->stall_sent != connection->sent)
            http_deadline_set(&server->stall, deadline, server->now_ns);
        connection->stall_sent = connection->sent;
    } else if (connection->state != HTTP_READING) {
        http_deadline_remove(deadline);
    } else if (http_buffer_size(&connection->in) > 0 ||
               (connection->peer.ssl && connection->read_ns == 0)) {
        /* From the first byte on: bytes that trickle in buy no time. */
        if (deadline->list != &server->head)
            http_deadline_set(&server->head, deadline, server->now_ns);
    } else {
        http_deadline_set(connection->is_known ? &server->known : &server->idle, deadline,
                          server->now_ns);
    }
}

void http_connection_advance(struct http_connection *connection)
{
    struct http_pool *pool = &connection->server->pool;
    int reads = 0;

    connection->is_advancing = true;
    do
        flush(connection);
    while (consume(connection, &reads));
    /* The end of a TLS client may be a record, and nothing is read while a request is open. */
    if (connection->peer.ssl && connection->readable &&
        (connection->state == HTTP_SUSPENDED || connection->state == HTTP_STREAMING))
        http_io_look_for_end(connection);
    if (connection->eof)
        meet_end(connection);
    flush(connection);
    linger(connection);
    connection->is_advancing = false;
    if (connection->state == HTTP_CLOSED)
        return;
    if (connection->state > HTTP_ANSWERED)
        http_buffer_clear(pool, &connection->in); /* no request will be taken from it */
    http_buffer_park(pool, &connection->in);
    http_buffer_park(pool, &connection->out);
    set_deadline(connection);
    if (connection->unsent != connection->out.capacity)
        http_room_count_unsent(connection);
}

/* Each handshake waits for its turn, so that a flood of them leaves others theirs. */
static void queue_handshake(struct http_connection *connection)
{
    struct http_server *server = connection->server;

    if (connection->eof)
        http_connection_close(connection); /* no use in going on */
    else if (!connection->handshake.list)
        http_deadline_set(&server->handshakes, &connection->handshake, server->now_ns);
    loop_again(server->loop);
}

static void ready(struct loop_source *source, uint32_t events)
{
    struct http_connection *connection = (struct http_connection *)(void *)source;

    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        connection->readable = true;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        connection->eof = true;
    if (events & EPOLLOUT)
        http_io_writable(connection);
    if (connection->peer.ssl && http_tls_is_new(connection->peer.ssl))
        queue_handshake(connection);
    else
        http_connection_advance(connection);
}
