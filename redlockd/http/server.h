/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The HTTP layer as the rest of the daemon sees it: requests come in through begin(), answers
 * go out through http_answer(), at once or much later.
 *
 * An *exchange* is one request and its answer. A connection has at most one at a time: what a
 * client sends behind it (pipelining) stays unread until it is answered, so answers leave in
 * the order of their requests. Between begin() and its answer an exchange is *suspended*: it
 * costs the memory of the connection, no buffer (below 1 KiB without TLS), and the only event
 * that is expected is its end.
 *
 * The life of an exchange:
 *     begin()            the request is complete. Everything the request points to is gone when
 *                        begin() returns: copy what is needed later.
 *     http_answer()      or http_stream_begin(), http_stream_send()..., http_stream_end(); from
 *                        inside begin() or later. Never calls back.
 *     ended()            exactly once, of its completion:
 *                        HTTP_ENDED_SENT: a byte of the answer was given to the kernel (with
 *                        TLS: a whole record of it); a stream: all of it was.
 *                        HTTP_ENDED_GONE: the client is gone, and no byte of the answer was
 *                        sent; a stream: it broke. http_sent() returns how far it came.
 *                        HTTP_ENDED_CUT: the same, but this side closed: the client does not
 *                        read, there is no memory, or the server ends. The client may be there
 *                        and not know. The exchange must not be used afterwards.
 * An exchange without a completion is forgotten once it is answered.
 *
 * A client that takes nothing for stall_timeout_ns of what waits for it is cut off. Of a stream
 * that is also what the kernel has for it, since the events of an hour may fit in there: a
 * local client that is stopped is noticed. On TCP its machine takes them for it until its
 * buffer is full.
 *
 * Gone means: the connection broke, or the client closed its sending side (EPOLLRDHUP, or the
 * close_notify of TLS), which is how a client that was killed looks. That is noticed while the
 * exchange is suspended, whatever is unread on the connection. So a client that half-closes
 * after its request gets an answer only if the handler gives it inside begin(); request->eof
 * is true when such an end is known already, so that what must not be begun for a client that
 * may be gone is not begun.
 *
 * A handler that must know whether the client can have seen something (a grant) notes
 * http_written() before it writes it, and compares with http_sent() in ended(): errs towards
 * "seen".
 *
 * One thread. The server calls begin() and ended() from the turn of the loop only, and the
 * other calls may be made from anywhere on that thread, also from both. What they queue leaves
 * with the same turn.
 */
#ifndef REDLOCKD_HTTP_SERVER_H
#define REDLOCKD_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/slice.h"
#include "base/target.h"
#include "http/parse.h"
#include "redlock.h"

struct http_server;
struct http_exchange;
struct http_tls_context;
struct loop;
struct ssl_st;

#define HTTP_LISTENERS_MAX 16
#define HTTP_OPS_MAX 16
#define HTTP_STATUS_FIRST 200
#define HTTP_STATUS_COUNT 312           /* up to 511 */
#define HTTP_ANSWER_MAX (1u << 20)      /* bytes of the body of an answer */
#define HTTP_STREAM_BACKLOG (64u << 10) /* unsent bytes at which a stream is given up */
#define HTTP_EXTRA_MAX 512              /* bytes of additional header fields of an answer */

/* Where a request came from. */
struct http_peer {
    int listener;    /* the number that http_server_listen() was given */
    uint16_t source; /* http_room_source() */
    int fd;          /* its socket, for what else the kernel knows of the other end */
    bool is_unix;    /* then uid and gid are those of the process that connected */
    uid_t uid;
    gid_t gid;
    struct ssl_st *ssl; /* NULL: plain. The client's certificate, if any, is verified */
};

/* Valid inside begin() only, and so is all that it points to. */
struct http_request {
    enum http_method method;
    struct rl_slice path;  /* not decoded */
    struct rl_slice query; /* behind the question mark, not decoded */
    struct rl_slice body;  /* empty, or JSON by its Content-Type */
    const struct http_peer *peer;
    int64_t received_ns; /* when its last bytes were read: never before the client sent them */
    bool eof;            /* the client has closed its sending side behind this request */
    const struct http_parser *parser; /* for the functions of parse.h */
    const char *head;
};

static inline int http_request_field(const struct http_request *request, enum http_known name,
                                     struct rl_slice *value)
{
    return http_field(request->parser, request->head, name, value);
}

enum http_ended { HTTP_ENDED_SENT, HTTP_ENDED_GONE, HTTP_ENDED_CUT };

struct http_handler {
    void *context;
    void (*begin)(void *context, struct http_exchange *exchange,
                  const struct http_request *request);
};

/* What is done at the end of an exchange: a member of what the handler keeps of it. */
struct http_completion {
    void (*ended)(struct http_completion *completion, enum http_ended how);
};

/* ---- exchanges ----------------------------------------------------------------------- */

