/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/quote.h"
#include "report/nodes.h"
#include "ui/message.h"

#define LOCK_ROWS_KEPT 4     /* of a small window, for locks: nodes are summed up then */
#define HINT_ROWS 12         /* a smaller window has no row for the keys */
#define TITLE_COLUMNS 76     /* a narrower one has a shorter title */
#define COLUMNS_ELSEWHERE 80 /* where there is no window */

static size_t columns_of(const struct screen *screen)
{
    return screen->full ? screen->columns : COLUMNS_ELSEWHERE;
}

/* "4 of 5 vote, 3 needed", as on the page of redlockd; "6 of 6 vote, 2 of 2 quorums" */
static void describe_nodes(const struct sample *s, char *out, size_t size)
{
    uint32_t nodes = 0, voting = 0;
    size_t available = 0;
    for (size_t quorum = 0; quorum < s->quorum_count; quorum++) {
        const redlock_report *ping = &s->pings[quorum];
        uint32_t here = nodes_voting(redlock_member(s->look->client, quorum), ping);
        nodes += ping->node_count;
        voting += here;
        available += here >= ping->quorum;
    }
    if (s->quorum_count == 1)
        snprintf(out, size, "%u of %u vote, %u needed", voting, nodes, s->pings[0].quorum);
    else
        snprintf(out, size, "%u of %u vote, %zu of %zu quorums", voting, nodes, available,
                 s->quorum_count);
}

static void print_title(struct screen *screen, const struct sample *s)
{
    char line[SCREEN_LINE_MAX] = "", nodes[80];
    unsigned long long waiters = 0, held = 0;
    time_t now = time(NULL);
    struct tm local;
    for (size_t i = 0; i < s->count; i++) {
        held += s->locks[i].snapshot.held && !s->locks[i].snapshot.record;
        waiters += s->locks[i].snapshot.waiter_count;
    }
    if (columns_of(screen) >= TITLE_COLUMNS && localtime_r(&now, &local))
        strftime(line, sizeof line, "redlock top %H:%M:%S  ", &local);
    describe_nodes(s, nodes, sizeof nodes);
    text_add(line, sizeof line, "%s; %llu held, %llu waiting", nodes, held, waiters);
    if (s->unseen > 0)
        text_add(line, sizeof line, "; %zu not looked at", s->unseen);
    screen_line(screen, TEXT_TITLE, line);
}

/* A table as lines, the first of them its heading. */
struct lines {
    char *text; /* owned; NULL: it has no rows, or out of memory */
    char *rest;
};

static struct lines lines_of(struct screen *screen, struct table *table)
{
    struct lines l = {.text = NULL};
    size_t size;
    FILE *memory = table->rows > 1 ? open_memstream(&l.text, &size) : NULL;
    table_cut(table, columns_of(screen));
    if (memory) {
        table_print(table, "", memory);
        fclose(memory);
    }
    table_free(table);
    l.rest = l.text;
    return l;
}

static void print_line(struct screen *screen, struct lines *l, enum text_colour colour)
{
    char *line = strsep(&l->rest, "\n");
    if (line && l->rest)
        screen_line(screen, colour, line);
}

void top_view_table(struct screen *screen, struct table *table)
{
    size_t rows = table->rows;
    enum text_colour *colour = calloc(rows, sizeof *colour);
    struct lines lines;
    for (size_t row = 0; colour && row < rows; row++)
        colour[row] = row == 0 ? TEXT_HEADING : table->cell[row * table->columns].colour;
    lines = lines_of(screen, table);
    for (size_t row = 0; colour && row < rows; row++)
        print_line(screen, &lines, colour[row]);
    free(lines.text);
    free(colour);
}

/* The nodes of each quorum, if there is room for all of them. */
static void print_nodes(struct screen *screen, const struct sample *s)
{
    for (size_t quorum = 0; quorum < s->quorum_count; quorum++) {
        const redlock_report *ping = &s->pings[quorum];
        struct table table;
        if (screen_left(screen) < ping->node_count + LOCK_ROWS_KEPT + 3)
            continue;
        nodes_begin(&table);
        nodes_rows(&table, &s->look->settings, redlock_member(s->look->client, quorum), ping,
                   true);
        top_view_table(screen, &table);
        screen_line(screen, TEXT_PLAIN, "");
    }
}

/* How often the holder changes in a second, to a tenth. */
static void describe_rate(const struct sample_lock *lock, char out[24])
{
    double rate = lock->changes < 0 || lock->span_ms <= 0
                      ? -1
                      : (double)lock->changes * 1000 / (double)lock->span_ms;
    snprintf(out, 24, rate < 0 ? "-" : "%.1f", rate);
}

