/* SPDX-License-Identifier: BSD-2-Clause */
/* What the demo shows: a live picture on a terminal, a line now and then elsewhere. */
#ifndef DEMO_VIEW_H
#define DEMO_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "fleet.h"
#include "screen.h"

#define VIEW_EVENTS 5      /* the most recent ones that a live picture keeps */
#define VIEW_EVENT_MAX 320 /* bytes of one, with its time */

struct view {
    struct screen screen;
    int64_t start_ns;
    int64_t next_line_ns; /* when to print the next line of progress, if not live */
    bool locked;          /* which half of the demo is on */
    bool over;            /* the workers have ended and need no lines */
    char event[VIEW_EVENTS][VIEW_EVENT_MAX];
    unsigned event_count;
};

/* How one half ended. */
struct outcome {
    unsigned expected; /* additions the workers say they made */
    unsigned counted;  /* what the file says */
    unsigned most_inside;
    unsigned finished; /* workers that made all of theirs */
};

void view_open(struct view *view, bool plain);
void view_half(struct view *view, bool locked);
void view_event(struct view *view, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void view_draw(struct view *view, const struct board *board, const struct fleet *fleet);

/* Leaves the picture as it is and gives the cursor back; drawing may go on below. */
void view_rest(struct view *view, const struct board *board, const struct fleet *fleet);
/* The picture for one last time, shorter, to stay above the verdict. */
void view_end(struct view *view, const struct board *board, const struct fleet *fleet);
void view_verdict(const struct view *view, const struct outcome *with,
                  const struct outcome *without);

int64_t view_now_ns(void);

#endif
