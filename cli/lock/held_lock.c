/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/held_lock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lock/busy.h"
#include "lock/live.h"
#include "lock/served_lock.h"
#include "report/quarantine.h"
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
#define ANNOUNCE_AFTER_NS 1000000000LL /* a shorter wait is not worth a mail from cron */
#define ANNOUNCE_EVERY_NS 60000000000LL
#define SILENCE_RETRIES 2

/* A wait for a lock, while it lasts. */
struct waiting {
    int signal_fd, timer_fd;
    int signal;      /* that ended it; 0: none */
    int64_t draw_ns; /* when to draw the live line anew */
    int64_t warn_ns; /* when to look whether the nodes are there at all */
    bool announce_at_once;
    int64_t announce_ns; /* when to say that we wait, where no terminal shows it */
    struct live live;
};

static void remember(struct held_lock *h, redlock_lock *lock, int error)
{
    h->detail[0] = '\0';
    if (error != REDLOCK_OK)
        snprintf(h->detail, sizeof h->detail, "%s", redlock_detail());
    h->report.size = sizeof h->report;
    if (redlock_lock_report(lock, &h->report) != REDLOCK_OK)
        h->report.node_count = 0;
}

static void on_done(redlock_lock *lock, int error, void *data)
{
    struct held_lock *h = data;
    h->pending = false;
    h->error = error;
    remember(h, lock, error);
}

static void on_lost(redlock_lock *lock, int error, void *data)
{
    struct held_lock *h = data;
    h->lost = true;
    h->lost_error = error;
    remember(h, lock, error);
}

static void on_jeopardy(redlock_lock *lock, int error, void *data)
{
    struct held_lock *h = data;
    h->jeopardy = error != REDLOCK_OK;
    h->jeopardy_changed = true;
    if (!h->jeopardy)
        return;
    h->failed_renewal.size = sizeof h->failed_renewal;
    if (redlock_lock_report(lock, &h->failed_renewal) != REDLOCK_OK)
        h->failed_renewal.node_count = 0;
}

/* An operation that could not even be started. */
static int not_started(struct held_lock *h, int error)
{
    h->error = error;
    h->report.node_count = 0;
    snprintf(h->detail, sizeof h->detail, "%s", redlock_detail());
    return error;
}

/* Handles the signals that came while waiting. */
static void on_signals(struct held_lock *h, struct waiting *w)
{
    int signal = signals_next_fatal();
    if (!signal || w->signal)
        return;
    w->signal = signal;
    redlock_cancel(h->lock);
}

/* A wait without a limit would hide that too few nodes can vote. Returns true once enough nodes have
 * answered to know whether they can. */
static bool warn_without_quorum(struct held_lock *h)
{
    redlock_report report = {.size = sizeof report};
    char advice[ADVICE_MAX];
    int64_t wait_ms;
    if (redlock_lock_report(h->lock, &report) != REDLOCK_OK)
        return true;
    bool guarded = quarantine_blocks(h->client, &report, &wait_ms);
    uint32_t usable = 0, silent = 0;
    for (uint32_t i = 0; i < report.node_count; i++) {
        usable += report_may_vote(report.node[i].vote);
        silent += report.node[i].vote == REDLOCK_VOTE_PENDING ||
                  report.node[i].vote == REDLOCK_VOTE_NONE;
    }
    if (usable >= report.quorum)
        return usable - silent >= report.quorum;
    message_warn("too few nodes can vote; trying until they can (-w TIME would limit that)");
    report_table(&report, errors_stream());
    if (guarded) {
        quarantine_advice(&report, wait_ms, advice);
        message_warn("next: %s", advice);
    }
    return true;
}

/* Where nothing is drawn, a line says now and then what is waited for. */
static void announce_waiting(struct held_lock *h, struct waiting *w)
{
    char line[LIVE_LINE_MAX];
    live_describe(&w->live, line, SIZE_MAX);
    if (h->pending)
        message_line("%s", line);
    w->announce_ns = timer_now_ns() + ANNOUNCE_EVERY_NS;
}

static int64_t next_due_ns(const struct waiting *w)
{
    int64_t due_ns = w->draw_ns < w->warn_ns ? w->draw_ns : w->warn_ns;
    return due_ns < w->announce_ns ? due_ns : w->announce_ns;
}

static int wait_for_lock(struct held_lock *h, struct waiting *w)
{
    struct pollfd watched[] = {
        {.fd = redlock_fd(h->client), .events = POLLIN},
        {.fd = w->signal_fd, .events = POLLIN},
        {.fd = w->timer_fd, .events = POLLIN},
        {.fd = h->watch ? h->watch->fd : -1, .events = POLLIN},
    };
    while (h->pending) {
        int error = redlock_process(h->client, 0);
        if (error < 0)
            return not_started(h, error);
        if (w->announce_at_once && redlock_position(h->lock) > 0) {
            w->announce_at_once = false;
            announce_waiting(h, w);
        }
        if (!h->pending)
            break;
        timer_set(w->timer_fd, next_due_ns(w));
        if (poll(watched, 4, -1) < 0 && errno != EINTR)
            return not_started(h, REDLOCK_SYSTEM);
        if (h->watch && h->watch->is_over(h->watch->data)) {
            watched[3].fd = -1;
            redlock_cancel(h->lock);
        }
        if (watched[1].revents)
            on_signals(h, w);
        if (watched[2].revents)
            timer_drain(w->timer_fd);
        if (timer_now_ns() >= w->warn_ns) {
            errors_erase();
            w->warn_ns = warn_without_quorum(h) ? TIMER_NEVER : timer_now_ns() + LOOK_AGAIN_NS;
        }
        if (timer_now_ns() >= w->announce_ns)
            announce_waiting(h, w);
        if (timer_now_ns() >= w->draw_ns) {
            live_draw(&w->live);
            w->draw_ns = timer_now_ns() + LIVE_TICK_NS;
        }
    }
    return h->error;
}

