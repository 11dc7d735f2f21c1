/* SPDX-License-Identifier: BSD-2-Clause */
#include "shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "op.h"

#define MS_PER_S 1000
#define NS_PER_MS 1000000L
#define NS_PER_S 1000000000L

/* ---- the client ---- */

void rlpy_warning_free(rlpy_warning *warning)
{
    if (!warning)
        return;
    free(warning->address);
    free(warning->text);
    free(warning);
}

/* Without memory the doubt about a node is not told: nothing rests on it. */
static void on_warning(const char *address, const char *text, void *data)
{
    rlpy_client *client = data;
    rlpy_op *op = calloc(1, sizeof *op);
    rlpy_warning *warning = calloc(1, sizeof *warning);

    if (warning) {
        warning->address = strdup(address);
        warning->text = strdup(text);
    }
    if (!op || !warning || !warning->address || !warning->text) {
        free(op);
        rlpy_warning_free(warning);
        return;
    }
    op->client = client;
    op->warning = warning;
    pthread_mutex_lock(&client->mutex);
    client->references++;
    rlpy_note(op, RLPY_WARNING);
    pthread_mutex_unlock(&client->mutex);
}

rlpy_client *rlpy_open(const redlock_options *options)
{
    rlpy_client *client = calloc(1, sizeof *client);
    redlock_options o = *options;
    int error;

    if (!client)
        return rlpy_fail(REDLOCK_NOMEM);
    client->process = getpid();
    client->threaded = options->flags & REDLOCK_THREAD;
    client->last = &client->first;
    client->references = 1;
    pthread_rwlock_init(&client->gate, NULL);
    pthread_mutex_init(&client->mutex, NULL);
    sem_init(&client->news, 0, 0);
    o.warn = on_warning;
    o.warn_data = client;
    error = redlock_open(&o, &client->library);
    if (!error)
        return client;
    rlpy_client_free(client);
    return rlpy_fail(error);
}

void rlpy_close(rlpy_client *client)
{
    bool forked = rlpy_is_forked(client);

    if (!forked)
        pthread_rwlock_wrlock(&client->gate);
    redlock_close(client->library);
    client->library = NULL;
    if (!forked)
        pthread_rwlock_unlock(&client->gate);
}

/* Warnings that were not taken are the only operations that Python does not own. */
static void drop_warnings(rlpy_client *client)
{
    int64_t news[RLPY_NEWS_FIELDS];

    while (rlpy_take(client, news, 1) == 1)
        if (news[1] == RLPY_WARNING)
            rlpy_warning_free((rlpy_warning *)(intptr_t)news[2]);
}

void rlpy_client_free(rlpy_client *client)
{
    if (!client)
        return;
    rlpy_close(client);
    drop_warnings(client);
    rlpy_unref(client);
}

int rlpy_fd(rlpy_client *client)
{
    bool entered = rlpy_enter(client);
    int fd = redlock_fd(client->library);

    rlpy_exit(client, entered);
    return fd;
}

int rlpy_node(rlpy_client *client, size_t index, redlock_node_info *out)
{
    bool entered = rlpy_enter(client);
    int error = redlock_node(client->library, index, out);

    rlpy_exit(client, entered);
    return error;
}

int rlpy_stats(rlpy_client *client, redlock_stats *out)
{
    bool entered = rlpy_enter(client);
    int error = client->library ? redlock_stats_get(client->library, out) : REDLOCK_INVAL;

    rlpy_exit(client, entered);
    return error;
}

int rlpy_quorum_of(rlpy_client *client, const char *name)
{
    bool entered = rlpy_enter(client);
    int index = client->library ? redlock_quorum_of(client->library, name) : REDLOCK_INVAL;

    rlpy_exit(client, entered);
    return index;
}

/* ---- locks ---- */

