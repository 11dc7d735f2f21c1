/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Leaders, as a layer on the events of a lock: a candidate is elected when it gets the lock,
 * and deposed when it loses it. Copy this file. A program that does nothing but its work while
 * it leads calls lead_run() (examples/scheduler.c); one with a loop of its own, or with several
 * names, lead_stand() and lead_take() (examples/leader.c).
 *
 * A term is the fencing token of its lock: larger than that of every term before. What a leader
 * writes or sends carries it, for the other side to refuse smaller ones. A leader stops before
 * lead_stop_by_ns(), of which it needs no message: it is a time of its own clock.
 */
#ifndef EXAMPLE_LEAD_H
#define EXAMPLE_LEAD_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

/* All but `term` and `lock` is set by the caller, and stays. */
struct lead {
    redlock *client;
    const char *name, *label; /* the label is what `redlock leader` shows; NULL: none */
    int64_t ttl_ms;
    redlock_lock *lock; /* of the candidate, or of the leader; NULL: neither */
    int64_t term;       /* 0: it does not lead */
};

enum lead_news {
    LEAD_NO_NEWS,
    LEAD_ELECTED, /* lead.term is the term */
    LEAD_DEPOSED, /* it is over: lead_stand() again, once the work has stopped */
    LEAD_FAILED,  /* not elected: event->error and event->detail */
};

static inline redlock_request lead_request(const struct lead *l)
{
    redlock_request request =
        REDLOCK_REQUEST(.flags = REDLOCK_FENCED | REDLOCK_RENEW,
                        .wait_ms = REDLOCK_WAIT_FOREVER, .label = l->label);

    return request;
}

/* Stands for election, for as long as it takes. Returns REDLOCK_OK, or an error at once. */
static inline int lead_stand(struct lead *l)
{
    redlock_request request = lead_request(l);

    return redlock_start_acquire(l->client, l->name, l->ttl_ms, &request, &l->lock);
}

/* What an event of redlock_next() means for it. */
static inline enum lead_news lead_take(struct lead *l, const redlock_event *event)
{
    if (!l->lock || event->lock != l->lock)
        return LEAD_NO_NEWS;
    if (event->type == REDLOCK_EVENT_ACQUIRED && event->error == REDLOCK_OK) {
        l->term = redlock_fence(l->lock);
        return LEAD_ELECTED;
    }
    if (event->type != REDLOCK_EVENT_ACQUIRED && event->type != REDLOCK_EVENT_LOST)
        return LEAD_NO_NEWS;
    redlock_lock_free(l->lock);
    l->lock = NULL;
    l->term = 0;
    return event->type == REDLOCK_EVENT_LOST ? LEAD_DEPOSED : LEAD_FAILED;
}

/* When the leader stops if nothing has renewed its lock, CLOCK_BOOTTIME; 0: it
 * does not lead. */
static inline int64_t lead_stop_by_ns(const struct lead *l)
{
    return l->term ? redlock_deadline_ns(l->lock) : 0;
}

/* Resigns, or is no candidate any more. To resign is to release: the next one is
 * elected at once. */
static inline void lead_resign(struct lead *l)
{
    redlock_lock_free(l->lock);
    l->lock = NULL;
    l->term = 0;
}

/* May it act now? Looked at before each step: the step is to end before lead_stop_by_ns(). */
static inline bool lead_may_act(const struct lead *l)
{
    return l->term && redlock_remaining_ms(l->lock) > 0;
}

/*
 * Stands for election again and again, and calls act() in each term. act() returns when it has
 * stopped: true to stand again, false for good; either way it resigns. The client has
 * REDLOCK_THREAD, which renews the lock meanwhile. REDLOCK_OK, or why it was not elected.
 */
static inline int lead_run(struct lead *l, bool (*act)(struct lead *l, void *data), void *data)
{
    redlock_request request = lead_request(l);
    bool goes_on = true;
    int error = REDLOCK_OK;

    while (goes_on && (error = redlock_acquire(l->client, l->name, l->ttl_ms, &request,
                                               &l->lock)) == REDLOCK_OK) {
        l->term = redlock_fence(l->lock);
        goes_on = act(l, data);
        lead_resign(l);
    }
    return error;
}

#endif
