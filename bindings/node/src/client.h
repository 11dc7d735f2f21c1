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
    redlock_lock **locks; /* handles by the index that JavaScript gave them */
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

/* ---- locks ------------------------------------------------------------------------------- */

/*
 * JavaScript chooses an index for each handle and uses it again once it has dropped that: no
 * event of a freed handle comes. The index is the `data` of the request, so every event names
 * its lock.
 */

/*
 * start(external, index, name, moreNames, ttl, wait, kind, flags, slots, owner, label,
 * maxExtensions, maxHold) -> 0, or a negative error
 */
napi_value lock_start(napi_env env, napi_callback_info info);

/* extend(external, index, ttl), release(external, index) -> 0 or a negative error */
napi_value lock_extend(napi_env env, napi_callback_info info);
napi_value lock_release(napi_env env, napi_callback_info info);

/* drop(external, index, leave): frees the handle; a wait is canceled, and a held lock is given
 * up, or left */
napi_value lock_drop(napi_env env, napi_callback_info info);

/*
 * number(external, index, which): remaining time, state, fence and others, as returned by
 * lib/core.js
 */
napi_value lock_number(napi_env env, napi_callback_info info);

/*
 * report(external, index) -> the report of the last operation; value(external, index) -> text
 */
napi_value lock_report(napi_env env, napi_callback_info info);
napi_value lock_value(napi_env env, napi_callback_info info);

/* ---- requests to the nodes, and what the client knows without any ---------------- */

/*
 * startJob(external, key, what, name, fingerprint) -> 0, or a negative error. An event with
 * this key brings the answer. What: 0 query, 1 break, 2 list, 3 ping, 4 replicate.
 */
napi_value start_job(napi_env env, napi_callback_info info);

napi_value get_nodes(napi_env env, napi_callback_info info);  /* nodes(external) -> [...] */
napi_value get_stats(napi_env env, napi_callback_info info);  /* stats(external) -> {...} */
napi_value get_quorum(napi_env env, napi_callback_info info); /* quorumOf(external, name) */

/* ---- options ----------------------------------------------------------------------------- */

enum { OPTION_TEXTS = 16 };

/*
 * Read from an object of JavaScript with the names of lib/client.js. Owns everything that
 * `options` points to.
 */
struct options {
    redlock_options options;
    char **nodes;
    char *texts[OPTION_TEXTS];
    redlock_quorum quorums[REDLOCK_QUORUMS_MAX];
};

void options_read(napi_env env, napi_value object, struct options *out);
void options_free(struct options *o);

#endif
