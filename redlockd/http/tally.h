/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often each operation was answered with each status, and how long that took. Which
 * operations there are is the handler's: a number from 1 on, that it gives with http_set_op().
 * 0 is what no handler saw.
 */
#ifndef REDLOCKD_HTTP_TALLY_H
#define REDLOCKD_HTTP_TALLY_H

#include <stdint.h>

#include "redlock.h"

#define HTTP_OPS_MAX 16
#define HTTP_STATUS_FIRST 200
#define HTTP_STATUS_COUNT 312 /* up to 511 */

struct http_tally {
    uint64_t count[HTTP_OPS_MAX][HTTP_STATUS_COUNT]; /* by status - HTTP_STATUS_FIRST */
    redlock_histogram took[HTTP_OPS_MAX]; /* from the last byte of the request to the answer */
};

void http_tally_add(struct http_tally *tally, unsigned op, int status, int64_t took_ns);

/* One more of this size. */
void http_histogram_add(redlock_histogram *histogram, int64_t took_ns);

#endif
