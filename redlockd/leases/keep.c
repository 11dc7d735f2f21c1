/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/keep.h"

#include <string.h>

#include "io/clock.h"
#include "leases/acquire.h"
#include "leases/holdings.h"
#include "leases/reply.h"
#include "leases/stream.h"

static const struct lease_refusal ended = {410, "ENDED",
                                           "this lease has ended: stop what it protected"};
static const struct lease_refusal gone = {410, "EXPIRED", "it was gone already"};
static const struct lease_refusal no_memory = {503, "NOMEM", "out of memory"};
static const struct lease_refusal ahead = {
    400, "GRANT", "the fence of the Grant is later than the clock of this host"};

/* Fences are microseconds of the nodes' clocks. As far as these may be ahead of the clock here. */
#define FENCE_AHEAD_MS INT64_C(86400000)

void lease_reply_outcome(struct lease *lease, int error)
{
    struct leases *leases = lease->leases;
    redlock_report *report = &leases->report;
    struct http_exchange *exchange = lease_take_exchange(lease);

    report->size = sizeof *report;
    report->node_count = 0;
    if (!exchange)
        return;
    if (lease->lock)
        redlock_lock_report(lease->lock, report);
    lease_reply_error(&leases->body, exchange, error, report);
}

/* ---- renewed ----------------------------------------------------------------------------- */

/*
 * An extension is never rolled back, whatever the majority said and whether or not the client is
 * still there: to a renewal that failed, the deadline that the client knows stands.
 */
static void on_renewed(redlock_lock *lock, int error, void *data)
{
    struct lease *lease = data;
    struct leases *leases = lease->leases;
    struct lease_told told = {.ttl_ms = lease->ttl_ms, .is_local = lease->is_local};
    char text[LEASE_GRANT_MAX + 1], label[REDLOCK_LABEL_MAX + 1];
    struct http_exchange *exchange;
    struct holding holding;

    told.deadline = lease_deadline_of(lease->received_ns, rl_now_ns(),
                                      redlock_deadline_ns(lock), leases->drift_ppm);
    if (!error && told.deadline.valid_ms == 0)
        error = REDLOCK_NOQUORUM;
    holding = holding_of(lease, redlock_name(lock), redlock_value(lock), label);
    if (!error)
        holdings_held(leases, &holding, false);
    else if (error == REDLOCK_LOST || error == REDLOCK_EXPIRED)
        holdings_ended(leases, &holding, AUDIT_LOST, redlock_error_name(error));
    if (error) {
        lease_reply_outcome(lease, error);
    } else if (lease->exchange) {
        exchange = lease_take_exchange(lease);
        told.fence = lease->fence;
        lease_write_grant(lease, text);
        told.name = redlock_name(lock);
        told.grant = text;
        lease_reply_held(&leases->body, exchange, 200, &told);
    }
    lease_rest(lease);
}

/* A value with what it was acquired with, so that nodes which miss it get it back. */
static int adopt_as(struct lease *lease, const char *name, const char *value)
{
    redlock_request request = {
        .size = sizeof request,
        .kind = lease->kind,
        .slots = lease->slots,
        .owner = lease->owner[0] ? lease->owner : NULL,
        .fence = lease->fence,
        .lost = lease->stream ? lease_stream_lost : NULL,
        .data = lease,
    };

    return redlock_adopt_as(lease->leases->client, name, value, &request, &lease->lock);
}

struct lease *lease_adopt(struct leases *leases, struct http_exchange *exchange,
                          const struct http_request *request, const struct lease_terms *terms,
                          const struct access_who *who, enum lease_state state)
{
    struct lease *lease;
    int error;

    /* Healing raises the counter of a node to this fence. A made-up one near the end of the range
     * would let the tokens of this name begin again from below. */
    if (state != LEASE_ENDING &&
        terms->grant.fence / 1000 > rl_wall_ms(NULL) + FENCE_AHEAD_MS) {
        lease_reply_refusal(exchange, &ahead);
        return NULL;
    }
    lease = lease_new(leases, exchange, request, terms, who, state);
    if (!lease)
        return NULL;
    lease->kind = (int8_t)terms->grant.kind;
    lease->slots = (uint16_t)terms->grant.slots;
    lease->fence = terms->grant.fence;
    strcpy(lease->owner, terms->grant.owner);
    error = adopt_as(lease, terms->name, terms->grant.value);
    if (!error)
        return lease;
    lease_reply_outcome(lease, error);
    lease_free(lease);
    return NULL;
}

