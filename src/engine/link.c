/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/link.h"

#include "core/time.h"
#include "engine/trace.h"

/* Delay before connecting again: random in the upper half of a bound that doubles. */
#define RETRY_FIRST_NS (20 * RL_NS_PER_MS)
#define RETRY_MAX_NS (1000 * RL_NS_PER_MS)

#define STALL_MIN_NS (1000 * RL_NS_PER_MS)
#define STALL_NODE_TIMEOUTS 2

void rl_link_connecting(struct rl_link *link, int64_t now_ns)
{
    struct rl_node *node = &link->engine->node[link->node];

    link->state = RL_LINK_CONNECTING;
    link->session = link->is_subscriber ? &node->subscriber.session : &node->session;
    link->deadline_ns = now_ns + link->connect_timeout_ns;
    if (link->is_subscriber)
        rl_subscriber_connecting(link->engine, link->node, now_ns);
    else
        rl_engine_connecting(link->engine, link->node, now_ns);
}

void rl_link_connected(struct rl_link *link, int64_t now_ns)
{
    struct rl_node *node = &link->engine->node[link->node];

    link->state = RL_LINK_UP;
    if (link->is_subscriber)
        return;
    node->connected = true;
    node->connected_ns = now_ns;
    node->connects++;
    if (link->engine->trace)
        rl_trace_node(link->engine, link->node, NULL, 0, "node", "connected");
}

static int64_t retry_delay_ns(const struct rl_link *link)
{
    int64_t bound_ns = RETRY_FIRST_NS;

    for (uint32_t i = 1; i < link->failure_count && bound_ns < RETRY_MAX_NS; i++)
        bound_ns *= 2;
    if (bound_ns > RETRY_MAX_NS)
        bound_ns = RETRY_MAX_NS;
    return bound_ns / 2 + bound_ns / 2 *
                              (int64_t)(link->engine->random(link->engine->random_data) >> 16) /
                              65536;
}

void rl_link_failed(struct rl_link *link, enum redlock_vote vote, enum redlock_reason reason,
                    const char *text, int64_t now_ns)
{
    link->state = RL_LINK_DOWN;
    link->failure_count++;
    link->retry_at_ns = now_ns + retry_delay_ns(link);
    if (link->is_subscriber)
        rl_subscriber_disconnected(link->engine, link->node);
    else
        rl_engine_disconnected(link->engine, link->node, vote, reason, text, now_ns);
}

int64_t rl_link_stall_ns(int64_t node_timeout_ns)
{
    int64_t stall_ns = node_timeout_ns * STALL_NODE_TIMEOUTS;

    return stall_ns > STALL_MIN_NS ? stall_ns : STALL_MIN_NS;
}
