/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GET /metrics in the text format of Prometheus, version 0.0.4. No name of a lock is ever a
 * label: there may be millions of them, and they are other people's text.
 */
#ifndef REDLOCKD_METRICS_H
#define REDLOCKD_METRICS_H

#include <stdint.h>
#include <stdio.h>

#include "http/server.h"
#include "leases/leases.h"
#include "view/leader.h"

struct metrics {
    const struct leaders *leaders;
    FILE *out; /* to `text`; grows to the largest answer and is used again */
    char *text;
    size_t size;
};

/* 0, or -1: out of memory. */
int metrics_init(struct metrics *metrics);
void metrics_free(struct metrics *metrics);

/* listeners: their names, by number; NULL: none is open. */
void metrics_answer(struct metrics *metrics, struct http_exchange *exchange,
                    const struct leases *leases, const struct http_server *server,
                    const char *const listeners[HTTP_LISTENERS_MAX]);

#endif
