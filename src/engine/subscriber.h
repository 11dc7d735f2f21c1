/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subscriber connection: the second connection to a node, which only listens. It is made when
 * a lock of this client first has to wait, and shared by all waiters. Its messages only make
 * waiting shorter. These functions are called as node.h's are for the other connection.
 */
#ifndef RL_ENGINE_SUBSCRIBER_H
#define RL_ENGINE_SUBSCRIBER_H

#include "protocol/session.h"

struct rl_engine;

struct rl_subscriber {
    struct rl_login login;
    struct rl_session session;
    bool is_up; /* subscribed */
    /* Messages that concerned no waiter of this client, in the second that began then. */
    uint32_t vain_count;
    int64_t vain_since_ns;
};

/* rl_subscriber_received(): the node floods us; it gets another connection after a long delay. */
#define RL_SUBSCRIBER_FLOODED (-2)

/* The session stays down when there is no memory. */
void rl_subscriber_connecting(struct rl_engine *engine, uint8_t node, int64_t now_ns);
void rl_subscriber_disconnected(struct rl_engine *engine, uint8_t node);
/* -1 and RL_SUBSCRIBER_FLOODED: the caller must close it and call rl_subscriber_disconnected(). */
int rl_subscriber_received(struct rl_engine *engine, uint8_t node, size_t size, int64_t now_ns);

#endif
