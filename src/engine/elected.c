/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/elected.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "core/rules.h"
#include "engine/engine.h"
#include "engine/receive.h"
#include "engine/trace.h"
#include "engine/watch.h"
#include "protocol/elector.h"
#include "protocol/vetting.h"

int rl_elected_init(struct rl_engine *engine, uint8_t node)
{
    struct rl_elected *elected = engine->node[node].elected;

    if (!elected->home)
        elected->home = elected;
    for (uint8_t i = 0; elected->home == elected && i < elected->electors.count; i++) {
        struct rl_session *session = &elected->session[i];

        if (rl_session_init(session, &elected->login) < 0)
            return -1;
        session->failure = REDLOCK_VOTE_UNREACHABLE;
        session->trace = engine->trace;
        session->address = elected->address[i];
    }
    return 0;
}

void rl_elected_free(struct rl_node *node)
{
    struct rl_elected *elected = node->elected;

    if (!elected)
        return;
    for (uint8_t i = 0; i < elected->electors.count; i++)
        rl_session_free(&elected->session[i]);
    free(elected);
    node->elected = NULL;
}

/* ---- what a fresh majority names ---- */

bool rl_elected_is_vouched(const struct rl_node *node, int64_t now_ns)
{
    const struct rl_elected *elected = node->elected;

    return elected->term_number == elected->electors.term_number &&
           now_ns <= rl_electors_vouch_end_ns(&elected->electors);
}

uint32_t rl_elected_tenure(const struct rl_node *node, int64_t now_ns)
{
    const struct rl_elected *elected = node->elected;

    return elected->greeted[0] && rl_elected_is_vouched(node, now_ns) ? elected->tenure : 0;
}

bool rl_elected_is_final(const struct rl_node *node, uint32_t tenure, int64_t since_ns,
                         int64_t now_ns)
{
    return tenure != 0 && rl_elected_tenure(node, now_ns) == tenure &&
           (now_ns - since_ns >= rl_guard_time_ns(&node->session.guard) ||
            !RL_RULE(BREAK_FINAL));
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
    /* What waits for the first one has been sent in none before. */
    if (elected->electors.term_number > 1)
        step_all(engine, node, RL_EVENT_TERM, elected->electors.rose, now_ns);
}

void rl_elected_look(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    struct rl_elected *elected = at->elected;
    const struct rl_guard *guard = &at->session.guard;
    const char *list = at->session.facts.electors;

    if (at->session.check_requested || guard->state == RL_GUARD_UNCHECKED ||
        elected->term_number != elected->electors.term_number)
        return;
    if (elected->electors.listed_count == 0 && list[0] && !engine->plans_electors &&
        rl_electors_set_list(&elected->electors, rl_slice_of(list))) {
        change_term(engine, node, now_ns);
        return;
    }
    if (!guard->admitted[0] || strcmp(elected->greeted, guard->admitted) == 0)
        return;
    /* Another incarnation in the same term is nothing that a hold could succeed to. */
    if (elected->greeted[0] && RL_RULE(SUCCESSION_TERM))
        step_all(engine, node, RL_EVENT_TERM, false, now_ns);
    else
        step_all(engine, node, RL_EVENT_GREETED, false, now_ns);
    memcpy(elected->greeted, guard->admitted, sizeof elected->greeted);
    elected->tenure++;
}

void rl_elected_plan(struct rl_engine *engine, bool plans, int64_t now_ns)
{
    if (engine->plans_electors == plans)
        return;
    engine->plans_electors = plans;
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_elected *elected = engine->node[i].elected;

        if (elected && !plans)
            rl_elected_look(engine, i, now_ns);
        else if (elected && rl_electors_set_list(&elected->electors, (struct rl_slice){"", 0}))
            change_term(engine, i, now_ns);
    }
}

void rl_elected_forget_list(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];

    rl_electors_set_list(&at->elected->electors, (struct rl_slice){"", 0});
    if (at->session.state == RL_SESSION_UP && !at->session.check_requested)
        rl_vetting_check(&at->session, now_ns);
}

/* ---- the electors ---- */

void rl_elected_request(struct rl_engine *engine, uint8_t node, int64_t every_ns,
                        int64_t now_ns)
{
    struct rl_elected *elected = engine->node[node].elected->home;

    if (elected->requested_ns != 0 && now_ns - elected->requested_ns < every_ns)
        return;
    elected->requested_ns = now_ns;
    for (uint8_t i = 0; i < elected->electors.count; i++)
        if (elected->session[i].state == RL_SESSION_UP)
            rl_elector_request(&elected->session[i], now_ns);
}

void rl_elected_connecting(struct rl_engine *engine, uint8_t node, uint8_t elector,
                           int64_t now_ns)
{
    struct rl_session *session = &engine->node[node].elected->home->session[elector];

    if (rl_session_begin(session, now_ns) < 0)
        rl_session_end(session);
}

