/* SPDX-License-Identifier: BSD-2-Clause */
/* The hash of names that strangers choose. */
#include "check.h"

#include "core/siphash.h"

CASE(published, "The hash of every length is that of the authors' reference.")
{
    /* Of the bytes 0, 1, 2, ... with the key 0, 1, ..., 15: the lengths that end a word,
     * and around it. */
    static const struct {
        size_t size;
        uint64_t hash;
    } rows[] = {{0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
                {7, UINT64_C(0xab0200f58b01d137)},  {8, UINT64_C(0x93f5f5799a932462)},
                {15, UINT64_C(0xa129ca6149be45e5)}, {63, UINT64_C(0x958a324ceb064572)}};
    char key[RL_SIPHASH_KEY_SIZE], text[64];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)i;
    memcpy(key, text, sizeof key);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(rl_siphash(key, (struct rl_slice){text, rows[i].size}) == rows[i].hash);
}

CASE(keyed, "Another key is another hash.")
{
    struct rl_slice text = {"billing/nightly", 15};

    CHECK(rl_siphash("0123456789abcdef", text) != rl_siphash("1123456789abcdef", text));
    CHECK(rl_siphash("0123456789abcdef", text) != rl_siphash("0123456789abcdee", text));
}
