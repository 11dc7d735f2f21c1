/* SPDX-License-Identifier: BSD-2-Clause */
#include "shim.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS_PER_S 1000
#define NS_PER_MS 1000000L
#define NS_PER_S 1000000000L

/*
 * One client of the library and what happened to its operations.
 *
 * `gate` keeps redlock_close() and other calls apart: calls enter it shared, closing alone. A thread
 * that sleeps in rlpy_wait() is not inside a call of the library and outside the gate, so that a
 * client can be closed while threads wait. After fork() a child leaves gate and mutex alone: a
 * thread that does not exist there may have locked them.
 */
struct rlpy_client {
    redlock *library; /* NULL: closed */
    pid_t process;    /* that opened it */
    bool threaded;
    pthread_rwlock_t gate;
    pthread_mutex_t mutex; /* guards what follows, and the news of the operations */
    struct rlpy_op *first; /* those with news, in the order in which it came */
    struct rlpy_op **last;
    bool stopped;        /* rlpy_stop_news() */
    sem_t news;          /* threaded: posted when the list was empty or news are to end */
    unsigned references; /* operations, and Python itself */
};

/*
 * A lock or a question. Python owns it from its making to rlpy_free(). The library's callbacks get
 * it as `data`; none of them runs any more once redlock_lock_free() or redlock_forget() has returned.
 */
struct rlpy_op {
    struct rlpy_client *client;
    struct rlpy_op *next; /* in the list of news */
    bool is_listed;
    int64_t id;
    unsigned news;        /* enum rlpy_news, not yet taken */
    redlock_lock *handle; /* NULL: a question, or a warning */
    bool is_question;     /* redlock_forget() ends it */
    int outcome;          /* of the last operation */
    char *detail;         /* of the same; NULL: it was OK */
    int lost;
    char *lost_detail;
    int jeopardy;
    int place;
    rlpy_warning *warning;
    sem_t ended; /* threaded: posted when an operation has ended */

    redlock_info *info;
    redlock_report *report;
    char **names;
    size_t name_count;
    rlpy_check *checks;
    size_t check_count;
};

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

static void *fail(int error)
{
    last_error = error;
    return NULL;
}

/* ---- the gate ---- */

static bool is_forked(const rlpy_client *client)
{
    return getpid() != client->process;
}

/* A call of the library may be made until leave(); in a child the library itself refuses it. */
static bool enter(const rlpy_client *client)
{
    if (is_forked(client))
        return false;
    pthread_rwlock_rdlock((pthread_rwlock_t *)&client->gate);
    return true;
}

static void leave(const rlpy_client *client, bool entered)
{
    if (entered)
        pthread_rwlock_unlock((pthread_rwlock_t *)&client->gate);
}

/* ---- news ---- */

/* With the mutex held. */
static void note(rlpy_op *op, unsigned news)
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

/* With the mutex held. */
static void unlist(rlpy_op *op)
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

/* A loop hears of the end by the list, a thread by the semaphore that it sleeps on. */
static void note_end(rlpy_op *op, int error)
{
    rlpy_client *client = op->client;

    pthread_mutex_lock(&client->mutex);
    free(op->detail);
    op->detail = error ? strdup(redlock_detail()) : NULL;
    op->outcome = error;
    if (!client->threaded)
        note(op, RLPY_DONE);
    pthread_mutex_unlock(&client->mutex);
    if (client->threaded)
        sem_post(&op->ended);
}

static void on_done(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    note_end(data, error);
}

static void on_lost(redlock_lock *lock, int error, void *data)
{
    rlpy_op *op = data;

    (void)lock;
    pthread_mutex_lock(&op->client->mutex);
    op->lost = error;
    free(op->lost_detail);
    op->lost_detail = strdup(redlock_detail());
    note(op, RLPY_LOST);
    pthread_mutex_unlock(&op->client->mutex);
}

static void on_jeopardy(redlock_lock *lock, int error, void *data)
{
    rlpy_op *op = data;

    (void)lock;
    pthread_mutex_lock(&op->client->mutex);
    op->jeopardy = error;
    note(op, RLPY_JEOPARDY);
    pthread_mutex_unlock(&op->client->mutex);
}

