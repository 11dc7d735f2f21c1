/* SPDX-License-Identifier: BSD-2-Clause */
/* The audit: requests from every node what can be requested, and judges each answer (G7). */
#include "client/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/calls.h"
#include "engine/safety.h"
#include "engine/send.h"
#include "io/clock.h"
#include "protocol/answer.h"
#include "protocol/vetting.h"

#define PINGS 5
/* A node with more keys than about a million is not searched to its end. */
#define COUNTER_ROUNDS_MAX 2000
#define NAME_RANDOM_BYTES 8

static const enum rl_op rights_ops[3] = {RL_OP_ACQUIRE, RL_OP_EXTEND, RL_OP_RELEASE};
static const enum rl_op fencing_ops[3] = {RL_OP_ACQUIRE, RL_OP_RELEASE, RL_OP_FORGET};
static const enum rl_op queue_ops[3] = {RL_OP_TICKET, RL_OP_ACQUIRE, RL_OP_RELEASE};

/* A waiter of no local queue: a message for it wakes nothing. */
#define AUDIT_WAITER UINT64_MAX
/* How long a subscriber connection may take to come up. */
#define SUBSCRIBER_WAIT_NS (500 * (int64_t)RL_NS_PER_MS)

/* ---- the phases ---- */

/* The greeting may be old: the facts are requested again, in front of the next ping. */
static void request_facts(struct rl_audit *audit)
{
    struct rl_engine *engine = &audit->client->engine;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_session *session = &engine->node[i].session;

        audit->rtt_us[i] = -1;
        if (session->state != RL_SESSION_UP)
            continue;
        rl_vetting_check(session, rl_now_ns());
        rl_vetting_sample_clock(session, rl_now_ns());
        rl_vetting_request_sentinel(session);
    }
}

static bool measure(struct rl_audit *audit, struct rl_job *job)
{
    if (audit->step == 1)
        request_facts(audit);
    for (uint8_t i = 0; audit->step > 1 && i < audit->client->engine.policy.node_count; i++) {
        int32_t rtt_us = audit->ping.node[i].rtt_us;

        if (audit->ping.node[i].vote == REDLOCK_VOTE_GRANTED &&
            (audit->rtt_us[i] < 0 || rtt_us < audit->rtt_us[i]))
            audit->rtt_us[i] = rtt_us;
    }
    job->op = RL_OP_PING;
    job->survey = &audit->ping;
    return audit->step <= PINGS;
}

/* The words are the session's, and the next survey changes them. */
static void keep_refusals(struct rl_audit *audit, const struct rl_survey *survey)
{
    for (uint8_t i = 0; i < audit->client->engine.policy.node_count; i++) {
        const struct rl_session *session = &audit->client->engine.node[i].session;

        if (survey->node[i].vote == session->failure && !audit->refusal[i][0])
            memcpy(audit->refusal[i], session->failure_text, sizeof audit->refusal[i]);
    }
}

/* Does with a key of its own what a lock does, on every node. */
static bool try_rights(struct rl_audit *audit, struct rl_job *job, const enum rl_op *ops,
                       struct rl_survey *surveys)
{
    struct rl_lock *lock = &job->lock->handle.lock;

    if (audit->step > 0 && surveys == audit->rights)
        keep_refusals(audit, &surveys[audit->step - 1]);
    if (audit->step == 3)
        return false;
    lock->ttl_ms = lock->extension_ttl_ms = (uint32_t)job->terms.ttl_ms;
    lock->longest_ttl_ms = RL_LONGEST_TTL_MS;
    job->op = ops[audit->step];
    job->survey = &surveys[audit->step];
    return true;
}

static bool try_plain(struct rl_audit *audit, struct rl_job *job)
{
    return try_rights(audit, job, rights_ops, audit->rights);
}

static bool try_fencing(struct rl_audit *audit, struct rl_job *job)
{
    return try_rights(audit, job, fencing_ops, audit->fencing);
}

static void note_bad(void *data, uint8_t node, struct rl_slice key)
{
    struct rl_audit_counters *counters = &((struct rl_audit_counters *)data)[node];

    if (counters->bad_count++ == 0)
        snprintf(counters->example, sizeof counters->example, "%.*s", (int)key.size, key.data);
}

/*
 * Are the nodes' fence counters numbers that a counter may have given? Each node lists those
 * that are not, some keys at a time, until its cursor has come round.
 */
static bool look_at_counters(struct rl_audit *audit, struct rl_job *job)
{
    static const char pattern[] = RL_FENCE_HEAD "*";
    bool more = audit->step == 0;

    if (audit->step == 0) {
        audit->search = (struct rl_survey){
            .pattern = {pattern, sizeof pattern - 1},
            .bad_counters = true,
            .listed = note_bad,
            .listed_data = audit->counters,
        };
        rl_survey_set_cursors(&audit->search);
    }
    job->op = RL_OP_LIST;
    job->survey = &audit->search;
    for (uint8_t i = 0; audit->step > 0 && i < audit->client->engine.policy.node_count; i++) {
        char *cursor = audit->search.cursor[i];

        if (!cursor[0])
            continue;
        audit->counters[i].complete = rl_survey_has_listed_all(&audit->search, i);
        if (audit->search.node[i].vote != REDLOCK_VOTE_GRANTED || audit->counters[i].complete)
            cursor[0] = '\0';
        more |= cursor[0] != '\0';
    }
    return more && audit->step < COUNTER_ROUNDS_MAX;
}

