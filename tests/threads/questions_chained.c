/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs that are started for what the answers to others say. */
#include "fixture.h"

#include <poll.h>
#include <stdio.h>

CASE_ON(from_answers,
        "A list, a query of each name, a ping and an audit follow from each other.",
        .also = {REDLOCK_THREAD})
{
    char key[32];
    redlock_job job;
    const redlock_answer *answer;
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "redlock:n%d", i);
        cluster_set(c, 0, 3, key, "somebody", 600000);
    }
    CHECK_OK(redlock_start_list(r, NULL, &job));
    answer = EXPECT_ANSWER(r, REDLOCK_OK, job)->answer;
    CHECK_INT(100, answer->name_count);
    CHECK_OK(redlock_ping(r, NULL)); /* a blocking call: the event stays as it is */
    for (size_t i = 0; i < answer->name_count; i++)
        CHECK_OK(redlock_start_query(r, answer->names[i], NULL, NULL));
    for (int left = 100; left > 0;) {
        const redlock_event *event = next_event(r, GIVE_UP_MS);
        CHECK(event != NULL);
        if (event->type == REDLOCK_EVENT_WARNING)
            continue;
        CHECK_OK(event->error);
        CHECK(event->answer->info->held);
        if (--left == 0)
            CHECK_OK(redlock_start_ping(r, NULL, &job));
    }
    EXPECT_ANSWER(r, REDLOCK_OK, job);
    CHECK_OK(redlock_start_audit(r, 10000, NULL, &job));
    CHECK(EXPECT_ANSWER(r, REDLOCK_OK, job)->answer->check_count > 0);
}

CASE_ON(asks_again,
        "A drain ends although each answer makes a program ask dead nodes once more.")
{
    redlock_job job;
    int answered = 0;
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    cluster_each(c, 0, 3, server_kill);
    CHECK_OK(redlock_start_query(r, "x", NULL, &job));
    for (int64_t end_ms = now_ms() + GIVE_UP_MS; answered < 200;) {
        const redlock_event *event;
        int drained = 0;
        CHECK(now_ms() < end_ms);
        CHECK(poll(&p, 1, 5000) == 1);
        for (; redlock_next(r, &event, 0) == 1; drained++) {
            if (event->type == REDLOCK_EVENT_WARNING)
                continue;
            CHECK_ERR(REDLOCK_NOQUORUM, event->error);
            answered++;
            CHECK_OK(redlock_start_query(r, "x", NULL, &job));
        }
        CHECK_BETWEEN(0, 2, drained);
    }
    CHECK_OK(redlock_cancel_job(r, job));
    NO_EVENT(r);
}
