/* SPDX-License-Identifier: BSD-2-Clause */
/* The public calls about a lock that is there: extend, release, cancel. */
#include "client/request.h"
#include "drive/client.h"
#include "drive/detail.h"
#include "drive/enter.h"
#include "drive/explain.h"
#include "drive/turn.h"
#include "io/clock.h"

/* Why no operation can begin now; NULL: one can. */
static const char *reason_against(const redlock_lock *lock)
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

struct operation_call {
    struct rl_call call; /* first */
    redlock_lock *lock;
    enum rl_operation operation;
    int64_t ttl_ms;
    redlock_done_fn *done; /* NULL: the caller is blocked */
    void *data;
    const char *reason;
    bool started;
};

static void carry_out_operation(redlock *client, struct rl_order *order)
{
    struct operation_call *o = (struct operation_call *)order;
    redlock_lock *lock = o->lock;

    o->reason = client->closing ? "the client has been closed" : reason_against(o->lock);
    if (o->reason) {
        rl_call_finish(&o->call, REDLOCK_INVAL);
        return;
    }
    if (!o->done)
        lock->call = &o->call;
    o->started = true;
    lock->operation = o->operation;
    lock->done = o->done;
    lock->is_simple &= !o->done;
    lock->done_data = o->data;
    if (o->operation == RL_EXTENSION)
        rl_handle_extend(&client->engine, &lock->handle, o->ttl_ms * RL_NS_PER_MS, rl_now_ns());
    else
        rl_handle_release(&client->engine, &lock->handle, rl_now_ns());
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
    struct operation_call o = {
        .call.order.carry_out = carry_out_operation,
        .lock = lock,
        .operation = operation,
        .ttl_ms = ttl_ms,
    };
    int error = check_operation(lock, operation, ttl_ms);

    if (error)
        return error;
    error = rl_call_wait(lock->client, &o.call);
    if (o.reason)
        return rl_detail(error, "%s", o.reason);
    if (!error || !o.started)
        return error;
    pthread_mutex_lock(&lock->client->mutex);
    rl_explain(lock, operation, error);
    pthread_mutex_unlock(&lock->client->mutex);
    return error;
}

static int operate_async(redlock_lock *lock, enum rl_operation operation, int64_t ttl_ms,
                         redlock_done_fn *done, void *data)
{
    struct operation_call o = {
        .call.order.carry_out = carry_out_operation,
        .lock = lock,
        .operation = operation,
        .ttl_ms = ttl_ms,
        .done = done,
        .data = data,
    };
    int error = check_operation(lock, operation, ttl_ms);

    if (!error && !done)
        error = rl_detail(REDLOCK_INVAL, "a done function is needed");
    if (!error)
        error = rl_call_now(lock->client, &o.call);
    return o.reason ? rl_detail(error, "%s", o.reason) : error;
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

struct cancel_call {
    struct rl_call call; /* first */
    redlock_lock *lock;
};

static void carry_out_cancel(redlock *client, struct rl_order *order)
{
    rl_handle_cancel(&client->engine, &((struct cancel_call *)order)->lock->handle,
                     rl_now_ns());
}

int redlock_cancel(redlock_lock *lock)
{
    struct cancel_call c = {.call.order.carry_out = carry_out_cancel, .lock = lock};

    return lock ? rl_call_now(lock->client, &c.call)
                : rl_detail(REDLOCK_INVAL, "the lock is NULL");
}
