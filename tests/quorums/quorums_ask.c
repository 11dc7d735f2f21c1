/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs of several quorums, and the counters of all of them together. */
#include "fixture.h"
#include "fleet.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUORUMS = 3, NODES = 3 };

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

/* Those of the first quorum come first, and so on. */
static void check_order(const redlock_answer *answer)
{
    char order[8] = "";

    for (size_t i = 0; i < answer->check_count; i++) {
        size_t size = strlen(order);
        if (size == 0 || order[size - 1] != answer->checks[i].quorum[0])
            strncat(order, answer->checks[i].quorum, sizeof order - 1 - size);
    }
    CHECK_STR("abc", order);
    CHECK(answer->check_count > QUORUMS * NODES * 10);
}

CASE_ON(poll_loop,
        "A job of all quorums, of one name's and of one member ends in one event each.",
        .quorums = QUORUMS, .also = {REDLOCK_THREAD})
{
    redlock_job job;
    const redlock_answer *answer;
    const redlock_event *event;
    set_locks(fleet, 5);

    CHECK_OK(redlock_start_query(r, fleet_name(fleet, 2, 0), NULL, &job));
    answer = EXPECT_ANSWER(r, REDLOCK_OK, job)->answer;
    CHECK_STR("c", answer->report->quorum_name);

    CHECK_OK(redlock_start_list(r, NULL, &job));
    answer = EXPECT_ANSWER(r, REDLOCK_OK, job)->answer;
    CHECK_INT(QUORUMS * 5, answer->name_count);
    for (size_t i = 1; i < answer->name_count; i++)
        CHECK(strcmp(answer->names[i - 1], answer->names[i]) < 0);

    CHECK_OK(redlock_start_ping(r, fleet, &job));
    event = EXPECT_ANSWER(r, REDLOCK_OK, job);
    CHECK(event->data == fleet);
    CHECK_STR("a", event->answer->report->quorum_name);

    CHECK_OK(redlock_start_admit(r, NULL, &job));
    EXPECT_ANSWER(r, REDLOCK_OK, job);

    CHECK_OK(redlock_start_audit(r, 10000, NULL, &job));
    check_order(EXPECT_ANSWER(r, REDLOCK_OK, job)->answer);

    CHECK_OK(redlock_start_ping(redlock_member(r, 1), fleet, &job));
    event = EXPECT_ANSWER(r, REDLOCK_OK, job);
    CHECK(event->data == fleet);
    CHECK_STR("b", event->answer->report->quorum_name);
    NO_EVENT(r);
}

CASE_ON(answer_outlives_client, "An answer of all quorums can be read after the client's end.",
        .quorums = QUORUMS, .flags = REDLOCK_THREAD)
{
    redlock_answer *audit = NULL, *list = NULL, *ping = NULL;
    set_locks(fleet, 1);
    CHECK_OK(redlock_audit(r, 10000, &audit));
    CHECK_OK(redlock_list(r, &list));
    CHECK_OK(redlock_ping(r, &ping));
    client_close(r);
    check_order(audit);
    CHECK_INT(QUORUMS, list->name_count);
    CHECK_STR("a", ping->report->quorum_name);
    redlock_answer_free(audit);
    redlock_answer_free(list);
    redlock_answer_free(ping);
}

CASE_ON(one_down, "The answer of several quorums is the failure of the one that is down.",
        .quorums = QUORUMS, .also = {REDLOCK_THREAD})
{
    redlock_job job;
    const redlock_event *event;
    set_locks(fleet, 1);
    cluster_each(&fleet->cluster[1], 0, 2, server_kill);
    CHECK_OK(redlock_start_ping(r, NULL, &job));
    event = EXPECT_ANSWER(r, REDLOCK_NOQUORUM, job);
    CHECK_STR("b", event->answer->report->quorum_name);
    CHECK_HAS("'b'", event->detail);
    CHECK_OK(redlock_start_list(r, NULL, &job));
    event = EXPECT_ANSWER(r, REDLOCK_NOQUORUM, job);
    CHECK_INT(0, event->answer->name_count);
    CHECK_STR("b", event->answer->report->quorum_name);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_ping(r, NULL));
    CHECK_STR("b", redlock_failure_report()->quorum_name);
    CHECK_HAS("'b'", redlock_detail());
}

CASE_ON(all_hung, "Quorums that are all hung cost a blocked caller their time once, not each.",
        .quorums = QUORUMS, .node_timeout_ms = 5000)
{
    int64_t start_ms;
    fleet_each(fleet, server_freeze);
    start_ms = now_ms();
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_ping(r, NULL));
    CHECK_BETWEEN(5000 - 1, SOON_MS, now_ms() - start_ms);
    fleet_each(fleet, server_thaw); /* the close waits for none */
}

