/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of http/server.h that are about one exchange: its twin is that header. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "http/io.h"
#include "http/server_internal.h"
#include "io/clock.h"

#define HTTP_PROBLEM_MAX 512 /* bytes of the body of http_answer_problem() */

static struct http_connection *of(const struct http_exchange *exchange)
{
    return (struct http_connection *)(void *)((const char *)exchange -
                                              offsetof(struct http_connection, exchange));
}

/* Inside http_connection_advance() what was queued is seen without help. */
static void wake(struct http_connection *connection)
{
    if (!connection->is_advancing)
        http_connection_mark(connection);
}

int http_request_field(const struct http_request *request, const char *name,
                       struct rl_span *value)
{
    return http_field(request->parser, request->head, name, value);
}

bool http_request_has_like(const struct http_request *request, const char *prefix)
{
    return http_has_field_like(request->parser, request->head, prefix);
}

void http_set_op(struct http_exchange *exchange, unsigned op)
{
    of(exchange)->op = (uint8_t)op;
}

static void count(struct http_connection *connection, int status)
{
    http_tally_add(&connection->server->tally, connection->op, status,
                   rl_now_ns() - connection->began_ns);
}

void http_set_completion(struct http_exchange *exchange, struct http_completion *completion)
{
    exchange->completion = completion;
}

void http_set_known(struct http_exchange *exchange)
{
    of(exchange)->is_known = true;
}

const struct http_peer *http_exchange_peer(const struct http_exchange *exchange)
{
    return &of(exchange)->peer;
}

/* Nothing can be written: the client gets no answer, and the handler hears that. */
static void give_up(struct http_connection *connection)
{
    connection->is_broken = true;
    http_connection_mark(connection);
}

/* The head, and room for the body behind it; NULL: out of memory. */
static char *write_head(struct http_connection *connection, const struct http_head *head)
{
    size_t extra_size = head->extra ? strlen(head->extra) : 0;
    char *room;
    size_t size;

    assert(extra_size <= HTTP_EXTRA_MAX);
    assert(!head->type || strlen(head->type) <= HTTP_TYPE_MAX);
    room = http_connection_room(connection, HTTP_HEAD_ROOM + extra_size + head->body_size);
    if (!room)
        return NULL;
    size = http_head_write(room, head);
    http_connection_commit(connection, size);
    return room + size;
}

/* The connection goes on, or ends; at once if no handler waits for the first byte. */
static void conclude(struct http_connection *connection)
{
    if (connection->exchange.completion)
        http_connection_set_state(connection, HTTP_ANSWERED);
    else if (connection->is_last)
        http_connection_finish(connection);
    else
        http_connection_set_state(connection, HTTP_READING);
    wake(connection);
}

void http_answer(struct http_exchange *exchange, const struct http_answer *answer)
{
    struct http_connection *connection = of(exchange);
    struct http_server *server = connection->server;
    struct http_head head = {
        .status = answer->status,
        .date = server->date,
        .type = answer->type,
        .extra = answer->extra,
        .body_size = answer->body_size,
        .has_length = answer->status != 204,
    };
    char *body;

    assert(connection->state == HTTP_SUSPENDED);
    if (answer->body_size > HTTP_ANSWER_MAX) {
        http_answer_problem(exchange, 500, "ANSWER_TOO_LARGE", "ask for less at a time", NULL);
        return;
    }
    connection->is_last = connection->is_last || server->is_draining;
    connection->answer_mark = connection->written;
    head.is_last = connection->is_last;
    body = write_head(connection, &head);
    if (!body && answer->body_size > HTTP_PROBLEM_MAX) {
        http_answer_problem(exchange, 500, "OUT_OF_MEMORY", "there is no memory for the answer",
                            NULL);
        return;
    }
    count(connection, answer->status);
    if (!body) {
        give_up(connection);
        return;
    }
    if (answer->body_size > 0 && !connection->is_head) {
        memcpy(body, answer->body, answer->body_size);
        http_connection_commit(connection, answer->body_size);
    }
    conclude(connection);
}

void http_answer_problem(struct http_exchange *exchange, int status, const char *code,
                         const char *detail, const char *extra)
{
    char body[HTTP_PROBLEM_MAX];
    int size =
        snprintf(body, sizeof body, "{\"code\":\"%s\",\"detail\":\"%s\"}\n", code, detail);

    assert(size > 0 && (size_t)size < sizeof body);
    http_answer(exchange, &(struct http_answer){.status = status,
                                                .type = "application/problem+json",
                                                .extra = extra,
                                                .body = body,
                                                .body_size = (size_t)size});
}

void http_drop(struct http_exchange *exchange)
{
    struct http_connection *connection = of(exchange);

    assert(connection->state == HTTP_SUSPENDED);
    exchange->completion = NULL;
    http_connection_finish(connection);
    wake(connection);
}

/* ---- streams --------------------------------------------------------------------------- */

void http_stream_begin(struct http_exchange *exchange)
{
    struct http_connection *connection = of(exchange);
    struct http_head head = {
        .status = 200,
        .date = connection->server->date,
        .type = "text/event-stream",
        /* nginx would keep the events until it has a page of them. */
        .extra = "X-Accel-Buffering: no\r\n",
        .is_last = true,
    };

    count(connection, head.status);
    assert(connection->state == HTTP_SUSPENDED);
    if (!write_head(connection, &head)) {
        give_up(connection);
        return;
    }
    connection->is_last = true;
    http_connection_set_state(connection, HTTP_STREAMING);
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
    if (http_buffer_size(&connection->out) + size > HTTP_STREAM_BACKLOG) {
        give_up(connection);
        return false;
    }
    room = http_connection_room(connection, size);
    if (!room) {
        give_up(connection);
        return false;
    }
    memcpy(room, bytes, size);
    http_connection_commit(connection, size);
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
    http_connection_set_state(connection, HTTP_ENDING);
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
    return http_io_untaken(of(exchange));
}
