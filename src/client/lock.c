/* SPDX-License-Identifier: BSD-2-Clause */
/* The public calls about one lock. */
#include "client/client.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "io/clock.h"

static int64_t wait_deadline_ns(int64_t wait_ms, int64_t now_ns)
{
    if (wait_ms == 0)
        return 0;
    return wait_ms == REDLOCK_WAIT_FOREVER ? RL_NEVER_NS : now_ns + wait_ms * RL_MS_NS;
}

/* The mutex is held; the request has been read. NULL: out of memory. */
static redlock_lock *start_acquire(redlock *client, const struct rl_names *names,
                                   int64_t ttl_ms, const redlock_request *request)
{
    struct rl_lock_terms terms = {
        .renew = request->flags & REDLOCK_RENEW,
        .fenced = request->flags & REDLOCK_FENCED,
        .fair = request->flags & REDLOCK_FAIR,
        .kind = (uint8_t)request->kind,
        .slots = (uint16_t)request->slots,
        .max_extensions = request->max_extensions,
        .max_hold_ns = request->max_hold_ms * RL_MS_NS,
    };
    redlock_lock *lock = rl_lock_new(client, names, &terms);
    int64_t now_ns = rl_now_ns();

    if (!lock)
        return NULL;
    lock->operation = RL_ACQUISITION;
    lock->done = request->done;
    lock->done_data = lock->lost_data = request->data;
    lock->lost = request->lost;
    lock->jeopardy = request->jeopardy;
    if ((request->flags & REDLOCK_BOUND) && rl_bind_thread(client, lock) < 0) {
        rl_lock_discard(client, lock, false);
        rl_detail(REDLOCK_NOMEM, "no memory or descriptor left to bind the lock to its thread");
        return NULL;
    }
    rl_handle_acquire(&client->engine, &lock->handle, ttl_ms * RL_MS_NS,
                      wait_deadline_ns(request->wait_ms, now_ns), now_ns);
    return lock;
}

int redlock_acquire(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *request, redlock_lock **out)
{
    struct rl_names names;
    redlock_request r;
    redlock_lock *lock;
    int error = rl_client_enter(client, true);

    if (error)
        return error;
    error = rl_request_read(client, name, ttl_ms, request, &r, &names);
    if (!error && (!out || r.done))
        error = rl_detail(REDLOCK_INVAL, out ? "redlock_acquire() takes no done function; that "
                                               "is for redlock_start()"
                                             : "there is nowhere to put the lock");
    if (error)
        goto cleanup;
    rl_look_first(client);
    lock = start_acquire(client, &names, ttl_ms, &r);
    if (!lock) {
        error = REDLOCK_NOMEM;
        goto cleanup;
    }
    error = rl_wait_finished(client, lock);
    if (r.report)
        rl_report_lock(lock, r.report);
    rl_explain(lock, RL_ACQUISITION, error);
    if (error)
        rl_lock_discard(client, lock, false);
    else
        *out = lock;
cleanup:
    rl_client_leave(client);
    return error;
}

int redlock_start(redlock *client, const char *name, int64_t ttl_ms,
                  const redlock_request *request, redlock_lock **out)
{
    struct rl_names names;
    redlock_request r;
    redlock_lock *lock;
    int error = rl_client_enter(client, false);

    if (error)
        return error;
    error = rl_request_read(client, name, ttl_ms, request, &r, &names);
    if (!error && (!out || !r.done))
        error = rl_detail(REDLOCK_INVAL, out ? "redlock_start() needs a done function"
                                             : "there is nowhere to put the lock");
    if (!error) {
        lock = start_acquire(client, &names, ttl_ms, &r);
        if (lock)
            *out = lock;
        else
            error = REDLOCK_NOMEM;
        rl_wake(client);
    }
    rl_client_leave(client);
    return error;
}