static void on_queued(redlock_lock *lock, int place, void *data)
{
    rlpy_op *op = data;

    (void)lock;
    pthread_mutex_lock(&op->client->mutex);
    op->place = place;
    note(op, RLPY_QUEUED);
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

    if (is_forked(client))
        return 0;
    pthread_mutex_lock(&client->mutex);
    while (client->first && count < max) {
        rlpy_op *op = client->first;

        count += write_news(op, out + (size_t)count * RLPY_NEWS_FIELDS, max - count);
        if (op->news)
            break;
        unlist(op);
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
    bool entered = enter(client);
    int result = client->library ? redlock_process(client->library, 0) : 0;

    leave(client, entered);
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
    if (is_forked(client))
        return;
    pthread_mutex_lock(&client->mutex);
    client->stopped = true;
    sem_post(&client->news);
    pthread_mutex_unlock(&client->mutex);
}

/* ---- operations ---- */

rlpy_op *rlpy_new(rlpy_client *client, int64_t id)
{
    rlpy_op *op = is_forked(client) ? NULL : calloc(1, sizeof *op);

    if (!op)
        return fail(is_forked(client) ? REDLOCK_FORKED : REDLOCK_NOMEM);
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
static void unref(rlpy_client *client)
{
    bool forked = is_forked(client);
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

    if (!is_forked(client)) {
        pthread_mutex_lock(&client->mutex);
        unlist(op);
        pthread_mutex_unlock(&client->mutex);
    }
    sem_destroy(&op->ended);
    free_answer(op);
    free(op->detail);
    free(op->lost_detail);
    free(op);
    atomic_fetch_sub(&op_count, 1);
    unref(client);
}

static void end(rlpy_op *op, void (*end_handle)(redlock_lock *))
{
    bool entered;

    if (!op)
        return;
    entered = enter(op->client);
    if (op->handle)
        end_handle(op->handle);
    else if (op->is_question && op->client->library)
        redlock_forget(op->client->library, op);
    leave(op->client, entered);
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
    note(op, RLPY_WARNING);
    pthread_mutex_unlock(&client->mutex);
}

rlpy_client *rlpy_open(const redlock_options *options)
{
    rlpy_client *client = calloc(1, sizeof *client);
    redlock_options o = *options;
    int error;

    if (!client)
        return fail(REDLOCK_NOMEM);
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
    return fail(error);
}

void rlpy_close(rlpy_client *client)
{
    bool forked = is_forked(client);

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
    unref(client);
}

int rlpy_fd(rlpy_client *client)
{
    bool entered = enter(client);
    int fd = redlock_fd(client->library);

    leave(client, entered);
    return fd;
}

int rlpy_node(rlpy_client *client, size_t index, redlock_node_info *out)
{
    bool entered = enter(client);
    int error = redlock_node(client->library, index, out);

    leave(client, entered);
    return error;
}

int rlpy_stats(rlpy_client *client, redlock_stats *out)
{
    bool entered = enter(client);
    int error = client->library ? redlock_stats_get(client->library, out) : REDLOCK_INVAL;

    leave(client, entered);
    return error;
}

int rlpy_quorum_of(rlpy_client *client, const char *name)
{
    bool entered = enter(client);
    int index = client->library ? redlock_quorum_of(client->library, name) : REDLOCK_INVAL;

    leave(client, entered);
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
    request.done = on_done;
    request.lost = on_lost;
    request.jeopardy = on_jeopardy;
    request.queued = tells_place ? on_queued : NULL;
    request.data = op;
    entered = enter(op->client);
    error = redlock_start(op->client->library, name, ttl_ms, &request, &op->handle);
    leave(op->client, entered);
    return error;
}

int rlpy_adopt(rlpy_op *op, const char *name, const char *value, const redlock_request *terms)
{
    redlock_request request = *terms;
    bool entered;
    int error;

    request.size = sizeof request;
    request.lost = on_lost;
    request.jeopardy = on_jeopardy;
    request.data = op;
    entered = enter(op->client);
    error = redlock_adopt_as(op->client->library, name, value, &request, &op->handle);
    leave(op->client, entered);
    return error;
}

int rlpy_start_extend(rlpy_op *op, int64_t ttl_ms)
{
    bool entered = enter(op->client);
    int error = redlock_start_extend(op->handle, ttl_ms, on_done, op);

    leave(op->client, entered);
    return error;
}

int rlpy_start_release(rlpy_op *op)
{
    bool entered = enter(op->client);
    int error = redlock_start_release(op->handle, on_done, op);

    leave(op->client, entered);
    return error;
}

int rlpy_cancel(rlpy_op *op)
{
    bool entered = enter(op->client);
    int error = op->handle ? redlock_cancel(op->handle) : REDLOCK_INVAL;

    leave(op->client, entered);
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

    if (is_forked(op->client))
        return "";
    pthread_mutex_lock(&op->client->mutex);
    detail = op->lost_detail ? op->lost_detail : "";
    pthread_mutex_unlock(&op->client->mutex);
    return detail;
}

#define LOOK(type, name)                                                                       \
    type rlpy_##name(const rlpy_op *op)                                                        \
    {                                                                                          \
        bool entered = enter(op->client);                                                      \
        type result = op->handle ? redlock_##name(op->handle) : 0;                             \
                                                                                               \
        leave(op->client, entered);                                                            \
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
    bool entered = enter(op->client);
    int error = op->handle ? redlock_lock_report(op->handle, out) : REDLOCK_INVAL;

    leave(op->client, entered);
    return error;
}

/* ---- questions ---- */

/* A struct that begins with its size, as the library in use knows it. */
static void *copied(const void *from, size_t size)
{
    void *to = from ? calloc(1, size) : NULL;
    size_t known;

    if (!to)
        return NULL;
    memcpy(&known, from, sizeof known);
    memcpy(to, from, known < size ? known : size);
    return to;
}

/* False without memory. */
static bool copy_answer(rlpy_op *op, const redlock_answer *answer)
{
    op->info = copied(answer->info, sizeof *op->info);
    op->report = copied(answer->report, sizeof *op->report);
    if ((answer->info && !op->info) || (answer->report && !op->report))
        return false;
    if (answer->name_count == 0)
        return true;
    op->names = calloc(answer->name_count, sizeof *op->names);
    for (; op->names && op->name_count < answer->name_count; op->name_count++) {
        op->names[op->name_count] = strdup(answer->names[op->name_count]);
        if (!op->names[op->name_count])
            return false;
    }
    return op->names != NULL;
}

static void on_answer(int error, const redlock_answer *answer, void *data)
{
    if (answer && !copy_answer(data, answer) && !error)
        error = REDLOCK_NOMEM;
    note_end(data, error);
}

static char *text(const char *from)
{
    return strdup(from ? from : "");
}

static void on_check(const redlock_check *check, void *data)
{
    rlpy_op *op = data;
    rlpy_check *more = realloc(op->checks, (op->check_count + 1) * sizeof *more);

    if (!more)
        return;
    op->checks = more;
    more[op->check_count++] =
        (rlpy_check){check->verdict,    text(check->address), text(check->name),
                     text(check->text), text(check->remedy),  text(check->quorum)};
}

static int ask(redlock *library, rlpy_op *op, int question, const char *name, const char *word,
               int64_t ttl_ms)
{
    switch (question) {
    case RLPY_QUERY:
        return redlock_start_query(library, name, on_answer, op);
    case RLPY_LIST:
        return redlock_start_list(library, on_answer, op);
    case RLPY_BREAK:
        return redlock_start_break(library, name, word, on_answer, op);
    case RLPY_RELEASE_TAGGED:
        return redlock_start_release_tagged(library, name, word, on_answer, op);
    case RLPY_PING:
        return redlock_start_ping(library, on_answer, op);
    case RLPY_ADMIT:
        return redlock_start_admit(library, on_answer, op);
    default:
        return redlock_start_audit(library, ttl_ms, on_check, on_answer, op);
    }
}

int rlpy_ask(rlpy_op *op, int question, const char *name, const char *word, int64_t ttl_ms,
             int quorum)
{
    rlpy_client *client = op->client;
    bool entered = enter(client);
    redlock *library = quorum < 0 || !client->library
                           ? client->library
                           : redlock_member(client->library, (size_t)quorum);
    int error;

    op->is_question = true;
    error = ask(library, op, question, name, word, ttl_ms);
    leave(client, entered);
    return error;
}

const redlock_info *rlpy_answer_info(const rlpy_op *op)
{
    return op->info;
}

const redlock_report *rlpy_answer_report(const rlpy_op *op)
{
    return op->report;
}

size_t rlpy_answer_count(const rlpy_op *op)
{
    return op->checks ? op->check_count : op->name_count;
}

const char *rlpy_answer_name(const rlpy_op *op, size_t index)
{
    return index < op->name_count ? op->names[index] : NULL;
}

const rlpy_check *rlpy_answer_check(const rlpy_op *op, size_t index)
{
    return index < op->check_count ? &op->checks[index] : NULL;
}
