/* SPDX-License-Identifier: BSD-2-Clause */
#include "soak.h"

#include "report.h"

#include "check.h"
#include "clock.h"
#include "helper.h"

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
};

static void keep_worst(int64_t *worst, int64_t value)
{
    *worst = value > *worst ? value : *worst;
}

static void add_round(struct verdict *sum, const struct verdict *v)
{
    for (int i = 0; i < BREACH_COUNT; i++)
        sum->breaches[i] += v->breaches[i];
    for (int i = 0; i < KIND_COUNT; i++)
        sum->grants[i] += v->grants[i];
    for (int i = 0; i < FAULT_COUNT; i++)
        sum->faults[i] += v->faults[i];
    sum->breach_count += v->breach_count;
    sum->by_lease += v->by_lease;
    sum->by_command += v->by_command;
    sum->several += v->several;
    sum->denied += v->denied;
    sum->lost += v->lost;
    sum->reported += v->reported;
    sum->waits += v->waits;
    sum->fenced_writes += v->fenced_writes;
    sum->fenced_refused += v->fenced_refused;
    sum->plain_writes += v->plain_writes;
    sum->plain_lost += v->plain_lost;
    sum->forgiven += v->forgiven;
    sum->late_kills += v->late_kills;
    keep_worst(&sum->wait_p50_ms, v->wait_p50_ms);
    keep_worst(&sum->wait_p99_ms, v->wait_p99_ms);
    keep_worst(&sum->wait_max_ms, v->wait_max_ms);
    keep_worst(&sum->quiet_max_ms, v->quiet_max_ms);
    keep_worst(&sum->unclaimed_max_ms, v->unclaimed_max_ms);
    keep_worst(&sum->reported_worst_ms, v->reported_worst_ms);
}

static size_t all_grants(const struct verdict *v)
{
    size_t sum = 0;
    for (int i = 0; i < KIND_COUNT; i++)
        sum += v->grants[i];
    return sum;
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
    printf("report: %s/report.txt\n", path);
}

static void judge_round(struct soak *s, struct rig *rig, const char *dir, const char *path)
{
    static struct verdict v;
    static int64_t token_floor[NAMES];
    struct history history = history_read(path);
    CHECK(history.count > 0);
    check_round(&history, LONG_ALLOWANCE_MS, token_floor, &v);
    add_round(&s->sum, &v);
    printf("round %d, seed %llu: %zu faults, %zu breaches; %zu acquisitions so far, %zu by "
           "HTTP, %zu by command\n",
           ++s->rounds, (unsigned long long)rig->schedule->seed, rig->schedule->count,
           v.breach_count, all_grants(&s->sum), s->sum.by_lease, s->sum.by_command);
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
    rig->schedule->faults_ms = (s->seconds / rounds - QUIET_S) * 1000;
    CHECK(rig->schedule->faults_ms > 0);
    s->sum.reported_worst_ms = INT64_MIN;
    helper_name("rig");
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
    s->cores = count_cores(dir) + count_cores(".") + count_cores(check_dir());
}

bool soak_is_good(const struct soak *s)
{
    return s->sum.breach_count == 0 && s->cores == 0 && s->sum.by_lease > 0 &&
           s->sum.by_command > 0 && all_grants(&s->sum) > s->sum.by_lease + s->sum.by_command;
}
