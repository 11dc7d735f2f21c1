/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

struct queue {
    size_t size;
    unsigned texts;
    char *bytes;
};

/* Freed by the last of its two users: the owner, which closes it, and the thread. */
struct rl_sink {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t size;
    struct queue queue[2];
    unsigned filling; /* which of them the owner adds to; the other one is the thread's */
    unsigned writing; /* texts of that other one */
    struct rl_sink_counts counts; /* without `queued` */
    enum rl_sink_kind kind;
    int failed_fd;
    bool is_closed; /* by the owner: the thread ends when all is written */
    bool is_torn;   /* a line was cut, by a full disk or terminal, and the next begins a line */
    unsigned users;
    bool is_socket;
    bool is_direct; /* no write waits: there is no thread, and the queues stay empty */
    int fd;
    char bytes[]; /* of both queues */
};

/* With the mutex, which it gives back. */
static void leave(struct rl_sink *sink)
{
    bool is_last = --sink->users == 0;

    pthread_cond_broadcast(&sink->changed);
    pthread_mutex_unlock(&sink->mutex);
    if (!is_last)
        return;
    pthread_cond_destroy(&sink->changed);
    pthread_mutex_destroy(&sink->mutex);
    close(sink->fd);
    if (sink->failed_fd >= 0)
        close(sink->failed_fd);
    free(sink);
}

static ssize_t write_some(const struct rl_sink *sink, const char *bytes, size_t size)
{
    ssize_t written;

    do
        written = sink->is_socket ? send(sink->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                                  : write(sink->fd, bytes, size);
    while (written < 0 && errno == EINTR);
    return written;
}

static bool write_line(struct rl_sink *sink, const char *line, size_t size)
{
    ssize_t written;

    if (sink->is_torn && write_some(sink, "\n", 1) != 1)
        return false;
    written = write_some(sink, line, size);
    sink->is_torn = written > 0 && (size_t)written < size;
    return written == (ssize_t)size;
}

size_t rl_write_all(int fd, const char *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t wrote = write(fd, bytes + done, size - done);

        if (wrote < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        else if (wrote < 0 && errno != EINTR)
            break;
        else if (wrote > 0)
            done += (size_t)wrote;
    }
    return done;
}

/* What came of a queue. */
struct outcome {
    unsigned dropped;
    size_t written;
    int error;
};

/* Behind an error the next queue is tried all the same: a disk may have room again. */
static struct outcome write_text(const struct rl_sink *sink, const struct queue *queue)
{
    size_t written = rl_write_all(sink->fd, queue->bytes, queue->size);

    return (struct outcome){.written = written, .error = written < queue->size ? errno : 0};
}

/* One write per line: a pipe takes it whole or not at all. */
static struct outcome write_lines(struct rl_sink *sink, const struct queue *queue)
{
    const char *line = queue->bytes, *end = queue->bytes + queue->size;
    struct outcome outcome = {.dropped = 0};

    while (line < end) {
        const char *next = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;

        outcome.dropped += !write_line(sink, line, (size_t)(next - line));
        line = next;
    }
    return outcome;
}

/* With the mutex. */
static void count(struct rl_sink *sink, const struct outcome *outcome)
{
    sink->counts.dropped += outcome->dropped;
    if (sink->counts.error)
        return;
    sink->counts.written += outcome->written;
    sink->counts.error = outcome->error;
    if (outcome->error)
        eventfd_write(sink->failed_fd, 1);
}

static void *run(void *data)
{
    struct rl_sink *sink = data;

    pthread_mutex_lock(&sink->mutex);
    for (;;) {
        struct queue *queue = &sink->queue[sink->filling];
        struct outcome outcome;

        if (queue->size == 0) {
            if (sink->is_closed)
                break;
            pthread_cond_wait(&sink->changed, &sink->mutex);
            continue;
        }
        sink->filling = !sink->filling;
        sink->writing = queue->texts;
        pthread_mutex_unlock(&sink->mutex);
        outcome =
            sink->kind == RL_SINK_TEXT ? write_text(sink, queue) : write_lines(sink, queue);
        pthread_mutex_lock(&sink->mutex);
        queue->size = queue->texts = sink->writing = 0;
        count(sink, &outcome);
        pthread_cond_broadcast(&sink->changed);
    }
    leave(sink);
    return NULL;
}

/* Detached, and with all signals blocked: they are the owner's. 0 or errno. */
static int start(struct rl_sink *sink)
{
    pthread_t thread;
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, NULL, run, sink);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? error : pthread_detach(thread);
}

