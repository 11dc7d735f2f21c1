/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/characters.h"

#include <string.h>

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

/* Bytes from 0x80 on are in none: values may have them, and no value that
 * is interpreted does. */
const uint8_t http_characters[256] = {
    SIXTEEN(0x00), SIXTEEN(0x10), SIXTEEN(0x20), SIXTEEN(0x30),
    SIXTEEN(0x40), SIXTEEN(0x50), SIXTEEN(0x60), SIXTEEN(0x70),
};

/* A set bit in every byte of eight that is below 0x20 or 0x7f, as far as the lowest: a byte
 * below 0x20 borrows when 0x20 is taken from it, and 0x7f becomes zero; only bytes behind such
 * a one can be wrong. */
static uint64_t control_bits(const char *bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word, rubouts;

    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    rubouts = word ^ 0x7f * ones;
    return (((word - 0x20 * ones) & ~word) | ((rubouts - ones) & ~rubouts)) & 0x80 * ones;
}

size_t http_find_control(const char *bytes, size_t at, size_t end)
{
    while (at + 8 <= end) {
        uint64_t bits = control_bits(bytes + at);

        if (bits == 0) {
            at += 8;
            continue;
        }
        at += (size_t)__builtin_ctzll(bits) / 8;
        if (http_is(bytes[at], HTTP_CONTROL))
            return at;
        at++; /* HTAB */
    }
    while (at < end && !http_is(bytes[at], HTTP_CONTROL))
        at++;
    return at;
}
