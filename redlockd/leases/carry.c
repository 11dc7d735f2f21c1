/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/carry.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "io/clock.h"
#include "leases/holdings.h"
#include "leases/reply.h"

/* ---- requests under way ------------------------------------------------------------------ */

static void on_ended(struct http_completion *completion, enum http_ended how)
{
    static const enum lease_event_type types[] = {[HTTP_ENDED_SENT] = LEASE_SENT,
                                                  [HTTP_ENDED_GONE] = LEASE_GONE,
                                                  [HTTP_ENDED_CUT] = LEASE_CUT};
    struct lease_request *request =
        (struct lease_request *)(void *)((char *)completion -
                                         offsetof(struct lease_request, completion));
    bool was_sent =
        request->lease.is_stream && http_sent(request->exchange) > request->granted_mark;

    request->exchange = NULL;
    lease_happened(request, &(struct lease_event){.type = types[how], .was_sent = was_sent},
                   NULL);
}

struct lease_request *lease_request_new(struct leases *leases, const struct routed *routed,
                                        const struct lease_terms *terms)
{
    struct http_exchange *exchange = routed->exchange;
    struct lease_request *made = malloc(sizeof *made);

    if (!made) {
        http_answer_problem(exchange, 503, "NOMEM", "out of memory", NULL);
        return NULL;
    }
    *made = (struct lease_request){
        .job_type = JOB_RELEASE,
        .completion.ended = on_ended,
        .lease = {.is_stream = terms->is_stream,
                  .is_local = routed->request->peer->is_unix,
                  .leaves = terms->leaves,
                  .drift_ppm = leases->drift_ppm,
                  .received_ns = routed->request->received_ns,
                  .ttl_ms = terms->ttl_ms,
                  .comment_every_ns = leases->comment_ns},
        .leases = leases,
        .next = leases->all,
        .exchange = exchange,
        .name = terms->name,
        .fence = terms->has_grant ? terms->grant.fence : 0,
        .who = routed->who,
        .rule = routed->rule,
        .is_waiter = terms->wait_ms > 0,
        .is_known = terms->is_known,
        .is_fenced = (terms->flags & REDLOCK_FENCED) != 0,
        .slots = (uint16_t)(terms->has_grant ? terms->grant.slots : terms->slots),
        .kind = (int8_t)(terms->has_grant ? terms->grant.kind : terms->kind),
        .tag = terms->tag,
    };
    strcpy(made->owner, terms->has_grant ? terms->grant.owner : terms->owner);
    if (made->next)
        made->next->previous = made;
    leases->all = made;
    exchange->completion = &made->completion;
    return made;
}

void lease_request_free(struct lease_request *request)
{
    struct leases *leases = request->leases;

    *(request->previous ? &request->previous->next : &leases->all) = request->next;
    if (request->next)
        request->next->previous = request->previous;
    /* Which gives the library something to do: with this turn, not by an event of its own. */
    if (request->lock)
        loop_wake(&leases->library);
    redlock_lock_free(request->lock);
    free(request);
}

struct http_exchange *lease_take_exchange(struct lease_request *request)
{
    struct http_exchange *exchange = request->exchange;

    if (exchange)
        exchange->completion = NULL;
    request->exchange = NULL;
    return exchange;
}

static void grant_of(const struct lease_request *request, struct lease_grant *grant)
{
    grant->kind = request->kind;
    grant->is_stream = request->lease.is_stream;
    grant->slots = request->slots;
    grant->fence = request->fence;
    strcpy(grant->owner, request->owner);
    strcpy(grant->value, redlock_value(request->lock));
}

/* False: none can be written. */
static bool write_grant(const struct lease_request *request, char text[LEASE_GRANT_MAX + 1])
{
    struct lease_grant grant;

    grant_of(request, &grant);
    return lease_grant_write(&grant, text);
}

/* lease_grant_mark() of its grant; 0: a release by its tag. */
static uint64_t mark_of(const struct lease_request *request)
{
    struct lease_grant grant;

    if (!request->lock)
        return 0;
    grant_of(request, &grant);
    return lease_grant_mark(&grant, request->leases->table.key);
}

