/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A few lines at the bottom of a terminal, drawn again and again in place. Knows about size,
 * colour and character set; knows nothing about the demo.
 */
#ifndef DEMO_SCREEN_H
#define DEMO_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#define SCREEN_BYTES_MAX 16384

struct screen {
    bool live;   /* stdout is a terminal that can be drawn on */
    bool colour; /* and NO_COLOR does not object */
    bool utf8;
    unsigned columns;
    unsigned rows;
    unsigned drawn; /* lines of the last frame, above the cursor */
    unsigned lines; /* of the frame being composed */
    size_t length;
    char bytes[SCREEN_BYTES_MAX];
};

/* Looks at the terminal; `plain` forbids drawing. */
void screen_open(struct screen *screen, bool plain);
/* Looks at its size again; the next frame starts on a clear screen. */
void screen_resize(struct screen *screen);
/* Gives the cursor back, below the last frame, which stays. Drawing may go on afterwards. */
void screen_rest(struct screen *screen);

/* A frame: begin, any number of lines, end (which draws it). */
void screen_begin(struct screen *screen);
void screen_line(struct screen *screen, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void screen_end(struct screen *screen);

/* Escape sequences, or nothing when colours are off. */
enum style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW };
const char *screen_style(const struct screen *screen, enum style style);

/* A bar of `width` columns, `share` of it filled, written into out; returns out. */
const char *screen_bar(const struct screen *screen, unsigned width, double share, char *out,
                       size_t size);

#endif
