/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to several quorums that do not wait, and the counters of all of them together. */
#include "asked.h"
#include "check.h"
#include "client.h"
#include "clock.h"
#include "fleet.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUORUMS = 3, NODES = 3 };

struct heard {
    _Atomic int calls;
    _Atomic int error;
    _Atomic int checks;
    size_t names;
    char quorum[REDLOCK_QUORUM_MAX + 1]; /* of the report */
    char order[8];                       /* of the quorums that checks were about */
    char detail[256];
};

static void note(int error, const redlock_answer *answer, void *data)
{
    struct heard *t = data;

    for (size_t i = 1; i < answer->name_count; i++)
        CHECK(strcmp(answer->names[i - 1], answer->names[i]) < 0);
    t->names = answer->name_count;
    if (answer->report)
        snprintf(t->quorum, sizeof t->quorum, "%s", answer->report->quorum_name);
    if (error)
        snprintf(t->detail, sizeof t->detail, "%s", redlock_detail());
    t->error = error;
    t->calls++;
}

static void note_check(const redlock_check *check, void *data)
{
    struct heard *t = data;
    size_t size = strlen(t->order);

    if (size == 0 || t->order[size - 1] != check->quorum[0])
        strcat(t->order, check->quorum);
    t->checks++;
}

static bool is_heard(void *data)
{
    return ((struct heard *)data)->calls > 0;
}

/* A lock in every quorum, by hand. */
static void set_locks(struct fleet *f, int count)
{
    for (size_t q = 0; q < QUORUMS; q++)
        for (int i = 0; i < count; i++) {
            char key[64];
            snprintf(key, sizeof key, "redlock:%s", fleet_name(f, q, i));
            cluster_set(&f->cluster[q], 0, NODES, key, "somebody", 600000);
        }
}

static void each_question(uint32_t flags)
{
    struct fleet f;
    struct heard t = {0};
    fleet_start(&f, QUORUMS, NODES);
    redlock *r = fleet_open_warm(&f, flags);
    set_locks(&f, 5);

    CHECK_OK(redlock_start_query(r, fleet_name(&f, 2, 0), note, &t));
    await_told(r, flags, is_heard, &t);
    CHECK_OK(t.error);
    CHECK_STR("c", t.quorum);

    t = (struct heard){0};
    CHECK_OK(redlock_start_list(r, note, &t));
    await_told(r, flags, is_heard, &t);
    CHECK_OK(t.error);
    CHECK_INT(QUORUMS * 5, t.names);

    t = (struct heard){0};
    CHECK_OK(redlock_start_ping(r, note, &t));
    await_told(r, flags, is_heard, &t);
    CHECK_OK(t.error);
    CHECK_STR("a", t.quorum);

    t = (struct heard){0};
    CHECK_OK(redlock_start_admit(r, note, &t));
    await_told(r, flags, is_heard, &t);
    CHECK_OK(t.error);

    t = (struct heard){0};
    CHECK_OK(redlock_start_audit(r, 10000, note_check, note, &t));
    await_told(r, flags, is_heard, &t);
    CHECK_OK(t.error);
    CHECK_STR("abc", t.order);
    CHECK(t.checks > QUORUMS * NODES * 10);
    CHECK_INT(1, t.calls);
    redlock_close(r);
}

CASE(poll_loop, "Questions to all quorums are answered through one descriptor, as one answer.")
{
    each_question(0);
}

CASE(io_threads, "The threads of several quorums make one answer of theirs, told once.")
{
    each_question(REDLOCK_THREAD);
}

static void one_is_down(uint32_t flags)
{
    struct fleet f;
    struct heard t = {0};
    redlock_report report = {.size = sizeof report};
    fleet_start(&f, QUORUMS, NODES);
    redlock *r = fleet_open_warm(&f, flags);
    set_locks(&f, 1);
    cluster_each(&f.cluster[1], 0, 2, server_kill);
    CHECK_OK(redlock_start_ping(r, note, &t));
    await_told(r, flags, is_heard, &t);
    CHECK_ERR(REDLOCK_NOQUORUM, t.error);
    CHECK_STR("b", t.quorum);
    CHECK_HAS("'b'", t.detail);
    t = (struct heard){0};
    CHECK_OK(redlock_start_list(r, note, &t));
    await_told(r, flags, is_heard, &t);
    CHECK_ERR(REDLOCK_NOQUORUM, t.error);
    CHECK_INT(0, t.names);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_ping(r, &report));
    CHECK_STR("b", report.quorum_name);
    CHECK_HAS("'b'", redlock_detail());
    redlock_close(r);
}

