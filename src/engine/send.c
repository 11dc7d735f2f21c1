/* SPDX-License-Identifier: BSD-2-Clause */
/* From a step of a lock to requests: claims with their values, and who is told what. */
#include "core/kind.h"
#include "core/rules.h"
#include "engine/engine.h"

void rl_write_hex(const uint8_t *bytes, size_t size, char *out)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        out[2 * i] = hex[bytes[i] >> 4];
        out[2 * i + 1] = hex[bytes[i] & 15];
    }
}

size_t rl_value_max(uint8_t kind)
{
    return rl_kind(kind)->has_slots ? RL_VALUE_DRAWN + RL_SLOT_MAX : RL_VALUE_DRAWN;
}

/* The slot of a semaphore is part of its value, so that whoever gives it back finds it. */
int rl_claim_draw_value(struct rl_engine *engine, struct rl_claim *claim, uint16_t slot)
{
    uint8_t bytes[RL_VALUE_RANDOM_BYTES];
    char text[RL_VALUE_DRAWN + 1 + RL_DIGITS_MAX];
    char *end = text + RL_VALUE_DRAWN;

    if (engine->secret(engine->random_data, bytes, sizeof bytes) < 0)
        return -1;
    rl_write_hex(bytes, sizeof bytes, text);
    if (slot) {
        *end++ = '#';
        end = rl_resp_decimal(slot, end);
    }
    rl_claim_set_value(claim, text, (size_t)(end - text));
    return 0;
}

int rl_handle_renew_claim(struct rl_engine *engine, struct rl_handle *handle, size_t value_max)
{
    struct rl_claim *claim = rl_claim_copy(&engine->claims, handle->claim, value_max, handle);

    if (!claim)
        return -1;
    if (RL_RULE(ROUNDS))
        handle->claim->handle = NULL;
    rl_claim_unref(&engine->claims, handle->claim);
    handle->claim = claim;
    return 0;
}

/*
 * Every attempt gets a value of its own (A1): with a reused one, the late rollback of an
 * earlier attempt would delete the key of the later, successful one. NOMEM, SYSTEM or OK.
 */
static int begin_claim(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    const struct rl_seeker *seeker = rl_seeker_of(handle);
    struct rl_claim *claim;

    if (handle->claim->value_size &&
        rl_handle_renew_claim(engine, handle, rl_value_max(handle->claim->kind)) < 0)
        return REDLOCK_NOMEM;
    claim = handle->claim;
    if ((RL_RULE(FRESH_VALUE) || !claim->value_size) &&
        rl_claim_draw_value(engine, claim,
                            rl_kind(claim->kind)->has_slots ? handle->lock.slot : 0) < 0)
        return REDLOCK_SYSTEM;
    claim->ttl_ns = rl_ttl_ns(&handle->lock);
    rl_claim_seen(claim, now_ns);
    if (seeker) {
        claim->ticket = seeker->pursuit.ticket;
        claim->waiter = claim->ticket ? seeker->waiter : 0;
        claim->contended = claim->ticket != 0;
        claim->follows = rl_may_follow(engine, handle, now_ns);
    }
    return REDLOCK_OK;
}

/*
 * Healing is for nodes that may vote: on others the key would prove nothing (A8, G3). And for
 * those who know what it is that they hold.
 */
static bool is_left_out(struct rl_engine *engine, const struct rl_handle *handle, uint8_t node,
                        enum rl_op op, int64_t now_ns)
{
    return RL_RULE(HEAL_IS_NO_PROOF) && op == RL_OP_HEAL &&
           (handle->claim->kind_unknown ||
            !rl_guard_may_vote(&engine->node[node].session.guard, now_ns));
}

/* A server that deletes by itself tells no waiters: whether there are any is asked behind it. */
static void ask_for_waiters(struct rl_engine *engine, struct rl_claim *claim, uint8_t node,
                            int64_t now_ns)
{
    struct rl_description description;
    struct rl_command command;

    rl_describe(engine, claim, NULL, RL_OP_WAITERS, now_ns, &description);
    rl_recipe_command(RL_OP_WAITERS, &description.subject,
                      &engine->node[node].session.abilities, &command);
    rl_node_request(engine, node, claim, RL_OP_WAITERS, 0, &command);
}

