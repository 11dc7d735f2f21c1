/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that the feeds are told together: each is encoded once, and a feed that may see the same as the one
 * before it gets the very same bytes. Telling each event by itself would cost one write for each feed, and the
 * locks that the events are about most of their speed.
 */
#ifndef REDLOCKD_EVENTS_BATCH_H
#define REDLOCKD_EVENTS_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATCH_EVENTS 256
#define BATCH_BYTES (16u << 10) /* an event has less than a third of that, its name included */

struct batch {
    struct {
        uint32_t name_at; /* ends with NUL, and the text follows */
        uint32_t text_at, text_size;
    } events[BATCH_EVENTS];
    unsigned count;
    uint32_t size;
    char bytes[BATCH_BYTES];
};

/* False: there is no room for it. */
bool batch_add(struct batch *batch, const char *name, const char *text, size_t size);

/* The texts of those that `sees` is true of, one behind another, into `out`, of BATCH_BYTES; their size. */
size_t batch_choose(const struct batch *batch,
                    bool (*sees)(const void *context, const char *name), const void *context,
                    char *out);

void batch_clear(struct batch *batch);

#endif
