/* SPDX-License-Identifier: BSD-2-Clause */
#include "view.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LINE_EVERY_NS 1000000000LL
#define SERVER_COLUMNS 12 /* of a server's mark, number and port */
#define FULL_ROWS 22      /* of a terminal on which every worker gets a line */

int64_t view_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double age_s(const struct view *view)
{
    return (double)(view_now_ns() - view->start_ns) / 1e9;
}

void view_open(struct view *view, bool plain)
{
    memset(view, 0, sizeof *view);
    screen_open(&view->screen, plain);
    view->start_ns = view_now_ns();
    if (!view->screen.live)
        printf("redlock demo: %d processes add 1 to the same file, %d times each\n", WORKERS,
               UPDATES_EACH);
}

void view_half(struct view *view, bool locked)
{
    view->locked = locked;
    view->next_line_ns = view_now_ns() + LINE_EVERY_NS;
    view_event(view, "%s", locked ? "started, with the lock" : "again, without the lock");
}

void view_event(struct view *view, const char *format, ...)
{
    char text[VIEW_EVENT_MAX - 16];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!view->screen.live) {
        printf("%5.1f s  %s\n", age_s(view), text);
        fflush(stdout);
        return;
    }
    if (view->event_count == VIEW_EVENTS) {
        memmove(view->event[0], view->event[1], sizeof view->event - sizeof view->event[0]);
        view->event_count--;
    }
    snprintf(view->event[view->event_count++], sizeof view->event[0], "%5.1f s  %s",
             age_s(view), text);
}

/* ---- what the board says ---- */

static void describe_holder(const struct view *view, const struct board *board, char *out,
                            size_t size)
{
    unsigned inside = 0;
    unsigned number = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        if (atomic_load(&board->worker[i].state) == WORKER_INSIDE) {
            inside++;
            number = i + 1;
        }
    }
    if (inside == 0)
        snprintf(out, size, "%s", view->locked ? "no worker" : "no worker inside");
    else if (view->locked && inside == 1)
        snprintf(out, size, "worker %u", number);
    else if (inside == 1)
        snprintf(out, size, "1 worker inside");
    else
        snprintf(out, size, "%u workers inside at once", inside);
}

/* ---- a line now and then ---- */

static void plain_line(struct view *view, const struct board *board, const struct fleet *fleet)
{
    char holder[64];
    size_t up = 0, quarantined = 0;
    char aside[48] = "";
    int64_t now_ns = view_now_ns();
    if (now_ns < view->next_line_ns)
        return;
    view->next_line_ns = now_ns + LINE_EVERY_NS;
    for (size_t i = 0; i < fleet->count; i++) {
        up += fleet->up[i];
        quarantined += fleet->quarantined[i];
    }
    if (quarantined)
        snprintf(aside, sizeof aside, ", %zu in quarantine", quarantined);
    describe_holder(view, board, holder, sizeof holder);
    printf("%5.1f s  %u of %d additions made, count %u, %s%s, %zu of %zu servers up%s\n",
           age_s(view), board_done(board), UPDATES, atomic_load(&board->last_count),
           view->locked ? "holder: " : "", holder, up, fleet->count, aside);
    fflush(stdout);
}

/* ---- the live picture ---- */

static enum style server_style(const struct fleet *fleet, size_t i)
{
    return !fleet->up[i] ? STYLE_RED : fleet->quarantined[i] ? STYLE_YELLOW : STYLE_GREEN;
}

static const char *server_mark(const struct screen *screen, enum style style)
{
    if (style == STYLE_RED)
        return screen->utf8 ? "\u2717" : "x";
    if (style == STYLE_YELLOW)
        return screen->utf8 ? "\u25d0" : "~";
    return screen->utf8 ? "\u25cf" : "+";
}

/* Words of about the width of a port. */
static const char *server_label(const struct fleet *fleet, size_t i)
{
    return !fleet->up[i] ? " down " : fleet->quarantined[i] ? " no vote" : fleet->label[i];
}

static void draw_servers(struct screen *screen, const struct fleet *fleet)
{
    bool narrow = screen->columns < fleet->count * SERVER_COLUMNS + SERVER_COLUMNS;
    char line[1024];
    size_t length = 0;
    line[0] = '\0';
    for (size_t i = 0; i < fleet->count && length < sizeof line; i++) {
        enum style style = server_style(fleet, i);
        length += (size_t)snprintf(line + length, sizeof line - length, "   %s%s %zu%s%s",
                                   screen_style(screen, style), server_mark(screen, style),
                                   i + 1, narrow ? "" : server_label(fleet, i),
                                   screen_style(screen, STYLE_NONE));
    }
    screen_line(screen, " servers%s", line);
}

