/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/held_lock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/quote.h"
#include "lock/live.h"
#include "lock/served_lock.h"
#include "lock/value_word.h"
#include "report/advice.h"
#include "report/report.h"
#include "settings/open_client.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define WARN_AFTER_NS 2000000000LL
#define LOOK_AGAIN_NS 20000000LL
#define ANNOUNCE_AFTER_NS RL_NS_PER_S /* a shorter wait is not worth a mail from cron */
#define ANNOUNCE_EVERY_NS 60000000000LL
#define SILENCE_RETRIES 2

/* A wait for a lock, while it lasts. */
struct waiting {
    int signal_fd, timer_fd;
    int signal;      /* that ended it; 0: none */
    int64_t draw_ns; /* when to draw the live line anew */
    int64_t warn_ns; /* when to look whether the nodes are there at all */
    bool announce_at_once;
    int64_t announce_ns; /* when to report that we wait, where no terminal shows it */
    struct live live;
};

static void take_report(redlock_report *out, const redlock_lock *lock)
{
    const redlock_report *report = redlock_lock_report(lock);
    if (report)
        *out = *report;
    else
        out->node_count = 0;
}

/* The outcome of an operation, with the words of a failure. */
static int conclude(struct held_lock *h, int error, const char *detail)
{
    snprintf(h->detail, sizeof h->detail, "%s", error == REDLOCK_OK ? "" : detail);
    take_report(&h->report, h->lock);
    return error;
}

/* A wait without a limit would hide that too few nodes can vote. Returns true once enough nodes
 * have answered to know whether they can. */
static bool warn_without_quorum(struct held_lock *h)
{
    redlock_report report;
    char advice[ADVICE_MAX];
    uint32_t usable = 0, silent = 0;
    int64_t wait_ms;
    bool guarded;

    take_report(&report, h->lock);
    guarded = quarantine_blocks(h->client, &report, &wait_ms);
    for (uint32_t i = 0; i < report.node_count; i++) {
        usable += report_may_vote(report.node[i].vote);
        silent += report.node[i].vote == REDLOCK_VOTE_PENDING ||
                  report.node[i].vote == REDLOCK_VOTE_NONE;
    }
    if (usable >= report.quorum)
        return usable - silent >= report.quorum;
    message_warn("too few nodes can vote; trying until they can (-w TIME would limit that)");
    report_table(&report, errors_stream());
    if (guarded)
        quarantine_advice(&report, wait_ms, advice);
    message_warn("next: %s",
                 guarded ? advice : advice_for(REDLOCK_NOQUORUM, &report, false, advice));
    return true;
}

/* Where nothing is drawn, a line reports now and then what is waited for. */
static void announce_waiting(struct waiting *w)
{
    char line[LIVE_LINE_MAX];
    live_describe(&w->live, line, SIZE_MAX);
    message_line("%s", line);
    w->announce_ns = timer_now_ns() + ANNOUNCE_EVERY_NS;
}

static int64_t next_due_ns(const struct waiting *w)
{
    int64_t due_ns = w->draw_ns < w->warn_ns ? w->draw_ns : w->warn_ns;
    return due_ns < w->announce_ns ? due_ns : w->announce_ns;
}

/* Takes the events that wait; true: *error is the outcome of the wait. */
static bool is_decided(struct held_lock *h, struct waiting *w, int *error)
{
    const redlock_event *event;
    int got;
    while ((got = client_next(h->settings, h->client, &event, 0)) > 0) {
        if (event->type == REDLOCK_EVENT_ACQUIRED) {
            *error = conclude(h, event->error, event->detail);
            return true;
        }
        if (event->type == REDLOCK_EVENT_QUEUED && w->announce_at_once) {
            w->announce_at_once = false;
            announce_waiting(w);
        }
    }
    if (got < 0)
        *error = conclude(h, got, redlock_detail());
    return got < 0;
}

static int wait_for_lock(struct held_lock *h, struct waiting *w)
{
    struct pollfd watched[] = {
        {.fd = redlock_fd(h->client), .events = POLLIN},
        {.fd = w->signal_fd, .events = POLLIN},
        {.fd = w->timer_fd, .events = POLLIN},
        {.fd = h->watch ? h->watch->fd : -1, .events = POLLIN},
    };
    int error;
    while (!is_decided(h, w, &error)) {
        timer_set(w->timer_fd, next_due_ns(w));
        if (poll(watched, 4, -1) < 0 && errno != EINTR)
            return conclude(h, REDLOCK_SYSTEM, strerror(errno));
        if (watched[1].revents)
            w->signal = signals_next_fatal();
        if (w->signal || (h->watch && h->watch->is_over(h->watch->data))) {
            redlock_cancel(h->lock); /* what was granted meanwhile goes back */
            return REDLOCK_CANCELED;
        }
        if (watched[2].revents)
            timer_drain(w->timer_fd);
        if (timer_now_ns() >= w->warn_ns) {
            errors_erase();
            w->warn_ns = warn_without_quorum(h) ? TIMER_NEVER : timer_now_ns() + LOOK_AGAIN_NS;
        }
        if (timer_now_ns() >= w->announce_ns)
            announce_waiting(w);
        if (timer_now_ns() >= w->draw_ns) {
            live_draw(&w->live);
            w->draw_ns = timer_now_ns() + LIVE_TICK_NS;
        }
    }
    return error;
}

