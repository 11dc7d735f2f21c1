/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/input.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What was written there means nothing. 0: the end; 1: there may be more; -1: nothing
 * can be read. */
static int read_some(void)
{
    char ignored[4096];
    ssize_t size = read(STDIN_FILENO, ignored, sizeof ignored);
    if (size > 0 || (size < 0 && errno == EINTR))
        return 1;
    if (size < 0 && errno == EAGAIN) {
        struct pollfd watched = {.fd = STDIN_FILENO, .events = POLLIN};
        poll(&watched, 1, -1);
        return 1;
    }
    /* A process in the background of its terminal may not read from it. */
    return size < 0 && errno == EIO && isatty(STDIN_FILENO) ? -1 : 0;
}

bool input_is_at_end(void)
{
    struct stat what;
    struct pollfd watched;
    if (fstat(STDIN_FILENO, &what) == 0 && S_ISREG(what.st_mode))
        return true; /* it ends as fast as it can be read */
    watched = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&watched, 1, 0) == 1 && read_some() == 0;
}

static void *read_to_end(void *data)
{
    const struct input *in = data;
    int more;
    uint64_t one;
    ssize_t ignored;
    do
        more = read_some();
    while (more > 0);
    one = 1;
    ignored = more == 0 ? write(in->over_fd, &one, sizeof one) : 0;
    (void)ignored;
    return NULL;
}

int input_watch(struct input *in)
{
    pthread_t reader;
    int error;
    in->parent = getppid();
    in->over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* Sent whenever a thread of the parent ends that started this process: then only look. */
    if (in->over_fd < 0 || prctl(PR_SET_PDEATHSIG, SIGCHLD) != 0)
        return errno;
    error = pthread_create(&reader, NULL, read_to_end, in);
    if (error == 0)
        pthread_detach(reader);
    return error;
}

bool input_is_over(const struct input *in)
{
    struct pollfd watched = {.fd = in->over_fd, .events = POLLIN};
    return getppid() != in->parent || poll(&watched, 1, 0) == 1;
}
