/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/send.h"

#include <string.h>

#include "base/slice.h"
#include "core/kind.h"
#include "core/rules.h"
#include "engine/engine.h"
#include "engine/survey.h"
#include "engine/trace.h"
#include "engine/watch.h"
#include "protocol/command.h"
#include "protocol/value.h"

/* A replica that hangs is waited for so long: what waits for it starts within a second. */
#define REPLICATE_MAX_MS 300

/* ---- the request ---- */

/*
 * Only a first attempt may overtake the queue: one that reaches few nodes would do so for ever.
 * Behind our own release the queue need not be read: the reply to the release decides.
 */
static bool must_respect_queue(const struct rl_handle *handle)
{
    const struct rl_lock *lock = &handle->lock;
    const struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);

    if (handle->attempt->behind_release)
        return false;
    if (lock->terms.fair || lock->overtakes_none)
        return true;
    return acquire && (lock->acquisition->ticket ||
                       (acquire->queue && lock->acquisition->attempt_count > 1));
}

static void fill_from_handle(const struct rl_engine *engine, const struct rl_handle *handle,
                             int64_t now_ns, struct rl_request *out)
{
    const struct rl_lock *lock = &handle->lock;
    const struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);
    int64_t ttl_ns = rl_ttl_ns(lock);

    /* How long the key should live from now on. */
    if (out->op == RL_OP_EXTEND)
        ttl_ns = rl_extension_ttl_ns(lock);
    else if (out->op == RL_OP_REPAIR)
        /* What is left of the extension that was just won (A8). */
        ttl_ns = lock->round_start_ns + rl_extension_ttl_ns(lock) - now_ns;
    /* Never zero, which would be an error: at the very end it is a key for a millisecond. */
    out->ttl_ms = ttl_ns < RL_NS_PER_MS ? 1 : ttl_ns / RL_NS_PER_MS;
    out->may_shorten = out->op == RL_OP_EXTEND && lock->extension_ttl_ms < lock->longest_ttl_ms;
    out->fenced = lock->terms.fenced;
    out->needs_marker = engine->strict;
    out->token = lock->token;
    if (handle->attempt->owner_size)
        out->owner = rl_attempt_owner(handle->attempt);
    out->slots = lock->terms.slots;
    out->slot = lock->slot;
    if (out->op != RL_OP_ACQUIRE && out->op != RL_OP_ACQUIRE_AGAIN)
        return;
    out->as_waiter = must_respect_queue(handle);
    out->waiter = acquire ? acquire->waiter : handle->attempt->waiter;
    out->ticket = acquire ? lock->acquisition->ticket : 0;
}

static void fill(const struct rl_engine *engine, const struct rl_attempt *attempt,
                 const struct rl_handle *handle, enum rl_op op, int64_t now_ns,
                 struct rl_request *out)
{
    *out = (struct rl_request){
        .op = op,
        .kind = (enum redlock_kind)attempt->kind,
        .name_count = attempt->name_count,
        .kind_unknown = attempt->kind_unknown,
        .is_plain = rl_kinds[attempt->kind].single && !attempt->kind_unknown &&
                    attempt->name_count == 1,
        .keys = rl_attempt_key(attempt),
        .value = rl_attempt_value(attempt),
        .owner = {"", 0},
        .client_id = engine->id,
        .contended = attempt->contended,
    };
    if (op == RL_OP_ROLLBACK || op == RL_OP_QUIT || op == RL_OP_LEAVE) {
        out->as_waiter = attempt->waiter != 0;
        out->waiter = attempt->waiter;
        out->ticket = attempt->ticket;
    } else if (handle) {
        fill_from_handle(engine, handle, now_ns, out);
    }
    if (op == RL_OP_ADMIT || op == RL_OP_BREAK)
        out->ttl_ms = engine->max_ttl_ns / RL_NS_PER_MS;
    /* Its answer has to be here before the node counts as silent. */
    if (op == RL_OP_REPLICATE) {
        out->ttl_ms = engine->policy.node_timeout_ns / RL_NS_PER_MS / 2 + 1;
        if (out->ttl_ms > REPLICATE_MAX_MS)
            out->ttl_ms = REPLICATE_MAX_MS;
    }
}

/* What differs from node to node. */
static void fill_node(struct rl_engine *engine, uint8_t node, int64_t now_ns,
                      struct rl_request *out)
{
    struct rl_guard *guard = &engine->node[node].session.guard;

    out->identity = guard->identity;
    out->term = guard->term;
    out->admitted = guard->admitted;
    if (out->fenced)
        out->in_doubt = !rl_guard_check_vote(guard, now_ns);
}

/* ---- the session ---- */

/* Queues the command; false when the node cannot take it. */
static bool push(struct rl_engine *engine, uint8_t node, struct rl_attempt *attempt,
                 enum rl_op op, uint32_t round, struct rl_command *command)
{
    struct rl_session *session = &engine->node[node].session;
    /* Where no grant of the hold was counted, its renewal is worth no more than a
     * grant (G2, G3). */
    bool is_unproven_renewal =
        engine->strict && op == RL_OP_EXTEND &&
        (!(attempt->handle->lock.nodes_proven & (1u << node)) || engine->node[node].elected) &&
        RL_RULE(RENEWAL_ATTESTED);
    struct rl_pending entry = {
        .subject = attempt,
        .round = round,
        .op = (uint16_t)op,
        .by_script = command->script != 0,
        .needs_attestation = command->needs_attestation || is_unproven_renewal,
    };

