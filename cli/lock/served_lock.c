/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/served_lock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/errors.h"
#include "ui/message.h"
#include "ui/text.h"

#define ANNOUNCE_AFTER_NS RL_NS_PER_S /* a shorter wait is not worth a mail from cron */
#define ANNOUNCE_EVERY_NS 60000000000LL

/* For poll(): as long as until then, rounded up. */
static int timeout_ms(int64_t until_ns)
{
    int64_t left_ns = until_ns - timer_now_ns();
    return until_ns == TIMER_NEVER ? -1 : left_ns > 0 ? (int)(left_ns / RL_NS_PER_MS) + 1 : 0;
}

int served_lock_process(struct held_lock *h, int timeout_ms)
{
    struct pollfd watched = {.fd = service_hold_fd(h->hold), .events = POLLIN};
    const struct service_state *state;
    if (timeout_ms != 0)
        poll(&watched, 1, timeout_ms);
    state = service_hold_turn(h->hold);
    if (h->state == REDLOCK_STATE_LOST)
        return h->state;
    if (state->phase == SERVICE_LOST) {
        snprintf(h->detail, sizeof h->detail, "%s", state->detail);
        h->report = state->report;
        h->lost_error = state->error;
        h->state = REDLOCK_STATE_LOST;
    } else if (state->phase == SERVICE_HELD) {
        if (state->jeopardy && h->state == REDLOCK_STATE_HELD) {
            h->failed_renewal.node_count = 0;
            snprintf(h->detail, sizeof h->detail, "%s", state->detail);
        }
        h->state = state->jeopardy ? REDLOCK_STATE_JEOPARDY : REDLOCK_STATE_HELD;
    }
    return h->state;
}

static int fail_to_start(struct held_lock *h)
{
    h->report.node_count = 0;
    snprintf(h->detail, sizeof h->detail, "%s", strerror(errno));
    return REDLOCK_SYSTEM;
}

/* Is it the service that keeps us waiting, not the holder of the lock? */
static bool is_failing(const struct service_state *state)
{
    return state->error != REDLOCK_OK && state->error != REDLOCK_BUSY;
}

/* What the service last replied may be history: a failure is reported
 * when it happens. */
static void announce(const struct terms *terms, const struct service_state *state)
{
    char name[TERMS_TEXT_MAX], safe[SERVICE_DETAIL_MAX] = "";
    terms_text(terms, name);
    if (!is_failing(state))
        rl_quote_safe(safe, sizeof safe, state->detail);
    message_line("waiting for %s%s%s", name, safe[0] ? ": " : "", safe);
}

/* A wait without a limit would hide it. */
static void warn_of_failure(const struct settings *s, const struct service_state *state)
{
    char safe[SERVICE_DETAIL_MAX];
    rl_quote_safe(safe, sizeof safe, state->detail);
    message_warn("%s; trying until it can%s", safe,
                 s->wait_ms == REDLOCK_WAIT_FOREVER ? " (-w TIME would limit that)" : "");
}

/* Until it is granted or refused, or a signal ends the wait, which is returned. */
static int wait_for_hold(struct held_lock *h, const struct settings *s,
                         const struct terms *terms, int signal_fd)
{
    struct pollfd watched[] = {{.fd = service_hold_fd(h->hold), .events = POLLIN},
                               {.fd = signal_fd, .events = POLLIN}};
    bool silent = s->quiet || s->json || s->wait_ms == 0;
    int64_t announce_ns = silent ? TIMER_NEVER : timer_now_ns() + ANNOUNCE_AFTER_NS;
    int64_t warn_ns = silent ? TIMER_NEVER : 0;
    int signal = 0;
    for (;;) {
        const struct service_state *state = service_hold_turn(h->hold);
        if (state->phase != SERVICE_WAITING || signal)
            return signal;
        if (is_failing(state) && timer_now_ns() >= warn_ns) {
            warn_of_failure(s, state);
            warn_ns = timer_now_ns() + ANNOUNCE_EVERY_NS;
        }
        if (timer_now_ns() >= announce_ns) {
            announce(terms, state);
            announce_ns = timer_now_ns() + ANNOUNCE_EVERY_NS;
        }
        poll(watched, 2, timeout_ms(announce_ns));
        if (watched[1].revents)
            signal = signals_next_fatal();
    }
}

int served_lock_acquire(struct held_lock *h, const struct settings *s,
                        const struct terms *terms, int signal_fd, int *signal_out)
{
    const struct service_state *state;
    int error;
    *signal_out = 0;
    if (errors_detach() != 0)
        return fail_to_start(h);
    h->served = (struct service_terms){
        .name = terms->name[0],
        .ttl_ms = s->ttl_ms,
        .wait_ms = s->wait_ms,
        .kind = redlock_kind_text(terms_kind(terms)),
        .fenced = terms_fenced(terms),
        .fair = terms->fair,
        .slots = terms->slots,
        .owner = terms->owner,
        .label = terms->label,
    };
    h->hold = service_hold_start(&h->service, &h->served);
    if (!h->hold)
        return fail_to_start(h);
    *signal_out = wait_for_hold(h, s, terms, signal_fd);
    state = service_hold_look(h->hold);
    if (state->phase == SERVICE_HELD && *signal_out == 0)
        return REDLOCK_OK;
    error = *signal_out ? REDLOCK_CANCELED : state->error;
    snprintf(h->detail, sizeof h->detail, "%s", state->detail);
    h->report = state->report;
    served_lock_close(h);
    return error;
}

void served_lock_close(struct held_lock *h)
{
    service_hold_free(h->hold);
    h->hold = NULL;
}
