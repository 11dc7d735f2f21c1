/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to the nodes that do not wait: their answers and their bounds. */
#include "evil.h"
#include "fixture.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { NAMES = 400 };

/* The answer to the only job, by a loop that never waits inside the library. */
static const redlock_answer *poll_answer(redlock *r, int error, redlock_job job)
{
    int64_t end_ms = now_ms() + GIVE_UP_MS;
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    const redlock_event *event;

    while (redlock_next(r, &event, 0) == 0) {
        CHECK(now_ms() < end_ms);
        CHECK(poll(&p, 1, GIVE_UP_MS) == 1);
    }
    CHECK_INT(REDLOCK_EVENT_ANSWERED, event->type);
    CHECK_ERR(error, event->error);
    CHECK(event->job == job && event->data == r && !event->lock);
    CHECK((event->detail[0] != '\0') == (error != REDLOCK_OK));
    CHECK_INT(sizeof *event->answer, event->answer->size);
    return event->answer;
}

static int answer_count(const redlock_report *report)
{
    int count = 0;

    for (size_t i = 0; i < report->node_count; i++)
        count += report->node[i].rtt_us >= 0;
    return count;
}

static void break_holder(redlock *r, const struct cluster *c)
{
    redlock_job job;
    char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1];
    redlock_lock *lock = client_lock(r, "broken", 20000);
    const redlock_answer *answer;

    CHECK_OK(redlock_start_query(r, "broken", r, &job));
    answer = poll_answer(r, REDLOCK_OK, job);
    CHECK_INT(1, answer->info->holders_shown);
    memcpy(fingerprint, answer->info->holders[0].fingerprint, sizeof fingerprint);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(redlock_start_break(r, "broken", fingerprint, r, &job));
        answer = poll_answer(r, i == 0 ? REDLOCK_OK : REDLOCK_EXPIRED, job);
        CHECK_STR("broken", answer->name);
        CHECK(answer->report && !answer->info);
    }
    CHECK_INT(0, cluster_count(c, "redlock:broken"));
    redlock_lock_free(lock);
}

CASE_ON(poll_loop,
        "Each request to the nodes is answered by one event, through one descriptor.",
        .also = {REDLOCK_THREAD})
{
    redlock_job job;
    const redlock_answer *answer;
    redlock_lock *lock = client_lock(r, "b", 20000);
    cluster_set(c, 0, 3, "redlock:a", "somebody", 600000);

    CHECK_OK(redlock_start_query(r, "b", r, &job));
    CHECK(job != 0);
    answer = poll_answer(r, REDLOCK_OK, job);
    CHECK_STR("b", answer->name);
    CHECK_INT(1, answer->info->held);
    CHECK_STR(redlock_value(lock), answer->info->holder.value);
    CHECK_INT(3, answer_count(answer->report));

    CHECK_OK(redlock_start_query(r, "c", r, &job));
    CHECK_INT(0, poll_answer(r, REDLOCK_OK, job)->info->held);

    break_holder(r, c);

    CHECK_OK(redlock_start_list(r, r, &job));
    answer = poll_answer(r, REDLOCK_OK, job);
    CHECK_INT(2, answer->name_count);
    CHECK_STR("a", answer->names[0]);
    CHECK_STR("b", answer->names[1]);
    CHECK(!answer->info && !answer->report);

    CHECK_OK(redlock_start_ping(r, r, &job));
    answer = poll_answer(r, REDLOCK_OK, job);
    CHECK_INT(3, answer_count(answer->report));
    CHECK(!answer->info && !answer->name);

    CHECK_OK(redlock_start_admit(r, r, &job));
    CHECK_INT(3, answer_count(poll_answer(r, REDLOCK_OK, job)->report));

    CHECK_OK(redlock_start_audit(r, 10000, r, &job));
    answer = poll_answer(r, REDLOCK_OK, job);
    CHECK(answer->check_count > 3 * 10);
    for (size_t i = 0; i < answer->check_count; i++)
        CHECK(answer->checks[i].name[0] != '\0' && answer->checks[i].text[0] != '\0');
    NO_EVENT(r);
}

