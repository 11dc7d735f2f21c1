/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of the library in Node. The library's own thread drives it: locks are renewed and
 * losses are noticed whatever the loop does. The loop watches redlock_fd(), and one call of
 * JavaScript then fetches the events that wait.
 */
#ifndef REDLOCK_NODE_CLIENT_H
#define REDLOCK_NODE_CLIENT_H

#include "values.h"

#include <redlock.h>
#include <uv.h>

struct client {
    napi_env env;
    redlock *redlock; /* NULL once it is closed */
    uv_poll_t poll;
    int references; /* of the external value and of the poll handle: the last one frees */
    napi_async_cleanup_hook_handle hook;
    napi_async_context context;
    napi_ref drain; /* the function that fetches the events */
    int32_t *event; /* the fields of the event that was fetched, which lib/core.js reads */
    redlock_lock **locks; /* handles by the index that JavaScript gave them; lock.h */
    size_t lock_capacity;
};

/*
 * open(options, event, drain) -> external, or a negative error. `event` is an Int32Array for
 * type, error, index and place, which lives as long as `drain`.
 */
napi_value client_open(napi_env env, napi_callback_info info);

/*
 * close(external): held locks are given up, which may take node_timeout_ms. No event comes
 * after it.
 */
napi_value client_close(napi_env env, napi_callback_info info);

/* keepAlive(external, yes): whether the loop waits for events of this client. */
napi_value client_keep_alive(napi_env env, napi_callback_info info);

/*
 * next(external) -> undefined: no event waits; else the next one is in `event`, and the rest of
 * it is an object, or null if it has succeeded.
 */
napi_value client_next(napi_env env, napi_callback_info info);

/* The client of an external value; NULL if it is closed. */
struct client *client_of(napi_env env, napi_value external);

#endif
