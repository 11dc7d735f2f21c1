/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The HTTP server, its loop and its clients in one process and one thread: a test sends bytes,
 * lets the loop turn until it has nothing to do, and looks. The handler answers by path:
 *     /now      at once                     /wait     never by itself: rig_answer()
 *     /told     at once, wants ended()      /stream   begins a stream, then rig_event()
 *     /echo     the body that came          /big      RIG_BIG bytes
 *     /most     as much as an answer may have /huge     more than that
 *     /known    at once, as allowed by a rule
 *     /careful  drops a request behind which the client has closed
 */
#ifndef REDLOCK_TESTS_RIG_H
#define REDLOCK_TESTS_RIG_H

#include "http/server.h"
#include "system/loop.h"

#include <stdbool.h>
#include <stddef.h>

#define RIG_BIG 100000
#define RIG_WAITING_MAX 4096
#define RIG_TEXT_MAX 4096

/* What waits for the end of one exchange. */
struct rig_wait {
    struct http_completion completion; /* first: what http_set_completion() is given */
    struct rig *rig;
    struct http_exchange *exchange; /* NULL: free */
};

struct rig {
    struct loop loop;
    struct http_server *server;
    char path[108];                                 /* of the unix socket */
    struct http_exchange *waiting[RIG_WAITING_MAX]; /* suspended or streaming, oldest first */
    size_t waiting_count;
    struct rig_wait waits[RIG_WAITING_MAX];
    size_t begun;
    bool may_break;           /* clients may see their connection reset */
    char trace[RIG_TEXT_MAX]; /* what the handler saw: "begin /wait; gone; " */
};

/* options: NULL for the defaults. */
void rig_open(struct rig *rig, const struct http_options *options);
/* The same with another handler, and the name of its socket inside the directory
 * of the case. */
void rig_open_with(struct rig *rig, const char *socket, const struct http_handler *handler,
                   const struct http_options *options);
void rig_close(struct rig *rig);

/* A non-blocking client. */
int rig_connect(struct rig *rig);
/* One more listener, on a loopback port, which is returned. */
int rig_listen_tcp(struct rig *rig, int number, struct http_tls_context *tls);
/* A client of that port that comes from this address of the loopback network. */
int rig_connect_tcp(int port, const char *from);
/* All of it; the loop turns where the socket is full. */
void rig_send(struct rig *rig, int fd, const char *text);
/* Turns until nothing happens any more. */
void rig_settle(struct rig *rig);
/* What the client has got since the last time; *ended: then the end. Settles first. */
const char *rig_read(struct rig *rig, int fd, bool *ended);
/* Turns until the client has been told `needle`, or fails. All that came. */
const char *rig_read_until(struct rig *rig, int fd, const char *needle);
/* Turns until the server has closed the connection, or fails. Bytes that came
 * before are dropped. */
void rig_read_end(struct rig *rig, int fd);

/* The oldest that waits. */
void rig_answer(struct rig *rig, const char *body);
bool rig_event(struct rig *rig, const char *text);

/* The trace so far, which begins anew. */
const char *rig_trace(struct rig *rig);
struct http_counts rig_counts(const struct rig *rig);

/* "GET PATH" as bytes; valid for 8 calls. */
const char *rig_get(const char *path);

#endif