CASE_ON(answer_outlives_client,
        "What a blocking call returned can be read after the client's end.")
{
    redlock_answer *audit = NULL, *query = NULL, *list = NULL;
    cluster_set(c, 0, 3, "redlock:a", "somebody", 600000);
    CHECK_OK(redlock_audit(r, 10000, &audit));
    CHECK_OK(redlock_query(r, "a", &query));
    CHECK_OK(redlock_list(r, &list));
    CHECK_OK(redlock_ping(r, NULL));
    client_close(r);
    CHECK_STR("", audit->checks[audit->check_count - 1].quorum);
    CHECK_STR("a", query->name);
    CHECK_STR("somebody", query->info->holder.value);
    CHECK_INT(3, query->report->node_count);
    CHECK_STR("a", list->names[0]);
    redlock_answer_free(audit);
    redlock_answer_free(query);
    redlock_answer_free(list);
    redlock_answer_free(NULL);
}

struct page {
    char name[16];
    int answered;
};

static struct page page[NAMES];

static void start_page(redlock *r)
{
    for (int i = 0; i < NAMES; i++) {
        redlock_job job;
        snprintf(page[i].name, sizeof page[i].name, "n%d", i);
        page[i].answered = 0;
        CHECK_OK(redlock_start_query(r, page[i].name, &page[i], &job));
    }
}

static const redlock_event *next_answer(redlock *r)
{
    const redlock_event *event;

    do {
        event = next_event(r, GIVE_UP_MS);
        CHECK(event != NULL);
    } while (event->type == REDLOCK_EVENT_WARNING);
    CHECK_INT(REDLOCK_EVENT_ANSWERED, event->type);
    return event;
}

/* Each is answered once. */
static void read_page(redlock *r, bool may_fail)
{
    for (int i = 0; i < NAMES; i++) {
        const redlock_event *event = next_answer(r);
        struct page *p = event->data;
        CHECK_INT(1, ++p->answered);
        CHECK_STR(p->name, event->answer->name);
        if (!may_fail) {
            CHECK_OK(event->error);
            CHECK_INT((p - page) % 4 == 0, event->answer->info->held);
        } else if (event->error) {
            CHECK_ERR(REDLOCK_NOQUORUM, event->error);
        }
    }
    NO_EVENT(r);
}

/* How many requests any node has not answered. */
static uint32_t pending_most(redlock *r, size_t nodes)
{
    uint32_t most = 0;

    for (size_t i = 0; i < nodes; i++) {
        redlock_node_info info = client_node(r, i);
        if (info.pending > most)
            most = info.pending;
    }
    return most;
}

CASE_ON(page_of_400,
        "400 locks are requested at once, so many at a time that nodes stay in time.",
        .nodes = 5, .also = {REDLOCK_THREAD})
{
    char key[32];
    for (int i = 0; i < NAMES; i += 4) {
        snprintf(key, sizeof key, "redlock:n%d", i);
        cluster_set(c, 0, 5, key, key, 600000);
    }
    cluster_each(c, 0, 5, server_freeze);
    start_page(r);
    if (!flags)
        NO_EVENT(r);
    /* Besides the jobs: a look at the node's clock, and what checks it. */
    CHECK_BETWEEN(flags ? 0 : REDLOCK_JOBS_SENT, REDLOCK_JOBS_SENT + 8, pending_most(r, 5));
    cluster_each(c, 0, 5, server_thaw);
    read_page(r, false);
}

CASE_ON(bounded, "One job past the bound is refused, and canceling makes room again.")
{
    static redlock_job jobs[REDLOCK_JOBS_MAX];
    redlock_job job = 7;
    cluster_each(c, 0, 3, server_freeze);
    for (int i = 0; i < REDLOCK_JOBS_MAX; i++)
        CHECK_OK(redlock_start_query(r, "x", NULL, &jobs[i]));
    CHECK_ERR(REDLOCK_NOMEM, redlock_start_query(r, "x", NULL, &job));
    CHECK_ERR(REDLOCK_NOMEM, redlock_start_ping(r, NULL, &job));
    CHECK_HAS("already", redlock_detail());
    CHECK_ERR(REDLOCK_NOMEM, redlock_ping(r, NULL));
    CHECK_INT(7, job);
    for (int i = 0; i < REDLOCK_JOBS_MAX; i++)
        CHECK_OK(redlock_cancel_job(r, jobs[i]));
    cluster_each(c, 0, 3, server_thaw);
    client_warm(r);
    CHECK_OK(redlock_start_query(r, "x", NULL, &job));
    EXPECT_ANSWER(r, REDLOCK_OK, job);
}

CASE_ON(not_behind_unread_answers,
        "A caller blocked in a query does not wait behind unread answers.",
        .also = {REDLOCK_THREAD})
{
    start_page(r);
    CHECK_OK(redlock_query(r, "x", NULL));
    CHECK_OK(redlock_list(r, NULL));
    CHECK_OK(redlock_admit(r, NULL));
    read_page(r, true);
}

