/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/top_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/quote.h"
#include "report/holders.h"
#include "report/lock_rows.h"
#include "report/node_view.h"
#include "ui/table.h"
#include "ui/text.h"

#define LOCK_ROWS_KEPT 4     /* of a small window, for locks: nodes are summed up then */
#define HINT_ROWS 12         /* a smaller window has no row for the keys */
#define TITLE_COLUMNS 76     /* a narrower one has a shorter title */
#define COLUMNS_ELSEWHERE 80 /* where there is no window */

/* A frame while it is drawn. */
struct view {
    struct screen *screen;
    const struct sample *sample;
    const struct settings *settings;
    size_t columns;
};

/* "4 of 5 vote, 3 needed", as on the page of redlockd; "6 of 6 vote, 2 of 2 quorums" */
static int describe_nodes(const struct sample *s, char *out, size_t size)
{
    uint32_t nodes = 0, voting = 0;
    size_t available = 0;
    for (size_t quorum = 0; quorum < s->quorum_count; quorum++) {
        const redlock_report *ping = &s->pings[quorum];
        uint32_t here = 0;
        for (uint32_t i = 0; i < ping->node_count; i++) {
            struct node_view v;
            node_view_look(&v, redlock_member(s->client, quorum), ping, i);
            here += v.answered && !v.info.quarantined;
        }
        nodes += ping->node_count;
        voting += here;
        available += here >= ping->quorum;
    }
    if (s->quorum_count == 1)
        return snprintf(out, size, "%u of %u vote, %u needed", voting, nodes,
                        s->pings[0].quorum);
    return snprintf(out, size, "%u of %u vote, %zu of %zu quorums", voting, nodes, available,
                    s->quorum_count);
}

static void print_title(struct view *w)
{
    const struct sample *s = w->sample;
    char line[SCREEN_LINE_MAX], nodes[80], clock[16] = "";
    uint64_t waiters = 0, held = 0;
    time_t now = time(NULL);
    struct tm local;
    for (size_t i = 0; i < s->count; i++) {
        held += s->locks[i].brief.held && !s->locks[i].brief.record;
        waiters += s->locks[i].brief.waiter_count;
    }
    if (localtime_r(&now, &local))
        strftime(clock, sizeof clock, "%H:%M:%S", &local);
    describe_nodes(s, nodes, sizeof nodes);
    int used = snprintf(line, sizeof line, "%s%s%s%s; %llu held, %llu waiting",
                        w->columns >= TITLE_COLUMNS ? "redlock top " : "",
                        w->columns >= TITLE_COLUMNS ? clock : "",
                        w->columns >= TITLE_COLUMNS ? "  " : "", nodes,
                        (unsigned long long)held, (unsigned long long)waiters);
    if (s->unasked > 0 && used > 0)
        snprintf(line + used, sizeof line - (size_t)used, "; %zu not looked at", s->unasked);
    screen_line(w->screen, TEXT_TITLE, line);
}

static size_t columns_of(const struct screen *screen)
{
    return screen->full ? screen->columns : COLUMNS_ELSEWHERE;
}

void top_view_table(struct screen *screen, struct table *table)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    table_cut(table, columns_of(screen));
    table_print(table, "", memory);
    if (fclose(memory) == 0) {
        char *rest = text, *line;
        for (size_t row = 0; (line = strsep(&rest, "\n")) && rest; row++)
            screen_line(screen, row == 0 ? TEXT_HEADING : table->cell[row][0].colour, line);
    }
    free(text);
}

static void print_node(struct view *w, struct table *table, size_t quorum, uint32_t index)
{
    const redlock_report *ping = &w->sample->pings[quorum];
    char guard[NODE_VIEW_TEXT_MAX], rtt[TEXT_TIME_MAX], clock[NODE_VIEW_TEXT_MAX];
    struct node_view v;
    node_view_look(&v, redlock_member(w->sample->client, quorum), ping, index);
    text_rtt(rtt, v.rtt_us);
    table_row(table);
    table_set(table, 0,
              !v.answered          ? TEXT_BAD
              : v.info.quarantined ? TEXT_WAIT
                                   : TEXT_PLAIN,
              ping->quorum_name);
    table_set(table, 1, TEXT_PLAIN, v.ping->address);
    table_set(table, 2, TEXT_PLAIN, node_view_state(&v));
    table_set(table, 3, TEXT_PLAIN, node_view_votes(&v, w->settings, guard));
    table_set(table, 4, TEXT_PLAIN, v.info.version[0] ? v.info.version : "-");
    table_set(table, 5, TEXT_PLAIN, rtt);
    table_set(table, 6, TEXT_PLAIN, node_view_clock(&v, clock));
    table_set(table, 7, TEXT_PLAIN, v.why);
}

