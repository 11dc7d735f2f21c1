/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/survey.h"

#include <string.h>

#include "core/kind.h"
#include "engine/ask.h"
#include "engine/engine.h"
#include "engine/sets.h"
#include "engine/vote.h"

#define NO_IDENTITY "its identity is unknown: INFO must be allowed"

void rl_survey_begin(struct rl_survey *survey, const struct rl_policy *policy, int64_t now_ns)
{
    survey->policy = policy;
    survey->due = (uint16_t)((1u << policy->node_count) - 1);
    survey->start_ns = now_ns;
    survey->deadline_ns = now_ns + policy->node_timeout_ns;
    for (uint8_t i = 0; i < policy->node_count; i++) {
        survey->node[i] = (struct rl_node_vote){REDLOCK_VOTE_PENDING, -1};
        survey->key_ttl_ms[i] = -1;
        if (survey->sight)
            survey->sight[i] = (struct rl_sight){.kind = -1};
    }
}

void rl_survey_answer(struct rl_survey *survey, uint8_t node, struct rl_answer answer,
                      const struct rl_reply *reply, int64_t now_ns)
{
    uint16_t bit = (uint16_t)(1u << node);
    struct rl_node_vote *vote = &survey->node[node];

    if (!(survey->due & bit))
        return;
    survey->due &= (uint16_t)~bit;
    vote->vote = answer.vote;
    survey->key_ttl_ms[node] = answer.key_ttl_ms;
    if (!answer.is_synthetic)
        vote->rtt_us = rl_rtt_us(now_ns - survey->start_ns);
    if (survey->sight && reply &&
        (answer.vote == REDLOCK_VOTE_HELD || answer.vote == REDLOCK_VOTE_MISSING))
        rl_sight_read(reply, &survey->sight[node]);
    if (survey->heard && reply && answer.vote == REDLOCK_VOTE_GRANTED)
        survey->heard(survey, node, reply);
}

void rl_survey_timer(struct rl_survey *survey, uint16_t warming, int64_t warm_at_ns,
                     int64_t now_ns)
{
    if (now_ns < survey->deadline_ns)
        return;
    for (uint8_t i = 0; i < survey->policy->node_count; i++)
        if (survey->due & ~warming & (1u << i))
            survey->node[i].vote = REDLOCK_VOTE_TIMEDOUT;
    survey->due &= warming;
    survey->deadline_ns = warm_at_ns;
}

bool rl_survey_complete(const struct rl_survey *survey)
{
    return !survey->due;
}

static uint8_t count_votes(const struct rl_survey *survey, enum redlock_vote vote)
{
    uint8_t count = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++)
        count += survey->node[i].vote == vote;
    return count;
}

int rl_survey_error(const struct rl_survey *survey)
{
    uint8_t quorum = survey->policy->quorum;
    uint8_t spare = (uint8_t)(survey->policy->node_count - quorum);
    uint8_t answered = (uint8_t)(count_votes(survey, REDLOCK_VOTE_GRANTED) +
                                 count_votes(survey, REDLOCK_VOTE_HELD) +
                                 count_votes(survey, REDLOCK_VOTE_MISSING));

    if (answered >= quorum)
        return REDLOCK_OK;
    if (count_votes(survey, REDLOCK_VOTE_AUTH) > spare)
        return REDLOCK_AUTH;
    if (count_votes(survey, REDLOCK_VOTE_PROTO) > spare)
        return REDLOCK_PROTO;
    return REDLOCK_NOQUORUM;
}

/* ---- what the answers say together ---- */

static bool has_answered(const struct rl_survey *survey, uint8_t node)
{
    return survey->node[node].vote == REDLOCK_VOTE_HELD ||
           survey->node[node].vote == REDLOCK_VOTE_MISSING;
}

static uint32_t shown_holders(const struct rl_sight *sight)
{
    return sight->holder_count < REDLOCK_SHOWN_MAX ? sight->holder_count : REDLOCK_SHOWN_MAX;
}

/* Where in a node's list a holder is; -1: not there. */
static int find_holder(const struct rl_sight *sight, const char *value)
{
    for (uint32_t i = 0; i < shown_holders(sight); i++)
        if (strcmp(sight->holder[i].value, value) == 0)
            return (int)i;
    return -1;
}

