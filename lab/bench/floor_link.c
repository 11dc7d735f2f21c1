/* SPDX-License-Identifier: BSD-2-Clause */
#include "floor_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "resp.h"

#define INPUT_MAX 131072 /* bytes read at once */
#define OUTPUT_MAX ((size_t)LINK_PENDING_MAX * LINK_COMMAND_MAX)

void link_free(struct link *link)
{
    if (!link)
        return;
    resp_free(link->resp);
    free(link->output);
    free(link->input);
    free(link);
}

struct link *link_open(const char *url)
{
    struct link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->resp = resp_url(url);
    link->fd = link->resp ? link->resp->fd : -1;
    link->output = malloc(OUTPUT_MAX);
    link->input = malloc(INPUT_MAX);
    if (!link->resp)
        fprintf(stderr, "redlock-bench: %s: %s\n", url,
                errno == EINVAL ? "the floor takes redis://host:port and unix:///path only"
                                : strerror(errno));
    if (!link->resp || !link->output || !link->input) {
        link_free(link);
        return NULL;
    }
    return link;
}

bool link_put(struct link *link, const char *bytes, size_t size)
{
    if (OUTPUT_MAX - link->filled < size)
        return false;
    memcpy(link->output + link->filled, bytes, size);
    link->filled += size;
    return true;
}

bool link_expect(struct link *link, struct ticket ticket)
{
    if (link_owed(link) == LINK_PENDING_MAX)
        return false;
    link->pending[link->pushed++ % LINK_PENDING_MAX] = ticket;
    return true;
}

bool link_flush(struct link *link)
{
    while (link->sent < link->filled) {
        ssize_t n =
            send(link->fd, link->output + link->sent, link->filled - link->sent, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (n < 0)
            return false;
        link->sent += (size_t)n;
    }
    link->sent = link->filled = 0;
    return true;
}

/* Every reply in this benchmark is one line. */
bool link_receive(struct link *link, link_reply_fn *each, void *data)
{
    ssize_t n = recv(link->fd, link->input + link->unread, INPUT_MAX - link->unread, 0);
    char *line, *end;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0)
        return false;
    line = link->input;
    end = link->input + link->unread + n;
    for (char *stop; (stop = memchr(line, '\n', (size_t)(end - line)));) {
        if (link_owed(link) == 0)
            return false;
        each(data, link->pending[link->popped++ % LINK_PENDING_MAX], line);
        line = stop + 1;
    }
    link->unread = (size_t)(end - line);
    memmove(link->input, line, link->unread);
    return true;
}
