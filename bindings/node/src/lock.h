/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles of locks. JavaScript chooses an index for each and uses it again once it has dropped
 * the handle: no event of a freed handle comes. The index is the `data` of the request, so
 * every event names its lock.
 */
#ifndef REDLOCK_NODE_LOCK_H
#define REDLOCK_NODE_LOCK_H

#include "client.h"

/*
 * start(external, index, name, moreNames, ttl, wait, kind, flags, slots, owner, label,
 * maxExtensions, maxHold) -> 0, or a negative error
 */
napi_value lock_start(napi_env env, napi_callback_info info);

/* extend(external, index, ttl), release(external, index) -> 0 or a negative error */
napi_value lock_extend(napi_env env, napi_callback_info info);
napi_value lock_release(napi_env env, napi_callback_info info);

/* drop(external, index): frees the handle; a wait is canceled and a held lock is given up */
napi_value lock_drop(napi_env env, napi_callback_info info);

/*
 * number(external, index, which): remaining time, state, fence and others, as told by
 * lib/core.js
 */
napi_value lock_number(napi_env env, napi_callback_info info);

/*
 * report(external, index) -> the report of the last operation; value(external, index) -> text
 */
napi_value lock_report(napi_env env, napi_callback_info info);
napi_value lock_value(napi_env env, napi_callback_info info);

#endif
