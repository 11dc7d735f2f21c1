/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of the audit log, on a disk that hangs, is full, or is fine. */
#include "io/sink.h"
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE                                                                                   \
    "{\"event\":\"granted\",\"name\":\"a lock of the test, and its label to make it longer\"}\n"
#define SINK_BYTES (256u << 10)
#define LINES_FIT (SINK_BYTES / (sizeof LINE - 1))
#define HUNG_LIMIT_MS 20

/* ---- a disk ------------------------------------------------------------------------------ */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool hangs;        /* write() does not return */
static unsigned waiting;  /* writers that hang */
static ssize_t room = -1; /* bytes that fit on the disk; -1: all */

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (fd <= STDERR_FILENO)
        return __real_write(fd, bytes, size);
    pthread_mutex_lock(&mutex);
    waiting++;
    pthread_cond_broadcast(&changed);
    while (hangs)
        pthread_cond_wait(&changed, &mutex);
    waiting--;
    if (room >= 0 && (size_t)room < size)
        size = (size_t)room;
    if (room >= 0)
        room -= (ssize_t)size;
    pthread_mutex_unlock(&mutex);
    return size > 0 ? __real_write(fd, bytes, size) : -1;
}

static void set_hanging(bool value)
{
    pthread_mutex_lock(&mutex);
    hangs = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void wait_for_writer(void)
{
    pthread_mutex_lock(&mutex);
    while (waiting == 0)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void set_room(ssize_t bytes)
{
    pthread_mutex_lock(&mutex);
    room = bytes;
    pthread_mutex_unlock(&mutex);
}

/* ---- the sink ---------------------------------------------------------------------------- */

static struct rl_sink *open_sink(char *path, size_t size)
{
    struct rl_sink *sink;
    int fd;

    snprintf(path, size, "%s/audit", check_dir());
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    sink = rl_sink_open(fd, RL_SINK_LINES, SINK_BYTES);
    CHECK(sink);
    return sink;
}

static struct rl_sink_counts counts_of(struct rl_sink *sink)
{
    struct rl_sink_counts counts;

    rl_sink_count(sink, &counts);
    return counts;
}

/* All that was put is written or dropped. */
static void settle(struct rl_sink *sink)
{
    while (counts_of(sink).queued > 0)
        usleep(1000);
}

static size_t count_lines(const char *path, const char *line)
{
    char text[256];
    FILE *file = fopen(path, "re");
    size_t count = 0;

    CHECK(file);
    while (fgets(text, sizeof text, file))
        count += strcmp(text, line) == 0;
    fclose(file);
    return count;
}

CASE(order, "Lines are in the file when it is closed, in the order in which they were put.")
{
    char path[256], line[32], text[32];
    struct rl_sink *sink = open_sink(path, sizeof path);
    FILE *file;

    for (int i = 0; i < 1000; i++) {
        int size = snprintf(line, sizeof line, "%d\n", i);

        rl_sink_put(sink, line, (size_t)size);
    }
    rl_sink_close(sink, 60000);
    file = fopen(path, "re");
    CHECK(file);
    for (int i = 0; i < 1000; i++) {
        snprintf(line, sizeof line, "%d\n", i);
        CHECK(fgets(text, sizeof text, file));
        CHECK_STR(line, text);
    }
    CHECK(!fgets(text, sizeof text, file));
    fclose(file);
}

CASE(hung, "A disk that hangs holds up no line; what finds no room in the queue is counted.")
{
    char path[256];
    struct rl_sink *sink = open_sink(path, sizeof path);
    size_t put = 1;

    set_hanging(true);
    rl_sink_put(sink, LINE, sizeof LINE - 1);
    wait_for_writer();
    for (; put < LINES_FIT + 100; put++)
        rl_sink_put(sink, LINE, sizeof LINE - 1);
    CHECK_INT(99, counts_of(sink).dropped); /* one is being written, and LINES_FIT wait */
    CHECK_INT(LINES_FIT + 1, counts_of(sink).queued);
    set_hanging(false);
    settle(sink);
    CHECK_INT(99, counts_of(sink).dropped);
    rl_sink_close(sink, 60000);
    CHECK_INT(put - 99, count_lines(path, LINE));
}

CASE(hung_end, "The end waits for a disk that hangs as long as it may, and for no longer.")
{
    char path[256];
    struct rl_sink *sink = open_sink(path, sizeof path);

    set_hanging(true);
    rl_sink_put(sink, LINE, sizeof LINE - 1);
    wait_for_writer();
    rl_sink_put(sink, LINE, sizeof LINE - 1);
    rl_sink_close(sink, HUNG_LIMIT_MS); /* returns */
    set_hanging(false);
    while (count_lines(path, LINE) < 2)
        usleep(1000);
}

CASE(full, "After a line that a full disk cut off the next begins on a line of its own.")
{
    char path[256];
    struct rl_sink *sink = open_sink(path, sizeof path);

    set_room(10);
    rl_sink_put(sink, LINE, sizeof LINE - 1);
    settle(sink);
    rl_sink_put(sink, LINE, sizeof LINE - 1);
    settle(sink);
    CHECK_INT(2, counts_of(sink).dropped);
    set_room(-1);
    rl_sink_put(sink, LINE, sizeof LINE - 1);
    settle(sink);
    CHECK_INT(2, counts_of(sink).dropped);
    rl_sink_close(sink, 60000);
    CHECK_INT(1, count_lines(path, LINE));
}
