/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of text: columns as wide as they need to be, foreign bytes made harmless. Where a
 * line would be longer than the terminal is wide, columns that can be spared are left out,
 * flexible ones are cut, and the text of the last column goes on in further lines, broken
 * between words.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ui/text.h"

#define TABLE_COLUMNS_MAX 12

enum table_style {
    TABLE_LEFT,
    TABLE_RIGHT,
    TABLE_FLEXIBLE, /* cut where there is no room for all of it */
};

struct table {
    size_t columns;
    size_t rows; /* with the heading */
    struct {
        enum table_style style;
        size_t least; /* characters of its width, for as long as it is shown */
    } column[TABLE_COLUMNS_MAX];
    size_t spare[TABLE_COLUMNS_MAX], spares; /* columns, from the first that is left out on */
    size_t limit; /* columns of a line; 0: as the terminal has, or many where there is none */
    bool cut;     /* the last column is cut, and not continued: a row is a line */
    struct table_cell {
        char *text; /* owned; NULL: empty */
        enum text_colour colour;
    } * cell; /* owned; `columns` of each row */
};

/* Starts a table, for table_free(); `heading` is NULL-terminated. */
void table_begin(struct table *t, const char *const *heading);

/* For a column that is not as all others: on the left, and as wide as its text. */
void table_style(struct table *t, size_t column, enum table_style style, size_t least);

/*
 * Marks a column that is left out, after those marked before, where there is too little room.
 */
void table_spare(struct table *t, size_t column);

/* Every row is one line of at most so many columns, wherever it is printed. */
void table_cut(struct table *t, size_t columns);

/* Adds a row, with a text for each column. */
void table_row(struct table *t, enum text_colour colour, const char *const *text);

/* Gives a cell of the last row another colour. */
void table_colour(struct table *t, size_t column, enum text_colour colour);

/* Prints it with `margin` before every line, and frees it. Columns empty in every row are left
 * out. */
void table_print(struct table *t, const char *margin, FILE *out);
void table_free(struct table *t);

#endif
