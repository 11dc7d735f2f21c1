/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/lease.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/json.h"
#include "service/look.h"
#include "system/timer.h"

#define ID_BYTES 16
#define GRANT_MAX 1024
#define WAIT_MAX_MS 50000 /* of one PUT: as long as the service allows */
#define WAIT_LEAST_NS (5 * RL_NS_PER_MS)
#define ANSWER_EXTRA_MS 10000 /* how long an answer may take beyond the wait */
#define RETRY_MS 1000         /* after a failure that may pass, unless the service says more */
#define RETRY_MAX_MS 30000
#define UNKNOWN_TRIES 3 /* of a PUT that is not to wait, and whose outcome is not known */
#define DELETE_TRIES 3
#define DELETE_LIMIT_MS 1000
#define RENEW_PART 3  /* of the TTL: after this, the first renewal */
#define AGAIN_PART 12 /* and after a failure the next; with the first, below ten in a TTL */
#define AGAIN_MIN_MS 20
#define ANSWER_PART 4 /* of the TTL: how long a renewal is waited for */
#define ANSWER_MIN_MS 200

struct service_lease {
    const struct service *service;
    const struct service_terms *terms;
    char path[SERVICE_PATH_MAX];
    char id[2 * ID_BYTES + 1];
    char grant[GRANT_MAX];
    int changed_fd; /* for the caller */
    int end_fd;     /* readable: the caller wants it to end */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t mutex;
    struct service_state state; /* under the mutex */
};

/* ---- the state ---- */

static void publish(struct service_lease *l, const struct service_state *state)
{
    uint64_t one = 1;
    pthread_mutex_lock(&l->mutex);
    l->state = *state;
    pthread_mutex_unlock(&l->mutex);
    ssize_t ignored = write(l->changed_fd, &one, sizeof one);
    (void)ignored;
}

static void set_failure(struct service_state *state, const struct service_answer *a)
{
    state->error = a->error;
    snprintf(state->detail, sizeof state->detail, "%s", a->detail);
}

/* Sleeps; true: the caller wants it to end. */
static bool rest(const struct service_lease *l, int64_t until_ns)
{
    struct pollfd watched = {.fd = l->end_fd, .events = POLLIN};
    for (;;) {
        int64_t left_ns = until_ns - timer_now_ns();
        int64_t left_ms = left_ns > 0 ? left_ns / RL_NS_PER_MS + 1 : 0;
        int ready = poll(&watched, 1, left_ms < INT32_MAX ? (int)left_ms : INT32_MAX);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true;
        if (ready == 0 && timer_now_ns() >= until_ns)
            return false;
    }
}

/* ---- asking ---- */

