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

#define NEAREST_WORD_MAX 32 /* longer words are not worth guessing at */
#define ELLIPSIS "\xe2\x80\xa6"
#define OWNER_SHOWN 16
#define HOLDER_SHOWN 8
#define COLUMNS_DEFAULT 80

size_t text_utf8(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return s[0] != 0;
    /* The second byte's range rules out overlong forms, surrogates and beyond U+10FFFF. */
    unsigned low = 0x80, high = 0xbf;
    size_t length;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        length = 2;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        length = 3;
        low = s[0] == 0xe0 ? 0xa0 : low;
        high = s[0] == 0xed ? 0x9f : high;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        length = 4;
        low = s[0] == 0xf0 ? 0x90 : low;
        high = s[0] == 0xf4 ? 0x8f : high;
    } else {
        return 0;
    }
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

uint32_t text_code(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (s[i] & 0x3fu);
    return code;
}

bool text_steers(uint32_t code)
{
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool line_or_direction = code == 0x061c || code == 0x200e || code == 0x200f ||
                             (code >= 0x2028 && code <= 0x202e) ||
                             (code >= 0x2066 && code <= 0x2069);
    return control || line_or_direction;
}

void text_add(char *line, size_t size, const char *format, ...)
{
    size_t used = strlen(line);
    va_list list;
    va_start(list, format);
    vsnprintf(line + used, size - used, format, list);
    va_end(list);
}

bool text_safe(char *out, size_t size, const char *text)
{
    size_t used = 0;
    while (*text) {
        size_t length = text_utf8(text);
        bool bad = length == 0 || text_steers(text_code(text, length));
        size_t written = bad ? 1 : length;
        if (used + written >= size)
            break;
        if (bad)
            out[used] = '?';
        else
            memcpy(out + used, text, length);
        used += written;
        text += length ? length : 1;
    }
    out[used] = '\0';
    return *text == '\0';
}

/* `text` from `from` on; what stands before is hidden. */
static void quote(char *out, size_t size, const char *text, const char *from)
{
    size_t used = from > text ? 3 : 0;
    memcpy(out, "***", used);
    if (!text_safe(out + used, size - used - 3, from))
        strcat(out, "...");
}

void text_quote(char out[TEXT_QUOTE_MAX], const char *text)
{
    const char *at = strrchr(text, '@');
    quote(out, TEXT_QUOTE_MAX, text, at ? at : text);
}

void text_path(char out[TEXT_PATH_MAX], const char *path)
{
    const char *at = strrchr(path, '@'), *colon = strchr(path, ':');
    quote(out, TEXT_PATH_MAX, path, at && colon && colon < at ? at : path);
}

void text_time(char out[TEXT_TIME_MAX], int64_t time_ms)
{
    long long s = time_ms / 1000;
    if (time_ms < 0)
        snprintf(out, TEXT_TIME_MAX, "-");
    else if (time_ms < 1000)
        snprintf(out, TEXT_TIME_MAX, "%d ms", (int)time_ms);
    else if (s < 60)
        snprintf(out, TEXT_TIME_MAX, "%lld.%d s", s, (int)(time_ms % 1000 / 100));
    else if (s < 3600)
        snprintf(out, TEXT_TIME_MAX, "%lld min %lld s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, TEXT_TIME_MAX, "%lld h %lld min", s / 3600, s % 3600 / 60);
    else
        snprintf(out, TEXT_TIME_MAX, "%lld d %lld h", s / 86400, s % 86400 / 3600);
}

void text_time_short(char out[TEXT_TIME_MAX], int64_t time_ms)
{
    long long s = time_ms / 1000;
    if (time_ms < 0)
        snprintf(out, TEXT_TIME_MAX, "-");
    else if (time_ms < 1000)
        snprintf(out, TEXT_TIME_MAX, "%dms", (int)time_ms);
    else if (s < 60)
        snprintf(out, TEXT_TIME_MAX, "%lld.%ds", s, (int)(time_ms % 1000 / 100));
    else if (s < 3600)
        snprintf(out, TEXT_TIME_MAX, "%lldm%llds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, TEXT_TIME_MAX, "%lldh%lldm", s / 3600, s % 3600 / 60);
    else
        snprintf(out, TEXT_TIME_MAX, "%lldd%lldh", s / 86400, s % 86400 / 3600);
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
    text_safe(shown, sizeof shown, value);
    snprintf(out, TEXT_HOLDER_MAX, "%s" ELLIPSIS, shown);
}

void text_owner(char out[TEXT_OWNER_MAX], const char *owner)
{
    if (strlen(owner) <= OWNER_SHOWN)
        text_safe(out, TEXT_OWNER_MAX, owner);
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
        size_t length = text_utf8(text + size);
        size += length ? length : 1;
    }
    return size;
}

void text_fit(char *out, size_t size, const char *text, size_t columns)
{
    size_t used = 0, at = 0, last = 0;
    bool whole = text_safe(out, size, text);
    for (; out[at] && used < columns; used++) {
        last = at;
        at += text_utf8(out + at) ? text_utf8(out + at) : 1;
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

/* Edit distance of two words, counting a swap of neighbours as one. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    size_t row[3][NEAREST_WORD_MAX + 1];
    if (n > NEAREST_WORD_MAX || m > NEAREST_WORD_MAX)
        return NEAREST_WORD_MAX;
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *before = row[(i - 1) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);
            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

const char *text_nearest(const char *word, const char *const *candidates)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    size_t best = length < 6 ? 2 : 3; /* a guess further away than that is no help */
    for (; *candidates; candidates++) {
        size_t d = distance(word, *candidates);
        /* A word that was cut short or only begun right is a good guess as well. */
        if (length >= 3 && strncmp(word, *candidates, length) == 0 && d > 1)
            d = 1;
        if (d < best) {
            best = d;
            nearest = *candidates;
        }
    }
    return nearest;
}