/* A request and its answer: a part of its connection. The first three are the handler's. */
struct http_exchange {
    struct http_completion *completion; /* called at the end; NULL (at first): nothing is */
    /* What it is counted as: from 1 to HTTP_OPS_MAX - 1, set inside begin(), before its answer;
     * 0 is what no handler saw. */
    uint8_t op;
    /* A rule allows it: where room is needed, its connection is kept before those of strangers
     * (http/room.h). */
    bool is_known;
    bool is_last;                 /* its answer ends the connection */
    bool is_head;                 /* the request was HEAD */
    const struct http_peer *peer; /* where the request came from */
    int64_t began_ns;             /* when the last bytes of the request were read */
    uint64_t answer_mark; /* `written` before the answer whose first byte ANSWERED waits for */
};

struct http_answer {
    int status;
    const char *type; /* NULL: no body, and no Content-Type */
    const char
        *extra; /* NULL, or whole header lines, each ended by CR LF. Never of a client's text */
    const char *body; /* copied */
    size_t body_size;
};

#define HTTP_JSON "application/json"
#define HTTP_PROBLEM "application/problem+json" /* from 400 on */

/*
 * The answer to an exchange that has none yet. 429 and 503 have Retry-After, unless `extra` is
 * there. A body beyond HTTP_ANSWER_MAX, or no memory for it, becomes a 500. The answer to HEAD
 * has the head of the answer to GET.
 */
void http_answer(struct http_exchange *exchange, const struct http_answer *answer);

/* {"code":...,"detail":...} as application/problem+json; both need no escaping. */
void http_answer_problem(struct http_exchange *exchange, int status, const char *code,
                         const char *detail, const char *extra);

/* Ends the connection without an answer: the request was not begun. */
void http_drop(struct http_exchange *exchange);

/* A stream of events: 200, text/event-stream, ended by the end of the connection. */
void http_stream_begin(struct http_exchange *exchange);

/* http_stream_begin() was called: events are sent, and no answer. */
bool http_is_stream(const struct http_exchange *exchange);

/* False: the client does not read, or there is no memory. The stream is given up: ended()
 * will get HTTP_ENDED_CUT. */
bool http_stream_send(struct http_exchange *exchange, const void *bytes, size_t size);

/* Gives the stream up without its end: ended() will get HTTP_ENDED_CUT. */
void http_stream_cut(struct http_exchange *exchange);

/* The last byte was written: closed once all is sent. */
void http_stream_end(struct http_exchange *exchange);

/* Bytes of this connection so far: queued, and taken by the kernel (TLS: in whole records). */
uint64_t http_written(const struct http_exchange *exchange);
uint64_t http_sent(const struct http_exchange *exchange);

/*
 * What the kernel still has of the bytes that were sent: 0 nothing; -1 unknown. On TCP these
 * are bytes that the client's machine has not acknowledged, whether or not the client has read
 * them. On a unix socket the client has not read them, and the memory that they take is counted
 * instead.
 */
long http_untaken(const struct http_exchange *exchange);

/* ---- the server ------------------------------------------------------------------------ */

struct http_options {
    unsigned connections_max; /* 0: HTTP_CONNECTIONS_DEFAULT */
    int64_t head_timeout_ns;  /* 0: 10 s, from the first byte of a request to its last */
    int64_t idle_timeout_ns;  /* 0: 75 s without a request */
    int64_t
        stall_timeout_ns; /* 0: 30 s without the client taking a byte of what waits for it */
};

#define HTTP_CONNECTIONS_DEFAULT 16384u

/* Counters since the start, and what is open now. */
struct http_counts {
    uint64_t accepted, requests, refused, timed_out, evicted, gone;
    unsigned connections, suspended, streams;
    unsigned by_listener[HTTP_LISTENERS_MAX]; /* connections, by the listener's number */
};

/*
 * How often each operation was answered with each status, and how long that took: from the last
 * byte of the request to the answer.
 */
struct http_tally {
    uint64_t count[HTTP_OPS_MAX][HTTP_STATUS_COUNT]; /* by status - HTTP_STATUS_FIRST */
    redlock_histogram took[HTTP_OPS_MAX];
};

/* NULL when out of memory. The loop and the handler must outlive the server. */
struct http_server *http_server_new(struct loop *loop, const struct http_handler *handler,
                                    const struct http_options *options);

/* NULL is fine. After the last turn of the loop. Closes everything; suspended exchanges
 * end as cut. */
void http_server_free(struct http_server *server);

/*
 * Accepts on a listening, non-blocking socket, which the server owns from now on, also on
 * failure. `number`, below HTTP_LISTENERS_MAX, comes back in http_peer.listener. tls: NULL for
 * plain, else it must outlive the server; cert_optional: as http_tls_new(). 0, or -1 with
 * errno.
 */
int http_server_listen(struct http_server *server, int fd, int number,
                       struct http_tls_context *tls, bool cert_optional);

/* From now on every answer ends its connection, so that clients come back elsewhere. Requests
 * are still taken, on new connections too. */
void http_server_drain(struct http_server *server);

/* Listens no more, closes connections that are idle after an answer, and the
 * others after theirs. */
void http_server_stop(struct http_server *server);

/* No request is under way: every connection is idle. */
bool http_server_is_idle(const struct http_server *server);

/* No connection is left. */
bool http_server_is_done(const struct http_server *server);

void http_server_counts(const struct http_server *server, struct http_counts *counts);
const struct http_tally *http_server_tally(const struct http_server *server);

#endif
