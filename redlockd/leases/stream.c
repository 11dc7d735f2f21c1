/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/time.h"
#include "io/clock.h"
#include "leases/acquire.h"
#include "leases/holdings.h"
#include "leases/reply.h"

#define PPM 1000000

const struct lease_refusal lease_late = {503, "LATE",
                                         "the nodes answered too late for this to be of use"};

/* ---- memory and timers ------------------------------------------------------------------- */

int lease_stream_attach(struct lease *lease)
{
    struct leases *leases = lease->leases;
    struct lease_stream *stream;

    if (!rl_timers_reserve(&leases->timers, leases->stream_count + 1))
        return -1;
    stream = calloc(1, sizeof *stream);
    if (!stream)
        return -1;
    stream->lease = lease;
    stream->renew_ns = RL_NEVER_NS;
    leases->stream_count++;
    lease->stream = stream;
    return 0;
}

bool lease_stream_stop(struct lease *lease)
{
    struct lease_stream *stream = lease->stream;

    if (!stream)
        return false;
    rl_timers_set(&lease->leases->timers, &stream->timer, RL_NEVER_NS);
    lease->leases->counts.streaming -= lease->state == LEASE_STREAMING;
    lease->leases->counts.jeopardy -= stream->in_jeopardy;
    stream->in_jeopardy = false;
    return stream->is_extending;
}

void lease_stream_detach(struct lease *lease)
{
    if (!lease->stream)
        return;
    lease_stream_stop(lease);
    lease->leases->stream_count--;
    free(lease->stream);
    lease->stream = NULL;
}

static void set_timer(struct lease_stream *stream)
{
    struct leases *leases = stream->lease->leases;
    int64_t due_ns =
        stream->comment_ns < stream->renew_ns ? stream->comment_ns : stream->renew_ns;

    rl_timers_set(&leases->timers, &stream->timer, due_ns);
}

static int64_t retry_ns(const struct lease *lease)
{
    return rl_now_ns() + lease->ttl_ms * RL_NS_PER_MS / STREAM_RETRIES_PER_TTL;
}

/* At a third of the TTL, as the library's watchdog (A11). */
static int64_t next_renewal_ns(const struct lease *lease)
{
    return redlock_deadline_ns(lease->lock) - lease->ttl_ms * RL_NS_PER_MS * 2 / 3;
}

/* ---- events ------------------------------------------------------------------------------ */

static void begin_events(struct lease *lease)
{
    if (!http_is_stream(lease->exchange))
        http_stream_begin(lease->exchange);
}

static struct lease_deadline deadline_of(const struct lease *lease)
{
    /* A local client counts by the same clock. */
    return lease_deadline_of(lease->received_ns, rl_now_ns(), redlock_deadline_ns(lease->lock),
                             lease->is_local ? 0 : lease->leases->drift_ppm);
}

static bool sees_nodes(const struct lease *lease)
{
    return access_sees_nodes(lease->leases->access, &lease->who, redlock_name(lease->lock));
}

/* An event about a lock that is held; error: why it is in jeopardy, with its detail. */
static void tell(struct lease *lease, const char *event, const char *grant, int error,
                 const char *detail, struct lease_deadline deadline)
{
    struct lease_told told = {.name = redlock_name(lease->lock),
                              .grant = grant,
                              .fence = lease->fence,
                              .ttl_ms = lease->ttl_ms,
                              .deadline = deadline,
                              .is_local = lease->is_local};

    lease_tell_held(&lease->leases->body, lease->exchange, event, &told, error,
                    lease_detail(error, detail, sees_nodes(lease)));
}

static void comment(struct lease_stream *stream, int64_t now_ns)
{
    static const char text[] = ": alive\n\n";
    struct lease *lease = stream->lease;

    begin_events(lease);
    http_stream_send(lease->exchange, text, sizeof text - 1);
    stream->comment_ns = now_ns + lease->leases->comment_ns;
}

static void tell_place(struct lease *lease)
{
    begin_events(lease);
    http_body_begin_event(&lease->leases->body, "queued");
    json_integer(&lease->leases->body.json, "place", lease->stream->place);
    http_body_send(&lease->leases->body, lease->exchange);
}

void lease_stream_wait(struct lease *lease)
{
    lease->stream->comment_ns = rl_now_ns() + lease->leases->comment_ns;
    set_timer(lease->stream);
    /* Only the request whose wait it took over was told. */
    if (lease->stream->place > 0)
        tell_place(lease);
}

