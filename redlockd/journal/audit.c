/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal/audit.h"

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

#include "base/time.h"
#include "io/clock.h"
#include "system/log.h"

#define FILE_MODE 0640
#define PATH_SHOWN 256 /* bytes of a path, without its query */

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
    audit->sink = rl_sink_open(fd, RL_SINK_LINES, AUDIT_BYTES);
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
    rl_sink_close(audit->sink, AUDIT_PATIENCE_MS);
    free(audit->json.text);
    *audit = (struct audit){.sink = NULL};
}

void audit_replace(struct audit *audit, struct audit *fresh)
{
    audit->dropped = audit_counts(audit).dropped;
    /* What is not written yet goes to the file that it was meant for. */
    rl_sink_close(audit->sink, 0);
    audit->sink = fresh->sink;
    fresh->sink = NULL;
}

struct rl_sink_counts audit_counts(const struct audit *audit)
{
    struct rl_sink_counts counts = {0};

    if (audit->sink)
        rl_sink_count(audit->sink, &counts);
    counts.dropped += audit->dropped;
    return counts;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* By the wall clock, for people; nothing is decided by it. */
static void write_time(struct rl_json *json)
{
    struct timespec now;
    struct tm utc;
    char text[32], day[24];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, sizeof text, "%.20s.%03dZ", day, (int)(now.tv_nsec / RL_NS_PER_MS) % 1000);
    rl_json_string(json, "time", text);
}

/* The address of the other end, or its user and process. */
static void write_peer(struct rl_json *json, const struct http_peer *peer)
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
        rl_json_string(json, "peer", NULL);
        return;
    } else {
        snprintf(text, sizeof text, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    }
    rl_json_string(json, "peer", text);
}

static void write_source(struct audit *audit, const struct journal_entry *entry)
{
    char path[PATH_SHOWN + 1];

    if (entry->peer)
        write_peer(&audit->json, entry->peer);
    else
        rl_json_string(&audit->json, "peer", NULL);
    rl_json_string(&audit->json, "listener",
                   entry->peer && audit->listeners ? audit->listeners[entry->peer->listener]
                                                   : NULL);
    if (entry->event != JOURNAL_DENIED)
        return;
    snprintf(path, sizeof path, "%.*s",
             entry->path.size < PATH_SHOWN ? (int)entry->path.size : PATH_SHOWN,
             entry->path.size > 0 ? entry->path.data : "");
    rl_json_string(&audit->json, "path", path[0] ? path : NULL);
}

/* With its newline; false: out of memory. */
static bool write_line(struct audit *audit, const struct journal_entry *entry,
                       uint64_t left_out)
{
    struct rl_json *json = &audit->json;

    rl_json_restart(json);
    rl_json_object(json, NULL);
    write_time(json);
    rl_json_string(json, "event", journal_word(entry->event));
    rl_json_string(json, "principal", entry->principal);
    rl_json_string(json, "name", entry->name);
    rl_json_string(json, "label", entry->label && entry->label[0] ? entry->label : NULL);
    rl_json_known(json, "fence", entry->fence ? entry->fence : -1);
    rl_json_string(json, "reason", entry->reason);
    write_source(audit, entry);
    if (left_out > 0)
        rl_json_integer(json, "left_out", (int64_t)left_out);
    rl_json_finish(json);
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
static bool takes_denial(struct audit *audit, const struct journal_entry *entry,
                         uint64_t *left_out)
{
    uint64_t key =
        digest_text(digest_text(UINT64_C(0xcbf29ce484222325), entry->principal), entry->reason);
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

void audit_note(struct audit *audit, const struct journal_entry *entry)
{
    uint64_t left_out = 0;

    if (entry->event == JOURNAL_DENIED && !takes_denial(audit, entry, &left_out))
        return;
    if (!write_line(audit, entry, left_out))
        audit->dropped++;
    else
        rl_sink_put(audit->sink, audit->json.text, audit->json.size);
}
