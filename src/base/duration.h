/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations as people write them: 2.5, 250ms, 30s, 5m, 2h, 1d. */
#ifndef RL_BASE_DURATION_H
#define RL_BASE_DURATION_H

#include <stdint.h>

#define RL_DURATION_MAX_MS 31536000000 /* a year */

/*
 * Reads a non-negative duration of at most a year into *out_ms; a number without a unit is in
 * seconds. Returns NULL, or what is wrong with the text (and *out_ms is untouched). What is
 * finer than a millisecond is cut off, but never down to zero.
 */
const char *rl_duration_parse(const char *text, int64_t *out_ms);

#endif
