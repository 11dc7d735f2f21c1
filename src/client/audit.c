/* SPDX-License-Identifier: BSD-2-Clause */
/* The audit: asks every node what can be asked, and says of each answer what it means (G7). */
#include "client/audit.h"

#include <string.h>

#include "client/query.h"
#include "client/request.h"
#include "drive/detail.h"
#include "drive/enter.h"
#include "drive/handles.h"
#include "engine/ask.h"
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

/* What the nodes answered is judged later; only a question that could not be asked is an error. */
static int ask(redlock *client, redlock_lock *lock, enum rl_op question,
               struct rl_survey *survey)
{
    return rl_ask(client, lock, question, survey) == REDLOCK_NOMEM ? REDLOCK_NOMEM : REDLOCK_OK;
}

static int measure(struct rl_audit *audit, redlock_lock *lock)
{
    struct rl_engine *engine = &audit->client->engine;
    int error = ask(audit->client, lock, RL_OP_PING, &audit->ping);

    /* The greeting may be old: the facts are asked for again, in front of the next ping. */
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_session *session = &engine->node[i].session;

        audit->rtt_us[i] = -1;
        if (session->state != RL_SESSION_UP)
            continue;
        rl_vetting_check(session, rl_now_ns());
        rl_vetting_sample_clock(session, rl_now_ns());
    }
    for (int ping = 0; ping < PINGS && !error; ping++) {
        error = ask(audit->client, lock, RL_OP_PING, &audit->ping);
        for (uint8_t i = 0; i < engine->policy.node_count; i++) {
            int32_t rtt_us = audit->ping.node[i].rtt_us;

            if (audit->ping.node[i].vote == REDLOCK_VOTE_GRANTED &&
                (audit->rtt_us[i] < 0 || rtt_us < audit->rtt_us[i]))
                audit->rtt_us[i] = rtt_us;
        }
    }
    return error;
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
static int try_rights(struct rl_audit *audit, redlock_lock *lock, const enum rl_op *ops,
                      struct rl_survey *surveys)
{
    int error = REDLOCK_OK;

    lock->handle.lock.ttl_ms = lock->handle.lock.extension_ttl_ms = (uint32_t)audit->ttl_ms;
    lock->handle.lock.longest_ttl_ms = RL_LONGEST_TTL_MS;
    for (int i = 0; i < 3 && !error; i++) {
        error = ask(audit->client, lock, ops[i], &surveys[i]);
        if (surveys == audit->rights)
            keep_refusals(audit, &surveys[i]);
    }
    return error;
}

/* A lock of a name that no other client uses. */
static redlock_lock *new_lock(redlock *client, struct rl_lock_terms terms)
{
    char name[] = "doctor.0123456789abcdef";

    /* Without randomness it stays as it is, and the first question fails for want of a value. */
    rl_engine_draw_hex(&client->engine, NAME_RANDOM_BYTES, name + sizeof "doctor." - 1);
    return rl_lock_new_for(client, name, sizeof name - 1, &terms);
}

/* Every kind does what a lock does, with the scripts that it has for that. */
static int try_kinds(struct rl_audit *audit)
{
    int error = REDLOCK_OK;

    for (uint8_t kind = REDLOCK_MUTEX + 1; kind < RL_KIND_COUNT && !error; kind++) {
        redlock_lock *lock =
            new_lock(audit->client,
                     (struct rl_lock_terms){.kind = kind, .slots = rl_kind(kind)->has_slots});

        if (!lock)
            return REDLOCK_NOMEM;
        lock->handle.lock.slot = 1;
        error = try_rights(audit, lock, rights_ops, audit->kinds[kind]);
        if (!error && kind == REDLOCK_MUTEX + 1)
            error = ask(audit->client, lock, RL_OP_LOOK, &audit->look);
        rl_lock_discard(audit->client, lock, false);
    }
    return error;
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

static int try_queue(struct rl_audit *audit)
{
    redlock_lock *lock =
        new_lock(audit->client, (struct rl_lock_terms){.kind = REDLOCK_SHARED});
    int error;

    if (!lock)
        return REDLOCK_NOMEM;
    audit->client->engine.wants_subscribers = true;
    rl_acquirer_of(&lock->handle)->acquisition.ticket = 1;
    rl_acquirer_of(&lock->handle)->waiter = AUDIT_WAITER;
    error = try_rights(audit, lock, queue_ops, audit->queue);
    if (!error)
        leave_queue(audit->client, lock);
    rl_lock_discard(audit->client, lock, false);
    return error;
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
static int try_ears(struct rl_audit *audit, redlock_lock *lock)
{
    int64_t end_ns = rl_now_ns() + SUBSCRIBER_WAIT_NS;
    struct rl_survey ping = {0};
    int error = REDLOCK_OK;

    while (!error && !are_subscribers_settled(audit) && rl_now_ns() < end_ns)
        error = ask(audit->client, lock, RL_OP_PING, &ping);
    return error;
}

static int gather(struct rl_audit *audit)
{
    redlock *client = audit->client;
    redlock_lock *plain = new_lock(client, (struct rl_lock_terms){0});
    redlock_lock *fenced = new_lock(client, (struct rl_lock_terms){.fenced = true});
    int error = plain && fenced ? measure(audit, plain) : REDLOCK_NOMEM;

    if (!error)
        error = try_rights(audit, plain, rights_ops, audit->rights);
    if (!error)
        error = try_rights(audit, fenced, fencing_ops, audit->fencing);
    if (!error)
        error = rl_audit_counters(audit, plain);
    if (!error)
        error = try_queue(audit);
    if (!error)
        error = try_kinds(audit);
    if (!error)
        error = try_ears(audit, plain);
    if (plain)
        rl_lock_discard(client, plain, false);
    if (fenced)
        rl_lock_discard(client, fenced, false);
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++) {
        const struct rl_session *session = &client->engine.node[i].session;

        audit->nodes[i] = (struct rl_audit_node){
            .reachable = audit->rtt_us[i] >= 0,
            .facts = &session->facts,
            .placement = client->placement,
            .window = &session->guard.window,
        };
    }
    return error;
}

int rl_client_audit(redlock *client, int64_t ttl_ms, redlock_check_fn *each, void *data)
{
    struct rl_audit audit = {.client = client, .each = each, .data = data, .ttl_ms = ttl_ms};
    int error;

    error = rl_client_enter(client, true);
    if (error)
        return error;
    error = rl_ttl_check(client, ttl_ms);
    if (!error && !each)
        error = rl_detail(REDLOCK_INVAL, "there is no function to tell the checks to");
    if (!error)
        error = gather(&audit);
    if (!error)
        rl_audit_judge(&audit);
    rl_client_leave(client);
    return error;
}