CASE_ON(blocked_caller_is_woken,
        "A caller blocked in a question to all quorums is woken by whichever answers last.",
        .quorums = QUORUMS)
{
    int64_t start_ms;
    start_ms = now_ms();
    /* A caller that only a timer wakes would need half a second for most of them. */
    for (int i = 0; i < 100; i++)
        CHECK_OK(redlock_ping(r, NULL));
    CHECK_BETWEEN(0, GIVE_UP_MS, now_ms() - start_ms);
}

CASE_ON(early_end,
        "Jobs of several quorums can be canceled, and end when the client is closed.",
        .quorums = QUORUMS, .also = {REDLOCK_THREAD})
{
    redlock_job jobs[20];
    fleet_each(fleet, server_freeze);
    for (int i = 0; i < 10; i++) {
        const char *name = fleet_name(fleet, (size_t)i % 3, i);
        CHECK_OK(redlock_start_list(r, NULL, &jobs[2 * i]));
        CHECK_OK(redlock_start_query(r, name, NULL, &jobs[2 * i + 1]));
        CHECK_OK(redlock_start_ping(r, NULL, NULL));
    }
    CHECK_OK(redlock_start_audit(r, 10000, NULL, NULL));
    for (int i = 0; i < 20; i++) {
        CHECK_OK(redlock_cancel_job(r, jobs[i]));
        CHECK_ERR(REDLOCK_INVAL, redlock_cancel_job(r, jobs[i]));
    }
}

CASE_ON(cancel, "No event comes of a job of all quorums that was canceled, and others go on.",
        .quorums = QUORUMS, .also = {REDLOCK_THREAD})
{
    redlock_job canceled[2], kept;
    fleet_each(fleet, server_freeze);
    CHECK_OK(redlock_start_list(r, NULL, &canceled[0]));
    CHECK_OK(redlock_start_audit(r, 10000, NULL, &canceled[1]));
    CHECK_OK(redlock_start_ping(r, NULL, &kept));
    for (int i = 0; i < 2; i++)
        CHECK_OK(redlock_cancel_job(r, canceled[i]));
    fleet_each(fleet, server_thaw);
    EXPECT_ANSWER(r, REDLOCK_OK, kept);
    CHECK_OK(redlock_list(r, NULL));
    NO_EVENT(r);
}

CASE_ON(not_behind_unread_answers,
        "A caller blocked in a question to all quorums does not wait behind unread answers.",
        .quorums = QUORUMS)
{
    for (int i = 0; i < 2 * REDLOCK_JOBS_SENT; i++) {
        CHECK_OK(redlock_start_ping(r, NULL, NULL));
        CHECK_OK(redlock_start_ping(redlock_member(r, 0), NULL, NULL));
    }
    CHECK_OK(redlock_list(r, NULL));
    CHECK_OK(redlock_ping(r, NULL));
    for (int left = 4 * REDLOCK_JOBS_SENT; left > 0;) {
        const redlock_event *event = next_event(r, GIVE_UP_MS);
        CHECK(event != NULL);
        if (event->type == REDLOCK_EVENT_WARNING)
            continue;
        CHECK_INT(REDLOCK_EVENT_ANSWERED, event->type);
        CHECK_OK(event->error);
        left--;
    }
    NO_EVENT(r);
}

CASE_ON(forked, "A child frees what several quorums were sent.", .quorums = QUORUMS)
{
    redlock_job job;
    int status = 0;
    pid_t pid;
    CHECK_OK(redlock_start_list(r, NULL, &job));
    NO_EVENT(r);
    CHECK_OK(redlock_start_audit(r, 10000, NULL, NULL));
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        client_close(r);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(0, WEXITSTATUS(status));
    EXPECT_ANSWER(r, REDLOCK_OK, job);
}

CASE_ON(stats,
        "The counters of a client are the sum of its quorums, each of which has its own.",
        .quorums = QUORUMS)
{
    redlock_counters stats = REDLOCK_COUNTERS();
    for (size_t q = 0; q < QUORUMS; q++)
        for (int i = 0; i <= (int)q; i++)
            client_unlock(client_lock(r, fleet_name(fleet, q, i), 10000));
    CHECK_OK(redlock_stats(r, &stats));
    CHECK_INT(6, stats.acquired);
    CHECK_INT(6, stats.released);
    CHECK_INT(6, stats.hold.count);
    CHECK_OK(redlock_stats(redlock_member(r, 2), &stats));
    CHECK_INT(3, stats.acquired);
}
