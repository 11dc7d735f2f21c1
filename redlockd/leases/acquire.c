/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/acquire.h"

#include <assert.h>
#include <string.h>

#include "io/clock.h"
#include "leases/holdings.h"
#include "leases/reply.h"
#include "leases/stream.h"

static const struct lease_refusal yours = {
    409, "yours", "this lease id was granted already: DELETE it and acquire with a new one"};
static const struct lease_refusal superseded = {
    409, "superseded", "the same request came again: DELETE the lease, acquire with a new id"};
static const struct lease_refusal ended = {410, "ENDED",
                                           "this lease has ended: acquire with a new lease id"};
const struct lease_refusal lease_draining = {503, "DRAINING",
                                             "this replica is about to end: ask another"};
const struct lease_refusal lease_forbidden = {403, "FORBIDDEN", "no rule allows that any more"};
static const struct lease_refusal quota = {
    429, "QUOTA", "the rule that allows this has no room for more at present"};
static const struct lease_refusal late = {
    503, "LATE", "the nodes granted it too late to be of use: it was given back"};
static const struct lease_refusal busy = {423, "BUSY", "held by another"};
static const struct lease_refusal no_memory = {503, "NOMEM", "out of memory"};

/* ---- granted ----------------------------------------------------------------------------- */

/* Released by its value. What becomes of it is told to no client: the TTL ends what is left. */
static void on_undone(redlock_lock *lock, int error, void *data)
{
    (void)lock, (void)error;
    lease_free(data);
}

void lease_undo(struct lease *lease)
{
    bool must_wait = lease_stream_stop(lease);

    lease->state = LEASE_UNDONE;
    if (must_wait)
        return;
    if (redlock_start_release(lease->lock, on_undone, lease) != REDLOCK_OK)
        lease_free(lease);
    else
        leases_wake(lease->leases);
}

static void tell_grant(struct lease *lease, int64_t now_ns)
{
    struct leases *leases = lease->leases;
    struct lease_told told = {
        .fence = lease->fence, .ttl_ms = lease->ttl_ms, .is_local = lease->is_local};
    int64_t deadline_ns = redlock_deadline_ns(lease->lock);
    char text[LEASE_GRANT_MAX + 1];

    told.deadline =
        lease_deadline_of(lease->received_ns, now_ns, deadline_ns, leases->drift_ppm);
    if (told.deadline.valid_ms == 0 || !lease_write_grant(lease, text)) {
        lease_reply_refusal(lease_take_exchange(lease), &late);
        lease_undo(lease);
        return;
    }
    lease->state = LEASE_TOLD;
    told.name = redlock_name(lease->lock);
    told.grant = text;
    /* The exchange keeps its user: lease_acquire_ended() hears whether a byte of this was sent. */
    lease_reply_held(&leases->body, lease->exchange, 201, &told);
    holdings_begin(lease, true);
}

static void refuse(struct lease *lease, int error)
{
    struct leases *leases = lease->leases;
    redlock_report *report = &leases->report;
    struct http_exchange *exchange = lease_take_exchange(lease);

    report->size = sizeof *report;
    report->node_count = 0;
    if (error == REDLOCK_CANCELED) {
        lease_reply_refusal(exchange, &lease_draining);
    } else if (error == REDLOCK_YOURS) {
        /* A majority has it under this tag: another replica granted it, or this one, long ago. */
        leases->counts.yours++;
        lease_reply_refusal(exchange, &yours);
    } else if ((error == REDLOCK_BUSY || error == REDLOCK_TIMEOUT) &&
               !access_may(leases->access, &lease->who, ACCESS_READ,
                           redlock_name(lease->lock))) {
        lease_reply_refusal(exchange, &busy);
    } else {
        redlock_lock_report(lease->lock, report);
        lease_reply_error(&leases->body, exchange, error, report);
    }
}

void lease_refuse_quota(struct leases *leases, struct http_exchange *exchange,
                        const struct access_who *who, const char *name)
{
    holdings_denied(leases, who, name, quota.code);
    lease_reply_refusal(exchange, &quota);
}