int redlock_adopt(redlock *client, const char *name, const char *value, redlock_lock **out)
{
    struct rl_lock_terms terms = {0};
    redlock_lock *lock = NULL;
    size_t name_size = 0;
    int error = rl_client_enter(client, false);

    if (error)
        return error;
    error = rl_name_check(name, &name_size);
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

/* Begins an extension or a release; the mutex is held on success. */
static int begin_operation(redlock_lock *lock, enum rl_operation operation, bool blocking)
{
    int error;

    if (!lock)
        return rl_detail(REDLOCK_INVAL, "the lock is NULL");
    error = rl_client_enter(lock->client, blocking);
    if (error)
        return error;
    if (lock->operation != RL_NO_OPERATION)
        error = rl_detail(REDLOCK_INVAL, "another operation on this lock is under way");
    else if (lock->handle.lock.state == RL_IDLE)
        error = rl_detail(REDLOCK_INVAL, "the lock was never acquired");
    else if (lock->released)
        error = rl_detail(REDLOCK_INVAL, "the lock has already been released");
    else if (lock->handle.lock.state == RL_ENDED && lock->handle.lock.acquired_ns == 0 &&
             !lock->adopted)
        error = rl_detail(REDLOCK_INVAL, "the lock is not held");
    if (error)
        rl_client_leave(lock->client);
    else
        lock->operation = operation;
    return error;
}

static void start_operation(redlock_lock *lock, enum rl_operation operation, int64_t ttl_ms,
                            redlock_done_fn *done, void *data)
{
    struct rl_engine *engine = &lock->client->engine;

    lock->done = done;
    lock->done_data = data;
    lock->finished = false;
    if (operation == RL_EXTENSION)
        rl_handle_extend(engine, &lock->handle, ttl_ms * RL_MS_NS, rl_now_ns());
    else
        rl_handle_release(engine, &lock->handle, rl_now_ns());
}

static int operate_blocking(redlock_lock *lock, enum rl_operation operation, int64_t ttl_ms)
{
    redlock *client;
    int error = begin_operation(lock, operation, true);

    if (error)
        return error;
    client = lock->client;
    if (operation == RL_EXTENSION)
        error = rl_ttl_check(client, ttl_ms);
    if (error) {
        lock->operation = RL_NO_OPERATION;
    } else {
        rl_look_first(client);
        start_operation(lock, operation, ttl_ms, NULL, NULL);
        error = rl_wait_finished(client, lock);
        rl_explain(lock, operation, error);
    }
    rl_client_leave(client);
    return error;
}

static int operate_async(redlock_lock *lock, enum rl_operation operation, int64_t ttl_ms,
                         redlock_done_fn *done, void *data)
{
    int error;

    if (!done)
        return rl_detail(REDLOCK_INVAL, "a done function is needed");
    error = begin_operation(lock, operation, false);
    if (error)
        return error;
    if (operation == RL_EXTENSION)
        error = rl_ttl_check(lock->client, ttl_ms);
    if (error) {
        lock->operation = RL_NO_OPERATION;
    } else {
        start_operation(lock, operation, ttl_ms, done, data);
        rl_wake(lock->client);
    }
    rl_client_leave(lock->client);
    return error;
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

int64_t redlock_deadline_ns(const redlock_lock *lock)
{
    int64_t deadline_ns;

    if (!lock || rl_client_enter(lock->client, false) != REDLOCK_OK)
        return 0;
    deadline_ns = lock->handle.lock.state == RL_HELD ? lock->handle.lock.deadline_ns : 0;
    rl_client_leave(lock->client);
    return deadline_ns;
}

int64_t redlock_remaining_ms(const redlock_lock *lock)
{
    int64_t deadline_ns = redlock_deadline_ns(lock);
    int64_t left_ns = deadline_ns ? deadline_ns - rl_now_ns() : 0;

    return left_ns > 0 ? left_ns / RL_MS_NS : 0;
}

static int state_of(const redlock_lock *lock)
{
    const struct rl_lock *core = &lock->handle.lock;

    if (lock->released)
        return REDLOCK_STATE_RELEASED;
    switch (core->state) {
    case RL_HELD:
        if (core->adopted)
            return REDLOCK_STATE_IDLE;
        /* The clock knows before any timer does: a process that was stopped asks here first. */
        if (rl_now_ns() >= core->deadline_ns)
            return REDLOCK_STATE_LOST;
        return core->jeopardy ? REDLOCK_STATE_JEOPARDY : REDLOCK_STATE_HELD;
    case RL_RELEASING:
    case RL_CHECKING:
        return REDLOCK_STATE_RELEASED;
    case RL_ENDED:
        return core->acquired_ns || core->foreign ? REDLOCK_STATE_LOST : REDLOCK_STATE_IDLE;
    default:
        return REDLOCK_STATE_IDLE;
    }
}

int redlock_state(const redlock_lock *lock)
{
    int state;
    int error;

    if (!lock)
        return rl_detail(REDLOCK_INVAL, "the lock is NULL");
    error = rl_client_enter(lock->client, false);
    if (error)
        return error;
    state = state_of(lock);
    rl_client_leave(lock->client);
    return state;
}

int redlock_event_fd(redlock_lock *lock)
{
    int fd;

    if (!lock)
        return rl_detail(REDLOCK_INVAL, "the lock is NULL");
    fd = rl_client_enter(lock->client, false);
    if (fd < 0)
        return fd;
    if (lock->event_fd < 0)
        lock->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fd = lock->event_fd < 0 ? rl_detail_system("making an event descriptor", errno)
                            : lock->event_fd;
    rl_client_leave(lock->client);
    return fd;
}

int64_t redlock_fence(const redlock_lock *lock)
{
    int64_t token;

    if (!lock || rl_client_enter(lock->client, false) != REDLOCK_OK)
        return 0;
    token = lock->handle.lock.token;
    rl_client_leave(lock->client);
    return token;
}

int redlock_position(const redlock_lock *lock)
{
    int position;

    if (!lock || rl_client_enter(lock->client, false) != REDLOCK_OK)
        return 0;
    position = lock->dropped ? 0 : (int)rl_handle_position(&lock->handle);
    rl_client_leave(lock->client);
    return position;
}

int redlock_slot(const redlock_lock *lock)
{
    int slot = 0;

    if (!lock || rl_client_enter(lock->client, false) != REDLOCK_OK)
        return 0;
    if (lock->handle.lock.terms.kind == REDLOCK_SEMAPHORE && lock->handle.lock.state == RL_HELD)
        slot = lock->handle.lock.slot;
    rl_client_leave(lock->client);
    return slot;
}

const char *redlock_value(const redlock_lock *lock)
{
    const char *value;
    bool alone;

    if (!lock)
        return "";
    /* In a child there are no other threads, and nobody who would ever unlock it. */
    alone = rl_client_is_forked(lock->client);
    if (!alone)
        pthread_mutex_lock(&lock->client->mutex);
    /* While it is being acquired, every attempt has another one. */
    value = lock->operation == RL_ACQUISITION ? "" : rl_claim_value(lock->handle.claim).data;
    if (!alone)
        pthread_mutex_unlock(&lock->client->mutex);
    return value;
}

const char *redlock_name(const redlock_lock *lock)
{
    return lock ? rl_lock_name(lock) : "";
}

int redlock_margin(const redlock_lock *lock)
{
    int margin;

    if (!lock || rl_client_enter(lock->client, false) != REDLOCK_OK)
        return 0;
    margin =
        (int)__builtin_popcount(lock->handle.lock.held) - lock->client->engine.policy.quorum;
    rl_client_leave(lock->client);
    return margin;
}
