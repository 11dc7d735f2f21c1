/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/calls.h"

#include <string.h>

#include "io/clock.h"

/* Somewhat before the end of its validity a hold is declared lost (A10): at most this much. */
#define VALIDITY_NEAR_END_NS (50 * RL_NS_PER_MS)

/* ---- acquire ---- */

/* An acquire as it was requested, and what became of it. The texts are the caller's. */
struct acquire_call {
    struct rl_call call; /* first */
    struct rl_names names;
    int64_t ttl_ms;
    redlock_request request;
    int64_t wait_deadline_ns; /* from the public call on; 0: try once; RL_NEVER_NS: no end */
    bool blocks;
    struct rl_thread *thread; /* BOUND: to this one */
    redlock_lock *lock;       /* once it is carried out; NULL: there is none */
};

/* Granted, but this caller woke too late to learn of it: the lock is taken back (A9). */
static void take_back(redlock *client, redlock_lock *lock)
{
    bool is_held = lock->handle.lock.state == RL_HELD;

    lock->adopted = false; /* KEEP is about grants that the caller has learnt of */
    rl_lock_discard(client, lock, true);
    if (is_held) { /* and was counted as released just now */
        client->engine.stats.released--;
        client->engine.stats.late++;
    }
    if (client->closed)
        return;
    if (client->threaded || client->has_driver) {
        rl_wake(client);
        return;
    }
    rl_iterate(client, 0);
    rl_stop_driving(client);
}

/* The caller has its lock. */
static int hand_out(redlock_lock *lock, redlock_lock **out)
{
    atomic_store_explicit(&lock->is_returning, false, memory_order_release);
    *out = lock;
    return REDLOCK_OK;
}

/*
 * The outcome for the caller. The mutex is not held: success needs nothing but a look at the
 * clock, the last before the caller has its lock (A9). Near the end of the validity that it was
 * granted with, more has to be known: it may have been renewed meanwhile, or lost.
 */
static int end_acquire(redlock *client, const struct acquire_call *a, int error,
                       redlock_lock **out)
{
    redlock_lock *lock = a->lock;
    bool granted = error == REDLOCK_OK;
    int64_t now_ns = granted ? rl_now_ns() : 0;
    bool in_wait = granted && (a->wait_deadline_ns == 0 || now_ns <= a->wait_deadline_ns);

    if (in_wait && now_ns < a->call.deadline_ns - VALIDITY_NEAR_END_NS)
        return hand_out(lock, out);
    pthread_mutex_lock(&client->mutex);
    if (in_wait && lock->handle.lock.state == RL_HELD &&
        !rl_hold_is_over(&lock->handle.lock, now_ns)) {
        rl_client_leave(client);
        return hand_out(lock, out);
    }
    if (granted)
        error = REDLOCK_TIMEOUT;
    rl_report_lock(lock, rl_failure_report_room());
    rl_explain(lock, RL_ACQUISITION, error);
    if (granted)
        take_back(client, lock);
    else
        rl_lock_discard(client, lock, false);
    rl_client_leave(client);
    return error;
}

static void carry_out_acquire(redlock *client, struct rl_submission *submission)
{
    struct acquire_call *a = (struct acquire_call *)submission;
    const redlock_request *request = &a->request;
    struct rl_lock_terms terms = {
        .renew = request->flags & REDLOCK_RENEW,
        .fenced = request->flags & REDLOCK_FENCED,
        .fair = request->flags & REDLOCK_FAIR,
        .tagged = request->idempotency_key != NULL,
        .keep = request->flags & REDLOCK_KEEP,
        .kind = (uint8_t)request->kind,
        .slots = (uint16_t)request->slots,
        .max_extensions = request->max_extensions,
        .max_hold_ns = request->max_hold_ms * RL_NS_PER_MS,
    };
    redlock_lock *lock;
    int64_t now_ns;

    if (client->closing) {
        rl_call_finish(&a->call, REDLOCK_CANCELED);
        return;
    }
    lock = rl_lock_new(client, &a->names, &terms);
    if (lock && a->thread && rl_bind(client, lock, a->thread) < 0) {
        rl_lock_discard(client, lock, false);
        lock = NULL;
    }
    if (!lock) {
        rl_call_finish(&a->call, REDLOCK_NOMEM);
        return;
    }
    a->lock = lock;
    lock->operation = RL_ACQUISITION;
    lock->data = request->data;
    lock->blocks = a->blocks;
    lock->frees_at_once = a->thread || !a->blocks;
    if (a->blocks)
        lock->call = &a->call;
    else
        lock->wait_deadline_ns = a->wait_deadline_ns;
    rl_pending_acquire_of(&lock->handle)->wants_place =
        !a->blocks && (request->flags & REDLOCK_PLACES);
    now_ns = rl_now_ns();
    /* A look at an admission that was not carried out. */
    rl_elected_plan(&client->engine, false, now_ns);
    rl_handle_acquire(&client->engine, &lock->handle, a->ttl_ms * RL_NS_PER_MS,
                      a->wait_deadline_ns, now_ns);
}

/* About a call that made no handle. */
static int explain_no_handle(const struct acquire_call *a, int error)
{
    if (error == REDLOCK_CANCELED)
        return rl_detail(error, "the client has been closed");
    if (error == REDLOCK_NOMEM && (a->request.flags & REDLOCK_BOUND))
        return rl_detail(error, "no memory or descriptor left to bind the lock to its thread");
    return error == REDLOCK_NOMEM ? rl_detail(error, "out of memory") : error;
}

/*
 * Finds the quorum, reads the request, and does what only the calling thread can do for its
 * submission.
 */
