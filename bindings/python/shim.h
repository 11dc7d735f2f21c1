/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Python needs besides redlock.h: many events with one call, and the ends of a handle.
 *
 * Python keeps a handle in a slot, which is NULL when there is none. A signal handler of Python
 * may raise between any two of its steps, but not inside a call of C. So a call fills the slot,
 * and a call empties it: a handle is neither forgotten nor freed twice.
 */
#ifndef RLPY_SHIM_H
#define RLPY_SHIM_H

#include <redlock.h>

/*
 * redlock_next() without waiting, repeated. Of operations that succeeded only `data` is of
 * interest: it goes to `succeeded`, their number to `count`. The first other event is returned
 * as redlock_next() does: 1 and *event. 0: nothing is left. 2: `succeeded` is full.
 */
static inline int rlpy_next(redlock *client, int64_t *succeeded, int max, int *count,
                            const redlock_event **event)
{
    for (*count = 0; *count < max; (*count)++) {
        int result = redlock_next(client, event, 0);

        if (result != 1 || (*event)->type > REDLOCK_EVENT_RELEASED || (*event)->error)
            return result;
        succeeded[*count] = (int64_t)(intptr_t)(*event)->data;
    }
    return 2;
}

static inline redlock_lock *rlpy_take(redlock_lock **slot)
{
    redlock_lock *lock = *slot;

    *slot = NULL;
    return lock;
}

static inline void rlpy_free(redlock_lock **slot)
{
    redlock_lock_free(rlpy_take(slot));
}

static inline void rlpy_leave(redlock_lock **slot)
{
    redlock_lock_leave(rlpy_take(slot));
}

/*
 * For an acquire whose caller does not get the lock. With REDLOCK_KEEP the library keeps it
 * once ACQUIRED was returned; the caller may be interrupted or canceled between that and the
 * end of its call, and cannot release what it never had.
 */
static inline void rlpy_undo(redlock_lock **slot)
{
    if (*slot && redlock_state(*slot) == REDLOCK_STATE_WAITING)
        (void)redlock_cancel(*slot);
    else if (*slot) /* refused if nothing was granted: then there is nothing to keep */
        (void)redlock_start_release(*slot);
    rlpy_free(slot);
}

#endif
