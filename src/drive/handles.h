/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles: allocating them, the client's lists of them, freeing them. */
#ifndef RL_DRIVE_HANDLES_H
#define RL_DRIVE_HANDLES_H

#include "drive/client.h"

/* Names as they are asked for: sorted, each once. Points to the caller's strings. */
struct rl_names {
    size_t count;
    struct rl_slice name[REDLOCK_NAMES_MAX];
    struct rl_slice owner; /* REENTRANT */
    struct rl_slice tag;   /* of its values, as the label; of size 0: none */
    struct rl_slice label;
};

/* NULL: out of memory. */
redlock_lock *rl_lock_new(redlock *client, const struct rl_names *names,
                          const struct rl_lock_terms *terms);
/* For one name; size 0: for none. */
redlock_lock *rl_lock_new_for(redlock *client, const char *name, size_t name_size,
                              const struct rl_lock_terms *terms);
void rl_lock_discard(redlock *client, redlock_lock *lock, bool give_up);

/*
 * The client's own decision to release or to stop trying, because it is closed or the owning thread
 * has ended. A caller that waits for an operation of this lock gets CANCELED.
 */
void rl_give_up(redlock *client, redlock_lock *lock, int64_t now_ns);

#endif
