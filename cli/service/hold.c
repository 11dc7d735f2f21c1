/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/hold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/json.h"
#include "base/wipe.h"
#include "service/look.h"
#include "system/timer.h"

#define ID_BYTES 16
#define GRANT_MAX 1024
#define WAIT_LEAST_NS (5 * RL_NS_PER_MS)
#define ANSWER_EXTRA_MS 10000 /* how long an answer may take beyond the wait */
#define SILENCE_MS 30000      /* of a stream that waits: a comment comes every 10 s */
#define RETRY_MS 1000 /* after a failure that may pass, unless the service asks for more */
#define RETRY_MAX_MS 30000
#define UNKNOWN_TRIES 3  /* of a PUT that is not to wait, and whose outcome is not known */
#define TURNS_AT_ONCE 16 /* of the call: a service that floods delays nothing else */

/* Parts of the TTL. */
#define RENEW_PART 3  /* after this, the service renews */
#define AGAIN_PART 12 /* so much later that is overdue; also from one return to the next */
#define RETURN_PART 4 /* how long one may take */
#define AGAIN_MIN_MS 20
#define RETURN_MIN_MS 200

/* Over TCP the service allows for the drift of our clock since the PUT, 1 % if nothing else is
 * set: of a wait of so many TTLs that takes a sixth of the first TTL. */
#define TCP_WAIT_TTLS 16

struct service_hold {
    const struct service *service;
    const struct service_terms *terms;
    struct rl_reactor reactor;
    struct service_call call; /* the PUT and its stream */
    char path[SERVICE_PATH_MAX];
    char id[2 * ID_BYTES + 1];
    char grant[GRANT_MAX];
    int64_t end_ns;     /* of the wait */
    int unknown;        /* PUTs whose outcome was not known */
    int64_t put_ns;     /* when the last was begun */
    int64_t again_ns;   /* when the next is, while none is open */
    int64_t overdue_ns; /* HELD: the next event should have come by then */
    struct service_state state;
};

static void set_failure(struct service_hold *h, const struct service_answer *a)
{
    h->state.error = a->error;
    snprintf(h->state.detail, sizeof h->state.detail, "%s", a->detail);
}

static int64_t least_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t part_ns(const struct service_hold *h, int part, int64_t least_ms)
{
    int64_t part_ms = h->terms->ttl_ms / part;

    return (part_ms > least_ms ? part_ms : least_ms) * RL_NS_PER_MS;
}

