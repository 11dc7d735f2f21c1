/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GET /metrics in the text format of Prometheus, version 0.0.4. No name of a lock is ever a label: there
 * may be millions of them, and they are other people's text.
 */
#ifndef REDLOCKD_METRICS_H
#define REDLOCKD_METRICS_H

#include <stdint.h>
#include <stdio.h>

#include "access/rules.h"
#include "audit/audit.h"
#include "http/server.h"
#include "redlock.h"

struct metrics {
    FILE *out; /* to `text`; grows to the largest answer and is used again */
    char *text;
    size_t size;
};

/* What is counted outside of the library. */
struct metrics_counts {
    struct http_counts http;
    uint64_t yours;
    uint64_t disconnected_waiters;
    const struct audit *audit;
    const struct access_rules *rules;
    unsigned waiting;
};

/* 0, or -1: out of memory. */
int metrics_init(struct metrics *metrics);
void metrics_free(struct metrics *metrics);

void metrics_answer(struct metrics *metrics, struct http_exchange *exchange, redlock *client,
                    const struct metrics_counts *counts);

#endif