int rlpy_start(rlpy_op *op, const char *name, size_t name_length, int64_t ttl_ms,
               int64_t wait_ms, uint32_t flags, const redlock_request *terms, int tells_place)
{
    redlock_request request = terms ? *terms : (redlock_request){0};
    bool entered;
    int error;

    request.size = sizeof request;
    request.name_length = name_length;
    request.wait_ms = wait_ms;
    request.flags |= flags;
    request.done = rlpy_on_done;
    request.lost = rlpy_on_lost;
    request.jeopardy = rlpy_on_jeopardy;
    request.queued = tells_place ? rlpy_on_queued : NULL;
    request.data = op;
    entered = rlpy_enter(op->client);
    error = redlock_start(op->client->library, name, ttl_ms, &request, &op->handle);
    rlpy_exit(op->client, entered);
    return error;
}

int rlpy_adopt(rlpy_op *op, const char *name, const char *value, const redlock_request *terms)
{
    redlock_request request = *terms;
    bool entered;
    int error;

    request.size = sizeof request;
    request.lost = rlpy_on_lost;
    request.jeopardy = rlpy_on_jeopardy;
    request.data = op;
    entered = rlpy_enter(op->client);
    error = redlock_adopt_as(op->client->library, name, value, &request, &op->handle);
    rlpy_exit(op->client, entered);
    return error;
}

int rlpy_start_extend(rlpy_op *op, int64_t ttl_ms)
{
    bool entered = rlpy_enter(op->client);
    int error = redlock_start_extend(op->handle, ttl_ms, rlpy_on_done, op);

    rlpy_exit(op->client, entered);
    return error;
}

int rlpy_start_release(rlpy_op *op)
{
    bool entered = rlpy_enter(op->client);
    int error = redlock_start_release(op->handle, rlpy_on_done, op);

    rlpy_exit(op->client, entered);
    return error;
}

int rlpy_cancel(rlpy_op *op)
{
    bool entered = rlpy_enter(op->client);
    int error = op->handle ? redlock_cancel(op->handle) : REDLOCK_INVAL;

    rlpy_exit(op->client, entered);
    return error;
}

int rlpy_wait(rlpy_op *op, int slice_ms)
{
    struct timespec end;

    if (slice_ms < 0)
        return sem_wait(&op->ended) == 0 ? 0 : 1;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += slice_ms / MS_PER_S;
    end.tv_nsec += slice_ms % MS_PER_S * NS_PER_MS;
    if (end.tv_nsec >= NS_PER_S) {
        end.tv_sec++;
        end.tv_nsec -= NS_PER_S;
    }
    return sem_timedwait(&op->ended, &end) == 0 ? 0 : 1;
}

int rlpy_outcome(const rlpy_op *op)
{
    return op->outcome;
}

const char *rlpy_detail(const rlpy_op *op)
{
    return op->detail ? op->detail : redlock_strerror(op->outcome);
}

const char *rlpy_lost_detail(const rlpy_op *op)
{
    const char *detail;

    if (rlpy_is_forked(op->client))
        return "";
    pthread_mutex_lock(&op->client->mutex);
    detail = op->lost_detail ? op->lost_detail : "";
    pthread_mutex_unlock(&op->client->mutex);
    return detail;
}

#define LOOK(type, name)                                                                       \
    type rlpy_##name(const rlpy_op *op)                                                        \
    {                                                                                          \
        bool entered = rlpy_enter(op->client);                                                 \
        type result = op->handle ? redlock_##name(op->handle) : 0;                             \
                                                                                               \
        rlpy_exit(op->client, entered);                                                        \
        return result;                                                                         \
    }

LOOK(int64_t, remaining_ms)
LOOK(int64_t, deadline_ns)
LOOK(int, state)
LOOK(int64_t, fence)
LOOK(int, position)
LOOK(int, slot)
LOOK(int, margin)

const char *rlpy_value(const rlpy_op *op)
{
    return op->handle ? redlock_value(op->handle) : "";
}

int rlpy_report(const rlpy_op *op, redlock_report *out)
{
    bool entered = rlpy_enter(op->client);
    int error = op->handle ? redlock_lock_report(op->handle, out) : REDLOCK_INVAL;

    rlpy_exit(op->client, entered);
    return error;
}
