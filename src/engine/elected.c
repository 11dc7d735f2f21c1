/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/elected.h"

#include <stdlib.h>
#include <string.h>

#include "core/rules.h"
#include "engine/engine.h"
#include "engine/hear.h"
#include "engine/trace.h"
#include "engine/vote.h"
#include "protocol/elector.h"
#include "protocol/vetting.h"

#define CAPACITY_FIRST 64
/* Without locks the electors are asked so seldom that their last word is no news. */
#define SILENCE_NS (10 * RL_NS_PER_S)

int rl_elected_init(struct rl_engine *engine, uint8_t node)
{
    struct rl_elected *elected = engine->node[node].elected;

    for (uint8_t i = 0; i < elected->electors.count; i++) {
        struct rl_session *session = &elected->session[i];

        if (rl_session_init(session, &elected->login) < 0)
            return -1;
        session->failure = REDLOCK_VOTE_UNREACHABLE;
        session->trace = engine->trace;
        session->address = elected->address[i];
    }
    return 0;
}

void rl_elected_free(struct rl_engine *engine, struct rl_node *node)
{
    struct rl_elected *elected = node->elected;

    if (!elected)
        return;
    for (uint32_t i = 0; i < elected->unvouched_count; i++)
        rl_claim_unref(&engine->claims, elected->unvouched[i].pending.subject);
    free(elected->unvouched);
    for (uint8_t i = 0; i < elected->electors.count; i++)
        rl_session_free(&elected->session[i]);
    free(elected);
    node->elected = NULL;
}

/* ---- grants that wait for the electors ---- */

bool rl_elected_is_vouched(const struct rl_node *node, int64_t now_ns)
{
    const struct rl_elected *elected = node->elected;

    return elected->term_number == elected->electors.term_number &&
           now_ns <= rl_electors_vouch_end_ns(&elected->electors);
}

bool rl_elected_keep(struct rl_node *node, const struct rl_pending *pending,
                     const struct rl_answer *answer)
{
    struct rl_elected *elected = node->elected;
    struct rl_unvouched *kept;

    if (elected->unvouched_count == elected->unvouched_capacity) {
        uint32_t capacity =
            elected->unvouched_capacity ? 2 * elected->unvouched_capacity : CAPACITY_FIRST;
        struct rl_unvouched *grown =
            realloc(elected->unvouched, capacity * sizeof *elected->unvouched);

        if (!grown)
            return false;
        elected->unvouched = grown;
        elected->unvouched_capacity = capacity;
    }
    kept = &elected->unvouched[elected->unvouched_count++];
    *kept = (struct rl_unvouched){.pending = *pending, .answer = *answer};
    /* The reply that these point into will be gone. */
    kept->answer.marker = kept->answer.identity = kept->answer.set = (struct rl_slice){"", 0};
    kept->answer.tells_holder = false;
    return true;
}

static void give_all(struct rl_engine *engine, uint8_t node, bool counts, int64_t now_ns)
{
    struct rl_elected *elected = engine->node[node].elected;
    uint32_t count = elected->unvouched_count;

    /* A step can add to them: these come behind, for the next time. */
    for (uint32_t i = 0; i < count; i++) {
        struct rl_unvouched kept = elected->unvouched[i];
        struct rl_answer answer =
            counts ? kept.answer : rl_vote_when_unreachable(engine, node);

        rl_hear_answer(engine, node, &kept.pending, NULL, &answer, now_ns);
        rl_claim_unref(&engine->claims, kept.pending.subject);
    }
    elected->unvouched_count -= count;
    memmove(elected->unvouched, elected->unvouched + count,
            elected->unvouched_count * sizeof *elected->unvouched);
}

void rl_elected_lose(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    if (engine->node[node].elected->unvouched_count > 0)
        give_all(engine, node, false, now_ns);
}

/* ---- the term ---- */

static void step_all(struct rl_engine *engine, uint8_t node, enum rl_event_type type, bool rose,
                     int64_t now_ns)
{
    struct rl_event event = {.type = type, .now_ns = now_ns, .node = node, .rose = rose};

    rl_handles_step(engine, &event, false);
}

/* The node's connections are of an earlier term now, and end (rl_link_due_ns()). */
static void change_term(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_elected *elected = engine->node[node].elected;

    if (engine->trace)
        rl_trace_node(engine, node, NULL, 0, "electors name", elected->electors.term.owner);
    elected->greeted[0] = '\0';
    step_all(engine, node, RL_EVENT_TERM, elected->electors.rose, now_ns);
}

