/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev_directory.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dev_control.h"
#include "exit.h"
#include "message.h"

#define REMOVE_DESCRIPTORS 16

/* Makes `path` the directory: absolute, as the command may change to another. */
static int settle(struct dev_quorum *q, const char *path)
{
    char *absolute = realpath(path, NULL);
    if (!absolute || strlen(absolute) >= sizeof q->directory / 2) {
        free(absolute);
        return message_fail(EXIT_CONFIG, "the path of %.512s is too long", path);
    }
    strcpy(q->directory, absolute);
    free(absolute);
    return 0;
}

static int make_temporary(struct dev_quorum *q)
{
    const char *parent = getenv("TMPDIR");
    char path[DEV_PATH_MAX];
    if (!parent || !*parent)
        parent = "/tmp";
    snprintf(path, sizeof path, "%.2000s/redlock-dev-XXXXXX", parent);
    if (!mkdtemp(path))
        return message_fail(EXIT_CONFIG, "cannot make a directory in %.512s: %s", parent,
                            strerror(errno));
    q->made = true;
    return settle(q, path);
}

static bool is_empty(const char *path)
{
    DIR *directory = opendir(path);
    bool empty = directory != NULL;
    const struct dirent *entry;
    while (empty && (entry = readdir(directory)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (directory)
        closedir(directory);
    return empty;
}

static int use_named(struct dev_quorum *q, const char *directory)
{
    bool made = mkdir(directory, 0700) == 0;
    if (!made && errno != EEXIST)
        return message_fail(EXIT_CONFIG, "cannot make %.512s: %s", directory, strerror(errno));
    if (!made && !is_empty(directory))
        return message_fail(EXIT_CONFIG,
                            "%.512s is not an empty directory; remove it or name another",
                            directory);
    q->made = made;
    return settle(q, directory);
}

int dev_directory_make(struct dev_quorum *q, const char *directory)
{
    return directory ? use_named(q, directory) : make_temporary(q);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    remove(path);
    return 0;
}

void dev_directory_remove(struct dev_quorum *q)
{
    char path[DEV_PATH_MAX];
    if (!q->directory[0])
        return;
    if (q->made) {
        nftw(q->directory, remove_entry, REMOVE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
        return;
    }
    for (int i = 0; i < q->count; i++) {
        dev_server_log_path(&q->server[i], q->directory, path);
        unlink(path);
    }
    snprintf(path, sizeof path, "%.4000s/" DEV_CONTROL_NAME, q->directory);
    unlink(path);
}