static uint8_t count_holder(const struct rl_survey *survey, const char *value)
{
    uint8_t count = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++)
        count += survey->node[i].vote == REDLOCK_VOTE_HELD &&
                 find_holder(&survey->sight[i], value) >= 0;
    return count;
}

/*
 * The value stays on a majority until so many of its keys are gone that a majority is not left:
 * that is the (votes - quorum + 1)-th expiry. A minority value counts to its last key.
 */
static int64_t remaining_ms(const struct rl_survey *survey, const char *holder, uint8_t votes)
{
    uint8_t quorum = survey->policy->quorum;
    uint8_t rank = votes >= quorum ? (uint8_t)(votes - quorum) : (uint8_t)(votes - 1);
    int64_t sorted_ms[REDLOCK_NODES_MAX];
    uint8_t count = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        int found = find_holder(&survey->sight[i], holder);
        int64_t ttl_ms = found < 0 ? 0 : survey->sight[i].holder[found].ttl_ms;
        uint8_t at = count;

        if (survey->node[i].vote != REDLOCK_VOTE_HELD || found < 0)
            continue;
        if (ttl_ms < 0)
            ttl_ms = INT64_MAX;
        for (; at > 0 && sorted_ms[at - 1] > ttl_ms; at--)
            sorted_ms[at] = sorted_ms[at - 1];
        sorted_ms[at] = ttl_ms;
        count++;
    }
    return rank >= count || sorted_ms[rank] == INT64_MAX ? -1 : sorted_ms[rank];
}

/* The largest number that a majority of the nodes has reached. */
static int64_t reached_by_majority(const struct rl_survey *survey, const int64_t *numbers)
{
    int64_t best = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        uint8_t reached_count = 0;

        for (uint8_t j = 0; j < survey->policy->node_count; j++)
            reached_count += numbers[j] >= numbers[i];
        if (reached_count >= survey->policy->quorum && numbers[i] > best)
            best = numbers[i];
    }
    return best;
}

static bool looks_like(const struct rl_sight *a, const struct rl_sight *b)
{
    if (a->kind != b->kind || a->holder_count != b->holder_count ||
        strcmp(a->group, b->group) != 0)
        return false;
    for (uint32_t i = 0; i < shown_holders(a); i++)
        if (strcmp(a->holder[i].value, b->holder[i].value) != 0)
            return false;
    return true;
}

/* The node that saw what most other nodes saw. */
static uint8_t typical_node(const struct rl_survey *survey, bool *disagree)
{
    uint8_t best = 0;
    uint8_t best_count = 0;
    uint8_t answered = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        uint8_t count = 0;

        if (!has_answered(survey, i))
            continue;
        answered++;
        for (uint8_t j = 0; j < survey->policy->node_count; j++)
            count +=
                has_answered(survey, j) && looks_like(&survey->sight[i], &survey->sight[j]);
        if (count > best_count) {
            best = i;
            best_count = count;
        }
    }
    *disagree = best_count < answered;
    return best;
}

static const char *head_of(const struct rl_sight *sight)
{
    return sight->shown_waiter_count ? sight->waiter[0].name : "";
}

static void conclude_queue(const struct rl_survey *survey, redlock_info *out)
{
    uint8_t best_count = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        const struct rl_sight *sight = &survey->sight[i];
        uint8_t count = 0;

        if (sight->waiters > out->waiters) {
            out->waiters = sight->waiters;
            out->shown_waiter_count = sight->shown_waiter_count;
            memcpy(out->shown_waiter, sight->waiter, sizeof out->shown_waiter);
        }
        for (uint8_t j = 0; head_of(sight)[0] && j < survey->policy->node_count; j++)
            count += strcmp(head_of(&survey->sight[j]), head_of(sight)) == 0;
        if (count > best_count) {
            best_count = count;
            memcpy(out->head, head_of(sight), sizeof out->head);
        }
    }
}

/* On more nodes, or on as many and for longer; a holder without a stamp comes last. */
static bool comes_before(const redlock_holder *a, const redlock_holder *b)
{
    if (a->votes != b->votes)
        return a->votes > b->votes;
    return a->held_ms >= 0 && (b->held_ms < 0 || a->held_ms < b->held_ms);
}

