/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Are the nodes' fence counters numbers that a counter may have given? Each node lists those that
 * are not, some keys at a time, until its cursor has come round.
 */
#include <stdio.h>
#include <string.h>

#include "client/audit.h"
#include "client/query.h"
#include "io/clock.h"
#include "protocol/answer.h"

/* A node with more keys than about a million is not searched to its end. */
#define ROUNDS_MAX 2000

static const char pattern[] = RL_FENCE_HEAD "*";

static void hear(struct rl_survey *survey, uint8_t node, const struct rl_reply *reply)
{
    struct rl_audit_counters *counters =
        &((struct rl_audit_counters *)survey->heard_data)[node];
    struct rl_slice next = reply->element[0].text;

    if (reply->element[0].type != RL_REPLY_BULK || next.size == 0 ||
        next.size >= sizeof counters->cursor) {
        survey->node[node].vote = REDLOCK_VOTE_PROTO;
        return;
    }
    memcpy(counters->cursor, next.data, next.size);
    survey->cursor[node].size = next.size;
    counters->complete = rl_slice_equals(next, "0");
    for (uint32_t i = 1; i < reply->element_count; i++) {
        struct rl_slice key = reply->element[i].text;

        if (reply->element[i].type == RL_REPLY_BULK && counters->bad_count++ == 0)
            snprintf(counters->example, sizeof counters->example, "%.*s", (int)key.size,
                     key.data);
    }
}

int rl_audit_counters(struct rl_audit *audit, redlock_lock *lock)
{
    redlock *client = audit->client;
    struct rl_survey survey = {
        .pattern = {pattern, sizeof pattern - 1},
        .bad_counters = true,
        .heard = hear,
        .heard_data = audit->counters,
    };
    bool more = true;

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        audit->counters[i].cursor[0] = '0';
        survey.cursor[i] = (struct rl_slice){audit->counters[i].cursor, 1};
    }
    for (int round = 0; more && round < ROUNDS_MAX; round++) {
        if (rl_ask(client, lock, RL_OP_LIST, &survey) == REDLOCK_NOMEM)
            return REDLOCK_NOMEM;
        more = false;
        for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
            if (survey.cursor[i].size == 0)
                continue;
            if (survey.node[i].vote != REDLOCK_VOTE_GRANTED || audit->counters[i].complete)
                survey.cursor[i].size = 0;
            more |= survey.cursor[i].size > 0;
        }
    }
    return REDLOCK_OK;
}
