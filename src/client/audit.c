/* SPDX-License-Identifier: BSD-2-Clause */
/* The audit: asks every node what can be asked, and says of each answer what it means (G7). */
#include "client/audit.h"

#include <stdlib.h>
#include <string.h>

#include "client/request.h"
#include "drive/detail.h"
#include "drive/handles.h"
#include "drive/order.h"
#include "engine/ask.h"
#include "engine/sets.h"
#include "io/clock.h"
#include "protocol/vetting.h"

#define PINGS 5
#define NAME_RANDOM_BYTES 8

static const enum rl_op rights_ops[3] = {RL_OP_ACQUIRE, RL_OP_EXTEND, RL_OP_RELEASE};
static const enum rl_op fencing_ops[3] = {RL_OP_ACQUIRE, RL_OP_RELEASE, RL_OP_FORGET};
static const enum rl_op queue_ops[3] = {RL_OP_TICKET, RL_OP_ACQUIRE, RL_OP_RELEASE};

/* A waiter of no local queue: a message for it wakes nothing. */
#define AUDIT_WAITER UINT64_MAX
/* How long a subscriber connection may take to come up. */
#define SUBSCRIBER_WAIT_NS (500 * (int64_t)RL_NS_PER_MS)

/* ---- the phases ---- */

/* A lock of a name that no other client uses. */
static redlock_lock *new_lock(redlock *client, struct rl_lock_terms terms)
{
    char name[] = "doctor.0123456789abcdef";

    /* Without randomness it stays as it is, and the first question fails for want of a value. */
    rl_engine_draw_hex(&client->engine, NAME_RANDOM_BYTES, name + sizeof "doctor." - 1);
    return rl_lock_new_for(client, name, sizeof name - 1, &terms);
}

/* The greeting may be old: the facts are asked for again, in front of the next ping. */
static void ask_for_facts(struct rl_audit *audit)
{
    struct rl_engine *engine = &audit->client->engine;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_session *session = &engine->node[i].session;

        audit->rtt_us[i] = -1;
        if (session->state != RL_SESSION_UP)
            continue;
        rl_vetting_check(session, rl_now_ns());
        rl_vetting_sample_clock(session, rl_now_ns());
        rl_vetting_ask_sentinel(session);
    }
}

static void note_quickest(struct rl_audit *audit)
{
    for (uint8_t i = 0; i < audit->client->engine.policy.node_count; i++) {
        int32_t rtt_us = audit->ping.node[i].rtt_us;

        if (audit->ping.node[i].vote == REDLOCK_VOTE_GRANTED &&
            (audit->rtt_us[i] < 0 || rtt_us < audit->rtt_us[i]))
            audit->rtt_us[i] = rtt_us;
    }
}

static bool measure(struct rl_audit *audit, struct rl_question *q)
{
    if (audit->step == 1)
        ask_for_facts(audit);
    else if (audit->step > 1)
        note_quickest(audit);
    q->op = RL_OP_PING;
    q->survey = &audit->ping;
    return audit->step <= PINGS;
}

/* The words are the session's, and the next question changes them. */
static void keep_refusals(struct rl_audit *audit, const struct rl_survey *survey)
{
    for (uint8_t i = 0; i < audit->client->engine.policy.node_count; i++) {
        const struct rl_session *session = &audit->client->engine.node[i].session;

        if (survey->node[i].vote == session->failure && !audit->refusal[i][0])
            memcpy(audit->refusal[i], session->failure_text, sizeof audit->refusal[i]);
    }
}

/* Does with a key of its own what a lock does, on every node. */
static bool try_rights(struct rl_audit *audit, struct rl_question *q, const enum rl_op *ops,
                       struct rl_survey *surveys)
{
    struct rl_lock *lock = &q->lock->handle.lock;

    if (audit->step > 0 && surveys == audit->rights)
        keep_refusals(audit, &surveys[audit->step - 1]);
    if (audit->step == 3)
        return false;
    lock->ttl_ms = lock->extension_ttl_ms = (uint32_t)audit->ttl_ms;
    lock->longest_ttl_ms = RL_LONGEST_TTL_MS;
    q->op = ops[audit->step];
    q->survey = &surveys[audit->step];
    return true;
}

static bool try_plain(struct rl_audit *audit, struct rl_question *q)
{
    return try_rights(audit, q, rights_ops, audit->rights);
}

static bool try_fencing(struct rl_audit *audit, struct rl_question *q)
{
    return try_rights(audit, q, fencing_ops, audit->fencing);
}

static bool look_at_counters(struct rl_audit *audit, struct rl_question *q)
{
    if (audit->step == 0)
        rl_audit_begin_counters(audit);
    q->op = RL_OP_LIST;
    q->survey = &audit->search;
    return audit->step == 0 || rl_audit_heard_counters(audit);
}

/* The place that the audit took in the queues goes; the audit does not wait for that. */
static void leave_queue(redlock *client, redlock_lock *lock)
{
    struct rl_engine *engine = &client->engine;
    struct rl_claim *claim = lock->handle.claim;

    claim->waiter = rl_acquirer_of(&lock->handle)->waiter;
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        rl_ask_node(engine, i, claim, NULL, RL_OP_LEAVE, 0, rl_now_ns());
}

