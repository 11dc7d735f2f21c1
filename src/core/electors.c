/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/electors.h"

#include <string.h>

#include "core/rules.h"

bool rl_term_equals(const struct rl_term *a, const struct rl_term *b)
{
    return (a->epoch == b->epoch || !RL_RULE(TERM_WHOLE)) &&
           (a->id[0] || b->id[0] ? strcmp(a->id, b->id) == 0 : strcmp(a->owner, b->owner) == 0);
}

static bool is_listed(const struct rl_electors *electors, const char *id)
{
    for (uint8_t i = 0; i < electors->listed_count; i++)
        if (strcmp(electors->listed[i], id) == 0)
            return true;
    return electors->listed_count == 0;
}

/* Two addresses of one elector are one elector: the answer requested last is its word (E2). */
static bool is_superseded(const struct rl_electors *electors, uint8_t which)
{
    const struct rl_elector *self = &electors->elector[which];

    for (uint8_t i = 0; i < electors->count && RL_RULE(ELECTOR_ONCE); i++) {
        const struct rl_elector *other = &electors->elector[i];

        if (i != which && strcmp(other->id, self->id) == 0 &&
            (other->requested_ns > self->requested_ns ||
             (other->requested_ns == self->requested_ns && i < which)))
            return true;
    }
    return false;
}

/* Does this elector count for the term? */
static bool names(const struct rl_electors *electors, uint8_t which, const struct rl_term *term)
{
    const struct rl_elector *self = &electors->elector[which];

    return self->id[0] && rl_term_equals(&self->named, term) && is_listed(electors, self->id) &&
           !is_superseded(electors, which);
}

/* Of the listed number, never of those that happen to answer. */
static uint8_t majority(const struct rl_electors *electors)
{
    uint8_t number = electors->listed_count ? electors->listed_count : electors->count;

    return (uint8_t)(number / 2 + RL_RULE(ELECTOR_MAJORITY));
}

static const struct rl_term *find_term(const struct rl_electors *electors)
{
    const struct rl_term *latest = NULL;

    for (uint8_t i = 0; i < electors->count; i++) {
        const struct rl_term *term = &electors->elector[i].named;
        uint8_t sayers = 0;

        if (term->owner[0] && (!latest || term->epoch > latest->epoch))
            latest = term;

        for (uint8_t k = 0; k < electors->count; k++)
            sayers += names(electors, k, term);
        if (term->owner[0] && sayers >= majority(electors))
            return term;
    }
    return RL_RULE(STAMP_MAJORITY) ? NULL : latest;
}

/*
 * A majority names another term. Two owners of one epoch are not ordered, so the second of them
 * is none (E3). One with an earlier epoch is a term like any other, without succession (E12).
 */
static bool update_term(struct rl_electors *electors)
{
    const struct rl_term *term = find_term(electors);

    if (!term)
        return false;
    if (rl_term_equals(term, &electors->term)) {
        /* Wherever its owner listens now. */
        memcpy(electors->term.owner, term->owner, sizeof electors->term.owner);
        return false;
    }
    if (electors->term.owner[0] && term->epoch == electors->term.epoch)
        return false;
    electors->rose = electors->term.owner[0] && term->epoch > electors->highest_epoch;
    electors->went_back_count += electors->term.owner[0] && !electors->rose;
    if (term->epoch > electors->highest_epoch)
        electors->highest_epoch = term->epoch;
    electors->term = *term;
    electors->term_number++;
    electors->named_by_count = 0;
    for (uint8_t i = 0; i < electors->count; i++)
        if (names(electors, i, &electors->term))
            memcpy(electors->named_by[electors->named_by_count++], electors->elector[i].id,
                   sizeof electors->elector[i].id);
    return true;
}

bool rl_electors_receive(struct rl_electors *electors, uint8_t which, const char *id,
                         const struct rl_term *named, int64_t requested_ns)
{
    struct rl_elector *elector = &electors->elector[which];

    memcpy(elector->id, id, sizeof elector->id);
    elector->named = *named;
    elector->requested_ns = requested_ns;
    return update_term(electors);
}

/* Are those that had named the term a majority of the list, too? */
static bool is_named_by_list(const struct rl_electors *electors)
{
    uint8_t count = 0;

    for (uint8_t i = 0; i < electors->named_by_count; i++)
        count += is_listed(electors, electors->named_by[i]);
    return count >= majority(electors);
}

bool rl_electors_set_list(struct rl_electors *electors, struct rl_slice list)
{
    size_t step = RL_ELECTOR_ID_SIZE + 1;

    electors->listed_count = 0;
    for (size_t at = 0;
         at + RL_ELECTOR_ID_SIZE <= list.size && electors->listed_count < RL_ELECTORS_MAX;
         at += step) {
        char *id = electors->listed[electors->listed_count++];

        memcpy(id, list.data + at, RL_ELECTOR_ID_SIZE);
        id[RL_ELECTOR_ID_SIZE] = '\0';
    }
    if (!electors->term.owner[0] || electors->listed_count == 0 || is_named_by_list(electors))
        return false;
    /* The term was named by electors that are not listed: begin anew with those that are. */
    electors->term.owner[0] = '\0';
    electors->highest_epoch = 0;
    electors->term_number++;
    update_term(electors);
    return true;
}

int64_t rl_electors_vouch_end_ns(const struct rl_electors *electors)
{
    int64_t requested_ns[RL_ELECTORS_MAX];
    uint8_t count = 0;

    if (electors->listed_count == 0 || !electors->term.owner[0])
        return 0;
    /* Each answer is dated by its own request; the majority is as old as its oldest. */
    for (uint8_t i = 0; i < electors->count; i++) {
        uint8_t at = count;

        if (!names(electors, i, &electors->term))
            continue;
        for (; at > 0 && requested_ns[at - 1] < electors->elector[i].requested_ns; at--)
            requested_ns[at] = requested_ns[at - 1];
        requested_ns[at] = electors->elector[i].requested_ns;
        count++;
    }
    if (count < majority(electors))
        return 0;
    return RL_RULE(VOUCH_FRESH) ? requested_ns[majority(electors) - 1] + RL_VOUCH_NS
                                : INT64_MAX;
}

bool rl_electors_write_list(const struct rl_electors *electors, char out[RL_ELECTOR_LIST_MAX])
{
    const char *sorted[RL_ELECTORS_MAX];

    for (uint8_t i = 0; i < electors->count; i++) {
        const char *id = electors->elector[i].id;
        uint8_t at = i;

        for (; at > 0 && strcmp(sorted[at - 1], id) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = id;
        if (!id[0] || (at > 0 && strcmp(sorted[at - 1], id) == 0))
            return false;
    }
    for (uint8_t i = 0; i < electors->count; i++) {
        memcpy(out, sorted[i], RL_ELECTOR_ID_SIZE);
        out += RL_ELECTOR_ID_SIZE;
        *out++ = i + 1 < electors->count ? ' ' : '\0';
    }
    return true;
}

void rl_term_write(const struct rl_term *term, char out[RL_TERM_TEXT_MAX])
{
    char digits[20];
    size_t count = 0;
    int64_t epoch = term->epoch;

    do
        digits[count++] = (char)('0' + epoch % 10);
    while ((epoch /= 10) > 0);
    while (count > 0)
        *out++ = digits[--count];
    *out++ = '@';
    if (term->id[0])
        memcpy(out, term->id, sizeof term->id);
    else
        memcpy(out, term->owner, strlen(term->owner) + 1);
}
