/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to the nodes, and what the client knows without asking them. */
#ifndef REDLOCK_NODE_ASK_H
#define REDLOCK_NODE_ASK_H

#include "client.h"

/*
 * ask(external, key, what, name, fingerprint) -> 0, or a negative error. An event with this key
 * brings the answer. What: 0 query, 1 break, 2 list, 3 ping.
 */
napi_value ask(napi_env env, napi_callback_info info);

napi_value ask_nodes(napi_env env, napi_callback_info info);  /* nodes(external) -> [...] */
napi_value ask_stats(napi_env env, napi_callback_info info);  /* stats(external) -> {...} */
napi_value ask_quorum(napi_env env, napi_callback_info info); /* quorumOf(external, name) */

#endif
