/* SPDX-License-Identifier: BSD-2-Clause */
/* Does the simulator notice a missing rule? Each is switched off, and seeds are played. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/rules.h"
#include "lab/planted/planted.h"
#include "lab/sim/runner.h"
#include "lab/sim/world.h"

#define RULES_MAX 256
#define SEEDS_DEFAULT 10000

/*
 * A missing rule may send a client into an endless loop: that counts as noticed. Seconds of
 * processor time, so that a busy machine is not taken for a loop.
 */
#define SEED_SECONDS_MAX 20

/* Written by the process that hunts for one rule, in memory that all share. */
struct finding {
    pid_t pid; /* by the parent */
    bool found;
    uint64_t seed;
    char oracle[32];
    double seconds;
};

/* The groups of core/rules.h, one behind the other: the last number of each. */
#define ONE(name, text) +1
enum { PLAIN_LAST = 0 RL_RULES(ONE), ELECTED_LAST = PLAIN_LAST RL_ELECTED_RULES(ONE) };
#undef ONE

static bool is_of_elected_votes(unsigned rule)
{
    return rule > PLAIN_LAST && rule <= ELECTED_LAST;
}

static bool is_of_waiting(unsigned rule)
{
    return rule > ELECTED_LAST && rule < RL_RULE_COUNT;
}

static void hunt(unsigned rule, uint64_t seeds_max, struct finding *finding)
{
    const struct itimerval limit = {.it_value.tv_sec = SEED_SECONDS_MAX};
    uint64_t first = is_of_elected_votes(rule) ? SIM_ELECTED_FIRST : 1;
    double start_s = sim_seconds_now();

    planted_break(planted_rules[rule].name);
    for (uint64_t seed = first; seed < first + seeds_max && !finding->found; seed++) {
        struct sim_result result;

        setitimer(ITIMER_VIRTUAL, &limit, NULL);
        sim_play(seed, NULL, &result);
        /* A script that the edit made wrong Lua says nothing about the rule. */
        finding->found = result.failed && strcmp(result.oracle, SIM_ORACLE_ERRORS) != 0;
        finding->seed = seed;
        memcpy(finding->oracle, result.oracle, sizeof finding->oracle);
    }
    finding->seconds = sim_seconds_now() - start_s;
    _exit(0);
}

/* Waits for one process; true: its rule was missed. */
static bool finish(struct finding *findings)
{
    struct finding *finding = findings;
    unsigned rule;
    int status;
    pid_t pid = wait(&status);

    while (finding->pid != pid)
        finding++;
    rule = (unsigned)(finding - findings);
    if (status != 0) {
        /* The missing rule crashed the simulator: that counts as noticed. */
        finding->found = true;
        snprintf(finding->oracle, sizeof finding->oracle, "crash or endless loop");
    }
    printf("| %-20s | %-66s | %-3s | %7" PRIu64 " | %-23s | %7.2f |\n",
           planted_rules[rule].name, planted_rules[rule].text, finding->found ? "yes" : "NO",
           finding->seed, finding->oracle, finding->seconds);
    return !finding->found;
}

/* Every rule of safety, or the one of that name; a table of what was found. 0: all were. */
static int hunt_all(const char *name, uint64_t seeds_max, unsigned workers)
{
    struct finding *findings = sim_share(RULES_MAX * sizeof *findings);
    unsigned started = 0;
    unsigned running = 0;
    int missed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("| %-20s | %-66s | %-3s | %7s | %-23s | %7s |\n|---|---|---|---|---|---|\n", "rule",
           "without it", "found", "seeds", "oracle", "seconds");
    for (unsigned rule = 1; planted_rules[rule].name && rule < RULES_MAX; rule++) {
        pid_t pid;

        if (name ? strcmp(planted_rules[rule].name, name) != 0 : is_of_waiting(rule))
            continue;
        if (running == workers) {
            missed += finish(findings);
            running--;
        }
        fflush(stdout);
        pid = fork();
        if (pid < 0)
            return 1;
        if (pid == 0)
            hunt(rule, seeds_max, &findings[rule]);
        findings[rule].pid = pid;
        started++;
        running++;
    }
    for (; running > 0; running--)
        missed += finish(findings);
    printf("%u rules, %d missed\n", started, missed);
    return missed > 0 || started == 0;
}

int main(int argc, char **argv)
{
    const char *rule = NULL;
    uint64_t seeds = SEEDS_DEFAULT;
    unsigned workers = 2;

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (argv[i][0] != '-') {
            rule = argv[i];
        } else if (strcmp(argv[i], "--seeds") == 0 && value) {
            seeds = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--workers") == 0 && value) {
            workers = (unsigned)strtoul(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--seed") == 0 && value && rule) {
            planted_break(rule);
            return sim_replay(strtoull(value, NULL, 0));
        } else {
            fputs("usage: redlock-sim-planted [RULE] [--seeds N] [--workers N]\n"
                  "       redlock-sim-planted RULE --seed SEED   replays it with its trace\n",
                  stderr);
            return 64;
        }
    }
    return hunt_all(rule, seeds, workers > 0 ? workers : 1);
}
