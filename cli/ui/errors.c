/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "ui/text.h"

/* A reader that takes longer than this at the end has stopped reading: let signals end the wait. */
#define DRAIN_LIMIT_S 1

static struct {
    FILE *stream;
    bool detached;
    int queue_fd; /* where the stream writes while detached; never blocks */
    pthread_t writer;
    size_t dropped_lines;
    bool drawn; /* a live line is there to be erased */
} errors;

/* Waits for the reader as long as it takes. A reader that is gone gets nothing. */
static void write_through(const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t wrote = write(STDERR_FILENO, bytes, size);
        if (wrote < 0 && errno == EAGAIN) {
            struct pollfd watched = {.fd = STDERR_FILENO, .events = POLLOUT};
            poll(&watched, 1, -1);
        } else if (wrote < 0 && errno != EINTR) {
            return;
        } else if (wrote > 0) {
            bytes += wrote;
            size -= (size_t)wrote;
        }
    }
}

static void *copy_queue(void *data)
{
    int fd = *(int *)data;
    char bytes[PIPE_BUF];
    ssize_t size;
    while ((size = read(fd, bytes, sizeof bytes)) != 0) {
        if (size > 0)
            write_through(bytes, (size_t)size);
        else if (errno != EINTR)
            break;
    }
    close(fd);
    return NULL;
}

static size_t count_lines(const char *bytes, size_t size)
{
    size_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    return lines;
}

static size_t dropped_note(char *note, size_t size)
{
    int length = snprintf(note, size, "redlock: %zu lines were dropped: nothing read them\n",
                          errors.dropped_lines);
    return (size_t)length;
}

/* At most PIPE_BUF bytes: a pipe takes all of them or none. */
static bool enqueue(const char *bytes, size_t size)
{
    char note[128];
    if (errors.dropped_lines > 0) {
        size_t length = dropped_note(note, sizeof note);
        if (write(errors.queue_fd, note, length) < 0)
            return false;
        errors.dropped_lines = 0;
    }
    return write(errors.queue_fd, bytes, size) >= 0;
}

/* What the stream calls. It always succeeds: an error would stop the stream for good. */
static ssize_t on_write(void *cookie, const char *bytes, size_t size)
{
    (void)cookie;
    if (!errors.detached) {
        write_through(bytes, size);
        return (ssize_t)size;
    }
    for (size_t at = 0; at < size;) {
        size_t part = size - at < PIPE_BUF ? size - at : PIPE_BUF;
        if (!enqueue(bytes + at, part))
            errors.dropped_lines += count_lines(bytes + at, part);
        at += part;
    }
    return (ssize_t)size;
}

FILE *errors_stream(void)
{
    static char buffer[BUFSIZ];
    if (!errors.stream) {
        errors.stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = on_write});
        if (!errors.stream)
            return stderr; /* out of memory this early: no lock is held */
        setvbuf(errors.stream, buffer, _IOLBF, sizeof buffer);
    }
    return errors.stream;
}

int errors_detach(void)
{
    static int reading_fd; /* the thread's from its start on */
    int ends[2];
    if (errors.detached)
        return 0;
    errors_stream();
    if (!errors.stream)
        return ENOMEM;
    fflush(errors.stream);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETPIPE_SZ, ERRORS_QUEUE_BYTES);
    reading_fd = ends[0];
    int error = pthread_create(&errors.writer, NULL, copy_queue, &reading_fd);
    if (error) {
        close(ends[0]);
        close(ends[1]);
        return error;
    }
    errors.queue_fd = ends[1];
    errors.detached = true;
    return 0;
}

/* A process whose last messages are not read must still end when it is signalled. */
static void let_signals_end_us(void)
{
    static const int fatal[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        sigaddset(&mask, fatal[i]);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
}

void errors_drain(void)
{
    char note[128];
    struct timespec until;
    if (!errors.detached)
        return;
    fflush(errors.stream);
    close(errors.queue_fd);
    errors.detached = false;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DRAIN_LIMIT_S;
    if (pthread_timedjoin_np(errors.writer, NULL, &until) != 0) {
        let_signals_end_us();
        pthread_join(errors.writer, NULL);
    }
    if (errors.dropped_lines > 0)
        write_through(note, dropped_note(note, sizeof note));
    errors.dropped_lines = 0;
}

void errors_draw(const char *line)
{
    size_t columns = errors_columns(), used;
    int unread = 0;
    if (errors.detached && ioctl(errors.queue_fd, FIONREAD, &unread) == 0 && unread > 0)
        return;
    /* A line that wraps could not be erased. */
    size_t size = text_fitting(line, columns > 0 ? columns - 1 : 0, &used);
    fprintf(errors_stream(), "\r%.*s\033[K", (int)size, line);
    fflush(errors_stream());
    errors.drawn = true;
}

void errors_erase(void)
{
    if (!errors.drawn)
        return;
    fputs("\r\033[K", errors_stream());
    fflush(errors_stream());
    errors.drawn = false;
}

bool errors_are_on_terminal(void)
{
    return isatty(STDERR_FILENO);
}

bool errors_can_draw(void)
{
    return text_can_steer(errors_are_on_terminal());
}

size_t errors_columns(void)
{
    return text_columns(STDERR_FILENO);
}
