/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many locks, a line each: name, holder, kind, since when, what is left, how many wait. The
 * columns of names and holders are as wide as these are, and no wider than there is room for;
 * in a narrow window other columns are left out first.
 */
#ifndef CLI_LOCK_ROWS_H
#define CLI_LOCK_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/lock_brief.h"
#include "ui/text.h"

#define LOCK_ROWS_LINE_MAX 2048

struct lock_row {
    const char *name;
    const struct lock_brief *brief;
    const char *changes; /* of the holder per second; NULL: there is no such column */
};

struct lock_rows {
    size_t name_columns, holder_columns;
    bool changes, kind, age, waiters; /* is there such a column? */
};

/* Begins with columns that are as wide as their headings. */
void lock_rows_begin(struct lock_rows *rows, bool changes);

/* Makes room for a row, if there is any. */
void lock_rows_measure(struct lock_rows *rows, const struct lock_row *row);

/* All rows are known: fits them into so many columns. */
void lock_rows_fit(struct lock_rows *rows, size_t columns);

void lock_rows_heading(const struct lock_rows *rows, char out[LOCK_ROWS_LINE_MAX]);
void lock_rows_line(const struct lock_rows *rows, const struct lock_row *row,
                    char out[LOCK_ROWS_LINE_MAX]);
enum text_colour lock_rows_colour(const struct lock_brief *b);

#endif
