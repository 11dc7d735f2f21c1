/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/table.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/quote.h"
#include "ui/errors.h"

#define GAP 2          /* blanks between columns */
#define WORDS_LEAST 24 /* columns for text that goes on in the next line */

void table_begin(struct table *t, const char *const *heading)
{
    memset(t, 0, sizeof *t);
    t->rows = 1;
    for (; *heading; heading++) {
        assert(t->columns < TABLE_COLUMNS_MAX);
        rl_quote_safe(t->cell[0][t->columns++].text, TABLE_CELL_MAX, *heading);
    }
}

void table_spare(struct table *t, size_t column)
{
    assert(column < t->columns);
    t->spare |= 1u << column;
}

void table_cut(struct table *t, size_t columns)
{
    t->limit = columns;
    t->cut = true;
}

void table_row(struct table *t)
{
    assert(t->rows < TABLE_ROWS_MAX);
    t->rows++;
}

void table_set(struct table *t, size_t column, enum text_colour colour, const char *text)
{
    assert(column < t->columns && t->rows > 1);
    rl_quote_safe(t->cell[t->rows - 1][column].text, TABLE_CELL_MAX, text);
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

/* Widths of the columns of a table as it is printed. */
struct layout {
    size_t width[TABLE_COLUMNS_MAX]; /* 0: left out */
    size_t last;                     /* the last one that is shown */
    size_t before;                   /* what the margin and the others take */
    size_t limit;                    /* columns of a line */
    bool colours;
};

static void measure(const struct table *t, size_t margin, struct layout *l)
{
    l->last = 0;
    l->before = margin;
    for (size_t column = 0; column < t->columns; column++) {
        if (l->width[column] > 0)
            l->last = column;
    }
    for (size_t column = 0; column < l->last; column++)
        l->before += l->width[column] ? l->width[column] + GAP : 0;
}

/* The last column of a table may be continued: it needs no more than a few words. */
static size_t least_width(const struct table *t, const struct layout *l)
{
    size_t width = l->width[l->last];
    return l->last + 1 == t->columns && width > WORDS_LEAST ? WORDS_LEAST : width;
}

static void fit(const struct table *t, size_t margin, struct layout *l)
{
    for (size_t column = 0; column < t->columns; column++)
        l->width[column] = column_width(t, column);
    measure(t, margin, l);
    for (size_t column = t->columns; column-- > 0;) {
        if (!(t->spare & 1u << column) || l->before + least_width(t, l) <= l->limit)
            continue;
        l->width[column] = 0;
        measure(t, margin, l);
    }
}

static void print_last(const struct table *t, const struct layout *l, const char *text,
                       FILE *out)
{
    size_t room = l->limit > l->before ? l->limit - l->before : 1;
    char fitted[4 * TABLE_CELL_MAX + 4];
    if (!t->cut || text_width(text) <= room) {
        text_wrap(out, text, l->before, l->before, l->limit);
        return;
    }
    text_fit(fitted, sizeof fitted, text, room);
    fputs(fitted, out);
}

static void print_row(const struct table *t, const struct layout *l, size_t row, FILE *out)
{
    size_t owed = 0; /* blanks to print before the next text: no line ends in blanks */
    for (size_t column = 0; column <= l->last; column++) {
        const char *text = t->cell[row][column].text;
        if (l->width[column] == 0)
            continue;
        if (*text)
            fprintf(out, "%*s", (int)owed, "");
        owed = *text ? 0 : owed;
        bool coloured = l->colours && *text && t->cell[row][column].colour != TEXT_PLAIN;
        if (coloured)
            fputs(text_colour_code(t->cell[row][column].colour), out);
        if (column == l->last)
            print_last(t, l, text, out);
        else
            fputs(text, out);
        if (coloured)
            fputs(text_colour_code(TEXT_PLAIN), out);
        owed += l->width[column] - text_width(text) + GAP;
    }
    putc('\n', out);
}

void table_print(const struct table *t, const char *margin, FILE *out)
{
    bool errors = out == errors_stream();
    bool on_terminal = errors ? errors_are_on_terminal() : isatty(fileno(out));
    struct layout l = {.colours = text_colours(on_terminal)};
    l.limit = t->limit ? t->limit
              : errors ? errors_line_columns()
                       : text_line_columns(fileno(out));
    fit(t, text_width(margin), &l);
    for (size_t row = 0; row < t->rows; row++) {
        fputs(margin, out);
        print_row(t, &l, row, out);
    }
}
