/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/quote.h"

#include <string.h>

#include "base/utf8.h"

bool rl_quote_safe(char *out, size_t size, const char *text)
{
    size_t used = 0;
    while (*text) {
        size_t length = rl_utf8_length(text);
        bool bad = length == 0 || rl_utf8_steers(rl_utf8_code(text, length));
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
    if (!rl_quote_safe(out + used, size - used - 3, from))
        strcat(out, "...");
}

void rl_quote(char out[RL_QUOTE_MAX], const char *text)
{
    const char *at = strrchr(text, '@');
    quote(out, RL_QUOTE_MAX, text, at ? at : text);
}

void rl_quote_path(char out[RL_QUOTE_PATH_MAX], const char *path)
{
    const char *at = strrchr(path, '@'), *colon = strchr(path, ':');
    quote(out, RL_QUOTE_PATH_MAX, path, at && colon && colon < at ? at : path);
}
