/* SPDX-License-Identifier: BSD-2-Clause */
#include "soak.h"

#include "report.h"

#include "check.h"
#include "clock.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    ROUND_S = 300,
    LONG_ALLOWANCE_MS =
        1000,         /* hours beside other work: the worst moment of thousands is judged */
    QUIET_S = 4,      /* of a round, left for its end */
    SETTLE_MS = 1000, /* between rounds: copies of requests that the balancer keeps back */
    SAMPLES = 720,    /* about so many of each process, however long it takes */
};

static void add_round(struct soak *s, const struct verdict *v)
{
    for (int i = 0; i < KIND_COUNT; i++)
        s->grants += v->grants[i];
    for (int i = 0; i < FAULT_COUNT; i++)
        s->faults += i == FAULT_MACHINE ? 0 : v->faults[i];
    s->machine_late += v->faults[FAULT_MACHINE];
    s->by_lease += v->by_lease;
    s->by_command += v->by_command;
    s->denied += v->denied;
    s->lost += v->lost;
    s->waits += v->waits;
    s->fenced_writes += v->fenced_writes;
    s->fenced_refused += v->fenced_refused;
    s->plain_lost += v->plain_lost;
    s->killed += v->killed;
    s->forgiven += v->forgiven;
    s->late_kills += v->late_kills;
    s->wait_max_ms = v->wait_max_ms > s->wait_max_ms ? v->wait_max_ms : s->wait_max_ms;
    if (v->told > 0 && v->told_worst_ms > s->told_worst_ms)
        s->told_worst_ms = v->told_worst_ms;
    s->breach_count += v->breach_count;
    s->rounds++;
}

/* The history of a round that broke a promise is kept with its picture. */
static void keep_round(const struct rig *rig, const char *dir, int number, struct history *h,
                       const struct verdict *v)
{
    char path[512];
    struct report_about about = {rig->schedule,
                                 rig->schedule->faults_ms / 1000 + QUIET_S,
                                 rig->late_ms,
                                 "",
                                 rig->replicas.balancer.switches,
                                 NULL};
    snprintf(path, sizeof path, "%s/round-%d", dir, number);
    if ((mkdir(path, 0755) != 0 && errno != EEXIST) || !report_write(path, h, v, &about))
        fprintf(stderr, "cannot write to %s\n", path);
    report_print(stdout, v, &about);
    printf("report: %s/report.html\n", path);
}

static void judge_round(struct soak *s, struct rig *rig, const char *dir, const char *path)
{
    static struct verdict v;
    static int64_t token_floor[NAMES];
    struct history history = history_read(path);
    CHECK(history.count > 0);
    check_round(&history, LONG_ALLOWANCE_MS, token_floor, &v);
    add_round(s, &v);
    printf(
        "round %d, seed %llu: %zu faults, %zu breaches; %zu acquisitions so far, %zu by HTTP, "
        "%zu by command\n",
        s->rounds, (unsigned long long)rig->schedule->seed, rig->schedule->count,
        v.breach_count, s->grants, s->by_lease, s->by_command);
    if (v.breach_count > 0)
        keep_round(rig, dir, s->rounds, &history, &v);
    fflush(stdout);
    history_free(&history);
    malloc_trim(0); /* the rig is judged like the others */
}

static size_t count_cores(const char *dir)
{
    size_t count = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        count += strncmp(e->d_name, "core", 4) == 0;
    if (d != NULL)
        closedir(d);
    return count;
}

void soak_run(struct rig *rig, const char *dir, struct soak *s)
{
    char path[512];
    int64_t round_s = check_setting("SOAK_ROUND_SECONDS", ROUND_S);
    int rounds = s->seconds > round_s ? (int)(s->seconds / round_s) : 1;
    uint64_t seed = rig->schedule->seed;
    snprintf(path, sizeof path, "%s/history.bin", dir);
    snprintf(rig->samples_path, sizeof rig->samples_path, "%s/samples.csv", dir);
    rig->sample_every_ms = s->seconds * 1000 / SAMPLES;
    if (rig->sample_every_ms < 1000)
        rig->sample_every_ms = 1000;
    rig->schedule->faults_ms = (s->seconds / rounds - QUIET_S) * 1000;
    CHECK(rig->schedule->faults_ms > 0);
    s->told_worst_ms = INT64_MIN;
    schedule_draw(rig->schedule);
    rig_start(rig, path);
    for (int i = 0; i < rounds; i++) {
        if (i > 0) {
            sleep_ms(SETTLE_MS);
            rig->schedule->seed = seed + (uint64_t)i;
            schedule_draw(rig->schedule);
            rig_next_round(rig);
        }
        rig->board->last_round = i + 1 == rounds;
        rig_run(rig);
        judge_round(s, rig, dir, path);
    }
    rig_stop(rig);
    s->late_ms = rig->late_ms;
    s->cores = count_cores(dir) + count_cores(".") + count_cores(check_dir());
    if (!growths_read(rig->samples_path, &s->growths))
        FAIL("no process lived for half of the run: nothing can be judged");
}

bool soak_is_good(const struct soak *s)
{
    return s->breach_count == 0 && s->growths.grew == 0 && s->growths.zombies == 0 &&
           s->cores == 0 && s->by_lease > 0 && s->by_command > 0 &&
           s->grants > s->by_lease + s->by_command;
}

void soak_print(FILE *out, const struct soak *s)
{
    fprintf(out, "  %-26s%d, %zu faults\n", "rounds", s->rounds, s->faults);
    fprintf(out, "  %-26s%zu: library %zu, HTTP %zu, command %zu\n", "acquisitions", s->grants,
            s->grants - s->by_lease - s->by_command, s->by_lease, s->by_command);
    fprintf(out, "  %-26s%zu\n", "refused or in vain", s->denied);
    fprintf(out, "  %-26s%zu, longest %lld ms\n", "waits that were served", s->waits,
            (long long)s->wait_max_ms);
    fprintf(out, "  %-26s%zu", "locks lost and told", s->lost);
    if (s->told_worst_ms > INT64_MIN)
        fprintf(out, ", at the latest %lld ms %s the validity ended",
                (long long)llabs(s->told_worst_ms), s->told_worst_ms <= 0 ? "before" : "after");
    fprintf(out, "\n  %-26s%zu writes, %zu late ones refused\n", "register with tokens",
            s->fenced_writes, s->fenced_refused);
    fprintf(out, "  %-26s%zu updates lost (no lock can prevent that)\n",
            "register without tokens", s->plain_lost);
    fprintf(out, "  %-26s%zu double holds after a clock was set, %zu late ends of commands\n",
            "forgiven", s->forgiven, s->late_kills);
    fprintf(out, "  %-26slate by up to %lld ms, %zu times by 30 ms or more\n",
            "the machine itself", (long long)s->late_ms, s->machine_late);
    fprintf(out, "  %-26s%zu, %zu of them for half of the time: judged; %zu samples\n",
            "processes", s->growths.processes, s->growths.count, s->growths.samples);
    growths_print(out, &s->growths);
    fprintf(out, "  %-26s%zu promises broken, %zu processes grew, %zu zombies, %zu cores\n",
            soak_is_good(s) ? "verdict: good" : "verdict: BAD", s->breach_count,
            s->growths.grew, s->growths.zombies, s->cores);
}
