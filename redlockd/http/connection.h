/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One connection: bytes in, one exchange at a time, bytes out, and its end.
 *
 *     READING --request--> SUSPENDED --answer--> READING (or ANSWERED until a byte is sent)
 *        |                     '--stream--> STREAMING --end--> ENDING --all sent--.
 *        '--refused, last answer, nothing more to come----------------> CLOSING <-'
 *     CLOSING --all sent--> LINGERING --the client has closed, too, or 2 s--> CLOSED
 *     every state --the client is gone, or takes too long--> CLOSED
 *
 *     state      due (enum http_due)            what is over then
 *     READING    HEAD from the first byte on, or    408; a TLS handshake is closed
 *                IDLE, or KNOWN                     closed
 *     SUSPENDED  none: the handler's time
 *     STREAMING  UNREAD once bytes are sent         closed if the client has taken none of them
 *     LINGERING  LINGER                             closed
 *     any        STALL while bytes wait             closed if none of them was sent
 *
 * What makes it go on is an event of its socket, a call of http/server.h by a handler, or a
 * deadline. Each ends in http_connection_advance(), which takes step after step through the
 * picture until one would have to wait.
 *
 * The socket is watched edge-triggered, registered once for reading and for the client's end: a
 * request that is suspended and continued costs no system call. `readable` remembers an edge
 * that was not used yet. Only a full socket is watched for writing, as long as it is full: a
 * unix socket reports every read of its peer otherwise.
 *
 * LINGERING: closing a socket with unread bytes would reset the connection, and the client may
 * lose the answer with the reason why its request was refused. So the sending side is closed
 * first, and what still comes is thrown away for a moment.
 */
#ifndef REDLOCKD_HTTP_CONNECTION_H
#define REDLOCKD_HTTP_CONNECTION_H

#include "base/pooled.h"
#include "base/spans.h"
#include "http/parse.h"
#include "http/server.h"
#include "system/loop.h"

enum http_state {
    HTTP_READING,
    HTTP_SUSPENDED,
    HTTP_ANSWERED,
    HTTP_STREAMING,
    HTTP_ENDING,
    HTTP_CLOSING,
    HTTP_LINGERING,
    HTTP_CLOSED,
};

/* The lists of a server, in the order in which those that are over are looked at. */
enum http_due {
    HTTP_DUE_HEAD,   /* from the first byte of a request, or of a handshake, to its last */
    HTTP_DUE_IDLE,   /* without a request */
    HTTP_DUE_KNOWN,  /* the same, of a client that a rule has allowed something */
    HTTP_DUE_STALL,  /* the client takes nothing of what waits for it */
    HTTP_DUE_LINGER, /* the client closes as well */
    HTTP_DUE_UNREAD, /* of streams: the client takes nothing of what the kernel has for it */
    HTTP_DUE_COUNT,
    HTTP_DUE_NONE = HTTP_DUE_COUNT, /* no deadline */
};

struct http_connection {
    struct loop_source source;
    struct http_exchange exchange;
    struct http_server *server;
    struct rl_deadline deadline;
    struct rl_deadline handshake;      /* in server->handshakes: there is more of one */
    struct http_connection *next_free; /* in server->closed or server->free once CLOSED */
    struct http_peer peer;
    struct rl_pooled in;
    struct rl_pooled out;
    uint64_t written;    /* bytes queued since the connection was accepted */
    uint64_t sent;       /* of them taken by the kernel */
    uint64_t stall_sent; /* `sent` when the deadline for a stalled client was set */
    long untaken;        /* STREAMING: what http_untaken() would be if nothing had been taken
                            since its deadline was set */
    int64_t read_ns;     /* when bytes were read last; 0: never */
    uint32_t lingered;   /* bytes thrown away */
    uint32_t unsent;     /* bytes of memory for what was not sent, as server->unsent has them */
    enum http_state state;
    bool readable;     /* an edge of epoll that was not used up */
    bool eof;          /* the client has closed its sending side */
    bool wants_write;  /* the socket is full, and watched for room */
    bool is_broken;    /* to be closed in that turn, whatever its state */
    bool is_advancing; /* http_connection_advance() is on the stack: it will see what changed */
    bool is_known;     /* a request of it was allowed by a rule */
    bool has_sent_continue; /* 100 Continue was sent for the request that is being read */
    struct http_parser parser;
};

/*
 * Prepares a connection for an accepted socket, whose owner it becomes on success. 0, or -1.
 */
int http_connection_open(struct http_connection *connection, struct http_server *server, int fd,
                         const struct http_peer *peer);

/* Reads, begins and writes as far as it gets without waiting. */
void http_connection_advance(struct http_connection *connection);

/* Its deadline is over. */
void http_connection_expire(struct http_connection *connection);

/*
 * CLOSED: nothing of it is left but its memory, which goes back to the server. An exchange that
 * is open ends as gone.
 */
void http_connection_close(struct http_connection *connection);

/* Whose deadline this is. */
static inline struct http_connection *http_connection_of(struct rl_deadline *deadline)
{
    return (struct http_connection *)(void *)((char *)deadline -
                                              offsetof(struct http_connection, deadline));
}

/* A handler has a request of it. */
static inline bool http_is_open(const struct http_connection *connection)
{
    return connection->state >= HTTP_SUSPENDED && connection->state <= HTTP_ENDING;
}

#endif
