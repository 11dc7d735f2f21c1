/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quote.h"
#include "dev/control.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define REMOVE_DEPTH_MAX 64
#define STATE_NAME "state"
#define LINK_MAX_BYTES 64

static int open_directory_at(int at_fd, const char *name)
{
    return openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* "." and ".." are no entries of their own. NULL: there are no more. */
static const char *next_entry(DIR *directory)
{
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry->d_name;
    }
    return NULL;
}

static bool is_empty(int directory_fd)
{
    int fd = open_directory_at(directory_fd, ".");
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    bool empty = directory && !next_entry(directory);
    if (directory)
        closedir(directory);
    else if (fd >= 0)
        close(fd);
    return empty;
}

/*
 * Another user who may write to the directory could put a link where a log or the socket goes.
 * The owner and the mode are those of the descriptor, and everything below is opened from it.
 */
static int check_owner(int fd, const char *shown)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return message_fail(EXIT_CONFIG, "cannot look at %s: %s", shown, strerror(errno));
    if (info.st_uid != geteuid())
        return message_fail(EXIT_CONFIG,
                            "the directory %s belongs to another user; name one of your own",
                            shown);
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return message_fail(
            EXIT_CONFIG, "others can write to the directory %s; forbid it with: chmod go-w %s",
            shown, shown);
    return 0;
}

/* Its absolute path, as the command may change to another directory. */
static int find_path(struct dev_quorum *q, const char *shown)
{
    char link[LINK_MAX_BYTES], path[DEV_PATH_MAX], safe[DEV_PATH_MAX];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", q->directory_fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return message_fail(EXIT_CONFIG, "cannot find out the path of %s: %s", shown,
                            strerror(errno));
    path[length] = '\0';
    if ((size_t)length >= sizeof path / 2)
        return message_fail(EXIT_CONFIG, "the path of %s is too long", shown);
    rl_quote_safe(safe, sizeof safe, path);
    /* It is printed for shells, byte for byte. */
    if (strcmp(safe, path) != 0)
        return message_fail(EXIT_CONFIG,
                            "the path of %s contains control characters or broken UTF-8; name "
                            "another directory",
                            shown);
    strcpy(q->directory, path);
    return 0;
}

