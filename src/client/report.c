/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/report.h"

#include <string.h>
#include <time.h>

#include "client/request.h"
#include "drive/detail.h"
#include "drive/explain.h"
#include "drive/order.h"
#include "drive/turn.h"
#include "engine/watch.h"
#include "io/clock.h"

static void describe_node(const struct rl_engine *engine, uint8_t index,
                          const struct rl_node_vote *vote, int64_t key_ttl_ms,
                          redlock_node_report *out)
{
    const struct rl_node *node = &engine->node[index];

    memset(out, 0, sizeof *out);
    memcpy(out->address, node->address, sizeof out->address);
    out->vote = (int32_t)vote->vote;
    out->rtt_us = vote->rtt_us;
    out->key_remaining_ms = key_ttl_ms;
    out->kind = -1;
    out->reason = rl_node_explain_vote(engine, index, vote->vote, out->text);
    if (vote->vote == REDLOCK_VOTE_SILENT)
        out->rtt_us = node->late_us > 0 ? node->late_us : -1;
}

/* key_ttls_ms: NULL where the operation asked for none. */
static const redlock_holder no_holder = {.held_ms = -1, .remaining_ms = -1};

static void describe(const redlock *client, const struct rl_node_vote *votes,
                     const int64_t *key_ttls_ms, redlock_report *out)
{
    const struct rl_engine *engine = &client->engine;

    out->holder = no_holder;
    out->quorum_index = client->quorum_index;
    memcpy(out->quorum_name, client->quorum_name, sizeof out->quorum_name);
    out->node_count = engine->policy.node_count;
    out->quorum = engine->policy.quorum;
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        describe_node(engine, i, &votes[i], key_ttls_ms ? key_ttls_ms[i] : -1, &out->node[i]);
}

/* Which nodes named the holder that is in the way? */
static void name_blocker(const struct rl_blocker *blocker, redlock_report *out)
{
    out->waiter_count = blocker->waiters;
    for (uint32_t i = 0; i < out->node_count; i++)
        if (blocker->nodes & (1u << i))
            memcpy(out->node[i].value, out->holder.value, sizeof out->node[i].value);
}

void rl_report_lock(const redlock_lock *lock, redlock_report *out)
{
    const struct rl_acquisition *acquisition = lock->handle.lock.acquisition;

    *out = (redlock_report){.size = sizeof *out};
    describe(lock->client, lock->handle.lock.node, acquisition ? acquisition->key_ttl_ms : NULL,
             out);
    if (rl_lock_holder(lock, &out->holder))
        name_blocker(rl_blocker_of(&lock->handle), out);
}

void rl_report_survey(const redlock *client, const struct rl_survey *survey,
                      const redlock_info *info, redlock_report *out)
{
    out->size = sizeof *out;
    describe(client, survey->node, survey->key_ttl_ms, out);
    for (uint8_t i = 0; survey->sight && i < out->node_count; i++) {
        const struct rl_sight *sight = &survey->sight[i];

        memcpy(out->node[i].value, sight->holder[0].value, sizeof out->node[i].value);
        out->node[i].kind = sight->kind;
        out->node[i].holder_count = sight->holder_count;
        out->node[i].waiter_count = sight->waiters;
    }
    if (info && info->holders_shown)
        out->holder = info->holders[0];
    if (info)
        out->waiter_count = info->waiter_count;
    if (survey->evicted && survey->evicted->votes) {
        out->holder = *survey->evicted;
        rl_holder_set_age(&out->holder, rl_wall_ms(NULL));
    }
}

const redlock_report *redlock_lock_report(const redlock_lock *lock)
{
    static _Thread_local redlock_report report;

    if (rl_lock_enter(lock) != REDLOCK_OK)
        return NULL;
    rl_report_lock(lock, &report);
    rl_client_leave(lock->client);
    return &report;
}

/* ---- of the last blocking call of this thread that failed ---- */

static _Thread_local redlock_report failure; /* without a size: no node was asked */

redlock_report *rl_failure_report_room(void)
{
    failure.size = sizeof failure;
    return &failure;
}

void rl_failure_report_set(const redlock_report *report)
{
    if (report)
        failure = *report;
    else
        failure.size = 0;
}