/* At this moment: may it go on? */
static bool may_go_on(const struct lease_request *request)
{
    return access_still_gives(request->leases->access, &request->who, request->rule,
                              request->exchange, ACCESS_ACQUIRE);
}

/* ---- the library ------------------------------------------------------------------------- */

static int start(struct lease_request *request, bool is_kept)
{
    const struct lease_terms *terms = request->leases->terms;
    uint32_t flags =
        terms->flags | (is_kept ? REDLOCK_KEEP : 0) | (terms->is_stream ? REDLOCK_PLACES : 0);
    redlock_request wanted =
        REDLOCK_REQUEST(.kind = terms->kind, .flags = flags, .wait_ms = terms->wait_ms,
                        .data = request, .slots = terms->slots,
                        .owner = terms->owner[0] ? terms->owner : NULL, .label = terms->label,
                        .idempotency_key = terms->tag.text);

    return redlock_start_acquire(request->leases->client, terms->name, terms->ttl_ms, &wanted,
                                 &request->lock);
}

/* A value with what it was acquired with: exactly that of the grant. */
static int adopt(struct lease_request *request)
{
    const struct lease_terms *terms = request->leases->terms;
    redlock_request wanted = REDLOCK_REQUEST(.kind = request->kind, .slots = request->slots,
                                             .owner = request->owner[0] ? request->owner : NULL,
                                             .fence = request->fence, .data = request);

    if (request->lock || !terms->has_grant)
        return REDLOCK_OK;
    return redlock_adopt(request->leases->client, terms->name, terms->grant.value, &wanted,
                         &request->lock);
}

static int extend(struct lease_request *request)
{
    int error = adopt(request);

    return error ? error : redlock_start_extend(request->lock, request->lease.ttl_ms);
}

/* The nodes compare a tag in the step that deletes: nothing else is ever done with what they
 * find. */
static int release(struct lease_request *request)
{
    int error = adopt(request);
    redlock_job job;

    if (error)
        return error;
    return request->lock ? redlock_start_release(request->lock)
                         : redlock_start_release_by_key(request->leases->client, request->name,
                                                        request->tag.text, request, &job);
}

/* ---- answers and events ------------------------------------------------------------------ */

static struct lease_hold hold_of(const struct lease_request *request,
                                 const struct lease_deadline *deadline)
{
    return (struct lease_hold){.name = request->name,
                               .fence = request->fence,
                               .ttl_ms = request->lease.ttl_ms,
                               .deadline = *deadline,
                               .is_local = request->lease.is_local};
}

static void answer_held(struct lease_request *request, const struct lease_deadline *deadline)
{
    struct lease_hold hold = hold_of(request, deadline);
    bool is_new = request->lease.state == LEASE_ANSWERED;
    char text[LEASE_GRANT_MAX + 1];

    if (!request->exchange || !write_grant(request, text))
        return;
    hold.grant = text;
    /* The exchange of a new one keeps its completion: on_ended() learns whether a byte of this
     * was sent. */
    lease_reply_held(&request->leases->body,
                     is_new ? request->exchange : lease_take_exchange(request),
                     is_new ? 201 : 200, &hold);
}

/* Redlock-Final-Ms: when no failover can bring the lease back to a replica, or a client,
 * that still renews it (redlock_report). */
static void answer_released(struct lease_request *request, const struct lease_cause *cause)
{
    struct http_exchange *exchange = lease_take_exchange(request);
    int64_t final_ms = cause->report ? cause->report->final_ms : 0;
    char header[64];

    if (!exchange)
        return;
    if (final_ms > 0)
        snprintf(header, sizeof header, "Redlock-Final-Ms: %" PRId64 "\r\n", final_ms);
    http_answer(exchange,
                &(struct http_answer){.status = 204, .extra = final_ms > 0 ? header : NULL});
}

static void answer(struct lease_request *request, const struct lease_action *action,
                   const struct lease_actions *actions, const struct lease_cause *cause)
{
    if (action->answer == LEASE_FAILURE && action->error == REDLOCK_TIMEOUT &&
        request->lease.verb == LEASE_ACQUIRE)
        journal_note(request->leases->journal,
                     &(struct journal_entry){.event = JOURNAL_TIMEOUT, .name = request->name});
    if (action->answer == LEASE_HELD)
        answer_held(request, &actions->deadline);
    else if (action->answer == LEASE_IS_RELEASED)
        answer_released(request, cause);
    else if (action->answer == LEASE_FAILURE)
        lease_reply_error(request, action->error,
                          cause->detail ? cause->detail : lease_too_late);
    else if (request->exchange)
        lease_reply_refusal(lease_take_exchange(request), action->answer);
}

