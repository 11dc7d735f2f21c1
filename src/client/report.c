/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/calls.h"

#include <string.h>
#include <time.h>

#include "client/deployment.h"
#include "engine/safety.h"
#include "engine/watch.h"
#include "io/clock.h"

/* key_ttls_ms: NULL where the operation reads none. */
static void describe(const redlock *client, const struct rl_node_vote *votes,
                     const int64_t *key_ttls_ms, redlock_report *out)
{
    const struct rl_engine *engine = &client->engine;

    out->holder = (redlock_holder){.held_ms = -1, .remaining_ms = -1};
    out->quorum_index = client->quorum_index;
    memcpy(out->quorum_name, client->quorum_name, sizeof out->quorum_name);
    out->node_count = engine->policy.node_count;
    out->quorum = engine->policy.quorum;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_node *node = &engine->node[i];
        redlock_node_report *report = &out->node[i];

        memset(report, 0, sizeof *report);
        memcpy(report->address, node->address, sizeof report->address);
        report->vote = (int32_t)votes[i].vote;
        report->rtt_us = votes[i].rtt_us;
        report->key_remaining_ms = key_ttls_ms ? key_ttls_ms[i] : -1;
        report->kind = -1;
        report->reason = rl_node_explain_vote(engine, i, votes[i].vote, report->text);
        if (votes[i].vote == REDLOCK_VOTE_SILENT)
            report->rtt_us = node->late_us > 0 ? node->late_us : -1;
    }
    out->final_ms = rl_deployment_final_ms(client, votes);
}

void rl_report_lock(const redlock_lock *lock, redlock_report *out)
{
    const struct rl_acquisition *acquisition = lock->handle.lock.acquisition;
    const struct rl_current_holder *holder = rl_current_holder_of(&lock->handle);

    *out = (redlock_report){.size = sizeof *out};
    describe(lock->client, lock->handle.lock.node, acquisition ? acquisition->key_ttl_ms : NULL,
             out);
    if (!rl_lock_holder(lock, &out->holder))
        return;
    /* Which nodes named the holder that is in the way? */
    out->waiter_count = holder->waiters;
    for (uint32_t i = 0; i < out->node_count; i++)
        if (holder->nodes & (1u << i))
            memcpy(out->node[i].value, out->holder.value, sizeof out->node[i].value);
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

static _Thread_local redlock_report failure; /* without a size: nothing was sent to a node */

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

void rl_report_clock(const struct rl_guard *guard, redlock_node_info *out)
{
    const struct rl_clock_window *window = &guard->window;
    int64_t middle_ns =
        (window->low_ns + window->high_ns) / 2; /* against the time since boot */
    struct timespec wall;

    out->clock_offset_us = 0;
    out->clock_error_us = -1;
    if (!window->known)
        return;
    clock_gettime(CLOCK_REALTIME, &wall);
    middle_ns -= (int64_t)wall.tv_sec * RL_NS_PER_S + wall.tv_nsec - rl_now_ns();
    out->clock_offset_us = middle_ns / 1000;
    out->clock_error_us = (window->high_ns - window->low_ns) / 2 / 1000;
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

static void describe_info(redlock *client, size_t index, redlock_node_info *out)
{
    const struct rl_engine *engine = &client->engine;
    const struct rl_node *node = &engine->node[index];
    const struct rl_conn *conn = &client->conn[index];

    memcpy(out->address, node->address, sizeof out->address);
    out->state = REDLOCK_NODE_CONNECTING;
    if (node->session.state == RL_SESSION_UP)
        out->state = REDLOCK_NODE_UP;
    /* A new try is no sign of life: the kernel of a hung server still takes connections. */
    else if (conn->state == RL_CONN_WAITING || conn->link.failure_count > 0)
        out->state = REDLOCK_NODE_DOWN;
    out->tls = client->url[index].tls && out->state == REDLOCK_NODE_UP;
    out->native = node->session.abilities.delete_style != RL_DELETE_SCRIPT;
    out->rtt_us = node->rtt_us;
    out->connects = node->connects;
    out->pending = node->session.pending.count;
    out->answered_ms =
        node->received_ns ? (rl_now_ns() - node->received_ns) / RL_NS_PER_MS : -1;
    memcpy(out->version, node->session.version, sizeof out->version);
    if (out->state == REDLOCK_NODE_DOWN)
        out->reason =
            rl_node_explain_vote(engine, (uint8_t)index, node->session.failure, out->text);
    else if (rl_node_describe_late(engine, (uint8_t)index, out->text, sizeof out->text))
        out->reason = REDLOCK_REASON_LATE;
    out->quorum_index = client->quorum_index;
    memcpy(out->quorum_name, client->quorum_name, sizeof out->quorum_name);
    rl_deployment_describe(client, (uint8_t)index, out);
    out->profile = (int32_t)client->profile;
    if (client->engine.node[index].session.state == RL_SESSION_UP)
        out->unsafe_reason = (int32_t)rl_safety_find(&client->engine, (uint8_t)index);
    describe_guard(&node->session.guard, out);
    /* Its sentinels may be silent while its server is well: then nothing is granted, either. */
    if (node->elected && !out->reason)
        out->reason = rl_elected_explain(node, rl_now_ns(), RL_ELECTORS_SILENCE_NS, out->text);
}

/* Of several quorums, the nodes of the first come first. */
int redlock_node(redlock *client, size_t index, redlock_node_info *out)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    redlock *member = client && client->is_sharded ? client->reader->member[0] : client;
    size_t at = index;
    int error;

    if (member != client)
        for (size_t i = 1; i < client->reader->count; i++) {
            if (at < member->engine.policy.node_count)
                break;
            at -= member->engine.policy.node_count;
            member = client->reader->member[i];
        }
    error = rl_client_enter(member);
    if (error)
        return error;
    if (!member->engine.watches_idle) {
        rl_watch_idle(&member->engine);
        rl_wake(member);
    }
    if (at < member->engine.policy.node_count) {
        describe_info(member, at, &info);
        error = rl_struct_fill("redlock_node_info", out, &info, sizeof info);
    } else {
        error = rl_detail(REDLOCK_INVAL, "there is no node %zu", index);
    }
    rl_client_leave(member);
    return error;
}