void lease_begin_renew(struct leases *leases, struct http_exchange *exchange,
                       const struct http_request *request, const struct lease_terms *terms,
                       const struct access_who *who)
{
    void *wait = NULL;
    struct lease *lease;
    int error;

    if (ids_find(&leases->ids, &terms->tag, request->received_ns, &wait) == IDS_ENDED) {
        lease_reply_refusal(exchange, &ended);
        return;
    }
    lease = lease_adopt(leases, exchange, request, terms, who, LEASE_RENEWING);
    if (!lease)
        return;
    error = redlock_start_extend(lease->lock, terms->ttl_ms, on_renewed, lease);
    if (error) {
        lease_reply_outcome(lease, error);
        lease_free(lease);
        return;
    }
    leases_wake(leases);
}

/* ---- released ---------------------------------------------------------------------------- */

/* `holding`: what was deleted, or was not there any more. */
static void note_released(struct lease *lease, int error, const struct holding *holding)
{
    struct leases *leases = lease->leases;

    if (!error)
        holdings_ended(leases, holding, AUDIT_RELEASED, NULL);
    else if ((error == REDLOCK_EXPIRED || error == REDLOCK_LOST) &&
             ledger_find(&leases->ledger, &lease->tag))
        holdings_ended(leases, holding, AUDIT_LOST, redlock_error_name(error));
}

static void reply_released(struct lease *lease, int error)
{
    struct http_exchange *exchange;

    /* A wait that was ended on the way is something that was released. */
    if (lease->had_wait && (error == REDLOCK_EXPIRED || error == REDLOCK_LOST))
        error = REDLOCK_OK;
    if (error && error != REDLOCK_EXPIRED && error != REDLOCK_LOST) {
        lease_reply_outcome(lease, error);
        return;
    }
    exchange = lease_take_exchange(lease);
    if (!exchange)
        return;
    if (error)
        lease_reply_refusal(exchange, &gone);
    else
        http_answer(exchange, &(struct http_answer){.status = 204});
}

static void on_released(redlock_lock *lock, int error, void *data)
{
    struct lease *lease = data;
    char label[REDLOCK_LABEL_MAX + 1];
    struct holding holding = holding_of(lease, redlock_name(lock), redlock_value(lock), label);

    note_released(lease, error, &holding);
    reply_released(lease, error);
    lease_free(lease);
}

static void release_by_grant(struct leases *leases, struct http_exchange *exchange,
                             const struct http_request *request,
                             const struct lease_terms *terms, const struct access_who *who,
                             bool had_wait)
{
    struct lease *lease = lease_adopt(leases, exchange, request, terms, who, LEASE_ENDING);
    int error;

    if (!lease)
        return;
    lease->had_wait = had_wait;
    error = redlock_start_release(lease->lock, on_released, lease);
    if (error) {
        lease_reply_outcome(lease, error);
        lease_free(lease);
        return;
    }
    leases_wake(leases);
}

/* ---- released by its tag ----------------------------------------------------------------- */

static void on_released_by_tag(int error, const redlock_answer *answer, void *data)
{
    struct lease *lease = data;
    const redlock_report *report = answer->report;
    char label[REDLOCK_LABEL_MAX + 1];
    struct holding holding =
        holding_of(lease, answer->name, report ? report->holder.value : NULL, label);

    note_released(lease, error, &holding);
    reply_released(lease, error);
    lease_free(lease);
}

/* The nodes compare the tag in the step that deletes: nothing else is ever done with what they find. */
static void release_by_tag(struct leases *leases, struct http_exchange *exchange,
                           const struct http_request *request, const struct lease_terms *terms,
                           const struct access_who *who, bool had_wait)
{
    struct lease *lease = lease_new(leases, exchange, request, terms, who, LEASE_ENDING);
    int error;

    if (!lease)
        return;
    lease->had_wait = had_wait;
    error = redlock_start_release_tagged(leases->client, terms->name, terms->tag.text,
                                         on_released_by_tag, lease);
    if (error) {
        lease_reply_outcome(lease, error);
        lease_free(lease);
        return;
    }
    leases_wake(leases);
}

void lease_begin_release(struct leases *leases, struct http_exchange *exchange,
                         const struct http_request *request, const struct lease_terms *terms,
                         const struct access_who *who)
{
    void *found = NULL;
    enum ids_state state = ids_find(&leases->ids, &terms->tag, request->received_ns, &found);
    bool had_wait = state == IDS_WAITING;

    if (state == IDS_WAITING)
        lease_end_wait(found, &ended);
    else if (state == IDS_STREAMING)
        lease_stream_end(found, &ended, IDS_ENDED);
    /* Spent before the first node is asked: a copy of the PUT that comes meanwhile is refused. */
    if (ids_set_spent(&leases->ids, &terms->tag, IDS_ENDED, request->received_ns) < 0) {
        lease_reply_refusal(exchange, &no_memory);
        return;
    }
    if (terms->has_grant)
        release_by_grant(leases, exchange, request, terms, who, had_wait);
    else
        release_by_tag(leases, exchange, request, terms, who, had_wait);
}
