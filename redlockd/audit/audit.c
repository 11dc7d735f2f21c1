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
    if (audit->fd >= 0)
        close(audit->fd);
    free(audit->json.text);
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

/* With its newline; false: out of memory. */
static bool write_line(struct audit *audit, const struct audit_line *line)
{
    struct json *json = &audit->json;

    json_restart(json);
    json_object(json, NULL);
    write_time(json);
    json_string(json, "event", words[line->event]);
    json_string(json, "principal", line->principal);
    json_string(json, "name", line->name);
    json_string(json, "label", line->label && line->label[0] ? line->label : NULL);
    json_known(json, "fence", line->fence ? line->fence : -1);
    json_string(json, "reason", line->reason);
    json_finish(json);
    return !json->failed;
}

/* A short write is a full disk: the next line begins on a line of its own. */
static bool write_file(struct audit *audit, size_t size)
{
    ssize_t written;

    if (audit->is_torn && write(audit->fd, "\n", 1) != 1)
        return false;
    audit->is_torn = false;
    do
        written = write(audit->fd, audit->json.text, size);
    while (written < 0 && errno == EINTR);
    audit->is_torn = written > 0 && (size_t)written < size;
    return written == (ssize_t)size;
}

void audit_write(struct audit *audit, const struct audit_line *line)
{
    audit->count[line->event]++;
    if (audit->observer)
        audit->observer(audit->observer_context, line);
    if (!audit->is_on || line->event == AUDIT_JEOPARDY)
        return;
    if (!write_line(audit, line) ||
        !(audit->fd >= 0 ? write_file(audit, audit->json.size)
                         : log_whole(audit->json.text, audit->json.size)))
        audit->dropped++;
}
