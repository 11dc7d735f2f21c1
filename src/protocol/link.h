/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the transport of a session tells the session's owner, and asks it. The engine is the owner
 * (engine/node.c, engine/subscriber.c), io/conn.c the transport; neither knows more of the other.
 */
#ifndef RL_PROTOCOL_LINK_H
#define RL_PROTOCOL_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "redlock.h"

struct rl_engine; /* nothing but a name here */

struct rl_link {
    /* A connection is being made: the session may begin. */
    void (*connecting)(struct rl_engine *owner, uint8_t node, int64_t now_ns);
    /* Bytes can flow. */
    void (*connected)(struct rl_engine *owner, uint8_t node, int64_t now_ns);
    /* It failed or broke; why. */
    void (*disconnected)(struct rl_engine *owner, uint8_t node, enum redlock_vote vote,
                         const char *text, int64_t now_ns);
    /* Bytes were put into rl_session_room(). -1: the connection must be closed. */
    int (*received)(struct rl_engine *owner, uint8_t node, size_t size, int64_t now_ns);
    /* Asked and silent for so long that it should be closed: how long, in ms; 0: it is not. */
    int64_t (*stalled_ms)(const struct rl_engine *owner, uint8_t node, int64_t now_ns);
    /* Spreads the tries to connect again. */
    uint32_t (*random)(struct rl_engine *owner);
};

#endif
