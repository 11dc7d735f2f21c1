/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/rng.h"

#include <string.h>

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

void sim_rng_seed(struct sim_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->word[i] = splitmix(&seed);
}

uint64_t sim_rng_next(struct sim_rng *rng)
{
    uint64_t *s = rng->word;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

void sim_rng_fill(struct sim_rng *rng, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        uint64_t word = sim_rng_next(rng);
        size_t part = size < sizeof word ? size : sizeof word;

        memcpy(at, &word, part);
        at += part;
        size -= part;
    }
}

uint64_t sim_below(struct sim_rng *rng, uint64_t bound)
{
    /* The bias of the remainder is far below anything a simulation could notice. */
    return sim_rng_next(rng) % bound;
}

int64_t sim_between(struct sim_rng *rng, int64_t low, int64_t high)
{
    return low + (int64_t)sim_below(rng, (uint64_t)(high - low) + 1);
}

int64_t sim_spread(struct sim_rng *rng, int64_t low, int64_t high)
{
    int64_t bound = low;
    int doublings = 0;

    while (bound < high / 2) {
        bound *= 2;
        doublings++;
    }
    bound = low << sim_below(rng, (uint64_t)doublings + 1);
    return sim_between(rng, bound, bound * 2 < high ? bound * 2 : high);
}

bool sim_chance(struct sim_rng *rng, uint32_t permille)
{
    return sim_below(rng, 1000) < permille;
}
