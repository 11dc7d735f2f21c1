/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client's trace: a line for every request, reply, vote and decision. Sessions and the engine
 * write what happened; the client's own trace (drive/trace.c) adds when, and to which file
 * it goes. Neither puts a password, a value, an idempotency key or a fingerprint into a line.
 */
#ifndef RL_CORE_TRACE_H
#define RL_CORE_TRACE_H

#include <stdint.h>

#include "base/slice.h"

/* What a line is about: a node, a lock, both or neither. */
struct rl_trace_subject {
    const char *address;  /* NULL: no single node */
    struct rl_slice keys; /* of the lock, with separators between several; of size 0: no lock */
    uint32_t round;       /* of the lock; 0: none */
};

struct rl_trace {
    /* The format begins with "ask", "reply", "vote", "decide" or "node". */
    void (*write)(struct rl_trace *trace, struct rl_trace_subject subject, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
};

#endif
