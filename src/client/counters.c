/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Are the nodes' fence counters numbers that a counter may have given? Each node lists those that
 * are not, some keys at a time, until its cursor has come round.
 */
#include <stdio.h>
#include <string.h>

#include "client/audit.h"
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

void rl_audit_begin_counters(struct rl_audit *audit)
{
    audit->search = (struct rl_survey){
        .pattern = {pattern, sizeof pattern - 1},
        .bad_counters = true,
        .heard = hear,
        .heard_data = audit->counters,
    };
    for (uint8_t i = 0; i < audit->client->engine.policy.node_count; i++) {
        audit->counters[i].cursor[0] = '0';
        audit->search.cursor[i] = (struct rl_slice){audit->counters[i].cursor, 1};
    }
}

bool rl_audit_heard_counters(struct rl_audit *audit)
{
    bool more = false;

    for (uint8_t i = 0; i < audit->client->engine.policy.node_count; i++) {
        struct rl_slice *cursor = &audit->search.cursor[i];

        if (cursor->size == 0)
            continue;
        if (audit->search.node[i].vote != REDLOCK_VOTE_GRANTED || audit->counters[i].complete)
            cursor->size = 0;
        more |= cursor->size > 0;
    }
    return more && audit->step < ROUNDS_MAX;
}
