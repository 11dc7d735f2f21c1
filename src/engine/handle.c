/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks and questions: from a step's actions to requests, and from answers to the next step. */
#include <string.h>

#include "core/rules.h"
#include "engine/engine.h"

#define MS_NS 1000000

/* ---- news for the owner ---- */

void rl_engine_tell(struct rl_engine *engine, struct rl_handle *handle)
{
    if (handle->ready)
        return;
    handle->ready = true;
    handle->ready_next = NULL;
    handle->ready_previous = engine->ready_last;
    if (engine->ready_last)
        engine->ready_last->ready_next = handle;
    else
        engine->ready_first = handle;
    engine->ready_last = handle;
}

void rl_engine_forget_ready(struct rl_engine *engine, struct rl_handle *handle)
{
    if (!handle->ready)
        return;
    handle->ready = false;
    if (handle->ready_previous)
        handle->ready_previous->ready_next = handle->ready_next;
    else
        engine->ready_first = handle->ready_next;
    if (handle->ready_next)
        handle->ready_next->ready_previous = handle->ready_previous;
    else
        engine->ready_last = handle->ready_previous;
}

struct rl_handle *rl_engine_take_ready(struct rl_engine *engine)
{
    struct rl_handle *handle = engine->ready_first;

    if (handle)
        rl_engine_forget_ready(engine, handle);
    return handle;
}

/* ---- requests ---- */

void rl_claim_draw_value(struct rl_engine *engine, struct rl_claim *claim)
{
    static const char hex[] = "0123456789abcdef";
    uint8_t bytes[RL_VALUE_RANDOM_BYTES];
    char text[2 * RL_VALUE_RANDOM_BYTES];

    engine->random(engine->random_data, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        text[2 * i] = hex[bytes[i] >> 4];
        text[2 * i + 1] = hex[bytes[i] & 15];
    }
    rl_claim_set_value(claim, text, sizeof text);
}

/* By then a key of this TTL has expired, though its request lay on the way for long. */
static int64_t gone_ns(const struct rl_engine *engine, int64_t ttl_ns, int64_t now_ns)
{
    return now_ns + 2 * ttl_ns + engine->stall_ns;
}

/*
 * Every attempt gets a value of its own (A1): with a reused one, the late rollback of an
 * earlier attempt would delete the key of the later, successful one.
 */
static bool begin_claim(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    struct rl_claim *claim = rl_claim_new(&engine->claims, handle->key, handle);

    if (!claim)
        return false;
    if (RL_RULE(FRESH_VALUE) || !handle->claim)
        rl_claim_draw_value(engine, claim);
    else
        rl_claim_set_value(claim, handle->claim->value.data, handle->claim->value.size);
    claim->gone_ns = gone_ns(engine, handle->lock.ttl_ns, now_ns);
    if (handle->claim) {
        if (RL_RULE(ROUNDS))
            handle->claim->handle = NULL;
        rl_claim_unref(&engine->claims, handle->claim);
    }
    handle->claim = claim;
    return true;
}

struct rl_slice rl_write_decimal(int64_t number, char *out)
{
    return (struct rl_slice){out, (size_t)(rl_resp_decimal((uint64_t)number, out) - out)};
}

/* How long the key should live from now on. */
static int64_t ttl_of_ns(const struct rl_lock *lock, enum rl_op op, int64_t now_ns)
{
    switch (op) {
    case RL_OP_EXTEND:
        return lock->extension_ttl_ns;
    case RL_OP_HEAL:
        /* What is left of the extension that was just won (A8). */
        return lock->round_start_ns + lock->extension_ttl_ns - now_ns;
    default:
        return lock->ttl_ns;
    }
}

void rl_handle_describe(const struct rl_engine *engine, const struct rl_handle *handle,
                        enum rl_op op, int64_t now_ns, struct rl_description *out)
{
    const struct rl_lock *lock = &handle->lock;
    int64_t ttl_ns = ttl_of_ns(lock, op, now_ns);
    size_t name_size = handle->key.size - handle->prefix_size;
    size_t head_size = sizeof RL_FENCE_PREFIX - 1;

    out->subject = (struct rl_subject){
        .key = handle->claim->key,
        .value = handle->claim->value,
        .fenced = lock->terms.fenced,
        .marked = engine->strict,
        .may_shorten = op == RL_OP_EXTEND && ttl_ns < lock->longest_ttl_ns,
    };
    /* Never zero, which would be an error: at the very end it is a key for a millisecond. */
    out->subject.ttl_ms = rl_write_decimal(ttl_ns < MS_NS ? 1 : ttl_ns / MS_NS, out->ttl_ms);
    if (!lock->terms.fenced && !engine->strict && op != RL_OP_FENCE && op != RL_OP_FORGET)
        return;
    memcpy(out->fence_key, RL_FENCE_PREFIX, head_size);
    memcpy(out->fence_key + head_size, handle->key.data + handle->prefix_size, name_size);
    out->subject.fence_key = (struct rl_slice){out->fence_key, head_size + name_size};
    out->subject.token = rl_write_decimal(lock->token, out->token);
}

