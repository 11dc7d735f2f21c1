/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/drive.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "engine/pool.h"
#include "io/clock.h"

static void recycle(redlock *client, redlock_lock *lock)
{
    if (lock->name_room == UINT8_MAX) /* long names are rare: their memory is given back */
        free(lock);
    else
        rl_pool_give(&client->kept_locks, lock, RL_LOCKS_KEPT);
}

redlock_lock *rl_lock_new_for(redlock *client, const char *name,
                              const struct rl_lock_terms *terms)
{
    const struct rl_slice none = {"", 0};
    struct rl_names names = {.owner = none, .tag = none, .label = none};

    if (name)
        names.name[names.count++] = rl_slice_of(name);
    return rl_lock_new(client, &names, terms);
}

redlock_lock *rl_lock_new(redlock *client, const struct rl_names *names,
                          const struct rl_lock_terms *terms)
{
    struct rl_slice name = names->count ? names->name[0] : (struct rl_slice){"", 0};
    redlock_lock *lock = rl_pool_take(&client->kept_locks);
    char keys[RL_KEYS_MAX]; /* of all names, one behind the other */
    char *at = keys;
    struct rl_about about = {
        .name_count = (uint8_t)(names->count ? names->count : 1),
        .owner = names->owner,
        .tag = names->tag,
        .label = names->label,
    };

    for (size_t i = 0; i < names->count; i++) {
        if (i > 0)
            *at++ = RL_KEY_SEPARATOR;
        at = rl_slice_append(at, (struct rl_slice){client->prefix, client->prefix_size});
        at = rl_slice_append(at, names->name[i]);
    }
    /* A job without a name has no key, not a key that is just the prefix. */
    about.key = (struct rl_slice){keys, (size_t)(at - keys)};
    /* One that was kept, if it has room for the name; else it makes way for one that has. */
    if (!lock || lock->name_room <= name.size) {
        size_t fixed = sizeof(redlock_lock) +
                       client->engine.policy.node_count * sizeof(struct rl_node_vote);
        size_t size = rl_piece_size(fixed + name.size + 1);

        free(lock);
        lock = calloc(1, size);
        if (!lock) {
            rl_detail(REDLOCK_NOMEM, "out of memory");
            return NULL;
        }
        lock->client = client;
        lock->name_room = size - fixed < UINT8_MAX ? (uint8_t)(size - fixed) : UINT8_MAX;
    }
    lock->operation = RL_NO_OPERATION;
    lock->data = NULL;
    lock->bond = NULL;
    lock->unread = (struct rl_unread){.count = 0};
    lock->frees_at_once = lock->released = lock->blocks = lock->given_up = lock->adopted =
        lock->dropped = false;
    atomic_init(&lock->is_returning, false);
    atomic_init(&lock->is_freed, false);
    lock->wait_deadline_ns = 0; /* and no call is blocked */
    *rl_slice_append(rl_lock_name(lock), name) = '\0';
    if (rl_handle_init(&client->engine, &lock->handle, &about, terms, lock->vote) < 0) {
        rl_detail(REDLOCK_NOMEM, "out of memory");
        recycle(client, lock);
        return NULL;
    }
    client->references++;
    return lock;
}

void rl_lock_discard(redlock *client, redlock_lock *lock, bool give_up)
{
    /* Of a lock that is released nothing is left that time could matter for. */
    int64_t now_ns = lock->released ? 0 : rl_now_ns();

    if (lock->bond)
        rl_unbind(client, lock);
    lock->operation = RL_NO_OPERATION;
    rl_events_purge(client, lock);
    if (lock->dropped)
        rl_attempt_unref(&client->engine.attempts, lock->handle.attempt);
    else
        rl_handle_drop(&client->engine, &lock->handle,
                       give_up && !lock->adopted && !lock->released, now_ns);
    recycle(client, lock);
    client->references--;
}

void rl_give_up(redlock *client, redlock_lock *lock, int64_t now_ns)
{
    if (lock->operation == RL_RELEASE)
        return;
    if (lock->operation == RL_NO_OPERATION && lock->handle.lock.state == RL_HELD) {
        lock->operation = RL_RELEASE;
        lock->blocks = true;
        lock->call = NULL;
    } else {
        lock->given_up = lock->operation != RL_NO_OPERATION;
    }
    if (lock->handle.lock.state == RL_HELD)
        rl_handle_release(&client->engine, &lock->handle, now_ns);
    else
        rl_handle_cancel(&client->engine, &lock->handle, now_ns);
}

static void carry_out_free(redlock *client, struct rl_submission *submission)
{
    redlock_lock *lock =
        (redlock_lock *)((char *)submission - offsetof(struct redlock_lock, free_submission));

    lock->call = NULL;
    lock->bond = NULL;
    rl_lock_discard(client, lock, true);
}

static void end_handle(redlock_lock *lock, bool give_up)
{
    redlock *client = lock->client;
    bool wake;

    /*
     * With notify its owner must know that it runs no more; bindings to threads, and what
     * events are about, must be gone, too. Any other handle can be freed a moment later.
     */
    if (give_up && !client->notify && !lock->frees_at_once && rl_submits_to_thread(client)) {
        wake = !lock->released;
        atomic_store_explicit(&lock->is_freed, true, memory_order_release);
        lock->free_submission.carry_out = carry_out_free;
        rl_submit(client, &lock->free_submission);
        if (wake)
            rl_wake(client);
        return;
    }
    if (rl_client_is_forked(client)) {
        if (pthread_mutex_trylock(&client->mutex) != 0)
            return;
        give_up = false;
    } else {
        pthread_mutex_lock(&client->mutex);
        /* No program can have the value of a lock before its grant is known. */
        give_up |= lock->operation == RL_ACQUISITION;
        while (client->notified == lock && !rl_is_notifying())
            pthread_cond_wait(&client->driver_cond, &client->mutex);
    }
    /* A key may be on the nodes, or on its way to them, that only a release removes. */
    wake = give_up && !lock->released && !client->closed;
    rl_lock_discard(client, lock, give_up);
    if (wake)
        rl_wake(client);
    rl_client_leave(client);
}

void redlock_lock_free(redlock_lock *lock)
{
    if (lock)
        end_handle(lock, true);
}

void redlock_lock_leave(redlock_lock *lock)
{
    if (lock)
        end_handle(lock, false);
}
