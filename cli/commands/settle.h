/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits until an eviction is final. On a Sentinel group a failover can lose the deletion, and
 * the holder goes on with the key that it finds there. So the holder is deleted again whenever
 * another server or incarnation votes for the group, until one has done so for longer than
 * anything granted before can last (docs/elected.md, E13).
 */
#ifndef CLI_SETTLE_H
#define CLI_SETTLE_H

#include <redlock.h>
#include <stdbool.h>

#include "report/look.h"

/* Since when, and in which tenure, has each node been without the holder? */
struct settle {
    redlock *member;
    uint64_t tenure[REDLOCK_NODES_MAX]; /* in which it was deleted; 0: it was not */
    int64_t since_ns[REDLOCK_NODES_MAX];
    uint64_t before[REDLOCK_NODES_MAX]; /* the tenures when the deletion under way was begun */
    uint64_t last[REDLOCK_NODES_MAX];   /* tenures of the deletions before; 0: there was none */
    bool changed; /* one of them is another one since this was looked at */
};

/* In front of every deletion of the lock. */
void settle_begin(struct settle *s, redlock *client, const char *name);
/* Behind it: what each node has answered. */
void settle_note(struct settle *s, const redlock_report *report);

/*
 * After both of the first deletion: goes on until it is final. Returns 0, or an exit status
 * after printing why.
 */
int settle_wait(struct settle *s, struct look *look, const char *name, const char *fingerprint,
                int64_t final_ms);

/* The same through a service, without any of them. */
void settle_wait_service(struct look *look, const char *name, const char *fingerprint,
                         int64_t final_ms);

#endif