    if (!rl_session_push(session, command, entry))
        return false;
    session->abilities.known_scripts |= command->script;
    session->wants_attestation |= entry.needs_attestation;
    if (rl_ops[op].sets_key)
        attempt->touched |= (uint16_t)(1u << node);
    if (rl_ops[op].deletes_key)
        attempt->returned |= (uint16_t)(1u << node);
    attempt->references++;
    if (engine->trace)
        rl_trace_node(engine, node, attempt, round, "ask", rl_ops[op].name);
    return true;
}

bool rl_node_deletes_natively(const struct rl_engine *engine, uint8_t node,
                              const struct rl_attempt *attempt)
{
    struct rl_request request;

    fill(engine, attempt, NULL, RL_OP_RELEASE, 0, &request);
    return rl_command_deletes_natively(&request, &engine->node[node].session.abilities);
}

static bool send_to_node(struct rl_engine *engine, uint8_t node, struct rl_attempt *attempt,
                         const struct rl_handle *handle, enum rl_op op, uint32_t round,
                         const struct rl_abilities *abilities, int64_t now_ns)
{
    const struct rl_survey *survey = handle ? rl_survey_of(handle) : NULL;
    const char *set = engine->node[node].new_set;
    const char *so_far = engine->node[node].set_so_far;
    const char *electors = engine->node[node].new_electors;
    struct rl_request request;
    struct rl_command command;

    fill(engine, attempt, handle, op, now_ns, &request);
    fill_node(engine, node, now_ns, &request);
    if (survey) {
        request.set = rl_slice_of(set);
        request.electors = rl_slice_of(electors);
        request.set_so_far = rl_slice_of(so_far);
        request.cursor = (struct rl_slice){survey->cursor[node], strlen(survey->cursor[node])};
        request.pattern = survey->pattern;
        request.fingerprint = survey->fingerprint;
        request.tag = survey->tag;
        request.bad_counters = survey->bad_counters;
    }
    rl_command_write(&request, abilities, &command);
    if (abilities != &engine->node[node].session.abilities && !command.script)
        return false;
    return push(engine, node, attempt, op, round, &command);
}

bool rl_send_to_node(struct rl_engine *engine, uint8_t node, struct rl_attempt *attempt,
                     const struct rl_handle *handle, enum rl_op op, uint32_t round,
                     int64_t now_ns)
{
    return send_to_node(engine, node, attempt, handle, op, round,
                        &engine->node[node].session.abilities, now_ns);
}

bool rl_send_to_node_by_text(struct rl_engine *engine, uint8_t node, struct rl_attempt *attempt,
                             const struct rl_handle *handle, enum rl_op op, uint32_t round,
                             int64_t now_ns)
{
    return send_to_node(engine, node, attempt, handle, op, round, &(struct rl_abilities){0},
                        now_ns);
}

/* ---- one step, to all its nodes ---- */

uint16_t rl_send_to_nodes(struct rl_engine *engine, struct rl_handle *handle,
                          const struct rl_send *send, int64_t now_ns)
{
    struct rl_local_queue *queue = rl_local_queue_of(handle);
    struct rl_request request;
    struct rl_command command;
    enum rl_op op = send->op;
    uint16_t unsent = 0;

    if (!rl_attempt_prepare(engine, handle, op, now_ns))
        return send->nodes;
    fill(engine, handle->attempt, handle, op, now_ns, &request);
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_abilities *abilities = &engine->node[i].session.abilities;
        struct rl_guard *guard = &engine->node[i].session.guard;

        if (!(send->nodes & (1u << i)))
            continue;
        /*
         * A server that votes by another name gets no acquire: it would refuse one of the two
         * what it has granted to the other. Repair is for nodes that may vote: on others the
         * key would prove nothing (A8, G3).
         */
        if ((op == RL_OP_ACQUIRE && guard->objection == REDLOCK_REASON_SAME_SERVER) ||
            (op == RL_OP_REPAIR && RL_RULE(REPAIR_IS_NO_PROOF) &&
             !rl_guard_check_vote(guard, now_ns))) {
            unsent |= (uint16_t)(1u << i);
            continue;
        }
        /* In front: a clock that was set must be known before the vote that leans on it. */
        if (op == RL_OP_ACQUIRE || op == RL_OP_EXTEND)
            rl_watch_before_use(engine, i, now_ns);
        fill_node(engine, i, now_ns, &request);
        rl_command_write(&request, abilities, &command);
        /* A rollback too goes on this connection, behind what it takes back (A5). */
        if ((!RL_RULE(ROLLBACK_BEHIND) && op == RL_OP_ROLLBACK) ||
            !push(engine, i, handle->attempt, op, send->round, &command)) {
            unsent |= (uint16_t)(1u << i);
            if (rl_ops[op].deletes_key)
                rl_node_keep_undelivered(engine, i, handle->attempt, now_ns);
        } else if (op == RL_OP_RELEASE && rl_command_deletes_natively(&request, abilities)) {
            /* A native delete wakes no waiter: the request behind it finds any. */
            rl_send_to_node(engine, i, handle->attempt, NULL, RL_OP_WAITERS, 0, now_ns);
        }
    }
    /* A place that was given up is not requested again: late wake-ups for it find no waiter. */
    if ((op == RL_OP_LEAVE || op == RL_OP_QUIT) && queue &&
        rl_local_queue_head(queue) == handle) {
        rl_local_queue_renumber(&engine->local_queues, queue);
        rl_pending_acquire_of(handle)->waiter = queue->number;
    }
    return unsent;
}
