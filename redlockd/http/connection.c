/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/connection.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/histogram.h"
#include "base/target.h"
#include "base/time.h"
#include "http/server_internal.h"
#include "http/tls.h"
#include "io/clock.h"

#define EVENTS_READING (EPOLLIN | EPOLLRDHUP | EPOLLET)
#define READS_PER_TURN 2                  /* then other connections have a turn */
#define GATHERED_MAX (RL_BLOCK_LARGE / 2) /* bytes of answers that leave in one write */
#define LINGER_BYTES (64u << 10)
#define DISCARD_SIZE 4096
/* A write, besides what tls.h has: it failed, and nothing is known of the client. */
#define HTTP_BROKEN (-3)
#define PROBLEM_MAX 512 /* bytes of the body of http_answer_problem() */

static void set_state(struct http_connection *connection, enum http_state state)
{
    struct http_counts *counts = &connection->server->counts;

    counts->suspended += state == HTTP_SUSPENDED;
    counts->suspended -= connection->state == HTTP_SUSPENDED;
    counts->streams += state == HTTP_STREAMING;
    counts->streams -= connection->state == HTTP_STREAMING;
    connection->state = state;
}

/* HTTP_DUE_NONE: NULL. */
static struct rl_span *list_of(struct http_server *server, enum http_due due)
{
    return due == HTTP_DUE_NONE ? NULL : &server->due[due];
}

static bool is_due(const struct http_connection *connection, enum http_due due)
{
    return connection->deadline.list == list_of(connection->server, due);
}

/* Anew, from now on. */
static void set_due(struct http_connection *connection, enum http_due due)
{
    struct http_server *server = connection->server;
    struct rl_span *list = list_of(server, due);

    rl_deadline_remove(&connection->deadline);
    if (!list)
        return;
    rl_deadline_set(list, &connection->deadline, server->loop->now_ns);
    loop_due(&server->part, connection->deadline.due_ns);
}

/* It cannot go on: closed by its next turn, since its handler may be on the stack. */
static void give_up(struct http_connection *connection)
{
    connection->is_broken = true;
    loop_later(connection->server->loop, &connection->source);
}

/* ---- the end --------------------------------------------------------------------------- */

/* Once, and only to a handler that waits for it. */
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
    bool was_seen = connection->state == HTTP_ANSWERED &&
                    connection->sent > connection->exchange.answer_mark;

    if (connection->state == HTTP_CLOSED)
        return;
    set_state(connection, HTTP_CLOSED);
    rl_deadline_remove(&connection->deadline);
    rl_deadline_remove(&connection->handshake);
    loop_remove(server->loop, &connection->source);
    if (connection->peer.ssl)
        http_tls_free(connection->peer.ssl);
    connection->peer.ssl = NULL; /* a step that a failed write has closed may look again */
    close(connection->source.fd);
    rl_pooled_clear(&server->pool, &connection->in);
    rl_pooled_clear(&server->pool, &connection->out);
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
    loop_wake(&server->part);
}

/* ---- bytes ----------------------------------------------------------------------------- */

