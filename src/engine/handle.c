/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks and questions: from a step's actions to requests, and from answers to the next step. */
#include <string.h>

#include "core/rules.h"
#include "engine/engine.h"

#define COURTESY_NS 1000000000

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

void rl_write_hex(const uint8_t *bytes, size_t size, char *out)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        out[2 * i] = hex[bytes[i] >> 4];
        out[2 * i + 1] = hex[bytes[i] & 15];
    }
}

/* The slot of a semaphore is part of its value, so that whoever gives it back finds it. */
void rl_claim_draw_value(struct rl_engine *engine, struct rl_claim *claim, uint16_t slot)
{
    uint8_t bytes[RL_VALUE_RANDOM_BYTES];
    char text[2 * RL_VALUE_RANDOM_BYTES + 1 + RL_DIGITS_MAX];
    char *end = text + 2 * RL_VALUE_RANDOM_BYTES;

    engine->random(engine->random_data, bytes, sizeof bytes);
    rl_write_hex(bytes, sizeof bytes, text);
    if (slot) {
        *end++ = '#';
        end = rl_resp_decimal(slot, end);
    }
    rl_claim_set_value(claim, text, (size_t)(end - text));
}

struct rl_claim *rl_claim_for(struct rl_engine *engine, struct rl_handle *handle)
{
    struct rl_claim *claim = rl_claim_new(&engine->claims, handle->key, handle);

    if (!claim)
        return NULL;
    claim->kind = handle->lock.terms.kind;
    claim->name_count = handle->name_count;
    claim->prefix_size = (uint8_t)handle->prefix_size;
    return claim;
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
    struct rl_claim *claim = rl_claim_for(engine, handle);

