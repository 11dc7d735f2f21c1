/* SPDX-License-Identifier: BSD-2-Clause */
/* What requests are counted as: http_exchange.op. */
#ifndef REDLOCKD_METRICS_OPS_H
#define REDLOCKD_METRICS_OPS_H

#include "http/server.h"

/* NONE: refused by the HTTP layer, or at a path where nothing is. */
#define OPS(X)                                                                                 \
    X(NONE, "none")                                                                            \
    X(ACQUIRE, "acquire")                                                                      \
    X(RENEW, "renew")                                                                          \
    X(RELEASE, "release")                                                                      \
    X(BREAK, "break")                                                                          \
    X(LOOK, "look")                                                                            \
    X(LEADER, "leader")                                                                        \
    X(ONCE, "once")                                                                            \
    X(LIST, "list")                                                                            \
    X(EVENTS, "events")                                                                        \
    X(NODES, "nodes")                                                                          \
    X(STATUS, "status")                                                                        \
    X(METRICS, "metrics")                                                                      \
    X(READY, "ready")                                                                          \
    X(LIVE, "live")                                                                            \
    X(FILE, "file")

enum op {
#define X(name, text) OP_##name,
    OPS(X)
#undef X
        OP_COUNT
};

_Static_assert(OP_COUNT <= HTTP_OPS_MAX, "every operation is counted");

#endif
