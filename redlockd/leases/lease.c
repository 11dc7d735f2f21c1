/* SPDX-License-Identifier: BSD-2-Clause */
#include "leases/lease.h"

#include "base/time.h"
#include "leases/rules.h"
#include "redlock.h"

#define PPM 1000000

/* ---- actions ----------------------------------------------------------------------------- */

/* No step makes more than LEASE_ACTIONS_MAX: tests/service/lease_step.c counts. */
static struct lease_action *act(struct lease_actions *out, enum lease_action_type type)
{
    struct lease_action *action = &out->list[out->count++];

    *action = (struct lease_action){.type = type};
    return action;
}

static void remember(struct lease_actions *out, enum lease_memory memory)
{
    act(out, LEASE_REMEMBER)->memory = memory;
}

static void answer(struct lease_actions *out, enum lease_answer what)
{
    act(out, LEASE_ANSWER)->answer = what;
}

static void refuse_newer(struct lease_actions *out, enum lease_answer what)
{
    act(out, LEASE_REFUSE)->answer = what;
}

static void note(struct lease_actions *out, enum lease_note what, int error)
{
    struct lease_action *action = act(out, LEASE_NOTE);

    action->note = what;
    action->error = error;
}

static struct lease_action *send_event(struct lease_actions *out, enum lease_word word)
{
    struct lease_action *action = act(out, LEASE_SEND);

    action->word = word;
    return action;
}

static void fail(struct lease_actions *out, int error)
{
    struct lease_action *action = act(out, LEASE_ANSWER);

    action->answer = LEASE_FAILURE;
    action->error = error;
}

/* What was granted and no client holds: its value is released, behind a renewal that is
 * under way. What becomes of that is sent to no client: the TTL ends what is left. */
static void undo(struct lease *lease, struct lease_actions *out)
{
    lease->state = LEASE_UNDONE;
    if (!lease->is_extending)
        act(out, LEASE_END);
}

static void end(struct lease *lease)
{
    lease->state = LEASE_OVER;
}

/* ---- time -------------------------------------------------------------------------------- */

struct lease_deadline lease_deadline_of(int64_t received_ns, int64_t now_ns,
                                        int64_t deadline_ns, uint32_t drift_ppm)
{
    /* Both are cut off downwards: the sum is never later than the deadline. */
    int64_t after_ms = (now_ns - received_ns) / RL_NS_PER_MS;
    int64_t left_ms = deadline_ns > now_ns ? (deadline_ns - now_ns) / RL_NS_PER_MS : 0;
    int64_t drift_ms = ((after_ms + left_ms) * drift_ppm + PPM - 1) / PPM;
    int64_t remaining_ms = left_ms - (LEASE_RULE(DRIFT_DEDUCTED) ? drift_ms : 0) - 1;

    return (struct lease_deadline){after_ms, remaining_ms > 0 ? remaining_ms : 0, deadline_ns};
}

/* Is time left that the client can be sent? */
static bool has_time(const struct lease *lease, const struct lease_event *event, int64_t now_ns,
                     struct lease_actions *out)
{
    /* A stream on a local socket counts by the same clock. */
    uint32_t drift_ppm = lease->is_stream && lease->is_local ? 0 : lease->drift_ppm;

    out->deadline =
        lease_deadline_of(lease->received_ns, now_ns, event->deadline_ns, drift_ppm);
    return out->deadline.remaining_ms > 0;
}

/* At a third of the TTL, as the library's watchdog (A11). */
static int64_t next_renewal_ns(const struct lease *lease, int64_t deadline_ns)
{
    return deadline_ns - lease->ttl_ms * RL_NS_PER_MS * 2 / 3;
}

static int64_t retry_ns(const struct lease *lease, int64_t now_ns)
{
    return now_ns + lease->ttl_ms * RL_NS_PER_MS / LEASE_RETRIES_PER_TTL;
}

/* The drift of a client's clock since its PUT takes so much of what it is sent that it
 * should begin anew. */
static bool is_old(const struct lease *lease, int64_t now_ns)
{
    int64_t age_ms = (now_ns - lease->received_ns) / RL_NS_PER_MS;

    return !lease->is_local && age_ms * lease->drift_ppm / PPM > lease->ttl_ms / 3;
}