const redlock_report *redlock_failure_report(void)
{
    return failure.size ? &failure : NULL;
}

/* ---- of a node ---- */

static enum redlock_node_state state_of(const struct rl_conn *conn, const struct rl_node *node)
{
    if (node->session.state == RL_SESSION_UP)
        return REDLOCK_NODE_UP;
    /* A new try is no sign of life: the kernel of a hung server still takes connections. */
    return conn->state == RL_CONN_WAITING || conn->link.failure_count > 0
               ? REDLOCK_NODE_DOWN
               : REDLOCK_NODE_CONNECTING;
}

static int64_t wall_minus_boot_ns(void)
{
    struct timespec wall;

    clock_gettime(CLOCK_REALTIME, &wall);
    return (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - rl_now_ns();
}

static void describe_guard(const struct rl_guard *guard, redlock_node_info *out)
{
    int64_t now_ns = rl_now_ns();
    int64_t ends_ns = rl_guard_ends_ns(guard);

    out->quarantined =
        out->state == REDLOCK_NODE_UP &&
        (guard->state == RL_GUARD_QUARANTINED || guard->objection != REDLOCK_REASON_NONE) &&
        (ends_ns == INT64_MAX || ends_ns > now_ns);
    out->quarantine_ms = -1;
    if (out->quarantined && ends_ns != INT64_MAX)
        out->quarantine_ms = (ends_ns - now_ns) / RL_NS_PER_MS;
    out->misplaced = out->quarantined && guard->objection != REDLOCK_REASON_NONE &&
                     guard->objection != REDLOCK_REASON_SET_UNREADABLE &&
                     guard->objection != REDLOCK_REASON_SAME_SERVER;
    if (out->quarantined)
        out->reason = rl_watch_describe(guard, now_ns, out->text, sizeof out->text);
    rl_report_clock(guard, out);
}

void rl_report_clock(const struct rl_guard *guard, redlock_node_info *out)
{
    const struct rl_clock_window *window = &guard->window;

    out->clock_offset_us = 0;
    out->clock_error_us = -1;
    if (!window->known)
        return;
    out->clock_offset_us =
        ((window->low_ns + window->high_ns) / 2 - wall_minus_boot_ns()) / 1000;
    out->clock_error_us = (window->high_ns - window->low_ns) / 2 / 1000;
}

static void describe_info(redlock *client, size_t index, redlock_node_info *out)
{
    const struct rl_node *node = &client->engine.node[index];

    memcpy(out->address, node->address, sizeof out->address);
    out->state = state_of(&client->conn[index], node);
    out->tls = client->url[index].tls && out->state == REDLOCK_NODE_UP;
    out->native = node->session.abilities.delete_style != RL_DELETE_SCRIPT;
    out->rtt_us = node->rtt_us;
    out->connects = node->connects;
    out->pending = node->session.pending.count;
    out->answered_ms = node->heard_ns ? (rl_now_ns() - node->heard_ns) / RL_NS_PER_MS : -1;
    memcpy(out->version, node->session.version, sizeof out->version);
    if (out->state == REDLOCK_NODE_DOWN)
        out->reason = rl_node_explain_vote(&client->engine, (uint8_t)index,
                                           node->session.failure, out->text);
    else if (rl_node_describe_late(&client->engine, (uint8_t)index, out->text,
                                   sizeof out->text))
        out->reason = REDLOCK_REASON_LATE;
    out->quorum_index = client->quorum_index;
    memcpy(out->quorum_name, client->quorum_name, sizeof out->quorum_name);
    describe_guard(&node->session.guard, out);
}

int rl_client_node(redlock *client, size_t index, redlock_node_info *out)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    int error = rl_client_enter(client);

    if (error)
        return error;
    if (!client->engine.watches_idle) {
        rl_watch_idle(&client->engine);
        rl_wake(client);
    }
    if (index < client->engine.policy.node_count) {
        describe_info(client, index, &info);
        error = rl_struct_fill("redlock_node_info", out, &info, sizeof info);
    } else {
        error = rl_detail(REDLOCK_INVAL, "there is no node %zu", index);
    }
    rl_client_leave(client);
    return error;
}
