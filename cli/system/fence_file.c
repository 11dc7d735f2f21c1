/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/fence_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define ABSENT 0 /* no record: smaller than any token */
#define FOREIGN (-1)

/* The token of a record, ABSENT for a part of one, FOREIGN for what no writer has left. */
static int64_t record_read(const char *bytes, size_t size)
{
    char first[21], second[21];
    int64_t token = ABSENT;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] && !strchr("0123456789 \n", bytes[i]))
            return FOREIGN;
    }
    if (size < FENCE_FILE_RECORD_BYTES)
        return ABSENT;
    snprintf(first, sizeof first, "%.20s", bytes);
    snprintf(second, sizeof second, "%.20s", bytes + sizeof first);
    if (strcmp(first, second) != 0 || sscanf(first, "%20" SCNd64, &token) != 1)
        return ABSENT;
    return token;
}

/* Stores the token in place of the older record. False: errno. */
static bool record_write(int fd, int place, int64_t token)
{
    char record[FENCE_FILE_RECORD_BYTES + 1];
    ssize_t written;
    snprintf(record, sizeof record, "%020" PRId64 " %020" PRId64 "\n", token, token);
    written =
        pwrite(fd, record, FENCE_FILE_RECORD_BYTES, (off_t)place * FENCE_FILE_PLACE_BYTES);
    if (written != FENCE_FILE_RECORD_BYTES) {
        errno = written < 0 ? errno : ENOSPC;
        return false;
    }
    return fsync(fd) == 0;
}

/* The name of a file that was just made must outlive a crash, too. */
static bool sync_directory(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 1;
    bool synced;
    int error, fd;
    snprintf(directory, sizeof directory, "%.*s", length, slash ? path : ".");
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    synced = fsync(fd) == 0;
    error = errno;
    close(fd);
    errno = error;
    return synced;
}

static enum fence_file_verdict compare_and_store(int fd, const char *path, int64_t token,
                                                 int64_t *last)
{
    int64_t stored[FENCE_FILE_PLACES], largest;
    ssize_t size[FENCE_FILE_PLACES];
    int older;
    bool spoilt;
    for (int place = 0; place < FENCE_FILE_PLACES; place++) {
        char record[FENCE_FILE_RECORD_BYTES];
        size[place] = pread(fd, record, sizeof record, (off_t)place * FENCE_FILE_PLACE_BYTES);
        if (size[place] < 0)
            return FENCE_FILE_BROKEN;
        stored[place] = record_read(record, (size_t)size[place]);
    }
    older = stored[1] < stored[0];
    largest = stored[!older];
    /* A crash spoils one place at most, and the second only once the first has a record. */
    spoilt = largest == ABSENT && size[0] > 0 && size[1] > 0;
    if (stored[0] == FOREIGN || stored[1] == FOREIGN || spoilt)
        return FENCE_FILE_DAMAGED;
    if (token < largest) {
        *last = largest;
        return FENCE_FILE_REFUSED;
    }
    /* An equal token is the same holder once more: its first time may not have
     * reached the disk. */
    if (token > largest ? !record_write(fd, largest == ABSENT ? 0 : older, token)
                        : fsync(fd) != 0)
        return FENCE_FILE_BROKEN;
    return size[0] > 0 || sync_directory(path) ? FENCE_FILE_ADMITTED : FENCE_FILE_BROKEN;
}

enum fence_file_verdict fence_file_admit(const char *path, int64_t token, bool wait, int *fd,
                                         int64_t *last)
{
    int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    int error, locked;
    enum fence_file_verdict verdict;
    if (file < 0)
        return FENCE_FILE_BROKEN;
    verdict = FENCE_FILE_BROKEN;
    do
        locked = flock(file, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
    while (locked != 0 && errno == EINTR);
    if (locked == 0)
        verdict = compare_and_store(file, path, token, last);
    else if (errno == EWOULDBLOCK)
        verdict = FENCE_FILE_OCCUPIED;
    if (verdict == FENCE_FILE_ADMITTED && fcntl(file, F_SETFD, 0) == 0) {
        *fd = file;
        return FENCE_FILE_ADMITTED;
    }
    error = errno;
    close(file);
    errno = error;
    return verdict == FENCE_FILE_ADMITTED ? FENCE_FILE_BROKEN : verdict;
}
