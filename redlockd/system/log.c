/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "io/sink.h"

#define LINE_MAX_BYTES 1000
#define LOG_BYTES (256u << 10) /* of lines that wait for the disk */
#define PATIENCE_MS 1000

static struct rl_sink *sink;
static uint64_t dropped; /* lines, as logged last */

int log_descriptor(void)
{
    return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int log_begin(void)
{
    int fd = log_descriptor();

    sink = fd >= 0 ? rl_sink_open(fd, RL_SINK_LINES, LOG_BYTES) : NULL;
    dropped = 0;
    return sink ? 0 : -1;
}

void log_end(void)
{
    rl_sink_close(sink, PATIENCE_MS);
    sink = NULL;
}

/* How many lines were dropped since that was logged. */
static uint64_t count_dropped(void)
{
    struct rl_sink_counts counts = {0};
    uint64_t fresh;

    if (sink)
        rl_sink_count(sink, &counts);
    fresh = counts.dropped - dropped;
    dropped = counts.dropped;
    return fresh;
}

void log_line(const char *format, ...)
{
    char line[LINE_MAX_BYTES + 2];
    int size = snprintf(line, LINE_MAX_BYTES, "redlockd: ");
    uint64_t missing = count_dropped();
    va_list arguments;

    if (missing > 0)
        size +=
            snprintf(line + size, LINE_MAX_BYTES - (size_t)size,
                     "(%llu lines before this one were dropped) ", (unsigned long long)missing);
    va_start(arguments, format);
    size += vsnprintf(line + size, LINE_MAX_BYTES - (size_t)size, format, arguments);
    va_end(arguments);
    if (size > LINE_MAX_BYTES - 1)
        size = LINE_MAX_BYTES - 1;
    line[size++] = '\n';
    if (sink)
        rl_sink_put(sink, line, (size_t)size);
    else
        (void)!write(STDERR_FILENO, line, (size_t)size);
}
