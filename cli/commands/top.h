/* SPDX-License-Identifier: BSD-2-Clause */
/* `redlock top`: what it sees, and how it is drawn. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/look.h"
#include "ui/screen.h"

/*
 * What `redlock top` sees: every now and then all nodes and all locks are looked at, and what
 * has changed since the last time is counted. A lock that is free at the moment of looking is
 * remembered for a while: those that come and go quickly are the busiest.
 */
struct sample_lock {
    char *name;               /* owned */
    struct snapshot snapshot; /* owned; of the last look at it */
    int64_t looked_ns;        /* 0: not yet */
    int64_t changes; /* of the holder, as seen since the time before: 1 at most; -1: unknown */
    int64_t span_ms; /* that these took */
    uint32_t idle;   /* samples in a row in which it had neither holder nor waiter */
};

/* In which order the locks are shown. */
enum sample_order {
    SAMPLE_BUSY, /* trouble, then those for which most wait, then those held for longest */
    SAMPLE_NAME,
    SAMPLE_AGE,  /* held for longest first */
    SAMPLE_LEFT, /* what ends next first */
    SAMPLE_ORDERS,
};

struct sample {
    struct look *look; /* only names that match its words */
    enum sample_order order;
    redlock_report *pings; /* owned; of each quorum */
    size_t quorum_count;
    bool quarantined; /* some node is */
    bool available;   /* some quorum has a majority that answers: its locks are here */
    int error; /* why locks are missing, all or those of some quorum: enum redlock_error */
    char detail[SERVICE_DETAIL_MAX];
    struct sample_lock *locks; /* owned; in `order` */
    size_t count;
    size_t unseen; /* of them, that there was no time for */
};

/* Called between two looks: whether to stop. */
typedef bool sample_stop_fn(void *data);

/* Looks anew. Locks that cannot be looked at within `budget_ms` are left for the next time. */
void sample_take(struct sample *s, int64_t budget_ms, sample_stop_fn *stop, void *data);

/* Shows them in another order from now on. */
void sample_sort(struct sample *s, enum sample_order order);

/* "busy", "name", "age", "left" */
const char *sample_order_word(enum sample_order order);

void sample_free(struct sample *s);

/* What `redlock top` draws of one look at the nodes. */

void top_view_draw(struct screen *screen, const struct sample *sample);

/* The same as JSON. */
void top_view_json(const struct sample *s);

/* A table whose rows are lines, each in the colour of its first cell. */
void top_view_table(struct screen *screen, struct table *table);

/* `redlock top --by class`: what a replica of redlockd has counted of each class of locks. */

/* Zero: nothing was requested yet. */
struct top_classes {
    struct service_answer answer; /* owned; to the last request */
};
void top_classes_free(struct top_classes *c);

/* Queries the service anew; ends early when a signal has come. OK, or an enum redlock_error. */
int top_classes_take(struct top_classes *c, struct look *look);

void top_classes_draw(struct screen *screen, const struct top_classes *c);
void top_classes_json(const struct top_classes *c);

#endif
