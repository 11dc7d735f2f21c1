/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drive/drive.h"
#include "io/clock.h"

/* Sockets that no iteration has looked at for this long may have closed meanwhile. */
#define STALE_NS RL_NS_PER_MS

/* ---- the inbox ---- */

void rl_submit(redlock *client, struct rl_submission *submission)
{
    struct rl_submission *first = atomic_load_explicit(&client->inbox, memory_order_relaxed);

    do
        submission->next = first;
    while (!atomic_compare_exchange_weak(&client->inbox, &first, submission));
}

void rl_submissions_carry_out(redlock *client)
{
    struct rl_submission *latest;
    struct rl_submission *next = NULL; /* in the order in which they came */

    if (!atomic_load_explicit(&client->inbox, memory_order_relaxed))
        return;
    latest = atomic_exchange(&client->inbox, NULL);
    while (latest) {
        struct rl_submission *earlier = latest->next;

        latest->next = next;
        next = latest;
        latest = earlier;
    }
    while (next) {
        struct rl_submission *submission = next;

        next = submission->next;
        submission->carry_out(client, submission);
    }
}

bool rl_submits_to_thread(const redlock *client)
{
    return client->threaded && !rl_client_is_forked(client);
}

/* ---- sleeping and waking ---- */

static void futex(atomic_uint *word, int operation, unsigned value)
{
    /* A wait may end early and a wake may find no sleeper: the state decides. */
    syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* The mutex is not held. */
static enum rl_call_state sleep_on(struct rl_call *call)
{
    unsigned state;

    while ((state = atomic_load_explicit(&call->state, memory_order_acquire)) == RL_CALL_ASLEEP)
        futex(&call->state, FUTEX_WAIT, RL_CALL_ASLEEP);
    return (enum rl_call_state)state;
}

static void wake_caller(struct rl_call *call, enum rl_call_state state)
{
    atomic_uint *word = &call->state;

    if (atomic_exchange_explicit(word, state, memory_order_acq_rel) == RL_CALL_ASLEEP)
        futex(word, FUTEX_WAKE, 1);
}

/* ---- callers that could drive ---- */

void rl_stop_driving(redlock *client)
{
    if (client->has_driver)
        return;
    pthread_cond_broadcast(&client->driver_cond);
    if (!LIST_EMPTY(&client->callers))
        wake_caller(LIST_FIRST(&client->callers), RL_CALL_DRIVES);
}

/* The mutex is held; afterwards it is not. There is no I/O thread. */
static int drive_until_finished(redlock *client, struct rl_call *call)
{
    /* So that the request does not go into a connection that ended while no thread looked. */
    if (!client->has_driver && rl_now_ns() - client->polled_ns > STALE_NS) {
        rl_iterate(client, 0);
        rl_stop_driving(client);
    }
    call->is_listed = true;
    LIST_INSERT_HEAD(&client->callers, call, callers);
    rl_submit(client, &call->submission);
    /*
     * Without memory its outcome is known at once, and nothing would end the wait of an
     * iteration.
     */
    if (!client->has_driver)
        rl_submissions_carry_out(client);
    while (atomic_load(&call->state) != RL_CALL_FINISHED) {
        if (!client->has_driver) {
            rl_iterate(client, -1);
            continue;
        }
        rl_wake(client);
        atomic_store(&call->state, RL_CALL_ASLEEP);
        pthread_mutex_unlock(&client->mutex);
        if (sleep_on(call) == RL_CALL_FINISHED)
            return call->result;
        pthread_mutex_lock(&client->mutex);
    }
    rl_stop_driving(client);
    pthread_mutex_unlock(&client->mutex);
    return call->result;
}

/* ---- calls ---- */

void rl_call_finish(struct rl_call *call, int result)
{
    if (call->is_listed)
        LIST_REMOVE(call, callers);
    call->result = result;
    wake_caller(call, RL_CALL_FINISHED);
}

static int leave_to_thread(redlock *client, struct rl_call *call)
{
    atomic_store_explicit(&call->state, RL_CALL_ASLEEP, memory_order_relaxed);
    atomic_fetch_add(&client->relief.blocked, 1);
    rl_submit(client, &call->submission);
    rl_wake(client);
    while (sleep_on(call) != RL_CALL_FINISHED)
        ;
    atomic_fetch_sub(&client->relief.blocked, 1);
    return call->result;
}

int rl_call_wait(redlock *client, struct rl_call *call)
{
    bool for_thread = rl_submits_to_thread(client);
    int cancel_state;
    int result = for_thread ? REDLOCK_OK : rl_client_enter(client);

    if (result)
        return result;
    /* The driver looks at this stack: a thread that is cancelled gets its outcome first. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    result = for_thread ? leave_to_thread(client, call) : drive_until_finished(client, call);
    pthread_setcancelstate(cancel_state, &cancel_state);
    return result;
}

int rl_call_now(redlock *client, struct rl_call *call)
{
    int error = rl_client_enter(client);

    if (error)
        return error;
    call->submission.carry_out(client, &call->submission);
    if (!client->threaded || rl_reader_drain(client->reader) == RL_NO_DRAIN)
        rl_wake(client);
    else if (rl_reader_drain(client->reader) == RL_DRAIN_ENDS)
        rl_flush(client);
    rl_client_leave(client);
    return call->result;
}
