/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator's only source of chance: xoshiro256** started by splitmix64. Everything that
 * happens in a run is drawn from here, so that one number, the seed, is the whole run.
 */
#ifndef SIM_RNG_H
#define SIM_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_rng {
    uint64_t word[4];
};

void sim_rng_seed(struct sim_rng *rng, uint64_t seed);
uint64_t sim_rng_next(struct sim_rng *rng);
void sim_rng_fill(struct sim_rng *rng, void *bytes, size_t size);

/* A number in [0, bound); bound > 0. */
uint64_t sim_below(struct sim_rng *rng, uint64_t bound);
/* A number in [low, high]. */
int64_t sim_between(struct sim_rng *rng, int64_t low, int64_t high);
/* The same, every order of magnitude as likely as another; low > 0. */
int64_t sim_spread(struct sim_rng *rng, int64_t low, int64_t high);
/* True so many times in a thousand. */
bool sim_chance(struct sim_rng *rng, uint32_t permille);

#endif
