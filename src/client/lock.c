/* SPDX-License-Identifier: BSD-2-Clause */
/* The public calls that make a handle: acquire, start, adopt. */
#include "client/spread.h"

#include <string.h>

#include "io/clock.h"

/* An acquisition that was asked for. The names and the request are the caller's. */
struct acquisition {
    const struct rl_names *names;
    int64_t ttl_ms;
    const redlock_request *request;
    int64_t wait_deadline_ns; /* from the public call on; 0: try once; RL_NEVER_NS: no end */
};

/* Taken at the public call: what delays its order, a driver in a callback say, counts as well. */
static int64_t wait_deadline_ns(int64_t wait_ms)
{
    if (wait_ms == 0)
        return 0;
    return wait_ms == REDLOCK_WAIT_FOREVER ? RL_NEVER_NS : rl_now_ns() + wait_ms * RL_MS_NS;
}

bool rl_is_too_late(int64_t wait_deadline_ns)
{
    return wait_deadline_ns > 0 && wait_deadline_ns != RL_NEVER_NS &&
           rl_now_ns() > wait_deadline_ns;
}

/* The mutex is held; the request has been read. NULL: out of memory. */
static redlock_lock *start_acquire(redlock *client, const struct acquisition *wanted)
{
    const redlock_request *request = wanted->request;
    struct rl_lock_terms terms = {
        .renew = request->flags & REDLOCK_RENEW,
        .fenced = request->flags & REDLOCK_FENCED,
        .fair = request->flags & REDLOCK_FAIR,
        .kind = (uint8_t)request->kind,
        .slots = (uint16_t)request->slots,
        .max_extensions = request->max_extensions,
        .max_hold_ns = request->max_hold_ms * RL_MS_NS,
    };
    redlock_lock *lock = rl_lock_new(client, wanted->names, &terms);

    if (!lock)
        return NULL;
    rl_operation_set(lock, RL_ACQUISITION);
    lock->done = request->done;
    lock->done_data = lock->lost_data = request->data;
    lock->lost = request->lost;
    lock->jeopardy = request->jeopardy;
    lock->is_simple = !request->done && !request->lost && !request->jeopardy &&
                      !(request->flags & REDLOCK_BOUND);
    if ((request->flags & REDLOCK_BOUND) && rl_bind_thread(client, lock) < 0) {
        rl_lock_discard(client, lock, false);
        rl_detail(REDLOCK_NOMEM, "no memory or descriptor left to bind the lock to its thread");
        return NULL;
    }
    if (request->done)
        lock->wait_deadline_ns = wanted->wait_deadline_ns;
    rl_handle_acquire(&client->engine, &lock->handle, wanted->ttl_ms * RL_MS_NS,
                      wanted->wait_deadline_ns, rl_now_ns());
    return lock;
}

/* The caller has its lock: callbacks about it may come, and what they waited for is told. */
static void let_callbacks_come(redlock *client, redlock_lock *lock)
{
    if (lock->operation != RL_RETURNING)
        return;
    rl_operation_set(lock, RL_NO_OPERATION);
    if (!lock->handle.lost && !lock->handle.jeopardy && !lock->handle.recovered)
        return;
    rl_engine_add_ready(&client->engine, &lock->handle);
    rl_wake(client);
}

/* Granted, but this caller comes after its wait: what it never had goes back to the nodes. */
static void give_back(redlock *client, redlock_lock *lock)
{
    rl_lock_discard(client, lock, true);
    if (client->closed)
        return;
    if (client->threaded || client->turning)
        rl_wake(client);
    else
        rl_send_now(client);
}

/*
 * The outcome for the caller. The mutex is not held: success without report and callbacks needs
 * nothing but a look at the clock, the last before the caller has its lock (A9).
 */
static int end_acquire(redlock *client, redlock_lock *lock, int error,
                       const struct acquisition *wanted, redlock_lock **out)
{
    const redlock_request *request = wanted->request;
    bool granted = error == REDLOCK_OK;

    if (granted && !request->report && !request->lost && !request->jeopardy &&
        !rl_is_too_late(wanted->wait_deadline_ns)) {
        *out = lock;
        return REDLOCK_OK;
    }
    pthread_mutex_lock(&client->mutex);
    if (granted && rl_is_too_late(wanted->wait_deadline_ns))
        error = REDLOCK_TIMEOUT;
    if (request->report)
        rl_report_lock(lock, request->report);
    rl_explain(lock, RL_ACQUISITION, error);
    if (!error) {
        let_callbacks_come(client, lock);
        *out = lock;
    } else if (granted) {
        give_back(client, lock);
    } else {
        rl_lock_discard(client, lock, false);
    }
    pthread_mutex_unlock(&client->mutex);
    return error;
}

/* A blocking acquire that the I/O thread begins. */
struct acquire_order {
    struct rl_order order; /* first */
    const struct acquisition *wanted;
    redlock_lock *lock;
    struct rl_blocked blocked;
};

