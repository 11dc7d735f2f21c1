/* SPDX-License-Identifier: BSD-2-Clause */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/time.h"
#include "io/clock.h"
#include "system/log.h"

#define FILE_MODE 0640
#define PATH_SHOWN 256 /* bytes of a path, without its query */

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
    int fd;

    *audit = (struct audit){.sink = NULL};
    if (!path[0])
        return 0;
    /* Non-blocking for pipes: a line that does not fit is refused whole. */
    fd = strcmp(path, AUDIT_STDERR) == 0
             ? log_descriptor()
             : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                    FILE_MODE);
    if (fd < 0) {
        snprintf(why, why_size, "audit: %.200s: cannot be opened: %s", path, strerror(errno));
        return -1;
    }
    audit->sink = sink_open(fd);
    if (audit->sink)
        return 0;
    snprintf(why, why_size, "audit: out of memory");
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
    sink_close(audit->sink, AUDIT_PATIENCE_MS);
    free(audit->json.text);
    classes_free(&audit->classes);
    *audit = (struct audit){.sink = NULL};
}

void audit_replace(struct audit *audit, struct audit *fresh)
{
    audit->dropped = audit_counts(audit).dropped;
    /* What is not written yet goes to the file that it was meant for. */
    sink_close(audit->sink, 0);
    audit->sink = fresh->sink;
    fresh->sink = NULL;
    classes_replace(&audit->classes, &fresh->classes);
    audit_close(fresh);
}

struct sink_counts audit_counts(const struct audit *audit)
{
    struct sink_counts counts = {0};

    if (audit->sink)
        sink_count(audit->sink, &counts);
    counts.dropped += audit->dropped;
    return counts;
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

/* The address of the other end, or its user and process. */
static void write_peer(struct json *json, const struct http_peer *peer)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    struct ucred process;
    char host[64], port[8], text[80];

    if (peer->is_unix) {
        size = sizeof process;
        if (getsockopt(peer->fd, SOL_SOCKET, SO_PEERCRED, &process, &size) != 0)
            process.pid = 0;
        snprintf(text, sizeof text, "uid:%lu pid:%ld", (unsigned long)peer->uid,
                 (long)process.pid);
    } else if (getpeername(peer->fd, (struct sockaddr *)&address, &size) != 0 ||
               getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port,
                           sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        json_string(json, "peer", NULL);
        return;
    } else {
        snprintf(text, sizeof text, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    }
    json_string(json, "peer", text);
}

static void write_source(struct audit *audit, const struct audit_line *line)
{
    char path[PATH_SHOWN + 1];

    if (line->peer)
        write_peer(&audit->json, line->peer);
    else
        json_string(&audit->json, "peer", NULL);
    json_string(&audit->json, "listener",
                line->peer && audit->listeners ? audit->listeners[line->peer->listener] : NULL);
    if (line->event != AUDIT_DENIED)
        return;
    snprintf(path, sizeof path, "%.*s",
             line->path.length < PATH_SHOWN ? (int)line->path.length : PATH_SHOWN,
             line->path.length > 0 ? line->path.at : "");
    json_string(&audit->json, "path", path[0] ? path : NULL);
}

/* With its newline; false: out of memory. */
static bool write_line(struct audit *audit, const struct audit_line *line, uint64_t left_out)
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
    write_source(audit, line);
    if (left_out > 0)
        json_integer(json, "left_out", (int64_t)left_out);
    json_finish(json);
    return !json->failed;
}

/* FNV-1a */
static uint64_t digest_text(uint64_t digest, const char *text)
{
    for (; text && *text; text++)
        digest = (digest ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return digest;
}

/* Is there a line for this denial? *left_out: how many had none before it. */
static bool takes_denial(struct audit *audit, const struct audit_line *line, uint64_t *left_out)
{
    uint64_t key =
        digest_text(digest_text(UINT64_C(0xcbf29ce484222325), line->principal), line->reason);
    struct audit_denials *denials = &audit->denials[key % AUDIT_DENIAL_PLACES];
    int64_t now_ns = rl_now_ns();

    if (now_ns - denials->began_ns >= RL_NS_PER_S) {
        denials->began_ns = now_ns;
        denials->lines = 0;
    }
    if (denials->lines == AUDIT_DENIALS) {
        denials->left_out++;
        return false;
    }
    denials->lines++;
    *left_out = denials->left_out;
    denials->left_out = 0;
    return true;
}

void audit_write(struct audit *audit, const struct audit_line *line)
{
    uint64_t left_out = 0;

    audit->count[line->event]++;
    classes_note(&audit->classes, line);
    if (audit->observer)
        audit->observer(audit->observer_context, line);
    if (!audit->sink || line->event == AUDIT_JEOPARDY || line->event == AUDIT_RECOVERED ||
        (line->event == AUDIT_DENIED && !takes_denial(audit, line, &left_out)))
        return;
    if (!write_line(audit, line, left_out))
        audit->dropped++;
    else
        sink_put(audit->sink, audit->json.text, audit->json.size);
}