/* It waits no more, for its rule and for the counters. */
static void count_wait_out(struct lease *lease)
{
    lease->leases->counts.waiting--;
    if (lease->rule)
        lease->rule->waiters--;
    lease->rule = NULL;
}

/* Others of its rule were granted while it waited. */
static bool has_room_now(struct lease *lease)
{
    struct access_rule *rule =
        access_rule_of(lease->leases->access, &lease->who, redlock_name(lease->lock));

    return !rule || access_rule_has_room(rule, false);
}

/* Granted once, never again: from here on the table refuses this id. */
static int set_granted(struct lease *lease, int64_t now_ns)
{
    struct ids *ids = &lease->leases->ids;

    return lease->stream ? ids_set_streaming(ids, &lease->tag, lease)
                         : ids_set_spent(ids, &lease->tag, IDS_GRANTED, now_ns);
}

/* redlock_start() is done: a majority was asked after the request came, and has said this. */
static void on_acquired(redlock_lock *lock, int error, void *data)
{
    struct lease *lease = data;
    struct leases *leases = lease->leases;
    int64_t now_ns = rl_now_ns();

    count_wait_out(lease);
    if (error) {
        ids_forget(&leases->ids, &lease->tag);
        refuse(lease, error);
        lease_free(lease);
        return;
    }
    if (!has_room_now(lease)) {
        ids_set_spent(&leases->ids, &lease->tag, IDS_ENDED, now_ns);
        lease_refuse_quota(leases, lease_take_exchange(lease), &lease->who,
                           redlock_name(lease->lock));
        lease_undo(lease);
        return;
    }
    if (set_granted(lease, now_ns) < 0) {
        ids_forget(&leases->ids, &lease->tag);
        lease_reply_refusal(lease_take_exchange(lease), &no_memory);
        lease_undo(lease);
        return;
    }
    lease->fence = redlock_fence(lock);
    if (lease->stream)
        lease_stream_granted(lease);
    else
        tell_grant(lease, now_ns);
}

/* ---- begun ------------------------------------------------------------------------------- */

/*
 * The newer request has the only right to be answered, and what happens when its client is gone is
 * decided by its connection alone. What after_ms counts from is its receipt: its client began to
 * wait when it sent this one.
 */
static void take_over(struct lease *lease, struct http_exchange *exchange,
                      const struct http_request *request, const struct access_who *who)
{
    lease_reply_refusal(lease_take_exchange(lease), &superseded);
    lease->exchange = exchange;
    lease->who = *who;
    lease->received_ns = request->received_ns;
    lease->is_local = request->peer->is_unix;
    http_set_user(exchange, &lease->user);
    if (lease->stream)
        lease_stream_wait(lease);
}

/* What would be granted is what this request asks for. A client that asks for a mutex must not be told
 * 201 for the shared lock that its id waits for. */
static bool is_same(const struct lease *lease, const struct lease_terms *terms)
{
    return strcmp(redlock_name(lease->lock), terms->name) == 0 &&
           !lease->stream == !terms->is_stream && lease->kind == terms->kind &&
           lease->slots == terms->slots && strcmp(lease->owner, terms->owner) == 0 &&
           lease->is_fenced == ((terms->flags & REDLOCK_FENCED) != 0);
}

/* True: answered, by what this replica remembers of the id. It only refuses. */
static bool is_known(struct leases *leases, struct http_exchange *exchange,
                     const struct http_request *request, const struct lease_terms *terms,
                     const struct access_who *who)
{
    void *wait = NULL;
    enum ids_state state = ids_find(&leases->ids, &terms->tag, request->received_ns, &wait);
    struct lease *lease = wait;

    if (state == IDS_UNKNOWN)
        return false;
    if (state == IDS_ENDED) {
        lease_reply_refusal(exchange, &ended);
    } else if (state == IDS_WAITING && is_same(lease, terms)) {
        take_over(lease, exchange, request, who);
    } else {
        /* Granted; or it waits for something else: one id, one acquisition. */
        leases->counts.yours++;
        lease_reply_refusal(exchange, &yours);
    }
    return true;
}