/* Healing is for nodes that may vote: on others the key would prove nothing (A8, G3). */
static bool is_left_out(struct rl_engine *engine, uint8_t node, enum rl_op op, int64_t now_ns)
{
    return RL_RULE(HEAL_IS_NO_PROOF) && op == RL_OP_HEAL &&
           !rl_guard_may_vote(&engine->node[node].session.guard, now_ns);
}

/* The keys may live until then, or longer if they did so before. */
static void outlive(struct rl_claim *claim, int64_t until_ns)
{
    if (claim->gone_ns < until_ns)
        claim->gone_ns = until_ns;
}

/* Sends one step to its nodes; returns those that could not be asked, a bit each. */
static uint16_t send_to_nodes(struct rl_engine *engine, struct rl_handle *handle,
                              const struct rl_send *send, int64_t now_ns)
{
    struct rl_description description;
    struct rl_command command;
    uint16_t refused = 0;

    if (send->op == RL_OP_ACQUIRE)
        handle->out_of_memory = !begin_claim(engine, handle, now_ns);
    if (!handle->claim || (send->op == RL_OP_ACQUIRE && handle->out_of_memory))
        return send->nodes;
    if (send->op == RL_OP_EXTEND)
        outlive(handle->claim, gone_ns(engine, handle->lock.extension_ttl_ns, now_ns));
    rl_handle_describe(engine, handle, send->op, now_ns, &description);
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_node *node = &engine->node[i];

        if (!(send->nodes & (1u << i)) || is_left_out(engine, i, send->op, now_ns))
            continue;
        /* In front: a clock that was set must be known before the vote that leans on it. */
        if (send->op == RL_OP_ACQUIRE || send->op == RL_OP_EXTEND)
            rl_watch_use(engine, i, now_ns);
        rl_recipe_command(send->op, &description.subject, &node->session.abilities, &command);
        /* A rollback too goes on this connection, behind what it takes back (A5). */
        if ((RL_RULE(ROLLBACK_BEHIND) || send->op != RL_OP_ROLLBACK) &&
            rl_node_request(engine, i, handle->claim, send->op, send->round, &command))
            continue;
        refused |= (uint16_t)(1u << i);
        if (send->op == RL_OP_RELEASE || send->op == RL_OP_ROLLBACK)
            rl_node_keep_orphan(engine, i, handle->claim, now_ns);
    }
    return refused;
}

static void step(struct rl_engine *engine, struct rl_handle *handle, struct rl_event *event);

/* Nodes that could not be asked have voted: they are unreachable, and the lock is told. */
static void answer_refused(struct rl_engine *engine, struct rl_handle *handle,
                           const struct rl_send *send, uint16_t refused, int64_t now_ns)
{
    if (send->op == RL_OP_ROLLBACK || send->op == RL_OP_HEAL)
        return;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_event event = {
            .type = RL_EVENT_ANSWER,
            .now_ns = now_ns,
            .node = i,
            .op = send->op,
            .round = send->round,
        };

        if (!(refused & (1u << i)))
            continue;
        event.answer = rl_node_excuse(engine, i);
        step(engine, handle, &event);
    }
}

static void perform(struct rl_engine *engine, struct rl_handle *handle,
                    const struct rl_actions *actions, int64_t now_ns)
{
    uint16_t refused[RL_SENDS_MAX];

    for (uint32_t i = 0; i < actions->send_count; i++)
        refused[i] = send_to_nodes(engine, handle, &actions->send[i], now_ns);
    if (actions->done) {
        handle->done = true;
        handle->done_error = actions->done_error;
        if (actions->done_error != REDLOCK_OK && handle->out_of_memory)
            handle->done_error = REDLOCK_NOMEM;
    }
    handle->lost |= actions->lost;
    handle->jeopardy |= actions->jeopardy;
    handle->recovered |= actions->recovered;
    if (actions->done || actions->lost || actions->jeopardy || actions->recovered)
        rl_engine_tell(engine, handle);
    rl_timers_set(&engine->timers, &handle->timer, rl_lock_timer_ns(&handle->lock));
    for (uint32_t i = 0; i < actions->send_count; i++)
        if (refused[i])
            answer_refused(engine, handle, &actions->send[i], refused[i], now_ns);
}

static void step(struct rl_engine *engine, struct rl_handle *handle, struct rl_event *event)
{
    struct rl_actions actions;

    /* Randomness only spreads retries; it is drawn where a retry can be decided. */
    if (handle->lock.state == RL_ACQUIRING || handle->lock.state == RL_ALIGNING)
        engine->random(engine->random_data, &event->random, sizeof event->random);
    rl_lock_step(&handle->lock, event, &actions);
    perform(engine, handle, &actions, event->now_ns);
}

/* ---- what comes back ---- */

void rl_handle_answer(struct rl_engine *engine, struct rl_claim *claim, uint8_t node,
                      const struct rl_pending *request, const struct rl_reply *reply,
                      struct rl_answer answer, int64_t now_ns)
{
    struct rl_handle *handle = claim->handle;