const char *rl_elected_word(const struct rl_elected *elected)
{
    return elected->login.vote_count ? "cluster node" : "sentinel";
}

const char *rl_elected_words(const struct rl_elected *elected, enum redlock_reason reason,
                             const char *text)
{
    bool is_cluster = elected->login.vote_count > 0;

    switch (reason) {
    case REDLOCK_REASON_TLS_PORT:
        return is_cluster ? "is it a TLS port? use clusters://"
                          : "is it a TLS port? use sentinels://";
    case REDLOCK_REASON_PLAIN_PORT:
        return is_cluster ? "is it a port without TLS? use cluster://"
                          : "is it a port without TLS? use sentinel://, or sentinels:// with "
                            "?tls=servers or ?tls=sentinels";
    default:
        return text;
    }
}

void rl_elected_disconnected(struct rl_engine *engine, uint8_t node, uint8_t elector,
                             enum redlock_vote vote, enum redlock_reason reason,
                             const char *text)
{
    struct rl_session *session = &engine->node[node].elected->home->session[elector];
    struct rl_pending pending;

    rl_session_fail(session, vote, reason,
                    rl_elected_words(engine->node[node].elected, reason, text));
    rl_session_end(session);
    while (rl_pending_pop(&session->pending, &pending))
        ;
}

static void receive_elector(struct rl_engine *engine, uint8_t node, uint8_t elector,
                            int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    const struct rl_elector_talk *talk = &at->elected->home->session[elector].elector;

    if (rl_electors_receive(&at->elected->electors, elector, talk->id,
                            &talk->term[at->elected->vote], talk->answered_requested_ns))
        change_term(engine, node, now_ns);
    /* With the majority here, the stamp that grants wait for can be requested. */
    if (at->kept_count > 0)
        rl_watch_look(engine, node, now_ns);
    rl_vote_give_kept(engine, node, now_ns);
}

int rl_elected_received(struct rl_engine *engine, uint8_t node, uint8_t elector, size_t size,
                        int64_t now_ns)
{
    struct rl_elected *home = engine->node[node].elected->home;
    struct rl_session *session = &home->session[elector];
    struct rl_elector_talk *talk = &session->elector;
    struct rl_pending entry;
    struct rl_reply reply;
    int status;

    session->input_end += size;
    status = rl_session_next(session, &entry, &reply, now_ns);
    if (status != 0 || !talk->has_news)
        return status > 0 ? -1 : status;
    talk->has_news = false;
    /* One answer is about all votes of its cluster. */
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        if (engine->node[i].elected && engine->node[i].elected->home == home)
            receive_elector(engine, i, elector, now_ns);
    return 0;
}

/* ---- why not ---- */

uint8_t rl_elected_count(const struct rl_node *node, bool of_term)
{
    const struct rl_electors *electors = &node->elected->electors;
    uint8_t count = 0;

    for (uint8_t i = 0; i < electors->count; i++) {
        const struct rl_elector *elector = &electors->elector[i];
        bool agrees = !of_term || rl_term_equals(&elector->named, &electors->term);
        bool is_first = true;

        for (uint8_t k = 0; k < i; k++)
            is_first &= strcmp(electors->elector[k].id, elector->id) != 0;
        count += elector->id[0] && is_first && agrees && rl_elected_is_listed(node, i);
    }
    return count;
}

bool rl_elected_is_listed(const struct rl_node *node, uint8_t elector)
{
    const struct rl_electors *electors = &node->elected->electors;
    bool is_listed = electors->listed_count == 0;

    for (uint8_t k = 0; k < electors->listed_count; k++)
        is_listed |= strcmp(electors->elector[elector].id, electors->listed[k]) == 0;
    return is_listed;
}

enum redlock_reason rl_elected_reason_of(const struct rl_node *node, uint8_t elector)
{
    const struct rl_elected *elected = node->elected;
    const struct rl_session *session = &elected->home->session[elector];
    const char *id = elected->electors.elector[elector].id;

    if (session->state != RL_SESSION_UP && session->failure_text[0]) {
        switch (session->failure_reason) {
        case REDLOCK_REASON_PASSWORD_NEEDED:
        case REDLOCK_REASON_WRONG_PASSWORD:
            return elected->login.vote_count ? session->failure_reason
                                             : REDLOCK_REASON_SENTINEL_LOGIN;
        default:
            return session->failure_reason;
        }
    }
    for (uint8_t i = 0; i < elector && id[0]; i++)
        if (strcmp(elected->electors.elector[i].id, id) == 0)
            return REDLOCK_REASON_SENTINEL_TWICE;
    return id[0] && !rl_elected_is_listed(node, elector) ? REDLOCK_REASON_ELECTORS
                                                         : REDLOCK_REASON_NONE;
}

