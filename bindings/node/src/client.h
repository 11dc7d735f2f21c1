/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of the library on Node's own loop. The loop watches redlock_fd(); when it is readable,
 * redlock_process() runs, and its callbacks note what happened as events. No JavaScript runs inside of
 * them: an exception or a call back into the library cannot meet a library that is half way through a
 * turn. Afterwards one call of JavaScript delivers all events of the turn.
 */
#ifndef REDLOCK_NODE_CLIENT_H
#define REDLOCK_NODE_CLIENT_H

#include "values.h"

#include <redlock.h>
#include <uv.h>

/* What an event tells; the numbers are known to lib/core.js. */
enum event_type {
    EVENT_ACQUIRED, /* an acquisition ended */
    EVENT_EXTENDED,
    EVENT_RELEASED,
    EVENT_LOST,
    EVENT_JEOPARDY,
    EVENT_QUEUED, /* code: the place */
    EVENT_ANSWER, /* index: the key of the answer, as of a question */
    EVENT_WARNING,
};

/* Four numbers in the mailbox, which JavaScript reads as an Int32Array. */
struct event {
    int32_t type;
    int32_t index;
    int32_t code;
    int32_t generation;
};

enum { MAILBOX_EVENTS = 1024 }; /* of one call of JavaScript; the rest follows in the next */

struct hold;

struct client {
    napi_env env;
    redlock *redlock; /* NULL once it is closed */
    uv_poll_t poll;
    bool is_shut;
    int references; /* of the external value and of the poll handle: the last one frees */
    napi_async_cleanup_hook_handle hook;
    napi_async_context context;
    napi_ref deliver; /* the function that gets the number of events */
    napi_ref answers; /* the array of answers, by their keys */
    napi_ref mailbox_buffer;
    struct event *mailbox;

    struct event *events; /* not delivered yet */
    size_t event_count;
    size_t event_capacity;

    size_t pending; /* operations under way: as long as there are any, the loop is kept alive */
    uint32_t next_answer;

    struct hold **holds; /* handles by their index; hold.h */
    size_t hold_count;
    size_t hold_capacity;
    struct hold *idle;  /* free for the next acquisition */
    struct hold *ended; /* idle once the events of this turn are delivered */
};

/* open(options, mailbox, answers, deliver) -> external, or a negative error */
napi_value client_open(napi_env env, napi_callback_info info);

/* close(external): held locks are given up, which may take node_timeout_ms. Nothing is delivered. */
napi_value client_close(napi_env env, napi_callback_info info);

/* The client of an external value; NULL if it is closed. */
struct client *client_of(napi_env env, napi_value external);

/* Notes an event for the end of this turn. */
void client_note(struct client *c, enum event_type type, uint32_t index, int code,
                 uint32_t generation);

/* Notes an event with an object, under a key of its own if `key` is 0. */
void client_note_answer(struct client *c, enum event_type type, uint32_t key, int code,
                        napi_value answer);

/* An operation has begun, or ended. */
void client_begin(struct client *c);
void client_end(struct client *c);

#endif
