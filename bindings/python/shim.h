/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Python needs besides redlock.h: many events with one call, threads that wait without the
 * interpreter's lock, and the ends of a handle.
 *
 * Python keeps a handle in a slot, which is NULL when there is none. A signal handler of Python
 * may raise between any two of its steps, but not inside a call of C. So a call fills the slot,
 * and a call empties it: a handle is neither forgotten nor freed twice.
 */
#ifndef RLPY_SHIM_H
#define RLPY_SHIM_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <redlock.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * How the threads of a client wait. A release or an extension is a blocking call: it enters
 * `gate` shared, closing alone. A thread that acquires sleeps outside the library, so that a
 * signal, a cancel or the end of the client can wake it, on a bell that the reader of the
 * events rings. A bell is of many locks: a thread that it wakes in vain sleeps again.
 */
#define RLPY_BELLS 64

typedef struct rlpy_threads {
    pthread_rwlock_t gate;
    bool is_closed;
    atomic_uint bell[RLPY_BELLS];
} rlpy_threads;

static inline int rlpy_open(const redlock_options *options, rlpy_threads *threads,
                            redlock **out)
{
    pthread_rwlock_init(&threads->gate, NULL);
    return redlock_open(options, out);
}

static inline void rlpy_close(redlock *client, rlpy_threads *threads)
{
    pthread_rwlock_wrlock(&threads->gate);
    threads->is_closed = true;
    redlock_close(client);
    pthread_rwlock_unlock(&threads->gate);
}

/* Waits for the nodes: extends the lock, or releases it if ttl_ms is 0. */
static inline int rlpy_operate(rlpy_threads *threads, redlock_lock *lock, int64_t ttl_ms)
{
    int error;

    pthread_rwlock_rdlock(&threads->gate);
    error = ttl_ms ? redlock_extend(lock, ttl_ms) : redlock_release(lock);
    pthread_rwlock_unlock(&threads->gate);
    return error;
}

/* `data` is that of the lock. */
static inline void rlpy_ring(rlpy_threads *threads, uintptr_t data)
{
    atomic_uint *bell = &threads->bell[data % RLPY_BELLS];

    atomic_fetch_add(bell, 1);
    syscall(SYS_futex, bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Until a started acquire has ended. 0: acquired. 1: not acquired. 2: a signal came. */
static inline int rlpy_await(rlpy_threads *threads, const redlock_lock *lock, uintptr_t data)
{
    atomic_uint *bell = &threads->bell[data % RLPY_BELLS];

    for (;;) {
        unsigned rung = atomic_load(bell);
        int state = redlock_state(lock);

        if (state != REDLOCK_STATE_WAITING)
            return state < REDLOCK_STATE_HELD || state > REDLOCK_STATE_LOST;
        if (syscall(SYS_futex, bell, FUTEX_WAIT_PRIVATE, rung, NULL, NULL, 0) < 0 &&
            errno == EINTR)
            return 2;
    }
}

/* Starts it, and waits as rlpy_await() does. Negative: it could not be started. */
static inline int rlpy_acquire(redlock *client, const char *name, int64_t ttl_ms,
                               const redlock_request *request, redlock_lock **slot,
                               rlpy_threads *threads)
{
    int error = REDLOCK_CANCELED;

    pthread_rwlock_rdlock(&threads->gate);
    if (!threads->is_closed)
        error = redlock_start_acquire(client, name, ttl_ms, request, slot);
    pthread_rwlock_unlock(&threads->gate);
    return error ? error : rlpy_await(threads, *slot, (uintptr_t)request->data);
}

/*
 * For the thread that takes the events: waits for the next one until `end_fd` is readable and
 * none is left, which is 0. With `rings`, acquires that succeeded are not returned: the threads
 * that wait for them are woken.
 */
static inline int rlpy_listen(redlock *client, rlpy_threads *threads, int end_fd, bool rings,
                              const redlock_event **event)
{
    struct pollfd fds[] = {{.fd = redlock_fd(client), .events = POLLIN},
                           {.fd = end_fd, .events = POLLIN}};
    bool is_over = false;

    for (;;) {
        int result = 0;
        bool is_outcome;

        pthread_rwlock_rdlock(&threads->gate);
        if (!threads->is_closed)
            result = redlock_next(client, event, 0);
        is_outcome = result == 1 && rings && (*event)->type == REDLOCK_EVENT_ACQUIRED;
        if (is_outcome)
            rlpy_ring(threads, (uintptr_t)(*event)->data);
        pthread_rwlock_unlock(&threads->gate);
        if (is_outcome && !(*event)->error)
            continue;
        if (result != 0 || is_over)
            return result;
        is_over = poll(fds, 2, -1) > 0 && fds[1].revents;
    }
}

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
    if (*slot) {
        /* The thread that takes the events may hand the grant out at any moment: both, whatever
         * the state is now. The first has no effect behind ACQUIRED, and the second is refused
         * where nothing is held. */
        (void)redlock_cancel(*slot);
        (void)redlock_start_release(*slot);
    }
    rlpy_free(slot);
}

#endif
