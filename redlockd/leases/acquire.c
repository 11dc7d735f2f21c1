/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/acquire.h"

#include <assert.h>
#include <string.h>

#include "io/clock.h"
#include "leases/holdings.h"
#include "leases/reply.h"
#include "leases/stream.h"

static const struct lease_refusal yours = {
    409, "YOURS", "this lease id was granted already: DELETE it and acquire with a new one"};
static const struct lease_refusal superseded = {
    409, "SUPERSEDED", "the same request came again: DELETE the lease, acquire with a new id"};
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

void lease_undo(struct lease *lease)
{
    bool must_wait = lease_stream_stop(lease);

    lease->state = LEASE_UNDONE;
    if (must_wait)
        return;
    if (redlock_start_release(lease->lock) != REDLOCK_OK)
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
    if (told.deadline.remaining_ms == 0 || !lease_write_grant(lease, text)) {
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

static void refuse(struct lease *lease, const redlock_event *event)
{
    struct leases *leases = lease->leases;
    const char *name = redlock_name(lease->lock);

    if (event->error == REDLOCK_YOURS) {
        /* A majority has it under this tag: another replica granted it, or this one, long ago. */
        leases->counts.yours++;
        lease_reply_refusal(lease_take_exchange(lease), &yours);
    } else if ((event->error == REDLOCK_BUSY || event->error == REDLOCK_TIMEOUT) &&
               !access_may(leases->access, &lease->who, ACCESS_READ, name)) {
        lease_reply_refusal(lease_take_exchange(lease), &busy);
    } else {
        lease_reply_error(lease, name, event->error, event->detail);
    }
}

void lease_refuse_quota(struct leases *leases, struct http_exchange *exchange,
                        const struct rl_span *path, const struct access_who *who,
                        const char *name)
{
    holdings_denied(leases, exchange, path, who, name, quota.code);
    lease_reply_refusal(exchange, &quota);
}

/* It waits no more, for its rule and for the counters. */
static void count_wait_out(struct lease *lease)
{
    lease->leases->counts.waiting--;
    lease->leases->counts.waiting_streams -= lease->stream != NULL;
    if (lease->rule)
        lease->rule->waiters--;
    lease->rule = NULL;
}

/*
 * It waited, and meanwhile others of its rule may have been granted, its certificate or the day of its token
 * may be over. True: it is answered, and given back.
 */
static bool is_taken_back(struct lease *lease, int64_t now_ns)
{
    struct leases *leases = lease->leases;
    const char *name = redlock_name(lease->lock);
    struct access_rule *rule = access_rule_of(leases->access, &lease->who, name);
    bool may =
        access_still_may(leases->access, &lease->who, lease->exchange, ACCESS_ACQUIRE, name);
    struct http_exchange *exchange;

    if (may && (!rule || access_rule_has_room(rule, false)))
        return false;
    ids_set_spent(&leases->ids, &lease->tag, IDS_ENDED, now_ns);
    exchange = lease_take_exchange(lease);
    if (may) {
        lease_refuse_quota(leases, exchange, NULL, &lease->who, name);
    } else {
        holdings_denied(leases, exchange, NULL, &lease->who, name, lease_forbidden.code);
        lease_reply_refusal(exchange, &lease_forbidden);
    }
    lease_undo(lease);
    return true;
}

/* Granted once, never again: from here on the table refuses this id. */
static int set_granted(struct lease *lease, int64_t now_ns)
{
    struct ids *ids = &lease->leases->ids;

    return lease->stream ? ids_set_streaming(ids, &lease->tag, lease)
                         : ids_set_spent(ids, &lease->tag, IDS_GRANTED, now_ns);
}

void lease_acquired(struct lease *lease, const redlock_event *event)
{
    struct leases *leases = lease->leases;
    int64_t now_ns = rl_now_ns();

    count_wait_out(lease);
    if (event->error) {
        ids_forget(&leases->ids, &lease->tag);
        refuse(lease, event);
        lease_free(lease);
        return;
    }
    if (is_taken_back(lease, now_ns))
        return;
    if (set_granted(lease, now_ns) < 0) {
        ids_forget(&leases->ids, &lease->tag);
        lease_reply_refusal(lease_take_exchange(lease), &no_memory);
        lease_undo(lease);
        return;
    }
    lease->fence = redlock_fence(lease->lock);
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

/* REDLOCK_KEEP: no handle of the daemon sweeps at its deadline, or when it is freed. Another replica may have
 * renewed the lock by then: only an explicit release deletes what was granted. */
static int start(struct lease *lease, const struct lease_terms *terms)
{
    redlock_request request =
        REDLOCK_REQUEST(.kind = terms->kind,
                        .flags =
                            terms->flags | REDLOCK_KEEP | (lease->stream ? REDLOCK_PLACES : 0),
                        .wait_ms = terms->wait_ms, .data = lease, .slots = terms->slots,
                        .owner = terms->owner[0] ? terms->owner : NULL, .label = terms->label,
                        .idempotency_key = terms->tag.text);

    return redlock_start_acquire(lease->leases->client, terms->name, terms->ttl_ms, &request,
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
        lease_refuse_quota(leases, exchange, &request->path, who, terms->name);
        return;
    }
    lease = lease_new(leases, exchange, request, terms, who, LEASE_WAITING);
    if (!lease)
        return;
    error = start(lease, terms);
    if (error || ids_set_waiting(&leases->ids, &terms->tag, lease) < 0) {
        if (error)
            lease_reply_error(lease, terms->name, error, redlock_detail());
        else
            lease_reply_refusal(lease_take_exchange(lease), &no_memory);
        lease_free(lease);
        return;
    }
    leases->counts.waiting++;
    leases->counts.waiting_streams += lease->stream != NULL;
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
