/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "base/quote.h"
#include "report/report.h"
#include "run/process_tree.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/message.h"
#include "ui/text.h"

/* KILL goes out a tenth of the TTL before the validity ends, within these bounds: the kernel
 * needs a moment to take a whole group down, and a busy machine to let us run. */
#define KILL_MARGIN_PART 10
#define KILL_MARGIN_MIN_MS 20
#define KILL_MARGIN_MAX_MS 1000

/* `redlock doctor` counts with the longest (RL_DEPLOYMENT_RUN_GRACE_MS,
 * src/client/deployment.h). */
#define GRACE_PART 3
#define GRACE_MAX_MS 5000

/* KILL is repeated this often, for this long, until nothing is left of the
 * child's process tree. */
#define KILL_AGAIN_NS (2 * RL_NS_PER_MS)
#define KILL_LIMIT_NS (5000 * RL_NS_PER_MS)

int64_t supervise_kill_margin_ms(int64_t ttl_ms)
{
    int64_t margin_ms = ttl_ms / KILL_MARGIN_PART;
    if (margin_ms < KILL_MARGIN_MIN_MS)
        margin_ms = KILL_MARGIN_MIN_MS;
    if (margin_ms > KILL_MARGIN_MAX_MS)
        margin_ms = KILL_MARGIN_MAX_MS;
    return margin_ms < ttl_ms / 4 ? margin_ms : ttl_ms / 4;
}

int64_t supervise_grace_ms(int64_t ttl_ms)
{
    int64_t grace_ms = ttl_ms / GRACE_PART;
    return grace_ms < GRACE_MAX_MS ? grace_ms : GRACE_MAX_MS;
}

int64_t supervise_start_margin_ms(const struct supervision *w)
{
    bool stops = w->on_lost != ON_LOST_IGNORE && w->grace_ms > w->kill_margin_ms;
    return stops ? w->grace_ms : w->kill_margin_ms;
}

static bool is_lost(const struct supervision *w)
{
    return w->held->state == REDLOCK_STATE_LOST;
}

static void announce_jeopardy(const struct supervision *w)
{
    char name[RL_QUOTE_MAX], nodes[512], when[TEXT_TIME_MAX];
    int64_t left_ms = (held_lock_deadline_ns(w->held) - timer_now_ns()) / RL_NS_PER_MS;
    if (w->on_lost != ON_LOST_IGNORE)
        left_ms -= w->grace_ms;
    rl_quote(name, w->name);
    text_time(when, left_ms > 0 ? left_ms : 0);
    if (w->held->failed_renewal.node_count > 0)
        report_failed_nodes(&w->held->failed_renewal, nodes, sizeof nodes);
    else
        rl_quote_safe(nodes, sizeof nodes, w->held->detail);
    message_warn("warning: %s could not be renewed (%s); in %s %s unless it can be", name,
                 nodes, when,
                 w->on_lost == ON_LOST_IGNORE ? "it is lost" : "the command is stopped");
}

static void announce_changes(struct supervision *w)
{
    int state = w->held->state;
    char name[RL_QUOTE_MAX];
    if (state == w->reported_state)
        return;
    rl_quote(name, w->name);
    if (state == REDLOCK_STATE_JEOPARDY && !w->terminated)
        announce_jeopardy(w);
    else if (state == REDLOCK_STATE_HELD && !w->terminated)
        message_warn("%s was renewed again", name);
    else if (state == REDLOCK_STATE_LOST && w->on_lost == ON_LOST_IGNORE && !w->child.ended)
        message_warn("warning: %s was lost, and the command runs on: another may be at "
                     "work now",
                     name);
    w->reported_state = state;
}

static void kill_process_tree(struct supervision *w)
{
    int64_t now_ns = timer_now_ns();
    if (!w->killed) {
        w->give_up_ns = now_ns + KILL_LIMIT_NS;
        w->late = is_lost(w);
        w->obeyed = w->child.ended;
    }
    w->terminated = w->killed = true;
    child_signal(&w->child, SIGKILL); /* at once, for all that stayed in the group */
    process_tree_kill();
}

static void terminate_child(struct supervision *w)
{
    if (w->terminated)
        return;
    w->terminated = true;
    child_signal(&w->child, w->signal);
    child_signal(&w->child, SIGCONT); /* a stopped process would not get it */
}