static bool is_not_now(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

/*
 * Once. HTTP_ENDED: the client has closed its sending side, or the connection broke. A plain
 * read that fills less than `size` has emptied the socket: later bytes, and the end, are a new
 * edge of epoll.
 */
static ssize_t read_some(const struct http_peer *peer, void *bytes, size_t size)
{
    ssize_t got;

    if (peer->ssl)
        return http_tls_read(peer->ssl, bytes, size);
    do
        got = recv(peer->fd, bytes, size, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && is_not_now())
        return HTTP_AGAIN;
    return got > 0 ? got : HTTP_ENDED;
}

/* Once. HTTP_AGAIN: the socket is full; HTTP_BROKEN: nothing is known of the client. */
static ssize_t write_some(const struct http_peer *peer, const void *bytes, size_t size)
{
    ssize_t sent;

    if (peer->ssl) {
        sent = http_tls_write(peer->ssl, bytes, size);
        /* In the handshake it may have to read first: the next edge continues here. */
        return sent == HTTP_ENDED ? HTTP_BROKEN : sent < 0 ? HTTP_AGAIN : sent;
    }
    do
        sent = send(peer->fd, bytes, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && !is_not_now())
        return errno == EPIPE || errno == ECONNRESET ? HTTP_ENDED : HTTP_BROKEN;
    return sent > 0 ? sent : HTTP_AGAIN;
}

/* As http_untaken(). */
static long untaken_of(const struct http_peer *peer)
{
    int bytes = 0;

    return ioctl(peer->fd, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

static void want_write(struct http_connection *connection, bool wanted)
{
    uint32_t events = wanted ? EVENTS_READING | EPOLLOUT : EVENTS_READING;

    if (connection->wants_write == wanted)
        return;
    if (loop_change(connection->server->loop, &connection->source, events) == 0)
        connection->wants_write = wanted;
    else if (wanted)
        give_up(connection); /* no event would ever continue it */
}

/*
 * Bytes that were read, or HTTP_AGAIN, or HTTP_ENDED; `readable` is true if another read makes
 * sense.
 */
static ssize_t receive(struct http_connection *connection, char *bytes, size_t size)
{
    ssize_t got = read_some(&connection->peer, bytes, size);

    if (got == HTTP_WANTS_WRITE) {
        want_write(connection, true);
        got = HTTP_AGAIN;
    }
    if (got <= 0 || (!connection->peer.ssl && (size_t)got < size))
        connection->readable = false;
    return got;
}

/* Sends what is queued. True: all of it. */
static bool flush(struct http_connection *connection)
{
    struct rl_pooled *out = &connection->out;

    while (rl_pooled_size(out) > 0) {
        ssize_t sent;

        if (connection->wants_write)
            return false;
        sent = write_some(&connection->peer, out->bytes + out->start, rl_pooled_size(out));
        if (sent == HTTP_AGAIN) {
            want_write(connection, true);
            return false;
        }
        if (sent < 0) {
            /* The client's end, noticed before its event. */
            connection->eof = connection->eof || sent == HTTP_ENDED;
            http_connection_close(connection);
            return false;
        }
        connection->sent += (uint64_t)sent;
        rl_pooled_take(out, (size_t)sent);
    }
    return true;
}

/*
 * What the kernel takes, the client may never read: the time of a stalled client begins with
 * the first bytes that find nothing before them, or only answers to earlier requests.
 */
static void flush_events(struct http_connection *connection)
{
    long before;

    if (rl_pooled_size(&connection->out) == 0 || connection->wants_write)
        return;
    before = untaken_of(&connection->peer);
    if (before < 0)
        before = 0;
    if (before == 0 || !is_due(connection, HTTP_DUE_UNREAD)) {
        connection->untaken = before;
        set_due(connection, HTTP_DUE_UNREAD);
    }
    flush(connection);
    if (connection->state != HTTP_CLOSED)
        connection->untaken += untaken_of(&connection->peer) - before;
}

/* Room for `size` bytes of output, of which all must be committed; NULL: out of memory. */
static char *reserve(struct http_connection *connection, size_t size)
{
    size_t room;

    return rl_pooled_room(&connection->server->pool, &connection->out, size, &room);
}

static void commit(struct http_connection *connection, size_t size)
{
    rl_pooled_commit(&connection->out, size);
    connection->written += size;
}

/* ---- READING --------------------------------------------------------------------------- */

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

    rl_target_split((struct rl_slice){bytes + parser->target_at, parser->target_size},
                    &request.path, &request.query);
    server->counts.requests++;
    /* It has arrived: the next one, part of which may be here, has a time of its own. */
    if (is_due(connection, HTTP_DUE_HEAD))
        set_due(connection, HTTP_DUE_NONE);
    connection->exchange = (struct http_exchange){.began_ns = connection->read_ns,
                                                  .peer = &connection->peer,
                                                  .is_last = http_is_last(parser),
                                                  .is_head = parser->method == HTTP_HEAD};
    set_state(connection, HTTP_SUSPENDED);
    server->handler.begin(server->handler.context, &connection->exchange, &request);
    connection->is_known |= connection->exchange.is_known;
    rl_pooled_take(&connection->in, size);
    http_parser_reset(parser);
    connection->has_sent_continue = false;
}

/* Answers a request that no handler has seen, and closes. */
static void refuse(struct http_connection *connection, int status, const char *code,
                   const char *detail)
{
    connection->server->counts.refused++;
    connection->exchange = (struct http_exchange){
        .began_ns = connection->read_ns, .peer = &connection->peer, .is_last = true};
    set_state(connection, HTTP_SUSPENDED);
    http_answer_problem(&connection->exchange, status, code, detail,
                        status == 405 ? "Allow: GET, HEAD, PUT, POST, DELETE\r\n" : NULL);
}

/* The client waits for permission to send the body. */
static void send_continue(struct http_connection *connection)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char *room;

    connection->has_sent_continue = true;
    room = reserve(connection, sizeof text - 1);
    if (!room)
        return; /* it will send the body all the same, after a while */
    memcpy(room, text, sizeof text - 1);
    commit(connection, sizeof text - 1);
}

/* True: a request was begun or refused. */
static bool take_request(struct http_connection *connection)
{
    struct http_parser *parser = &connection->parser;
    size_t size = rl_pooled_size(&connection->in);
    const struct http_refusal *refusal;

    if (size == 0)
        return false;
    switch (http_parse(parser, connection->in.bytes + connection->in.start, size)) {
    case HTTP_DONE:
        begin(connection);
        return true;
    case HTTP_REFUSED:
        refusal = http_refusal(parser->refusal);
        refuse(connection, refusal->status, refusal->code, refusal->detail);
        return true;
    case HTTP_MORE:
        if (!connection->has_sent_continue && http_expects_continue(parser, size))
            send_continue(connection);
        break;
    }
    return false;
}

static void fill(struct http_connection *connection)
{
    size_t size;
    char *room = rl_pooled_room_to_read(&connection->server->pool, &connection->in, &size);
    ssize_t got;

    if (!room) {
        http_connection_close(connection);
        return;
    }
    got = receive(connection, room, size);
    if (got == HTTP_ENDED)
        connection->eof = true;
    if (got <= 0)
        return;
    rl_pooled_commit(&connection->in, (size_t)got);
    connection->read_ns = rl_now_ns();
}

/* Takes one request, or reads once. True: there may be more to do. */
static bool step_reading(struct http_connection *connection, int *reads)
{
    /*
     * The answers to pipelined requests leave together, and a client that does not read them
     * gets no more of its requests begun.
     */
    if (connection->wants_write ||
        (rl_pooled_size(&connection->out) > GATHERED_MAX && !flush(connection)))
        return false;
    if (take_request(connection))
        return true;
    if (connection->readable && *reads < READS_PER_TURN) {
        ++*reads;
        fill(connection);
        return true;
    }
    if (connection->readable)
        loop_later(connection->server->loop, &connection->source);
    if (!flush(connection))
        return false;
    /* Nothing more will come, and what has come is no request. */
    if (!connection->eof || connection->readable)
        return false;
    set_state(connection, HTTP_CLOSING);
    return true;
}

/* ---- the other states -------------------------------------------------------------------- */

/*
 * The client does not wait for its answer any more. With TLS its end may be a record, and
 * nothing is read while a request is open: looked for, unless other bytes are unread before it.
 */
static bool has_gone(struct http_connection *connection)
{
    if (connection->peer.ssl && connection->readable) {
        ssize_t got = http_tls_peek(connection->peer.ssl);

        if (got == HTTP_ENDED)
            connection->eof = true;
        if (got == HTTP_WANTS_WRITE)
            want_write(connection, true);
        if (got <= 0)
            connection->readable = false;
    }
    return connection->eof;
}

/* All that was queued has been sent. */
static void shut(struct http_connection *connection)
{
    if (connection->peer.ssl)
        http_tls_close(connection->peer.ssl);
    shutdown(connection->source.fd, SHUT_WR);
    if (connection->eof) {
        http_connection_close(connection);
        return;
    }
    set_state(connection, HTTP_LINGERING);
    set_due(connection, HTTP_DUE_LINGER);
    connection->readable = true;
}

static void discard(struct http_connection *connection)
{
    char bytes[DISCARD_SIZE];

    while (connection->readable && connection->state == HTTP_LINGERING) {
        ssize_t got = receive(connection, bytes, sizeof bytes);

        connection->lingered += got > 0 ? (uint32_t)got : 0;
        if (got == HTTP_ENDED || connection->lingered > LINGER_BYTES)
            http_connection_close(connection);
    }
}

/* One step through the picture. False: the next one takes an event, a handler or a deadline. */
static bool step(struct http_connection *connection, int *reads)
{
    switch (connection->state) {
    case HTTP_READING:
        return step_reading(connection, reads);
    case HTTP_SUSPENDED:
        flush(connection); /* answers to what was pipelined before it */
        if (has_gone(connection))
            http_connection_close(connection);
        return false;
    case HTTP_ANSWERED:
        flush(connection);
        if (connection->state == HTTP_CLOSED ||
            connection->sent <= connection->exchange.answer_mark)
            return false;
        set_state(connection, connection->exchange.is_last ? HTTP_CLOSING : HTTP_READING);
        end_exchange(connection, HTTP_ENDED_SENT);
        return true;
    case HTTP_STREAMING:
        flush_events(connection);
        if (has_gone(connection))
            http_connection_close(connection);
        return false;
    case HTTP_ENDING:
        if (!flush(connection))
            return false;
        set_state(connection, HTTP_CLOSING);
        end_exchange(connection, HTTP_ENDED_SENT);
        return true;
    case HTTP_CLOSING:
        if (!flush(connection))
            return false;
        shut(connection);
        return true;
    case HTTP_LINGERING:
        discard(connection);
        return false;
    case HTTP_CLOSED:
        return false;
    }
    return false;
}

/* Which deadline the connection has until the next event. */
static enum http_due due_of(const struct http_connection *connection)
{
    if (connection->state == HTTP_LINGERING)
        return HTTP_DUE_LINGER;
    if (connection->state == HTTP_STREAMING)
        return is_due(connection, HTTP_DUE_UNREAD) ? HTTP_DUE_UNREAD : HTTP_DUE_NONE;
    if (rl_pooled_size(&connection->out) > 0)
        return HTTP_DUE_STALL;
    if (connection->state != HTTP_READING)
        return HTTP_DUE_NONE;
    if (rl_pooled_size(&connection->in) > 0 ||
        (connection->peer.ssl && connection->read_ns == 0))
        return HTTP_DUE_HEAD;
    return connection->is_known ? HTTP_DUE_KNOWN : HTTP_DUE_IDLE;
}

/*
 * Bytes of a head that trickle in buy no time. Of an answer any progress counts: a slow reader
 * is not a stalled one.
 */
static void set_deadline(struct http_connection *connection)
{
    enum http_due due = due_of(connection);
    bool begins_anew = due == HTTP_DUE_IDLE || due == HTTP_DUE_KNOWN ||
                       (due == HTTP_DUE_STALL && connection->stall_sent != connection->sent);

    if (begins_anew || !is_due(connection, due))
        set_due(connection, due);
    if (due == HTTP_DUE_STALL)
        connection->stall_sent = connection->sent;
}

void http_connection_advance(struct http_connection *connection)
{
    struct rl_pool *pool = &connection->server->pool;
    int reads = 0;

    if (connection->is_broken) {
        http_connection_close(connection);
        return;
    }
    connection->is_advancing = true;
    while (step(connection, &reads))
        continue;
    connection->is_advancing = false;
    if (connection->state == HTTP_CLOSED)
        return;
    if (connection->state > HTTP_ANSWERED)
        rl_pooled_clear(pool, &connection->in); /* no request will be taken from it */
    rl_pooled_park(pool, &connection->in);
    rl_pooled_park(pool, &connection->out);
    set_deadline(connection);
    if (connection->unsent != connection->out.capacity)
        http_room_count_unsent(connection);
}

void http_connection_expire(struct http_connection *connection)
{
    long untaken;

    if (is_due(connection, HTTP_DUE_UNREAD)) {
        untaken = untaken_of(&connection->peer);
        /*
         * Without anything to take the client needs no time; if it has taken something, it has
         * as much time again.
         */
        if (untaken <= 0 || untaken < connection->untaken) {
            connection->untaken = untaken;
            rl_deadline_remove(&connection->deadline);
            if (untaken > 0)
                set_due(connection, HTTP_DUE_UNREAD);
            return;
        }
    }
    connection->server->counts.timed_out++;
    if (is_due(connection, HTTP_DUE_HEAD) && rl_pooled_size(&connection->in) > 0) {
        rl_deadline_remove(&connection->deadline);
        refuse(connection, 408, "REQUEST_TIMEOUT", "the request did not arrive in time");
        return;
    }
    http_connection_close(connection);
}

/* ---- events of the socket ---------------------------------------------------------------- */

/* Each handshake waits for its turn, so that a flood of them leaves others theirs. */
static void queue_handshake(struct http_connection *connection)
{
    struct http_server *server = connection->server;

    if (connection->eof)
        http_connection_close(connection); /* no use in going on */
    else if (!connection->handshake.list)
        rl_deadline_set(&server->handshakes, &connection->handshake, server->loop->now_ns);
    loop_wake(&server->part);
}

static void ready(struct loop_source *source, uint32_t events)
{
    struct http_connection *connection = (struct http_connection *)(void *)source;

    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        connection->readable = true;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        connection->eof = true;
    if (events & EPOLLOUT) {
        want_write(connection, false);
        /* A handshake that had to write wants to read now. */
        connection->readable = connection->readable || connection->peer.ssl;
    }
    if (connection->peer.ssl && http_tls_is_new(connection->peer.ssl))
        queue_handshake(connection);
    else
        http_connection_advance(connection);
}

int http_connection_open(struct http_connection *connection, struct http_server *server, int fd,
                         const struct http_peer *peer)
{
    memset(connection, 0, offsetof(struct http_connection, parser));
    http_parser_reset(&connection->parser);
    connection->server = server;
    connection->peer = *peer;
    connection->source.ready = ready;
    if (loop_add(server->loop, &connection->source, fd, EVENTS_READING) < 0)
        return -1;
    /* A handshake is part of the first head. */
    set_due(connection, peer->ssl ? HTTP_DUE_HEAD : HTTP_DUE_IDLE);
    server->counts.connections++;
    server->counts.by_listener[peer->listener]++;
    server->sources[peer->source]++;
    return 0;
}

/* ---- calls of handlers: http/server.h ---------------------------------------------------- */

static struct http_connection *of(const struct http_exchange *exchange)
{
    return (struct http_connection *)(void *)((const char *)exchange -
                                              offsetof(struct http_connection, exchange));
}

/* What was queued is sent in the same turn: inside http_connection_advance() without help. */
static void wake(struct http_connection *connection)
{
    if (!connection->is_advancing)
        loop_later(connection->server->loop, &connection->source);
}

/* At most a second old. */
static const char *date(struct http_server *server, int64_t now_ns)
{
    if (now_ns - server->date_ns >= RL_NS_PER_S)
        http_server_set_date(server, now_ns);
    return server->date;
}

/* The head, and room for the body behind it; NULL: out of memory. */
static char *write_head(struct http_connection *connection, const struct http_head *head)
{
    size_t extra_size = head->extra ? strlen(head->extra) : 0;
    char *room;
    size_t size;

    assert(connection->state == HTTP_SUSPENDED);
    assert(extra_size <= HTTP_EXTRA_MAX);
    assert(!head->type || strlen(head->type) <= HTTP_TYPE_MAX);
    room = reserve(connection, HTTP_HEAD_ROOM + extra_size + head->body_size);
    if (!room)
        return NULL;
    size = http_head_write(room, head);
    commit(connection, size);
    return room + size;
}

static void count(struct http_exchange *exchange, int status, int64_t now_ns)
{
    struct http_tally *tally = &of(exchange)->server->tally;

    assert(exchange->op < HTTP_OPS_MAX && status >= HTTP_STATUS_FIRST &&
           status < HTTP_STATUS_FIRST + HTTP_STATUS_COUNT);
    tally->count[exchange->op][status - HTTP_STATUS_FIRST]++;
    rl_histogram_add(&tally->took[exchange->op], now_ns - exchange->began_ns);
}

/* What may pass in a moment gets Retry-After, if the answer has no field of its own. */
static const char *fields_of(const struct http_answer *answer)
{
    bool may_pass = answer->status == 429 || answer->status == 503;

    return answer->extra || !may_pass ? answer->extra : "Retry-After: 1\r\n";
}

void http_answer(struct http_exchange *exchange, const struct http_answer *answer)
{
    struct http_connection *connection = of(exchange);
    struct http_server *server = connection->server;
    int64_t now_ns = rl_now_ns();
    struct http_head head = {
        .status = answer->status,
        .date = date(server, now_ns),
        .type = answer->type,
        .extra = fields_of(answer),
        .body_size = answer->body_size,
        .has_length = answer->status != 204,
        .is_last = exchange->is_last || server->is_draining,
    };
    char *body;

    if (answer->body_size > HTTP_ANSWER_MAX) {
        http_answer_problem(exchange, 500, "ANSWER_TOO_LARGE", "request less at a time", NULL);
        return;
    }
    exchange->is_last = head.is_last;
    exchange->answer_mark = connection->written;
    body = write_head(connection, &head);
    if (!body && answer->body_size > PROBLEM_MAX) {
        http_answer_problem(exchange, 500, "NOMEM", "there is no memory for the answer", NULL);
        return;
    }
    count(exchange, answer->status, now_ns);
    if (!body) {
        give_up(connection);
        return;
    }
    if (answer->body_size > 0 && !exchange->is_head) {
        memcpy(body, answer->body, answer->body_size);
        commit(connection, answer->body_size);
    }
    /* Done at once, if no handler waits for the first byte. */
    set_state(connection, exchange->completion ? HTTP_ANSWERED
                          : exchange->is_last  ? HTTP_CLOSING
                                               : HTTP_READING);
    wake(connection);
}

void http_answer_problem(struct http_exchange *exchange, int status, const char *code,
                         const char *detail, const char *extra)
{
    char body[PROBLEM_MAX];
    int size =
        snprintf(body, sizeof body, "{\"code\":\"%s\",\"detail\":\"%s\"}\n", code, detail);

    assert(size > 0 && (size_t)size < sizeof body);
    http_answer(exchange, &(struct http_answer){.status = status,
                                                .type = HTTP_PROBLEM,
                                                .extra = extra,
                                                .body = body,
                                                .body_size = (size_t)size});
}

void http_drop(struct http_exchange *exchange)
{
    struct http_connection *connection = of(exchange);

    assert(connection->state == HTTP_SUSPENDED);
    exchange->completion = NULL;
    set_state(connection, HTTP_CLOSING);
    wake(connection);
}

void http_stream_begin(struct http_exchange *exchange)
{
    struct http_connection *connection = of(exchange);
    int64_t now_ns = rl_now_ns();
    struct http_head head = {
        .status = 200,
        .date = date(connection->server, now_ns),
        .type = "text/event-stream",
        /* nginx would keep the events until it has a page of them. */
        .extra = "X-Accel-Buffering: no\r\n",
        .is_last = true,
    };

    count(exchange, head.status, now_ns);
    if (!write_head(connection, &head)) {
        give_up(connection);
        return;
    }
    set_state(connection, HTTP_STREAMING);
    wake(connection);
}

bool http_is_stream(const struct http_exchange *exchange)
{
    return of(exchange)->state == HTTP_STREAMING;
}

bool http_stream_send(struct http_exchange *exchange, const void *bytes, size_t size)
{
    struct http_connection *connection = of(exchange);
    char *room;

    if (connection->is_broken)
        return false;
    assert(connection->state == HTTP_STREAMING);
    room = rl_pooled_size(&connection->out) + size > HTTP_STREAM_BACKLOG
               ? NULL
               : reserve(connection, size);
    if (!room) {
        give_up(connection);
        return false;
    }
    memcpy(room, bytes, size);
    commit(connection, size);
    wake(connection);
    return true;
}

void http_stream_cut(struct http_exchange *exchange)
{
    give_up(of(exchange));
}

void http_stream_end(struct http_exchange *exchange)
{
    struct http_connection *connection = of(exchange);

    if (connection->is_broken)
        return;
    assert(connection->state == HTTP_STREAMING);
    set_state(connection, HTTP_ENDING);
    wake(connection);
}

uint64_t http_written(const struct http_exchange *exchange)
{
    return of(exchange)->written;
}

uint64_t http_sent(const struct http_exchange *exchange)
{
    return of(exchange)->sent;
}

long http_untaken(const struct http_exchange *exchange)
{
    return untaken_of(&of(exchange)->peer);
}
