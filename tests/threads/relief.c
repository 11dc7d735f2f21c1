/* SPDX-License-Identifier: BSD-2-Clause */
/* Which thread drives a client with an I/O thread: that, or the reader of events
 * in its place. */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { TRIES = 10, CYCLES = 300 };

static _Atomic bool was_notified;
static pthread_t notifier;

static void note_thread(void *data)
{
    (void)data;
    notifier = pthread_self();
    was_notified = true;
}

/* A renewed lock whose reader has waited for events, and whose keys are gone. */
static redlock_lock *begin_loss(const struct cluster *c, redlock *r)
{
    const redlock_event *event;
    redlock_lock *lock = NULL;

    was_notified = false;
    lock = CLIENT_START(r, "x", RENEWED_TTL_MS, .flags = REDLOCK_RENEW);
    while (redlock_next(r, &event, -1) == 0)
        ;
    CHECK_OK(event->error);
    CHECK(event->lock == lock);
    cluster_del(c, 0, 3, "redlock:x");
    return lock;
}

CASE_ON(a_waiting_reader_drives,
        "A thread that waits in redlock_next() drives: notify runs on it, not the I/O thread.",
        .flags = REDLOCK_THREAD, .notify = note_thread)
{
    const redlock_event *event;
    bool is_ours = false;

    /* A reader that the machine stops for milliseconds between two turns is one
     * that is away. */
    for (int i = 0; i < TRIES && !is_ours; i++) {
        redlock_lock *lock = begin_loss(c, r);

        do {
            while (redlock_next(r, &event, -1) == 0)
                ;
        } while (event->type != REDLOCK_EVENT_LOST);
        CHECK(was_notified);
        is_ours = pthread_equal(notifier, pthread_self());
        redlock_lock_free(lock);
    }
    CHECK(is_ours);
}

CASE_ON(the_io_thread_takes_over,
        "While the reader is away the I/O thread renews, finds the loss and runs notify.",
        .flags = REDLOCK_THREAD, .notify = note_thread)
{
    redlock_lock *lock = begin_loss(c, r);

    AWAIT(was_notified);
    CHECK(!pthread_equal(notifier, pthread_self()));
    CHECK_INT(REDLOCK_STATE_LOST, redlock_state(lock));
}

static void *block_again_and_again(void *data)
{
    redlock_lock *lock = NULL;

    for (int i = 0; i < CYCLES; i++) {
        CHECK_OK(redlock_acquire(data, "blocked", LONG_TTL_MS, NULL, &lock));
        CHECK_OK(redlock_release(lock));
        redlock_lock_free(lock);
        lock = NULL;
    }
    return NULL;
}

CASE_ON(beside_blocked_calls,
        "Blocking calls of a thread and events of another are served "
        "by whichever thread drives.",
        .flags = REDLOCK_THREAD)
{
    const redlock_event *event;
    pthread_t thread;

    CHECK_INT(0, pthread_create(&thread, NULL, block_again_and_again, r));
    for (int i = 0; i < CYCLES; i++) {
        redlock_lock *lock = NULL;

        CHECK_OK(redlock_start_acquire(r, "read", LONG_TTL_MS, NULL, &lock));
        while (redlock_next(r, &event, -1) == 0)
            ;
        CHECK_OK(event->error);
        /* Now and then the reader stays away for longer than the I/O thread stands by. */
        if (i % 32 == 0)
            sleep_ms(5);
        CHECK_OK(redlock_start_release(lock));
        while (redlock_next(r, &event, -1) == 0)
            ;
        CHECK_OK(event->error);
        redlock_lock_free(lock);
    }
    pthread_join(thread, NULL);
}
