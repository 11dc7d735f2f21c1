/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/rules.h"
#include "engine/engine.h"
#include "engine/sets.h"
#include "engine/trace.h"
#include "protocol/vetting.h"

#define CHECK_EVERY_NS RL_NS_PER_S
#define ADMISSION_EVERY_NS RL_NS_PER_S
#define NONCE_BYTES 8

enum redlock_reason rl_watch_describe(const struct rl_guard *guard, int64_t now_ns, char *out,
                                      size_t size)
{
    int64_t ends_ns = rl_guard_ends_ns(guard);
    enum redlock_reason why = guard->term[0] && guard->reason == REDLOCK_REASON_NOT_ADMITTED
                                  ? REDLOCK_REASON_NEW_TERM
                                  : guard->reason;
    const char *reason = redlock_reason_text((int)why);

    /* A cluster, or a Sentinel, is why its sets cannot be read, and not the other way round. */
    if (guard->objection != REDLOCK_REASON_NONE && guard->reason != REDLOCK_REASON_CLUSTER &&
        guard->reason != REDLOCK_REASON_SENTINEL) {
        /* A vote of electors without their list never counts, whatever else is there. */
        why = guard->objection == REDLOCK_REASON_NO_SET && guard->term[0]
                  ? REDLOCK_REASON_NO_SETS
                  : guard->objection;
        snprintf(out, size, "%s",
                 why == REDLOCK_REASON_NO_SETS ? RL_WATCH_NO_ELECTORS
                                               : redlock_reason_text((int)why));
        return why;
    }
    out[0] = '\0';
    if (guard->state == RL_GUARD_VOTING)
        return REDLOCK_REASON_NONE;
    if (ends_ns == INT64_MAX)
        snprintf(out, size, "%s", reason);
    else
        snprintf(out, size, "%s; may vote in %" PRId64 " s", reason,
                 ends_ns > now_ns ? (ends_ns - now_ns + RL_NS_PER_S - 1) / RL_NS_PER_S : 0);
    return why;
}

/* ---- admission (G2) ---- */

/*
 * An elected vote, and a server that was promoted (E7). Stamp an elected vote only while a
 * fresh majority of its electors names this term: from then on no earlier term counts for
 * longer than the guard time. Otherwise a client with an old view could overwrite the stamp of
 * a later term.
 */
static void seek_stamp(struct rl_node *node, int64_t now_ns)
{
    struct rl_session *session = &node->session;
    bool is_vouched =
        !node->elected || rl_elected_is_vouched(node, now_ns) || !RL_RULE(STAMP_MAJORITY);

    if (is_vouched && !session->check_requested && !session->admission_requested &&
        now_ns >= session->guard.stamp_ends_ns &&
        now_ns - session->admission_requested_ns >= ADMISSION_EVERY_NS)
        rl_vetting_stamp(session, now_ns);
}

/*
 * First the node's identity, then the probation, then, after the guard time, the marker. Each
 * request waits for the answer of the one before, and none is repeated within a second: a node
 * that refuses them must not be hammered.
 */
static void seek_admission(struct rl_engine *engine, struct rl_node *node, int64_t now_ns)
{
    struct rl_session *session = &node->session;
    char nonce[2 * NONCE_BYTES + 1] = "";

    if (session->check_requested || session->admission_requested)
        return;
    if (session->checked_ns < session->guard.watched_since_ns && !session->guard.probation[0]) {
        rl_vetting_check(session, now_ns);
        return;
    }
    if (rl_guard_wants_stamp(&session->guard)) {
        seek_stamp(node, now_ns);
        return;
    }
    if (!session->guard.identity[0] ||
        now_ns - session->admission_requested_ns < ADMISSION_EVERY_NS)
        return;
    if (!session->guard.probation[0]) {
        if (rl_engine_draw_hex(engine, NONCE_BYTES, nonce) == 0)
            rl_vetting_probe(session, nonce, now_ns);
    } else if (rl_guard_wants_admission(&session->guard, now_ns)) {
        rl_vetting_admit(session, now_ns);
    }
}

/* ---- clocks (G6) ---- */

/* What may change while a connection lasts: the clock (G6), the set that the node
 * is in (G8). */
static void send_again(struct rl_session *session, int64_t now_ns)
{
    if (session->clock_requested_ns != 0)
        return;
    if (session->guard.mode != RL_GUARD_OFF)
        rl_vetting_request_set(session);
    rl_vetting_sample_clock(session, now_ns);
}

static void look_by(struct rl_engine *engine, int64_t at_ns)
{
    if (engine->watch_at_ns > at_ns)
        engine->watch_at_ns = at_ns;
}

void rl_watch_sample(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_session *session = &engine->node[node].session;

    if (session->state == RL_SESSION_UP &&
        now_ns - session->clock_answered_ns >= RL_CLOCK_SAMPLE_EVERY_NS)
        send_again(session, now_ns);
    look_by(engine, now_ns + RL_CLOCK_SAMPLE_EVERY_NS);
}

/* Of several votes on one server the first is for its clock. */
static bool is_first_of_server(const struct rl_engine *engine, uint8_t node)
{
    const char *run_id = engine->node[node].run_id;

    for (uint8_t i = 0; i < node && run_id[0]; i++)
        if (strcmp(engine->node[i].run_id, run_id) == 0)
            return false;
    return true;
}

