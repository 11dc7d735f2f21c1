/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subscriber connection: the second connection to a node, which only listens. It is made when
 * a lock of this client first has to wait, and shared by all waiters. Its messages only make
 * waiting shorter. The driver tells of it as of the node's other connection.
 */
#ifndef RL_ENGINE_SUBSCRIBER_H
#define RL_ENGINE_SUBSCRIBER_H

#include "protocol/link.h"
#include "protocol/session.h"

struct rl_engine;

struct rl_subscriber {
    struct rl_login login;
    struct rl_session session;
    bool is_up; /* subscribed */
};

/* The session stays down when there is no memory. */
void rl_subscriber_connecting(struct rl_engine *engine, uint8_t node, int64_t now_ns);
void rl_subscriber_disconnected(struct rl_engine *engine, uint8_t node, enum redlock_vote vote,
                                const char *text, int64_t now_ns);
int rl_subscriber_received(struct rl_engine *engine, uint8_t node, size_t size, int64_t now_ns);

/* All of it for a transport. */
extern const struct rl_link rl_subscriber_link;

#endif
