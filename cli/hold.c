/* SPDX-License-Identifier: BSD-2-Clause */
#include "hold.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live.h"
#include "message.h"
#include "report.h"
#include "signals.h"
#include "timer.h"

#define WARN_AFTER_NS 2000000000LL /* a restart of the nodes is nothing to talk about */
#define WARN_AGAIN_NS 100000000LL  /* an attempt may be under way: look again */

/* A wait for a lock, while it lasts. */
struct waiting {
    int signal_fd, timer_fd;
    int signal;      /* that ended it; 0: none */
    int64_t draw_ns; /* when to draw the live line anew */
    int64_t warn_ns; /* when to look whether the nodes are there at all */
    struct live live;
};

static void remember(struct hold *h, redlock_lock *lock, int error)
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
    struct hold *h = data;
    h->pending = false;
    h->error = error;
    remember(h, lock, error);
}

static void on_lost(redlock_lock *lock, int error, void *data)
{
    struct hold *h = data;
    h->lost = true;
    h->lost_error = error;
    remember(h, lock, error);
}

/* An operation that could not even be started. */
static int not_started(struct hold *h, int error)
{
    h->error = error;
    h->report.node_count = 0;
    snprintf(h->detail, sizeof h->detail, "%s", redlock_detail());
    return error;
}

/* Handles the signals that came while waiting. */
static void on_signals(struct hold *h, struct waiting *w)
{
    for (int signal = signals_next(); signal; signal = signals_next()) {
        if (signals_is_stop(signal)) {
            live_erase(&w->live);
            signals_stop_self(signal);
        } else if (signals_is_fatal(signal) && w->signal == 0) {
            w->signal = signal;
            redlock_cancel(h->lock);
        }
    }
}

/* With no limit to the wait nobody would ever learn that it is the nodes that are missing. True
 * when that was said. */
static bool warn_without_quorum(struct hold *h)
{
    redlock_report report = {.size = sizeof report};
    if (redlock_lock_report(h->lock, &report) != REDLOCK_OK)
        return false;
    uint32_t usable = 0;
    for (uint32_t i = 0; i < report.node_count; i++)
        usable += report_is_answer(report.node[i].vote) ||
                  report.node[i].vote == REDLOCK_VOTE_PENDING ||
                  report.node[i].vote == REDLOCK_VOTE_NONE;
    if (usable >= report.quorum)
        return false;
    message_warn("too few nodes can vote; trying until they can (-w TIME would limit that)");
    report_table(&report, stderr);
    return true;
}

static int wait_for_lock(struct hold *h, const char *name, struct waiting *w)
{
    struct pollfd watched[] = {
        {.fd = redlock_fd(h->client), .events = POLLIN},
        {.fd = w->signal_fd, .events = POLLIN},
        {.fd = w->timer_fd, .events = POLLIN},
    };
    while (h->pending) {
        int error = redlock_process(h->client, 0);
        if (error < 0)
            return not_started(h, error);
        if (!h->pending)
            break;
        timer_set(w->timer_fd, w->draw_ns < w->warn_ns ? w->draw_ns : w->warn_ns);
        if (poll(watched, 3, -1) < 0 && errno != EINTR)
            return not_started(h, REDLOCK_SYSTEM);
        if (watched[1].revents)
            on_signals(h, w);
        if (watched[2].revents)
            timer_drain(w->timer_fd);
        if (timer_now_ns() >= w->warn_ns) {
            live_erase(&w->live);
            w->warn_ns = warn_without_quorum(h) ? TIMER_NEVER : timer_now_ns() + WARN_AGAIN_NS;
        }
        if (timer_now_ns() >= w->draw_ns) {
            live_draw(&w->live, h->client, name);
            w->draw_ns = timer_now_ns() + LIVE_TICK_NS;
        }
    }
    return h->error;
}

int hold_acquire(struct hold *h, const struct settings *s, const char *name, uint32_t flags,
                 int signal_fd, int *signal_out)
{
    struct waiting w = {
        .signal_fd = signal_fd, .timer_fd = timer_open(), .warn_ns = TIMER_NEVER};
    redlock_request request = {
        .size = sizeof request,
        .flags = flags,
        .wait_ms = s->wait_ms,
        .done = on_done,
        .lost = on_lost,
        .data = h,
    };
    *signal_out = 0;
    if (w.timer_fd < 0)
        return not_started(h, REDLOCK_SYSTEM);
    h->pending = true;
    int error = redlock_start(h->client, name, s->ttl_ms, &request, &h->lock);
    if (error != REDLOCK_OK) {
        h->pending = false;
        close(w.timer_fd);
        return not_started(h, error);
    }
    live_begin(&w.live, !s->quiet && !s->json && s->wait_ms != 0);
    if (w.live.on)
        w.draw_ns = timer_now_ns() + LIVE_TICK_NS;
    if (s->wait_ms == REDLOCK_WAIT_FOREVER && !s->quiet)
        w.warn_ns = timer_now_ns() + WARN_AFTER_NS;
    error = wait_for_lock(h, name, &w);
    live_erase(&w.live);
    close(w.timer_fd);
    *signal_out = w.signal;
    if (w.signal && error == REDLOCK_OK) {
        hold_release(h); /* it was won in the same moment */
        error = REDLOCK_CANCELED;
    }
    return error;
}

int hold_release(struct hold *h)
{
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

void hold_close(struct hold *h)
{
    redlock_lock_free(h->lock);
    redlock_close(h->client);
    *h = (struct hold){0};
}
