/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int last_error;
static _Atomic int64_t op_count;

int rlpy_error(void)
{
    return last_error;
}

int64_t rlpy_op_count(void)
{
    return atomic_load(&op_count);
}

void *rlpy_fail(int error)
{
    last_error = error;
    return NULL;
}

/* ---- the gate ---- */

bool rlpy_is_forked(const rlpy_client *client)
{
    return getpid() != client->process;
}

/* A call of the library may be made until rlpy_exit(); in a child the library itself refuses it. */
bool rlpy_enter(const rlpy_client *client)
{
    if (rlpy_is_forked(client))
        return false;
    pthread_rwlock_rdlock((pthread_rwlock_t *)&client->gate);
    return true;
}

void rlpy_exit(const rlpy_client *client, bool entered)
{
    if (entered)
        pthread_rwlock_unlock((pthread_rwlock_t *)&client->gate);
}

/* ---- news ---- */

void rlpy_note(rlpy_op *op, unsigned news)
{
    rlpy_client *client = op->client;

    op->news |= news;
    if (op->is_listed)
        return;
    if (client->threaded && !client->first)
        sem_post(&client->news);
    op->is_listed = true;
    op->next = NULL;
    *client->last = op;
    client->last = &op->next;
}

void rlpy_unlist(rlpy_op *op)
{
    rlpy_client *client = op->client;
    rlpy_op **at = &client->first;

    if (!op->is_listed)
        return;
    while (*at != op)
        at = &(*at)->next;
    *at = op->next;
    if (client->last == &op->next)
        client->last = at;
    op->is_listed = false;
}

void rlpy_note_end(rlpy_op *op, int error)
{
    rlpy_client *client = op->client;

    pthread_mutex_lock(&client->mutex);
    free(op->detail);
    op->detail = error ? strdup(redlock_detail()) : NULL;
    op->outcome = error;
    if (!client->threaded)
        rlpy_note(op, RLPY_DONE);
    pthread_mutex_unlock(&client->mutex);
    if (client->threaded)
        sem_post(&op->ended);
}

void rlpy_on_done(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    rlpy_note_end(data, error);
}

void rlpy_on_lost(redlock_lock *lock, int error, void *data)
{
    rlpy_op *op = data;

    (void)lock;
    pthread_mutex_lock(&op->client->mutex);
    op->lost = error;
    free(op->lost_detail);
    op->lost_detail = strdup(redlock_detail());
    rlpy_note(op, RLPY_LOST);
    pthread_mutex_unlock(&op->client->mutex);
}

void rlpy_on_jeopardy(redlock_lock *lock, int error, void *data)
{
    rlpy_op *op = data;

    (void)lock;
    pthread_mutex_lock(&op->client->mutex);
    op->jeopardy = error;
    rlpy_note(op, RLPY_JEOPARDY);
    pthread_mutex_unlock(&op->client->mutex);
}

void rlpy_on_queued(redlock_lock *lock, int place, void *data)
{
    rlpy_op *op = data;

    (void)lock;
    pthread_mutex_lock(&op->client->mutex);
    op->place = place;
    rlpy_note(op, RLPY_QUEUED);
    pthread_mutex_unlock(&op->client->mutex);
}

static int write_news(rlpy_op *op, int64_t *out, int room)
{
    const struct {
        unsigned news;
        int64_t number;
    } each[] = {{RLPY_QUEUED, op->place},
                {RLPY_DONE, op->outcome},
                {RLPY_JEOPARDY, op->jeopardy},
                {RLPY_LOST, op->lost},
                {RLPY_WARNING, (int64_t)(intptr_t)op->warning}};
    int count = 0;

    for (size_t i = 0; i < sizeof each / sizeof *each && count < room; i++) {
        if (!(op->news & each[i].news))
            continue;
        op->news &= ~each[i].news;
        out[0] = op->id;
        out[1] = each[i].news;
        out[2] = each[i].number;
        out += RLPY_NEWS_FIELDS;
        count++;
    }
    return count;
}

