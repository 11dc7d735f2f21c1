/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/drive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/clock.h"

#define BUFFER_SIZE (32 * 1024)
#define NAME_SHOWN_MAX 128
#define NAME_TEXT_MAX (4 * NAME_SHOWN_MAX + 32)
#define LINE_MAX_SIZE 1536 /* the longest: a name in NAME_TEXT_MAX, and the texts */

/* One trace; the client's mutex guards it. */
struct trace {
    struct rl_trace trace; /* first */
    const redlock *client;
    int fd;
    int pid;         /* of the process that opened it */
    uint32_t number; /* of the client in the process, from 1 */
    int64_t opened_ns;
    uint64_t dropped; /* lines that found no room, since that was last reported */
    size_t used;
    char buffer[BUFFER_SIZE];
};

/* ---- lines ---- */

/*
 * The first name, and how many more there are. One line is one line, whatever a name contains:
 * \xHH for quotes, backslashes and controls.
 */
static void show_names(const redlock *client, struct rl_slice keys, char *at)
{
    size_t i = client->prefix_size;
    size_t end = i + NAME_SHOWN_MAX;
    int more = 0;

    if (keys.size <= i) {
        strcpy(at, "-");
        return;
    }
    *at++ = '"';
    for (; i < keys.size && i < end && keys.data[i] != RL_KEY_SEPARATOR; i++) {
        unsigned char byte = (unsigned char)keys.data[i];

        if (byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\')
            at += sprintf(at, "\\x%02x", byte);
        else
            *at++ = (char)byte;
    }
    at = stpcpy(at, i == end ? "...\"" : "\"");
    for (; i < keys.size; i++)
        more += keys.data[i] == RL_KEY_SEPARATOR;
    if (more)
        sprintf(at, "+%d", more);
}

static void append(struct trace *t, struct rl_trace_subject subject, const char *format,
                   va_list arguments)
{
    size_t room = sizeof t->buffer - t->used;
    char *line = t->buffer + t->used;
    int64_t since_us = (rl_now_ns() - t->opened_ns) / 1000;
    const char *quorum = t->client->quorum_name;
    char names[NAME_TEXT_MAX];
    char time[24];
    struct timespec now;
    struct tm utc;
    int size;

    clock_gettime(CLOCK_REALTIME, &now);
    strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &utc));
    show_names(t->client, subject.keys, names);
    size = snprintf(line, room, "%s.%06ldZ +%" PRId64 ".%06" PRId64 " %d.%" PRIu32 " %s %s %s ",
                    time, now.tv_nsec / 1000, since_us / 1000000, since_us % 1000000, t->pid,
                    t->number, quorum[0] ? quorum : "-",
                    subject.address ? subject.address : "-", names);
    size += snprintf(line + size, room - (size_t)size, subject.round ? "#%" PRIu32 " " : "- ",
                     subject.round);
    size += vsnprintf(line + size, room - (size_t)size, format, arguments);
    line[size] = '\n';
    t->used += (size_t)size + 1;
}

static void write_line(struct rl_trace *trace, struct rl_trace_subject subject,
                       const char *format, ...)
{
    struct trace *t = (struct trace *)trace;
    uint64_t dropped = t->dropped;
    va_list arguments;

    if (sizeof t->buffer - t->used < 2 * LINE_MAX_SIZE)
        rl_trace_flush(trace);
    if (sizeof t->buffer - t->used < 2 * LINE_MAX_SIZE) {
        t->dropped++;
        return;
    }
    t->dropped = 0;
    if (dropped)
        write_line(trace, (struct rl_trace_subject){.address = NULL},
                   "trace %" PRIu64 " lines dropped", dropped);
    va_start(arguments, format);
    append(t, subject, format, arguments);
    va_end(arguments);
}

/* ---- the file ---- */

void rl_trace_flush(struct rl_trace *trace)
{
    struct trace *t = (struct trace *)trace;
    ssize_t written;

    if (t->used == 0 || rl_client_is_forked(t->client))
        return;
    written = write(t->fd, t->buffer, t->used);
    if (written <= 0)
        return;
    t->used -= (size_t)written;
    memmove(t->buffer, t->buffer + written, t->used);
}

int rl_trace_open(redlock *client, const char *path)
{
    static atomic_uint clients;
    int flags = O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct trace *t = calloc(1, sizeof *t);
    struct stat info;

    if (!t)
        return rl_detail(REDLOCK_NOMEM, "out of memory");
    t->trace.write = write_line;
    t->client = client;
    t->pid = (int)getpid();
    t->opened_ns = rl_now_ns();
    /*
     * Without waiting: neither for a reader of a pipe, whose end would also be the signal
     * SIGPIPE. A pipe that this process could read from itself has none of that.
     */
    flags |= stat(path, &info) == 0 && S_ISFIFO(info.st_mode) ? O_RDWR : O_WRONLY;
    t->fd = open(path, flags, 0600);
    if (t->fd < 0) {
        free(t);
        return rl_detail(REDLOCK_INVAL, "cannot write the trace file %s: %s", path,
                         strerror(errno));
    }
    t->number = atomic_fetch_add(&clients, 1) + 1;
    client->engine.trace = &t->trace;
    return REDLOCK_OK;
}

void rl_trace_close(struct rl_trace *trace)
{
    if (!trace)
        return;
    rl_trace_flush(trace);
    close(((struct trace *)trace)->fd);
    free(trace);
}