static void draw_worker(struct screen *screen, const struct board_worker *worker,
                        unsigned number, unsigned width, bool locked)
{
    static const char *const words[] = {"starting", "waiting", "", "finished", "failed"};
    char bar[512];
    int state = atomic_load(&worker->state);
    unsigned done = atomic_load(&worker->done);
    bool inside = state == WORKER_INSIDE;
    const char *word = inside ? (locked ? "holds the lock" : "inside") : words[state];
    screen_line(screen, " worker %u  %s %2u/%d  %s%s%s", number,
                screen_bar(screen, width, (double)done / UPDATES_EACH, bar, sizeof bar), done,
                UPDATES_EACH, screen_style(screen, inside ? STYLE_YELLOW : STYLE_DIM), word,
                screen_style(screen, STYLE_NONE));
}

static void draw_count(struct screen *screen, const struct board *board, unsigned width)
{
    char bar[512];
    unsigned done = board_done(board);
    unsigned count = atomic_load(&board->last_count);
    bool lost = count + WORKERS < done;
    screen_line(screen, " %scount%s     %s %s%u%s of %d", screen_style(screen, STYLE_BOLD),
                screen_style(screen, STYLE_NONE),
                screen_bar(screen, width, (double)count / UPDATES, bar, sizeof bar),
                screen_style(screen, lost ? STYLE_RED : STYLE_GREEN), count,
                screen_style(screen, STYLE_NONE), UPDATES);
}

static void draw_picture(struct view *view, const struct board *board,
                         const struct fleet *fleet)
{
    struct screen *screen = &view->screen;
    char holder[64];
    unsigned width = screen->columns > 74   ? 44
                     : screen->columns > 40 ? screen->columns - 34
                                            : 6;

    screen_begin(screen);
    screen_line(screen, " %sredlock demo%s  %d processes add 1 to the same file, %d times each",
                screen_style(screen, STYLE_BOLD), screen_style(screen, STYLE_NONE), WORKERS,
                UPDATES_EACH);
    screen_line(screen, "%s", "");
    draw_servers(screen, fleet);
    describe_holder(view, board, holder, sizeof holder);
    screen_line(screen, " %s   %s", view->locked ? "holder " : "no lock", holder);
    screen_line(screen, "%s", "");
    if (screen->rows >= FULL_ROWS && !view->over)
        for (unsigned i = 0; i < WORKERS; i++)
            draw_worker(screen, &board->worker[i], i + 1, width, view->locked);
    draw_count(screen, board, width);
    screen_line(screen, "%s", "");
    for (unsigned i = 0; i < view->event_count; i++)
        screen_line(screen, "%s", view->event[i]);
    screen_end(screen);
}

void view_draw(struct view *view, const struct board *board, const struct fleet *fleet)
{
    if (view->screen.live)
        draw_picture(view, board, fleet);
    else
        plain_line(view, board, fleet);
}

void view_end(struct view *view, const struct board *board, const struct fleet *fleet)
{
    view->over = true;
    view_rest(view, board, fleet);
}

void view_rest(struct view *view, const struct board *board, const struct fleet *fleet)
{
    if (view->screen.live)
        draw_picture(view, board, fleet);
    screen_rest(&view->screen);
}

/* ---- the verdict ---- */

static void verdict_row(const struct view *view, const char *what, const struct outcome *o)
{
    unsigned lost = o->expected > o->counted ? o->expected - o->counted : 0;
    bool exact = o->expected == o->counted;
    printf(" %-18s%8u%9u  %s%7u%s%16u\n", what, o->expected, o->counted,
           screen_style(&view->screen, exact ? STYLE_GREEN : STYLE_RED), lost,
           screen_style(&view->screen, STYLE_NONE), o->most_inside);
}

void view_verdict(const struct view *view, const struct outcome *with,
                  const struct outcome *without)
{
    printf("\n %s%-18s%8s%9s%9s%16s%s\n", screen_style(&view->screen, STYLE_BOLD), "verdict",
           "added", "counted", "lost", "most at once", screen_style(&view->screen, STYLE_NONE));
    verdict_row(view, "with the lock", with);
    if (without)
        verdict_row(view, "without the lock", without);
}
