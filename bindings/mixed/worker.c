/* SPDX-License-Identifier: BSD-2-Clause */
/* worker LOG COUNT: the part of C in the mixed test; run.sh says what a worker does. */
#include <fcntl.h>
#include <redlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TTL_MS 5000
#define SURE_MS 2500 /* with less than this left a worker writes nothing */
#define WAIT_MS 60000
#define LINE_MAX_BYTES 128

/* The number and the token of the last line; zeros of an empty file. */
static int read_last(const char *path, long long *number, long long *fence)
{
    char tail[LINE_MAX_BYTES + 1] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *line;
    off_t size;
    ssize_t got;

    if (fd < 0)
        return -1;
    size = lseek(fd, 0, SEEK_END);
    got = pread(fd, tail, LINE_MAX_BYTES, size > LINE_MAX_BYTES ? size - LINE_MAX_BYTES : 0);
    close(fd);
    *number = *fence = 0;
    if (got <= 0)
        return 0;
    tail[got - 1] = '\0'; /* the end of the last line */
    line = strrchr(tail, '\n');
    return sscanf(line ? line + 1 : tail, "%lld %lld", number, fence) == 2 ? 0 : -1;
}

static int write_next(const char *path, redlock_lock *lock)
{
    static const struct timespec window = {.tv_nsec =
                                               1000000}; /* in which another would be seen */
    char line[LINE_MAX_BYTES];
    long long number;
    long long fence;
    int size;
    int fd;
    int status;

    if (read_last(path, &number, &fence) != 0)
        return -1;
    nanosleep(&window, NULL);
    if (redlock_remaining_ms(lock) < SURE_MS)
        return 0;
    size = snprintf(line, sizeof line, "%lld %lld c %d\n", number + 1,
                    (long long)redlock_fence(lock), (int)getpid());
    fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    status = fd >= 0 && write(fd, line, (size_t)size) == size ? 1 : -1;
    close(fd);
    return status;
}

int main(int argc, char **argv)
{
    redlock *client;
    redlock_request request = REDLOCK_REQUEST(.wait_ms = WAIT_MS, .flags = REDLOCK_FENCED);
    redlock_lock *lock;

    if (argc != 3 || redlock_open(NULL, &client) != REDLOCK_OK) {
        fprintf(stderr, "worker: %s\n", argc == 3 ? redlock_detail() : "worker LOG COUNT");
        return 1;
    }
    for (long left = atol(argv[2]); left > 0;) {
        int written;

        if (redlock_acquire(client, "mixed", TTL_MS, &request, &lock) != REDLOCK_OK) {
            fprintf(stderr, "worker: %s\n", redlock_detail());
            return 1;
        }
        written = write_next(argv[1], lock);
        redlock_release(lock);
        redlock_lock_free(lock);
        if (written < 0)
            return 1;
        left -= written;
    }
    redlock_close(client);
    return 0;
}
