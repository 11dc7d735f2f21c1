/* SPDX-License-Identifier: BSD-2-Clause */
/* The structs of the library as objects of JavaScript; lib/index.d.ts describes them. */
#ifndef REDLOCK_NODE_OBJECTS_H
#define REDLOCK_NODE_OBJECTS_H

#include "values.h"

#include <redlock.h>

/*
 * What an event has beside its numbers: the fields of the report, `detail`, `address`, and of
 * an answer `info` and `names`. null: nothing.
 */
napi_value new_event(napi_env env, const redlock_event *event);

/* {nodes: [...], holder, waiterCount, quorum}; without a report, as of no nodes. */
napi_value new_report(napi_env env, const redlock_report *report);

napi_value new_node(napi_env env, const redlock_node_info *node);
napi_value new_counters(napi_env env, const redlock_counters *counters);

#endif