static bool make_id(char id[2 * ID_BYTES + 1])
{
    unsigned char bytes[ID_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* DELETE until it is known to be gone, but not for long: what is left then expires. */
static int delete_lease(struct service_lease *l, int tries)
{
    struct service_answer a = {.error = REDLOCK_NOQUORUM};
    struct service_question q = {.method = "DELETE",
                                 .path = l->path,
                                 .lease = l->id,
                                 .grant = l->grant[0] ? l->grant : NULL,
                                 .limit_ms = DELETE_LIMIT_MS,
                                 .cancel_fd = -1};
    int i;

    for (i = 0; i < tries; i++) {
        service_ask(l->service, &q, &a);
        service_answer_free(&a);
        bool known = a.outcome == SERVICE_ANSWERED && a.status != 503 && a.status != 502;
        if (known)
            break;
    }
    /* An earlier try, whose outcome is unknown, may have deleted it: that is no loss. */
    bool gone = a.error == REDLOCK_EXPIRED || a.error == REDLOCK_LOST;
    return gone && i > 0 ? REDLOCK_OK : a.error;
}

/* From an answer that grants or renews. False: it has no grant, or the time was over
 * when it came. */
static bool take_grant(struct service_lease *l, const struct service_answer *a,
                       struct service_state *state)
{
    char grant[GRANT_MAX];
    int64_t after_ms = json_number(json_member(a->body, "after_ms"), -1);
    int64_t remaining_ms = json_number(json_member(a->body, "remaining_ms"), -1);
    if (!json_text(json_member(a->body, "grant"), grant, sizeof grant) || after_ms < 0 ||
        remaining_ms < 0)
        return false;
    strcpy(l->grant, grant);
    int64_t deadline_ns = a->began_ns + (after_ms + remaining_ms) * RL_NS_PER_MS;
    if (deadline_ns <= timer_now_ns())
        return false;
    /* Each that was told stands; the later one counts. */
    if (deadline_ns > state->deadline_ns)
        state->deadline_ns = deadline_ns;
    return true;
}

/* ---- acquiring ---- */

/* The body of a PUT that waits for at most wait_ms; owned by the caller; NULL:
 * out of memory. */
static char *write_body(const struct service_terms *t, int64_t wait_ms)
{
    char *text = NULL;
    size_t size = 0;
    struct rl_json j = {.out = open_memstream(&text, &size)};
    if (!j.out)
        return NULL;
    rl_json_object(&j, NULL);
    rl_json_integer(&j, "ttl_ms", t->ttl_ms);
    rl_json_integer(&j, "wait_ms", wait_ms);
    rl_json_string(&j, "kind", t->kind);
    rl_json_bool(&j, "fenced", t->fenced);
    rl_json_bool(&j, "fair", t->fair);
    rl_json_string(&j, "label", t->label);
    rl_json_integer(&j, "slots", t->slots);
    rl_json_string(&j, "owner", t->owner);
    rl_json_finish(&j);
    if (fclose(j.out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* One PUT with an id of its own. */
static void put(struct service_lease *l, int64_t wait_ms, struct service_answer *a)
{
    char *body = write_body(l->terms, wait_ms);
    struct service_question q = {.method = "PUT",
                                 .path = l->path,
                                 .lease = l->id,
                                 .body = body,
                                 .limit_ms = wait_ms + ANSWER_EXTRA_MS,
                                 .cancel_fd = l->end_fd};
    l->grant[0] = '\0';
    if (body && make_id(l->id)) {
        service_ask(l->service, &q, a);
    } else {
        *a = (struct service_answer){.outcome = SERVICE_ANSWERED, .error = REDLOCK_NOMEM};
        snprintf(a->detail, sizeof a->detail, "out of memory or of randomness");
    }
    free(body);
}

/* May another try help? */
static bool may_pass(const struct service_answer *a)
{
    if (a->outcome != SERVICE_ANSWERED)
        return a->error == REDLOCK_NOQUORUM;
    return a->status == 409 || a->status == 423 || a->status == 429 || a->status == 503;
}

static void note_refusal(struct service_state *state, const struct service_answer *a)
{
    struct json_value holder = json_member(a->body, "holder");
    redlock_report *report = &state->report;
    set_failure(state, a);
    *report = (redlock_report){0};
    service_read_nodes(a->body, report);
    json_text(json_member(holder, "label"), report->holder.label, sizeof report->holder.label);
    report->holder.held_ms = json_number(json_member(holder, "held_ms"), -1);
    report->holder.remaining_ms = json_number(json_member(holder, "remaining_ms"), -1);
    report->waiter_count = (uint32_t)json_number(json_member(a->body, "waiters"), 0);
}

/* When to try again, after what went wrong. */
static int64_t retry_ns(const struct service_answer *a, int64_t end_ns)
{
    bool at_once = a->outcome == SERVICE_ANSWERED && (a->status == 409 || a->status == 423);
    int64_t wait_ms = at_once ? 0 : a->retry_ms > RETRY_MS ? a->retry_ms : RETRY_MS;
    int64_t again_ns =
        timer_now_ns() + (wait_ms < RETRY_MAX_MS ? wait_ms : RETRY_MAX_MS) * RL_NS_PER_MS;
    return again_ns < end_ns ? again_ns : end_ns;
}

/* True: it is held. */
static bool acquire(struct service_lease *l, struct service_state *state)
{
    int64_t limit_ms = l->terms->wait_ms;
    int64_t end_ns = limit_ms == REDLOCK_WAIT_FOREVER
                         ? TIMER_NEVER
                         : timer_now_ns() + limit_ms * RL_NS_PER_MS;
    for (int unknown = 0;;) {
        struct service_answer a;
        int64_t left_ms =
            end_ns == TIMER_NEVER ? WAIT_MAX_MS : (end_ns - timer_now_ns()) / RL_NS_PER_MS;
        put(l, left_ms < 0 ? 0 : left_ms < WAIT_MAX_MS ? left_ms : WAIT_MAX_MS, &a);
        bool granted =
            a.outcome == SERVICE_ANSWERED && a.status == 201 && take_grant(l, &a, state);
        state->fence = json_number(json_member(a.body, "fence"), 0);
        if (!granted && a.error == REDLOCK_OK)
            service_answer_is_foreign(&a); /* or it came when its time was over */
        if (!granted)
            note_refusal(state, &a);
        bool known = a.outcome == SERVICE_UNREACHABLE ||
                     (a.outcome == SERVICE_ANSWERED && a.status >= 400 && a.status != 409);
        int64_t again_ns = retry_ns(&a, end_ns);
        bool again = may_pass(&a);
        service_answer_free(&a);
        if (granted)
            return true;
        if (!known) {
            /* It may be ours all the same, and would be taken for no client. */
            int error = delete_lease(l, DELETE_TRIES);
            if (unknown++ == 0 && (error == REDLOCK_OK || error == REDLOCK_EXPIRED))
                again_ns = timer_now_ns();
        }
        /* Milliseconds that are left of a wait are no wait. */
        bool is_late = timer_now_ns() >= end_ns - WAIT_LEAST_NS;
        bool over = is_late && (known || unknown >= UNKNOWN_TRIES);
        if (over && state->error == REDLOCK_BUSY && limit_ms != 0)
            state->error = REDLOCK_TIMEOUT;
        if (!again || over || a.outcome == SERVICE_CANCELED)
            return false;
        publish(l, state); /* why it still waits */
        if (rest(l, again_ns))
            return false;
    }
}

/* ---- holding ---- */

/* One POST. When the next is due. */
static int64_t renew(struct service_lease *l, struct service_state *state)
{
    int64_t ttl_ms = l->terms->ttl_ms, now_ns = timer_now_ns();
    int64_t limit_ms =
        ttl_ms / ANSWER_PART > ANSWER_MIN_MS ? ttl_ms / ANSWER_PART : ANSWER_MIN_MS;
    int64_t left_ms = (state->deadline_ns - now_ns) / RL_NS_PER_MS + 1;
    char body[64];
    struct service_answer a;
    struct service_question q = {.method = "POST",
                                 .path = l->path,
                                 .lease = l->id,
                                 .grant = l->grant,
                                 .body = body,
                                 .limit_ms = limit_ms < left_ms ? limit_ms : left_ms,
                                 .cancel_fd = l->end_fd};
    snprintf(body, sizeof body, "{\"ttl_ms\":%lld}", (long long)ttl_ms);
    service_ask(l->service, &q, &a);
    bool renewed = a.outcome == SERVICE_ANSWERED && a.status == 200 && take_grant(l, &a, state);
    if (!renewed && a.error == REDLOCK_OK)
        service_answer_is_foreign(&a);
    if (renewed)
        state->error = REDLOCK_OK;
    else
        set_failure(state, &a);
    if (a.outcome == SERVICE_ANSWERED && a.status == 410)
        state->phase = SERVICE_LOST;
    state->jeopardy = !renewed;
    service_answer_free(&a);
    int64_t pause_ms = renewed ? ttl_ms / RENEW_PART : ttl_ms / AGAIN_PART;
    return (renewed ? a.began_ns : timer_now_ns()) +
           (pause_ms > AGAIN_MIN_MS ? pause_ms : AGAIN_MIN_MS) * RL_NS_PER_MS;
}

/* Until it is lost, or the caller wants it to end. */
static void keep(struct service_lease *l, struct service_state *state)
{
    int64_t ttl_ms = l->terms->ttl_ms;
    int64_t next_ns = state->deadline_ns - (ttl_ms - ttl_ms / RENEW_PART) * RL_NS_PER_MS;
    while (state->phase == SERVICE_HELD) {
        if (rest(l, next_ns < state->deadline_ns ? next_ns : state->deadline_ns))
            return;
        if (timer_now_ns() >= state->deadline_ns) {
            state->phase = SERVICE_LOST;
            if (state->error == REDLOCK_OK)
                state->error = REDLOCK_EXPIRED;
        } else {
            next_ns = renew(l, state);
        }
        publish(l, state);
    }
}

static void *run(void *data)
{
    struct service_lease *l = data;
    struct service_state state = l->state;
    if (acquire(l, &state)) {
        state.phase = SERVICE_HELD;
        state.error = REDLOCK_OK;
        publish(l, &state);
        keep(l, &state);
    } else {
        state.phase = SERVICE_FAILED;
        publish(l, &state);
    }
    rest(l, TIMER_NEVER);
    if (state.deadline_ns > 0)
        state.error = delete_lease(l, state.phase == SERVICE_LOST ? 1 : DELETE_TRIES);
    state.phase = SERVICE_ENDED;
    publish(l, &state);
    return NULL;
}

/* ---- for the caller ---- */

struct service_lease *service_lease_start(const struct service *s,
                                          const struct service_terms *terms)
{
    struct service_lease *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->service = s;
    l->terms = terms;
    pthread_mutex_init(&l->mutex, NULL);
    service_path(l->path, SERVICE_LOCKS, terms->name);
    l->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error =
        l->changed_fd < 0 || l->end_fd < 0 ? errno : pthread_create(&l->thread, NULL, run, l);
    l->has_thread = error == 0;
    if (!error)
        return l;
    service_lease_free(l);
    errno = error;
    return NULL;
}

int service_lease_fd(const struct service_lease *l)
{
    return l->changed_fd;
}

void service_lease_look(struct service_lease *l, struct service_state *out)
{
    uint64_t ignored_count;
    ssize_t ignored = read(l->changed_fd, &ignored_count, sizeof ignored_count);
    (void)ignored;
    pthread_mutex_lock(&l->mutex);
    *out = l->state;
    pthread_mutex_unlock(&l->mutex);
}

int64_t service_lease_deadline_ns(struct service_lease *l)
{
    pthread_mutex_lock(&l->mutex);
    int64_t deadline_ns = l->state.deadline_ns;
    pthread_mutex_unlock(&l->mutex);
    return deadline_ns;
}

void service_lease_end(struct service_lease *l)
{
    uint64_t one = 1;
    ssize_t ignored = write(l->end_fd, &one, sizeof one);
    (void)ignored;
}

void service_lease_free(struct service_lease *l)
{
    if (!l)
        return;
    if (l->has_thread) {
        service_lease_end(l);
        pthread_join(l->thread, NULL);
    }
    if (l->changed_fd >= 0)
        close(l->changed_fd);
    if (l->end_fd >= 0)
        close(l->end_fd);
    pthread_mutex_destroy(&l->mutex);
    explicit_bzero(l->id, sizeof l->id);
    free(l);
}