static bool try_queue(struct rl_audit *audit, struct rl_question *q)
{
    struct rl_acquirer *acquirer = rl_acquirer_of(&q->lock->handle);

    if (audit->step == 0) {
        audit->client->engine.wants_subscribers = true;
        acquirer->acquisition.ticket = 1;
        acquirer->waiter = AUDIT_WAITER;
    }
    if (try_rights(audit, q, queue_ops, audit->queue))
        return true;
    leave_queue(audit->client, q->lock);
    return false;
}

/* Every kind does what a lock does, with the scripts that it has for that. */
static bool try_kind(struct rl_audit *audit, struct rl_question *q)
{
    q->lock->handle.lock.slot = 1;
    if (audit->step < 3 || audit->kind != RL_AUDIT_FIRST_KIND)
        return try_rights(audit, q, rights_ops, audit->kinds[audit->kind]);
    q->op = RL_OP_LOOK;
    q->survey = &audit->look;
    return audit->step == 3;
}

static bool are_subscribers_settled(struct rl_audit *audit)
{
    redlock *client = audit->client;
    bool settled = true;

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        audit->woken[i] = client->engine.node[i].subscriber.is_up;
        settled &= audit->woken[i] || audit->rtt_us[i] < 0 ||
                   client->subscriber[i].link.failure_count > 0;
    }
    return settled;
}

/* Are we told when a lock becomes free? The listening connections were asked for before. */
static bool await_subscribers(struct rl_audit *audit, struct rl_question *q)
{
    if (audit->step == 0)
        audit->settled_by_ns = rl_now_ns() + SUBSCRIBER_WAIT_NS;
    q->op = RL_OP_PING;
    q->survey = &audit->meanwhile;
    return !are_subscribers_settled(audit) && rl_now_ns() < audit->settled_by_ns;
}

/* ---- as a question ---- */

static const struct {
    bool (*ask)(struct rl_audit *audit, struct rl_question *q); /* false: the phase is over */
    struct rl_lock_terms terms;
    bool of_each_kind;
} phases[] = {
    {.ask = measure},
    {.ask = try_plain},
    {.ask = try_fencing, .terms = {.fenced = true}},
    {.ask = look_at_counters},
    {.ask = try_queue, .terms = {.kind = REDLOCK_SHARED}},
    {.ask = try_kind, .of_each_kind = true},
    {.ask = await_subscribers},
};

enum { PHASES = sizeof phases / sizeof phases[0] };

struct audit {
    struct rl_question question; /* first */
    int64_t ttl_ms;
    struct rl_audit *work; /* NULL: its turn has not come */
    struct rl_check_list checks;
};

static bool begin_phase(struct rl_audit *audit, struct rl_question *q)
{
    struct rl_lock_terms terms = phases[audit->phase].terms;

    audit->step = 0;
    if (phases[audit->phase].of_each_kind) {
        terms.kind = audit->kind;
        terms.slots = rl_kinds[audit->kind].has_slots;
    }
    return rl_question_set_lock(audit->client, q, new_lock(audit->client, terms));
}

/* Goes on to the next question, in this phase or a later one. False: there is none, or no memory. */
static bool go_on(struct rl_audit *audit, struct rl_question *q)
{
    while (!phases[audit->phase].ask(audit, q)) {
        if (!phases[audit->phase].of_each_kind || ++audit->kind == RL_KIND_COUNT)
            audit->phase++;
        if (audit->phase == PHASES || !begin_phase(audit, q))
            return false;
    }
    return true;
}

static void judge(struct rl_audit *audit)
{
    redlock *client = audit->client;

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        const struct rl_session *session = &client->engine.node[i].session;

        audit->nodes[i] = (struct rl_audit_node){
            .reachable = audit->rtt_us[i] >= 0,
            .facts = &session->facts,
            .objection = rl_sets_objection(&client->engine, i),
            .set_by_client = client->engine.node[i].set_answer.by_client &&
                             rl_sets_is_by_client(&client->engine, i),
            .max_ttl_ms = client->max_ttl_ms,
            .window = &session->guard.window,
        };
    }
    rl_audit_judge(audit);
}

static bool begin(redlock *client, struct audit *a)
{
    a->work = calloc(1, sizeof *a->work);
    if (!a->work)
        return rl_question_set_lock(client, &a->question, NULL);
    a->work->client = client;
    a->work->ttl_ms = a->ttl_ms;
    a->work->kind = RL_AUDIT_FIRST_KIND;
    a->work->checks = &a->checks;
    return begin_phase(a->work, &a->question) && go_on(a->work, &a->question);
}

static bool next(redlock *client, struct rl_question *question)
{
    struct audit *a = (struct audit *)question;

    if (!a->work)
        return begin(client, a);
    /* What the nodes answered is judged at the end: no answer is an error of the audit. */
    question->error = REDLOCK_OK;
    a->work->step++;
    if (go_on(a->work, question))
        return true;
    if (question->error)
        return false;
    judge(a->work);
    free(a->work); /* a lot, of which an answer that waits to be read has no need */
    a->work = NULL;
    rl_check_list_answer(&a->checks, question);
    return false;
}

static void free_audit(struct rl_question *question)
{
    struct audit *a = (struct audit *)question;

    rl_check_list_free(&a->checks);
    free(a->work);
    free(a);
}

static const struct rl_question_kind audit_kind = {
    .turn = RL_TURN_SEARCH,
    .next = next,
    .free = free_audit,
};

struct rl_question *rl_audit_new(int64_t ttl_ms)
{
    struct audit *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->question.kind = &audit_kind;
    a->ttl_ms = ttl_ms;
    return &a->question;
}
