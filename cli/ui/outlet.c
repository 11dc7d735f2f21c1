/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

size_t outlet_write(int fd, const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t wrote = write(fd, bytes + done, size - done);
        if (wrote < 0 && errno == EAGAIN) {
            struct pollfd watched = {.fd = fd, .events = POLLOUT};
            poll(&watched, 1, -1);
        } else if (wrote < 0 && errno != EINTR) {
            break;
        } else if (wrote > 0) {
            done += (size_t)wrote;
        }
    }
    return done;
}

/* What follows is tried all the same: a disk may have room again. */
static void copy_text(struct outlet *o, const char *bytes, size_t size)
{
    size_t written = outlet_write(o->fd, bytes, size);
    int error = written < size ? errno : 0;
    if (o->error)
        return;
    o->written += written;
    if (error) {
        o->error = error;
        eventfd_write(o->failed_fd, 1);
    }
}

static void *copy_queue(void *data)
{
    struct outlet *o = data;
    char bytes[PIPE_BUF];
    ssize_t size;
    while ((size = read(o->reading_fd, bytes, sizeof bytes)) != 0) {
        if (size > 0)
            copy_text(o, bytes, (size_t)size);
        else if (errno != EINTR)
            break;
    }
    close(o->reading_fd);
    return NULL;
}

int outlet_open(struct outlet *o, int fd)
{
    int ends[2], error;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETPIPE_SZ, OUTLET_BYTES);
    *o = (struct outlet){.fd = fd, .queue_fd = ends[1], .reading_fd = ends[0]};
    o->failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    error = o->failed_fd < 0 ? errno : pthread_create(&o->writer, NULL, copy_queue, o);
    if (error) {
        close(ends[0]);
        close(ends[1]);
        close(o->failed_fd);
    }
    return error;
}

bool outlet_put(struct outlet *o, const char *bytes, size_t size)
{
    return write(o->queue_fd, bytes, size) >= 0;
}

bool outlet_is_empty(const struct outlet *o)
{
    int unread = 0;
    return ioctl(o->queue_fd, FIONREAD, &unread) != 0 || unread == 0;
}

bool outlet_close(struct outlet *o, int limit_s)
{
    struct timespec until;
    close(o->queue_fd);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += limit_s;
    return pthread_timedjoin_np(o->writer, NULL, &until) == 0;
}

void outlet_join(struct outlet *o)
{
    pthread_join(o->writer, NULL);
}
