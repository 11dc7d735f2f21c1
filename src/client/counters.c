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

static void note_bad(void *data, uint8_t node, struct rl_slice key)
{
    struct rl_audit_counters *counters = &((struct rl_audit_counters *)data)[node];

    if (counters->bad_count++ == 0)
        snprintf(counters->example, sizeof counters->example, "%.*s", (int)key.size, key.data);
}

void rl_audit_begin_counters(struct rl_audit *audit)
{
    audit->search = (struct rl_survey){
        .pattern = {pattern, sizeof pattern - 1},
        .bad_counters = true,
        .listed = note_bad,
        .listed_data = audit->counters,
    };
    rl_survey_set_cursors(&audit->search);
}

bool rl_audit_heard_counters(struct rl_audit *audit)
{
    bool more = false;

    for (uint8_t i = 0; i < audit->client->engine.policy.node_count; i++) {
        char *cursor = audit->search.cursor[i];

        if (!cursor[0])
            continue;
        audit->counters[i].complete = rl_survey_has_listed_all(&audit->search, i);
        if (audit->search.node[i].vote != REDLOCK_VOTE_GRANTED || audit->counters[i].complete)
            cursor[0] = '\0';
        more |= cursor[0] != '\0';
    }
    return more && audit->step < ROUNDS_MAX;
}