/* What this step needs of a claim; false: no memory or no randomness for it. */
static bool prepare_claim(struct rl_engine *engine, struct rl_handle *handle, enum rl_op op,
                          int64_t now_ns)
{
    if (op == RL_OP_ACQUIRE || !handle->claim->value_size) {
        handle->prepare_error = (int8_t)begin_claim(engine, handle, now_ns);
        return handle->prepare_error == REDLOCK_OK;
    }
    if (op == RL_OP_EXTEND) {
        if (handle->claim->ttl_ns < rl_extension_ttl_ns(&handle->lock))
            handle->claim->ttl_ns = rl_extension_ttl_ns(&handle->lock);
        rl_claim_seen(handle->claim, now_ns);
    }
    return true;
}

/* A place that was given up is not asked for again: late messages for it concern nobody. */
static void forget_place(struct rl_engine *engine, struct rl_handle *handle)
{
    struct rl_line *line = rl_line_of(handle);

    if (!line || line->first != handle)
        return;
    rl_line_renumber(&engine->lines, line);
    rl_seeker_of(handle)->waiter = rl_line_number(line);
}

/* Sends one step to its nodes; returns those that could not be asked, a bit each. */
uint16_t rl_send_to_nodes(struct rl_engine *engine, struct rl_handle *handle,
                          const struct rl_send *send, int64_t now_ns)
{
    struct rl_description description;
    struct rl_command command;
    enum rl_op op = send->op;
    uint16_t refused = 0;

    if (!prepare_claim(engine, handle, op, now_ns))
        return send->nodes;
    rl_describe(engine, handle->claim, handle, op, now_ns, &description);
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_abilities *abilities = &engine->node[i].session.abilities;

        if (!(send->nodes & (1u << i)) || is_left_out(engine, handle, i, op, now_ns))
            continue;
        /* In front: a clock that was set must be known before the vote that leans on it. */
        if (op == RL_OP_ACQUIRE || op == RL_OP_EXTEND)
            rl_watch_use(engine, i, now_ns);
        rl_describe_node(engine, handle, i, now_ns, &description);
        rl_recipe_command(op, &description.subject, abilities, &command);
        /* A rollback too goes on this connection, behind what it takes back (A5). */
        if ((!RL_RULE(ROLLBACK_BEHIND) && op == RL_OP_ROLLBACK) ||
            !rl_node_request(engine, i, handle->claim, op, send->round, &command)) {
            refused |= (uint16_t)(1u << i);
            if (op == RL_OP_RELEASE || op == RL_OP_ROLLBACK || op == RL_OP_QUIT)
                rl_node_keep_orphan(engine, i, handle->claim, now_ns);
        } else if (op == RL_OP_RELEASE &&
                   rl_recipe_deletes_natively(&description.subject, abilities)) {
            ask_for_waiters(engine, handle->claim, i, now_ns);
        }
    }
    if (op == RL_OP_LEAVE || op == RL_OP_QUIT)
        forget_place(engine, handle);
    return refused;
}

bool rl_outlives_its_handle(enum rl_op op)
{
    switch (op) {
    case RL_OP_RELEASE:
    case RL_OP_ROLLBACK:
    case RL_OP_QUIT:
    case RL_OP_LEAVE:
    case RL_OP_WAITERS:
    case RL_OP_WAKE:
        return true;
    default:
        return false;
    }
}

/* What a native delete leaves to be done: telling who waits. */
void rl_tell_waiters(struct rl_engine *engine, struct rl_claim *claim, uint8_t node,
                     enum rl_op op, const struct rl_answer *answer, int64_t now_ns)
{
    struct rl_description description;
    struct rl_command command;

    if (answer->vote != REDLOCK_VOTE_GRANTED)
        return;
    if (answer->contended || op == RL_OP_WAITERS)
        rl_be_courteous(engine, claim, now_ns);
    if (op == RL_OP_ROLLBACK) {
        rl_describe(engine, claim, NULL, op, now_ns, &description);
        if (rl_recipe_deletes_natively(&description.subject,
                                       &engine->node[node].session.abilities))
            ask_for_waiters(engine, claim, node, now_ns);
    } else if (op == RL_OP_WAITERS) {
        rl_describe(engine, claim, NULL, RL_OP_WAKE, now_ns, &description);
        rl_recipe_command(RL_OP_WAKE, &description.subject,
                          &engine->node[node].session.abilities, &command);
        rl_node_request(engine, node, claim, RL_OP_WAKE, 0, &command);
    }
}
