/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/served_lock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "service/lease.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/errors.h"
#include "ui/message.h"
#include "ui/text.h"

#define ANNOUNCE_AFTER_NS 1000000000LL /* a shorter wait is not worth a mail from cron */
#define ANNOUNCE_EVERY_NS 60000000000LL

/* ---- what the thread says ---- */

static void take_failure(struct held_lock *h, const struct service_state *state)
{
    snprintf(h->detail, sizeof h->detail, "%s", state->detail);
    h->report = state->report;
    h->report.size = sizeof h->report;
    h->error = state->error;
}

void served_lock_process(struct held_lock *h)
{
    struct service_state state;
    service_lease_look(h->lease, &state);
    if (state.phase == SERVICE_LOST && !h->lost) {
        h->lost = true;
        h->lost_error = state.error;
        take_failure(h, &state);
    }
    if (state.phase == SERVICE_HELD && state.jeopardy != h->jeopardy) {
        h->jeopardy = state.jeopardy;
        h->jeopardy_changed = true;
        h->failed_renewal.node_count = 0;
        snprintf(h->detail, sizeof h->detail, "%s", state.detail);
    }
    h->fence = state.fence;
}

static void await_change(struct held_lock *h, int64_t until_ns)
{
    struct pollfd watched = {.fd = service_lease_fd(h->lease), .events = POLLIN};
    int64_t left_ns = until_ns == TIMER_NEVER ? 0 : until_ns - timer_now_ns();
    int wait_ms = until_ns == TIMER_NEVER ? -1
                  : left_ns > 0           ? (int)(left_ns / NS_PER_MS) + 1
                                          : 0;
    poll(&watched, 1, wait_ms);
    served_lock_process(h);
}

/* ---- acquiring ---- */

static int fail_to_start(struct held_lock *h)
{
    h->error = REDLOCK_SYSTEM;
    h->report.node_count = 0;
    snprintf(h->detail, sizeof h->detail, "%s", strerror(errno));
    return REDLOCK_SYSTEM;
}

static void announce(const struct terms *terms, const struct service_state *state)
{
    char name[TERMS_TEXT_MAX], safe[SERVICE_DETAIL_MAX];
    terms_text(terms, name);
    text_safe(safe, sizeof safe, state->detail);
    message_line("waiting for %s%s%s", name, safe[0] ? ": " : "", safe);
}

/* Until it is granted or refused, or a signal ends the wait. */
static int wait_for_lease(struct held_lock *h, const struct settings *s,
                          const struct terms *terms, int signal_fd, struct service_state *state)
{
    struct pollfd watched[] = {{.fd = service_lease_fd(h->lease), .events = POLLIN},
                               {.fd = signal_fd, .events = POLLIN}};
    bool silent = s->quiet || s->json || s->wait_ms == 0;
    int64_t announce_ns = silent ? TIMER_NEVER : timer_now_ns() + ANNOUNCE_AFTER_NS;
    int signal = 0;
    service_lease_look(h->lease, state);
    while (state->phase == SERVICE_WAITING && signal == 0) {
        int64_t left_ns = announce_ns - timer_now_ns();
        poll(watched, 2,
             announce_ns == TIMER_NEVER ? -1
             : left_ns > 0              ? (int)(left_ns / NS_PER_MS) + 1
                                        : 0);
        if (watched[1].revents)
            signal = signals_next_fatal();
        service_lease_look(h->lease, state);
        if (timer_now_ns() >= announce_ns && state->phase == SERVICE_WAITING) {
            announce(terms, state);
            announce_ns = timer_now_ns() + ANNOUNCE_EVERY_NS;
        }
    }
    return signal;
}

int served_lock_acquire(struct held_lock *h, const struct settings *s,
                        const struct terms *terms, int signal_fd, int *signal_out)
{
    struct service_state state;
    *signal_out = 0;
    if (errors_detach() != 0)
        return fail_to_start(h);
    h->served = (struct service_terms){
        .name = terms->name[0],
        .ttl_ms = s->ttl_ms,
        .wait_ms = s->wait_ms,
        .kind = redlock_kind_text(terms_kind(terms)),
        .fenced = terms->fenced,
        .fair = terms->fair,
        .slots = terms->slots,
        .owner = terms->owner,
        .label = terms->label,
    };
    h->lease = service_lease_start(&h->service, &h->served);
    if (!h->lease)
        return fail_to_start(h);
    *signal_out = wait_for_lease(h, s, terms, signal_fd, &state);
    if (*signal_out) {
        served_lock_close(h);
        return REDLOCK_CANCELED;
    }
    if (state.phase == SERVICE_HELD) {
        served_lock_process(h);
        h->error = REDLOCK_OK;
        return REDLOCK_OK;
    }
    take_failure(h, &state);
    served_lock_close(h);
    return h->error;
}

/* ---- held ---- */

bool served_lock_freshen(struct held_lock *h, int64_t least_ms)
{
    while (!h->lost) {
        int64_t deadline_ns = service_lease_deadline_ns(h->lease);
        int64_t now_ns = timer_now_ns();
        if ((deadline_ns - now_ns) / NS_PER_MS > least_ms)
            return true;
        if (now_ns >= deadline_ns)
            return false;
        await_change(h, deadline_ns);
    }
    return false;
}

int served_lock_release(struct held_lock *h)
{
    struct service_state state;
    service_lease_end(h->lease);
    service_lease_look(h->lease, &state);
    while (state.phase != SERVICE_ENDED) {
        struct pollfd watched = {.fd = service_lease_fd(h->lease), .events = POLLIN};
        poll(&watched, 1, -1);
        service_lease_look(h->lease, &state);
    }
    h->error = state.error;
    return h->error;
}

void served_lock_close(struct held_lock *h)
{
    service_lease_free(h->lease);
    h->lease = NULL;
}