static bool try_queue(struct rl_audit *audit, struct rl_job *job)
{
    struct rl_engine *engine = &audit->client->engine;
    struct rl_pending_acquire *acquire = rl_pending_acquire_of(&job->lock->handle);
    struct rl_attempt *attempt = job->lock->handle.attempt;

    if (audit->step == 0) {
        engine->wants_subscribers = true;
        acquire->acquisition.ticket = 1;
        acquire->waiter = AUDIT_WAITER;
    }
    if (try_rights(audit, job, queue_ops, audit->queue))
        return true;
    /* The place that the audit took in the queues goes; the audit does not wait for that. */
    attempt->waiter = acquire->waiter;
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        rl_send_to_node(engine, i, attempt, NULL, RL_OP_LEAVE, 0, rl_now_ns());
    return false;
}

/* Every kind does what a lock does, with the scripts that it has for that. */
static bool try_kind(struct rl_audit *audit, struct rl_job *job)
{
    job->lock->handle.lock.slot = 1;
    if (audit->step < 3 || audit->kind != RL_AUDIT_FIRST_KIND)
        return try_rights(audit, job, rights_ops, audit->kinds[audit->kind]);
    job->op = RL_OP_LOOK;
    job->survey = &audit->look;
    return audit->step == 3;
}

/* Do wake-ups arrive? The subscriber connections were begun before. */
static bool await_subscribers(struct rl_audit *audit, struct rl_job *job)
{
    redlock *client = audit->client;
    bool settled = true;

    if (audit->step == 0)
        audit->settled_by_ns = rl_now_ns() + SUBSCRIBER_WAIT_NS;
    job->op = RL_OP_PING;
    job->survey = &audit->meanwhile;
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        audit->woken[i] = client->engine.node[i].subscriber.is_up;
        settled &= audit->woken[i] || audit->rtt_us[i] < 0 ||
                   client->subscriber[i].link.failure_count > 0;
    }
    return !settled && rl_now_ns() < audit->settled_by_ns;
}

/* ---- as a job ---- */

static const struct {
    bool (*request)(struct rl_audit *audit, struct rl_job *job); /* false: the phase is over */
    struct rl_lock_terms terms;
    bool of_each_kind;
} phases[] = {
    {.request = measure},
    {.request = try_plain},
    {.request = try_fencing, .terms = {.fenced = true}},
    {.request = look_at_counters},
    {.request = try_queue, .terms = {.kind = REDLOCK_SHARED}},
    {.request = try_kind, .of_each_kind = true},
    {.request = await_subscribers},
};

enum { PHASES = sizeof phases / sizeof phases[0] };

/* With a lock of a name that no other client uses. */
static bool begin_phase(struct rl_audit *audit, struct rl_job *job)
{
    struct rl_lock_terms terms = phases[audit->phase].terms;
    char name[] = "doctor.0123456789abcdef";

    audit->step = 0;
    if (phases[audit->phase].of_each_kind) {
        terms.kind = audit->kind;
        terms.slots = rl_kinds[audit->kind].has_slots;
    }
    /* Without randomness it stays, and the first survey fails for want of a value. */
    rl_engine_draw_hex(&audit->client->engine, NAME_RANDOM_BYTES, name + sizeof "doctor." - 1);
    return rl_job_set_lock(audit->client, job, rl_lock_new_for(audit->client, name, &terms));
}

/* On to the next survey, in this phase or a later one. False: none is left, or no memory. */
static bool go_on(struct rl_audit *audit, struct rl_job *job)
{
    while (!phases[audit->phase].request(audit, job)) {
        if (!phases[audit->phase].of_each_kind || ++audit->kind == RL_KIND_COUNT)
            audit->phase++;
        if (audit->phase == PHASES || !begin_phase(audit, job))
            return false;
    }
    return true;
}

static void judge(struct rl_audit *audit)
{
    redlock *client = audit->client;

    rl_safety_gather(&client->engine, true, audit->nodes);
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        audit->nodes[i].reachable = audit->rtt_us[i] >= 0;
        audit->nodes[i].set_by_client &= client->engine.set_answer[i].by_client;
    }
    rl_audit_judge(audit);
}

static bool begin(redlock *client, struct rl_job *job)
{
    struct rl_audit *audit = job->work = calloc(1, sizeof *audit);

    if (!audit)
        return rl_job_set_lock(client, job, NULL);
    audit->client = client;
    audit->job = job;
    audit->kind = RL_AUDIT_FIRST_KIND;
    return begin_phase(audit, job) && go_on(audit, job);
}

static bool next(redlock *client, struct rl_job *job)
{
    struct rl_audit *audit = job->work;

    if (!audit)
        return begin(client, job);
    /* What the nodes answered is judged at the end: no answer is an error of the audit. */
    job->error = REDLOCK_OK;
    audit->step++;
    if (go_on(audit, job))
        return true;
    if (job->error)
        return false;
    judge(audit);
    rl_job_answer_checks(job);
    free(audit); /* a lot, of which an answer that waits to be read has no need */
    job->work = NULL;
    return false;
}

const struct rl_job_kind rl_audit_kind = {
    .class = RL_CLASS_SEARCH,
    .next = next,
};
