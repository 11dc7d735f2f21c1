/* SPDX-License-Identifier: BSD-2-Clause */
/* What the nodes said, as objects of JavaScript; lib/index.d.ts describes them. */
#ifndef REDLOCK_NODE_TOLD_H
#define REDLOCK_NODE_TOLD_H

#include "values.h"

#include <redlock.h>

/* {nodes: [...], holder, waiters, quorum}; without a report, as of no nodes. */
napi_value told_report(napi_env env, const redlock_report *report);
napi_value told_info(napi_env env, const redlock_info *info);
napi_value told_node(napi_env env, const redlock_node_info *node);
napi_value told_stats(napi_env env, const redlock_stats *stats);

#endif
