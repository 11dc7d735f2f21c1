/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Leaders, as a layer on the events of a lock: a candidate is elected when it gets the lock,
 * and deposed when it loses it. Copy this file; examples/leader.c uses it.
 *
 * A term is the fencing token of its lock: larger than that of every term before. What a leader
 * writes or sends carries it, for the other side to refuse smaller ones. A leader stops before
 * lead_stop_by_ns(), which nothing has to tell it: it is a time of its own clock.
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

/* Stands for election, for as long as it takes. Returns REDLOCK_OK, or an error at once. */
static inline int lead_stand(struct lead *l)
{
    redlock_request request =
        REDLOCK_REQUEST(.flags = REDLOCK_FENCED | REDLOCK_RENEW,
                        .wait_ms = REDLOCK_WAIT_FOREVER, .label = l->label);
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

#endif