void lease_stream_queued(struct lease *lease, int place)
{
    if (!lease->stream || lease->state != LEASE_WAITING)
        return;
    lease->stream->place = place;
    tell_place(lease);
}

/* ---- ends -------------------------------------------------------------------------------- */

/* The table keeps the id as spent: it is known there, so that needs no memory. */
static void spend(struct lease *lease, enum ids_state state)
{
    ids_set_spent(&lease->leases->ids, &lease->tag, state, rl_now_ns());
}

void lease_stream_end(struct lease *lease, const struct lease_refusal *refusal,
                      enum ids_state state)
{
    struct http_exchange *exchange = lease_take_exchange(lease);

    spend(lease, state);
    holdings_left(lease->leases, lease);
    if (exchange)
        lease_reply_refusal(exchange, refusal);
    lease_free(lease); /* left: the handle keeps what it holds (REDLOCK_KEEP) */
}

/* No sweep, no release: its client believes until the last deadline that it was told. */
void lease_stream_lost(struct lease *lease, const redlock_event *event)
{
    if (lease->state != LEASE_STREAMING)
        return; /* released, or coming back: then the outcome of that is told */
    holdings_end(lease, AUDIT_LOST, redlock_error_name(event->error));
    spend(lease, IDS_ENDED);
    lease_reply_error(lease, redlock_name(lease->lock), event->error, event->detail);
    lease_free(lease);
}

void lease_stream_ended(struct lease *lease, enum http_ended how)
{
    struct lease_stream *stream = lease->stream;
    bool was_told = http_sent(lease->exchange) > stream->granted_mark;

    lease->exchange = NULL;
    if (lease->state == LEASE_STREAMING &&
        ((how == HTTP_ENDED_GONE && !stream->closing_leaves) ||
         (!was_told && !stream->has_returned))) {
        holdings_end(lease, AUDIT_RELEASED, was_told ? "CLOSED" : "UNDELIVERED");
        spend(lease, IDS_ENDED);
        lease_undo(lease);
        return;
    }
    holdings_left(lease->leases, lease);
    spend(lease, IDS_GRANTED);
    lease_free(lease);
}

/* ---- away -------------------------------------------------------------------------------- */

/* Left first: once the client knows its grant, a close must delete nothing. */
static void tell_reconnect(struct lease *lease)
{
    struct lease_told told = {.fence = lease->fence,
                              .ttl_ms = lease->ttl_ms,
                              .deadline = deadline_of(lease),
                              .is_local = lease->is_local};
    struct http_exchange *exchange = lease_take_exchange(lease);
    char name[REDLOCK_NAME_MAX + 1], grant[LEASE_GRANT_MAX + 1];
    bool has_grant = lease_write_grant(lease, grant);
    struct leases *leases = lease->leases;

    snprintf(name, sizeof name, "%s", redlock_name(lease->lock));
    told.name = name;
    told.grant = has_grant ? grant : NULL;
    holdings_left(leases, lease);
    spend(lease, IDS_GRANTED);
    lease_free(lease);
    lease_tell_held(&leases->body, exchange, "reconnect", &told, 0, NULL);
    http_stream_end(exchange);
}

/* The drift of a client's clock since its PUT takes so much of what it is told that it should begin anew. */
static bool is_old(const struct lease *lease)
{
    int64_t age_ms = (rl_now_ns() - lease->received_ns) / RL_NS_PER_MS;

    return !lease->is_local && age_ms * lease->leases->drift_ppm / PPM > lease->ttl_ms / 3;
}

/* ---- renewals ---------------------------------------------------------------------------- */

/* Rules, tokens and certificates may have changed, or run out, since it began. */
static bool is_allowed(const struct lease *lease)
{
    return access_still_may(lease->leases->access, &lease->who, lease->exchange, ACCESS_ACQUIRE,
                            redlock_name(lease->lock));
}

/* A local client that is gone ends its stream. The machines of others have acknowledged all that was
 * sent: the last event is a third of the TTL old, and one that is on its way is waited for. */
static bool is_seen(const struct lease *lease)
{
    return lease->is_local || http_untaken(lease->exchange) == 0;
}

static void endanger(struct lease *lease, int error, const char *detail)
{
    struct lease_stream *stream = lease->stream;

    stream->renew_ns = retry_ns(lease);
    if (stream->in_jeopardy)
        return;
    stream->in_jeopardy = true;
    lease->leases->counts.jeopardy++;
    holdings_endangered(lease, error);
    tell(lease, "jeopardy", NULL, error, detail, deadline_of(lease));
}

