/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to a redlockd, a connection each. A call is carried on by turns that wait for
 * nothing: what holds a lock, and must end a command in time, uses it beside its other work.
 * service_fetch() waits for the answer of one.
 */
#ifndef CLI_SERVICE_CALL_H
#define CLI_SERVICE_CALL_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "service/answer.h"
#include "service/channel.h"
#include "settings/settings.h"

#define SERVICE_TOKEN_MAX 512

struct service {
    struct service_url url;
    struct channel_tls tls;        /* points into the settings */
    char token[SERVICE_TOKEN_MAX]; /* of the token file; empty: none */
    bool insecure; /* it, and lease ids, go to other machines without TLS, too */
};

struct service_request {
    const char *method, *path; /* the path is encoded */
    const char *lease, *grant; /* headers; NULL: none */
    const char *body;          /* JSON; NULL: none */
    bool is_stream;            /* the answer is to be a stream of events */
    int64_t limit_ms;          /* service_fetch(): how long it may take ... */
    int cancel_fd;             /* ... unless this becomes readable; -1: none */
};

#define SERVICE_REQUEST_MAX 4096

/* Zeroed, it is closed. */
struct service_call {
    struct channel channel;
    bool is_open;        /* begun, and neither answered nor closed */
    bool is_stream;      /* by the head of the answer */
    bool is_busy;        /* the last turn read something, and there may be more */
    int64_t limit_ns;    /* as timer_now_ns(); set by the caller, at any time */
    int64_t sent_ns;     /* before the first byte was sent; 0: nothing was */
    int64_t read_ns;     /* when bytes last came; 0: none have */
    struct rl_buffer in; /* what has come, and a NUL */
    size_t reported;     /* bytes in front of it that the last turn reported */
    size_t request_size;
    char request[SERVICE_REQUEST_MAX]; /* until it is sent */
};

/* After settings_complete(), of settings that name a service. 0, or an exit status
 * after printing why. */
int service_open(struct service *s, const struct settings *settings);
void service_close(struct service *s);

/* Begins to connect. The service and the reactor must outlive the call. */
void service_call_begin(struct service_call *call, const struct service *s,
                        struct rl_reactor *reactor, const struct service_request *q);

/*
 * One turn: what is new, valid until the next. Anything but UNDER_WAY and EVENT ends
 * the call.
 */
enum service_outcome service_call_turn(struct service_call *call, struct service_answer *a);

/* After the reactor has become readable, before a turn. */
void service_drain(struct rl_reactor *reactor);

/* Without a word to the service. */
void service_call_close(struct service_call *call);

/* Sends, waits, and fills the answer, which service_answer_free() ends. */
void service_fetch(const struct service *s, const struct service_request *q,
                   struct service_answer *a);

/* "/v1/locks/NAME", as a path of a URL. */
#define SERVICE_PATH_MAX (3 * REDLOCK_NAME_MAX + 64)
#define SERVICE_LOCKS "/v1/locks/"
#define SERVICE_BREAKS "/v1/breaks/"
#define SERVICE_ONCE "/v1/once/"
void service_path(char out[SERVICE_PATH_MAX], const char *collection, const char *name);

#endif