static void carry_out_acquire(redlock *client, struct rl_order *order)
{
    struct acquire_order *a = (struct acquire_order *)order;

    if (!client->closing)
        a->lock = start_acquire(client, a->wanted);
    if (a->lock)
        a->lock->blocked = &a->blocked;
    else
        rl_blocked_finish(&a->blocked, client->closing ? REDLOCK_CANCELED : REDLOCK_NOMEM);
}

static int acquire_by_order(redlock *client, const struct acquisition *wanted,
                            redlock_lock **out)
{
    struct acquire_order a = {
        .order.carry_out = carry_out_acquire,
        .wanted = wanted,
        .blocked.word = RL_ASLEEP,
    };
    int error;

    error = rl_inbox_call(client, &a.order, &a.blocked);
    if (!a.lock)
        return rl_detail(error, error == REDLOCK_NOMEM ? "out of memory"
                                                       : "the client has been closed");
    return end_acquire(client, a.lock, error, wanted, out);
}

static int acquire_with_mutex(redlock *client, const struct acquisition *wanted,
                              redlock_lock **out)
{
    redlock_lock *lock;
    int error = rl_client_enter(client, true);

    if (error)
        return error;
    rl_look_first(client);
    lock = start_acquire(client, wanted);
    if (!lock) {
        rl_client_leave(client);
        return REDLOCK_NOMEM;
    }
    return end_acquire(client, lock, rl_wait_unlocked(client, lock), wanted, out);
}

int redlock_acquire(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *request, redlock_lock **out)
{
    struct rl_names names;
    redlock_request r;
    struct acquisition wanted = {.names = &names, .ttl_ms = ttl_ms, .request = &r};
    int error = rl_find_home(&client, name, request);

    if (!error)
        error = rl_client_check(client);
    if (error)
        return error;
    error = rl_request_read(client, name, ttl_ms, request, &r, &names);
    if (!error && (!out || r.done))
        error = rl_detail(REDLOCK_INVAL, out ? "redlock_acquire() takes no done function; that "
                                               "is for redlock_start()"
                                             : "there is nowhere to put the lock");
    if (error)
        return error;
    wanted.wait_deadline_ns = wait_deadline_ns(r.wait_ms);
    /* What is bound to a thread must be bound by that thread. */
    if (rl_inbox_takes(client) && !(r.flags & REDLOCK_BOUND))
        return acquire_by_order(client, &wanted, out);
    return acquire_with_mutex(client, &wanted, out);
}

int redlock_start(redlock *client, const char *name, int64_t ttl_ms,
                  const redlock_request *request, redlock_lock **out)
{
    struct rl_names names;
    redlock_request r;
    struct acquisition wanted = {.names = &names, .ttl_ms = ttl_ms, .request = &r};
    redlock_lock *lock;
    int error = rl_find_home(&client, name, request);

    if (!error)
        error = rl_client_check(client);
    if (!error)
        error = rl_request_read(client, name, ttl_ms, request, &r, &names);
    if (!error && (!out || !r.done))
        error = rl_detail(REDLOCK_INVAL, out ? "redlock_start() needs a done function"
                                             : "there is nowhere to put the lock");
    if (error)
        return error;
    wanted.wait_deadline_ns = wait_deadline_ns(r.wait_ms);
    error = rl_client_enter(client, false);
    if (error)
        return error;
    lock = start_acquire(client, &wanted);
    if (lock)
        *out = lock;
    else
        error = REDLOCK_NOMEM;
    rl_wake(client);
    rl_client_leave(client);
    return error;
}

int redlock_adopt(redlock *client, const char *name, const char *value, redlock_lock **out)
{
    struct rl_lock_terms terms = {0};
    redlock_lock *lock = NULL;
    size_t name_size = 0;
    int error = rl_find_home(&client, name, NULL);

    if (!error)
        error = rl_client_enter(client, false);
    if (error)
        return error;
    error = rl_name_check(client, name, &name_size);
    if (!error && (!value || !*value || strlen(value) > REDLOCK_VALUE_MAX))
        error = rl_detail(REDLOCK_INVAL,
                          "a value has 1 to %d characters; it is what the "
                          "acquiring side printed",
                          REDLOCK_VALUE_MAX);
    if (!error && !out)
        error = rl_detail(REDLOCK_INVAL, "there is nowhere to put the lock");
    if (error)
        goto cleanup;
    lock = rl_lock_new_for(client, name, name_size, &terms);
    if (!lock) {
        error = REDLOCK_NOMEM;
        goto cleanup;
    }
    lock->adopted = true;
    if (rl_handle_adopt(&client->engine, &lock->handle, value, strlen(value)) < 0) {
        rl_lock_discard(client, lock, false);
        error = rl_detail(REDLOCK_NOMEM, "out of memory");
        goto cleanup;
    }
    *out = lock;
cleanup:
    rl_client_leave(client);
    return error;
}