    if (!handle || request->op == RL_OP_ROLLBACK)
        return;
    if (handle->survey) {
        rl_question_answer(engine, handle, node, (enum rl_op)request->op, reply, answer,
                           now_ns);
        return;
    }
    step(engine, handle,
         &(struct rl_event){
             .type = RL_EVENT_ANSWER,
             .now_ns = now_ns,
             .node = node,
             .op = (enum rl_op)request->op,
             .round = request->round,
             .answer = answer,
         });
}

static void find_warming(const struct rl_engine *engine, int64_t now_ns, uint16_t *nodes,
                         int64_t *until_ns)
{
    *nodes = 0;
    *until_ns = now_ns + engine->policy.node_timeout_ns;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_node *node = &engine->node[i];
        int64_t ready_ns = node->connected_ns + engine->policy.node_timeout_ns;

        if (!node->warming || (node->connected && now_ns >= ready_ns))
            continue;
        *nodes |= (uint16_t)(1u << i);
        if (node->connected && ready_ns < *until_ns)
            *until_ns = ready_ns;
    }
}

void rl_handle_timer(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    struct rl_event event = {.type = RL_EVENT_TIMER, .now_ns = now_ns};

    find_warming(engine, now_ns, &event.warming, &event.warm_at_ns);
    if (handle->survey) {
        rl_question_timer(engine, handle, event.warming, event.warm_at_ns, now_ns);
        return;
    }
    step(engine, handle, &event);
}

/* ---- what the owner asks for ---- */

int rl_handle_init(struct rl_engine *engine, struct rl_handle *handle, struct rl_slice key,
                   size_t prefix_size, const struct rl_lock_terms *terms)
{
    if (!rl_timers_reserve(&engine->timers, engine->handle_count + 1))
        return -1;
    *handle = (struct rl_handle){.key = key, .prefix_size = prefix_size};
    rl_lock_init(&handle->lock, &engine->policy, terms);
    handle->next = engine->handles;
    if (engine->handles)
        engine->handles->previous = handle;
    engine->handles = handle;
    engine->handle_count++;
    return 0;
}

void rl_handles_node_out(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    for (struct rl_handle *handle = engine->handles; handle; handle = handle->next)
        if (!handle->survey)
            step(engine, handle,
                 &(struct rl_event){.type = RL_EVENT_NODE_OUT, .now_ns = now_ns, .node = node});
}

void rl_handles_abandon(struct rl_engine *engine, int64_t now_ns)
{
    for (struct rl_handle *handle = engine->handles; handle; handle = handle->next)
        if (!handle->survey)
            step(engine, handle,
                 &(struct rl_event){.type = RL_EVENT_ABANDON, .now_ns = now_ns});
}

void rl_handle_acquire(struct rl_engine *engine, struct rl_handle *handle, int64_t ttl_ns,
                       int64_t wait_deadline_ns, int64_t now_ns)
{
    step(engine, handle,
         &(struct rl_event){
             .type = RL_EVENT_ACQUIRE,
             .now_ns = now_ns,
             .ttl_ns = ttl_ns,
             .wait_deadline_ns = wait_deadline_ns,
         });
}

int rl_handle_adopt(struct rl_engine *engine, struct rl_handle *handle, const char *value,
                    size_t size)
{
    handle->claim = rl_claim_new(&engine->claims, handle->key, handle);
    if (!handle->claim)
        return -1;
    rl_claim_set_value(handle->claim, value, size);
    /* Where and until when the other process set it is unknown: everywhere, for ever. */
    handle->claim->touched = UINT16_MAX;
    handle->claim->gone_ns = RL_NEVER_NS;
    rl_lock_adopt(&handle->lock);
    return 0;
}

void rl_handle_extend(struct rl_engine *engine, struct rl_handle *handle, int64_t ttl_ns,
                      int64_t now_ns)
{
    step(engine, handle,
         &(struct rl_event){.type = RL_EVENT_EXTEND, .now_ns = now_ns, .ttl_ns = ttl_ns});
}

void rl_handle_release(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    step(engine, handle, &(struct rl_event){.type = RL_EVENT_RELEASE, .now_ns = now_ns});
}

void rl_handle_cancel(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    step(engine, handle, &(struct rl_event){.type = RL_EVENT_CANCEL, .now_ns = now_ns});
}

void rl_handle_drop(struct rl_engine *engine, struct rl_handle *handle, bool give_up,
                    int64_t now_ns)
{
    if (!handle->survey && give_up) {
        if (handle->lock.state == RL_HELD)
            rl_handle_release(engine, handle, now_ns);
        else
            rl_handle_cancel(engine, handle, now_ns);
    }
    rl_engine_forget_ready(engine, handle);
    rl_timers_set(&engine->timers, &handle->timer, RL_NEVER_NS);
    if (handle->claim) {
        handle->claim->handle = NULL;
        rl_claim_unref(&engine->claims, handle->claim);
        handle->claim = NULL;
    }
    if (handle->previous)
        handle->previous->next = handle->next;
    else
        engine->handles = handle->next;
    if (handle->next)
        handle->next->previous = handle->previous;
    engine->handle_count--;
}