static int prepare(redlock **client, const char *name, int64_t ttl_ms,
                   const redlock_request *request, redlock_lock **out, struct acquire_call *a)
{
    int error = rl_route(client, name, request);

    a->call = (struct rl_call){.submission.carry_out = carry_out_acquire};
    a->ttl_ms = ttl_ms;
    a->thread = NULL;
    a->lock = NULL;
    if (!error)
        error = rl_client_check(*client);
    if (!error)
        error = rl_request_read(*client, name, ttl_ms, request, &a->request, &a->names);
    if (!error && !out)
        error = rl_detail(REDLOCK_INVAL, "there is nowhere to put the lock");
    if (error)
        return error;
    /* From the public call on: what delays its submission counts, too. */
    a->wait_deadline_ns = 0;
    if (a->request.wait_ms == REDLOCK_WAIT_FOREVER)
        a->wait_deadline_ns = RL_NEVER_NS;
    else if (a->request.wait_ms)
        a->wait_deadline_ns = rl_now_ns() + a->request.wait_ms * RL_NS_PER_MS;
    if (!(a->request.flags & REDLOCK_BOUND))
        return REDLOCK_OK;
    a->thread = rl_thread_own();
    return a->thread ? REDLOCK_OK : explain_no_handle(a, REDLOCK_NOMEM);
}

int redlock_acquire(redlock *client, const char *name, int64_t ttl_ms,
                    const redlock_request *request, redlock_lock **out)
{
    struct acquire_call a = {.blocks = true};
    int error = prepare(&client, name, ttl_ms, request, out, &a);

    if (!error && (a.request.flags & REDLOCK_RENEW))
        error = rl_renewal_check(client);
    if (error)
        return error;
    error = rl_call_wait(client, &a.call);
    return a.lock ? end_acquire(client, &a, error, out) : explain_no_handle(&a, error);
}

int redlock_start_acquire(redlock *client, const char *name, int64_t ttl_ms,
                          const redlock_request *request, redlock_lock **out)
{
    struct acquire_call a = {.blocks = false};
    int error = prepare(&client, name, ttl_ms, request, out, &a);

    if (error)
        return error;
    error = rl_call_now(client, &a.call);
    if (error)
        return explain_no_handle(&a, error);
    *out = a.lock;
    return REDLOCK_OK;
}

/* ---- a lock that is there: extend, release, cancel ---- */

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
    bool blocks;
    const char *reason;
    bool started;
};

static void carry_out_operation(redlock *client, struct rl_submission *submission)
{
    struct operation_call *o = (struct operation_call *)submission;
    redlock_lock *lock = o->lock;

    o->reason = client->closing ? "the client has been closed" : reason_against(o->lock);
    if (o->reason) {
        rl_call_finish(&o->call, REDLOCK_INVAL);
        return;
    }
    lock->blocks = o->blocks;
    if (o->blocks)
        lock->call = &o->call;
    o->started = true;
    lock->operation = o->operation;
    if (o->operation == RL_EXTENSION)
        rl_handle_extend(&client->engine, &lock->handle, o->ttl_ms * RL_NS_PER_MS, rl_now_ns());
    else
        rl_handle_release(&client->engine, &lock->handle, rl_now_ns());
}

static int operate(redlock_lock *lock, enum rl_operation operation, int64_t ttl_ms, bool blocks)
{
    struct operation_call o = {
        .call.submission.carry_out = carry_out_operation,
        .lock = lock,
        .operation = operation,
        .ttl_ms = ttl_ms,
        .blocks = blocks,
    };
    int error;

    if (!lock)
        return rl_detail(REDLOCK_INVAL, "the lock is NULL");
    error = rl_client_check(lock->client);
    if (!error && operation == RL_EXTENSION)
        error = rl_ttl_check(lock->client, ttl_ms);
    if (error)
        return error;
    error = blocks ? rl_call_wait(lock->client, &o.call) : rl_call_now(lock->client, &o.call);
    if (o.reason)
        return rl_detail(error, "%s", o.reason);
    if (!error || !o.started)
        return error;
    pthread_mutex_lock(&lock->client->mutex);
    rl_report_lock(lock, rl_failure_report_room());
    rl_explain(lock, operation, error);
    pthread_mutex_unlock(&lock->client->mutex);
    return error;
}

int redlock_extend(redlock_lock *lock, int64_t ttl_ms)
{
    return operate(lock, RL_EXTENSION, ttl_ms, true);
}

int redlock_start_extend(redlock_lock *lock, int64_t ttl_ms)
{
    return operate(lock, RL_EXTENSION, ttl_ms, false);
}

int redlock_release(redlock_lock *lock)
{
    return operate(lock, RL_RELEASE, 0, true);
}

int redlock_start_release(redlock_lock *lock)
{
    return operate(lock, RL_RELEASE, 0, false);
}

/*
 * Of a started acquire no event comes any more; a grant that was not handed out is taken back.
 */
static void carry_out_cancel(redlock *client, struct rl_submission *submission)
{
    redlock_lock *lock = ((struct operation_call *)submission)->lock;

    if (lock->operation != RL_ACQUISITION || lock->blocks)
        return;
    rl_events_purge(client, lock);
    lock->operation = RL_NO_OPERATION;
    if (lock->handle.lock.state == RL_HELD)
        rl_handle_take_back(&client->engine, &lock->handle, rl_now_ns());
    else
        rl_handle_cancel(&client->engine, &lock->handle, rl_now_ns());
}

int redlock_cancel(redlock_lock *lock)
{
    struct operation_call o = {.call.submission.carry_out = carry_out_cancel, .lock = lock};

    return lock ? rl_call_now(lock->client, &o.call)
                : rl_detail(REDLOCK_INVAL, "the lock is NULL");
}