int64_t lease_due_ns(const struct lease *lease)
{
    bool is_open =
        lease->is_stream && (lease->state == LEASE_WAITING || lease->state == LEASE_STREAMING);

    if (!is_open)
        return RL_NEVER_NS;
    return lease->comment_ns < lease->renew_ns ? lease->comment_ns : lease->renew_ns;
}

/* ---- requests ---------------------------------------------------------------------------- */

static void wait_from(struct lease *lease, int64_t now_ns)
{
    lease->comment_ns = now_ns + lease->comment_every_ns;
}

static bool is_spent(enum lease_memory memory)
{
    return memory == LEASE_GRANTED || memory == LEASE_ENDED;
}

static void begin_acquire(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                          struct lease_actions *out)
{
    end(lease); /* unless it goes on */
    /* A client that has closed behind its request may be gone: nothing is begun for it. */
    if (event->eof && LEASE_RULE(EOF_BEGINS_NOTHING)) {
        act(out, LEASE_DROP);
    } else if (is_spent(event->memory) && LEASE_RULE(ID_GRANTED_ONCE)) {
        /* A late copy of its DELETE, or of a release under way, would take a second grant
         * away. */
        if (event->memory == LEASE_GRANTED)
            note(out, LEASE_NOTES_YOURS, 0);
        answer(out, event->memory == LEASE_GRANTED ? LEASE_YOURS : LEASE_HAS_ENDED);
    } else if (event->is_draining) {
        answer(out, LEASE_DRAINING);
    } else if (!event->has_room) {
        note(out, LEASE_NOTES_QUOTA, 0);
        answer(out, LEASE_QUOTA);
    } else {
        lease->state = LEASE_WAITING;
        wait_from(lease, now_ns);
        remember(out, LEASE_WAITS);
        /* Another replica may have renewed the lock by the deadline of this handle: only an
         * explicit release deletes what was granted. */
        act(out, LEASE_START)->is_kept = LEASE_RULE(HANDLE_KEPT);
    }
}

/* Exactly the value of the grant: nothing is acquired, and nothing is searched for. */
static void begin_resume(struct lease *lease, const struct lease_event *event,
                         struct lease_actions *out)
{
    end(lease);
    if (event->eof) {
        act(out, LEASE_DROP);
    } else if (event->is_draining) {
        answer(out, LEASE_DRAINING);
    } else if (event->memory == LEASE_ENDED) {
        answer(out, LEASE_STOP);
    } else {
        lease->state = LEASE_RESUMING;
        lease->has_returned = true;
        remember(out, LEASE_STREAMS);
        act(out, LEASE_EXTEND);
    }
}

/*
 * A value that was only found by its tag may be one that its maker is deleting at this moment;
 * so may that of a stream before `reconnect`. Hence the exact grant, of a lease.
 */
static void begin_renew(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                        struct lease_actions *out)
{
    end(lease);
    if (!event->has_grant && LEASE_RULE(EXACT_GRANT)) {
        answer(out, LEASE_NO_GRANT);
    } else if (event->is_streams_grant && LEASE_RULE(GRANT_WITH_RECONNECT)) {
        answer(out, LEASE_OTHER_GRANT);
    } else if (event->memory == LEASE_ENDED) {
        answer(out, LEASE_STOP);
    } else if (!LEASE_RULE(MAJORITY_QUERIED)) {
        out->deadline = lease_deadline_of(lease->received_ns, now_ns,
                                          now_ns + lease->ttl_ms * RL_NS_PER_MS, 0);
        answer(out, LEASE_HELD);
    } else {
        lease->state = LEASE_RENEWING;
        act(out, LEASE_EXTEND);
    }
}

/* Spent before the first request to a node: a copy of the PUT that comes meanwhile is refused.
 * Under another name the id ends nothing here, and stays what it is. */
static void begin_release(struct lease *lease, const struct lease_event *event,
                          struct lease_actions *out)
{
    lease->state = LEASE_ENDING;
    lease->had_wait = event->had_wait;
    lease->is_spent = event->is_same;
    if (event->is_same && LEASE_RULE(ID_SPENT_FIRST))
        remember(out, LEASE_ENDED);
    act(out, LEASE_END);
}