static int start(struct lease *lease, const struct lease_terms *terms)
{
    redlock_request request = {
        .size = sizeof request,
        .kind = terms->kind,
        /* No handle of the daemon sweeps at its deadline, or when it is freed: another replica may
         * have renewed the lock by then. Only an explicit release deletes what was granted. */
        .flags = terms->flags | REDLOCK_KEEP,
        .wait_ms = terms->wait_ms,
        .done = on_acquired,
        .queued = terms->is_stream ? lease_stream_queued : NULL,
        .lost = terms->is_stream ? lease_stream_lost : NULL,
        .data = lease,
        .slots = terms->slots,
        .owner = terms->owner[0] ? terms->owner : NULL,
        .label = terms->label,
        .tag = terms->tag.text,
    };

    return redlock_start(lease->leases->client, terms->name, terms->ttl_ms, &request,
                         &lease->lock);
}

void lease_begin_acquire(struct leases *leases, struct http_exchange *exchange,
                         const struct http_request *request, const struct lease_terms *terms,
                         const struct access_who *who)
{
    struct access_rule *rule;
    struct lease *lease;
    int error;

    /* A client that has closed behind its request may be gone: nothing is begun for it. */
    if (request->eof) {
        http_drop(exchange);
        return;
    }
    if (is_known(leases, exchange, request, terms, who))
        return;
    if (leases->is_draining) {
        lease_reply_refusal(exchange, &lease_draining);
        return;
    }
    rule = access_rule_of(leases->access, who, terms->name);
    if (rule && !access_rule_has_room(rule, terms->wait_ms > 0)) {
        lease_refuse_quota(leases, exchange, who, terms->name);
        return;
    }
    lease = lease_new(leases, exchange, request, terms, who, LEASE_WAITING);
    if (!lease)
        return;
    error = start(lease, terms);
    if (!error && ids_set_waiting(&leases->ids, &terms->tag, lease) < 0)
        error = REDLOCK_NOMEM;
    if (error) {
        lease_reply_error(&leases->body, lease_take_exchange(lease), error, NULL);
        lease_free(lease);
        return;
    }
    leases->counts.waiting++;
    if (rule && terms->wait_ms > 0) {
        lease->rule = rule;
        rule->waiters++;
    }
    if (lease->stream)
        lease_stream_wait(lease);
    leases_wake(leases);
}

/* ---- ended ------------------------------------------------------------------------------- */

void lease_end_wait(struct lease *lease, const struct lease_refusal *refusal)
{
    struct leases *leases = lease->leases;
    struct http_exchange *exchange = lease_take_exchange(lease);

    assert(lease->state == LEASE_WAITING);
    ids_forget(&leases->ids, &lease->tag);
    count_wait_out(lease);
    if (exchange)
        lease_reply_refusal(exchange, refusal);
    /* Cancels: what was set on nodes is taken back, and the place in the queue is given up. */
    lease_free(lease);
    leases_wake(leases);
}

void lease_acquire_ended(struct lease *lease, enum http_ended how)
{
    struct leases *leases = lease->leases;

    lease->exchange = NULL;
    if (lease->state == LEASE_WAITING) {
        /* The client is gone while it waits: cancelled at once. */
        leases->counts.disconnected_waiters++;
        lease_end_wait(lease, NULL);
    } else if (how == HTTP_ENDED_SENT) {
        /* A byte of the grant was sent: the client may hold it, and only the client ends it. */
        lease_free(lease);
    } else {
        /* Granted in the instant in which the client went: no client was told of it. */
        ids_set_spent(&leases->ids, &lease->tag, IDS_ENDED, rl_now_ns());
        holdings_end(lease, AUDIT_RELEASED, "UNDELIVERED");
        lease_undo(lease);
    }
}
