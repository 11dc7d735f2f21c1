/* SPDX-License-Identifier: BSD-2-Clause */
/* How jobs end: closed, canceled, beside blocked callers, refused. */
#include "fixture.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUERIES = 100, LISTS = 10, JOBS = QUERIES + LISTS + 3 };

/* Some wait for their turn, and some are asked. */
static void start_all(redlock *r, redlock_job jobs[JOBS])
{
    int i = 0;

    while (i < QUERIES)
        CHECK_OK(redlock_start_query(r, "x", NULL, &jobs[i++]));
    while (i < QUERIES + LISTS)
        CHECK_OK(redlock_start_list(r, NULL, &jobs[i++]));
    CHECK_OK(redlock_start_ping(r, NULL, &jobs[i++]));
    CHECK_OK(redlock_start_admit(r, NULL, &jobs[i++]));
    CHECK_OK(redlock_start_audit(r, 10000, NULL, &jobs[i++]));
    CHECK_INT(JOBS, i);
}

CASE_ON(close_in_flight, "Closing ends jobs that wait, are under way or were answered.",
        .also = {REDLOCK_THREAD})
{
    redlock_job jobs[JOBS];
    CHECK_OK(redlock_start_ping(r, NULL, NULL));
    CHECK_OK(redlock_query(r, "x", NULL)); /* so that an answer waits unread */
    cluster_each(c, 0, 3, server_freeze);
    start_all(r, jobs);
}

CASE_ON(cancel, "No event comes of jobs that were canceled, and others go on.",
        .also = {REDLOCK_THREAD})
{
    redlock_job jobs[JOBS], kept;
    cluster_each(c, 0, 3, server_freeze);
    start_all(r, jobs);
    CHECK_OK(redlock_start_query(r, "x", &kept, &kept));
    if (!flags)
        NO_EVENT(r);
    for (int i = 0; i < JOBS; i++)
        CHECK_OK(redlock_cancel_job(r, jobs[i]));
    for (int i = 0; i < JOBS; i++)
        CHECK_ERR(REDLOCK_INVAL, redlock_cancel_job(r, jobs[i]));
    cluster_each(c, 0, 3, server_thaw);
    CHECK(EXPECT_ANSWER(r, REDLOCK_OK, kept)->data == &kept);
    NO_EVENT(r);
}

CASE_ON(cancel_rest, "A program that has read the first answer of a page cancels the rest.")
{
    redlock_job jobs[50];
    int canceled = 0;
    const redlock_event *event;
    for (int i = 0; i < 50; i++)
        CHECK_OK(redlock_start_query(r, "x", NULL, &jobs[i]));
    event = next_event(r, GIVE_UP_MS);
    CHECK(event != NULL && event->type == REDLOCK_EVENT_ANSWERED);
    for (int i = 0; i < 50; i++)
        if (redlock_cancel_job(r, jobs[i]) == REDLOCK_OK)
            canceled++;
        else
            CHECK(jobs[i] == event->job); /* which stays readable */
    CHECK_INT(49, canceled);
    CHECK_STR("x", event->answer->name);
    for (int i = 0; i < 10; i++)
        NO_EVENT(r);
}

CASE_ON(cancel_unread, "A job whose answer waits unread is canceled, and its event taken back.",
        .flags = REDLOCK_THREAD)
{
    redlock_job job;
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    NO_EVENT(r);
    CHECK_OK(redlock_start_ping(r, NULL, &job));
    CHECK(poll(&p, 1, GIVE_UP_MS) == 1);
    CHECK_OK(redlock_cancel_job(r, job));
    NO_EVENT(r);
    CHECK(poll(&p, 1, 0) == 0);
}

CASE_ON(beside_blocked_caller, "A caller blocked in a query drives the jobs of others.")
{
    redlock_job job;
    CHECK_OK(redlock_start_query(r, "x", NULL, &job));
    for (int i = 0; i < 10; i++)
        CHECK_OK(redlock_query(r, "y", NULL));
    cluster_each(c, 0, 3, server_freeze);
    EXPECT_ANSWER(r, REDLOCK_OK, job);
}

