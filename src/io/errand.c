/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/errand.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static void destroy(struct rl_errand *errand)
{
    pthread_mutex_destroy(&errand->mutex);
    errand->destroy(errand);
}

/* Called with the mutex held; gives it up. */
static void drop_reference(struct rl_errand *errand)
{
    bool last = --errand->references == 0;

    pthread_mutex_unlock(&errand->mutex);
    if (last)
        destroy(errand);
}

static void *thread_main(void *argument)
{
    struct rl_errand *errand = argument;

    errand->work(errand);
    pthread_mutex_lock(&errand->mutex);
    errand->done = true;
    if (errand->wake_fd >= 0) {
        /* Under the mutex, so that the caller cannot close the descriptor in between. A full
         * eventfd is readable already: a failed write loses nothing. */
        uint64_t one = 1;
        ssize_t ignored = write(errand->wake_fd, &one, sizeof one);
        (void)ignored;
    }
    drop_reference(errand);
    return NULL;
}

int rl_errand_init(struct rl_errand *errand)
{
    errand->pid = getpid();
    errand->references = 1;
    errand->wake_fd = -1;
    errand->done = false;
    return pthread_mutex_init(&errand->mutex, NULL);
}

/* Every signal stays with the program's own threads. */
int rl_errand_start(struct rl_errand *errand, int wake_fd)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;

    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    errand->references = 2;
    errand->wake_fd = wake_fd;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, &attributes, thread_main, errand);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error != 0)
        errand->references = 1;
    return error;
}

bool rl_errand_is_done(struct rl_errand *errand)
{
    bool done;

    pthread_mutex_lock(&errand->mutex);
    done = errand->done;
    pthread_mutex_unlock(&errand->mutex);
    return done;
}

void rl_errand_leave(struct rl_errand *errand)
{
    if (!errand)
        return;
    if (errand->pid != getpid()) {
        /* A forked child has no such thread: its reference is void, and the mutex may be a
         * copy that was taken while it was locked. */
        destroy(errand);
        return;
    }
    pthread_mutex_lock(&errand->mutex);
    errand->wake_fd = -1;
    drop_reference(errand);
}
