/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/time.h"
#include "core/rules.h"
#include "engine/engine.h"

/*
 * A message for a waiter that has just left is nothing unusual; thousands in a second are, and
 * each costs time that renewals and other nodes need. Waiters look by their timers meanwhile.
 */
#define VAIN_PER_SECOND_MAX 4096

void rl_subscriber_connecting(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_subscriber *subscriber = &engine->node[node].subscriber;

    if (!subscriber->session.input) {
        subscriber->login = engine->node[node].login;
        subscriber->login.channel = engine->channel;
        if (rl_session_init(&subscriber->session, &subscriber->login) < 0)
            return;
        subscriber->session.trace = engine->trace;
        subscriber->session.address = engine->node[node].address;
    }
    if (rl_session_begin(&subscriber->session, now_ns) < 0)
        rl_session_end(&subscriber->session);
}

void rl_subscriber_disconnected(struct rl_engine *engine, uint8_t node)
{
    struct rl_subscriber *subscriber = &engine->node[node].subscriber;
    struct rl_pending pending;

    rl_session_end(&subscriber->session);
    while (rl_pending_pop(&subscriber->session.pending, &pending))
        ;
    if (subscriber->is_up)
        engine->subscriber_count--;
    subscriber->is_up = false;
}

/* Digits up to the end or to what follows them; -1: none. */
static int64_t read_number(struct rl_slice text, size_t *at)
{
    int64_t number = 0;
    size_t start = *at;

    for (; *at < text.size && text.data[*at] >= '0' && text.data[*at] <= '9'; ++*at) {
        if (number > INT64_MAX / 10 - 1)
            return -1;
        number = number * 10 + (text.data[*at] - '0');
    }
    return *at > start ? number : -1;
}

/* The message is the waiter's name, and "#slot" when a semaphore's slot became free. False: no
 * waiter of this client has it. */
static bool wake(struct rl_engine *engine, uint8_t node, struct rl_slice name, int64_t now_ns)
{
    size_t at = 1 + RL_CLIENT_ID_SIZE + 1;
    struct rl_local_queue *queue;
    int64_t number;
    int64_t slot = 0;

    if (name.size <= at || memcmp(name.data + 1, engine->id, RL_CLIENT_ID_SIZE) != 0)
        return false;
    number = read_number(name, &at);
    if (at < name.size && name.data[at] == '#') {
        at++;
        slot = read_number(name, &at);
    }
    queue =
        number < 0 ? NULL : rl_local_queue_by_number(&engine->local_queues, (uint64_t)number);
    if (queue)
        rl_local_queue_wake(engine, queue, (uint16_t)(1u << node),
                            slot > 0 && slot <= REDLOCK_SLOTS_MAX ? (uint16_t)slot : 0, now_ns);
    return queue != NULL;
}

int rl_subscriber_received(struct rl_engine *engine, uint8_t node, size_t size, int64_t now_ns)
{
    struct rl_subscriber *subscriber = &engine->node[node].subscriber;
    struct rl_pending entry;
    struct rl_reply reply;
    int status;

    subscriber->session.input_end += size;
    while ((status = rl_session_next(&subscriber->session, &entry, &reply, now_ns)) > 0) {
        if (reply.element_count == 3 && reply.element[2].type == RL_REPLY_BULK &&
            wake(engine, node, reply.element[2].text, now_ns))
            continue;
        if (now_ns - subscriber->vain_since_ns >= RL_NS_PER_S) {
            subscriber->vain_since_ns = now_ns;
            subscriber->vain_count = 0;
        }
        if (++subscriber->vain_count > VAIN_PER_SECOND_MAX)
            return RL_SUBSCRIBER_FLOODED;
    }
    if (subscriber->is_up || subscriber->session.state != RL_SESSION_UP)
        return status;
    subscriber->is_up = true;
    engine->subscriber_count++;
    /* Earlier messages were missed: sleeping waiters look once, when a quorum is connected. */
    if (RL_RULE(LATE_LOOK))
        rl_local_queues_wake(engine, node, engine->subscriber_count == engine->policy.quorum,
                             now_ns);
    return status;
}
