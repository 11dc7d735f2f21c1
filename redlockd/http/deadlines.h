/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlines of connections. There are few different spans, and each has its own list: what is
 * set last is due last, so setting, moving and removing cost nothing that grows with the number
 * of connections.
 */
#ifndef REDLOCKD_HTTP_DEADLINES_H
#define REDLOCKD_HTTP_DEADLINES_H

#include <stdint.h>

struct http_deadlines;

/* The lists of a server, in the order in which those that are over are looked at. */
enum http_due {
    HTTP_DUE_HEAD,   /* from the first byte of a request, or of a handshake, to its last */
    HTTP_DUE_IDLE,   /* without a request */
    HTTP_DUE_KNOWN,  /* the same, of a client that a rule has allowed something */
    HTTP_DUE_STALL,  /* the client takes nothing of what waits for it */
    HTTP_DUE_LINGER, /* the client closes as well */
    HTTP_DUE_UNREAD, /* of streams: the client takes nothing of what the kernel has for it */
    HTTP_DUE_COUNT,
};

/* Lives inside of what it wakes. */
struct http_deadline {
    struct http_deadlines *list; /* NULL: not set */
    struct http_deadline *previous, *next;
    int64_t due_ns;
};

struct http_deadlines {
    struct http_deadline *first, *last;
    unsigned count;
    int64_t span_ns;
};

/* Sets or moves it: due span_ns after now_ns, which never goes back. */
void http_deadline_set(struct http_deadlines *list, struct http_deadline *deadline,
                       int64_t now_ns);
void http_deadline_remove(struct http_deadline *deadline);

/* The first that is due, or NULL; it stays set. */
struct http_deadline *http_deadlines_due(struct http_deadlines *list, int64_t now_ns);
/* When the first is due; RL_NEVER_NS. */
int64_t http_deadlines_next_ns(const struct http_deadlines *list);

#endif
