/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the transport of a session tells the session's owner, and asks it. The engine is the owner
 * (engine/node.c, engine/subscriber.c), io/conn.c the transport; neither knows the other.
 */
#ifndef RL_PROTOCOL_LINK_H
#define RL_PROTOCOL_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlock.h"

struct rl_link {
    /* A connection is being made: the session may begin. */
    void (*connecting)(void *owner, uint8_t node, int64_t now_ns);
    /* Bytes can flow. */
    void (*connected)(void *owner, uint8_t node, int64_t now_ns);
    /* It failed or broke; why. */
    void (*disconnected)(void *owner, uint8_t node, enum redlock_vote vote, const char *text,
                         int64_t now_ns);
    /* Bytes were put into rl_session_room(). -1: the connection must be closed. */
    int (*received)(void *owner, uint8_t node, size_t size, int64_t now_ns);
    /* Should there be a connection at all? */
    bool (*is_wanted)(const void *owner);
    /* Asked and silent for so long that it should be closed: how long, in ms; 0: it is not. */
    int64_t (*stalled_ms)(const void *owner, uint8_t node, int64_t now_ns);
    /* Spreads the tries to connect again. */
    uint32_t (*random)(void *owner);
};

#endif
