/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SipHash-2-4 (Aumasson and Bernstein): a hash whose buckets cannot be chosen without its key.
 * For tables of names that clients of a service choose; rl_slice_hash() is for what all clients
 * must agree on.
 */
#ifndef RL_CORE_SIPHASH_H
#define RL_CORE_SIPHASH_H

#include "base/slice.h"

#define RL_SIPHASH_KEY_SIZE 16

static inline uint64_t rl_sip_rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void rl_sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rl_sip_rotate(v[1], 13) ^ v[0];
    v[3] = rl_sip_rotate(v[3], 16) ^ v[2];
    v[0] = rl_sip_rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rl_sip_rotate(v[1], 17) ^ v[2];
    v[3] = rl_sip_rotate(v[3], 21) ^ v[0];
    v[2] = rl_sip_rotate(v[2], 32);
}

/* Up to eight bytes, the first in the lowest place whatever the machine. */
static inline uint64_t rl_sip_word(const char *bytes, size_t size)
{
    uint64_t word = 0;

    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)(uint8_t)bytes[i] << 8 * i;
    return word;
}

static inline void rl_sip_take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rl_sip_round(v);
    rl_sip_round(v);
    v[0] ^= word;
}

/* key: RL_SIPHASH_KEY_SIZE bytes that are not known outside. */
static inline uint64_t rl_siphash(const char *key, struct rl_slice text)
{
    uint64_t k0 = rl_sip_word(key, 8), k1 = rl_sip_word(key + 8, 8);
    uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                     k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    size_t whole = text.size / 8 * 8;

    for (size_t i = 0; i < whole; i += 8)
        rl_sip_take(v, rl_sip_word(text.data + i, 8));
    rl_sip_take(v,
                rl_sip_word(text.data + whole, text.size - whole) | (uint64_t)text.size << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        rl_sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