static int64_t wait_deadline_ns(const struct settings *s)
{
    return s->wait_ms == REDLOCK_WAIT_FOREVER ? TIMER_NEVER
                                              : timer_now_ns() + s->wait_ms * RL_NS_PER_MS;
}

/* Could the nodes that did not answer in time make the difference? */
static bool silence_decided(const redlock_report *report)
{
    uint32_t answered = 0, silent = 0;
    for (uint32_t i = 0; i < report->node_count; i++) {
        silent += report->node[i].vote == REDLOCK_VOTE_SILENT;
        answered += report_may_vote(report->node[i].vote);
    }
    return answered < report->quorum && answered + silent >= report->quorum;
}

static int acquire_once(struct held_lock *h, const struct settings *s,
                        const struct terms *terms, uint32_t flags, int signal_fd,
                        int *signal_out)
{
    struct waiting w = {.signal_fd = signal_fd,
                        .timer_fd = timer_open(),
                        .draw_ns = TIMER_NEVER,
                        .warn_ns = TIMER_NEVER,
                        .announce_ns = TIMER_NEVER};
    redlock_request request =
        REDLOCK_REQUEST(.flags = flags | REDLOCK_PLACES, .wait_ms = s->wait_ms);
    int64_t deadline_ns;
    int error;

    *signal_out = 0;
    if (w.timer_fd < 0)
        return conclude(h, REDLOCK_SYSTEM, strerror(errno));
    error = errors_detach();
    if (error) {
        close(w.timer_fd);
        return conclude(h, REDLOCK_SYSTEM, strerror(error));
    }
    terms_request(terms, &request);
    deadline_ns = wait_deadline_ns(s);
    error = redlock_start_acquire(h->client, terms->name[0], s->ttl_ms, &request, &h->lock);
    if (error != REDLOCK_OK) {
        close(w.timer_fd);
        return conclude(h, error, redlock_detail());
    }
    live_begin(&w.live, terms, h->client, h->lock, s, deadline_ns);
    if (w.live.on)
        w.draw_ns = timer_now_ns() + LIVE_TICK_NS;
    else if (w.live.wanted)
        w.announce_ns = timer_now_ns() + ANNOUNCE_AFTER_NS;
    w.announce_at_once = w.live.wanted && !w.live.on && s->verbose;
    if (s->wait_ms == REDLOCK_WAIT_FOREVER && !s->quiet)
        w.warn_ns = timer_now_ns() + WARN_AFTER_NS;
    error = wait_for_lock(h, &w);
    errors_erase();
    close(w.timer_fd);
    *signal_out = w.signal;
    return error;
}

/*
 * -n does not wait for the holder of a lock. Nodes that were slow for a moment are another
 * matter: too few answers are no answer, so they are queried again, for at most a node timeout
 * each time.
 */
int held_lock_acquire(struct held_lock *h, const struct settings *s, const struct terms *terms,
                      uint32_t flags, int signal_fd, int *signal_out)
{
    int error;

    if (!h->client)
        return served_lock_acquire(h, s, terms, signal_fd, signal_out);
    error = acquire_once(h, s, terms, flags, signal_fd, signal_out);
    for (int again = 0; again < SILENCE_RETRIES && s->wait_ms == 0 && *signal_out == 0 &&
                        error == REDLOCK_NOQUORUM && silence_decided(&h->report);
         again++) {
        redlock_lock_free(h->lock);
        h->lock = NULL;
        error = acquire_once(h, s, terms, flags, signal_fd, signal_out);
    }
    return error;
}

int held_lock_open(struct held_lock *h, struct settings *s)
{
    h->settings = s;
    h->state = REDLOCK_STATE_HELD;
    return s->service ? service_open(&h->service, s) : client_open(s, &h->client);
}

int64_t held_lock_deadline_ns(const struct held_lock *h)
{
    return h->hold ? service_hold_look(h->hold)->deadline_ns : redlock_deadline_ns(h->lock);
}

int64_t held_lock_fence(const struct held_lock *h)
{
    return h->hold ? service_hold_look(h->hold)->fence : redlock_fence(h->lock);
}

int64_t held_lock_slot(const struct held_lock *h)
{
    return h->hold ? 0 : redlock_slot(h->lock);
}

int held_lock_fd(const struct held_lock *h)
{
    return h->hold ? service_hold_fd(h->hold) : redlock_fd(h->client);
}