static void requested(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                      struct lease_actions *out)
{
    lease->verb = event->verb;
    lease->renew_ns = lease->comment_ns = RL_NEVER_NS;
    switch (event->verb) {
    case LEASE_ACQUIRE:
        begin_acquire(lease, event, now_ns, out);
        break;
    case LEASE_RESUME:
        begin_resume(lease, event, out);
        break;
    case LEASE_RENEW:
        begin_renew(lease, event, now_ns, out);
        break;
    case LEASE_RELEASE:
        begin_release(lease, event, out);
        break;
    }
}

/* ---- requested again --------------------------------------------------------------------- */

/*
 * The newer request has the only right to be answered, and what happens when its client is gone
 * is decided by its connection alone. What after_ms counts from is its receipt: its client
 * began to wait when it sent this one.
 */
static void take_over(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                      struct lease_actions *out)
{
    answer(out, LEASE_SUPERSEDED);
    act(out, LEASE_TAKE);
    lease->is_local = event->is_local;
    if (LEASE_RULE(COUNTED_FROM_OWN))
        lease->received_ns = event->received_ns;
    wait_from(lease, now_ns);
    /* Only the older request, whose wait it took over, was sent its place. */
    if (lease->place > 0)
        send_event(out, LEASE_SENDS_PLACE);
}

static void leave(struct lease *lease, enum lease_memory memory, struct lease_actions *out)
{
    remember(out, memory);
    note(out, LEASE_NOTES_LEFT, 0);
    end(lease); /* the handle keeps what it holds */
}

static void repeated(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                     struct lease_actions *out)
{
    bool waits = lease->state == LEASE_WAITING;
    bool is_held_here =
        waits || !event->is_same || (lease->state == LEASE_STREAMING && !lease->closing_leaves);

    if (event->eof && (event->verb == LEASE_ACQUIRE || event->verb == LEASE_RESUME)) {
        act(out, LEASE_DROP);
    } else if (event->verb == LEASE_ACQUIRE) {
        /* What would be granted is what this request wants. A client that wants a
         * mutex must not get 201 for the shared lock that its id waits for: one id, one
         * acquisition. */
        if (waits && (event->is_same || !LEASE_RULE(TAKEN_OVER_IF_SAME))) {
            take_over(lease, event, now_ns, out);
        } else {
            note(out, LEASE_NOTES_YOURS, 0);
            refuse_newer(out, LEASE_YOURS);
        }
    } else if (event->verb == LEASE_RESUME) {
        if (event->is_draining) {
            refuse_newer(out, LEASE_DRAINING);
        } else if (is_held_here) {
            refuse_newer(out, LEASE_YOURS_HERE);
        } else { /* a stream that was left on a broken connection: the newer request has it */
            leave(lease, LEASE_GRANTED, out);
            answer(out, LEASE_ELSEWHERE);
        }
    } else if (event->verb == LEASE_RELEASE && event->is_same) {
        if (waits && !LEASE_RULE(RELEASE_ENDS_WAIT))
            return;
        if (waits) {
            remember(out, LEASE_UNKNOWN);
            end(lease);
        } else {
            leave(lease, LEASE_ENDED, out);
        }
        answer(out, LEASE_STOP);
    }
}

/* ---- the library's word ------------------------------------------------------------------ */

static void send_grant(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                       struct lease_actions *out)
{
    lease->state = LEASE_STREAMING;
    lease->closing_leaves = lease->leaves ||
                            (lease->has_returned && LEASE_RULE(RETURNED_STAYS)) ||
                            (!lease->is_local && LEASE_RULE(REMOTE_STAYS));
    lease->comment_ns = now_ns + lease->comment_every_ns;
    lease->renew_ns = next_renewal_ns(lease, event->deadline_ns);
    send_event(out, LEASE_SENDS_GRANTED)->with_grant =
        lease->closing_leaves || !LEASE_RULE(GRANT_WITH_RECONNECT);
    note(out, lease->has_returned ? LEASE_NOTES_HELD : LEASE_NOTES_GRANT, 0);
}