void rl_elected_look(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    struct rl_elected *elected = at->elected;
    const struct rl_guard *guard = &at->session.guard;
    const char *list = at->session.facts.electors;

    if (at->session.check_asked || guard->state == RL_GUARD_UNCHECKED ||
        elected->term_number != elected->electors.term_number)
        return;
    if (elected->electors.listed_count == 0 && list[0] &&
        rl_electors_set_list(&elected->electors, (struct rl_slice){list, strlen(list)})) {
        change_term(engine, node, now_ns);
        return;
    }
    if (!guard->admitted[0] || strcmp(elected->greeted, guard->admitted) == 0)
        return;
    /* Another incarnation in the same term is nothing that a hold could succeed to. */
    if (elected->greeted[0])
        step_all(engine, node, RL_EVENT_TERM, false, now_ns);
    else
        step_all(engine, node, RL_EVENT_GREETED, false, now_ns);
    memcpy(elected->greeted, guard->admitted, sizeof elected->greeted);
}

void rl_elected_forget_list(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];

    rl_electors_set_list(&at->elected->electors, (struct rl_slice){"", 0});
    if (at->session.state == RL_SESSION_UP && !at->session.check_asked)
        rl_vetting_check(&at->session, now_ns);
}

/* ---- the electors ---- */

void rl_elected_ask(struct rl_engine *engine, uint8_t node, int64_t every_ns, int64_t now_ns)
{
    struct rl_elected *elected = engine->node[node].elected;

    if (elected->asked_ns != 0 && now_ns - elected->asked_ns < every_ns)
        return;
    elected->asked_ns = now_ns;
    for (uint8_t i = 0; i < elected->electors.count; i++)
        if (elected->session[i].state == RL_SESSION_UP)
            rl_elector_ask(&elected->session[i], now_ns);
}

void rl_elected_connecting(struct rl_engine *engine, uint8_t node, uint8_t elector,
                           int64_t now_ns)
{
    struct rl_session *session = &engine->node[node].elected->session[elector];

    if (rl_session_begin(session, now_ns) < 0)
        rl_session_end(session);
}

void rl_elected_disconnected(struct rl_engine *engine, uint8_t node, uint8_t elector,
                             enum redlock_vote vote, enum redlock_reason reason,
                             const char *text)
{
    struct rl_session *session = &engine->node[node].elected->session[elector];
    struct rl_pending pending;

    rl_session_fail(session, vote, reason, text);
    rl_session_end(session);
    while (rl_pending_pop(&session->pending, &pending))
        ;
}

int rl_elected_received(struct rl_engine *engine, uint8_t node, uint8_t elector, size_t size,
                        int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    struct rl_session *session = &at->elected->session[elector];
    struct rl_elector_talk *talk = &session->elector;
    struct rl_pending entry;
    struct rl_reply reply;
    int status;

    session->input_end += size;
    status = rl_session_next(session, &entry, &reply, now_ns);
    if (status != 0 || !talk->has_news)
        return status > 0 ? -1 : status;
    talk->has_news = false;
    if (rl_electors_hear(&at->elected->electors, elector, talk->id, &talk->term,
                         talk->answered_asked_ns))
        change_term(engine, node, now_ns);
    if (at->elected->unvouched_count > 0 && rl_elected_is_vouched(at, now_ns))
        give_all(engine, node, true, now_ns);
    return 0;
}

/* ---- why not ---- */

static uint8_t count_heard(const struct rl_electors *electors, bool listed_only)
{
    uint8_t count = 0;

    for (uint8_t i = 0; i < electors->count; i++) {
        bool is_listed = !listed_only;

        for (uint8_t k = 0; k < electors->listed_count; k++)
            is_listed |= strcmp(electors->elector[i].id, electors->listed[k]) == 0;
        count += electors->elector[i].id[0] && is_listed;
    }
    return count;
}

enum redlock_reason rl_elected_reason(const struct rl_node *node, int64_t now_ns)
{
    const struct rl_electors *electors = &node->elected->electors;
    int64_t end_ns = rl_electors_vouch_end_ns(electors);

    for (uint8_t i = 0; i < electors->count; i++)
        if (node->elected->session[i].failure_reason == REDLOCK_REASON_NO_GROUP)
            return REDLOCK_REASON_NO_GROUP;
    if (!electors->term.owner[0])
        return REDLOCK_REASON_NO_TERM;
    if (electors->listed_count > 0 && count_heard(electors, false) == electors->count &&
        count_heard(electors, true) < electors->listed_count / 2 + 1)
        return REDLOCK_REASON_ELECTORS;
    if (electors->listed_count > 0 && now_ns - end_ns > SILENCE_NS)
        return REDLOCK_REASON_NOT_VOUCHED;
    return REDLOCK_REASON_NONE;
}
