/* SPDX-License-Identifier: BSD-2-Clause */
/* The holders and waiters of a lock, in the same words in every subcommand. */
#ifndef CLI_HOLDERS_H
#define CLI_HOLDERS_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>

#include "report/lock_brief.h"
#include "ui/text.h"

#define HOLDERS_TEXT_MAX 640
#define HOLDERS_NAME_MAX (REDLOCK_LABEL_MAX + TEXT_HOLDER_MAX) /* of one of them */
#define HOLDERS_AGE_MAX (TEXT_TIME_MAX + 16)

/* How much of it is said. Zero: all. */
struct holders_style {
    size_t name_columns; /* a holder's name is cut to this; 0: it is not cut */
    bool brief;          /* without the time that has passed */
};

/* "deploy@web3:4711 (make)": the label, or of a value without one the
 * first eight characters. */
void holders_name(char out[HOLDERS_NAME_MAX], const char *label, const char *value);

/*
 * "held by deploy@web3:4711 (make), for 2 min 5 s, up to 8.4 s more", "held by 2 readers (a,
 * b), up to 1.0 s more", "2 of 4 slots taken (a, b), ..."; "free".
 */
void holders_text(char out[HOLDERS_TEXT_MAX], const struct lock_brief *b,
                  struct holders_style style);

/* For a cell of a table: "deploy@web3:4711 (make)", "2 readers: a, b", "1 of 4:
 * a"; "-": free. */
void holders_cell(char out[HOLDERS_TEXT_MAX], const struct lock_brief *b);

/* For a cell of a table, how long the one that has had it for longest: "5m3s", "5m3s+"; "-". */
void holders_age(char out[HOLDERS_AGE_MAX], const struct lock_brief *b);

/* The waiters from the head of the queue on: "alice@web1:7 (make), bob@web2:9 (sh)
 * and 3 more". */
void holders_waiters(char out[HOLDERS_TEXT_MAX], const struct lock_brief *b);

#endif
