/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles of locks, which JavaScript knows by their index. An index is used again once its handle was
 * freed; the generation tells the holds of one index apart. Indexes stay taken until all events of
 * the turn in which they ended are delivered.
 */
#ifndef REDLOCK_NODE_HOLD_H
#define REDLOCK_NODE_HOLD_H

#include "client.h"

struct hold {
    struct client *client;
    redlock_lock *lock; /* NULL: idle, or ended */
    uint32_t index;
    uint32_t generation;
    char *said;      /* about the last operation that failed; NULL: none has */
    char *lost_said; /* why the lock was lost */
    struct hold *next;
};

/*
 * start(external, name, moreNames, ttl, wait, kind, flags, slots, owner, label, maxExtensions,
 * maxHold, tellsQueue) -> generation * 2^20 + index, or a negative error
 */
napi_value hold_start(napi_env env, napi_callback_info info);

/* extend(external, index, ttl), release(external, index) -> 0 or a negative error */
napi_value hold_extend(napi_env env, napi_callback_info info);
napi_value hold_release(napi_env env, napi_callback_info info);

/* cancel(external, index); drop(external, index): frees the handle, and a held lock is given up */
napi_value hold_cancel(napi_env env, napi_callback_info info);
napi_value hold_drop(napi_env env, napi_callback_info info);

/* number(external, index, which): remaining time, state, fence and others, as told by lib/lock.js */
napi_value hold_number(napi_env env, napi_callback_info info);

/* told(external, index, ofLoss) -> {said, report fields}; value(external, index) -> text */
napi_value hold_told(napi_env env, napi_callback_info info);
napi_value hold_value(napi_env env, napi_callback_info info);

void holds_recycle(struct client *c);
void holds_free(struct client *c); /* of a client that is closed */

#endif
