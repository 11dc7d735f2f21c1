/* SPDX-License-Identifier: BSD-2-Clause */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/time.h"
#include "system/log.h"

#define FILE_MODE 0640

static const char *const words[AUDIT_EVENT_COUNT] = {
#define X(name, word) word,
    AUDIT_EVENTS(X)
#undef X
};

const char *audit_word(enum audit_event event)
{
    return words[event];
}

int audit_open(struct audit *audit, const char *path, char *why, size_t why_size)
{
    *audit = (struct audit){.fd = -1, .is_on = path[0] != '\0'};
    audit->json.out = open_memstream(&audit->text, &audit->size);
    if (!audit->json.out) {
        snprintf(why, why_size, "out of memory");
        return -1;
    }
    if (!audit->is_on || strcmp(path, AUDIT_STDERR) == 0)
        return 0;
    /* Non-blocking for pipes: a line that does not fit is refused whole. */
    audit->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                     FILE_MODE);
    if (audit->fd >= 0)
        return 0;
    snprintf(why, why_size, "audit: %.200s: cannot be opened: %s", path, strerror(errno));
    audit_close(audit);
    return -1;
}

int audit_check(const char *path, char *why, size_t why_size)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');

    if (!path[0] || strcmp(path, AUDIT_STDERR) == 0)
        return 0;
    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    if (access(path, W_OK) == 0 || (errno == ENOENT && access(directory, W_OK | X_OK) == 0))
        return 0;
    snprintf(why, why_size, "audit: %.200s: cannot be opened: %s", path, strerror(errno));
    return -1;
}

void audit_close(struct audit *audit)
{
    if (audit->json.out) {
        if (audit->fd >= 0)
            close(audit->fd);
        fclose(audit->json.out);
        free(audit->text);
    }
    *audit = (struct audit){.fd = -1};
}

void audit_replace(struct audit *audit, struct audit *fresh)
{
    int fd = audit->fd;

    audit->fd = fresh->fd;
    audit->is_on = fresh->is_on;
    audit->is_torn = false;
    fresh->fd = fd;
    audit_close(fresh);
}

/* ---- lines ------------------------------------------------------------------------------- */

/* By the wall clock, for people; nothing is decided by it. */
static void write_time(struct json *json)
{
    struct timespec now;
    struct tm utc;
    char text[32], day[24];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, sizeof text, "%.20s.%03dZ", day, (int)(now.tv_nsec / RL_NS_PER_MS) % 1000);
    json_string(json, "time", text);
}

/* Bytes in audit->text, with the newline; -1: out of memory. */
static long write_line(struct audit *audit, const struct audit_line *line)
{
    struct json *json = &audit->json;
    long size;

    rewind(json->out);
    json->comma = false;
    json_object(json, NULL);
    write_time(json);
    json_string(json, "event", words[line->event]);
    json_string(json, "principal", line->principal);
    json_string(json, "name", line->name);
    json_string(json, "label", line->label && line->label[0] ? line->label : NULL);
    json_known(json, "fence", line->fence ? line->fence : -1);
    json_string(json, "reason", line->reason);
    json_finish(json);
    size = ftell(json->out);
    return fflush(json->out) == 0 ? size : -1;
}

/* A short write is a full disk: the next line begins on a line of its own. */
static bool write_file(struct audit *audit, size_t size)
{
    ssize_t written;

    if (audit->is_torn && write(audit->fd, "\n", 1) != 1)
        return false;
    audit->is_torn = false;
    do
        written = write(audit->fd, audit->text, size);
    while (written < 0 && errno == EINTR);
    audit->is_torn = written > 0 && (size_t)written < size;
    return written == (ssize_t)size;
}

void audit_write(struct audit *audit, const struct audit_line *line)
{
    long size;

    audit->count[line->event]++;
    if (audit->observer)
        audit->observer(audit->observer_context, line);
    if (!audit->is_on || line->event == AUDIT_JEOPARDY || line->event == AUDIT_RECOVERED)
        return;
    size = write_line(audit, line);
    if (size < 0 || !(audit->fd >= 0 ? write_file(audit, (size_t)size)
                                     : log_whole(audit->text, (size_t)size)))
        audit->dropped++;
}