int rlpy_take(rlpy_client *client, int64_t *out, int max)
{
    int count = 0;

    if (rlpy_is_forked(client))
        return 0;
    pthread_mutex_lock(&client->mutex);
    while (client->first && count < max) {
        rlpy_op *op = client->first;

        count += write_news(op, out + (size_t)count * RLPY_NEWS_FIELDS, max - count);
        if (op->news)
            break;
        rlpy_unlist(op);
        if (op->warning) {
            client->references--;
            free(op); /* Python has the address of the warning now */
        }
    }
    pthread_mutex_unlock(&client->mutex);
    return count;
}

int rlpy_turn(rlpy_client *client, int64_t *out, int max)
{
    bool entered = rlpy_enter(client);
    int result = client->library ? redlock_process(client->library, 0) : 0;

    rlpy_exit(client, entered);
    return result < 0 ? result : rlpy_take(client, out, max);
}

int rlpy_await_news(rlpy_client *client)
{
    bool stopped;

    while (sem_wait(&client->news) != 0 && errno == EINTR)
        continue;
    pthread_mutex_lock(&client->mutex);
    stopped = client->stopped;
    pthread_mutex_unlock(&client->mutex);
    return !stopped;
}

void rlpy_stop_news(rlpy_client *client)
{
    if (rlpy_is_forked(client))
        return;
    pthread_mutex_lock(&client->mutex);
    client->stopped = true;
    sem_post(&client->news);
    pthread_mutex_unlock(&client->mutex);
}

/* ---- operations ---- */

rlpy_op *rlpy_new(rlpy_client *client, int64_t id)
{
    rlpy_op *op = rlpy_is_forked(client) ? NULL : calloc(1, sizeof *op);

    if (!op)
        return rlpy_fail(rlpy_is_forked(client) ? REDLOCK_FORKED : REDLOCK_NOMEM);
    op->client = client;
    op->id = id;
    sem_init(&op->ended, 0, 0);
    pthread_mutex_lock(&client->mutex);
    client->references++;
    pthread_mutex_unlock(&client->mutex);
    atomic_fetch_add(&op_count, 1);
    return op;
}

static void free_check(const rlpy_check *check)
{
    free(check->address);
    free(check->name);
    free(check->text);
    free(check->remedy);
    free(check->quorum);
}

static void free_answer(rlpy_op *op)
{
    for (size_t i = 0; i < op->name_count; i++)
        free(op->names[i]);
    for (size_t i = 0; i < op->check_count; i++)
        free_check(&op->checks[i]);
    free(op->names);
    free(op->checks);
    free(op->info);
    free(op->report);
}

/* Gives back a reference; the last one frees the client. In a child no thread has the mutex. */
void rlpy_unref(rlpy_client *client)
{
    bool forked = rlpy_is_forked(client);
    bool is_last;

    if (!forked)
        pthread_mutex_lock(&client->mutex);
    is_last = --client->references == 0;
    if (!forked)
        pthread_mutex_unlock(&client->mutex);
    if (!is_last)
        return;
    if (!forked) {
        pthread_mutex_destroy(&client->mutex);
        pthread_rwlock_destroy(&client->gate);
        sem_destroy(&client->news);
    }
    free(client);
}

static void discard(rlpy_op *op)
{
    rlpy_client *client = op->client;

    if (!rlpy_is_forked(client)) {
        pthread_mutex_lock(&client->mutex);
        rlpy_unlist(op);
        pthread_mutex_unlock(&client->mutex);
    }
    sem_destroy(&op->ended);
    free_answer(op);
    free(op->detail);
    free(op->lost_detail);
    free(op);
    atomic_fetch_sub(&op_count, 1);
    rlpy_unref(client);
}

static void end(rlpy_op *op, void (*end_handle)(redlock_lock *))
{
    bool entered;

    if (!op)
        return;
    entered = rlpy_enter(op->client);
    if (op->handle)
        end_handle(op->handle);
    else if (op->is_question && op->client->library)
        redlock_forget(op->client->library, op);
    rlpy_exit(op->client, entered);
    discard(op);
}

void rlpy_free(rlpy_op *op)
{
    end(op, redlock_lock_free);
}

void rlpy_leave(rlpy_op *op)
{
    end(op, redlock_lock_leave);
}
