/* SPDX-License-Identifier: BSD-2-Clause */
/* Many seeds in a few processes; what they found, in one place. */
#ifndef SIM_RUNNER_H
#define SIM_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_campaign {
    uint64_t first;   /* seed */
    uint64_t count;   /* 0: until stopped */
    unsigned workers; /* processes */
};

/* 0: no failure. Prints a summary, and of the first failure its seed and the end
 * of its trace. */
int sim_campaign_run(const struct sim_campaign *campaign);

/* Plays one seed with its whole trace on standard output. */
int sim_replay(uint64_t seed);

/* Plays the seeds of a file, one per line; # begins a comment. */
int sim_replay_file(const char *path);

/* Plays a seed twice: the traces must be equal, byte for byte. */
int sim_check_determinism(uint64_t first, uint64_t count);

/* Zeroed memory that processes started from now on have in common; the end without. */
void *sim_share(size_t size);
double sim_seconds_now(void);

#endif
