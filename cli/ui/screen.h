/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole terminal for one view. Whatever happens between screen_open() and screen_close(), the
 * terminal is as it was after the latter. Where the output is no terminal, or a dumb one, lines
 * are printed one after another and nothing else is done.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "ui/text.h"

#define SCREEN_LINE_MAX 1024

struct screen {
    bool full;    /* a terminal, all of it ours */
    bool colours; /* and it may have colours */
    bool keys;    /* typed keys come at once and unseen */
    struct termios before;
    size_t rows, columns;
    size_t used; /* rows of the frame being drawn */
};

void screen_open(struct screen *s);
void screen_close(struct screen *s);

/* Begins a frame: learns the size of the window. */
void screen_begin(struct screen *s);

/* Rows that are left in this frame; many where there is no window. */
size_t screen_left(const struct screen *s);

/* A line, cut to the width of the window; nothing when the window is full. */
void screen_line(struct screen *s, enum text_colour colour, const char *text);

/* Ends a frame. */
void screen_end(struct screen *s);

#endif
