/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/report.h"

#include <string.h>
#include <time.h>

#include "client/request.h"
#include "drive/detail.h"
#include "drive/explain.h"
#include "drive/order.h"
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
    out->key_ttl_ms = key_ttl_ms;
    out->kind = -1;
    /* A node's last words belong to this vote only if they are of its kind. */
    if (node->session.failure == vote->vote)
        memcpy(out->text, node->session.failure_text, sizeof out->text);
    if (vote->vote == REDLOCK_VOTE_TIMEDOUT) {
        out->rtt_us = node->late_us > 0 ? node->late_us : -1;
        if (node->late_us > 0)
            rl_node_describe_late(engine, index, out->text, sizeof out->text);
    }
}

/* key_ttls_ms: NULL where the operation asked for none. */
static const redlock_holder no_holder = {.held_ms = -1, .ttl_ms = -1};

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
    out->waiters = blocker->waiters;
    for (uint32_t i = 0; i < out->node_count; i++)
        if (blocker->nodes & (1u << i))
            memcpy(out->node[i].holder, out->holder.value, sizeof out->node[i].holder);
}

void rl_report_lock(const redlock_lock *lock, redlock_report *out)
{
    const struct rl_acquisition *acquisition = lock->handle.lock.acquisition;
    redlock_report report = {.size = sizeof report};

    describe(lock->client, lock->handle.lock.node, acquisition ? acquisition->key_ttl_ms : NULL,
             &report);
    if (rl_lock_holder(lock, &report.holder))
        name_blocker(rl_blocker_of(&lock->handle), &report);
    rl_struct_fill(out, &report, sizeof report);
}

void rl_report_survey(const redlock *client, const struct rl_survey *survey,
                      const redlock_info *info, redlock_report *out)
{
    out->size = sizeof *out;
    describe(client, survey->node, survey->key_ttl_ms, out);
    for (uint8_t i = 0; survey->sight && i < out->node_count; i++) {
        const struct rl_sight *sight = &survey->sight[i];

        memcpy(out->node[i].holder, sight->holder[0].value, sizeof out->node[i].holder);
        out->node[i].kind = sight->kind;
        out->node[i].holder_count = sight->holder_count;
        out->node[i].waiters = sight->waiters;
    }
    if (info && info->shown_holder_count)
        out->holder = info->shown_holder[0];
    if (info)
        out->waiters = info->waiters;
    if (survey->evicted->votes) {
        out->holder = *survey->evicted;
        rl_holder_set_age(&out->holder, rl_wall_ms(NULL));
    }
}

int redlock_lock_report(const redlock_lock *lock, redlock_report *out)
{
    int error;

    if (!lock)
        return rl_detail(REDLOCK_INVAL, "the lock is NULL");
    error = rl_struct_check("redlock_report", out);
    if (error)
        return error;
    error = rl_client_enter(lock->client, false);
    if (error)
        return error;
    rl_report_lock(lock, out);
    rl_client_leave(lock->client);
    return REDLOCK_OK;
}

static enum redlock_node_state state_of(const struct rl_conn *conn, const struct rl_node *node)
{
    if (conn->state == RL_CONN_WAITING)
        return REDLOCK_NODE_DOWN;
    return node->session.state == RL_SESSION_UP ? REDLOCK_NODE_UP : REDLOCK_NODE_CONNECTING;
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
        (guard->state == RL_GUARD_QUARANTINED || guard->objection != RL_GUARD_NONE_REASON) &&
        (ends_ns == INT64_MAX || ends_ns > now_ns);
    out->quarantine_ms = -1;
    if (out->quarantined && ends_ns != INT64_MAX)
        out->quarantine_ms = (ends_ns - now_ns) / RL_NS_PER_MS;
    out->misplaced = out->quarantined && guard->objection != RL_GUARD_NONE_REASON &&
                     guard->objection != RL_GUARD_SAME_SERVER_REASON;
    if (out->quarantined)
        rl_watch_describe(guard, now_ns, out->text, sizeof out->text);
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
    memcpy(out->version, node->session.version, sizeof out->version);
    if (out->state == REDLOCK_NODE_DOWN)
        memcpy(out->text, node->session.failure_text, sizeof out->text);
    else
        rl_node_describe_late(&client->engine, (uint8_t)index, out->text, sizeof out->text);
    out->quorum_index = client->quorum_index;
    memcpy(out->quorum_name, client->quorum_name, sizeof out->quorum_name);
    describe_guard(&node->session.guard, out);
}

int rl_client_node(redlock *client, size_t index, redlock_node_info *out)
{
    redlock_node_info info = {.size = sizeof info};
    int error = rl_struct_check("redlock_node_info", out);

    if (!error)
        error = rl_client_enter(client, false);
    if (error)
        return error;
    if (index < client->engine.policy.node_count) {
        describe_info(client, index, &info);
        rl_struct_fill(out, &info, sizeof info);
    } else {
        error = rl_detail(REDLOCK_INVAL, "there is no node %zu", index);
    }
    rl_client_leave(client);
    return error;
}