/* Compares the clock with the end of the validity. Returns when to look again. */
static int64_t enforce_deadline(struct supervision *w)
{
    int64_t deadline_ns = held_lock_deadline_ns(w->held);
    int64_t terminate_ns, kill_ns, now_ns;
    if (deadline_ns > 0)
        w->deadline_ns = deadline_ns;
    terminate_ns = deadline_ns - w->grace_ms * RL_NS_PER_MS;
    kill_ns = deadline_ns - w->kill_margin_ms * RL_NS_PER_MS;
    now_ns = timer_now_ns();
    if (w->on_lost == ON_LOST_IGNORE || (w->child.ended && !w->terminated))
        return TIMER_NEVER;
    if (w->end_ns && !is_lost(w)) {
        int64_t end_kill_ns = w->end_ns + w->grace_ms * RL_NS_PER_MS;
        w->overtime =
            w->overtime || (!w->terminated && now_ns >= w->end_ns && now_ns < terminate_ns);
        terminate_ns = w->end_ns < terminate_ns ? w->end_ns : terminate_ns;
        kill_ns = end_kill_ns < kill_ns ? end_kill_ns : kill_ns;
    }
    if (w->on_lost == ON_LOST_KILL && terminate_ns < kill_ns)
        kill_ns = terminate_ns;
    /* Once the child itself has obeyed, what it left has had its time as well. */
    if (is_lost(w) || w->killed || w->child.ended || now_ns >= kill_ns) {
        kill_process_tree(w);
        return now_ns + KILL_AGAIN_NS;
    }
    if (now_ns >= terminate_ns)
        terminate_child(w);
    return w->terminated || kill_ns < terminate_ns ? kill_ns : terminate_ns;
}

static bool asks_to_end(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGQUIT;
}

static void on_signals(struct supervision *w)
{
    for (int signal = signals_next(); signal; signal = signals_next()) {
        if (signal == SIGCHLD) {
            int stopped = child_check(&w->child, w->terminated);
            if (stopped && child_stopped(&w->child, stopped)) {
                enforce_deadline(w); /* this process may have been stopped for long */
                child_continue(&w->child);
            }
            process_tree_reap(w->child.ended ? 0 : w->child.pid);
        } else if (w->child.ended) {
            w->asked_to_end = w->asked_to_end || asks_to_end(signal);
            w->cut_short = w->cut_short || signals_is_fatal(signal);
        } else if (signal == SIGCONT) {
            enforce_deadline(w);
            child_continue(&w->child);
        } else {
            w->asked_to_end = w->asked_to_end || asks_to_end(signal);
            child_signal(&w->child, signal);
        }
    }
}

/* May the lock go? Else *wake_ns becomes the time until which it is kept. */
static bool is_over(struct supervision *w, int64_t *wake_ns)
{
    if (w->terminated && w->child.ended && process_tree_is_gone()) {
        /* By the clock: a signal sent in time may have been obeyed late. */
        w->late = w->late || timer_now_ns() >= w->deadline_ns;
        return true;
    }
    if (w->killed && timer_now_ns() >= w->give_up_ns) {
        w->survived = true;
        return true;
    }
    if (w->terminated || !w->child.ended)
        return false;
    if (w->cut_short || is_lost(w) || w->child.start_error ||
        timer_now_ns() >= w->hold_until_ns)
        return true;
    *wake_ns = w->hold_until_ns;
    return false;
}

int supervise_child(struct supervision *w)
{
    struct pollfd watched[] = {
        {.fd = held_lock_fd(w->held), .events = POLLIN},
        {.fd = w->signal_fd, .events = POLLIN},
        {.fd = w->timer_fd, .events = POLLIN},
        {.fd = w->child.outcome_fd, .events = POLLIN},
    };
    w->reported_state = REDLOCK_STATE_HELD;
    for (;;) {
        int64_t wake_ns = enforce_deadline(w);
        if (is_over(w, &wake_ns))
            return 0;
        announce_changes(w);
        timer_set(w->timer_fd, wake_ns);
        watched[3].fd = w->child.outcome_fd;
        if (poll(watched, 4, -1) < 0 && errno != EINTR) {
            int error = errno;
            child_signal(&w->child, SIGKILL);
            return error;
        }
        if (watched[3].revents)
            child_read_outcome(&w->child);
        if (watched[2].revents)
            timer_drain(w->timer_fd);
        if (watched[1].revents)
            on_signals(w);
        held_lock_process(w->held, 0);
    }
}
