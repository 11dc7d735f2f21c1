/* SPDX-License-Identifier: BSD-2-Clause */
#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "signals.h"
#include "timer.h"

/* KILL goes out a twentieth of the TTL before the validity ends, within these bounds: the kernel
 * needs a moment to take a whole group down, and a busy machine to let us run. */
#define KILL_MARGIN_PART 20
#define KILL_MARGIN_MIN_MS 20
#define KILL_MARGIN_MAX_MS 500

int64_t watch_kill_margin_ms(int64_t ttl_ms)
{
    int64_t margin_ms = ttl_ms / KILL_MARGIN_PART;
    if (margin_ms < KILL_MARGIN_MIN_MS)
        margin_ms = KILL_MARGIN_MIN_MS;
    if (margin_ms > KILL_MARGIN_MAX_MS)
        margin_ms = KILL_MARGIN_MAX_MS;
    return margin_ms < ttl_ms / 4 ? margin_ms : ttl_ms / 4;
}

/* The lock is ending under the child: TERM if there is time for it, else KILL. */
static void end_child(struct watch *w, bool kill_now)
{
    if (w->child.ended || w->killed || (w->terminated && !kill_now))
        return;
    child_signal(&w->child, kill_now ? SIGKILL : SIGTERM);
    if (!kill_now)
        child_signal(&w->child, SIGCONT); /* a stopped process does not hear TERM */
    w->terminated = true;
    w->killed = kill_now;
}

/* Compares the clock with the end of the validity. Returns when to look again. */
static int64_t guard(struct watch *w)
{
    int64_t deadline_ns = redlock_deadline_ns(w->hold->lock);
    int64_t term_ns = deadline_ns - w->grace_ms * NS_PER_MS;
    int64_t kill_ns = deadline_ns - w->kill_margin_ms * NS_PER_MS;
    int64_t now_ns = timer_now_ns();
    if (w->hold->lost || now_ns >= kill_ns) {
        end_child(w, true);
        return TIMER_NEVER;
    }
    if (now_ns >= term_ns)
        end_child(w, false);
    return w->terminated ? kill_ns : term_ns;
}

static void on_signals(struct watch *w)
{
    for (int signal = signals_next(); signal; signal = signals_next()) {
        if (w->child.ended) {
            w->hurried = w->hurried || signals_is_fatal(signal);
        } else if (signal == SIGCHLD) {
            int stopped = child_check(&w->child, w->terminated);
            if (stopped && child_stopped(&w->child, stopped)) {
                guard(w); /* this process may have been stopped for long */
                child_continue(&w->child);
            }
        } else if (signal == SIGCONT) {
            guard(w);
            child_continue(&w->child);
        } else {
            child_signal(&w->child, signal);
        }
    }
}

/* May the lock go? Else *wake_ns becomes the time until which it is kept. */
static bool is_over(const struct watch *w, int64_t *wake_ns)
{
    if (!w->child.ended)
        return false;
    if (w->hurried || w->terminated || w->hold->lost || timer_now_ns() >= w->hold_until_ns)
        return true;
    *wake_ns = w->hold_until_ns;
    return false;
}

int watch_child(struct watch *w)
{
    struct pollfd watched[] = {
        {.fd = redlock_fd(w->hold->client), .events = POLLIN},
        {.fd = w->signal_fd, .events = POLLIN},
        {.fd = w->timer_fd, .events = POLLIN},
    };
    for (;;) {
        int64_t wake_ns = guard(w);
        if (is_over(w, &wake_ns))
            return 0;
        timer_set(w->timer_fd, wake_ns);
        if (poll(watched, 3, -1) < 0 && errno != EINTR) {
            int error = errno;
            child_signal(&w->child, SIGKILL);
            return error;
        }
        if (watched[2].revents)
            timer_drain(w->timer_fd);
        if (watched[1].revents)
            on_signals(w);
        if (redlock_process(w->hold->client, 0) < 0)
            w->hold->lost = true; /* nobody renews it any more */
    }
}
