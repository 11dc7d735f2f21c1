/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The HTTP server, its loop and its clients in one process and one thread: a test sends bytes,
 * lets the loop turn until it has nothing to do, and looks. The handler answers by path:
 *     /now      at once                     /wait     never by itself: rig_answer()
 *     /echo     the body that came          /stream   begins a stream, then rig_event()
 *     /big      RIG_BIG bytes               /most     as much as an answer may have
 *     /huge     more than that              /known    at once, as allowed by a rule
 */
#ifndef REDLOCK_TESTS_RIG_H
#define REDLOCK_TESTS_RIG_H

#include "check.h"
#include "http/server.h"
#include "system/loop.h"

#include <stdbool.h>
#include <stddef.h>

#define RIG_BIG 100000
#define RIG_WAITING_MAX 4096
#define RIG_TEXT_MAX 4096

/* What waits for the end of one exchange. */
struct rig_wait {
    struct http_completion completion; /* first: that of its exchange */
    struct rig *rig;
    struct http_exchange *exchange; /* NULL: free */
};

struct rig {
    struct loop loop;
    struct http_server *server; /* NULL: freed */
    void (*end)(void);
    char address[sizeof "unix:" + 107];             /* of its socket */
    struct http_exchange *waiting[RIG_WAITING_MAX]; /* suspended or streaming, oldest first */
    size_t waiting_count;
    struct rig_wait waits[RIG_WAITING_MAX];
    size_t begun;
    bool may_break;           /* clients may see their connection reset */
    char trace[RIG_TEXT_MAX]; /* what the handler saw: "begin /wait; gone; " */
};

/* A case with the server and its handler, `rig`; `.options = {...}` of it may follow. */
#define CASE_RIG(name, ...)                                                                    \
    static void name(struct rig *rig);                                                         \
    static const struct rig_case rig_case_##name = {.intent = __VA_ARGS__};                    \
    static void run_##name(void)                                                               \
    {                                                                                          \
        name(rig_begin(&rig_case_##name.options));                                             \
    }                                                                                          \
    __attribute__((constructor)) static void register_##name(void)                             \
    {                                                                                          \
        check_register(#name, rig_case_##name.intent, run_##name, 1);                          \
    }                                                                                          \
    static void name(struct rig *rig)
struct rig_case {
    const char *intent;
    struct http_options options;
};

/* It ends with the case, or when another one begins. */
struct rig *rig_begin(const struct http_options *options);
/* The same with another handler; `end` is called before the loop is freed, and frees the
 * server. */
struct rig *rig_begin_with(const struct http_handler *handler,
                           const struct http_options *options, void (*end)(void));
void rig_end(void);

/* A non-blocking client. */
int rig_connect(struct rig *rig);
/* One that has sent this. */
int rig_request(struct rig *rig, const char *text);
/* It closes, and the server has seen that. */
void rig_disconnect(struct rig *rig, int fd);
/* One more listener, on a loopback port, which is returned. */
int rig_listen_tcp(struct rig *rig, struct http_tls_context *tls);
/* A client of that port that comes from this address of the loopback network. */
int rig_connect_tcp(int port, const char *from);
/* All of it; the loop turns where the socket is full. */
void rig_send(struct rig *rig, int fd, const char *text);
/* Turns until nothing happens any more. */
void rig_settle(struct rig *rig);
/* Turns while there are more connections than that, or fails. */
void rig_await_connections(struct rig *rig, unsigned most);
/* What the client has got since the last time; *ended: then the end. Settles first. */
const char *rig_read(struct rig *rig, int fd, bool *ended);
/* A client sends it, and has all of the answer that comes at once. */
const char *rig_exchange(struct rig *rig, int fd, const char *text);
/* Turns until the client has been sent `needle`, or fails. All that came; where connections
 * may break NULL if it ended before. */
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
