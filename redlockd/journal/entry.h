/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens to locks, as this replica sees it: one entry of the journal. */
#ifndef REDLOCKD_JOURNAL_ENTRY_H
#define REDLOCKD_JOURNAL_ENTRY_H

#include <stdint.h>

#include "base/slice.h"
#include "http/server.h"

/* Which readers an event is for, beside the counters and classes. */
#define JOURNAL_AUDITED 1 /* the audit log */
#define JOURNAL_SHOWN 2   /* the state of a lock changed: feeds, trouble, polls for a leader */
#define JOURNAL_BAD 4     /* that is trouble */

/* NAME, its word, its readers. */
#define JOURNAL_EVENTS(X)                                                                      \
    X(GRANTED, "granted", JOURNAL_AUDITED | JOURNAL_SHOWN)                                     \
    X(RELEASED, "released", JOURNAL_AUDITED | JOURNAL_SHOWN)                                   \
    X(ENDED, "ended", JOURNAL_AUDITED | JOURNAL_SHOWN)                                         \
    X(EXPIRED, "expired", JOURNAL_AUDITED | JOURNAL_SHOWN | JOURNAL_BAD)                       \
    X(LOST, "lost", JOURNAL_AUDITED | JOURNAL_SHOWN | JOURNAL_BAD)                             \
    X(BROKEN, "broken", JOURNAL_AUDITED | JOURNAL_SHOWN | JOURNAL_BAD)                         \
    X(DENIED, "denied", JOURNAL_AUDITED)                                                       \
    X(JEOPARDY, "jeopardy", JOURNAL_SHOWN | JOURNAL_BAD) /* the renewal of a stream failed */  \
    X(RECOVERED, "recovered", JOURNAL_SHOWN)             /* and the next one did not */        \
    X(TIMEOUT, "timeout", 0)                             /* a wait ended without the lock */   \
    X(DISCONNECTED, "disconnected", 0)                   /* its client did */                  \
    X(YOURS, "yours", 0)     /* a request with an id that was granted */                       \
    X(UNKNOWN, "unknown", 0) /* a renewal found nothing, of a lease not known here */

enum journal_event {
#define X(name, word, readers) JOURNAL_##name,
    JOURNAL_EVENTS(X)
#undef X
        JOURNAL_EVENT_COUNT
};

struct journal_entry {
    enum journal_event event;
    const char *principal;        /* NULL: none is proven */
    const char *name;             /* NULL: it is not about a lock */
    const char *label;            /* NULL or empty: none, or unknown */
    int64_t fence;                /* 0: none, or unknown */
    const char *reason;           /* a word for programs; NULL: none */
    int64_t waited_ns;            /* of a grant: since its request */
    int64_t held_ns;              /* of an end: for how long it was held; 0: unknown */
    const struct http_peer *peer; /* of the request; NULL: there is none */
    struct rl_slice path;         /* of one that is denied; empty: unknown */
};

const char *journal_word(enum journal_event event);

#endif
