/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quote.h"
#include "ui/errors.h"

#define GAP 2            /* blanks between columns */
#define WORDS_LEAST 24   /* columns for text that goes on in the next line */
#define FLEXIBLE_MAX 120 /* of a flexible column, however wide the window */
#define CELL_MAX 2048    /* bytes of a cell */

static struct table_cell *cell_of(const struct table *t, size_t row, size_t column)
{
    return &t->cell[row * t->columns + column];
}

static const char *text_of(const struct table *t, size_t row, size_t column)
{
    const char *text = cell_of(t, row, column)->text;
    return text ? text : "";
}

void table_begin(struct table *t, const char *const *heading)
{
    *t = (struct table){0};
    while (heading[t->columns])
        t->columns++;
    assert(t->columns <= TABLE_COLUMNS_MAX);
    table_row(t, TEXT_PLAIN, heading);
}

void table_style(struct table *t, size_t column, enum table_style style, size_t least)
{
    assert(column < t->columns);
    t->column[column].style = style;
    t->column[column].least = least;
}

void table_spare(struct table *t, size_t column)
{
    assert(column < t->columns && t->spares < TABLE_COLUMNS_MAX);
    t->spare[t->spares++] = column;
}

void table_cut(struct table *t, size_t columns)
{
    t->limit = columns;
    t->cut = true;
}

/* Without memory for it a row, or a text, is left out. */
void table_row(struct table *t, enum text_colour colour, const char *const *text)
{
    char safe[CELL_MAX];
    struct table_cell *cell =
        reallocarray(t->cell, (t->rows + 1) * t->columns, sizeof *t->cell);
    if (!cell)
        return;
    t->cell = cell;
    t->rows++;
    for (size_t column = 0; column < t->columns; column++) {
        rl_quote_safe(safe, sizeof safe, text[column]);
        *cell_of(t, t->rows - 1, column) = (struct table_cell){strdup(safe), colour};
    }
}

void table_colour(struct table *t, size_t column, enum text_colour colour)
{
    if (t->rows > 0)
        cell_of(t, t->rows - 1, column)->colour = colour;
}

/* Width of a column, 0 when nothing but its heading is in it. */
static size_t column_width(const struct table *t, size_t column)
{
    size_t widest = 0, least = text_width(text_of(t, 0, column));
    for (size_t row = 1; row < t->rows; row++) {
        size_t width = text_width(text_of(t, row, column));
        widest = width > widest ? width : widest;
    }
    if (t->column[column].style == TABLE_FLEXIBLE)
        widest = widest < FLEXIBLE_MAX ? widest : FLEXIBLE_MAX;
    else if (t->column[column].least > least)
        least = t->column[column].least;
    return widest == 0 ? 0 : widest > least ? widest : least;
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

/* What can be saved of a flexible column. */
static size_t surplus(const struct table *t, const struct layout *l, size_t column)
{
    bool is_flexible = t->column[column].style == TABLE_FLEXIBLE;
    size_t least = t->column[column].least, width = l->width[column];
    return is_flexible && width > least ? width - least : 0;
}

/* Does the line fit, if flexible columns are as narrow as they may be? The last column of a
 * table may be continued: it needs no more than a few words. */
static bool fits(const struct table *t, const struct layout *l)
{
    size_t needed = l->width[l->last], saved = 0;
    if (l->last + 1 == t->columns && needed > WORDS_LEAST)
        needed = WORDS_LEAST;
    for (size_t column = 0; column < t->columns; column++)
        saved += surplus(t, l, column);
    return l->before + needed <= l->limit || l->before + needed - l->limit <= saved;
}

/* Takes what is too much from the flexible columns: from the widest first. */
static void shrink(const struct table *t, struct layout *l)
{
    size_t needed = l->before + l->width[l->last];
    while (needed > l->limit) {
        size_t widest = TABLE_COLUMNS_MAX;
        for (size_t column = 0; column < t->columns; column++) {
            if (surplus(t, l, column) > 0 &&
                (widest == TABLE_COLUMNS_MAX || l->width[column] > l->width[widest]))
                widest = column;
        }
        if (widest == TABLE_COLUMNS_MAX)
            return;
        l->width[widest]--;
        needed--;
    }
}

static void fit(const struct table *t, size_t margin, struct layout *l)
{
    for (size_t column = 0; column < t->columns; column++)
        l->width[column] = column_width(t, column);
    measure(t, margin, l);
    for (size_t i = 0; i < t->spares && !fits(t, l); i++) {
        l->width[t->spare[i]] = 0;
        measure(t, margin, l);
    }
    shrink(t, l);
    measure(t, margin, l);
}

/* `text`, cut to so many columns. */
static void print_cut(const char *text, size_t columns, FILE *out)
{
    char fitted[CELL_MAX + 4];
    if (text_width(text) > columns) {
        text_fit(fitted, sizeof fitted, text, columns);
        text = fitted;
    }
    fputs(text, out);
}

static void print_cell(const struct table *t, const struct layout *l, size_t row, size_t column,
                       FILE *out)
{
    const char *text = text_of(t, row, column);
    enum text_colour colour = cell_of(t, row, column)->colour;
    bool coloured = l->colours && *text && colour != TEXT_PLAIN;
    size_t room = l->limit > l->before ? l->limit - l->before : 1;
    if (coloured)
        fputs(text_colour_code(colour), out);
    if (t->column[column].style == TABLE_FLEXIBLE)
        print_cut(text, l->width[column], out);
    else if (column == l->last && t->cut)
        print_cut(text, room, out);
    else if (column == l->last)
        text_wrap(out, text, l->before, l->before, l->limit);
    else
        fputs(text, out);
    if (coloured)
        fputs(text_colour_code(TEXT_PLAIN), out);
}

static void print_row(const struct table *t, const struct layout *l, size_t row, FILE *out)
{
    size_t owed = 0; /* blanks to print before the next text: no line ends in blanks */
    for (size_t column = 0; column <= l->last; column++) {
        bool is_right = t->column[column].style == TABLE_RIGHT;
        size_t width = text_width(text_of(t, row, column)), blanks;
        if (l->width[column] == 0)
            continue;
        if (width == 0) {
            owed += l->width[column] + GAP;
            continue;
        }
        blanks = l->width[column] > width ? l->width[column] - width : 0;
        fprintf(out, "%*s", (int)(owed + (is_right ? blanks : 0)), "");
        print_cell(t, l, row, column, out);
        owed = GAP + (is_right ? 0 : blanks);
    }
    putc('\n', out);
}

void table_print(struct table *t, const char *margin, FILE *out)
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
    table_free(t);
}

void table_free(struct table *t)
{
    for (size_t i = 0; i < t->rows * t->columns; i++)
        free(t->cell[i].text);
    free(t->cell);
    *t = (struct table){0};
}