/* Granted, and no answer gives it away: spent, answered with an error, and given back. */
static void give_back(struct lease *lease, enum lease_answer what, struct lease_actions *out)
{
    remember(out, LEASE_ENDED);
    answer(out, what);
    undo(lease, out);
}

static void acquired(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                     struct lease_actions *out)
{
    if (lease->state != LEASE_WAITING)
        return;
    if (event->error) {
        remember(out, LEASE_UNKNOWN);
        /* A majority has it under this tag: another replica granted it, or this one, long
         * ago. */
        if (event->error == REDLOCK_YOURS) {
            note(out, LEASE_NOTES_YOURS, 0);
            answer(out, LEASE_YOURS);
        } else {
            fail(out, event->error);
        }
        end(lease);
        return;
    }
    /* It waited, and meanwhile others of its rule may have been granted, its certificate or
     * the day of its token may be over. */
    if (!event->may && LEASE_RULE(RIGHT_AT_GRANT)) {
        note(out, LEASE_NOTES_DENIAL, 0);
        give_back(lease, LEASE_FORBIDDEN, out);
    } else if (!event->has_room) {
        note(out, LEASE_NOTES_QUOTA, 0);
        give_back(lease, LEASE_QUOTA, out);
    } else if (!has_time(lease, event, now_ns, out)) {
        give_back(lease, LEASE_LATE, out);
    } else if (lease->is_stream) {
        remember(out, LEASE_STREAMS);
        send_grant(lease, event, now_ns, out);
    } else {
        /* Granted once, never again: from here on the table refuses this id. */
        remember(out, LEASE_GRANTED);
        lease->state = LEASE_ANSWERED;
        answer(out, LEASE_HELD);
        note(out, LEASE_NOTES_GRANT, 0);
    }
}

/* Left first: once the client knows its grant, a close must delete nothing. */
static void send_reconnect(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                           struct lease_actions *out)
{
    has_time(lease, event, now_ns, out);
    if (LEASE_RULE(LEFT_BEFORE_RECONNECT))
        leave(lease, LEASE_GRANTED, out);
    send_event(out, LEASE_SENDS_RECONNECT)->with_grant = true;
}

static void endanger(struct lease *lease, int error, int64_t now_ns, struct lease_actions *out)
{
    lease->renew_ns = retry_ns(lease, now_ns);
    if (lease->in_jeopardy)
        return;
    lease->in_jeopardy = true;
    note(out, LEASE_NOTES_JEOPARDY, error);
    send_event(out, LEASE_SENDS_JEOPARDY)->error = error;
}

static void lost(struct lease *lease, const struct lease_event *event,
                 struct lease_actions *out)
{
    if (lease->state != LEASE_STREAMING)
        return; /* released, or coming back: then the outcome of that is sent */
    remember(out, LEASE_ENDED);
    note(out, LEASE_NOTES_LOSS, event->error);
    fail(out, event->error);
    end(lease); /* no release: its client believes until the last deadline that it was given */
}

static void extended_stream(struct lease *lease, const struct lease_event *event,
                            int64_t now_ns, struct lease_actions *out)
{
    lease->is_extending = false;
    if (event->error == REDLOCK_LOST) {
        lost(lease, event, out);
        return;
    }
    if (!has_time(lease, event, now_ns, out) || event->error) {
        endanger(lease, event->error ? event->error : REDLOCK_NOQUORUM, now_ns, out);
    } else {
        lease->renew_ns = next_renewal_ns(lease, event->deadline_ns);
        if (lease->in_jeopardy)
            note(out, LEASE_NOTES_RECOVERY, 0);
        send_event(out, lease->in_jeopardy ? LEASE_SENDS_RECOVERED : LEASE_SENDS_RENEWED);
        lease->in_jeopardy = false;
    }
    if (lease->is_going || is_old(lease, now_ns))
        send_reconnect(lease, event, now_ns, out);
}

static bool is_missing(int error)
{
    return error == REDLOCK_LOST || error == REDLOCK_EXPIRED;
}