/* Where the holders that come first are; of those beyond the end of the list, the last goes. */
static void insert_holder(redlock_info *out, const redlock_holder *holder)
{
    uint32_t at = out->shown_holder_count;

    for (uint32_t i = 0; i < at; i++)
        if (strcmp(out->shown_holder[i].value, holder->value) == 0)
            return;
    if (at == REDLOCK_SHOWN_MAX && !comes_before(holder, &out->shown_holder[--at]))
        return;
    for (; at > 0 && comes_before(holder, &out->shown_holder[at - 1]); at--)
        out->shown_holder[at] = out->shown_holder[at - 1];
    out->shown_holder[at] = *holder;
    if (out->shown_holder_count < REDLOCK_SHOWN_MAX)
        out->shown_holder_count++;
}

/* The holders of all nodes, the one that is on most nodes first. */
static void conclude_holders(const struct rl_survey *survey, int64_t wall_ms, redlock_info *out)
{
    const redlock_holder *first = &out->shown_holder[0];

    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        const struct rl_sight *sight = &survey->sight[i];

        for (uint32_t h = 0; has_answered(survey, i) && h < shown_holders(sight); h++) {
            redlock_holder holder = sight->holder[h];

            holder.votes = count_holder(survey, holder.value);
            holder.ttl_ms = remaining_ms(survey, holder.value, (uint8_t)holder.votes);
            insert_holder(out, &holder);
        }
    }
    for (uint32_t h = 0; h < out->shown_holder_count; h++)
        rl_holder_settle(&out->shown_holder[h], wall_ms);
    out->ttl_ms = out->held_ms = -1;
    if (out->shown_holder_count == 0)
        return;
    out->votes = first->votes;
    out->held = out->votes >= survey->policy->quorum;
    memcpy(out->holder, first->value, sizeof out->holder);
    memcpy(out->label, first->label, sizeof out->label);
    out->ttl_ms = first->ttl_ms;
    out->held_ms = first->held_ms;
    out->held_at_least = first->held_at_least;
}

static uint32_t read_number(const char *digits)
{
    uint32_t number = 0;

    for (; *digits >= '0' && *digits <= '9' && number <= REDLOCK_SLOTS_MAX; digits++)
        number = number * 10 + (uint32_t)(*digits - '0');
    return number;
}

void rl_survey_conclude(const struct rl_survey *survey, int64_t wall_ms, redlock_info *out)
{
    int64_t fences[REDLOCK_NODES_MAX];
    int64_t counts[REDLOCK_NODES_MAX];
    const struct rl_sight *typical;
    bool disagree;

    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        fences[i] = survey->sight[i].fence;
        counts[i] = survey->sight[i].holder_count;
    }
    typical = &survey->sight[typical_node(survey, &disagree)];
    out->disagree = disagree;
    out->kind = typical->kind;
    conclude_holders(survey, wall_ms, out);
    conclude_queue(survey, out);
    /* Single nodes may be ahead: grants that were rolled back count there too. */
    out->fence = reached_by_majority(survey, fences);
    out->holder_count = (uint32_t)reached_by_majority(survey, counts);
    if (rl_kind_is_known(typical->kind) && rl_kind(typical->kind)->has_slots)
        out->slots = read_number(typical->group);
    else
        memcpy(out->owner, typical->group, sizeof out->owner);
}

/* ---- asked by a handle ---- */

static void ask_node(struct rl_engine *engine, struct rl_handle *handle, uint8_t node,
                     enum rl_op op, int64_t now_ns)
{
    struct rl_session *session = &engine->node[node].session;
    struct rl_survey *survey = rl_survey_of(handle);
    struct rl_answer unknown = {.vote = REDLOCK_VOTE_ERROR, .key_ttl_ms = -1};