static void begin_events(struct lease_request *request)
{
    if (!http_is_stream(request->exchange))
        http_stream_begin(request->exchange);
}

static void send_place(struct lease_request *request)
{
    struct http_body *body = &request->leases->body;

    http_body_begin_event(body, "queued");
    rl_json_integer(&body->json, "place", request->lease.place);
    http_body_send(body, request->exchange);
}

static void send_event(struct lease_request *request, const struct lease_action *action,
                       const struct lease_actions *actions, const struct lease_cause *cause)
{
    static const char *const words[] = {
        [LEASE_SENDS_GRANTED] = "granted",     [LEASE_SENDS_RENEWED] = "renewed",
        [LEASE_SENDS_JEOPARDY] = "jeopardy",   [LEASE_SENDS_RECOVERED] = "recovered",
        [LEASE_SENDS_RECONNECT] = "reconnect",
    };
    static const char alive[] = ": alive\n\n";
    struct lease_hold hold = hold_of(request, &actions->deadline);
    char grant[LEASE_GRANT_MAX + 1];
    bool sees_nodes;

    begin_events(request);
    if (action->word == LEASE_SENDS_ALIVE) {
        http_stream_send(request->exchange, alive, sizeof alive - 1);
        return;
    }
    if (action->word == LEASE_SENDS_PLACE) {
        send_place(request);
        return;
    }
    if (action->word == LEASE_SENDS_GRANTED)
        request->granted_mark = http_written(request->exchange);
    if (action->with_grant && write_grant(request, grant))
        hold.grant = grant;
    sees_nodes = action->error &&
                 access_sees_nodes(request->leases->access, &request->who, request->rule);
    lease_send_held(&request->leases->body, request->exchange, words[action->word], &hold,
                    action->error,
                    lease_detail(action->error, cause->detail ? cause->detail : lease_too_late,
                                 sees_nodes));
    if (action->word == LEASE_SENDS_RECONNECT)
        http_stream_end(lease_take_exchange(request));
}

/* ---- what is noted ----------------------------------------------------------------------- */

/* What was never known here is no loss that this replica can report: a Grant can be made
 * up, also one for a lease that is held. */
static void note_missing(struct lease_request *request, const struct holding *holding,
                         int error)
{
    struct leases *leases = request->leases;
    const struct lease_held *held = holdings_find(leases, holding->tag, holding->name);

    if (request->lease.verb != LEASE_RESUME && held &&
        (!request->lock || held->mark == mark_of(request)))
        holdings_ended(leases, holding, JOURNAL_LOST, redlock_error_name(error));
    else if (request->lease.verb == LEASE_RENEW)
        journal_note(leases->journal, &(struct journal_entry){.event = JOURNAL_UNKNOWN});
    if (request->rule && !request->is_known)
        access_rule_missed(request->rule, rl_now_ns());
}

static void note_refused(struct lease_request *request, const char *code)
{
    const struct lease_terms *terms = request->leases->terms;

    if (request->exchange)
        holdings_denied(request->leases, request->exchange, terms ? &terms->path : NULL,
                        &request->who, request->name, code);
}

