/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection of the floor: bytes waiting to be written, and the cycles waiting
 * for a reply. */
#ifndef BENCH_FLOOR_LINK_H
#define BENCH_FLOOR_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_COMMAND_MAX 512    /* bytes of what one step of a cycle sends to a node */
#define LINK_PENDING_MAX 65536u /* replies one node may owe; a power of two */

/* The cycle and step whose reply comes next on a connection. A reply to an older
 * step is ignored. */
struct ticket {
    uint32_t cycle;
    uint32_t step; /* 0: the reply is not waited for */
};

struct link {
    struct resp *resp; /* the connection, for what is asked before a run */
    int fd;
    char *output; /* [sent, filled) waits to be written */
    size_t filled;
    size_t sent;
    char *input; /* `unread` bytes of it are an incomplete line */
    size_t unread;
    struct ticket pending[LINK_PENDING_MAX];
    uint32_t pushed; /* tickets put in so far; the index is this modulo LINK_PENDING_MAX */
    uint32_t popped;
};

/* Called with every reply: the first character of its line, which ends in a newline. */
typedef void link_reply_fn(void *data, struct ticket ticket, const char *line);

/* NULL with a message on stderr. */
struct link *link_open(const char *url);
void link_free(struct link *link);

static inline uint32_t link_owed(const struct link *link)
{
    return link->pushed - link->popped;
}

/* False: the node has fallen too far behind. */
bool link_put(struct link *link, const char *bytes, size_t size);
bool link_expect(struct link *link, struct ticket ticket);

/* One write, or as many as the socket takes. False: the connection is gone. */
bool link_flush(struct link *link);

/* One read, and all the replies in it. False: the connection is gone, or sends no RESP. */
bool link_receive(struct link *link, link_reply_fn *each, void *data);

#endif
