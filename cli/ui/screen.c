/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/screen.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ui/text.h"

#define ROWS_DEFAULT 24
#define COLUMNS_DEFAULT 80

static void take(struct screen *s)
{
    s->keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &s->before) == 0;
    if (s->keys) {
        struct termios raw = s->before;
        raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    /* The alternate screen, without a cursor: what was there comes back at the end. */
    fputs("\033[?1049h\033[?25l\033[2J", stdout);
    fflush(stdout);
}

void screen_open(struct screen *s)
{
    *s = (struct screen){.full = text_can_steer(isatty(STDOUT_FILENO)),
                         .colours = text_colours(isatty(STDOUT_FILENO))};
    if (s->full)
        take(s);
}

void screen_close(struct screen *s)
{
    if (!s->full)
        return;
    fputs("\033[0m\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (s->keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
    s->full = s->keys = false;
}

void screen_begin(struct screen *s)
{
    struct winsize size = {0};
    s->used = 0;
    s->rows = s->columns = SIZE_MAX;
    if (!s->full)
        return;
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    s->rows = size.ws_row > 0 ? size.ws_row : ROWS_DEFAULT;
    s->columns = size.ws_col > 0 ? size.ws_col : COLUMNS_DEFAULT;
    fputs("\033[H", stdout);
}

size_t screen_left(const struct screen *s)
{
    return s->rows - s->used;
}

void screen_line(struct screen *s, enum text_colour colour, const char *text)
{
    size_t columns;
    bool coloured;
    if (screen_left(s) == 0)
        return;
    if (!s->full) {
        puts(text);
        s->used++;
        return;
    }
    if (s->used++ > 0)
        fputs("\r\n", stdout);
    coloured = s->colours && colour != TEXT_PLAIN;
    if (coloured)
        fputs(text_colour_code(colour), stdout);
    fwrite(text, 1, text_fitting(text, s->columns, &columns), stdout);
    if (colour == TEXT_HEADING && coloured)
        printf("%*s", (int)(s->columns - columns), "");
    if (coloured)
        fputs(text_colour_code(TEXT_PLAIN), stdout);
    if (columns < s->columns)
        fputs("\033[K", stdout);
}

void screen_end(struct screen *s)
{
    /* Below a full window there is nothing to clear, and its last line must stay. */
    if (s->full && screen_left(s) > 0)
        fputs("\r\n\033[J", stdout);
    if (!s->full)
        putchar('\n');
    fflush(stdout);
}
