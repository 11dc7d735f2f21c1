/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/runner.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/sim/world.h"

#define WORKERS_MAX 64
#define TAIL_LINES 80
#define FAILURES_SHOWN 20

/* Of one worker, in memory that all share; added up when all have ended. */
struct work {
    pid_t pid;
    uint64_t seed; /* under way */
    uint64_t seeds;
    uint64_t grants;
    uint64_t events;
    double simulated_s;
};

struct board {
    _Atomic uint64_t failures;
    _Atomic uint64_t first_failure; /* to be replayed: not one whose process died */
    struct work work[WORKERS_MAX];
};

void *sim_share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory != MAP_FAILED)
        return memory;
    perror("sim: memory to share");
    exit(1);
}

double sim_seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / (double)RL_NS_PER_S;
}

static double cpu_seconds(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The last lines of a trace. */
static void print_tail(const char *text, size_t size)
{
    size_t at = size;

    for (int lines = 0; at > 0; at--)
        if (text[at - 1] == '\n' && ++lines > TAIL_LINES)
            break;
    if (at > 0)
        printf("...\n");
    fwrite(text + at, 1, size - at, stdout);
}

static void print_failure(uint64_t seed)
{
    struct sim_result result;
    char *text = NULL;
    size_t size = 0;
    FILE *trace = open_memstream(&text, &size);

    if (!trace)
        return;
    printf("\nseed %" PRIu64 " fails; the end of its trace:\n", seed);
    fflush(stdout);
    sim_play(seed, trace, &result);
    fclose(trace);
    print_tail(text, size);
    free(text);
    printf("\nthe whole of it: make sim SEED=%" PRIu64 "\n", seed);
}

static void note_failure(struct board *board, uint64_t seed, const char *what, const char *why)
{
    if (board->failures++ < FAILURES_SHOWN)
        printf("seed %" PRIu64 " FAILED %s: %s\n", seed, what, why);
    fflush(stdout);
}

static void work(const struct sim_campaign *campaign, unsigned index, struct board *board)
{
    struct work *mine = &board->work[index];

    for (uint64_t i = index; campaign->count == 0 || i < campaign->count;
         i += campaign->workers) {
        struct sim_result result;
        uint64_t none = 0;
        char what[96];

        if (board->failures > 0)
            break;
        mine->seed = campaign->first + i;
        sim_play(mine->seed, NULL, &result);
        mine->seeds++;
        mine->grants += result.grants;
        mine->events += result.events;
        mine->simulated_s += (double)result.simulated_ns / (double)RL_NS_PER_S;
        if (!result.failed)
            continue;
        atomic_compare_exchange_strong(&board->first_failure, &none, mine->seed);
        snprintf(what, sizeof what, "(%s): %s", sim_regime_text(result.regime), result.oracle);
        note_failure(board, mine->seed, what, result.failure);
    }
    _exit(0);
}

/* Where one ends that should not, its seed has failed. */
static void await_workers(struct board *board, unsigned count)
{
    int status;
    pid_t pid;

    while ((pid = wait(&status)) > 0) {
        for (unsigned i = 0; i < count && status != 0; i++) {
            char why[48];

            if (board->work[i].pid != pid)
                continue;
            snprintf(why, sizeof why, "wait status %d", status);
            note_failure(board, board->work[i].seed, "the process died", why);
        }
    }
}

static void print_summary(const struct board *board, unsigned count, double seconds)
{
    double cpu_s = cpu_seconds(RUSAGE_CHILDREN);
    struct work total = {0};

    for (unsigned i = 0; i < count; i++) {
        const struct work *work = &board->work[i];

        total.seeds += work->seeds;
        total.grants += work->grants;
        total.events += work->events;
        total.simulated_s += work->simulated_s;
    }
    printf("%" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " locks granted, %" PRIu64
           " events; %.0f s simulated in %.1f s (%.0f s per second of CPU)\n",
           total.seeds, board->failures, total.grants, total.events, total.simulated_s, seconds,
           cpu_s > 0 ? total.simulated_s / cpu_s : 0);
}

int sim_campaign_run(const struct sim_campaign *campaign)
{
    struct board *board = sim_share(sizeof *board);
    double start_s = sim_seconds_now();

    if (campaign->workers == 0 || campaign->workers > WORKERS_MAX)
        return 1;
    printf("seeds from %" PRIu64 ", %u processes\n", campaign->first, campaign->workers);
    fflush(stdout);
    for (unsigned i = 0; i < campaign->workers; i++) {
        pid_t pid = fork();

        if (pid < 0) {
            perror("sim: starting a process");
            return 1;
        }
        if (pid == 0)
            work(campaign, i, board);
        board->work[i].pid = pid;
    }
    await_workers(board, campaign->workers);
    print_summary(board, campaign->workers, sim_seconds_now() - start_s);
    if (board->first_failure)
        print_failure(board->first_failure);
    return board->failures > 0;
}

int sim_replay(uint64_t seed)
{
    struct sim_result result;

    sim_play(seed, stdout, &result);
    printf("seed %" PRIu64 ": %s%s%s\n", seed, result.failed ? result.oracle : "no failure",
           result.failed ? ": " : "", result.failure);
    return result.failed;
}

int sim_replay_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256];
    int failures = 0;
    int count = 0;

    if (!file) {
        perror(path);
        return 1;
    }
    while (fgets(line, sizeof line, file)) {
        struct sim_result result;
        char *end;
        uint64_t seed = strtoull(line, &end, 0);

        if (end == line)
            continue;
        sim_play(seed, NULL, &result);
        count++;
        if (!result.failed)
            continue;
        printf("seed %" PRIu64 " FAILED: %s: %s\n", seed, result.oracle, result.failure);
        failures++;
    }
    fclose(file);
    printf("%d seeds of %s, %d failed\n", count, path, failures);
    return failures > 0;
}

static bool same_twice(uint64_t seed)
{
    struct sim_result result;
    char *text[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    bool same;

    for (int i = 0; i < 2; i++) {
        FILE *trace = open_memstream(&text[i], &size[i]);

        if (!trace)
            abort();
        sim_play(seed, trace, &result);
        fclose(trace);
    }
    same = size[0] == size[1] && memcmp(text[0], text[1], size[0]) == 0;
    if (!same)
        printf("seed %" PRIu64 ": two runs, two traces\n", seed);
    free(text[0]);
    free(text[1]);
    return same && size[0] > 0;
}

int sim_check_determinism(uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (!same_twice(first + i))
            return 1;
    printf("%" PRIu64 " seeds, each twice with the same trace\n", count);
    return 0;
}
