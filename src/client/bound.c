/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks that end with the thread that acquired them.
 *
 * Each thread that binds locks has a token with an eventfd. When the thread ends, a destructor
 * marks the token and signals the eventfd, which every client with bound locks watches; the
 * client then releases what was left behind. The ending thread takes no client's mutex, so it
 * does not matter what else it was doing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/client.h"
#include "io/process.h"

struct rl_thread_token {
    atomic_uint references; /* the thread, and every lock bound to it */
    atomic_bool ended;
    uint32_t stamp; /* the process it belongs to: a forked child shares the eventfd */
    int fd;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_made;

static void token_unref(struct rl_thread_token *token)
{
    if (atomic_fetch_sub(&token->references, 1) > 1)
        return;
    close(token->fd);
    free(token);
}

static void thread_ended(void *data)
{
    struct rl_thread_token *token = data;
    uint64_t one = 1;

    if (token->stamp != rl_process_stamp())
        return;
    atomic_store(&token->ended, true);
    if (write(token->fd, &one, sizeof one) < 0) {
        /* It is readable already. */
    }
    token_unref(token);
}

static void make_key(void)
{
    key_made = pthread_key_create(&key, thread_ended) == 0;
}

static struct rl_thread_token *own_token(void)
{
    struct rl_thread_token *token;

    pthread_once(&once, make_key);
    if (!key_made)
        return NULL;
    token = pthread_getspecific(key);
    /* One that was inherited by fork belongs to a thread of the parent. */
    if (token && token->stamp == rl_process_stamp())
        return token;
    token = malloc(sizeof *token);
    if (!token)
        return NULL;
    atomic_init(&token->references, 1);
    atomic_init(&token->ended, false);
    token->stamp = rl_process_stamp();
    token->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (token->fd < 0 || pthread_setspecific(key, token) != 0) {
        if (token->fd >= 0)
            close(token->fd);
        free(token);
        return NULL;
    }
    return token;
}

int rl_bind_thread(redlock *client, redlock_lock *lock)
{
    struct rl_thread_token *token = own_token();

    if (!token)
        return -1;
    /* Once per thread is enough; that it is there already is no failure. */
    if (rl_reactor_add(&client->reactor, token->fd, EPOLLIN, RL_REACTOR_THREAD) < 0 &&
        errno != EEXIST)
        return -1;
    atomic_fetch_add(&token->references, 1);
    lock->thread = token;
    return 0;
}

void rl_unbind_thread(redlock *client, redlock_lock *lock)
{
    struct rl_thread_token *token = lock->thread;

    if (!token)
        return;
    lock->thread = NULL;
    /* In a child: the epoll set is the parent's as well, and not ours to change. */
    if (rl_client_is_forked(client))
        return;
    for (redlock_lock *other = rl_first_lock(client); other; other = rl_next_lock(other))
        if (other->thread == token) {
            token_unref(token);
            return;
        }
    /* The last lock of that thread: nothing is left to watch it for. */
    if (!client->closed)
        rl_reactor_remove(&client->reactor, token->fd);
    token_unref(token);
}

void rl_release_orphaned(redlock *client, int64_t now_ns)
{
    for (redlock_lock *lock = rl_first_lock(client); lock; lock = rl_next_lock(lock)) {
        if (!lock->thread || !atomic_load(&lock->thread->ended))
            continue;
        rl_unbind_thread(client, lock);
        rl_give_up(client, lock, now_ns);
    }
}
