/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/sources.h"

#include <string.h>

#include "protocol/span.h"

/* `text` from `from` on; what stands before is hidden. */
static void quote(char *out, size_t size, const char *text, const char *from)
{
    size_t used = from > text ? 3 : 0;

    memcpy(out, "***", used);
    for (; *from && used < size - 4; from++)
        out[used++] = rl_is_control(*from) ? '?' : *from;
    memcpy(out + used, "...", 4);
    if (!*from)
        out[used] = '\0';
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