static void note(struct lease_request *request, const struct lease_action *action,
                 const struct lease_cause *cause, int64_t now_ns)
{
    const char *value = request->lock ? redlock_value(request->lock) : cause->value;
    const char *error = action->error ? redlock_error_name(action->error) : NULL;
    struct leases *leases = request->leases;
    char label[REDLOCK_LABEL_MAX + 1];
    struct holding holding = holding_of(request, value, now_ns, label);

    switch (action->note) {
    case LEASE_NOTES_GRANT:
    case LEASE_NOTES_HELD:
        holding.mark = mark_of(request);
        holdings_held(leases, &holding, action->note == LEASE_NOTES_GRANT);
        break;
    case LEASE_NOTES_RELEASE:
        holdings_ended(leases, &holding, JOURNAL_RELEASED, NULL);
        break;
    case LEASE_NOTES_CLOSE:
        holdings_ended(leases, &holding, JOURNAL_RELEASED, "CLOSED");
        break;
    case LEASE_NOTES_UNDELIVERED:
        holdings_ended(leases, &holding, JOURNAL_RELEASED, "UNDELIVERED");
        break;
    case LEASE_NOTES_LEFT:
        holdings_left(leases, request);
        break;
    case LEASE_NOTES_LOSS:
        holdings_ended(leases, &holding, JOURNAL_LOST, error);
        break;
    case LEASE_NOTES_MISSING:
        note_missing(request, &holding, action->error);
        break;
    case LEASE_NOTES_JEOPARDY:
    case LEASE_NOTES_RECOVERY:
        holdings_endangered(leases, &holding, error);
        break;
    case LEASE_NOTES_DENIAL:
        note_refused(request, "FORBIDDEN");
        break;
    case LEASE_NOTES_QUOTA:
        if (request->rule)
            request->rule->rejected++;
        note_refused(request, "QUOTA");
        break;
    case LEASE_NOTES_YOURS:
        journal_note(leases->journal, &(struct journal_entry){.event = JOURNAL_YOURS});
        break;
    case LEASE_NOTES_DISCONNECT:
        journal_note(leases->journal, &(struct journal_entry){.event = JOURNAL_DISCONNECTED});
        break;
    }
}

/* By its ways to hold, and for the cap of its rule on waiters: +1 or -1. */
static void count(struct lease_request *request, int by)
{
    struct leases_counts *counts = &request->leases->counts;
    const struct lease *lease = &request->lease;
    unsigned more = (unsigned)by; /* wraps around, and back */

    if (lease->state == LEASE_WAITING) {
        counts->waiting += more;
        counts->waiting_streams += lease->is_stream ? more : 0;
        if (request->rule && request->is_waiter)
            request->rule->waiters += more;
    } else if (lease->state == LEASE_STREAMING) {
        counts->streaming += more;
        counts->jeopardy += lease->in_jeopardy ? more : 0;
    }
}

/* ---- a step, and its actions ------------------------------------------------------------- */

/* The newer request is the one of this lease from here on. */
static void take(struct lease_request *request, struct lease_newer *newer)
{
    newer->is_settled = true;
    request->exchange = newer->routed->exchange;
    request->who = newer->routed->who;
    request->rule = newer->routed->rule;
    request->exchange->completion = &request->completion;
}

static void refuse_newer(struct lease_newer *newer, enum lease_answer what)
{
    newer->is_settled = true;
    lease_reply_refusal(newer->routed->exchange, what);
}

static void drop(struct lease_request *request, struct lease_newer *newer)
{
    if (newer)
        newer->is_settled = true;
    http_drop(newer ? newer->routed->exchange : lease_take_exchange(request));
}

/* What was given to the library is sent with this turn. 0, or its error: *failed names
 * what. */
static int call_library(struct lease_request *request, const struct lease_action *action,
                        enum lease_event_type *failed)
{
    int error;

    if (action->type == LEASE_START) {
        *failed = LEASE_ACQUIRED;
        error = start(request, action->is_kept);
    } else if (action->type == LEASE_EXTEND) {
        *failed = LEASE_EXTENDED;
        error = extend(request);
    } else {
        *failed = LEASE_RELEASED;
        error = release(request);
    }
    if (request->lock)
        request->name = redlock_name(request->lock);
    if (error)
        return error;
    if (!request->lock)
        request->name = NULL; /* the answer has it */
    loop_wake(&request->leases->library);
    return 0;
}