    if (!claim)
        return false;
    if (RL_RULE(FRESH_VALUE) || !handle->claim)
        rl_claim_draw_value(engine, claim,
                            handle->lock.terms.kind == REDLOCK_SEMAPHORE ? handle->lock.slot
                                                                         : 0);
    else
        rl_claim_set_value(claim, handle->claim->value.data, handle->claim->value.size);
    claim->gone_ns = gone_ns(engine, handle->lock.ttl_ns, now_ns);
    claim->contended = handle->lock.ticket != 0;
    claim->waiter = handle->lock.ticket ? handle->waiter : 0;
    if (handle->claim) {
        if (RL_RULE(ROUNDS))
            handle->claim->handle = NULL;
        rl_claim_unref(&engine->claims, handle->claim);
    }
    handle->claim = claim;
    return true;
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

/* The keys may live until then, or longer if they did so before. */
static void outlive(struct rl_claim *claim, int64_t until_ns)
{
    if (claim->gone_ns < until_ns)
        claim->gone_ns = until_ns;
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

/* What this step needs of a claim; false: out of memory. */
static bool prepare_claim(struct rl_engine *engine, struct rl_handle *handle, enum rl_op op,
                          int64_t now_ns)
{
    if (op == RL_OP_ACQUIRE || !handle->claim) {
        handle->out_of_memory = !begin_claim(engine, handle, now_ns);
        return !handle->out_of_memory;
    }
    if (op == RL_OP_EXTEND)
        outlive(handle->claim, gone_ns(engine, handle->lock.extension_ttl_ns, now_ns));
    return true;
}

/* A place that was given up is not asked for again: late messages for it concern nobody. */
static void forget_place(struct rl_engine *engine, struct rl_handle *handle)
{
    if (!handle->line || handle->line->first != handle)
        return;
    rl_line_renumber(&engine->lines, handle->line);
    handle->waiter = rl_line_number(handle->line);
}

/* Sends one step to its nodes; returns those that could not be asked, a bit each. */
static uint16_t send_to_nodes(struct rl_engine *engine, struct rl_handle *handle,
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

static void step(struct rl_engine *engine, struct rl_handle *handle, struct rl_event *event);

/* Nodes that could not be asked have voted: they are unreachable, and the lock is told. */
static void answer_refused(struct rl_engine *engine, struct rl_handle *handle,
                           const struct rl_send *send, uint16_t refused, int64_t now_ns)
{
    if (send->op == RL_OP_ROLLBACK || send->op == RL_OP_QUIT || send->op == RL_OP_LEAVE ||
        send->op == RL_OP_HEAL)
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

static bool is_waiting(const struct rl_lock *lock)
{
    switch (lock->state) {
    case RL_ACQUIRING:
    case RL_ALIGNING:
    case RL_BACKOFF:
    case RL_PARKED:
    case RL_TICKETING:
    case RL_QUEUED:
        return true;
    default:
        return false;
    }
}

/* The next of our waiters has its turn, as soon as the timers are looked at. */
static void leave_line(struct rl_engine *engine, struct rl_handle *handle, int64_t now_ns)
{
    struct rl_handle *next = rl_line_leave(&engine->lines, handle);

    if (!next)
        return;
    next->waiter = rl_line_number(next->line);
    next->turn = true;
    next->held_here = handle->lock.state == RL_HELD && handle->lock.terms.kind == REDLOCK_MUTEX;
    rl_timers_set(&engine->timers, &next->timer, now_ns);
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
    rl_timers_set(&engine->timers, &handle->timer,
                  handle->turn ? now_ns : rl_lock_timer_ns(&handle->lock));
    if (handle->line && !is_waiting(&handle->lock))
        leave_line(engine, handle, now_ns);
    engine->listening |= handle->lock.ticket != 0 || handle->lock.state == RL_TICKETING;
    for (uint32_t i = 0; i < actions->send_count; i++)
        if (refused[i])
            answer_refused(engine, handle, &actions->send[i], refused[i], now_ns);
}

static void step(struct rl_engine *engine, struct rl_handle *handle, struct rl_event *event)
{
    struct rl_actions actions;

    /* Randomness only spreads attempts; it is drawn where one can be decided. */
    if (is_waiting(&handle->lock) || handle->lock.terms.kind == REDLOCK_SEMAPHORE)
        engine->random(engine->random_data, &event->random, sizeof event->random);
    rl_lock_step(&handle->lock, event, &actions);
    perform(engine, handle, &actions, event->now_ns);
}

/* ---- what comes back ---- */

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

static void be_courteous(struct rl_engine *engine, const struct rl_claim *claim, int64_t now_ns)
{
    uint64_t hash = rl_line_hash(claim->key);

    engine->courtesy[hash % RL_COURTESIES] = (struct rl_courtesy){hash, now_ns + COURTESY_NS};
}

static bool is_courteous(const struct rl_engine *engine, const struct rl_handle *handle,
                         int64_t now_ns)
{
    uint64_t hash = rl_line_hash(handle->key);
    const struct rl_courtesy *courtesy = &engine->courtesy[hash % RL_COURTESIES];

    return courtesy->hash == hash && now_ns < courtesy->until_ns;
}

/* What a native delete leaves to be done: telling who waits. */
static void tell_waiters(struct rl_engine *engine, struct rl_claim *claim, uint8_t node,
                         enum rl_op op, struct rl_answer answer, int64_t now_ns)
{
    struct rl_description description;
    struct rl_command command;

    if (answer.vote != REDLOCK_VOTE_GRANTED)
        return;
    if (answer.contended || op == RL_OP_WAITERS)
        be_courteous(engine, claim, now_ns);
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

void rl_handle_answer(struct rl_engine *engine, struct rl_claim *claim, uint8_t node,
                      const struct rl_pending *request, const struct rl_reply *reply,
                      struct rl_answer answer, int64_t now_ns)
{
    struct rl_handle *handle = claim->handle;
    enum rl_op op = (enum rl_op)request->op;

    if (rl_outlives_its_handle(op))
        tell_waiters(engine, claim, node, op, answer, now_ns);
    if (rl_outlives_its_handle(op) && op != RL_OP_RELEASE)
        return;
    if (!handle)
        return;
    if (handle->survey) {
        /* A late answer to a question that is over says nothing about the next one. */
        if (request->round == handle->lock.round && !rl_survey_complete(handle->survey))
            rl_question_answer(engine, handle, node, op, reply, answer, now_ns);
        return;
    }
    step(engine, handle,
         &(struct rl_event){
             .type = RL_EVENT_ANSWER,
             .now_ns = now_ns,
             .node = node,
             .op = op,
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
    if (handle->turn) {
        handle->turn = false;
        event.type = RL_EVENT_TURN;
        event.held_here = handle->held_here;
    } else if (handle->line && handle->line->first != handle) {
        event.leader_error = handle->line->first->lock.attempt_error;
    }
    step(engine, handle, &event);
}

/* ---- waiting ---- */

void rl_handle_wake(struct rl_engine *engine, struct rl_handle *handle, uint16_t nodes,
                    uint16_t slot, int64_t now_ns)
{
    step(engine, handle,
         &(struct rl_event){
             .type = RL_EVENT_WAKE, .now_ns = now_ns, .nodes = nodes, .slot = slot});
}

void rl_handles_wake(struct rl_engine *engine, uint8_t node, bool sleepers, int64_t now_ns)
{
    for (uint32_t i = 0; i < engine->lines.capacity; i++) {
        struct rl_line *line = engine->lines.all[i];

        if (line && (sleepers || line->first->lock.state != RL_QUEUED))
            rl_handle_wake(engine, line->first, (uint16_t)(1u << node), 0, now_ns);
    }
}

/*
 * Our own release is on its way. Who is first in the nodes' queue and ours need not wait to be
 * told: its request travels right behind.
 */
static void wake_our_own(struct rl_engine *engine, const struct rl_handle *released,
                         int64_t now_ns)
{
    uint16_t all = (uint16_t)((1u << engine->policy.node_count) - 1);
    struct rl_line *line = rl_line_find(&engine->lines, released->key);

    if (line && line->first->lock.state == RL_QUEUED && line->first->lock.place == 1)
        rl_handle_wake(engine, line->first, all, released->lock.slot, now_ns);
}

uint32_t rl_handle_position(const struct rl_handle *handle)
{
    uint32_t ahead = 0;

    if (!handle->line)
        return 0;
    for (const struct rl_handle *at = handle; at->line_previous; at = at->line_previous)
        ahead++;
    if (ahead > 0 && handle->line->first->lock.place == 0)
        return ahead + 1;
    return ahead + handle->line->first->lock.place;
}

/* ---- what the owner asks for ---- */

int rl_handle_init(struct rl_engine *engine, struct rl_handle *handle,
                   const struct rl_about *about, const struct rl_lock_terms *terms)
{
    if (!rl_timers_reserve(&engine->timers, engine->handle_count + 1))
        return -1;
    *handle = (struct rl_handle){
        .key = about->key,
        .prefix_size = about->prefix_size,
        .name_count = about->name_count,
        .owner = about->owner,
    };
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
    struct rl_line *line = NULL;

    if (wait_deadline_ns) {
        /* Who holds a lock already must not stand behind somebody who waits for it. */
        line =
            rl_line_join(&engine->lines, handle, handle->lock.terms.kind == REDLOCK_REENTRANT);
        if (!line) {
            handle->done = true;
            handle->done_error = REDLOCK_NOMEM;
            rl_engine_tell(engine, handle);
            return;
        }
        handle->waiter = rl_line_number(line);
        handle->courteous = is_courteous(engine, handle, now_ns);
    }
    step(engine, handle,
         &(struct rl_event){
             .type = RL_EVENT_ACQUIRE,
             .now_ns = now_ns,
             .ttl_ns = ttl_ns,
             .wait_deadline_ns = wait_deadline_ns,
             .parked = line && line->first != handle,
         });
}

int rl_handle_adopt(struct rl_engine *engine, struct rl_handle *handle, const char *value,
                    size_t size)
{
    handle->claim = rl_claim_for(engine, handle);
    if (!handle->claim)
        return -1;
    handle->claim->kind_unknown = true;
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
    wake_our_own(engine, handle, now_ns);
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
    leave_line(engine, handle, now_ns);
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