/* What has to be mended, and is not only a matter of how many answer. */
static bool is_own_fault(enum redlock_reason reason)
{
    return (reason >= REDLOCK_REASON_TLS_PORT && reason <= REDLOCK_REASON_CLIENT_CERTIFICATE) ||
           reason == REDLOCK_REASON_RIGHTS || reason == REDLOCK_REASON_NO_GROUP ||
           reason == REDLOCK_REASON_NO_SENTINEL || reason == REDLOCK_REASON_SENTINEL_LOGIN ||
           reason == REDLOCK_REASON_SENTINEL_TWICE || reason == REDLOCK_REASON_ELECTORS ||
           reason == REDLOCK_REASON_NO_CLUSTER || reason == REDLOCK_REASON_PASSWORD_NEEDED ||
           reason == REDLOCK_REASON_WRONG_PASSWORD;
}

/* Of the words what fits between the address and the end. */
static void write_reason(const struct rl_elected *elected, uint8_t elector,
                         char out[REDLOCK_TEXT_MAX], const char *words, const char *end)
{
    int size = snprintf(out, REDLOCK_TEXT_MAX, "%s %s: ", rl_elected_word(elected),
                        elected->address[elector]);
    int left = REDLOCK_TEXT_MAX - 1 - size - (int)strlen(end);

    if (left > 0)
        snprintf(out + size, (size_t)(REDLOCK_TEXT_MAX - size), "%.*s%s", left, words, end);
}

enum redlock_reason rl_elected_find_obstacle(const struct rl_node *node, const char **text)
{
    struct rl_elected *elected = node->elected;

    for (uint8_t i = 0; i < elected->electors.count; i++) {
        enum redlock_reason reason = rl_elected_reason_of(node, i);
        bool has_failed = elected->home->session[i].state != RL_SESSION_UP;

        if (elected->electors.elector[i].id[0] && reason != REDLOCK_REASON_SENTINEL_TWICE)
            continue;
        write_reason(elected, i, elected->obstacle,
                     !reason      ? "no answer"
                     : has_failed ? elected->home->session[i].failure_text
                                  : redlock_reason_text((int)reason),
                     "; the set needs all of them");
        *text = elected->obstacle;
        return is_own_fault(reason) ? reason : REDLOCK_REASON_ELECTORS;
    }
    return REDLOCK_REASON_NONE;
}

/* Two that name different servers; false: those that answered agree. */
static bool describe_discord(const struct rl_elected *elected, char *out, size_t size)
{
    const struct rl_electors *electors = &elected->electors;

    for (uint8_t i = 0; i < electors->count; i++)
        for (uint8_t k = 0; k < i; k++) {
            const struct rl_term *a = &electors->elector[k].named;
            const struct rl_term *b = &electors->elector[i].named;

            if (!a->owner[0] || !b->owner[0] || strcmp(a->owner, b->owner) == 0)
                continue;
            snprintf(out, size, "its %ss disagree: %s names %s, %s names %s",
                     rl_elected_word(elected), elected->address[k], a->owner,
                     elected->address[i], b->owner);
            return true;
        }
    return false;
}

enum redlock_reason rl_elected_explain(const struct rl_node *node, int64_t now_ns,
                                       int64_t silence_ns, char out[REDLOCK_TEXT_MAX])
{
    const struct rl_elected *elected = node->elected;
    const struct rl_electors *electors = &elected->electors;
    int64_t end_ns = rl_electors_vouch_end_ns(electors);

    out[0] = '\0';
    if (electors->term.owner[0] &&
        (electors->listed_count == 0 || now_ns - end_ns <= silence_ns))
        return REDLOCK_REASON_NONE;
    for (uint8_t i = 0; i < electors->count; i++) {
        enum redlock_reason reason = rl_elected_reason_of(node, i);
        const char *words = elected->home->session[i].failure_text;

        if (reason == REDLOCK_REASON_NONE)
            continue;
        write_reason(elected, i, out,
                     words[0] && elected->home->session[i].state != RL_SESSION_UP
                         ? words
                         : redlock_reason_text((int)reason),
                     "");
        return is_own_fault(reason) ? reason : REDLOCK_REASON_NO_TERM;
    }
    if (!describe_discord(elected, out, REDLOCK_TEXT_MAX) && rl_elected_count(node, false) == 0)
        snprintf(out, REDLOCK_TEXT_MAX, "none of its %ss answers", rl_elected_word(elected));
    if (!electors->term.owner[0])
        return REDLOCK_REASON_NO_TERM;
    if (!out[0])
        snprintf(out, REDLOCK_TEXT_MAX, "%s", redlock_reason_text(REDLOCK_REASON_NOT_VOUCHED));
    return REDLOCK_REASON_NOT_VOUCHED;
}