static int64_t wait_deadline_ns(const struct settings *s)
{
    return s->wait_ms == REDLOCK_WAIT_FOREVER ? TIMER_NEVER
                                              : timer_now_ns() + s->wait_ms * NS_PER_MS;
}

/* Could the nodes that did not answer in time make the difference? */
static bool silence_decided(const redlock_report *report)
{
    uint32_t answered = 0, silent = 0;
    for (uint32_t i = 0; i < report->node_count; i++) {
        silent += report->node[i].vote == REDLOCK_VOTE_TIMEDOUT;
        answered += report->node[i].vote != REDLOCK_VOTE_TIMEDOUT &&
                    report_may_vote(report->node[i].vote);
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
    redlock_request request = {
        .size = sizeof request,
        .flags = flags,
        .wait_ms = s->wait_ms,
        .done = on_done,
        .lost = on_lost,
        .jeopardy = on_jeopardy,
        .data = h,
    };
    *signal_out = 0;
    if (w.timer_fd < 0)
        return not_started(h, REDLOCK_SYSTEM);
    if (errors_detach() != 0) {
        close(w.timer_fd);
        return not_started(h, REDLOCK_SYSTEM);
    }
    terms_request(terms, &request);
    int64_t deadline_ns = wait_deadline_ns(s);
    h->pending = true;
    int error = redlock_start(h->client, terms->name[0], s->ttl_ms, &request, &h->lock);
    if (error != REDLOCK_OK) {
        h->pending = false;
        close(w.timer_fd);
        return not_started(h, error);
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
    if (w.signal && error == REDLOCK_OK) {
        held_lock_release(h); /* it was won in the same moment */
        error = REDLOCK_CANCELED;
    }
    return error;
}

/*
 * -n does not wait for the holder of a lock. Nodes that were slow for a moment are another matter: too
 * few answers are no answer, so they are asked again, for at most a node timeout each time.
 */
int held_lock_acquire(struct held_lock *h, const struct settings *s, const struct terms *terms,
                      uint32_t flags, int signal_fd, int *signal_out)
{
    if (!h->client)
        return served_lock_acquire(h, s, terms, signal_fd, signal_out);
    int error = acquire_once(h, s, terms, flags, signal_fd, signal_out);
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
    return s->service ? service_open(&h->service, s) : client_open(s, &h->client);
}

int64_t held_lock_deadline_ns(const struct held_lock *h)
{
    return h->lease ? service_lease_deadline_ns(h->lease) : redlock_deadline_ns(h->lock);
}

int64_t held_lock_fence(const struct held_lock *h)
{
    return h->lease ? h->fence : redlock_fence(h->lock);
}

int64_t held_lock_slot(const struct held_lock *h)
{
    return h->lease ? 0 : redlock_slot(h->lock);
}

int held_lock_fd(const struct held_lock *h)
{
    return h->lease ? service_lease_fd(h->lease) : redlock_fd(h->client);
}

bool held_lock_process(struct held_lock *h)
{
    if (!h->lease)
        return redlock_process(h->client, 0) >= 0;
    served_lock_process(h);
    return true;
}

bool held_lock_freshen(struct held_lock *h, int64_t least_ms)
{
    if (h->lease)
        return served_lock_freshen(h, least_ms);
    while (!h->lost) {
        int64_t left_ms = redlock_remaining_ms(h->lock);
        if (left_ms > least_ms)
            return true;
        if (left_ms <= 0 || redlock_process(h->client, (int)left_ms) < 0)
            return false;
    }
    return false;
}

int held_lock_report_failure(struct held_lock *h, const struct settings *s,
                             const struct terms *terms, int error, int busy_status)
{
    char advice[ADVICE_MAX];
    int64_t wait_ms;
    struct failure f = {
        .name = terms->name[0],
        .error = error,
        .status = exit_status_of(error),
        .text = h->detail,
        .report = &h->report,
    };
    if (error == REDLOCK_BUSY || error == REDLOCK_TIMEOUT)
        return busy_report(h, s, terms, error, busy_status);
    if (h->client && quarantine_blocks(h->client, &h->report, &wait_ms)) {
        quarantine_advice(&h->report, wait_ms, advice);
        f.advice = advice;
    }
    return report_failure(s, &f);
}

void held_lock_find_successor(struct held_lock *h, const struct terms *terms)
{
    redlock_report report = h->report;
    redlock_info info = {.size = sizeof info};
    if (terms->shared || terms->slots || terms->name_count > 1 || !h->client)
        return;
    if (report_complete(h->client, terms->name[0], &report, &info) == REDLOCK_OK && info.held &&
        (!terms->owner || strcmp(info.owner, terms->owner) != 0))
        h->report = report;
}

int held_lock_release(struct held_lock *h)
{
    if (h->lease)
        return served_lock_release(h);
    h->pending = true;
    int error = redlock_start_release(h->lock, on_done, h);
    if (error != REDLOCK_OK) {
        h->pending = false;
        return not_started(h, error);
    }
    while (h->pending) {
        error = redlock_process(h->client, -1);
        if (error < 0)
            return not_started(h, error);
    }
    return h->error;
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
    redlock_close(h->client);
    *h = (struct held_lock){0};
}