enum { THREADS = 4, ROUNDS = 50 };

struct starter {
    redlock *client;
    pthread_t thread;
    atomic_int ended[ROUNDS]; /* answered, or canceled */
};

static atomic_int ended_count;

static void *start_many(void *data)
{
    struct starter *a = data;

    for (int i = 0; i < ROUNDS; i++) {
        redlock_job job;
        CHECK_OK(redlock_start_query(a->client, "x", &a->ended[i], &job));
        if (i % 3 == 0 && redlock_cancel_job(a->client, job) == REDLOCK_OK) {
            a->ended[i]++;
            ended_count++;
        }
        if (i % 5 == 0)
            CHECK_OK(redlock_query(a->client, "x", NULL));
    }
    return NULL;
}

CASE_ON(threads,
        "Jobs that threads start and cancel on one client are answered or canceled, once.",
        .flags = REDLOCK_THREAD)
{
    static struct starter asker[THREADS];
    for (int i = 0; i < THREADS; i++) {
        asker[i].client = r;
        CHECK_INT(0, pthread_create(&asker[i].thread, NULL, start_many, &asker[i]));
    }
    for (int64_t end_ms = now_ms() + GIVE_UP_MS; ended_count < THREADS * ROUNDS;) {
        const redlock_event *event = next_event(r, 10);
        CHECK(now_ms() < end_ms);
        if (!event || event->type != REDLOCK_EVENT_ANSWERED)
            continue;
        CHECK_OK(event->error);
        ++*(atomic_int *)event->data;
        ended_count++;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(asker[i].thread, NULL);
        for (int k = 0; k < ROUNDS; k++)
            CHECK_INT(1, asker[i].ended[k]);
    }
    NO_EVENT(r);
}

CASE_ON(bad_input, "What makes no sense is refused at once, and nothing is started.",
        .nodes = 1)
{
    redlock_job job = 0;
    CHECK_ERR(REDLOCK_INVAL, redlock_start_query(NULL, "x", NULL, &job));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_query(r, NULL, NULL, &job));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_query(r, "", NULL, &job));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_break(r, "x", "no fingerprint", NULL, &job));
    CHECK_HAS("fingerprint", redlock_detail());
    CHECK_ERR(REDLOCK_INVAL, redlock_start_break(r, "x", NULL, NULL, &job));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_release_by_key(r, "x", "short", NULL, &job));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_list(NULL, NULL, &job));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_ping(NULL, NULL, &job));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_admit(NULL, NULL, &job));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_audit(r, 1, NULL, &job));
    CHECK_ERR(REDLOCK_INVAL, redlock_cancel_job(NULL, 64));
    CHECK_ERR(REDLOCK_INVAL, redlock_cancel_job(r, 0));
    CHECK_INT(0, job);
    NO_EVENT(r);
}

CASE_ON(forked, "A child frees the parent's jobs without an event, and may start none.")
{
    redlock_job jobs[2];
    int status = 0;
    pid_t pid;
    CHECK_OK(redlock_start_query(r, "x", NULL, &jobs[0]));
    CHECK_OK(redlock_start_list(r, NULL, &jobs[1]));
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        const redlock_event *event;
        int ok = redlock_start_query(r, "x", NULL, NULL) == REDLOCK_FORKED &&
                 redlock_cancel_job(r, jobs[0]) == REDLOCK_FORKED &&
                 redlock_next(r, &event, 0) == REDLOCK_FORKED;
        client_close(r);
        _exit(ok ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(0, WEXITSTATUS(status));
    EXPECT_ANSWER(r, REDLOCK_OK, jobs[0]);
    EXPECT_ANSWER(r, REDLOCK_OK, jobs[1]);
    NO_EVENT(r);
}
