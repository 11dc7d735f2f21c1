/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which holder had which lock from when to when, and whether that may be: two that exclude each
 * other at the same time, tokens out of order. All times are CLOCK_BOOTTIME, which processes
 * have in common.
 */
#ifndef LAB_HISTORY_HOLDS_H
#define LAB_HISTORY_HOLDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hold_record {
    uint64_t names;     /* a bit for each */
    int kind;           /* enum redlock_kind */
    int slot;           /* of a semaphore, from 1; 0: not known */
    int owner;          /* of a re-entrant lock */
    unsigned number;    /* the caller's own */
    int64_t asked_ns;   /* before the call */
    int64_t granted_ns; /* after it returned */
    int64_t ended_ns;   /* before the release, or the end of the validity if that came first */
    int64_t token;      /* 0: none */
};

/* Do they exclude each other? All kinds of one name use one key. */
bool hold_excludes(const struct hold_record *a, const struct hold_record *b);

/* ---- checks of a list, of which they change the order ---- */

struct hold_list {
    struct hold_record *hold;
    size_t count, room;
};

void hold_list_add(struct hold_list *l, const struct hold_record *hold);
void hold_list_free(struct hold_list *l);
void hold_list_sort(struct hold_list *l); /* by the grants */

/* For each hold, with the others that were held when it was granted. */
typedef void hold_visit_fn(void *data, const struct hold_record *hold,
                           const struct hold_record *const *others, size_t count);
void hold_list_visit(struct hold_list *l, hold_visit_fn *visit, void *data);

/*
 * Holds of one name: each that was requested after another, which got as large a token or a
 * larger one, was complete; or that got the same token. `earlier` NULL: it is `floor` that was
 * not exceeded. Returns the largest token, or the floor.
 */
typedef void hold_order_fn(void *data, const struct hold_record *hold,
                           const struct hold_record *earlier);
int64_t hold_list_order(struct hold_list *l, int64_t floor, hold_order_fn *found, void *data);

/* ---- a record that processes share ---- */

struct holds {
    int capacity;
    _Atomic int count; /* places given out; complete once the processes have ended */
    _Atomic int stop;  /* the processes are to end */
    struct hold_record record[];
};

struct holds *holds_new(int capacity);

/* The place for one more; NULL when it is full, and then they are to stop. */
struct hold_record *holds_add(struct holds *h);

/* Records that are there. */
int holds_count(const struct holds *h);

/* Pairs that excluded each other and were there at the same time. */
int holds_doubles(const struct holds *h);

/* The most holds of the kind at one moment. */
int holds_peak(const struct holds *h, int kind);

/* Of every name: acquisitions that started after another one completed and have no larger
 * token, and tokens that were given twice. */
int holds_disorders(const struct holds *h);

#endif
