/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

struct queue {
    size_t size;
    unsigned lines;
    char bytes[SINK_BYTES];
};

/* Freed by the last of its two users: the owner, which closes it, and the thread. */
struct sink {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct queue queue[2];
    unsigned filling; /* which of them the owner adds to; the other one is the thread's */
    unsigned writing; /* lines of that other one */
    uint64_t dropped;
    bool is_closed; /* by the owner: the thread ends when all is written */
    bool has_ended; /* the thread */
    bool is_torn;   /* a line was cut, by a full disk or terminal, and the next begins a line */
    unsigned users;
    bool is_socket;
    bool is_direct; /* no write waits: there is no thread, and the queues stay empty */
    int fd;
};

/* With the mutex, which it gives back. */
static void leave(struct sink *sink)
{
    bool is_last = --sink->users == 0;

    pthread_cond_broadcast(&sink->changed);
    pthread_mutex_unlock(&sink->mutex);
    if (!is_last)
        return;
    pthread_cond_destroy(&sink->changed);
    pthread_mutex_destroy(&sink->mutex);
    close(sink->fd);
    free(sink);
}

/* ---- writing ----------------------------------------------------------------------------- */

static ssize_t write_some(const struct sink *sink, const char *bytes, size_t size)
{
    ssize_t written;

    do
        written = sink->is_socket ? send(sink->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                                  : write(sink->fd, bytes, size);
    while (written < 0 && errno == EINTR);
    return written;
}

static bool write_line(struct sink *sink, const char *line, size_t size)
{
    ssize_t written;

    if (sink->is_torn && write_some(sink, "\n", 1) != 1)
        return false;
    written = write_some(sink, line, size);
    sink->is_torn = written > 0 && (size_t)written < size;
    return written == (ssize_t)size;
}

/* ---- the thread -------------------------------------------------------------------------- */

/* The number of lines that were not taken. One write per line: a pipe takes it whole or
 * not at all. */
static unsigned write_queue(struct sink *sink, const struct queue *queue)
{
    const char *line = queue->bytes, *end = queue->bytes + queue->size;
    unsigned dropped = 0;

    while (line < end) {
        const char *next = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;

        dropped += !write_line(sink, line, (size_t)(next - line));
        line = next;
    }
    return dropped;
}

static void *run(void *data)
{
    struct sink *sink = data;

    pthread_mutex_lock(&sink->mutex);
    for (;;) {
        struct queue *queue = &sink->queue[sink->filling];
        unsigned dropped;

        if (queue->size == 0) {
            if (sink->is_closed)
                break;
            pthread_cond_wait(&sink->changed, &sink->mutex);
            continue;
        }
        sink->filling = !sink->filling;
        sink->writing = queue->lines;
        pthread_mutex_unlock(&sink->mutex);
        dropped = write_queue(sink, queue);
        pthread_mutex_lock(&sink->mutex);
        queue->size = queue->lines = sink->writing = 0;
        sink->dropped += dropped;
    }
    sink->has_ended = true;
    leave(sink);
    return NULL;
}

/* Detached, and with all signals blocked: they are the loop's. */
static int start(struct sink *sink)
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

/* ---- the owner --------------------------------------------------------------------------- */

/*
 * Makes writes that do not wait out of sink->fd, if it can. O_NONBLOCK belongs to the open
 * file, which other processes may have, too: a terminal or a pipe is opened once more.
 */
static void make_direct(struct sink *sink)
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

struct sink *sink_open(int fd)
{
    struct sink *sink = calloc(1, sizeof *sink);
    pthread_condattr_t attributes;

    if (!sink) {
        close(fd);
        return NULL;
    }
    sink->fd = fd;
    sink->users = 2;
    pthread_mutex_init(&sink->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sink->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    make_direct(sink);
    sink->has_ended = sink->is_direct;
    if (sink->is_direct)
        sink->users = 1;
    if (sink->is_direct || start(sink) == 0)
        return sink;
    sink->users = 1;
    pthread_mutex_lock(&sink->mutex);
    leave(sink);
    return NULL;
}

void sink_put(struct sink *sink, const char *line, size_t size)
{
    struct queue *queue;

    if (sink->is_direct) {
        sink->dropped += !write_line(sink, line, size);
        return;
    }
    pthread_mutex_lock(&sink->mutex);
    queue = &sink->queue[sink->filling];
    if (size > sizeof queue->bytes - queue->size) {
        sink->dropped++;
    } else {
        memcpy(queue->bytes + queue->size, line, size);
        queue->size += size;
        /* Later ones find the thread awake, or writing. */
        if (queue->lines++ == 0)
            pthread_cond_broadcast(&sink->changed);
    }
    pthread_mutex_unlock(&sink->mutex);
}

void sink_count(struct sink *sink, struct sink_counts *counts)
{
    pthread_mutex_lock(&sink->mutex);
    counts->dropped = sink->dropped;
    counts->queued = sink->queue[sink->filling].lines + sink->writing;
    pthread_mutex_unlock(&sink->mutex);
}

void sink_close(struct sink *sink, int limit_ms)
{
    struct timespec until;

    if (!sink)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += limit_ms / 1000;
    until.tv_nsec += limit_ms % 1000 * RL_NS_PER_MS;
    if (until.tv_nsec >= RL_NS_PER_S) {
        until.tv_sec++;
        until.tv_nsec -= RL_NS_PER_S;
    }
    pthread_mutex_lock(&sink->mutex);
    sink->is_closed = true;
    pthread_cond_broadcast(&sink->changed);
    while (!sink->has_ended && limit_ms > 0 &&
           pthread_cond_timedwait(&sink->changed, &sink->mutex, &until) == 0)
        ;
    leave(sink);
}