static void end_trial(struct rl_engine *engine, int64_t now_ns)
{
    uint16_t stepped = 0;
    uint8_t stepped_count = 0; /* servers */
    uint8_t steady_count = 0;
    bool is_ours;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_session *session = &engine->node[i].session;

        if (session->guard.step_ns != 0) {
            stepped |= (uint16_t)(1u << i);
            stepped_count += is_first_of_server(engine, i);
        } else {
            steady_count += session->clock_answered_ns >= engine->clock_trial_since_ns;
        }
    }
    engine->clock_trial = false;
    is_ours = stepped_count >= 2 && steady_count == 0;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_session *session = &engine->node[i].session;
        struct rl_event event = {.type = RL_EVENT_NODE_OUT, .now_ns = now_ns, .node = i};

        if (is_ours)
            session->guard.step_ns = 0;
        if (is_ours || !(stepped & (1u << i)))
            continue;
        if (engine->strict && session->state == RL_SESSION_UP)
            rl_vetting_expel(session);
        rl_guard_blame_clock(&session->guard, now_ns);
        rl_handles_step(engine, &event, false);
    }
    if (is_ours)
        rl_handles_step(
            engine, &(struct rl_event){.type = RL_EVENT_OUR_CLOCK, .now_ns = now_ns}, false);
}

static bool is_trial_complete(const struct rl_engine *engine, int64_t now_ns)
{
    if (now_ns >= engine->clock_trial_since_ns + engine->policy.node_timeout_ns)
        return true;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_session *session = &engine->node[i].session;

        if (session->state == RL_SESSION_UP && session->guard.step_ns == 0 &&
            session->clock_answered_ns < engine->clock_trial_since_ns)
            return false;
    }
    return true;
}

void rl_watch_look(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_session *session = &engine->node[node].session;

    if (session->state == RL_SESSION_UP && session->guard.state == RL_GUARD_QUARANTINED) {
        if (session->guard.reason == REDLOCK_REASON_NOT_ADMITTED)
            seek_admission(engine, &engine->node[node], now_ns);
        else if (session->guard.reason == REDLOCK_REASON_PROMOTED)
            seek_stamp(&engine->node[node], now_ns);
    }
    if (!engine->clock_trial && session->guard.step_ns != 0) {
        engine->clock_trial = true;
        engine->clock_trial_since_ns = now_ns;
        engine->watch_at_ns = now_ns + engine->policy.node_timeout_ns;
        /* The other clocks are read at once: if all stepped, it was ours that stood still. */
        for (uint8_t i = 0; i < engine->policy.node_count; i++) {
            session = &engine->node[i].session;
            if (session->state == RL_SESSION_UP && session->guard.step_ns == 0)
                rl_vetting_sample_clock(session, now_ns);
        }
    }
    if (engine->clock_trial && is_trial_complete(engine, now_ns))
        end_trial(engine, now_ns);
}

/* ---- looking again ---- */

static void watch_quarantine(struct rl_engine *engine, struct rl_node *node, int64_t now_ns)
{
    struct rl_session *session = &node->session;

    if (session->guard.reason == REDLOCK_REASON_NOT_ADMITTED) {
        seek_admission(engine, node, now_ns);
        return;
    }
    if (session->guard.reason == REDLOCK_REASON_PROMOTED)
        seek_stamp(node, now_ns);
    /* It may have been loaded or promoted meanwhile, or an operator has vouched for it. */
    if (now_ns - session->checked_ns >= CHECK_EVERY_NS && !session->check_requested)
        rl_vetting_check(session, now_ns);
    /* The marker of a node whose clock was set must go, even if it takes several tries. */
    if (engine->strict && session->guard.reason == REDLOCK_REASON_CLOCK &&
        session->facts.marker[0] && strcmp(session->facts.marker, session->guard.admitted) == 0)
        rl_vetting_expel(session);
}

/* When this node wants to be looked at again. */
static int64_t watch_node(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_session *session = &engine->node[node].session;
    int64_t soon_ns = now_ns + RL_CLOCK_SAMPLE_EVERY_NS;
    int64_t silent_ns = engine->watches_idle
                            ? engine->node[node].received_ns + RL_WATCH_SILENCE_NS
                            : RL_NEVER_NS;
    bool needed = engine->guard_mode != RL_GUARD_OFF &&
                  (engine->handle_count > 0 || session->guard.objection != REDLOCK_REASON_NONE);

    if (engine->node[node].elected && (engine->handle_count > 0 || engine->watches_idle)) {
        rl_elected_request(
            engine, node, engine->handle_count > 0 ? RL_ELECTORS_EVERY_NS : RL_WATCH_SILENCE_NS,
            now_ns);
        if (session->state == RL_SESSION_DOWN)
            return soon_ns;
    }
    if (session->state != RL_SESSION_UP)
        return session->state == RL_SESSION_GREETING ? soon_ns : RL_NEVER_NS;
    /* The tick comes every second, and the last answer came somewhat after the tick before. */
    if (now_ns >= silent_ns ||
        (needed && now_ns - session->clock_answered_ns >= RL_CLOCK_SAMPLE_EVERY_NS / 2))
        send_again(session, now_ns);
    rl_sets_restore(engine, node, now_ns);
    if (session->guard.state == RL_GUARD_QUARANTINED) {
        watch_quarantine(engine, &engine->node[node], now_ns);
        return soon_ns;
    }
    return needed || now_ns >= silent_ns ? soon_ns : silent_ns;
}

void rl_watch_idle(struct rl_engine *engine)
{
    engine->watches_idle = true;
    engine->watch_at_ns = 0;
}

void rl_watch_tick(struct rl_engine *engine, int64_t now_ns)
{
    engine->watch_at_ns = RL_NEVER_NS;
    if (engine->clock_trial && is_trial_complete(engine, now_ns))
        end_trial(engine, now_ns);
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        look_by(engine, watch_node(engine, i, now_ns));
    if (engine->clock_trial)
        engine->watch_at_ns = engine->clock_trial_since_ns + engine->policy.node_timeout_ns;
    if (engine->trace)
        rl_trace_standings(engine, now_ns);
}
