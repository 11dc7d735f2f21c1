/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "io/sink.h"
#include "ui/text.h"

/* A reader that takes longer than this at the end has stopped reading: let signals
 * end the wait. */
#define DRAIN_LIMIT_MS 1000
#define QUEUE_BYTES 65536

static struct {
    FILE *stream;
    struct rl_sink *sink; /* where the stream writes while detached; NULL: it is not */
    size_t dropped_lines;
    bool drawn; /* a live line is there to be erased */
} errors;

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

static bool enqueue(const char *bytes, size_t size)
{
    char note[128];
    if (errors.dropped_lines > 0) {
        size_t length = dropped_note(note, sizeof note);
        if (!rl_sink_put(errors.sink, note, length))
            return false;
        errors.dropped_lines = 0;
    }
    return rl_sink_put(errors.sink, bytes, size);
}

/* What the stream calls. It always succeeds: an error would stop the stream for good. */
static ssize_t on_write(void *cookie, const char *bytes, size_t size)
{
    (void)cookie;
    if (!errors.sink)
        rl_write_all(STDERR_FILENO, bytes, size);
    else if (!enqueue(bytes, size))
        errors.dropped_lines += count_lines(bytes, size);
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
    if (errors.sink)
        return 0;
    errors_stream();
    if (!errors.stream)
        return ENOMEM;
    fflush(errors.stream);
    errors.sink = rl_sink_open(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
                               RL_SINK_TEXT, QUEUE_BYTES);
    return errors.sink ? 0 : errno;
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
    if (!errors.sink)
        return;
    fflush(errors.stream);
    if (!rl_sink_wait(errors.sink, DRAIN_LIMIT_MS)) {
        let_signals_end_us();
        rl_sink_wait(errors.sink, -1);
    }
    rl_sink_close(errors.sink, 0);
    errors.sink = NULL;
    if (errors.dropped_lines > 0)
        rl_write_all(STDERR_FILENO, note, dropped_note(note, sizeof note));
    errors.dropped_lines = 0;
}

void errors_draw(const char *line)
{
    size_t columns = errors_columns(), used;
    size_t size;
    if (errors.sink && !rl_sink_wait(errors.sink, 0))
        return;
    /* A line that wraps could not be erased. */
    size = text_fitting(line, columns > 0 ? columns - 1 : 0, &used);
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

size_t errors_line_columns(void)
{
    return text_line_columns(STDERR_FILENO);
}
