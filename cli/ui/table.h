/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small table of text: columns as wide as they need to be, foreign bytes made harmless. Where
 * a line would be longer than the terminal is wide, columns that can be spared are left out,
 * from the right, and the text of the last column goes on in further lines, broken between
 * words.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <redlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ui/text.h"

#define TABLE_COLUMNS_MAX 10
#define TABLE_ROWS_MAX 101 /* the classes of a redlockd, and the heading */
#define TABLE_CELL_MAX REDLOCK_TEXT_MAX

struct table {
    size_t columns;
    size_t rows;
    uint32_t spare; /* bit per column that can be left out */
    size_t limit;   /* columns of a line; 0: as the terminal has, or many where there is none */
    bool cut;       /* the last column is cut, and not continued: a row is a line */
    struct {
        char text[TABLE_CELL_MAX];
        enum text_colour colour;
    } cell[TABLE_ROWS_MAX][TABLE_COLUMNS_MAX];
};

/* Starts a table; `heading` is NULL-terminated. */
void table_begin(struct table *t, const char *const *heading);

/* Marks a column that is left out where there is no room for all of them. */
void table_spare(struct table *t, size_t column);

/* Every row is one line of at most so many columns, wherever it is printed. */
void table_cut(struct table *t, size_t columns);

/* Starts a row. Its cells are empty until they are set. */
void table_row(struct table *t);

/* Sets a cell of the last row. */
void table_set(struct table *t, size_t column, enum text_colour colour, const char *text);

/* Prints it with `margin` before every line. Columns empty in every row are left out. */
void table_print(const struct table *t, const char *margin, FILE *out);

#endif
