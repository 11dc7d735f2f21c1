/* SPDX-License-Identifier: BSD-2-Clause */
#include "crowd.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 5, TTL_MS = 20000 };

#define NAME "crowded"

const char *trouble_text(enum trouble trouble)
{
    static const char *const text[] = {"all nodes up", "one node killed", "one node hung"};
    return text[trouble];
}

void trouble_begin(struct cluster *c, enum trouble trouble)
{
    if (trouble == ONE_KILLED)
        server_kill(&c->node[c->count - 1]);
    else if (trouble == ONE_HUNG)
        server_freeze(&c->node[c->count - 1]);
}

struct cluster trouble_rest(const struct cluster *c, enum trouble trouble)
{
    struct cluster rest = *c;
    rest.count -= trouble != ALL_UP;
    return rest;
}

struct job {
    struct cluster c;
    struct crowd *crowd;
    int who;
};

/* A place counts once a majority has confirmed it, and no longer when it was given up. */
static void note_place(const redlock_lock *lock, struct crowd_record *record)
{
    const redlock_report *report;
    if (redlock_position(lock) == 0) {
        record->queued_ns = 0;
        return;
    }
    report = redlock_lock_report(lock);
    if (record->queued_ns == 0 &&
        report_votes(report, REDLOCK_VOTE_TAKEN) >= (int)report->quorum)
        record->queued_ns = now_ns();
}

static void keep_record(struct crowd *crowd, const struct crowd_record *record)
{
    int place = atomic_fetch_add(&crowd->count, 1);
    if (place < crowd->capacity)
        crowd->record[place] = *record;
}

static void take_turn(struct job *job, redlock *r)
{
    struct crowd *crowd = job->crowd;
    struct tally tally = {0};
    struct crowd_record record = {.who = job->who, .asked_ns = now_ns()};
    redlock_lock *lock =
        CLIENT_START(r, NAME, TTL_MS, .flags = crowd->terms.flags | REDLOCK_PLACES,
                     .wait_ms = REDLOCK_WAIT_FOREVER, .data = &tally);
    while (!tally.count[REDLOCK_EVENT_ACQUIRED] && !crowd->stop) {
        /* No event comes when the node that completes the majority has confirmed the place. */
        drain_within(r, record.queued_ns ? 20 : 1);
        if (!tally.count[REDLOCK_EVENT_ACQUIRED])
            note_place(lock, &record);
    }
    record.granted_ns = now_ns();
    record.served = tally.count[REDLOCK_EVENT_ACQUIRED];
    if (record.served) {
        CHECK_OK(tally.error);
        if (atomic_fetch_add(&crowd->served, 1) + 1 >= crowd->terms.acquisitions)
            crowd->stop = 1;
        record.ended_ns = now_ns();
        redlock_release(lock);
    }
    keep_record(crowd, &record);
    redlock_lock_free(lock);
}

static void work(void *data)
{
    struct job *job = data;
    redlock *r = client_open_hasty(&job->c, 0, STEADY_MS);
    client_warm_nodes(r, (int)job->c.count - (job->crowd->terms.trouble != ALL_UP));
    atomic_fetch_add(&job->crowd->ready, 1);
    while (!job->crowd->go)
        sleep_ms(1);
    while (!job->crowd->stop)
        take_turn(job, r);
    client_close(r);
}

static bool is_over(void *data)
{
    return ((struct crowd *)data)->stop != 0;
}

static long long calls_of(const char *list, const char *name)
{
    char line[64];
    snprintf(line, sizeof line, "%s ", name);
    for (const char *p = list; (p = strstr(p, line)) != NULL; p++)
        if (p == list || p[-1] == '\n')
            return strtoll(p + strlen(line), NULL, 10);
    return 0;
}

/* A SET within a script is counted as if a client had sent it: never too few. */
static void note_cost(const struct cluster *c, struct crowd *crowd)
{
    static const char *const sent[] = {"evalsha", "eval", "set", "delifeq", "delex", "ping"};
    for (size_t i = 0; i < c->count; i++) {
        const char *list = server_commands(&c->node[i]);
        const char *stats, *total;
        for (size_t k = 0; k < sizeof sent / sizeof sent[0]; k++)
            crowd->requests += calls_of(list, sent[k]);
        stats = server_cmd(&c->node[i], "INFO", "stats", NULL);
        total = strstr(stats, "total_commands_processed:");
        CHECK(total != NULL);
        crowd->commands += strtoll(strchr(total, ':') + 1, NULL, 10);
    }
}

