/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/control.h"

#include <stdint.h>
#include <string.h>

#include "base/slice.h"

static bool is_sought(char c)
{
    return rl_is_control(c) && c != '\t';
}

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

size_t rl_find_control(const char *bytes, size_t at, size_t end)
{
    while (at + 8 <= end) {
        uint64_t bits = control_bits(bytes + at);

        if (bits == 0) {
            at += 8;
            continue;
        }
        at += (size_t)__builtin_ctzll(bits) / 8;
        if (is_sought(bytes[at]))
            return at;
        at++; /* HTAB */
    }
    while (at < end && !is_sought(bytes[at]))
        at++;
    return at;
}