/*
 * Makes writes that do not wait out of sink->fd, if it can. O_NONBLOCK belongs to the open
 * file, which other processes may have, too: a terminal or a pipe is opened once more.
 */
static void make_direct(struct rl_sink *sink)
{
    char path[64];
    struct stat status;
    int again;

    if (fstat(sink->fd, &status) < 0 || S_ISREG(status.st_mode) || S_ISBLK(status.st_mode))
        return;
    sink->is_socket = sink->is_direct = S_ISSOCK(status.st_mode);
    if (sink->is_socket)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", sink->fd);
    again = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again < 0)
        return;
    close(sink->fd);
    sink->fd = again;
    sink->is_direct = true;
}

struct rl_sink *rl_sink_open(int fd, enum rl_sink_kind kind, size_t size)
{
    struct rl_sink *sink = fd < 0 ? NULL : calloc(1, sizeof *sink + 2 * size);
    pthread_condattr_t attributes;
    int error = 0;

    if (!sink) {
        error = errno;
        close(fd);
        errno = error;
        return NULL;
    }
    sink->fd = fd;
    sink->kind = kind;
    sink->size = size;
    sink->queue[0].bytes = sink->bytes;
    sink->queue[1].bytes = sink->bytes + size;
    sink->users = 2;
    pthread_mutex_init(&sink->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sink->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    sink->failed_fd = kind == RL_SINK_TEXT ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (kind == RL_SINK_LINES)
        make_direct(sink);
    if (sink->is_direct)
        sink->users = 1;
    else
        error = kind == RL_SINK_TEXT && sink->failed_fd < 0 ? errno : start(sink);
    if (!error)
        return sink;
    sink->users = 1;
    pthread_mutex_lock(&sink->mutex);
    leave(sink);
    errno = error;
    return NULL;
}

bool rl_sink_put(struct rl_sink *sink, const char *text, size_t size)
{
    struct queue *queue;
    bool is_taken;

    pthread_mutex_lock(&sink->mutex);
    queue = &sink->queue[sink->filling];
    is_taken =
        sink->is_direct ? write_line(sink, text, size) : size <= sink->size - queue->size;
    if (!is_taken) {
        sink->counts.dropped++;
    } else if (!sink->is_direct) {
        memcpy(queue->bytes + queue->size, text, size);
        queue->size += size;
        /* Later ones find the thread awake, or writing. */
        if (queue->texts++ == 0)
            pthread_cond_broadcast(&sink->changed);
    }
    pthread_mutex_unlock(&sink->mutex);
    return is_taken;
}

int rl_sink_failed_fd(const struct rl_sink *sink)
{
    return sink->failed_fd;
}

static unsigned queued(const struct rl_sink *sink)
{
    return sink->queue[sink->filling].texts + sink->writing;
}

void rl_sink_count(struct rl_sink *sink, struct rl_sink_counts *counts)
{
    pthread_mutex_lock(&sink->mutex);
    *counts = sink->counts;
    counts->queued = queued(sink);
    pthread_mutex_unlock(&sink->mutex);
}

/* With the mutex. */
static bool wait_until_written(struct rl_sink *sink, int limit_ms)
{
    struct timespec until;
    int error = limit_ms == 0 ? ETIMEDOUT : 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += limit_ms / 1000;
    until.tv_nsec += limit_ms % 1000 * RL_NS_PER_MS;
    if (until.tv_nsec >= RL_NS_PER_S) {
        until.tv_sec++;
        until.tv_nsec -= RL_NS_PER_S;
    }
    while (queued(sink) > 0 && !error)
        error = limit_ms < 0 ? pthread_cond_wait(&sink->changed, &sink->mutex)
                             : pthread_cond_timedwait(&sink->changed, &sink->mutex, &until);
    return queued(sink) == 0;
}

bool rl_sink_wait(struct rl_sink *sink, int limit_ms)
{
    bool is_written;

    pthread_mutex_lock(&sink->mutex);
    is_written = wait_until_written(sink, limit_ms);
    pthread_mutex_unlock(&sink->mutex);
    return is_written;
}

void rl_sink_close(struct rl_sink *sink, int limit_ms)
{
    if (!sink)
        return;
    pthread_mutex_lock(&sink->mutex);
    sink->is_closed = true;
    pthread_cond_broadcast(&sink->changed);
    wait_until_written(sink, limit_ms);
    leave(sink);
}