static void tell_renewed(struct lease *lease)
{
    struct lease_stream *stream = lease->stream;
    struct lease_deadline deadline = deadline_of(lease);
    bool was_in_jeopardy = stream->in_jeopardy;

    if (deadline.remaining_ms == 0) {
        endanger(lease, REDLOCK_NOQUORUM, lease_late.detail);
        return;
    }
    stream->renew_ns = next_renewal_ns(lease);
    lease->leases->counts.jeopardy -= was_in_jeopardy;
    stream->in_jeopardy = false;
    if (was_in_jeopardy)
        holdings_endangered(lease, REDLOCK_OK);
    tell(lease, was_in_jeopardy ? "recovered" : "renewed", NULL, 0, NULL, deadline);
}

void lease_stream_extended(struct lease *lease, const redlock_event *event)
{
    struct lease_stream *stream = lease->stream;

    stream->is_extending = false;
    if (lease->state == LEASE_UNDONE) { /* the client closed meanwhile */
        lease_undo(lease);
        return;
    }
    if (event->error == REDLOCK_LOST) {
        lease_stream_lost(lease, event);
        return;
    }
    if (event->error)
        endanger(lease, event->error, event->detail);
    else
        tell_renewed(lease);
    if (stream->is_going || is_old(lease))
        tell_reconnect(lease);
    else
        set_timer(stream);
}

static void renew(struct lease_stream *stream)
{
    struct lease *lease = stream->lease;
    int error;

    if (!is_seen(lease) || !is_allowed(lease)) {
        stream->renew_ns = retry_ns(lease);
        return;
    }
    error = redlock_start_extend(lease->lock, lease->ttl_ms);
    if (error) {
        endanger(lease, error, redlock_detail());
        return;
    }
    stream->is_extending = true;
    stream->renew_ns = RL_NEVER_NS;
    leases_wake(lease->leases);
}

/* Not worth telling. What came back is left, as always: another request may have it. */
static void refuse_late(struct lease *lease)
{
    lease_reply_refusal(lease_take_exchange(lease), &lease_late);
    spend(lease, lease->stream->has_returned ? IDS_GRANTED : IDS_ENDED);
    if (lease->stream->has_returned)
        lease_free(lease);
    else
        lease_undo(lease);
}

void lease_stream_granted(struct lease *lease)
{
    struct lease_stream *stream = lease->stream;
    struct lease_deadline deadline = deadline_of(lease);
    char grant[LEASE_GRANT_MAX + 1];

    if (deadline.remaining_ms == 0 || !lease_write_grant(lease, grant)) {
        refuse_late(lease);
        return;
    }
    lease->state = LEASE_STREAMING;
    lease->leases->counts.streaming++;
    stream->closing_leaves = stream->has_returned || !lease->is_local;
    begin_events(lease);
    stream->granted_mark = http_written(lease->exchange);
    tell(lease, "granted", stream->closing_leaves ? grant : NULL, 0, NULL, deadline);
    holdings_begin(lease, !stream->has_returned);
    stream->comment_ns = rl_now_ns() + lease->leases->comment_ns;
    stream->renew_ns = next_renewal_ns(lease);
    set_timer(stream);
}

/* ---- all of them ------------------------------------------------------------------------- */

void leases_send_streams_away(struct leases *leases)
{
    struct lease *next;

    for (struct lease *lease = leases->all; lease; lease = next) {
        next = lease->next;
        if (lease->state != LEASE_STREAMING)
            continue;
        lease->stream->is_going = true;
        if (!lease->stream->is_extending)
            renew(lease->stream);
        if (!lease->stream->is_extending)
            tell_reconnect(lease);
    }
}

static void turn(struct lease_stream *stream, int64_t now_ns)
{
    if (now_ns >= stream->renew_ns)
        renew(stream);
    if (now_ns >= stream->comment_ns)
        comment(stream, now_ns);
    set_timer(stream);
}

int64_t leases_turn_streams(struct leases *leases, int64_t now_ns)
{
    struct rl_timer *timer;

    while ((timer = rl_timers_due(&leases->timers, now_ns)) != NULL)
        turn((struct lease_stream *)(void *)timer, now_ns);
    return rl_timers_next_ns(&leases->timers);
}
