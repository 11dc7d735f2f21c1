/* SPDX-License-Identifier: BSD-2-Clause */
#include "nodes/changes.h"

#include <stdbool.h>
#include <stdio.h>

#include "nodes/quorums.h"
#include "system/log.h"

#define LOOK_EVERY_NS RL_NS_PER_S
#define MORE_MAX 64

static enum changes_state state_of(const redlock_node_info *node)
{
    if (node->state == REDLOCK_NODE_UP)
        return node->quarantined ? CHANGES_QUARANTINED : CHANGES_UP;
    return node->state == REDLOCK_NODE_DOWN && node->text[0] ? CHANGES_DOWN : CHANGES_UNKNOWN;
}

/* Notes the state. True: it is another than before. */
static bool note(struct change *change, enum changes_state state)
{
    if (state == change->state)
        return false;
    change->state = (unsigned char)state;
    change->count++;
    return true;
}

/* True: the log is to have it now; `more` is for the end of the line. */
static bool begin_line(struct change *change, int64_t now_ns, char more[MORE_MAX])
{
    enum changes_state logged = change->logged ? change->logged : CHANGES_UP;

    if (change->state == CHANGES_UNKNOWN || change->state == logged ||
        now_ns < change->quiet_until_ns)
        return false;
    more[0] = '\0';
    if (change->logged && change->count > 1)
        snprintf(more, MORE_MAX, " (%u changes since the last line about it)", change->count);
    change->logged = change->state;
    change->count = 0;
    change->quiet_until_ns = now_ns + CHANGES_LOG_EVERY_NS;
    return true;
}

static void log_node(struct change *change, const redlock_node_info *node, int64_t now_ns)
{
    char more[MORE_MAX];

    if (!begin_line(change, now_ns, more))
        return;
    if (change->state == CHANGES_UP)
        log_line("node %s is up and votes%s", node->address, more);
    else
        log_line("node %s is %s: %s%s", node->address,
                 change->state == CHANGES_DOWN ? "down" : "in quarantine", node->text, more);
}

static void log_quorum(struct change *change, const struct quorum_view *quorum, int64_t now_ns)
{
    char more[MORE_MAX];

    if (!begin_line(change, now_ns, more))
        return;
    log_line("quorum%s%s has %s: %u of %u nodes vote, %u are needed%s",
             quorum->name[0] ? " " : "", quorum->name,
             change->state == CHANGES_UP ? "its majority again" : "no majority", quorum->voting,
             quorum->nodes, quorum->needed, more);
}

static void look_at_quorums(struct changes *changes, const bool *is_unknown, int64_t now_ns)
{
    struct quorum_view quorums[REDLOCK_QUORUMS_MAX];
    unsigned count = quorums_look(changes->client, quorums);

    for (unsigned i = 0; i < count; i++) {
        bool has_majority = quorums[i].voting >= quorums[i].needed;

        if (!has_majority && is_unknown[i])
            continue;
        note(&changes->quorum[i], has_majority ? CHANGES_UP : CHANGES_DOWN);
        log_quorum(&changes->quorum[i], &quorums[i], now_ns);
    }
}

void changes_look(struct changes *changes, int64_t now_ns)
{
    bool is_unknown[REDLOCK_QUORUMS_MAX] = {false};
    redlock_node_info node = REDLOCK_NODE_INFO();

    for (size_t i = 0; redlock_node(changes->client, i, &node) == REDLOCK_OK; i++) {
        enum changes_state state = state_of(&node);

        is_unknown[node.quorum_index] |= state == CHANGES_UNKNOWN;
        if (note(&changes->node[i], state))
            changes->on_node(changes->context, &node, state);
        log_node(&changes->node[i], &node, now_ns);
    }
    look_at_quorums(changes, is_unknown, now_ns);
}

int64_t changes_turn(void *context, int64_t now_ns)
{
    struct changes *changes = context;

    if (now_ns >= changes->next_ns) {
        changes->next_ns = now_ns + LOOK_EVERY_NS;
        changes_look(changes, now_ns);
    }
    return changes->next_ns;
}