/* Takes the directory `path`, which is there, if it is safe to use. */
static int settle(struct dev_quorum *q, const char *path)
{
    char shown[RL_QUOTE_PATH_MAX];
    int status;
    rl_quote_path(shown, path);
    q->directory_fd = open_directory_at(AT_FDCWD, path);
    if (q->directory_fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return message_fail(
            EXIT_CONFIG, "%s is not a directory, or a link to one; remove it or name another",
            shown);
    if (q->directory_fd < 0)
        return message_fail(EXIT_CONFIG, "cannot open %s: %s", shown, strerror(errno));
    status = check_owner(q->directory_fd, shown);
    if (status == 0 && !is_empty(q->directory_fd))
        status = message_fail(EXIT_CONFIG,
                              "%s is not an empty directory; remove it or name another", shown);
    return status ? status : find_path(q, shown);
}

static int make_temporary(struct dev_quorum *q)
{
    const char *parent = getenv("TMPDIR");
    char path[DEV_PATH_MAX], shown[RL_QUOTE_PATH_MAX];
    int status;
    if (!parent || !*parent)
        parent = "/tmp";
    snprintf(path, sizeof path, "%.2000s/redlock-dev-XXXXXX", parent);
    if (!mkdtemp(path)) {
        rl_quote_path(shown, parent);
        return message_fail(EXIT_CONFIG, "cannot make a directory in %s: %s", shown,
                            strerror(errno));
    }
    q->made = true;
    status = settle(q, path);
    if (status)
        rmdir(path);
    return status;
}

static int use_named(struct dev_quorum *q, const char *directory)
{
    char shown[RL_QUOTE_PATH_MAX];
    int status;
    q->made = mkdir(directory, 0700) == 0;
    if (!q->made && errno != EEXIST) {
        rl_quote_path(shown, directory);
        return message_fail(EXIT_CONFIG, "cannot make %s: %s", shown, strerror(errno));
    }
    status = settle(q, directory);
    if (status && q->made)
        rmdir(directory);
    return status;
}

int dev_directory_make(struct dev_quorum *q, const char *directory)
{
    return directory ? use_named(q, directory) : make_temporary(q);
}

void dev_directory_log_name(const struct dev_server *s, char out[DEV_FILE_MAX])
{
    snprintf(out, DEV_FILE_MAX, "%s-%d.log", dev_server_kind(s), s->number);
}

int dev_directory_open_log(const struct dev_quorum *q, const struct dev_server *s)
{
    const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    char name[DEV_FILE_MAX];
    struct stat info;
    int fd;
    dev_directory_log_name(s, name);
    fd = openat(q->directory_fd, name, flags | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 || errno != EEXIST)
        return fd;
    /* The log of the same server before it was started again goes on; nothing else does. */
    fd = openat(q->directory_fd, name, flags);
    if (fd < 0)
        return -1;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
        info.st_nlink == 1)
        return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

FILE *dev_directory_read_log(const struct dev_quorum *q, const struct dev_server *s)
{
    char name[DEV_FILE_MAX];
    int fd;
    FILE *log;
    dev_directory_log_name(s, name);
    fd = openat(q->directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    log = fd < 0 ? NULL : fdopen(fd, "r");
    if (!log && fd >= 0)
        close(fd);
    return log;
}

/* The path of the directory takes at most half of the room. */
void dev_directory_state_path(const struct dev_quorum *q, char out[DEV_PATH_MAX])
{
    snprintf(out, DEV_PATH_MAX, "%.*s/" STATE_NAME, DEV_PATH_MAX / 2, q->directory);
}

static void name_config(const struct dev_server *s, char out[DEV_FILE_MAX])
{
    snprintf(out, DEV_FILE_MAX, "%s-%d.conf", dev_server_kind(s), s->number);
}

static void path_in_state(const struct dev_quorum *q, const char *name, char out[DEV_PATH_MAX])
{
    snprintf(out, DEV_PATH_MAX, "%.*s/" STATE_NAME "/%s", DEV_PATH_MAX / 2, q->directory, name);
}

void dev_directory_config_path(const struct dev_quorum *q, const struct dev_server *s,
                               char out[DEV_PATH_MAX])
{
    char name[DEV_FILE_MAX];
    name_config(s, name);
    path_in_state(q, name, out);
}

int dev_directory_write_config(const struct dev_quorum *q, const struct dev_server *s,
                               const char *text)
{
    char name[DEV_FILE_MAX];
    name_config(s, name);
    return dev_directory_write_state(q, name, text);
}

int dev_directory_write_state(const struct dev_quorum *q, const char *name, const char *text)
{
    char path[DEV_PATH_MAX];
    size_t length = strlen(text);
    ssize_t wrote;
    int error, fd;
    if (mkdirat(q->directory_fd, STATE_NAME, 0700) != 0 && errno != EEXIST)
        return errno;
    path_in_state(q, name, path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    wrote = write(fd, text, length);
    error = wrote == (ssize_t)length ? 0 : wrote < 0 ? errno : ENOSPC;
    close(fd);
    return error;
}

/* Takes the descriptor. Links are removed, not followed. */
static void remove_below(int fd, int depth)
{
    DIR *directory = fdopendir(fd);
    const char *name;
    if (!directory) {
        close(fd);
        return;
    }
    while ((name = next_entry(directory))) {
        int below_fd;
        if (unlinkat(fd, name, 0) == 0)
            continue;
        below_fd = depth < REMOVE_DEPTH_MAX ? open_directory_at(fd, name) : -1;
        if (below_fd >= 0)
            remove_below(below_fd, depth + 1);
        unlinkat(fd, name, AT_REMOVEDIR);
    }
    closedir(directory);
}

void dev_directory_remove(struct dev_quorum *q)
{
    char name[DEV_FILE_MAX];
    int fd = q->directory_fd;
    q->directory_fd = -1;
    if (fd >= 0 && q->directory[0] && q->made) {
        remove_below(fd, 0);
        rmdir(q->directory);
        return;
    }
    if (fd >= 0 && q->directory[0]) {
        int state_fd;
        for (int i = 0; i < q->count; i++) {
            dev_directory_log_name(&q->server[i], name);
            unlinkat(fd, name, 0);
        }
        state_fd = q->group ? open_directory_at(fd, STATE_NAME) : -1;
        if (state_fd >= 0) {
            remove_below(state_fd, 1);
            unlinkat(fd, STATE_NAME, AT_REMOVEDIR);
        }
        unlinkat(fd, DEV_CONTROL_NAME, 0);
    }
    if (fd >= 0)
        close(fd);
}