static bool make_id(char id[2 * ID_BYTES + 1])
{
    unsigned char bytes[ID_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* A stream that comes back sends its TTL alone: the rest is in its grant. */
static void write_body(struct rl_json *j, const struct service_terms *t, bool comes_back,
                       int64_t wait_ms)
{
    rl_json_object(j, NULL);
    rl_json_integer(j, "ttl_ms", t->ttl_ms);
    if (!comes_back) {
        rl_json_integer(j, "wait_ms", wait_ms);
        rl_json_string(j, "kind", t->kind);
        rl_json_bool(j, "fenced", t->fenced);
        rl_json_bool(j, "fair", t->fair);
        rl_json_string(j, "label", t->label);
        rl_json_integer(j, "slots", t->slots);
        rl_json_string(j, "owner", t->owner);
        rl_json_bool(j, "leave", true);
    }
    rl_json_finish(j);
    rl_json_raw(j, "", 1); /* the end of the text */
}

/* How long one PUT waits: as long as the service lets it. */
static int64_t wait_ms(const struct service_hold *h, int64_t now_ns)
{
    bool is_local = h->service->url.path[0];
    int64_t most_ms = is_local ? REDLOCK_WAIT_MAX_MS : TCP_WAIT_TTLS * h->terms->ttl_ms;
    int64_t left_ms = h->end_ns > now_ns ? (h->end_ns - now_ns) / RL_NS_PER_MS : 0;

    return left_ms < most_ms ? left_ms : most_ms;
}

/* Until when a stream that waits may be silent: each sign of life counts. */
static int64_t silent_until_ns(const struct service_hold *h)
{
    int64_t heard_ns = h->call.read_ns > h->put_ns ? h->call.read_ns : h->put_ns;
    int64_t end_ns = h->end_ns > h->put_ns ? h->end_ns : h->put_ns;
    int64_t late_ns =
        end_ns == TIMER_NEVER ? TIMER_NEVER : end_ns + ANSWER_EXTRA_MS * RL_NS_PER_MS;

    return least_ns(heard_ns + SILENCE_MS * RL_NS_PER_MS, late_ns);
}

/* A PUT: of a lock that is held the stream comes back, else with an id of its own. */
static void put(struct service_hold *h, int64_t now_ns)
{
    bool comes_back = h->state.phase == SERVICE_HELD;
    struct rl_json body = {0};
    struct service_request q = {
        .method = "PUT", .path = h->path, .lease = h->id, .is_stream = true};

    h->put_ns = now_ns;
    service_call_close(&h->call);
    write_body(&body, h->terms, comes_back, wait_ms(h, now_ns));
    q.body = body.text;
    q.grant = comes_back ? h->grant : NULL;
    if (!body.failed && (comes_back || make_id(h->id))) {
        service_call_begin(&h->call, h->service, &h->reactor, &q);
        h->call.limit_ns =
            comes_back ? now_ns + part_ns(h, RETURN_PART, RETURN_MIN_MS) : silent_until_ns(h);
    } else {
        h->state.error = REDLOCK_NOMEM;
        snprintf(h->state.detail, sizeof h->state.detail, "out of memory or of randomness");
        h->state.phase = comes_back ? SERVICE_HELD : SERVICE_FAILED;
        h->again_ns = now_ns + part_ns(h, AGAIN_PART, AGAIN_MIN_MS);
    }
    free(body.text);
}

/*
 * DELETE, until it is known to be gone, but not for long: what is left then expires. A wait
 * that the service still has ends by it, too.
 */
static int delete_lease(struct service_hold *h, int tries)
{
    struct service_answer a = {.error = REDLOCK_NOQUORUM};
    struct service_request q = {.method = "DELETE",
                                .path = h->path,
                                .lease = h->id,
                                .grant = h->grant[0] ? h->grant : NULL,
                                .limit_ms = SERVICE_END_TRY_MS,
                                .cancel_fd = -1};
    bool is_known = false, is_gone;
    int i;

    service_call_close(&h->call);
    for (i = 0; i < tries && !is_known; i++) {
        service_fetch(h->service, &q, &a);
        if (a.error == REDLOCK_OK && a.status != 204)
            service_answer_is_foreign(&a);
        service_answer_free(&a);
        is_known = a.outcome == SERVICE_ANSWERED && a.status != 503 && a.status != 502;
    }
    if (h->state.phase == SERVICE_ENDED)
        set_failure(h, &a);
    /* An earlier try, whose outcome is unknown, may have deleted it: that is no loss. */
    is_gone = a.error == REDLOCK_EXPIRED || a.error == REDLOCK_LOST;
    return is_gone && i > 1 ? REDLOCK_OK : a.error;
}

/* From an event with the end of the hold. False: it has none, or that is over. */
static bool take_deadline(struct service_hold *h, const struct service_answer *a)
{
    int64_t after_ms = rl_json_number(rl_json_member(a->body, "after_ms"), -1);
    int64_t remaining_ms = rl_json_number(rl_json_member(a->body, "remaining_ms"), -1);
    int64_t deadline_ns;

    if (after_ms < 0 || remaining_ms < 0 || after_ms > REDLOCK_WAIT_MAX_MS * 2 ||
        remaining_ms > REDLOCK_TTL_LIMIT_MS)
        return false;
    deadline_ns = a->sent_ns + (after_ms + remaining_ms) * RL_NS_PER_MS;
    if (deadline_ns <= timer_now_ns())
        return false;
    if (deadline_ns > h->state.deadline_ns)
        h->state.deadline_ns = deadline_ns;
    return true;
}

/* An event has come: all is well, for as long as the next renewal takes. */
static void note_news(struct service_hold *h)
{
    h->state.phase = SERVICE_HELD;
    h->state.error = REDLOCK_OK;
    h->state.detail[0] = '\0';
    h->state.jeopardy = false;
    h->overdue_ns =
        timer_now_ns() + part_ns(h, RENEW_PART, 0) + part_ns(h, AGAIN_PART, AGAIN_MIN_MS);
    h->call.limit_ns = h->overdue_ns;
}

static bool is_event(const struct service_answer *a, const char *name)
{
    return a->outcome == SERVICE_EVENT && strcmp(a->event, name) == 0;
}

/* May another try help? */
static bool may_pass(const struct service_answer *a)
{
    if (a->outcome != SERVICE_ANSWERED)
        return a->error == REDLOCK_NOQUORUM;
    return a->status == 408 || a->status == 409 || a->status == 423 || a->status == 429 ||
           a->status == 503;
}

static void note_refusal(struct service_hold *h, const struct service_answer *a)
{
    struct rl_json_value holder = rl_json_member(a->body, "holder");
    redlock_report *report = &h->state.report;

    set_failure(h, a);
    if (strcmp(a->code, "PROXIED") == 0)
        snprintf(h->state.detail, sizeof h->state.detail,
                 "a proxy is between this command and the service, and could hide the death of "
                 "either: name a redlockd itself, by its socket or its own port");
    *report = (redlock_report){0};
    service_read_nodes(a->body, report);
    rl_json_text(rl_json_member(holder, "label"), report->holder.label,
                 sizeof report->holder.label);
    report->holder.held_ms = rl_json_number(rl_json_member(holder, "held_ms"), -1);
    report->holder.remaining_ms = rl_json_number(rl_json_member(holder, "remaining_ms"), -1);
    report->waiter_count = (uint32_t)rl_json_number(rl_json_member(a->body, "waiters"), 0);
}

/* When to try again, after what went wrong. */
static int64_t retry_ns(const struct service_hold *h, const struct service_answer *a)
{
    bool at_once = a->outcome == SERVICE_ANSWERED && (a->status == 409 || a->status == 423);
    int64_t pause_ms = at_once ? 0 : a->retry_ms > RETRY_MS ? a->retry_ms : RETRY_MS;
    int64_t again_ns =
        timer_now_ns() + (pause_ms < RETRY_MAX_MS ? pause_ms : RETRY_MAX_MS) * RL_NS_PER_MS;

    return again_ns < h->end_ns ? again_ns : h->end_ns;
}

static void not_granted(struct service_hold *h, struct service_answer *a)
{
    bool is_known = a->outcome == SERVICE_UNREACHABLE ||
                    (a->outcome == SERVICE_ANSWERED && a->status >= 400 && a->status != 409);
    bool is_late, is_over;

    if (a->error == REDLOCK_OK)
        service_answer_is_foreign(a); /* or it came when its time was over */
    note_refusal(h, a);
    h->again_ns = retry_ns(h, a);
    if (!is_known) {
        /* It may be ours all the same, and would be taken for no client. */
        int error = delete_lease(h, SERVICE_END_TRIES);

        if (h->unknown++ == 0 && (error == REDLOCK_OK || error == REDLOCK_EXPIRED))
            h->again_ns = timer_now_ns();
    }
    /* Milliseconds that are left of a wait are no wait. */
    is_late = timer_now_ns() >= h->end_ns - WAIT_LEAST_NS;
    is_over = is_late && (is_known || h->unknown >= UNKNOWN_TRIES);
    if (is_over && h->state.error == REDLOCK_BUSY && h->terms->wait_ms != 0)
        h->state.error = REDLOCK_TIMEOUT;
    if (is_over || !may_pass(a))
        h->state.phase = SERVICE_FAILED;
    service_call_close(&h->call);
}

static void on_waiting(struct service_hold *h, struct service_answer *a)
{
    bool has_grant;

    if (a->outcome == SERVICE_EVENT && !is_event(a, "granted")) {
        h->state.error = REDLOCK_BUSY; /* a place in the queue */
        return;
    }
    has_grant = is_event(a, "granted") &&
                rl_json_text(rl_json_member(a->body, "grant"), h->grant, sizeof h->grant) >= 0;
    if (has_grant && take_deadline(h, a)) {
        h->state.fence = rl_json_number(rl_json_member(a->body, "fence"), 0);
        note_news(h);
    } else {
        not_granted(h, a);
        h->grant[0] = '\0';
    }
}

static void lose(struct service_hold *h, int error)
{
    h->state.phase = SERVICE_LOST;
    if (h->state.error == REDLOCK_OK)
        h->state.error = error;
    service_call_close(&h->call);
}

/* The stream is over, and the deadline stands: it comes back, after a failure not at once. */
static void come_back(struct service_hold *h)
{
    int64_t now_ns = timer_now_ns();
    int64_t soonest_ns = h->put_ns + part_ns(h, AGAIN_PART, AGAIN_MIN_MS);

    service_call_close(&h->call);
    h->again_ns = soonest_ns > now_ns ? soonest_ns : now_ns;
}

static void on_held(struct service_hold *h, struct service_answer *a)
{
    if (a->outcome == SERVICE_ANSWERED && a->status == 410) {
        set_failure(h, a);
        lose(h, REDLOCK_LOST);
    } else if (a->outcome != SERVICE_EVENT) {
        if (a->error == REDLOCK_OK)
            service_answer_is_foreign(a);
        set_failure(h, a);
        come_back(h);
    } else if (is_event(a, "jeopardy")) {
        take_deadline(h, a);
        set_failure(h, a);
        h->state.jeopardy = true;
        h->call.limit_ns = TIMER_NEVER; /* the service tries again by itself */
    } else if (take_deadline(h, a)) {
        note_news(h);
        if (is_event(a, "reconnect"))
            come_back(h);
    }
}

static bool is_live(const struct service_hold *h)
{
    return h->state.phase == SERVICE_WAITING || h->state.phase == SERVICE_HELD;
}

/* A stream that is overdue may come back for so long before it is reported. */
static int64_t jeopardy_ns(const struct service_hold *h)
{
    return h->overdue_ns + part_ns(h, AGAIN_PART, AGAIN_MIN_MS);
}

/* When something is due by the clock. */
static int64_t due_ns(const struct service_hold *h)
{
    bool is_held = h->state.phase == SERVICE_HELD;
    int64_t due_ns = h->call.is_busy ? 0 : h->call.is_open ? h->call.limit_ns : h->again_ns;

    if (!is_live(h))
        return TIMER_NEVER;
    if (is_held && !h->state.jeopardy)
        due_ns = least_ns(due_ns, jeopardy_ns(h));
    return is_held ? least_ns(due_ns, h->state.deadline_ns) : due_ns;
}

/* What has come, and what that means. */
static void take_news(struct service_hold *h)
{
    struct service_answer a;

    for (int turns = 0; turns < TURNS_AT_ONCE && is_live(h) && h->call.is_open; turns++) {
        if (h->state.phase == SERVICE_WAITING)
            h->call.limit_ns = silent_until_ns(h);
        if (service_call_turn(&h->call, &a) == SERVICE_UNDER_WAY && !h->call.is_busy)
            return;
        if (a.outcome != SERVICE_UNDER_WAY && h->state.phase == SERVICE_HELD)
            on_held(h, &a);
        else if (a.outcome != SERVICE_UNDER_WAY)
            on_waiting(h, &a);
    }
    h->call.is_busy = h->call.is_open;
}

static void look_at_clock(struct service_hold *h, int64_t now_ns)
{
    if (h->state.phase != SERVICE_HELD)
        return;
    if (now_ns >= h->state.deadline_ns) {
        lose(h, REDLOCK_EXPIRED);
    } else if (now_ns >= jeopardy_ns(h) && !h->state.jeopardy) {
        h->state.jeopardy = true;
        if (!h->state.detail[0])
            snprintf(h->state.detail, sizeof h->state.detail, "the service does not answer");
    }
}

const struct service_state *service_hold_turn(struct service_hold *h)
{
    int64_t now_ns;

    service_drain(&h->reactor);
    take_news(h);
    now_ns = timer_now_ns();
    look_at_clock(h, now_ns);
    if (is_live(h) && !h->call.is_open && now_ns >= h->again_ns) {
        put(h, now_ns);
        take_news(h);
    }
    rl_reactor_arm(&h->reactor, due_ns(h));
    return &h->state;
}

struct service_hold *service_hold_start(const struct service *s,
                                        const struct service_terms *terms)
{
    struct service_hold *h = calloc(1, sizeof *h);
    int error;

    if (!h)
        return NULL;
    h->service = s;
    h->terms = terms;
    service_path(h->path, SERVICE_LOCKS, terms->name);
    h->end_ns = terms->wait_ms == REDLOCK_WAIT_FOREVER
                    ? TIMER_NEVER
                    : timer_now_ns() + terms->wait_ms * RL_NS_PER_MS;
    if (rl_reactor_init(&h->reactor) == 0)
        return h;
    error = errno;
    free(h);
    errno = error;
    return NULL;
}

int service_hold_fd(const struct service_hold *h)
{
    return h->reactor.epoll_fd;
}

const struct service_state *service_hold_look(const struct service_hold *h)
{
    return &h->state;
}

const char *service_hold_lease(const struct service_hold *h)
{
    return h->id;
}

int service_hold_end(struct service_hold *h)
{
    enum service_phase phase = h->state.phase;
    bool may_wait = phase == SERVICE_WAITING && h->call.is_open && h->call.sent_ns > 0;

    h->state.phase = SERVICE_ENDED;
    if (phase == SERVICE_HELD)
        return delete_lease(h, SERVICE_END_TRIES);
    if (phase == SERVICE_LOST || may_wait)
        return delete_lease(h, 1);
    return REDLOCK_OK;
}

void service_hold_free(struct service_hold *h)
{
    if (!h)
        return;
    service_hold_end(h);
    service_call_close(&h->call);
    rl_reactor_free(&h->reactor);
    rl_wipe(h->id, sizeof h->id);
    rl_wipe(h->grant, sizeof h->grant);
    free(h);
}