/* The nodes of one quorum, if there is room for all of them. */
static void print_quorum(struct view *w, size_t quorum)
{
    static const char *const heading[] = {"QUORUM", "NODE",  "STATE", "VOTES", "VERSION",
                                          "RTT",    "CLOCK", "WHY",   NULL};
    uint32_t count = w->sample->pings[quorum].node_count;
    struct table table;
    if (screen_left(w->screen) < count + LOCK_ROWS_KEPT + 3)
        return;
    table_begin(&table, heading);
    table_spare(&table, 4);
    table_spare(&table, 5);
    table_spare(&table, 6);
    for (uint32_t i = 0; i < count; i++)
        print_node(w, &table, quorum, i);
    top_view_table(w->screen, &table);
    screen_line(w->screen, TEXT_PLAIN, "");
}

static void print_nodes(struct view *w)
{
    for (size_t i = 0; i < w->sample->quorum_count; i++)
        print_quorum(w, i);
}

/* How often the holder changes in a second. */
static void describe_rate(const struct sample_lock *lock, char out[24])
{
    int64_t tenths = sample_rate_tenths(lock);
    if (tenths < 0)
        snprintf(out, 24, "-");
    else
        snprintf(out, 24, "%lld.%d", (long long)(tenths / 10), (int)(tenths % 10));
}

static void print_lock(struct view *w, const struct lock_rows *rows,
                       const struct sample_lock *lock)
{
    char line[LOCK_ROWS_LINE_MAX], rate[24];
    describe_rate(lock, rate);
    lock_rows_line(rows, &(struct lock_row){lock->name, &lock->brief, rate}, line);
    screen_line(w->screen, lock_rows_colour(&lock->brief), line);
}

/* The waiters of a lock, if the screen has a row for them. */
static void print_waiters(struct view *w, const struct sample_lock *lock, size_t rows_left)
{
    char names[HOLDERS_TEXT_MAX], line[HOLDERS_TEXT_MAX + 32], cut[4 * SCREEN_LINE_MAX];
    holders_waiters(names, &lock->brief);
    if (!*names || rows_left < 2)
        return;
    snprintf(line, sizeof line, "  waiting: %s", names);
    bool fits = text_width(line) <= w->columns;
    if (!fits)
        text_fit(cut, sizeof cut, line, w->columns);
    screen_line(w->screen, TEXT_PLAIN, fits ? line : cut);
}

/* All of them outside of a window; in it, those that can be seen. */
static void measure(const struct view *w, struct lock_rows *rows, size_t rows_left)
{
    const struct sample *s = w->sample;
    lock_rows_begin(rows, true);
    for (size_t i = 0; i < s->count && i < rows_left; i++) {
        const struct sample_lock *lock = &s->locks[i];
        if (lock->asked_ns)
            lock_rows_measure(rows, &(struct lock_row){lock->name, &lock->brief, NULL});
    }
    lock_rows_fit(rows, w->columns);
}

static void print_rows(struct view *w, size_t kept)
{
    const struct sample *s = w->sample;
    char line[LOCK_ROWS_LINE_MAX];
    struct lock_rows rows;
    measure(w, &rows, screen_left(w->screen));
    lock_rows_heading(&rows, line);
    screen_line(w->screen, TEXT_HEADING, line);
    for (size_t i = 0; i < s->count; i++) {
        size_t left = screen_left(w->screen);
        if (left <= kept)
            return;
        if (left == kept + 1 && s->count - i > 1) {
            snprintf(line, sizeof line, "and %zu more", s->count - i);
            screen_line(w->screen, TEXT_PLAIN, line);
            return;
        }
        if (!s->locks[i].asked_ns)
            continue;
        print_lock(w, &rows, &s->locks[i]);
        print_waiters(w, &s->locks[i], screen_left(w->screen) - kept);
    }
    if (s->count == 0)
        screen_line(w->screen, TEXT_PLAIN,
                    s->pattern_count > 0 ? "no lock has such a name" : "no locks");
}

static void print_locks(struct view *w, size_t kept)
{
    const struct sample *s = w->sample;
    if (s->error != REDLOCK_OK) {
        char safe[sizeof s->detail];
        rl_quote_safe(safe, sizeof safe, s->detail);
        screen_line(w->screen, TEXT_BAD, safe);
        if (!sample_has_locks(s))
            return;
    }
    print_rows(w, kept);
}

/* The keys, in the last row of a window that has one to spare. */
static void print_hint(struct view *w)
{
    char line[80];
    while (screen_left(w->screen) > 1)
        screen_line(w->screen, TEXT_PLAIN, "");
    snprintf(line, sizeof line, "q quit   s sort (now: %s)",
             sample_order_word(w->sample->order));
    screen_line(w->screen, TEXT_HEADING, line);
}

void top_view_draw(struct screen *screen, const struct sample *sample,
                   const struct settings *settings)
{
    struct view w = {.screen = screen, .sample = sample, .settings = settings};
    screen_begin(screen);
    w.columns = columns_of(screen);
    bool hint = screen->keys && screen->rows >= HINT_ROWS;
    print_title(&w);
    print_nodes(&w);
    print_locks(&w, hint ? 1 : 0);
    if (hint)
        print_hint(&w);
    screen_end(screen);
}
