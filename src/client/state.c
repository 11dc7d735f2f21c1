/* SPDX-License-Identifier: BSD-2-Clause */
/* What a handle answers without a request to the nodes. */
#include "core/kind.h"
#include "drive/client.h"
#include "drive/drive.h"
#include "io/clock.h"

static int state_of(const redlock_lock *lock)
{
    const struct rl_lock *core = &lock->handle.lock;

    if (lock->released)
        return REDLOCK_STATE_RELEASED;
    if (lock->operation == RL_ACQUISITION)
        return REDLOCK_STATE_WAITING;
    switch (core->state) {
    case RL_HELD:
        if (core->adopted)
            return REDLOCK_STATE_ADOPTED;
        /* The clock knows before any timer does: a process that was stopped asks here first. */
        if (rl_now_ns() >= core->deadline_ns)
            return REDLOCK_STATE_LOST;
        return core->jeopardy ? REDLOCK_STATE_JEOPARDY : REDLOCK_STATE_HELD;
    case RL_RELEASING:
    case RL_CHECKING:
        return REDLOCK_STATE_RELEASED;
    case RL_ENDED:
        return core->acquired_ns || core->foreign ? REDLOCK_STATE_LOST : REDLOCK_STATE_FAILED;
    default:
        return REDLOCK_STATE_FAILED;
    }
}

enum fact { DEADLINE_NS, STATE, FENCE, POSITION, SLOT, MARGIN };

/* 0 of no lock, or in a child of the process that acquired it; the state is an error then. */
static int64_t look_up(const redlock_lock *lock, enum fact fact)
{
    int error = rl_lock_enter(lock);
    const struct rl_lock *core = error ? NULL : &lock->handle.lock;
    int64_t result = 0;

    if (error)
        return fact == STATE ? error : 0;
    if (fact == DEADLINE_NS && core->state == RL_HELD && lock->operation != RL_ACQUISITION)
        result = core->deadline_ns;
    else if (fact == STATE)
        result = state_of(lock);
    else if (fact == FENCE)
        result = core->token;
    else if (fact == POSITION && !lock->dropped)
        result = rl_handle_position(&lock->handle);
    else if (fact == SLOT && rl_kinds[core->terms.kind].has_slots && core->state == RL_HELD)
        result = core->slot;
    else if (fact == MARGIN)
        result = rl_count_nodes(core->nodes_with_key) - lock->client->engine.policy.quorum;
    rl_client_leave(lock->client);
    return result;
}

int64_t redlock_deadline_ns(const redlock_lock *lock)
{
    return look_up(lock, DEADLINE_NS);
}

int64_t redlock_remaining_ms(const redlock_lock *lock)
{
    int64_t deadline_ns = redlock_deadline_ns(lock);
    int64_t left_ns = deadline_ns ? deadline_ns - rl_now_ns() : 0;

    return left_ns > 0 ? left_ns / RL_NS_PER_MS : 0;
}

int redlock_state(const redlock_lock *lock)
{
    return (int)look_up(lock, STATE);
}

int64_t redlock_fence(const redlock_lock *lock)
{
    return look_up(lock, FENCE);
}

int redlock_position(const redlock_lock *lock)
{
    return (int)look_up(lock, POSITION);
}

int redlock_slot(const redlock_lock *lock)
{
    return (int)look_up(lock, SLOT);
}

int redlock_margin(const redlock_lock *lock)
{
    return (int)look_up(lock, MARGIN);
}

const char *redlock_value(const redlock_lock *lock)
{
    const char *value;
    bool alone;

    if (!lock)
        return "";
    /* In a child there are no other threads, and so none that would ever unlock it. */
    alone = rl_client_is_forked(lock->client);
    if (!alone)
        pthread_mutex_lock(&lock->client->mutex);
    /* While it is being acquired, every attempt has another one. */
    value =
        lock->operation == RL_ACQUISITION ? "" : rl_attempt_value(lock->handle.attempt).data;
    if (!alone)
        pthread_mutex_unlock(&lock->client->mutex);
    return value;
}

const char *redlock_name(const redlock_lock *lock)
{
    return lock ? rl_lock_name(lock) : "";
}
