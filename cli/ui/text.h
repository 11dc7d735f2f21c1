/* SPDX-License-Identifier: BSD-2-Clause */
/* Text on its way to a terminal: times and values made short, lines cut and wrapped. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_TIME_MAX 24   /* "365 d 23 h", with room */
#define TEXT_HOLDER_MAX 16 /* eight characters and an ellipsis, with terminator */
#define TEXT_OWNER_MAX 24  /* sixteen characters and an ellipsis, with terminator */

/* Formats behind what `line` of `size` bytes has; cut where it is full. */
void text_add(char *line, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "250 ms", "8.4 s", "5 min 3 s", "2 h 5 min", "3 d 4 h"; "-" when negative. */
void text_time(char out[TEXT_TIME_MAX], int64_t time_ms);

/* The same of the next full second, for a time that is waited. */
void text_time_up(char out[TEXT_TIME_MAX], int64_t time_ms);

/* The same for a column of a table: "250ms", "8.4s", "5m3s", "2h5m", "3d4h";
 * "-" when negative. */
void text_time_short(char out[TEXT_TIME_MAX], int64_t time_ms);

/* As it is written on a command line: "250ms", "30s", "2m", "1h". */
void text_time_option(char out[TEXT_TIME_MAX], int64_t time_ms);

/* A round trip: "0.31 ms"; "-" when negative. */
void text_rtt(char out[TEXT_TIME_MAX], int32_t rtt_us);

/* The first eight characters of a lock value: a user that knows all of it can unlock. */
void text_holder(char out[TEXT_HOLDER_MAX], const char *value);

/* An owner: short ones in full, of others the first eight characters, as with a value. */
void text_owner(char out[TEXT_OWNER_MAX], const char *owner);

/* Columns that `text` takes on a terminal, one per character. */
size_t text_width(const char *text);

/* Bytes of `text` that fit into so many columns; *used becomes the columns they take. */
size_t text_fitting(const char *text, size_t columns, size_t *used);

/* `text`, safe, cut or filled up with blanks to exactly so many columns; out has four bytes for
 * each and four more. */
void text_fit(char *out, size_t size, const char *text, size_t columns);

/* Bytes of `text` for one line of so many columns: up to a blank, or a whole word where not
 * even that fits. What follows begins behind the blank. */
size_t text_line(const char *text, size_t columns);

/* Prints `text`; what does not fit into `columns`, of which `used` are taken, goes on in
 * further lines behind `indent` blanks, broken at blanks only. */
void text_wrap(FILE *out, const char *text, size_t used, size_t indent, size_t columns);

/* Columns of the terminal behind a descriptor; 80 where there is none. */
size_t text_columns(int fd);

/* Columns of a line that is written there: those of the terminal, else as many as it needs. */
size_t text_line_columns(int fd);

/* Do the locale's characters include more than ASCII, as UTF-8? */
bool text_is_utf8(void);

enum text_colour {
    TEXT_PLAIN,
    TEXT_GOOD,
    TEXT_BAD,
    TEXT_WAIT,
    TEXT_UNKNOWN,
    TEXT_TITLE,
    TEXT_HEADING
};

/* Does the terminal understand escape codes? One that TERM calls dumb does not. */
bool text_can_steer(bool on_terminal);

/* Colours are for such terminals, and NO_COLOR is respected. */
bool text_colours(bool on_terminal);

/* What switches a colour on; TEXT_PLAIN: what switches any colour off. */
const char *text_colour_code(enum text_colour colour);

#endif
