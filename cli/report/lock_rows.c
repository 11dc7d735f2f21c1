/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/lock_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "report/holders.h"
#include "ui/kind.h"

#define NAME_LEAST 8
#define HOLDER_LEAST 12
#define FLEXIBLE_MAX 120 /* columns of a name or a holder, however wide the window */
#define CELL_MAX (4 * FLEXIBLE_MAX + 4)

/* With the two blanks before each. */
#define KIND_COLUMNS 11
#define AGE_COLUMNS 8
#define LEFT_COLUMNS 8
#define WAITERS_COLUMNS 6
#define CHANGES_COLUMNS 7
#define MARK_COLUMNS 2 /* behind all others: the nodes disagree */

/* A name as it is shown, and so its width. */
static size_t shown_width(const char *text)
{
    char safe[CELL_MAX];
    bool whole = rl_quote_safe(safe, sizeof safe, text);
    size_t width = text_width(safe);
    return !whole || width > FLEXIBLE_MAX ? FLEXIBLE_MAX : width;
}

void lock_rows_begin(struct lock_rows *rows, bool changes)
{
    *rows = (struct lock_rows){.name_columns = strlen("NAME"),
                               .holder_columns = strlen("HOLDER"),
                               .changes = changes,
                               .kind = true,
                               .age = true,
                               .waiters = true};
}

void lock_rows_measure(struct lock_rows *rows, const struct lock_row *row)
{
    char holder[HOLDERS_TEXT_MAX];
    size_t name = shown_width(row->name);
    holders_cell(holder, row->brief);
    size_t width = shown_width(holder);
    if (name > rows->name_columns)
        rows->name_columns = name;
    if (width > rows->holder_columns)
        rows->holder_columns = width;
}

/* What the other columns take, and the blanks between name and holder. */
static size_t fixed_columns(const struct lock_rows *rows)
{
    return 2 + LEFT_COLUMNS + MARK_COLUMNS + (rows->kind ? KIND_COLUMNS : 0) +
           (rows->age ? AGE_COLUMNS : 0) + (rows->waiters ? WAITERS_COLUMNS : 0) +
           (rows->changes ? CHANGES_COLUMNS : 0);
}

static bool is_tight(const struct lock_rows *rows, size_t columns)
{
    size_t name = rows->name_columns < NAME_LEAST ? rows->name_columns : NAME_LEAST;
    size_t holder = rows->holder_columns < HOLDER_LEAST ? rows->holder_columns : HOLDER_LEAST;
    return columns < fixed_columns(rows) + name + holder;
}

void lock_rows_fit(struct lock_rows *rows, size_t columns)
{
    bool *const spare[] = {&rows->changes, &rows->kind, &rows->age, &rows->waiters};
    for (size_t i = 0; i < sizeof spare / sizeof spare[0] && is_tight(rows, columns); i++)
        *spare[i] = false;
    size_t fixed = fixed_columns(rows);
    size_t room = columns > fixed + NAME_LEAST + HOLDER_LEAST ? columns - fixed
                                                              : NAME_LEAST + HOLDER_LEAST;
    if (rows->name_columns + rows->holder_columns <= room)
        return;
    /* Half of it for each; what one of them does not need is for the other. */
    size_t half = room / 2;
    if (rows->name_columns <= half)
        rows->holder_columns = room - rows->name_columns;
    else if (rows->holder_columns <= room - half)
        rows->name_columns = room - rows->holder_columns;
    else
        rows->name_columns = half, rows->holder_columns = room - half;
}

static void add_cells(const struct lock_rows *rows, const char *name, const char *holder,
                      char out[LOCK_ROWS_LINE_MAX])
{
    char cell[CELL_MAX];
    out[0] = '\0';
    text_fit(cell, sizeof cell, name, rows->name_columns);
    text_add(out, LOCK_ROWS_LINE_MAX, "%s  ", cell);
    text_fit(cell, sizeof cell, holder, rows->holder_columns);
    text_add(out, LOCK_ROWS_LINE_MAX, "%s", cell);
}

void lock_rows_heading(const struct lock_rows *rows, char out[LOCK_ROWS_LINE_MAX])
{
    add_cells(rows, "NAME", "HOLDER", out);
    if (rows->kind)
        text_add(out, LOCK_ROWS_LINE_MAX, "  %-9s", "KIND");
    if (rows->age)
        text_add(out, LOCK_ROWS_LINE_MAX, "%*s", AGE_COLUMNS, "FOR");
    text_add(out, LOCK_ROWS_LINE_MAX, "%*s", LEFT_COLUMNS, "LEFT");
    if (rows->waiters)
        text_add(out, LOCK_ROWS_LINE_MAX, "%*s", WAITERS_COLUMNS, "WAIT");
    if (rows->changes)
        text_add(out, LOCK_ROWS_LINE_MAX, "%*s", CHANGES_COLUMNS, "CHG/S");
}

void lock_rows_line(const struct lock_rows *rows, const struct lock_row *row,
                    char out[LOCK_ROWS_LINE_MAX])
{
    const struct lock_brief *b = row->brief;
    char holder[HOLDERS_TEXT_MAX], age[HOLDERS_AGE_MAX], left[TEXT_TIME_MAX];
    holders_cell(holder, b);
    holders_age(age, b);
    text_time_short(left, b->held ? b->left_ms : -1);
    add_cells(rows, row->name, holder, out);
    if (rows->kind)
        text_add(out, LOCK_ROWS_LINE_MAX, "  %-9s",
                 !b->held    ? "free"
                 : b->record ? "ran"
                             : kind_words(b->kind)->shown);
    if (rows->age)
        text_add(out, LOCK_ROWS_LINE_MAX, "%*s", AGE_COLUMNS, age);
    text_add(out, LOCK_ROWS_LINE_MAX, "%*s", LEFT_COLUMNS, left);
    if (rows->waiters)
        text_add(out, LOCK_ROWS_LINE_MAX, "%*u", WAITERS_COLUMNS, b->waiter_count);
    if (rows->changes)
        text_add(out, LOCK_ROWS_LINE_MAX, "%*s", CHANGES_COLUMNS,
                 row->changes ? row->changes : "-");
    if (b->disagree)
        text_add(out, LOCK_ROWS_LINE_MAX, " !");
}

enum text_colour lock_rows_colour(const struct lock_brief *b)
{
    return b->disagree ? TEXT_BAD : b->waiter_count > 0 ? TEXT_WAIT : TEXT_PLAIN;
}
