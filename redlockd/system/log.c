/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/log.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* Below PIPE_BUF: a pipe that is ready takes it whole. */
#define LINE_MAX_BYTES 1000

static unsigned dropped;

static bool takes_a_line(void)
{
    struct pollfd errors = {STDERR_FILENO, POLLOUT, 0};

    return poll(&errors, 1, 0) == 1 && (errors.revents & POLLOUT);
}

void log_line(const char *format, ...)
{
    char line[LINE_MAX_BYTES + 2];
    int size = snprintf(line, LINE_MAX_BYTES, "redlockd: ");
    va_list arguments;

    if (!takes_a_line()) {
        dropped++;
        return;
    }
    if (dropped > 0)
        size += snprintf(line + size, LINE_MAX_BYTES - (size_t)size,
                         "(%u lines before this one were dropped) ", dropped);
    va_start(arguments, format);
    size += vsnprintf(line + size, LINE_MAX_BYTES - (size_t)size, format, arguments);
    va_end(arguments);
    if (size > LINE_MAX_BYTES - 1)
        size = LINE_MAX_BYTES - 1;
    line[size++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)size) == size)
        dropped = 0;
}

bool log_whole(const char *text, size_t size)
{
    return size <= PIPE_BUF && takes_a_line() &&
           write(STDERR_FILENO, text, size) == (ssize_t)size;
}
