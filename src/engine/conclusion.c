/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "core/kind.h"
#include "engine/survey.h"

static bool has_answered(const struct rl_survey *survey, uint8_t node)
{
    return survey->node[node].vote == REDLOCK_VOTE_TAKEN ||
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

/*
 * How many nodes have the holder's value, and for how long. It stays on a majority until so
 * many of its keys are gone that a majority is not left: that is the (votes - quorum + 1)-th
 * expiry. A minority value counts to its last key.
 */
static void count_holder(const struct rl_survey *survey, redlock_holder *holder)
{
    uint8_t quorum = survey->policy->quorum;
    uint8_t rank;
    int64_t sorted_ms[REDLOCK_NODES_MAX];
    uint8_t count = 0;

    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        int found = find_holder(&survey->sight[i], holder->value);
        int64_t left_ms = found < 0 ? 0 : survey->sight[i].holder[found].remaining_ms;
        uint8_t at = count;

        if (survey->node[i].vote != REDLOCK_VOTE_TAKEN || found < 0)
            continue;
        if (left_ms < 0)
            left_ms = INT64_MAX;
        for (; at > 0 && sorted_ms[at - 1] > left_ms; at--)
            sorted_ms[at] = sorted_ms[at - 1];
        sorted_ms[at] = left_ms;
        count++;
    }
    rank = count >= quorum ? (uint8_t)(count - quorum) : (uint8_t)(count - 1);
    holder->votes = count;
    holder->remaining_ms = rank >= count || sorted_ms[rank] == INT64_MAX ? -1 : sorted_ms[rank];
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

        if (sight->waiters > out->waiter_count) {
            out->waiter_count = sight->waiters;
            out->waiters_shown = sight->shown_waiter_count;
            memcpy(out->waiters, sight->waiter, sizeof out->waiters);
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
    uint32_t at = out->holders_shown;

    for (uint32_t i = 0; i < at; i++)
        if (strcmp(out->holders[i].value, holder->value) == 0)
            return;
    if (at == REDLOCK_SHOWN_MAX && !comes_before(holder, &out->holders[--at]))
        return;
    for (; at > 0 && comes_before(holder, &out->holders[at - 1]); at--)
        out->holders[at] = out->holders[at - 1];
    out->holders[at] = *holder;
    if (out->holders_shown < REDLOCK_SHOWN_MAX)
        out->holders_shown++;
}

/* The holders of all nodes, the one that is on most nodes first. */
static void conclude_holders(const struct rl_survey *survey, int64_t wall_ms, redlock_info *out)
{
    for (uint8_t i = 0; i < survey->policy->node_count; i++) {
        const struct rl_sight *sight = &survey->sight[i];

        for (uint32_t h = 0; has_answered(survey, i) && h < shown_holders(sight); h++) {
            redlock_holder holder = sight->holder[h];

            count_holder(survey, &holder);
            insert_holder(out, &holder);
        }
    }
    for (uint32_t h = 0; h < out->holders_shown; h++)
        rl_holder_set_age(&out->holders[h], wall_ms);
    if (out->holders_shown == 0)
        out->holder = (redlock_holder){.held_ms = -1, .remaining_ms = -1};
    else
        out->holder = out->holders[0];
    out->held = out->holder.votes >= survey->policy->quorum;
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
    if (rl_kind_is_known(typical->kind) && rl_kinds[typical->kind].has_slots)
        out->slots = read_number(typical->group);
    else
        memcpy(out->owner, typical->group, sizeof out->owner);
}
