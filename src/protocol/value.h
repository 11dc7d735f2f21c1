/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The value under a lock's key, built and taken apart here and nowhere else:
 *
 *     [TAG ":"] 40 hex digits ["#" SLOT] ["@" STAMP " " LABEL]
 *
 * The digits are the attempt's own (A1); the first RL_VALUE_REQUEST_DIGITS of them are the same
 * for all attempts of a request with a tag, so that it recognises what it left among what
 * another made. SLOT is that of a semaphore, so that a release by value finds it. STAMP is the
 * wall clock of the holder's machine in milliseconds when the attempt began, as 11 hex digits;
 * it comes with a label only, so that a lock without one is no longer than it has to be. The
 * scripts look for a slot in the first word, where no caller has written anything but a tag.
 * What does not have this form is another program's value.
 */
#ifndef RL_PROTOCOL_VALUE_H
#define RL_PROTOCOL_VALUE_H

#include <stdint.h>

#include "base/slice.h"
#include "redlock.h"

#define RL_VALUE_RANDOM_BYTES 20
#define RL_VALUE_DRAWN (2 * RL_VALUE_RANDOM_BYTES)
#define RL_VALUE_REQUEST_DIGITS 8 /* the scripts write it in digits (yours.lua) */
#define RL_SLOT_MAX 5             /* #1024 */
#define RL_STAMP_DIGITS 11
#define RL_STAMP_SIZE (1 + RL_STAMP_DIGITS + 1) /* with what stands around it */
#define RL_VALUE_WRITTEN_MAX                                                                   \
    (REDLOCK_IDEMPOTENCY_KEY_SIZE + 1 + RL_VALUE_DRAWN + RL_SLOT_MAX + RL_STAMP_SIZE +         \
     REDLOCK_LABEL_MAX)

/* Slices of size 0: none. */
struct rl_value {
    struct rl_slice tag;
    struct rl_slice random;
    uint16_t slot;    /* 0: none */
    int64_t stamp_ms; /* -1: none */
    struct rl_slice label;
};

/* Returns its size, at most RL_VALUE_WRITTEN_MAX; not terminated. A stamp needs a label. */
size_t rl_value_write(const struct rl_value *value, char *out);
/* Points into the text. False: it is another program's, *out has no part of it. */
bool rl_value_read(struct rl_slice text, struct rl_value *out);
/* The longest that rl_value_write() can make of these. */
size_t rl_value_size(bool has_slots, size_t tag_size, size_t label_size);

/* What is wrong with a label, as the rest of a sentence; NULL: nothing. */
const char *rl_label_fault(struct rl_slice label);
bool rl_tag_is_valid(struct rl_slice tag);
/* What stands behind the first word of a value or of a waiter's name; of size 0: no label. */
struct rl_slice rl_label_of(struct rl_slice text);

/* Printable UTF-8, which steers no terminal and ends no line? */
bool rl_text_is_printable(struct rl_slice text);
/*
 * The text, terminated, as callers get it: as it is if it is printable, else with \xHH for each
 * byte that is not part of a printable character. Cut where the next character would not fit.
 */
void rl_text_show(struct rl_slice text, char *out, size_t size);

#endif
