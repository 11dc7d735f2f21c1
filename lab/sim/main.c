/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lab/sim/options.h"
#include "lab/sim/runner.h"

#define SEEDS_DEFAULT 10000
#define WORKERS_DEFAULT 2

static int usage(void)
{
    fputs("usage: redlock-sim [--seeds N] [--from SEED | --elected] [--workers N]\n"
          "       redlock-sim --seed SEED     replays it with its trace\n"
          "       redlock-sim --file FILE     plays the seeds of a file\n"
          "       redlock-sim --forever       fresh seeds until stopped\n"
          "       redlock-sim --twice N       compares two runs of N seeds\n",
          stderr);
    return 64;
}

static uint64_t number(const char *text)
{
    return text ? strtoull(text, NULL, 0) : 0;
}

static uint64_t fresh_seed(void)
{
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        perror("getrandom");
    return seed >> 1;
}

int main(int argc, char **argv)
{
    struct sim_campaign campaign = {
        .first = 1, .count = SEEDS_DEFAULT, .workers = WORKERS_DEFAULT};

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--seeds") == 0 && value) {
            campaign.count = number(argv[++i]);
        } else if (strcmp(argv[i], "--from") == 0 && value) {
            campaign.first = number(argv[++i]);
        } else if (strcmp(argv[i], "--elected") == 0) {
            campaign.first = SIM_ELECTED_FIRST;
        } else if (strcmp(argv[i], "--workers") == 0 && value) {
            campaign.workers = (unsigned)number(argv[++i]);
        } else if (strcmp(argv[i], "--seed") == 0 && value) {
            return sim_replay(number(value));
        } else if (strcmp(argv[i], "--file") == 0 && value) {
            return sim_replay_file(value);
        } else if (strcmp(argv[i], "--twice") == 0 && value) {
            return sim_check_determinism(campaign.first, number(value));
        } else if (strcmp(argv[i], "--forever") == 0) {
            campaign.first = fresh_seed();
            campaign.count = 0;
        } else {
            return usage();
        }
    }
    return sim_campaign_run(&campaign);
}