static void resumed(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                    struct lease_actions *out)
{
    bool has_ended = is_missing(event->error);

    if (!event->error && !event->is_draining && has_time(lease, event, now_ns, out)) {
        send_grant(lease, event, now_ns, out);
        return;
    }
    if (has_ended)
        note(out, LEASE_NOTES_MISSING, event->error);
    remember(out, has_ended ? LEASE_ENDED : LEASE_GRANTED);
    if (event->error)
        fail(out, event->error);
    else
        answer(out, event->is_draining ? LEASE_DRAINING : LEASE_LATE);
    end(lease);
}

/*
 * An extension is never rolled back, whatever the majority replied and whether the client is
 * still there or not: to a renewal that failed, the deadline that the client knows stands.
 */
static void renewed(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                    struct lease_actions *out)
{
    end(lease);
    if (event->error) {
        if (is_missing(event->error))
            note(out, LEASE_NOTES_MISSING, event->error);
        fail(out, event->error);
        if (!is_missing(event->error) && !LEASE_RULE(RENEWAL_STAYS))
            undo(lease, out);
    } else if (!has_time(lease, event, now_ns, out)) {
        fail(out, REDLOCK_NOQUORUM);
    } else {
        note(out, LEASE_NOTES_HELD, 0);
        answer(out, LEASE_HELD);
    }
}

static void extended(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                     struct lease_actions *out)
{
    switch (lease->state) {
    case LEASE_RENEWING:
        renewed(lease, event, now_ns, out);
        break;
    case LEASE_RESUMING:
        resumed(lease, event, now_ns, out);
        break;
    case LEASE_STREAMING:
        extended_stream(lease, event, now_ns, out);
        break;
    case LEASE_UNDONE: /* the client closed meanwhile */
        lease->is_extending = false;
        undo(lease, out);
        break;
    default:
        break;
    }
}

static void released(struct lease *lease, const struct lease_event *event,
                     struct lease_actions *out)
{
    if (lease->state == LEASE_ENDING) {
        if (lease->is_spent && !LEASE_RULE(ID_SPENT_FIRST))
            remember(out, LEASE_ENDED);
        if (!event->error)
            note(out, LEASE_NOTES_RELEASE, 0);
        else if (is_missing(event->error))
            note(out, LEASE_NOTES_MISSING, event->error);
        /* A wait that was ended on the way is something that was released. */
        if (!event->error || (is_missing(event->error) && lease->had_wait))
            answer(out, LEASE_IS_RELEASED);
        else if (is_missing(event->error))
            answer(out, LEASE_WAS_GONE);
        else
            fail(out, event->error);
    }
    end(lease);
}

/* ---- the connection ---------------------------------------------------------------------- */

static void release_unheld(struct lease *lease, enum lease_note why, struct lease_actions *out)
{
    remember(out, LEASE_ENDED);
    note(out, why, 0);
    undo(lease, out);
}

static void closed_stream(struct lease *lease, const struct lease_event *event,
                          struct lease_actions *out)
{
    bool by_client = event->type == LEASE_GONE || !LEASE_RULE(CUT_STAYS);
    bool was_closed = by_client && !lease->closing_leaves;
    bool is_unknown = !event->was_sent && !lease->has_returned;

    if (was_closed && event->was_sent && LEASE_RULE(CLOSE_RELEASES))
        release_unheld(lease, LEASE_NOTES_CLOSE, out);
    else if (is_unknown && LEASE_RULE(UNDELIVERED_RELEASED))
        release_unheld(lease, LEASE_NOTES_UNDELIVERED, out);
    else
        leave(lease, LEASE_GRANTED, out);
}

