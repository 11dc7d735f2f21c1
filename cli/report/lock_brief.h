/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is shown of a lock. A redlock_info has room for many holders and waiters, most of it
 * unused: a brief points to those that are there, or owns a copy of them where thousands of
 * locks are kept.
 */
#ifndef CLI_LOCK_BRIEF_H
#define CLI_LOCK_BRIEF_H

#include <redlock.h>
#include <stdbool.h>
#include <stdint.h>

struct rl_json;

struct lock_brief {
    bool held, disagree;
    bool record; /* of a run: it has no holder, and nodes may have forgotten it (ui/record.h) */
    int32_t kind;  /* -1: nothing is held, or it is unknown */
    int32_t votes; /* on how many nodes */
    uint32_t holder_count, slots;
    uint32_t waiter_count;
    int64_t left_ms; /* of the last holder; -1: unknown or without expiry */
    int64_t fence;
    char value[REDLOCK_VALUE_MAX + 1];
    char owner[REDLOCK_OWNER_MAX + 1];
    const redlock_holder *holder; /* `shown_holders` of them, the one of `value` first */
    const redlock_waiter *waiter; /* `shown_waiters` of them, from the head of the queue */
    uint32_t shown_holders, shown_waiters;
    void *owned;
};

/* A view of *info, which must outlive it. `left_ms` as above. */
struct lock_brief lock_brief_of(const char *name, const redlock_info *info, int64_t left_ms);

/* A copy that owns what it points to, to be freed. False: out of memory, and *out is
 * as it was. */
bool lock_brief_copy(struct lock_brief *out, const char *name, const redlock_info *info,
                     int64_t left_ms);
void lock_brief_free(struct lock_brief *b);

/* The one that has held it for longest, of those that are shown; NULL: none. */
const redlock_holder *lock_brief_longest(const struct lock_brief *b);

/* Its members of the object being written: the same for `status`, `list` and `top`. */
void lock_brief_json(const struct lock_brief *b, struct rl_json *j);

#endif
