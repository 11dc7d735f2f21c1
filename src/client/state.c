/* SPDX-License-Identifier: BSD-2-Clause */
/* What a handle can be asked without asking the nodes. */
#include "core/kind.h"
#include "drive/client.h"
#include "drive/order.h"
#include "io/clock.h"

int64_t redlock_deadline_ns(const redlock_lock *lock)
{
    int64_t deadline_ns = 0;

    if (rl_lock_enter(lock) != REDLOCK_OK)
        return 0;
    if (lock->handle.lock.state == RL_HELD && lock->operation != RL_ACQUISITION)
        deadline_ns = lock->handle.lock.deadline_ns;
    rl_client_leave(lock->client);
    return deadline_ns;
}

int64_t redlock_remaining_ms(const redlock_lock *lock)
{
    int64_t deadline_ns = redlock_deadline_ns(lock);
    int64_t left_ns = deadline_ns ? deadline_ns - rl_now_ns() : 0;

    return left_ns > 0 ? left_ns / RL_NS_PER_MS : 0;
}

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

int redlock_state(const redlock_lock *lock)
{
    int error = rl_lock_enter(lock);
    int state;

    if (error)
        return error;
    state = state_of(lock);
    rl_client_leave(lock->client);
    return state;
}

int64_t redlock_fence(const redlock_lock *lock)
{
    int64_t token;

    if (rl_lock_enter(lock) != REDLOCK_OK)
        return 0;
    token = lock->handle.lock.token;
    rl_client_leave(lock->client);
    return token;
}

int redlock_position(const redlock_lock *lock)
{
    int position;

    if (rl_lock_enter(lock) != REDLOCK_OK)
        return 0;
    position = lock->dropped ? 0 : (int)rl_handle_position(&lock->handle);
    rl_client_leave(lock->client);
    return position;
}

int redlock_slot(const redlock_lock *lock)
{
    int slot = 0;

    if (rl_lock_enter(lock) != REDLOCK_OK)
        return 0;
    if (rl_kinds[lock->handle.lock.terms.kind].has_slots && lock->handle.lock.state == RL_HELD)
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
    /* In a child there are no other threads, and so none that would ever unlock it. */
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

    if (rl_lock_enter(lock) != REDLOCK_OK)
        return 0;
    margin =
        rl_count_nodes(lock->handle.lock.nodes_with_key) - lock->client->engine.policy.quorum;
    rl_client_leave(lock->client);
    return margin;
}