/* SENT, GONE and CUT: its exchange is no more. */
static void closed(struct lease *lease, const struct lease_event *event,
                   struct lease_actions *out)
{
    /* That of a request whose wait was taken over decides nothing any more. */
    if (event->is_older && LEASE_RULE(NEWER_DECIDES))
        return;
    switch (lease->state) {
    case LEASE_WAITING: /* cancelled at once */
        if (!LEASE_RULE(WAIT_ENDS_AT_ONCE))
            return;
        note(out, LEASE_NOTES_DISCONNECT, 0);
        remember(out, LEASE_UNKNOWN);
        end(lease);
        break;
    case LEASE_ANSWERED:
        /* A byte of the grant was sent: the client may hold it, and only the client ends it.
         * Else it was granted in the instant in which the client went: no client learned of
         * it. */
        if (event->type == LEASE_SENT ? !LEASE_RULE(DELIVERED_STAYS)
                                      : LEASE_RULE(UNDELIVERED_RELEASED))
            release_unheld(lease, LEASE_NOTES_UNDELIVERED, out);
        else
            end(lease);
        break;
    case LEASE_STREAMING:
        closed_stream(lease, event, out);
        break;
    case LEASE_RESUMING: /* a copy of it, or the stream before it, may hold it */
        leave(lease, LEASE_GRANTED, out);
        break;
    default: /* a renewal or a release goes on without its client */
        break;
    }
}

/* ---- time and the process ---------------------------------------------------------------- */

static void end_wait(struct lease *lease, enum lease_answer what, struct lease_actions *out)
{
    remember(out, LEASE_UNKNOWN);
    answer(out, what);
    end(lease);
}

/* False: its client is not seen to live, or has lost its right: it is not renewed. */
static bool renew_stream(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                         struct lease_actions *out)
{
    bool is_seen = lease->is_local || event->is_seen || !LEASE_RULE(CLIENT_SEEN);

    if (!is_seen || (!event->may && LEASE_RULE(RIGHT_AT_RENEWAL))) {
        lease->renew_ns = retry_ns(lease, now_ns);
        return false;
    }
    lease->is_extending = true;
    lease->renew_ns = RL_NEVER_NS;
    act(out, LEASE_EXTEND);
    return true;
}

static void tick(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                 struct lease_actions *out)
{
    if (lease_due_ns(lease) > now_ns)
        return;
    if (now_ns >= lease->comment_ns) {
        send_event(out, LEASE_SENDS_ALIVE);
        lease->comment_ns = now_ns + lease->comment_every_ns;
    }
    if (now_ns >= lease->renew_ns)
        renew_stream(lease, event, now_ns, out);
}

/* All are renewed once if their clients are seen to live, left, and only then get
 * `reconnect`. */
static void drain(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                  struct lease_actions *out)
{
    if (lease->state == LEASE_WAITING) {
        end_wait(lease, LEASE_DRAINING, out);
    } else if (lease->state == LEASE_STREAMING) {
        lease->is_going = true;
        if (!lease->is_extending && !renew_stream(lease, event, now_ns, out))
            send_reconnect(lease, event, now_ns, out);
    }
}

void lease_step(struct lease *lease, const struct lease_event *event, int64_t now_ns,
                struct lease_actions *actions)
{
    actions->count = 0;
    switch (event->type) {
    case LEASE_REQUESTED:
        requested(lease, event, now_ns, actions);
        break;
    case LEASE_REPEATED:
        repeated(lease, event, now_ns, actions);
        break;
    case LEASE_QUEUED:
        if (lease->state == LEASE_WAITING && lease->is_stream) {
            lease->place = event->place;
            send_event(actions, LEASE_SENDS_PLACE);
        }
        break;
    case LEASE_ACQUIRED:
        acquired(lease, event, now_ns, actions);
        break;
    case LEASE_EXTENDED:
        extended(lease, event, now_ns, actions);
        break;
    case LEASE_RELEASED:
        released(lease, event, actions);
        break;
    case LEASE_LOST:
        lost(lease, event, actions);
        break;
    case LEASE_SENT:
    case LEASE_GONE:
    case LEASE_CUT:
        closed(lease, event, actions);
        break;
    case LEASE_TICK:
        tick(lease, event, now_ns, actions);
        break;
    case LEASE_RULED:
        if (lease->state == LEASE_WAITING && !event->may && LEASE_RULE(RIGHT_AT_GRANT)) {
            note(actions, LEASE_NOTES_DENIAL, 0);
            end_wait(lease, LEASE_FORBIDDEN, actions);
        }
        break;
    case LEASE_DRAIN:
        drain(lease, event, now_ns, actions);
        break;
    case LEASE_FAILED:
        answer(actions, LEASE_NO_MEMORY);
        end(lease);
        break;
    }
}
