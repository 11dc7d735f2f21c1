/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/errand.h"

/* One lookup. */
struct rl_resolve {
    struct rl_errand errand;
    int error;             /* of getaddrinfo(); 0 once it is done: list is the answer */
    int system_error;      /* errno, where error is EAI_SYSTEM */
    struct addrinfo *list; /* owned */
    char *host;            /* owned; these two are never changed */
    char *port;            /* owned */
};

static void destroy(struct rl_errand *errand)
{
    struct rl_resolve *r = (struct rl_resolve *)errand;

    if (r->list)
        freeaddrinfo(r->list);
    free(r->host);
    free(r->port);
    free(r);
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

static void work(struct rl_errand *errand)
{
    struct rl_resolve *r = (struct rl_resolve *)errand;
    struct addrinfo *list = NULL;

    r->error = look_up(r->host, r->port, AI_ADDRCONFIG, &list);
    /* A minimal system may have no /etc/hosts; "localhost" is the loopback there too (RFC
     * 6761), which is what getaddrinfo() answers without a host. */
    if (r->error != 0 && strcmp(r->host, "localhost") == 0)
        r->error = look_up(NULL, r->port, 0, &list);
    r->system_error = errno;
    r->list = r->error == 0 ? list : NULL;
}

int rl_resolve_start(const char *host, const char *port, int wake_fd, struct rl_resolve **out)
{
    struct rl_resolve *r = calloc(1, sizeof *r);
    int error;

    if (!r)
        return -1;
    r->errand.work = work;
    r->errand.destroy = destroy;
    error = rl_errand_init(&r->errand);
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

    /* AI_NUMERICHOST reads addresses and fails on names without a query to a server. */
    r->error = look_up(host, port, AI_NUMERICHOST, &r->list);
    r->system_error = errno;
    if (r->error != EAI_NONAME) {
        r->errand.done = true;
        *out = r;
        return 0;
    }
    r->list = NULL;
    error = rl_errand_start(&r->errand, wake_fd);
    if (error == 0) {
        *out = r;
        return 0;
    }

cleanup:
    rl_errand_leave(&r->errand);
    errno = error;
    return -1;
}

int rl_resolve_poll(struct rl_resolve *r, const struct addrinfo **list, const char **error)
{
    if (!rl_errand_is_done(&r->errand))
        return 0;
    if (r->error == 0) {
        *list = r->list;
        return 1;
    }
    *error = r->error == EAI_SYSTEM ? strerror(r->system_error) : gai_strerror(r->error);
    return -1;
}

bool rl_resolve_may_pass(const struct rl_resolve *r)
{
    return r->error == EAI_AGAIN || r->error == EAI_SYSTEM || r->error == EAI_MEMORY;
}

void rl_resolve_free(struct rl_resolve *r)
{
    if (r)
        rl_errand_leave(&r->errand);
}
