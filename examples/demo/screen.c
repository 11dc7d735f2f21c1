/* SPDX-License-Identifier: BSD-2-Clause */
#include "screen.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_BYTES_MAX 1024
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"
#define NO_WRAP "\033[?7l" /* a terminal made narrower cuts lines instead of folding them */
#define WRAP "\033[?7h"
#define CLEAR_TO_END_OF_LINE "\033[K"
#define CLEAR_ALL "\033[H\033[2J"
#define CLEAR_BELOW "\033[J"

static void measure(struct screen *screen)
{
    struct winsize size;
    screen->columns = 80;
    screen->rows = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        screen->columns = size.ws_col;
        screen->rows = size.ws_row;
    }
}

void screen_open(struct screen *screen, bool plain)
{
    const char *term = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");
    memset(screen, 0, sizeof *screen);
    setlocale(LC_CTYPE, "");
    screen->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    screen->live = !plain && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
    screen->colour = screen->live && !(no_colour && *no_colour);
    measure(screen);
}

void screen_resize(struct screen *screen)
{
    measure(screen);
    /* The place of the last frame is unknown. */
    if (screen->live && screen->drawn > 0)
        fputs(CLEAR_ALL, stdout);
    screen->drawn = 0;
}

void screen_rest(struct screen *screen)
{
    if (screen->live)
        fputs(WRAP SHOW_CURSOR, stdout);
    screen->drawn = 0;
    fflush(stdout);
}

/* ---- frames ---- */

static void put(struct screen *screen, const char *bytes, size_t length)
{
    if (screen->length + length <= sizeof screen->bytes) {
        memcpy(screen->bytes + screen->length, bytes, length);
        screen->length += length;
    }
}

static void put_text(struct screen *screen, const char *text)
{
    put(screen, text, strlen(text));
}

void screen_begin(struct screen *screen)
{
    char up[16] = "\r";
    screen->length = 0;
    screen->lines = 0;
    if (screen->drawn > 0)
        snprintf(up, sizeof up, "\r\033[%uA", screen->drawn);
    put_text(screen, HIDE_CURSOR NO_WRAP);
    put_text(screen, up);
}

/* How many bytes of the text fit into the columns. Escape sequences take none. */
static size_t fitting(const char *text, unsigned columns)
{
    const char *at = text;
    unsigned used = 0;
    while (*at) {
        if (*at == '\033') {
            at += strcspn(at, "m");
            at += *at == 'm';
            continue;
        }
        if (used == columns)
            break;
        used++;
        do {
            at++;
        } while (((unsigned char)*at & 0xc0) == 0x80);
    }
    return (size_t)(at - text);
}

void screen_line(struct screen *screen, const char *format, ...)
{
    char line[LINE_BYTES_MAX];
    va_list arguments;
    /* The last line stays free: the cursor rests there. */
    if (screen->lines + 1 >= screen->rows)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    put(screen, line, fitting(line, screen->columns));
    put_text(screen, screen->colour ? "\033[0m" CLEAR_TO_END_OF_LINE "\r\n"
                                    : CLEAR_TO_END_OF_LINE "\r\n");
    screen->lines++;
}

void screen_end(struct screen *screen)
{
    put_text(screen, CLEAR_BELOW);
    fwrite(screen->bytes, 1, screen->length, stdout);
    fflush(stdout);
    screen->drawn = screen->lines;
}

/* ---- parts of lines ---- */

const char *screen_style(const struct screen *screen, enum style style)
{
    static const char *const sequences[] = {
        [STYLE_NONE] = "\033[0m", [STYLE_BOLD] = "\033[1m",   [STYLE_DIM] = "\033[2m",
        [STYLE_RED] = "\033[31m", [STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m",
    };
    return screen->colour ? sequences[style] : "";
}

const char *screen_bar(const struct screen *screen, unsigned width, double share, char *out,
                       size_t size)
{
    const char *full = screen->utf8 ? "\u2588" : "#";
    const char *empty = screen->utf8 ? "\u2591" : ".";
    unsigned filled = (unsigned)(share * width + 0.5);
    size_t length = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < width; i++) {
        const char *cell = i < filled ? full : empty;
        if (length + strlen(cell) >= size)
            break;
        memcpy(out + length, cell, strlen(cell) + 1);
        length += strlen(cell);
    }
    return out;
}