static void print(const struct crowd *crowd)
{
    int least, most, served;
    crowd_shares(crowd, &least, &most);
    served = crowd->served;
    printf(
        "# %d processes, %s, %s: %d acquisitions in %lld ms, shares %d to %d, longest wait "
        "%lld ms; per acquisition at most %.1f requests, %.1f commands with those in scripts\n",
        crowd->terms.processes, crowd->terms.flags & REDLOCK_FAIR ? "fair" : "not fair",
        trouble_text(crowd->terms.trouble), served, (long long)crowd->took_ms, least, most,
        (long long)crowd_longest_ms(crowd), (double)crowd->requests / served,
        (double)crowd->commands / served);
}

struct crowd *crowd_run(const struct crowd_terms *terms)
{
    static struct job job;
    pid_t pids[CROWD_MAX];
    int capacity = terms->acquisitions + 2 * terms->processes;
    struct crowd *crowd =
        helper_memory(sizeof *crowd + (size_t)capacity * sizeof(struct crowd_record));
    int64_t start_ms;
    struct cluster rest;
    CHECK(terms->processes <= CROWD_MAX);
    crowd->terms = *terms;
    crowd->capacity = capacity;
    job.crowd = crowd;
    cluster_start(&job.c, NODES);
    trouble_begin(&job.c, terms->trouble);
    rest = trouble_rest(&job.c, terms->trouble);
    for (job.who = 0; job.who < terms->processes; job.who++)
        pids[job.who] = helper_start(work, &job);
    AWAIT(crowd->ready == crowd->terms.processes);
    for (size_t i = 0; i < rest.count; i++)
        server_forget_commands(&rest.node[i]);
    start_ms = now_ms();
    crowd->go = 1;
    wait_within(is_over, crowd, terms->limit_ms);
    crowd->stop = 1;
    crowd->took_ms = now_ms() - start_ms;
    note_cost(&rest, crowd);
    helpers_join(pids, terms->processes);
    CHECK(crowd->count <= crowd->capacity);
    print(crowd);
    return crowd;
}

int crowd_bypasses(const struct crowd *crowd)
{
    int found = 0;
    for (int i = 0; i < crowd->count; i++) {
        const struct crowd_record *waiter = &crowd->record[i];
        if (waiter->queued_ns == 0)
            continue;
        for (int k = 0; k < crowd->count; k++) {
            const struct crowd_record *other = &crowd->record[k];
            found += other->served && other->asked_ns > waiter->queued_ns &&
                     other->granted_ns < waiter->granted_ns;
        }
    }
    return found;
}

void crowd_shares(const struct crowd *crowd, int *least, int *most)
{
    int share[CROWD_MAX] = {0};
    for (int i = 0; i < crowd->count; i++)
        share[crowd->record[i].who] += crowd->record[i].served;
    *least = *most = share[0];
    for (int i = 1; i < crowd->terms.processes; i++) {
        *least = share[i] < *least ? share[i] : *least;
        *most = share[i] > *most ? share[i] : *most;
    }
}

int crowd_most_others(const struct crowd *crowd)
{
    int most = 0;
    for (int i = 0; i < crowd->count; i++) {
        const struct crowd_record *waiter = &crowd->record[i];
        int others = 0;
        for (int k = 0; k < crowd->count; k++)
            others += crowd->record[k].served &&
                      crowd->record[k].granted_ns > waiter->asked_ns &&
                      crowd->record[k].granted_ns < waiter->granted_ns;
        most = others > most ? others : most;
    }
    return most;
}

int64_t crowd_longest_ms(const struct crowd *crowd)
{
    int64_t longest_ns = 0;
    for (int i = 0; i < crowd->count; i++) {
        int64_t waited_ns = crowd->record[i].granted_ns - crowd->record[i].asked_ns;
        longest_ns = waited_ns > longest_ns ? waited_ns : longest_ns;
    }
    return longest_ns / RL_NS_PER_MS;
}

int64_t crowd_longest_idle_ms(const struct crowd *crowd)
{
    int64_t longest_ns = 0;
    for (int i = 0; i < crowd->count; i++) {
        int64_t next_ns = INT64_MAX;
        for (int k = 0; k < crowd->count; k++) {
            const struct crowd_record *r = &crowd->record[k];
            if (r->served && r->granted_ns > crowd->record[i].ended_ns &&
                r->granted_ns < next_ns)
                next_ns = r->granted_ns;
        }
        if (crowd->record[i].served && next_ns != INT64_MAX &&
            next_ns - crowd->record[i].ended_ns > longest_ns)
            longest_ns = next_ns - crowd->record[i].ended_ns;
    }
    return longest_ns / RL_NS_PER_MS;
}
