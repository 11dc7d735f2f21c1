/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/characters.h"

#define ALNUM(c)                                                                               \
    (((c) >= '0' && (c) <= '9') || ((c) >= 'A' && (c) <= 'Z') || ((c) >= 'a' && (c) <= 'z'))

#define PLAIN(c) (ALNUM(c) || (c) == '-' || (c) == '.' || (c) == '_')

/* Both in tokens and in targets. */
#define SHARED(c)                                                                              \
    (PLAIN(c) || (c) == '!' || (c) == '$' || (c) == '%' || (c) == '&' || (c) == '\'' ||        \
     (c) == '*' || (c) == '+' || (c) == '~')

#define IN_TOKEN(c) (SHARED(c) || (c) == '#' || (c) == '^' || (c) == '`' || (c) == '|')

#define IN_TARGET(c)                                                                           \
    (SHARED(c) || (c) == '(' || (c) == ')' || (c) == ',' || (c) == ';' || (c) == '=' ||        \
     (c) == ':' || (c) == '@' || (c) == '/' || (c) == '?')

#define IN_HOST(c) (PLAIN(c) || (c) == ':' || (c) == '[' || (c) == ']')

#define IS_CONTROL(c) (((c) < 0x20 && (c) != '\t') || (c) == 0x7f)

#define CLASS(c)                                                                               \
    ((IN_TOKEN(c) ? HTTP_TOKEN : 0) | (IN_TARGET(c) ? HTTP_TARGET : 0) |                       \
     (IN_HOST(c) ? HTTP_HOST : 0) | (IS_CONTROL(c) ? HTTP_CONTROL : 0))

#define FOUR(c) CLASS(c), CLASS((c) + 1), CLASS((c) + 2), CLASS((c) + 3)
#define SIXTEEN(c) FOUR(c), FOUR((c) + 4), FOUR((c) + 8), FOUR((c) + 12)

/* Bytes from 0x80 on are in none: values may have them, and no value that is interpreted does. */
const uint8_t http_characters[256] = {
    SIXTEEN(0x00), SIXTEEN(0x10), SIXTEEN(0x20), SIXTEEN(0x30),
    SIXTEEN(0x40), SIXTEEN(0x50), SIXTEEN(0x60), SIXTEEN(0x70),
};
