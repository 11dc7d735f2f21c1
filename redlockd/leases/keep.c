/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/keep.h"

#include <inttypes.h>
#include <stdio.h>

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

/*
 * Fences are microseconds of the nodes' clocks. As far as these may be ahead of the clock here.
 */
#define FENCE_AHEAD_MS INT64_C(86400000)

/* ---- renewed ----------------------------------------------------------------------------- */

/*
 * What was never known here is no loss that this replica can tell of: a Grant can be made up.
 */
static void note_lost(struct lease *lease, const struct holding *holding, int error)
{
    struct leases *leases = lease->leases;

    if (holdings_find(leases, holding->tag, holding->name))
        holdings_ended(leases, holding, AUDIT_LOST, redlock_error_name(error));
    else
        leases->counts.unknown++;
    lease_missed(lease, holding->name);
}

/*
 * An extension is never rolled back, whatever the majority said and whether or not the client
 * is still there: to a renewal that failed, the deadline that the client knows stands.
 */
void lease_renewed(struct lease *lease, const redlock_event *event)
{
    struct leases *leases = lease->leases;
    char text[LEASE_GRANT_MAX + 1], label[REDLOCK_LABEL_MAX + 1];
    struct holding holding =
        holding_of(lease, redlock_name(lease->lock), redlock_value(lease->lock), label);
    struct lease_told told = {.name = holding.name,
                              .grant = text,
                              .fence = lease->fence,
                              .ttl_ms = lease->ttl_ms,
                              .deadline =
                                  lease_deadline_of(lease->received_ns, rl_now_ns(),
                                                    holding.valid_ns, leases->drift_ppm),
                              .is_local = lease->is_local};

    if (event->error) {
        if (event->error == REDLOCK_LOST || event->error == REDLOCK_EXPIRED)
            note_lost(lease, &holding, event->error);
        lease_reply_error(lease, holding.name, event->error, event->detail);
    } else if (told.deadline.remaining_ms == 0) {
        lease_reply_error(lease, holding.name, REDLOCK_NOQUORUM, lease_late.detail);
    } else {
        holdings_held(leases, &holding, false);
        if (lease->exchange && lease_write_grant(lease, text))
            lease_reply_held(&leases->body, lease_take_exchange(lease), 200, &told);
    }
    lease_free(lease);
}

/* A value with what it was acquired with. */
static int adopt(struct lease *lease, const char *name, const char *value)
{
    redlock_request request = REDLOCK_REQUEST(.kind = lease->kind, .slots = lease->slots,
                                              .owner = lease->owner[0] ? lease->owner : NULL,
                                              .fence = lease->fence, .data = lease);

    return redlock_adopt(lease->leases->client, name, value, &request, &lease->lock);
}

/* What was started: sent with this turn, unless it could not be. */
static void started(struct lease *lease, const char *name, int error)
{
    if (error) {
        lease_reply_error(lease, name, error, redlock_detail());
        lease_free(lease);
    } else {
        leases_wake(lease->leases);
    }
}

struct lease *lease_adopt(struct leases *leases, struct http_exchange *exchange,
                          const struct http_request *request, const struct lease_terms *terms,
                          const struct access_who *who, enum lease_state state)
{
    struct lease *lease;
    int error;

    /* A fence is handed on to resources that refuse smaller ones: a made-up one near the end of the
     * range would lock the next holders out. */
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
    error = adopt(lease, terms->name, terms->grant.value);
    if (!error)
        return lease;
    lease_reply_error(lease, terms->name, error, redlock_detail());
    lease_free(lease);
    return NULL;
}

void lease_begin_renew(struct leases *leases, struct http_exchange *exchange,
                       const struct http_request *request, const struct lease_terms *terms,
                       const struct access_who *who)
{
    void *wait = NULL;
    struct lease *lease;

    if (ids_find(&leases->ids, &terms->tag, request->received_ns, &wait) == IDS_ENDED) {
        lease_reply_refusal(exchange, &ended);
        return;
    }
    lease = lease_adopt(leases, exchange, request, terms, who, LEASE_RENEWING);
    if (lease)
        started(lease, terms->name, redlock_start_extend(lease->lock, terms->ttl_ms));
}

/* ---- released ---------------------------------------------------------------------------- */

