/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks in trouble, as this replica has seen it, for GET /v1/status: the worst first, one entry
 * for a name and a state.
 *
 *     jeopardy  the renewal of a stream failed; until it recovers, ends or is lost
 *     lost      gone before its time; for TROUBLE_KEPT_NS
 *     broken    evicted by an operator; for TROUBLE_KEPT_NS
 *     expired   never released: its client died or forgot it; for TROUBLE_KEPT_NS
 *
 * Bounded: when all TROUBLE_MAX are taken, the oldest of the least bad ones is forgotten.
 */
#ifndef REDLOCKD_JOURNAL_TROUBLE_H
#define REDLOCKD_JOURNAL_TROUBLE_H

#include <stdint.h>

#include "base/time.h"
#include "journal/entry.h"
#include "redlock.h"

#define TROUBLE_MAX 64
#define TROUBLE_KEPT_NS (300 * RL_NS_PER_S)
#define TROUBLE_REASON_MAX 32

struct trouble_entry {
    enum journal_event event;
    int64_t at_ns;
    char name[REDLOCK_NAME_MAX + 1];
    char label[REDLOCK_LABEL_MAX + 1];   /* empty: none */
    char reason[TROUBLE_REASON_MAX + 1]; /* empty: none */
};

struct trouble {
    struct trouble_entry entries[TROUBLE_MAX]; /* the worst first, then the newest */
    unsigned count;
};

/* Of every change of a lock; most are no trouble, or end one. */
void trouble_note(struct trouble *trouble, const struct journal_entry *entry);

/* Forgets what is old. */
void trouble_age(struct trouble *trouble, int64_t now_ns);

#endif
