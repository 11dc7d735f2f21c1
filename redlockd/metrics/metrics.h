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

#define METRICS_REASONS_MAX 16

struct metrics {
    redlock_histogram hold; /* for how long locks were held, where this replica knows that */
    struct {
        const char *word; /* of the program, never of a client */
        uint64_t count;
    } lost[METRICS_REASONS_MAX];
    FILE *out; /* to `text`; grows to the largest answer and is used again */
    char *text;
    size_t size;
};

/* What is counted outside of the library. */
struct metrics_counts {
    struct http_counts http;
    const struct http_tally *tally;
    const char *listeners[HTTP_LISTENERS_MAX]; /* their names, by number; NULL: none is open */
    uint64_t yours;
    uint64_t disconnected_waiters;
    const struct audit *audit;
    const struct access_rules *rules;
    unsigned waiting;
    unsigned lease_waiting, lease_held;
    unsigned stream_waiting, stream_held, stream_jeopardy;
};

/* 0, or -1: out of memory. */
int metrics_init(struct metrics *metrics);
void metrics_free(struct metrics *metrics);

/* For audit_observer_fn: what ended, and how. */
void metrics_note(struct metrics *metrics, const struct audit_line *line);

void metrics_answer(struct metrics *metrics, struct http_exchange *exchange, redlock *client,
                    const struct metrics_counts *counts);

#endif