    /* A marker without an identity would admit no node, and shut out the one it named before. */
    if (op == RL_OP_ADMIT && !session->guard.identity[0]) {
        if (session->state == RL_SESSION_UP)
            rl_session_fail(session, REDLOCK_VOTE_ERROR,
                            (struct rl_slice){NO_IDENTITY, sizeof NO_IDENTITY - 1});
        else
            unknown = rl_vote_when_unreachable(engine, node);
        /* Being connected to again: the last attempt tells why it has not answered. */
        if (session->state == RL_SESSION_GREETING && session->failure_text[0])
            unknown.vote = session->failure;
        rl_survey_answer(survey, node, unknown, NULL, now_ns);
        return;
    }
    if (!rl_ask_node(engine, node, handle->claim, handle, op, handle->lock.round, now_ns))
        rl_survey_answer(survey, node, rl_vote_when_unreachable(engine, node), NULL, now_ns);
}

static void survey_progress(struct rl_engine *engine, struct rl_handle *handle)
{
    const struct rl_survey *survey = rl_survey_of(handle);

    if (!rl_survey_complete(survey)) {
        rl_timers_set(&engine->timers, &handle->timer, survey->deadline_ns);
        return;
    }
    rl_timers_set(&engine->timers, &handle->timer, RL_NEVER_NS);
    if (handle->done)
        return;
    handle->done = true;
    handle->done_error = (int8_t)rl_survey_error(survey);
    /* The survey may go while answers are still to come: they belong to a round that is over. */
    handle->lock.round++;
    rl_engine_add_ready(engine, handle);
}

void rl_handle_ask(struct rl_engine *engine, struct rl_handle *handle, enum rl_op question,
                   struct rl_survey *survey, int64_t now_ns)
{
    handle->done = false;
    rl_acquirer_of(handle)->survey = survey;
    handle->lock.round++;
    rl_survey_begin(survey, &engine->policy, now_ns);
    /* A series of questions is about one claim. */
    if (!handle->claim->value_size &&
        rl_claim_draw_value(engine, handle->claim, rl_acquirer_of(handle), 0) < 0) {
        handle->done = true;
        handle->done_error = REDLOCK_SYSTEM;
        rl_engine_add_ready(engine, handle);
        return;
    }
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        /* A node that has listed everything is not asked any more. */
        if (question == RL_OP_LIST && survey->cursor[i].size == 0)
            survey->due &= (uint16_t) ~(1u << i);
        else
            ask_node(engine, handle, i, question, now_ns);
    }
    survey_progress(engine, handle);
}

/*
 * A hold that was renewed last on a majority has the renewed key on a node that answers now, since
 * two majorities share one: so long may its holder believe in it.
 */
static void note_evicted(struct rl_survey *survey, const struct rl_answer *answer)
{
    redlock_holder *evicted = survey->evicted;
    int64_t longest_ms = evicted->ttl_ms;

    if (answer->vote != REDLOCK_VOTE_GRANTED)
        return;
    if (evicted->votes == 0)
        rl_holder_read(answer->holder, evicted);
    evicted->votes++;
    evicted->ttl_ms = answer->key_ttl_ms > longest_ms ? answer->key_ttl_ms : longest_ms;
}

void rl_survey_hear(struct rl_engine *engine, struct rl_handle *handle, uint8_t node,
                    enum rl_op op, const struct rl_reply *reply, struct rl_answer answer,
                    int64_t now_ns)
{
    if (op == RL_OP_LOOK && reply && answer.vote == REDLOCK_VOTE_HELD) {
        answer.key_ttl_ms = rl_reply_integer(reply, 1, -1);
        if (answer.key_ttl_ms > REDLOCK_WAIT_MAX_MS)
            answer.key_ttl_ms = REDLOCK_WAIT_MAX_MS;
    }
    if (op == RL_OP_BREAK)
        note_evicted(rl_survey_of(handle), &answer);
    rl_survey_answer(rl_survey_of(handle), node, answer, reply, now_ns);
    survey_progress(engine, handle);
}

void rl_survey_tick(struct rl_engine *engine, struct rl_handle *handle, uint16_t warming,
                    int64_t warm_at_ns, int64_t now_ns)
{
    if (now_ns >= rl_survey_of(handle)->deadline_ns)
        rl_sets_wait_no_more(engine, warming, now_ns);
    rl_survey_timer(rl_survey_of(handle), warming, warm_at_ns, now_ns);
    survey_progress(engine, handle);
}