int held_lock_process(struct held_lock *h, int timeout_ms)
{
    const redlock_event *event;
    int got, state;

    if (h->hold)
        return served_lock_process(h, timeout_ms);
    while ((got = client_next(h->settings, h->client, &event, timeout_ms)) > 0)
        timeout_ms = 0;
    state = got < 0 ? REDLOCK_STATE_LOST : redlock_state(h->lock);
    if (state == REDLOCK_STATE_JEOPARDY && state != h->state)
        take_report(&h->failed_renewal, h->lock);
    if (state == REDLOCK_STATE_LOST && state != h->state)
        h->lost_error = conclude(h, REDLOCK_LOST, redlock_strerror(REDLOCK_LOST));
    return h->state = state;
}

bool held_lock_freshen(struct held_lock *h, int64_t least_ms)
{
    int64_t left_ns;
    while ((left_ns = held_lock_deadline_ns(h) - timer_now_ns()) <= least_ms * RL_NS_PER_MS) {
        if (left_ns <= 0 ||
            held_lock_process(h, (int)(left_ns / RL_NS_PER_MS) + 1) == REDLOCK_STATE_LOST)
            return false;
    }
    return h->state != REDLOCK_STATE_LOST;
}

int held_lock_report_failure(struct held_lock *h, const struct settings *s,
                             const struct terms *terms, int error, int busy_status)
{
    char advice[ADVICE_MAX], refused[REPORT_TEXT_MAX];
    int64_t wait_ms;
    struct failure f = {
        .name = terms->name[0],
        .error = error,
        .status = exit_status_of(error),
        .text = h->detail,
        .report = &h->report,
    };
    bool busy = error == REDLOCK_BUSY || error == REDLOCK_TIMEOUT;
    bool may_be_refused = error == REDLOCK_GUARDED || error == REDLOCK_NOQUORUM ||
                          (busy && (report_has_vote(&h->report, REDLOCK_VOTE_AUTH) ||
                                    report_has_vote(&h->report, REDLOCK_VOTE_NOPERM)));
    if (h->client && may_be_refused && report_is_refused(h->client, &h->report)) {
        /* Neither waiting nor `redlock init` mends that. */
        report_failed_nodes(&h->report, refused, sizeof refused);
        f.error = REDLOCK_AUTH;
        f.status = exit_status_of(f.error);
        f.text = refused;
    } else if (busy) {
        return busy_report(h, s, terms, error, busy_status);
    } else if (h->client && quarantine_blocks(h->client, &h->report, &wait_ms)) {
        quarantine_advice(&h->report, wait_ms, advice);
        f.advice = advice;
    }
    return report_failure(s, &f);
}

void held_lock_find_successor(struct held_lock *h, const struct terms *terms)
{
    redlock_report report = h->report;
    redlock_answer *found = NULL;
    if (terms_several(terms) || terms->name_count > 1 || !h->client)
        return;
    if (report_complete(h->client, terms->name[0], &report, &found) == REDLOCK_OK &&
        found->info->held && (!terms->owner || strcmp(found->info->owner, terms->owner) != 0))
        h->report = report;
    redlock_answer_free(found);
}

int held_lock_release(struct held_lock *h)
{
    int error;

    if (h->hold)
        return service_hold_end(h->hold);
    error = redlock_release(h->lock);
    return conclude(h, error, redlock_detail());
}

void held_lock_warn_unreleased(const struct held_lock *h, const char *before)
{
    char safe[SERVICE_DETAIL_MAX] = "too few nodes confirmed the release";

    if (h->hold)
        rl_quote_safe(safe, sizeof safe, service_hold_look(h->hold)->detail);
    message_warn("%s%s; what is left of the lock expires within its TTL", before, safe);
}

void held_lock_json(const struct held_lock *h, const struct terms *terms, struct rl_json *j)
{
    char value[VALUE_WORD_MAX];
    if (terms->name_count > 1) {
        rl_json_array(j, "names");
        for (size_t i = 0; i < terms->name_count; i++)
            rl_json_string(j, NULL, terms->name[i]);
        rl_json_end_array(j);
    }
    rl_json_string(j, "kind", redlock_kind_text(terms_kind(terms)));
    value_word_write(value, redlock_value(h->lock));
    rl_json_string(j, "value", value);
    rl_json_known(j, "fence", redlock_fence(h->lock) > 0 ? redlock_fence(h->lock) : -1);
    rl_json_known(j, "slot", redlock_slot(h->lock) > 0 ? redlock_slot(h->lock) : -1);
    rl_json_integer(j, "ttl_ms", h->settings->ttl_ms);
    rl_json_integer(j, "remaining_ms", redlock_remaining_ms(h->lock));
}

void held_lock_leave(struct held_lock *h)
{
    redlock_lock_leave(h->lock);
    h->lock = NULL;
}

void held_lock_close(struct held_lock *h)
{
    served_lock_close(h);
    service_close(&h->service);
    redlock_lock_free(h->lock);
    client_close(h->settings, h->client);
    *h = (struct held_lock){0};
}
