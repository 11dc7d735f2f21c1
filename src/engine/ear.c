/* SPDX-License-Identifier: BSD-2-Clause */
/* The connections that listen: from a node's message to the waiter that it is for. */
#include <string.h>

#include "engine/engine.h"

/*
 * A message for a waiter that has just left is nothing unusual; thousands in a second are, and each
 * costs time that renewals and other nodes need. Waiters look by their timers meanwhile.
 */
#define VAIN_PER_SECOND_MAX 4096
#define SECOND_NS 1000000000

void rl_ear_connecting(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_ear *ear = &engine->node[node].ear;

    if (!ear->session.input) {
        ear->login = engine->node[node].login;
        ear->login.channel = engine->channel;
        if (rl_session_init(&ear->session, &ear->login) < 0)
            return;
    }
    if (rl_session_begin(&ear->session, now_ns) < 0)
        rl_session_end(&ear->session);
}

void rl_ear_disconnected(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_ear *ear = &engine->node[node].ear;
    struct rl_pending request;

    (void)now_ns;
    rl_session_end(&ear->session);
    while (rl_session_take_unanswered(&ear->session, &request))
        ;
    if (ear->is_up)
        engine->ear_count--;
    ear->is_up = false;
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

/* The waiter's name, and "#slot" behind it when a semaphore's slot became free. False: no waiter
 * of ours has it. */
static bool wake(struct rl_engine *engine, uint8_t node, struct rl_slice name, int64_t now_ns)
{
    size_t at = 1 + RL_CLIENT_ID_SIZE + 1;
    struct rl_line *line;
    int64_t number;
    int64_t slot = 0;

    if (name.size <= at || memcmp(name.data + 1, engine->id, RL_CLIENT_ID_SIZE) != 0)
        return false;
    number = read_number(name, &at);
    if (at < name.size && name.data[at] == '#') {
        at++;
        slot = read_number(name, &at);
    }
    line = number < 0 ? NULL : rl_line_of_number(&engine->lines, (uint64_t)number);
    if (line)
        rl_handle_wake(engine, line->first, (uint16_t)(1u << node),
                       slot > 0 && slot <= REDLOCK_SLOTS_MAX ? (uint16_t)slot : 0, now_ns);
    return line != NULL;
}

/* False: that was one message too many. */
static bool hear(struct rl_engine *engine, uint8_t node, const struct rl_reply *reply,
                 int64_t now_ns)
{
    struct rl_ear *ear = &engine->node[node].ear;

    if (reply->element_count == 3 && reply->element[2].type == RL_REPLY_BULK &&
        wake(engine, node, reply->element[2].text, now_ns))
        return true;
    if (now_ns - ear->vain_since_ns >= SECOND_NS) {
        ear->vain_since_ns = now_ns;
        ear->vain_count = 0;
    }
    return ++ear->vain_count <= VAIN_PER_SECOND_MAX;
}

/* What was published before was missed. Sleepers look once, when a quorum of ears is there. */
static void note_up(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_ear *ear = &engine->node[node].ear;

    if (ear->is_up || ear->session.state != RL_SESSION_UP)
        return;
    ear->is_up = true;
    engine->ear_count++;
    rl_handles_wake(engine, node, engine->ear_count == engine->policy.quorum, now_ns);
}

int rl_ear_received(struct rl_engine *engine, uint8_t node, size_t size, int64_t now_ns)
{
    struct rl_ear *ear = &engine->node[node].ear;
    struct rl_pending entry;
    struct rl_reply reply;
    int status;

    rl_session_received(&ear->session, size);
    while ((status = rl_session_next(&ear->session, &entry, &reply, now_ns)) > 0)
        if (!hear(engine, node, &reply, now_ns))
            return RL_EAR_FLOODED;
    note_up(engine, node, now_ns);
    return status;
}
