/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "drive/drive.h"

/* A thread, as long as it lives or a client watches it. */
struct rl_thread {
    atomic_uint references; /* the thread, and every client that watches it */
    atomic_bool ended;
    uint32_t stamp; /* the process it belongs to: a forked child shares the eventfd */
    int fd;
};

/* A thread that one client watches. */
struct rl_bound_thread {
    struct rl_thread *thread;
    LIST_ENTRY(rl_bound_thread) others;
    LIST_HEAD(, rl_bond) bonds; /* never empty */
};

/* One lock of it. */
struct rl_bond {
    redlock_lock *lock;
    struct rl_bound_thread *to;
    LIST_ENTRY(rl_bond) others;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_made;

/* ---- threads ---- */

static void unref(struct rl_thread *thread)
{
    if (atomic_fetch_sub(&thread->references, 1) > 1)
        return;
    close(thread->fd);
    free(thread);
}

static void on_end(void *data)
{
    struct rl_thread *thread = data;
    uint64_t one = 1;

    if (thread->stamp != rl_process_stamp())
        return;
    atomic_store(&thread->ended, true);
    if (write(thread->fd, &one, sizeof one) < 0) {
        /* It is readable already. */
    }
    unref(thread);
}

static void make_key(void)
{
    key_made = pthread_key_create(&key, on_end) == 0;
}

struct rl_thread *rl_thread_own(void)
{
    struct rl_thread *thread;

    pthread_once(&once, make_key);
    if (!key_made)
        return NULL;
    thread = pthread_getspecific(key);
    /* One that was inherited by fork belongs to a thread of the parent. */
    if (thread && thread->stamp == rl_process_stamp())
        return thread;
    thread = malloc(sizeof *thread);
    if (!thread)
        return NULL;
    atomic_init(&thread->references, 1);
    atomic_init(&thread->ended, false);
    thread->stamp = rl_process_stamp();
    thread->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (thread->fd < 0 || pthread_setspecific(key, thread) != 0) {
        if (thread->fd >= 0)
            close(thread->fd);
        free(thread);
        return NULL;
    }
    return thread;
}

/* ---- the client's side ---- */

static struct rl_bound_thread *watch(redlock *client, struct rl_thread *thread)
{
    struct rl_bound_thread *known;

    LIST_FOREACH (known, &client->bound, others)
        if (known->thread == thread)
            return known;
    known = calloc(1, sizeof *known);
    if (!known ||
        rl_reactor_add(&client->reactor, thread->fd, EPOLLIN, RL_REACTOR_THREAD) < 0) {
        free(known);
        return NULL;
    }
    atomic_fetch_add(&thread->references, 1);
    known->thread = thread;
    LIST_INIT(&known->bonds);
    LIST_INSERT_HEAD(&client->bound, known, others);
    return known;
}

int rl_bind(redlock *client, redlock_lock *lock, struct rl_thread *thread)
{
    struct rl_bond *bond = malloc(sizeof *bond);
    struct rl_bound_thread *known = bond ? watch(client, thread) : NULL;

    if (!known) {
        free(bond);
        return -1;
    }
    *bond = (struct rl_bond){.lock = lock, .to = known};
    LIST_INSERT_HEAD(&known->bonds, bond, others);
    lock->bond = bond;
    return 0;
}

void rl_unbind(redlock *client, redlock_lock *lock)
{
    struct rl_bond *bond = lock->bond;
    struct rl_bound_thread *known = bond->to;

    lock->bond = NULL;
    LIST_REMOVE(bond, others);
    free(bond);
    if (!LIST_EMPTY(&known->bonds))
        return;
    LIST_REMOVE(known, others);
    /* In a child: the epoll set is the parent's as well, and not ours to change. */
    if (!rl_client_is_forked(client)) {
        if (!client->closed)
            rl_reactor_remove(&client->reactor, known->thread->fd);
        unref(known->thread);
    }
    free(known);
}

static struct rl_bound_thread *find_ended(redlock *client)
{
    struct rl_bound_thread *known;

    LIST_FOREACH (known, &client->bound, others)
        if (atomic_load(&known->thread->ended))
            return known;
    return NULL;
}

void rl_release_bound(redlock *client, int64_t now_ns)
{
    struct rl_bound_thread *ended;

    while ((ended = find_ended(client)) != NULL) {
        redlock_lock *lock = LIST_FIRST(&ended->bonds)->lock;

        rl_unbind(client, lock); /* with the last one, `ended` goes */
        rl_give_up(client, lock, now_ns);
    }
}
