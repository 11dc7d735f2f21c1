/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles: their memory, their place in the client's lists, their end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/client.h"
#include "io/clock.h"

static redlock_lock *take_memory(redlock *client)
{
    redlock_lock *lock = client->spare;

    if (lock) {
        client->spare = lock->next;
        client->spare_count--;
        return lock;
    }
    lock = calloc(1, sizeof *lock + client->engine.policy.node_count * sizeof lock->vote[0]);
    if (lock)
        pthread_cond_init(&lock->finished_cond, NULL);
    return lock;
}

void rl_lock_destroy(redlock *client, redlock_lock *lock)
{
    /* In a child, threads that only the parent has may seem to wait: destroying would hang. */
    if (!rl_client_is_forked(client))
        pthread_cond_destroy(&lock->finished_cond);
    free(lock);
}

static void give_memory_back(redlock *client, redlock_lock *lock)
{
    if (lock->key != lock->key_inline)
        free(lock->key);
    if (lock->event_fd >= 0)
        close(lock->event_fd);
    if (client->closed || client->spare_count >= RL_LOCKS_KEPT) {
        rl_lock_destroy(client, lock);
        return;
    }
    lock->next = client->spare;
    client->spare = lock;
    client->spare_count++;
}

static char *append(char *at, const char *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

/* The keys of all names, each terminated, and the owner behind them. */
static bool set_key(redlock *client, redlock_lock *lock, const struct rl_names *names,
                    struct rl_about *about)
{
    /* A question without a name has no key, not a key that is just the prefix. */
    size_t prefix_size = names->count ? client->prefix_size : 0;
    size_t size = names->owner.size + 2;
    char *at;

    for (size_t i = 0; i < names->count; i++)
        size += prefix_size + names->name[i].size + 1;
    lock->key = size > sizeof lock->key_inline ? malloc(size) : lock->key_inline;
    if (!lock->key)
        return false;
    at = lock->key;
    *at = '\0';
    for (size_t i = 0; i < names->count; i++) {
        at = append(at, client->prefix, prefix_size);
        at = append(at, names->name[i].data, names->name[i].size);
        *at++ = RL_KEY_SEPARATOR;
    }
    lock->key_size = names->count ? (size_t)(at - lock->key) - 1 : 0;
    lock->prefix_size = prefix_size;
    append(at, names->owner.data, names->owner.size)[0] = '\0';
    *about = (struct rl_about){
        .key = {lock->key, lock->key_size},
        .prefix_size = prefix_size,
        .name_count = (uint8_t)(names->count ? names->count : 1),
        .owner = {at, names->owner.size},
        .votes = lock->vote,
    };
    return true;
}

static void reset(redlock_lock *lock)
{
    lock->value[0] = '\0';
    lock->operation = RL_NO_OPERATION;
    lock->done = NULL;
    lock->lost = NULL;
    lock->jeopardy = NULL;
    lock->event_fd = -1;
    lock->thread = NULL;
    lock->done_data = lock->lost_data = NULL;
    lock->released = lock->given_up = lock->adopted = lock->dropped = false;
    lock->in_callback = lock->doomed = lock->finished = false;
}

redlock_lock *rl_lock_new_for(redlock *client, const char *name, size_t name_size,
                              const struct rl_lock_terms *terms)
{
    struct rl_names names = {
        .count = name_size > 0, .name = {{name, name_size}}, .owner = {"", 0}};

    return rl_lock_new(client, &names, terms);
}

redlock_lock *rl_lock_new(redlock *client, const struct rl_names *names,
                          const struct rl_lock_terms *terms)
{
    redlock_lock *lock = take_memory(client);
    struct rl_about about;

    if (!lock) {
        rl_detail(REDLOCK_NOMEM, "out of memory");
        return NULL;
    }
    reset(lock);
    if (!set_key(client, lock, names, &about) ||
        rl_handle_init(&client->engine, &lock->handle, &about, terms) < 0) {
        rl_detail(REDLOCK_NOMEM, "out of memory");
        give_memory_back(client, lock);
        return NULL;
    }
    lock->client = client;
    lock->previous = NULL;
    lock->next = client->locks;
    if (client->locks)
        client->locks->previous = lock;
    client->locks = lock;
    client->references++;
    return lock;
}

void rl_lock_keep_value(redlock_lock *lock)
{
    if (lock->handle.claim)
        memcpy(lock->value, lock->handle.claim->value_bytes, sizeof lock->value);
}

/* The mutex is held; the client may be gone afterwards only if it was closed before. */
void rl_lock_discard(redlock *client, redlock_lock *lock, bool give_up)
{
    rl_unbind_thread(client, lock);
    if (!lock->dropped)
        rl_handle_drop(&client->engine, &lock->handle, give_up && !lock->adopted, rl_now_ns());
    if (lock->previous)
        lock->previous->next = lock->next;
    else
        client->locks = lock->next;
    if (lock->next)
        lock->next->previous = lock->previous;
    give_memory_back(client, lock);
    client->references--;
}

/* Is there something on the nodes, or on its way, that nobody would take back? */
static bool owes_release(const redlock_lock *lock)
{
    enum rl_state state = lock->handle.lock.state;

    return !lock->dropped && !lock->adopted && state != RL_IDLE && state != RL_RELEASING &&
           state != RL_ENDED;
}

static void end_handle(redlock_lock *lock, bool give_up)
{
    redlock *client = lock->client;
    bool wake;
    bool gone;

    if (rl_client_is_forked(client)) {
        if (pthread_mutex_trylock(&client->mutex) != 0)
            return;
        give_up = false;
    } else {
        pthread_mutex_lock(&client->mutex);
        if (lock->in_callback && pthread_equal(client->caller, pthread_self())) {
            lock->adopted |= !give_up;
            lock->doomed = true;
            pthread_mutex_unlock(&client->mutex);
            return;
        }
        while (lock->in_callback)
            pthread_cond_wait(&client->turn_cond, &client->mutex);
    }
    wake = give_up && owes_release(lock);
    rl_lock_discard(client, lock, give_up);
    if (wake)
        rl_wake(client);
    gone = client->references == 0;
    pthread_mutex_unlock(&client->mutex);
    if (gone) {
        client->references = 1;
        rl_client_unref(client);
    }
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