CASE(one_down, "The answer of several quorums is the failure of the one that is down.")
{
    one_is_down(0);
}

CASE(one_down_io_threads,
     "Threads of several quorums tell the failure of the one that is down.")
{
    one_is_down(REDLOCK_THREAD);
}

CASE(all_hung, "Quorums that are all hung cost a blocked caller their time once, not each.")
{
    struct fleet f;
    redlock_report report = {.size = sizeof report};
    fleet_start(&f, QUORUMS, NODES);
    redlock *r = fleet_open_warm(&f, 0);
    for (size_t q = 0; q < QUORUMS; q++)
        cluster_each(&f.cluster[q], 0, NODES, server_freeze);
    int64_t start_ms = now_ms();
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_ping(r, &report));
    CHECK_BETWEEN(PATIENT_MS - 1, 2 * PATIENT_MS + SLACK_MS, now_ms() - start_ms);
    redlock_close(r);
}

CASE(blocked_caller_is_woken,
     "A caller blocked in a question to all quorums is woken by whichever answers last.")
{
    struct fleet f;
    fleet_start(&f, QUORUMS, NODES);
    redlock *r = fleet_open_warm(&f, 0);
    int64_t start_ms = now_ms();
    /* A caller that only a timer wakes would need half a second for most of them. */
    for (int i = 0; i < 100; i++)
        CHECK_OK(redlock_ping(r, NULL));
    CHECK_BETWEEN(0, LONG_MS + pulse_late_ms(), now_ms() - start_ms);
    redlock_close(r);
}

static void end_early(uint32_t flags)
{
    struct fleet f;
    struct heard forgotten = {0};
    struct heard canceled = {0};
    fleet_start(&f, QUORUMS, NODES);
    redlock *r = fleet_open_warm(&f, flags);
    for (size_t q = 0; q < QUORUMS; q++)
        cluster_each(&f.cluster[q], 0, NODES, server_freeze);
    for (int i = 0; i < 10; i++) {
        CHECK_OK(redlock_start_list(r, note, &forgotten));
        CHECK_OK(redlock_start_query(r, fleet_name(&f, (size_t)i % 3, i), note, &forgotten));
        CHECK_OK(redlock_start_ping(r, note, &canceled));
    }
    CHECK_OK(redlock_start_audit(r, 10000, note_check, note, &canceled));
    CHECK_INT(20, redlock_forget(r, &forgotten));
    CHECK_INT(0, redlock_forget(r, &forgotten));
    redlock_close(r);
    CHECK_INT(0, forgotten.calls);
    CHECK_INT(11, canceled.calls);
    CHECK_ERR(REDLOCK_CANCELED, canceled.error);
    CHECK_INT(0, canceled.checks);
}

CASE(early_end,
     "Questions to several quorums can be forgotten, and end when the client is closed.")
{
    end_early(0);
}

CASE(early_end_io_threads,
     "Forgetting and closing reach the questions of all quorums' threads.")
{
    end_early(REDLOCK_THREAD);
}

CASE(forked, "A child frees what several quorums were asked, and calls no callback.")
{
    struct fleet f;
    struct heard t = {0};
    int status = 0;
    fleet_start(&f, QUORUMS, NODES);
    redlock *r = fleet_open_warm(&f, 0);
    CHECK_OK(redlock_start_list(r, note, &t));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        redlock_close(r);
        _exit(t.calls == 0 ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(0, WEXITSTATUS(status));
    await_told(r, 0, is_heard, &t);
    CHECK_OK(t.error);
    redlock_close(r);
}

CASE(stats, "The counters of a client are the sum of its quorums, each of which has its own.")
{
    struct fleet f;
    redlock_stats stats = {.size = sizeof stats};
    fleet_start(&f, QUORUMS, NODES);
    redlock *r = fleet_open_warm(&f, 0);
    for (size_t q = 0; q < QUORUMS; q++)
        for (int i = 0; i <= (int)q; i++)
            client_unlock(client_lock(r, fleet_name(&f, q, i), 10000));
    CHECK_OK(redlock_stats_get(r, &stats));
    CHECK_INT(6, stats.acquired);
    CHECK_INT(6, stats.released);
    CHECK_INT(6, stats.hold.count);
    CHECK_OK(redlock_stats_get(redlock_member(r, 2), &stats));
    CHECK_INT(3, stats.acquired);
    redlock_close(r);
}