/* `holding`: what was deleted, or was not there any more. */
static void note_released(struct lease *lease, int error, const struct holding *holding)
{
    struct leases *leases = lease->leases;

    if (!error) {
        holdings_ended(leases, holding, AUDIT_RELEASED, NULL);
    } else if (error == REDLOCK_EXPIRED || error == REDLOCK_LOST) {
        if (holdings_find(leases, holding->tag, holding->name))
            holdings_ended(leases, holding, AUDIT_LOST, redlock_error_name(error));
        lease_missed(lease, holding->name);
    }
}

/*
 * final_ms: 0, or when no failover can bring the lease back to a replica, or a client, that
 * still renews it (redlock_report).
 */
static void reply_released(struct lease *lease, const char *name, int error, const char *detail,
                           int64_t final_ms)
{
    struct http_exchange *exchange;
    char header[64];

    /* A wait that was ended on the way is something that was released. */
    if (lease->had_wait && (error == REDLOCK_EXPIRED || error == REDLOCK_LOST))
        error = REDLOCK_OK;
    if (error && error != REDLOCK_EXPIRED && error != REDLOCK_LOST) {
        lease_reply_error(lease, name, error, detail);
        return;
    }
    exchange = lease_take_exchange(lease);
    if (!exchange)
        return;
    if (error)
        lease_reply_refusal(exchange, &gone);
    else
        snprintf(header, sizeof header, "Redlock-Final-Ms: %" PRId64 "\r\n", final_ms);
    if (!error)
        http_answer(exchange, &(struct http_answer){.status = 204,
                                                    .extra = final_ms > 0 ? header : NULL});
}

/* By its grant, or by its tag: then the nodes have answered which value that was. */
void lease_released(struct lease *lease, const redlock_event *event)
{
    const redlock_answer *answer = event->answer;
    const char *name = answer ? answer->name : redlock_name(lease->lock);
    const char *value = !answer          ? redlock_value(lease->lock)
                        : answer->report ? answer->report->holder.value
                                         : NULL;
    char label[REDLOCK_LABEL_MAX + 1];
    struct holding holding = holding_of(lease, name, value, label);

    const redlock_report *report = answer ? answer->report : redlock_lock_report(lease->lock);

    note_released(lease, event->error, &holding);
    reply_released(lease, name, event->error, event->detail, report ? report->final_ms : 0);
    lease_free(lease);
}

static void release(struct leases *leases, struct http_exchange *exchange,
                    const struct http_request *request, const struct lease_terms *terms,
                    const struct access_who *who, bool had_wait)
{
    struct lease *lease = terms->has_grant
                              ? lease_adopt(leases, exchange, request, terms, who, LEASE_ENDING)
                              : lease_new(leases, exchange, request, terms, who, LEASE_ENDING);
    redlock_job job;

    if (!lease)
        return;
    lease->had_wait = had_wait;
    lease->asked_for = ASKED_RELEASE;
    /*
     * The nodes compare a tag in the step that deletes: nothing else is ever done with what
     * they find.
     */
    started(lease, terms->name,
            terms->has_grant ? redlock_start_release(lease->lock)
                             : redlock_start_release_by_key(leases->client, terms->name,
                                                            terms->tag.text, lease, &job));
}

void lease_begin_release(struct leases *leases, struct http_exchange *exchange,
                         const struct http_request *request, const struct lease_terms *terms,
                         const struct access_who *who)
{
    void *found = NULL;
    enum ids_state state = ids_find(&leases->ids, &terms->tag, request->received_ns, &found);
    struct ledger_entry *entry = ledger_find(&leases->ledger, &terms->tag);
    bool is_open = state == IDS_WAITING || state == IDS_STREAMING;
    const char *name = is_open ? redlock_name(((struct lease *)found)->lock)
                       : entry ? entry->name
                               : terms->name;
    bool had_wait = false;

    /* Under another name the id ends nothing here, and stays what it is. */
    if (strcmp(name, terms->name) == 0) {
        had_wait = state == IDS_WAITING;
        if (state == IDS_WAITING)
            lease_end_wait(found, &ended);
        else if (state == IDS_STREAMING)
            lease_stream_end(found, &ended, IDS_ENDED);
        /*
         * Spent before the first node is asked: a copy of the PUT that comes meanwhile is
         * refused.
         */
        if (ids_set_spent(&leases->ids, &terms->tag, IDS_ENDED, request->received_ns) < 0) {
            lease_reply_refusal(exchange, &no_memory);
            return;
        }
    }
    release(leases, exchange, request, terms, who, had_wait);
}
