/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/resolve.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * One lookup. The caller and the thread each hold a reference; the last one to let go frees it.
 * getaddrinfo() cannot be interrupted, so a caller that gives up only drops its reference.
 */
struct rl_resolve {
    pid_t pid;             /* of the process whose thread looks up; never changed */
    pthread_mutex_t mutex; /* guards what follows, up to list */
    int references;
    int wake_fd; /* -1 once the caller has left */
    bool done;
    int error;             /* of getaddrinfo(); 0 with done: list is the answer */
    int system_error;      /* errno, where error is EAI_SYSTEM */
    struct addrinfo *list; /* owned */
    char *host;            /* owned; these two are never changed */
    char *port;            /* owned */
};

static void destroy(struct rl_resolve *r)
{
    if (r->list)
        freeaddrinfo(r->list);
    free(r->host);
    free(r->port);
    pthread_mutex_destroy(&r->mutex);
    free(r);
}

/* Called with the mutex held; gives it up. */
static void drop_reference(struct rl_resolve *r)
{
    bool last = --r->references == 0;

    pthread_mutex_unlock(&r->mutex);
    if (last)
        destroy(r);
}

static int look_up(const char *host, const char *port, int flags, struct addrinfo **list)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICSERV | flags,
    };

    return getaddrinfo(host, port, &hints, list);
}

/* A minimal system may have no /etc/hosts; "localhost" is the loopback there too (RFC 6761),
 * which is what getaddrinfo() answers without a host. */
static int look_up_name(const struct rl_resolve *r, struct addrinfo **list)
{
    int error = look_up(r->host, r->port, AI_ADDRCONFIG, list);

    if (error != 0 && strcmp(r->host, "localhost") == 0)
        error = look_up(NULL, r->port, 0, list);
    return error;
}

static void *thread_main(void *argument)
{
    struct rl_resolve *r = argument;
    struct addrinfo *list = NULL;

    int error = look_up_name(r, &list);
    int system_error = errno;

    pthread_mutex_lock(&r->mutex);
    r->done = true;
    r->error = error;
    r->system_error = system_error;
    r->list = error == 0 ? list : NULL;
    if (r->wake_fd >= 0) {
        /* Under the mutex, so that the caller cannot close the descriptor in between. A full
         * eventfd is readable already: a failed write loses nothing. */
        uint64_t one = 1;
        ssize_t ignored = write(r->wake_fd, &one, sizeof one);
        (void)ignored;
    }
    drop_reference(r);
    return NULL;
}

/* Every signal stays with the program's own threads. 0 or an errno value. */
static int start_thread(struct rl_resolve *r)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;

    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, &attributes, thread_main, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

int rl_resolve_start(const char *host, const char *port, int wake_fd, struct rl_resolve **out)
{
    struct rl_resolve *r = calloc(1, sizeof *r);

    if (!r)
        return -1;
    r->pid = getpid();
    r->references = 1;
    r->wake_fd = wake_fd;
    int error = pthread_mutex_init(&r->mutex, NULL);
    if (error != 0) {
        free(r);
        errno = error;
        return -1;
    }
    r->host = strdup(host);
    r->port = strdup(port);
    if (!r->host || !r->port) {
        error = ENOMEM;
        goto cleanup;
    }

    /* AI_NUMERICHOST reads addresses and fails on names without asking a server. */
    r->error = look_up(host, port, AI_NUMERICHOST, &r->list);
    r->system_error = errno;
    if (r->error != EAI_NONAME) {
        r->done = true;
        *out = r;
        return 0;
    }
    r->error = 0;
    r->list = NULL;
    r->references = 2;
    error = start_thread(r);
    if (error == 0) {
        *out = r;
        return 0;
    }

cleanup:
    destroy(r);
    errno = error;
    return -1;
}

int rl_resolve_poll(struct rl_resolve *r, const struct addrinfo **list, const char **error)
{
    int result = 0;

    pthread_mutex_lock(&r->mutex);
    if (r->done && r->error == 0) {
        *list = r->list;
        result = 1;
    } else if (r->done) {
        *error = r->error == EAI_SYSTEM ? strerror(r->system_error) : gai_strerror(r->error);
        result = -1;
    }
    pthread_mutex_unlock(&r->mutex);
    return result;
}

void rl_resolve_free(struct rl_resolve *r)
{
    if (!r)
        return;
    if (r->pid != getpid()) {
        /* A forked child has no such thread: its reference is void, and the mutex may be a
         * copy that was taken while it was locked. */
        destroy(r);
        return;
    }
    pthread_mutex_lock(&r->mutex);
    r->wake_fd = -1;
    drop_reference(r);
}
