/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/runner.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
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
#define SECOND_NS 1e9

/* What a worker reports for each seed. */
struct record {
    uint64_t seed;
    struct sim_result result;
};

struct worker {
    pid_t pid;
    int fd;
};

struct total {
    uint64_t seeds;
    uint64_t failures;
    uint64_t grants;
    uint64_t events;
    double simulated_s;
    uint64_t first_failure;
};

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / SECOND_NS;
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

/* ---- workers ---- */

static void work(const struct sim_campaign *campaign, unsigned index, int fd,
                 volatile uint64_t *current)
{
    for (uint64_t i = index; campaign->count == 0 || i < campaign->count;
         i += campaign->workers) {
        struct record record = {.seed = campaign->first + i};

        *current = record.seed;
        sim_play(record.seed, NULL, &record.result);
        if (write(fd, &record, sizeof record) != (ssize_t)sizeof record)
            break;
    }
    _exit(0);
}

static bool start_worker(const struct sim_campaign *campaign, unsigned index,
                         struct worker *worker, volatile uint64_t *current)
{
    int ends[2];

    if (pipe(ends) < 0)
        return false;
    fflush(stdout);
    worker->pid = fork();
    if (worker->pid == 0) {
        close(ends[0]);
        work(campaign, index, ends[1], current);
    }
    close(ends[1]);
    worker->fd = ends[0];
    return worker->pid > 0;
}

static void stop_workers(struct worker *workers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (workers[i].fd >= 0)
            kill(workers[i].pid, SIGKILL);
}

static void add_up(struct total *total, const struct record *record)
{
    const struct sim_result *result = &record->result;

    total->seeds++;
    total->grants += result->grants;
    total->events += result->events;
    total->simulated_s += (double)result->simulated_ns / SECOND_NS;
    if (!result->failed)
        return;
    if (total->failures++ == 0)
        total->first_failure = record->seed;
    if (total->failures <= FAILURES_SHOWN) {
        printf("seed %" PRIu64 " FAILED (%s): %s: %s\n", record->seed,
               sim_regime_text(result->regime), result->oracle, result->failure);
        fflush(stdout);
    }
}

/* True: the worker goes on. */
static bool listen_to(struct worker *worker, uint64_t current, struct total *total)
{
    struct record record;
    size_t got = 0;
    int status;

    while (got < sizeof record) {
        ssize_t size = read(worker->fd, (char *)&record + got, sizeof record - got);

        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        got += (size_t)size;
    }
    if (got == sizeof record) {
        add_up(total, &record);
        return true;
    }
    close(worker->fd);
    worker->fd = -1;
    if (waitpid(worker->pid, &status, 0) == worker->pid && status != 0) {
        printf("seed %" PRIu64 " FAILED: the process died, wait status %d\n", current, status);
        total->failures++;
    }
    return false;
}

static void print_summary(const struct total *total, double seconds)
{
    double cpu_s = cpu_seconds(RUSAGE_CHILDREN);

    printf("%" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " locks granted, %" PRIu64
           " events; %.0f s simulated in %.1f s (%.0f s per second of CPU)\n",
           total->seeds, total->failures, total->grants, total->events, total->simulated_s,
           seconds, cpu_s > 0 ? total->simulated_s / cpu_s : 0);
}

static void follow(const struct sim_campaign *campaign, struct worker *workers,
                   const volatile uint64_t *current, struct total *total)
{
    struct pollfd fds[WORKERS_MAX];
    unsigned left = campaign->workers;
    bool stopping = false;

    while (left > 0) {
        for (unsigned i = 0; i < campaign->workers; i++)
            fds[i] = (struct pollfd){.fd = workers[i].fd, .events = POLLIN};
        if (poll(fds, campaign->workers, -1) < 0 && errno != EINTR)
            break;
        for (unsigned i = 0; i < campaign->workers; i++)
            if (fds[i].revents && !stopping && !listen_to(&workers[i], current[i], total))
                left--;
        if (total->failures > 0 && !campaign->go_on) {
            stop_workers(workers, campaign->workers);
            for (unsigned i = 0; i < campaign->workers; i++)
                if (workers[i].fd >= 0)
                    waitpid(workers[i].pid, NULL, 0);
            left = 0;
        }
    }
}

int sim_campaign_run(const struct sim_campaign *campaign)
{
    struct worker workers[WORKERS_MAX];
    struct total total = {0};
    double start_s = seconds_now();
    volatile uint64_t *current =
        mmap(NULL, WORKERS_MAX * sizeof *current, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (current == MAP_FAILED || campaign->workers == 0 || campaign->workers > WORKERS_MAX)
        return 1;
    printf("seeds from %" PRIu64 ", %u processes\n", campaign->first, campaign->workers);
    for (unsigned i = 0; i < campaign->workers; i++) {
        if (!start_worker(campaign, i, &workers[i], &current[i])) {
            perror("sim: starting a process");
            stop_workers(workers, i);
            return 1;
        }
    }
    follow(campaign, workers, current, &total);
    print_summary(&total, seconds_now() - start_s);
    if (total.first_failure)
        print_failure(total.first_failure);
    return total.failures > 0;
}

/* ---- single seeds ---- */

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
