/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/link.h"

#include "base/time.h"
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
    link->term_number = 0;
    link->deadline_ns = now_ns + link->connect_timeout_ns;
    switch (link->role) {
    case RL_LINK_NODE:
        link->session = &node->session;
        rl_engine_connecting(link->engine, link->node, now_ns);
        return;
    case RL_LINK_SUBSCRIBER:
        link->session = &node->subscriber.session;
        rl_subscriber_connecting(link->engine, link->node, now_ns);
        return;
    case RL_LINK_ELECTOR:
        link->session = &node->elected->home->session[link->elector];
        rl_elected_connecting(link->engine, link->node, link->elector, now_ns);
        return;
    }
}

const char *rl_link_choose(struct rl_link *link)
{
    struct rl_node *node = &link->engine->node[link->node];
    struct rl_elected *elected = node->elected;

    if (!elected || link->role == RL_LINK_ELECTOR)
        return "";
    if (!elected->electors.term.owner[0])
        return NULL;
    link->term_number = elected->electors.term_number;
    if (link->role == RL_LINK_NODE && elected->term_number != link->term_number) {
        elected->term_number = link->term_number;
        rl_term_write(&elected->electors.term, node->session.guard.term);
        node->session.guard.attestation_names_term = elected->electors.term.id[0] != '\0';
        rl_guard_forget_clock(&node->session.guard);
    }
    return elected->electors.term.owner;
}

void rl_link_connected(struct rl_link *link, int64_t now_ns)
{
    struct rl_node *node = &link->engine->node[link->node];

    link->state = RL_LINK_UP;
    if (link->role != RL_LINK_NODE)
        return;
    node->connected = true;
    node->connected_ns = now_ns;
    node->connects++;
    if (link->engine->trace)
        rl_trace_node(link->engine, link->node, NULL, 0, "node", "connected");
}

int rl_link_log_in(struct rl_link *link, int64_t now_ns)
{
    struct rl_session *session = link->session;
    bool was_awaited = session->awaits_password;

    if (rl_session_log_in(session) < 0)
        return -1;
    /* What was dated when the connection began leaves only now. */
    if (was_awaited && session->clock_requested_ns != 0)
        session->clock_requested_ns = now_ns;
    if (was_awaited && link->role == RL_LINK_NODE)
        link->engine->node[link->node].connected_ns = now_ns;
    return 0;
}

void rl_link_failed(struct rl_link *link, enum redlock_vote vote, enum redlock_reason reason,
                    const char *text, int64_t now_ns)
{
    uint32_t random = link->engine->random(link->engine->random_data);
    int64_t bound_ns = RETRY_FIRST_NS;

    link->state = RL_LINK_DOWN;
    link->failure_count++;
    for (uint32_t i = 1; i < link->failure_count && bound_ns < RETRY_MAX_NS; i++)
        bound_ns *= 2;
    if (bound_ns > RETRY_MAX_NS)
        bound_ns = RETRY_MAX_NS;
    link->retry_at_ns = now_ns + bound_ns / 2 + bound_ns / 2 * (int64_t)(random >> 16) / 65536;
    switch (link->role) {
    case RL_LINK_NODE:
        rl_engine_disconnected(link->engine, link->node, vote, reason, text, now_ns);
        return;
    case RL_LINK_SUBSCRIBER:
        rl_subscriber_disconnected(link->engine, link->node);
        return;
    case RL_LINK_ELECTOR:
        rl_elected_disconnected(link->engine, link->node, link->elector, vote, reason, text);
        return;
    }
}

int64_t rl_link_stall_ns(int64_t node_timeout_ns)
{
    int64_t stall_ns = node_timeout_ns * STALL_NODE_TIMEOUTS;

    return stall_ns > STALL_MIN_NS ? stall_ns : STALL_MIN_NS;
}
