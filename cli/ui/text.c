/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/text.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/quote.h"
#include "base/utf8.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define OWNER_SHOWN 16
#define HOLDER_SHOWN 8
#define COLUMNS_DEFAULT 80

void text_add(char *line, size_t size, const char *format, ...)
{
    size_t used = strlen(line);
    va_list list;
    va_start(list, format);
    vsnprintf(line + used, size - used, format, list);
    va_end(list);
}

/* `formats`: of milliseconds, seconds, minutes, hours and days. */
static void write_time(char out[TEXT_TIME_MAX], int64_t time_ms, const char *const formats[5])
{
    static const int64_t unit_ms[5] = {1, 1000, 60000, 3600000, 86400000};
    static const int64_t below_ms[5] = {1, 100, 1000, 60000, 3600000};
    size_t i = 0;
    while (i < 4 && time_ms >= unit_ms[i + 1])
        i++;
    if (time_ms < 0)
        snprintf(out, TEXT_TIME_MAX, "-");
    else
        snprintf(out, TEXT_TIME_MAX, formats[i], (long long)(time_ms / unit_ms[i]),
                 (long long)(time_ms % unit_ms[i] / below_ms[i]));
}

void text_time(char out[TEXT_TIME_MAX], int64_t time_ms)
{
    write_time(out, time_ms,
               (const char *[]){"%lld ms", "%lld.%lld s", "%lld min %lld s", "%lld h %lld min",
                                "%lld d %lld h"});
}

void text_time_short(char out[TEXT_TIME_MAX], int64_t time_ms)
{
    write_time(
        out, time_ms,
        (const char *[]){"%lldms", "%lld.%llds", "%lldm%llds", "%lldh%lldm", "%lldd%lldh"});
}

void text_time_up(char out[TEXT_TIME_MAX], int64_t time_ms)
{
    text_time(out, (time_ms + 999) / 1000 * 1000);
}

void text_time_option(char out[TEXT_TIME_MAX], int64_t time_ms)
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    size_t i = 0;
    while (time_ms % units[i].ms != 0)
        i++;
    snprintf(out, TEXT_TIME_MAX, "%lld%s", (long long)(time_ms / units[i].ms), units[i].unit);
}

void text_rtt(char out[TEXT_TIME_MAX], int32_t rtt_us)
{
    if (rtt_us < 0)
        snprintf(out, TEXT_TIME_MAX, "-");
    else
        snprintf(out, TEXT_TIME_MAX, "%d.%02d ms", rtt_us / 1000, rtt_us % 1000 / 10);
}

void text_holder(char out[TEXT_HOLDER_MAX], const char *value)
{
    char shown[HOLDER_SHOWN + 1];
    rl_quote_safe(shown, sizeof shown, value);
    snprintf(out, TEXT_HOLDER_MAX, "%s" ELLIPSIS, shown);
}

void text_owner(char out[TEXT_OWNER_MAX], const char *owner)
{
    if (strlen(owner) <= OWNER_SHOWN)
        rl_quote_safe(out, TEXT_OWNER_MAX, owner);
    else
        text_holder(out, owner);
}

size_t text_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

size_t text_fitting(const char *text, size_t columns, size_t *used)
{
    size_t size = 0;
    for (*used = 0; text[size] && *used < columns; ++*used) {
        size_t length = rl_utf8_length(text + size);
        size += length ? length : 1;
    }
    return size;
}

void text_fit(char *out, size_t size, const char *text, size_t columns)
{
    size_t used = 0, at = 0, last = 0;
    bool whole = rl_quote_safe(out, size, text);
    for (; out[at] && used < columns; used++) {
        last = at;
        at += rl_utf8_length(out + at) ? rl_utf8_length(out + at) : 1;
    }
    if (out[at] || !whole) {
        memcpy(out + last, ELLIPSIS, sizeof ELLIPSIS);
        return;
    }
    for (; used < columns && at + 1 < size; used++)
        out[at++] = ' ';
    out[at] = '\0';
}

size_t text_line(const char *text, size_t columns)
{
    size_t used, size = text_fitting(text, columns, &used), at = size;
    if (!text[size])
        return size;
    while (at > 0 && text[at] != ' ')
        at--;
    return at > 0 ? at : strcspn(text, " ");
}

void text_wrap(FILE *out, const char *text, size_t used, size_t indent, size_t columns)
{
    for (;;) {
        size_t size = text_line(text, columns > used ? columns - used : 1);
        fwrite(text, 1, size, out);
        text += size + strspn(text + size, " ");
        if (!*text)
            return;
        fprintf(out, "\n%*s", (int)indent, "");
        used = indent;
    }
}

size_t text_columns(int fd)
{
    struct winsize size;
    bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : COLUMNS_DEFAULT;
}

size_t text_line_columns(int fd)
{
    return isatty(fd) ? text_columns(fd) : SIZE_MAX;
}

bool text_is_utf8(void)
{
    return setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

bool text_can_steer(bool on_terminal)
{
    const char *term = getenv("TERM");
    return on_terminal && term && *term && strcmp(term, "dumb") != 0;
}

bool text_colours(bool on_terminal)
{
    const char *no_color = getenv("NO_COLOR");
    return text_can_steer(on_terminal) && !(no_color && *no_color);
}

const char *text_colour_code(enum text_colour colour)
{
    static const char *const codes[] = {
        [TEXT_PLAIN] = "\033[0m",   [TEXT_GOOD] = "\033[32m",    [TEXT_BAD] = "\033[31m",
        [TEXT_WAIT] = "\033[33m",   [TEXT_UNKNOWN] = "\033[36m", [TEXT_TITLE] = "\033[1m",
        [TEXT_HEADING] = "\033[7m",
    };
    return codes[colour];
}