CASE_ON(many_lists, "Lists that are started together are all answered, a few at a time.")
{
    cluster_set(c, 0, 3, "redlock:a", "somebody", 600000);
    for (int i = 0; i < 20; i++)
        CHECK_OK(redlock_start_list(r, NULL, NULL));
    for (int i = 0; i < 20; i++) {
        const redlock_event *event = next_answer(r);
        CHECK_OK(event->error);
        CHECK_INT(1, event->answer->name_count);
    }
}

CASE_ON(names_in_order, "A list has each name of any node once, in the order of the bytes.")
{
    redlock_answer *answer = NULL;
    for (int i = 0; i < 300; i++) {
        char key[32];
        snprintf(key, sizeof key, "redlock:%d", (i * 7919) % 1000);
        cluster_set(c, (size_t)i % 3, i % 2 ? 1 : 3 - (size_t)i % 3, key, "somebody", 600000);
    }
    CHECK_OK(redlock_list(r, &answer));
    CHECK_INT(300, answer->name_count);
    for (size_t i = 1; i < answer->name_count; i++)
        CHECK(strcmp(answer->names[i - 1], answer->names[i]) < 0);
    redlock_answer_free(answer);
}

CASE_ON(many_admissions,
        "Admissions that are started together are carried out one after another.")
{
    for (int i = 0; i < 5; i++)
        CHECK_OK(redlock_start_admit(r, NULL, NULL));
    for (int i = 0; i < 5; i++)
        CHECK_OK(next_answer(r)->error);
    client_unlock(client_lock(r, "x", 10000)); /* so they are one set (G8) */
}

CASE_ON(hung_nodes, "With one node of three hung the rest answers, with two the error says so.",
        .node_timeout_ms = STEADY_MS)
{
    redlock_job job;
    const redlock_answer *answer;
    cluster_each(c, 0, 1, server_freeze);
    CHECK_OK(redlock_start_query(r, "x", r, &job));
    CHECK_INT(2, answer_count(poll_answer(r, REDLOCK_OK, job)->report));
    cluster_each(c, 1, 1, server_freeze);
    CHECK_OK(redlock_start_query(r, "x", r, &job));
    answer = poll_answer(r, REDLOCK_NOQUORUM, job);
    CHECK(!answer->info);
    CHECK_INT(1, answer_count(answer->report));
    CHECK_OK(redlock_start_list(r, r, &job));
    answer = poll_answer(r, REDLOCK_NOQUORUM, job);
    CHECK_INT(0, answer->name_count);
    CHECK_INT(1, answer_count(answer->report));
}

CASE_ON(killed_nodes,
        "Queries end once each when a majority is killed while they are under way.", .nodes = 5,
        .also = {REDLOCK_THREAD})
{
    start_page(r);
    cluster_each(c, 0, 3, server_kill);
    read_page(r, true);
}

static void fails_with(redlock *r, int error)
{
    redlock_job job;
    const redlock_answer *answer;

    CHECK_OK(redlock_start_query(r, "x", r, &job));
    answer = poll_answer(r, error, job);
    CHECK(!answer->info && answer->report);
    client_close(r);
}

CASE(refused_credentials, "Nodes that want a password make a question end with AUTH.")
{
    static const char *const arguments[] = {"--requirepass", "secret", NULL};
    struct cluster c = {.count = 3};
    for (size_t i = 0; i < 3; i++) {
        server_init(&c.node[i], arguments, "secret");
        server_launch(&c.node[i]);
        snprintf(c.url[i], sizeof c.url[i], "redis://127.0.0.1:%d", c.node[i].port.number);
        c.urls[i] = c.url[i];
    }
    for (size_t i = 0; i < 3; i++)
        server_ready(&c.node[i]);
    fails_with(client_open(&c, 0), REDLOCK_AUTH);
}

CASE(no_redis, "Servers that are no Redis make a question end with PROTO.")
{
    struct evil evil[3];
    struct cluster c = {.count = 3};
    for (size_t i = 0; i < 3; i++) {
        evil_start(&evil[i], EVIL_HTTP);
        c.urls[i] = evil[i].url;
    }
    fails_with(client_open(&c, 0), REDLOCK_PROTO);
    for (size_t i = 0; i < 3; i++)
        evil_stop(&evil[i]);
}
