/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/table.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "ui/errors.h"

void table_begin(struct table *t, const char *const *heading)
{
    memset(t, 0, sizeof *t);
    t->rows = 1;
    for (; *heading; heading++) {
        assert(t->columns < TABLE_COLUMNS_MAX);
        text_safe(t->cell[0][t->columns++].text, TABLE_CELL_MAX, *heading);
    }
}

void table_row(struct table *t)
{
    assert(t->rows < TABLE_ROWS_MAX);
    t->rows++;
}

void table_set(struct table *t, size_t column, enum text_colour colour, const char *text)
{
    assert(column < t->columns && t->rows > 1);
    text_safe(t->cell[t->rows - 1][column].text, TABLE_CELL_MAX, text);
    t->cell[t->rows - 1][column].colour = colour;
}

/* Width of a column, 0 when nothing but its heading is in it. */
static size_t column_width(const struct table *t, size_t column)
{
    size_t widest = 0;
    for (size_t row = 1; row < t->rows; row++) {
        size_t width = text_width(t->cell[row][column].text);
        if (width > widest)
            widest = width;
    }
    size_t heading = text_width(t->cell[0][column].text);
    return widest == 0 ? 0 : widest > heading ? widest : heading;
}

void table_print(const struct table *t, const char *margin, FILE *out)
{
    bool on_terminal = out == errors_stream() ? errors_are_on_terminal() : isatty(fileno(out));
    bool colours = text_colours(on_terminal);
    size_t width[TABLE_COLUMNS_MAX] = {0}, last = 0;
    for (size_t column = 0; column < t->columns; column++) {
        width[column] = column_width(t, column);
        if (width[column] > 0)
            last = column;
    }
    for (size_t row = 0; row < t->rows; row++) {
        size_t owed = 0; /* blanks to print before the next text: no line ends in blanks */
        fputs(margin, out);
        for (size_t column = 0; column <= last; column++) {
            const char *text = t->cell[row][column].text;
            if (width[column] == 0)
                continue;
            if (*text)
                fprintf(out, "%*s", (int)owed, "");
            owed = *text ? 0 : owed;
            bool coloured = colours && *text && t->cell[row][column].colour != TEXT_PLAIN;
            if (coloured)
                fputs(text_colour_code(t->cell[row][column].colour), out);
            fputs(text, out);
            if (coloured)
                fputs(text_colour_code(TEXT_PLAIN), out);
            owed += width[column] - text_width(text) + 2;
        }
        putc('\n', out);
    }
}
