/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of lock/held_lock.h that is different where a redlockd is used instead
 * of the nodes. */
#ifndef CLI_SERVED_LOCK_H
#define CLI_SERVED_LOCK_H

#include "lock/held_lock.h"

/* As held_lock_acquire(). */
int served_lock_acquire(struct held_lock *h, const struct settings *s,
                        const struct terms *terms, int signal_fd, int *signal_out);

/* As held_lock_process(). */
int served_lock_process(struct held_lock *h, int timeout_ms);

/* Gives back what is held, and ends a wait. */
void served_lock_close(struct held_lock *h);

#endif