/* False: one has failed: *failed is it, with the error. */
static bool carry_out(struct lease_request *request, const struct lease_actions *actions,
                      const struct lease_cause *cause, int64_t now_ns,
                      struct lease_event *failed)
{
    *failed = (struct lease_event){0};
    for (unsigned i = 0; i < actions->count; i++) {
        const struct lease_action *action = &actions->list[i];

        switch (action->type) {
        case LEASE_REMEMBER:
            failed->type = LEASE_FAILED;
            if (lease_table_remember(&request->leases->table, &request->tag, action->memory,
                                     &request->lease, now_ns) < 0)
                return false;
            break;
        case LEASE_START:
        case LEASE_EXTEND:
        case LEASE_END:
            failed->error = call_library(request, action, &failed->type);
            if (failed->error)
                return false;
            break;
        case LEASE_ANSWER:
            answer(request, action, actions, cause);
            break;
        case LEASE_SEND:
            send_event(request, action, actions, cause);
            break;
        case LEASE_NOTE:
            note(request, action, cause, now_ns);
            break;
        case LEASE_REFUSE:
            refuse_newer(cause->newer, action->answer);
            break;
        case LEASE_TAKE:
            take(request, cause->newer);
            break;
        case LEASE_DROP:
            drop(request, cause->newer);
            break;
        }
    }
    return true;
}

/* Its next tick. */
static void plan(struct lease_request *request)
{
    struct lease_table *table = &request->leases->table;
    struct lease_entry *entry = lease_table_find(table, &request->tag, rl_now_ns());

    if (entry)
        lease_table_plan(table, entry);
}

void lease_happened(struct lease_request *request, const struct lease_event *event,
                    const struct lease_cause *cause)
{
    static const struct lease_cause none;
    struct lease_actions actions;
    struct lease_event failed;
    struct lease_cause why;
    bool is_done;

    do {
        int64_t now_ns = rl_now_ns(); /* of the step, and of all that it does */

        count(request, -1);
        lease_step(&request->lease, event, now_ns, &actions);
        is_done = carry_out(request, &actions, cause ? cause : &none, now_ns, &failed);
        count(request, 1);
        if (!is_done)
            why = (struct lease_cause){.detail = redlock_detail()};
        event = &failed;
        cause = &why;
    } while (!is_done);
    if (request->lease.state == LEASE_OVER)
        lease_request_free(request);
    else if (request->lease.is_stream)
        plan(request);
}

/* ---- events ------------------------------------------------------------------------------ */

/* Has its rule room for one more that is held? */
static bool has_room(const struct lease_request *request)
{
    return !request->rule || access_rule_has_room(request->rule, false);
}

void lease_on_event(const redlock_event *event)
{
    struct lease_request *request = event->data;
    struct lease_event happened = {.error = event->error, .place = event->place};
    struct lease_cause cause = {.detail = event->error ? event->detail : NULL};

    if (request->lock)
        happened.deadline_ns = redlock_deadline_ns(request->lock);
    switch (event->type) {
    case REDLOCK_EVENT_ACQUIRED:
        happened.type = LEASE_ACQUIRED;
        request->fence = redlock_fence(request->lock);
        happened.may = event->error || may_go_on(request);
        happened.has_room = event->error || has_room(request);
        break;
    case REDLOCK_EVENT_EXTENDED:
        happened.type = LEASE_EXTENDED;
        happened.is_draining = request->leases->is_draining;
        break;
    case REDLOCK_EVENT_RELEASED:
        happened.type = LEASE_RELEASED;
        cause.report = redlock_lock_report(request->lock);
        break;
    case REDLOCK_EVENT_ANSWERED: /* by its tag: the nodes have answered which value that was */
        happened.type = LEASE_RELEASED;
        cause.report = event->answer->report;
        cause.value = cause.report ? cause.report->holder.value : NULL;
        request->name = event->answer->name;
        break;
    case REDLOCK_EVENT_LOST:
        happened.type = LEASE_LOST;
        break;
    default:
        happened.type = LEASE_QUEUED;
        break;
    }
    lease_happened(request, &happened, &cause);
}

void lease_tick(struct lease_request *request, enum lease_event_type type)
{
    struct lease_event event = {.type = type};
    const struct lease *lease = &request->lease;

    if (lease->state == LEASE_STREAMING) {
        event.deadline_ns = redlock_deadline_ns(request->lock);
        event.may = may_go_on(request);
        event.is_seen = lease->is_local || http_untaken(request->exchange) == 0;
    } else if (type == LEASE_RULED && lease->state == LEASE_WAITING) {
        event.may = may_go_on(request);
    }
    lease_happened(request, &event, NULL);
}
