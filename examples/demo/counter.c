/* SPDX-License-Identifier: BSD-2-Clause */
#include "counter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_LENGTH 11 /* ten digits and a newline */

int counter_read(const char *path, unsigned *value)
{
    char line[LINE_LENGTH + 1] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, line, LINE_LENGTH);
    close(fd);
    if (n != LINE_LENGTH) {
        errno = EIO;
        return -1;
    }
    *value = (unsigned)strtoul(line, NULL, 10);
    return 0;
}

/*
 * The number has a fixed width, so that a write replaces the last one without truncating the
 * file first: a reader without the lock then finds an outdated number, never an empty file.
 */
int counter_write(const char *path, unsigned value)
{
    char line[LINE_LENGTH + 1];
    snprintf(line, sizeof line, "%010u\n", value);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, line, LINE_LENGTH);
    if (close(fd) != 0 || n != LINE_LENGTH) {
        if (n >= 0)
            errno = EIO;
        return -1;
    }
    return 0;
}
