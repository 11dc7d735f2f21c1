/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/planted.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/rules.h"
#include "leases/rules.h"

#ifndef RL_PLANTED

static int refuse(void)
{
    fputs("sim: this build has every rule; use redlock-sim-planted\n", stderr);
    return 64;
}

int sim_planted_run(const char *rule, uint64_t seeds_max, unsigned workers)
{
    (void)rule;
    (void)seeds_max;
    (void)workers;
    return refuse();
}

int sim_planted_replay(const char *rule, uint64_t seed)
{
    (void)rule;
    (void)seed;
    return refuse();
}

#else

#include <poll.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/sim/runner.h"
#include "lab/sim/world.h"

#define WORKERS_MAX 16

/*
 * A missing rule may send a client into an endless loop: that counts as noticed. Seconds of
 * processor time, so that a busy machine is not taken for a loop.
 */
#define SEED_SECONDS_MAX 20

enum rl_rule rl_rule_broken = RL_RULE_NONE;
enum lease_rule lease_rule_broken = LEASE_RULE_NONE;

/* Of the library and of the service: one of the two numbers is 0. */
struct rule {
    enum rl_rule rule;
    enum lease_rule lease_rule;
    const char *name;
    const char *text;
};

static const struct rule rules[] = {
#define RULE(name, text) {RL_RULE_##name, LEASE_RULE_NONE, #name, text},
    RL_RULES(RULE)
#undef RULE
#define RULE(name, text) {RL_RULE_NONE, LEASE_RULE_##name, #name, text},
        LEASE_RULES(RULE)
#undef RULE
};

static void break_rule(const struct rule *rule)
{
    rl_rule_broken = rule->rule;
    lease_rule_broken = rule->lease_rule;
}

#define RULE_COUNT (sizeof rules / sizeof rules[0])

struct finding {
    bool found;
    uint64_t seed;
    char oracle[32];
    double seconds;
};

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void hunt(const struct rule *rule, uint64_t seeds_max, int fd)
{
    struct finding finding = {0};
    struct sim_result result;
    const struct itimerval limit = {.it_value.tv_sec = SEED_SECONDS_MAX};
    double start_s = seconds_now();

    break_rule(rule);
    for (uint64_t i = 0; i < seeds_max && !finding.found; i++) {
        uint64_t seed = (rule->rule >= RL_RULE_ELECTOR_ONCE ? SIM_ELECTED_FIRST : 1) + i;

        setitimer(ITIMER_VIRTUAL, &limit, NULL);
        sim_play(seed, NULL, &result);
        /* A script that the edit made wrong Lua says nothing about the rule. */
        finding.found = result.failed && strcmp(result.oracle, SIM_ORACLE_ERRORS) != 0;
        finding.seed = seed;
        memcpy(finding.oracle, result.oracle, sizeof finding.oracle);
    }
    finding.seconds = seconds_now() - start_s;
    _exit(write(fd, &finding, sizeof finding) == (ssize_t)sizeof finding ? 0 : 1);
}

struct hunter {
    pid_t pid;
    int fd;
    size_t rule;
};

static bool start(struct hunter *hunter, size_t rule, uint64_t seeds_max)
{
    int ends[2];

    if (pipe(ends) < 0)
        return false;
    fflush(stdout);
    hunter->rule = rule;
    hunter->pid = fork();
    if (hunter->pid == 0) {
        close(ends[0]);
        hunt(&rules[rule], seeds_max, ends[1]);
    }
    close(ends[1]);
    hunter->fd = ends[0];
    return hunter->pid > 0;
}

static bool finish(struct hunter *hunter)
{
    struct finding finding = {0};
    bool told = read(hunter->fd, &finding, sizeof finding) == (ssize_t)sizeof finding;

    close(hunter->fd);
    hunter->fd = -1;
    waitpid(hunter->pid, NULL, 0);
    if (!told) {
        /* The missing rule crashed the simulator: that counts as noticed. */
        finding.found = true;
        snprintf(finding.oracle, sizeof finding.oracle, "crash or endless loop");
    }
    printf("| %-20s | %-66s | %-3s | %7" PRIu64 " | %-23s | %7.2f |\n",
           rules[hunter->rule].name, rules[hunter->rule].text, finding.found ? "yes" : "NO",
           finding.seed, finding.oracle, finding.seconds);
    fflush(stdout);
    return finding.found;
}

static bool is_wanted(size_t rule, const char *name)
{
    return !name || strcmp(rules[rule].name, name) == 0;
}

int sim_planted_run(const char *rule, uint64_t seeds_max, unsigned workers)
{
    struct hunter hunter[WORKERS_MAX];
    unsigned width = workers < 1 ? 1 : workers > WORKERS_MAX ? WORKERS_MAX : workers;
    size_t next = 0;
    int running = 0;
    int missed = 0;
    int started = 0;

    printf("| %-20s | %-66s | %-3s | %7s | %-23s | %7s |\n|---|---|---|---|---|---|\n", "rule",
           "without it", "found", "seeds", "oracle", "seconds");
    for (unsigned i = 0; i < width; i++)
        hunter[i].fd = -1;
    do {
        struct pollfd fds[WORKERS_MAX];

        for (unsigned i = 0; i < width; i++) {
            while (next < RULE_COUNT && !is_wanted(next, rule))
                next++;
            if (hunter[i].fd < 0 && next < RULE_COUNT) {
                if (!start(&hunter[i], next++, seeds_max))
                    return 1;
                running++;
                started++;
            }
            fds[i] = (struct pollfd){.fd = hunter[i].fd, .events = POLLIN};
        }
        if (running > 0 && poll(fds, width, -1) > 0) {
            for (unsigned i = 0; i < width; i++) {
                if (!fds[i].revents)
                    continue;
                missed += !finish(&hunter[i]);
                running--;
            }
        }
    } while (running > 0 || next < RULE_COUNT);
    printf("%d rules, %d missed\n", started, missed);
    return missed > 0 || started == 0;
}

int sim_planted_replay(const char *rule, uint64_t seed)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rule && is_wanted(i, rule))
            break_rule(&rules[i]);
    return sim_replay(seed);
}

#endif
