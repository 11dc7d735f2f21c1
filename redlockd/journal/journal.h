/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal: one call notes what happened. Its readers are the counters of /metrics, the
 * classes, the audit log, the locks in trouble, the feeds of events, and polls for a leader.
 */
#ifndef REDLOCKD_JOURNAL_H
#define REDLOCKD_JOURNAL_H

#include "journal/audit.h"
#include "journal/classes.h"
#include "journal/entry.h"
#include "journal/feeds.h"
#include "journal/trouble.h"
#include "redlock.h"

#define JOURNAL_REASONS_MAX 16

struct journal {
    uint64_t count[JOURNAL_EVENT_COUNT];
    redlock_histogram hold; /* for how long locks were held, where this replica knows that */
    struct {
        const char *word; /* of the program, never of a client */
        uint64_t count;
    } lost[JOURNAL_REASONS_MAX];
    struct classes *classes; /* these two are of the settings: HUP replaces what is in them */
    struct audit *audit;
    struct trouble trouble;
    struct feeds feeds;
    void *context; /* of on_change(): the state of this lock changed; NULL: none reads it now */
    void (*on_change)(void *context, const char *name);
};

/* 0, or -1: out of memory. */
int journal_init(struct journal *journal, struct access *access, struct audit *audit,
                 struct classes *classes);
/* After the server is freed. */
void journal_free(struct journal *journal);

void journal_note(struct journal *journal, const struct journal_entry *entry);

#endif