/* The waiters of a lock, if the screen has a row for them. */
static void print_waiters(struct screen *screen, const struct snapshot *snapshot,
                          size_t rows_left)
{
    char names[SHOW_TEXT_MAX], line[SHOW_TEXT_MAX + 32], cut[4 * SCREEN_LINE_MAX];
    size_t columns = columns_of(screen);
    bool fits;
    show_waiters(names, snapshot);
    if (!*names || rows_left < 2)
        return;
    snprintf(line, sizeof line, "  waiting: %s", names);
    fits = text_width(line) <= columns;
    if (!fits)
        text_fit(cut, sizeof cut, line, columns);
    screen_line(screen, TEXT_PLAIN, fits ? line : cut);
}

/* All of them outside of a window; in it, those that can be seen. */
static struct lines rows_of(struct screen *screen, const struct sample *s)
{
    struct table table;
    char rate[24];
    show_rows_begin(&table);
    for (size_t i = 0; i < s->count && table.rows <= screen_left(screen); i++) {
        describe_rate(&s->locks[i], rate);
        if (s->locks[i].looked_ns)
            show_row(&table, &s->locks[i].snapshot, rate);
    }
    return lines_of(screen, &table);
}

/* `kept` rows of the window are for something else. */
static void print_locks(struct screen *screen, const struct sample *s, size_t kept)
{
    struct lines rows = rows_of(screen, s);
    char more[48];
    print_line(screen, &rows, TEXT_HEADING);
    for (size_t i = 0; i < s->count && screen_left(screen) > kept; i++) {
        const struct sample_lock *lock = &s->locks[i];
        if (screen_left(screen) == kept + 1 && s->count - i > 1) {
            snprintf(more, sizeof more, "and %zu more", s->count - i);
            screen_line(screen, TEXT_PLAIN, more);
        } else if (lock->looked_ns) {
            print_line(screen, &rows, show_colour(&lock->snapshot));
            print_waiters(screen, &lock->snapshot, screen_left(screen) - kept);
        }
    }
    if (s->count == 0)
        screen_line(screen, TEXT_PLAIN,
                    s->look->count > 0 ? "no lock has such a name" : "no locks");
    free(rows.text);
}

/* The keys, in the last row of a window that has one to spare. */
static void print_hint(struct screen *screen, const struct sample *s)
{
    char line[80];
    while (screen_left(screen) > 1)
        screen_line(screen, TEXT_PLAIN, "");
    snprintf(line, sizeof line, "q quit   s sort (now: %s)", sample_order_word(s->order));
    screen_line(screen, TEXT_HEADING, line);
}

void top_view_draw(struct screen *screen, const struct sample *s)
{
    char safe[2 * sizeof s->detail];
    bool hint;
    screen_begin(screen);
    hint = screen->keys && screen->rows >= HINT_ROWS;
    print_title(screen, s);
    print_nodes(screen, s);
    if (s->error != REDLOCK_OK) {
        rl_quote_safe(safe, sizeof safe, s->detail);
        screen_line(screen, TEXT_BAD, safe);
    }
    if (s->error == REDLOCK_OK || s->available)
        print_locks(screen, s, hint ? 1 : 0);
    if (hint)
        print_hint(screen, s);
    screen_end(screen);
}

void top_view_json(const struct sample *s)
{
    struct rl_json j = {.out = stdout};
    message_json(&j, s->error, s->detail);
    if (s->quorum_count == 1)
        rl_json_integer(&j, "quorum", s->pings[0].quorum);
    rl_json_array(&j, "nodes");
    for (size_t i = 0; i < s->quorum_count; i++)
        nodes_json(redlock_member(s->look->client, i), &s->pings[i], s->pings[i].quorum_name[0],
                   &j);
    rl_json_end_array(&j);
    rl_json_array(&j, "locks");
    for (size_t i = 0; i < s->count && s->available; i++) {
        const struct sample_lock *lock = &s->locks[i];
        if (!lock->looked_ns)
            continue;
        rl_json_object(&j, NULL);
        rl_json_string(&j, "name", lock->name);
        show_members_json(&lock->snapshot, &j);
        rl_json_known(&j, "changes", lock->changes);
        rl_json_known(&j, "span_ms", lock->changes < 0 ? -1 : lock->span_ms);
        rl_json_end_object(&j);
    }
    rl_json_end_array(&j);
    rl_json_integer(&j, "unasked", (int64_t)s->unseen);
    rl_json_finish(&j);
}
