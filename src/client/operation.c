/* SPDX-License-Identifier: BSD-2-Clause */
/* The public calls about a lock that is there: extend, release, cancel. */
#include "client/client.h"

#include "io/clock.h"

/* Why no operation can begin now; NULL: one can. */
static const char *objection(const redlock_lock *lock)
{
    if (lock->operation != RL_NO_OPERATION)
        return "another operation on this lock is under way";
    if (lock->handle.lock.state == RL_IDLE)
        return "the lock was never acquired";
    if (lock->released)
        return "the lock has already been released";
    if (lock->handle.lock.state == RL_ENDED && lock->handle.lock.acquired_ns == 0 &&
        !lock->adopted)
        return "the lock is not held";
    return NULL;
}

/* Before an extension or a release; the mutex is held on success. */
static int enter_for_operation(redlock_lock *lock, bool blocking)
{
    const char *why;
    int error = rl_client_enter(lock->client, blocking);

    if (error)
        return error;
    why = objection(lock);
    if (!why)
        return REDLOCK_OK;
    rl_client_leave(lock->client);
    return rl_detail(REDLOCK_INVAL, "%s", why);
}

static void start_operation(redlock_lock *lock, enum rl_operation operation, int64_t ttl_ms,
                            redlock_done_fn *done, void *data)
{
    struct rl_engine *engine = &lock->client->engine;

    rl_operation_set(lock, operation);
    lock->done = done;
    lock->is_simple &= !done;
    lock->done_data = data;
    if (operation == RL_EXTENSION)
        rl_handle_extend(engine, &lock->handle, ttl_ms * RL_MS_NS, rl_now_ns());
    else
        rl_handle_release(engine, &lock->handle, rl_now_ns());
}

/* The outcome for the caller. The mutex is not held, and success needs nothing. */
static int end_operation(redlock_lock *lock, enum rl_operation operation, int error)
{
    if (!error)
        return error;
    pthread_mutex_lock(&lock->client->mutex);
    rl_explain(lock, operation, error);
    pthread_mutex_unlock(&lock->client->mutex);
    return error;
}

/* A blocking operation that the I/O thread begins. */
struct operation_order {
    struct rl_order order; /* first */
    redlock_lock *lock;
    enum rl_operation operation;
    int64_t ttl_ms;
    const char *objection;
    struct rl_blocked blocked;
};

static void carry_out_operation(redlock *client, struct rl_order *order)
{
    struct operation_order *o = (struct operation_order *)order;

    o->objection = client->closing ? "the client has been closed" : objection(o->lock);
    if (o->objection) {
        rl_blocked_finish(&o->blocked, REDLOCK_INVAL);
        return;
    }
    o->lock->blocked = &o->blocked;
    start_operation(o->lock, o->operation, o->ttl_ms, NULL, NULL);
}

static int operate_by_order(redlock_lock *lock, enum rl_operation operation, int64_t ttl_ms)
{
    struct operation_order o = {
        .order.carry_out = carry_out_operation,
        .lock = lock,
        .operation = operation,
        .ttl_ms = ttl_ms,
        .blocked.word = RL_ASLEEP,
    };
    int error;

    error = rl_inbox_call(lock->client, &o.order, &o.blocked);
    if (o.objection)
        return rl_detail(error, "%s", o.objection);
    return end_operation(lock, operation, error);
}

static int operate_with_mutex(redlock_lock *lock, enum rl_operation operation, int64_t ttl_ms)
{
    redlock *client = lock->client;
    int error = enter_for_operation(lock, true);

    if (error)
        return error;
    rl_look_first(client);
    start_operation(lock, operation, ttl_ms, NULL, NULL);
    return end_operation(lock, operation, rl_wait_unlocked(client, lock));
}

static int check_operation(const redlock_lock *lock, enum rl_operation operation,
                           int64_t ttl_ms)
{
    int error;

    if (!lock)
        return rl_detail(REDLOCK_INVAL, "the lock is NULL");
    error = rl_client_check(lock->client);
    if (!error && operation == RL_EXTENSION)
        error = rl_ttl_check(lock->client, ttl_ms);
    return error;
}

static int operate_blocking(redlock_lock *lock, enum rl_operation operation, int64_t ttl_ms)
{
    int error = check_operation(lock, operation, ttl_ms);

    if (error)
        return error;
    return rl_inbox_takes(lock->client) ? operate_by_order(lock, operation, ttl_ms)
                                        : operate_with_mutex(lock, operation, ttl_ms);
}

static int operate_async(redlock_lock *lock, enum rl_operation operation, int64_t ttl_ms,
                         redlock_done_fn *done, void *data)
{
    int error = check_operation(lock, operation, ttl_ms);

    if (!error && !done)
        error = rl_detail(REDLOCK_INVAL, "a done function is needed");
    if (!error)
        error = enter_for_operation(lock, false);
    if (error)
        return error;
    start_operation(lock, operation, ttl_ms, done, data);
    rl_wake(lock->client);
    rl_client_leave(lock->client);
    return REDLOCK_OK;
}

int redlock_extend(redlock_lock *lock, int64_t ttl_ms)
{
    return operate_blocking(lock, RL_EXTENSION, ttl_ms);
}

int redlock_start_extend(redlock_lock *lock, int64_t ttl_ms, redlock_done_fn *done, void *data)
{
    return operate_async(lock, RL_EXTENSION, ttl_ms, done, data);
}

int redlock_release(redlock_lock *lock)
{
    return operate_blocking(lock, RL_RELEASE, 0);
}

int redlock_start_release(redlock_lock *lock, redlock_done_fn *done, void *data)
{
    return operate_async(lock, RL_RELEASE, 0, done, data);
}

int redlock_cancel(redlock_lock *lock)
{
    int error;

    if (!lock)
        return rl_detail(REDLOCK_INVAL, "the lock is NULL");
    error = rl_client_enter(lock->client, false);
    if (error)
        return error;
    rl_handle_cancel(&lock->client->engine, &lock->handle, rl_now_ns());
    rl_wake(lock->client);
    rl_client_leave(lock->client);
    return REDLOCK_OK;
}
