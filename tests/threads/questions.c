/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to the nodes that do not wait: their answers and their bounds. */
#include "asked.h"
#include "check.h"
#include "client.h"
#include "clock.h"
#include "evil.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 400 };

/* ---- answers ---- */

static void break_holder(redlock *r, uint32_t flags, const struct cluster *c)
{
    struct told t;
    char mark[REDLOCK_MARK_SIZE + 1];
    redlock_lock *lock = client_lock(r, "broken", 20000);

    CHECK_OK(ask_and_await(r, flags, "broken", &t));
    CHECK_INT(1, t.info.shown_holder_count);
    memcpy(mark, t.info.shown_holder[0].mark, sizeof mark);
    for (int i = 0; i < 2; i++) {
        t = (struct told){0};
        CHECK_OK(redlock_start_break(r, "broken", mark, told_note, &t));
        await_told(r, flags, is_told, &t);
        CHECK_ERR(i == 0 ? REDLOCK_OK : REDLOCK_EXPIRED, t.error);
        CHECK_STR("broken", t.name);
        CHECK(t.has_report && !t.has_info);
    }
    CHECK_INT(0, cluster_count(c, "redlock:broken"));
    redlock_lock_free(lock);
}

static void each_question(uint32_t flags)
{
    struct cluster c;
    struct told t = {0};
    redlock *r = client_start(&c, 3, flags);
    redlock_lock *lock = client_lock(r, "b", 20000);
    cluster_set(&c, 0, 3, "redlock:a", "somebody", 600000);

    CHECK_OK(redlock_start_query(r, "b", told_note, &t));
    CHECK(flags || t.calls == 0); /* never from within the call */
    await_told(r, flags, is_told, &t);
    CHECK_OK(t.error);
    CHECK_STR("b", t.name);
    CHECK_INT(1, t.info.held);
    CHECK_STR(redlock_value(lock), t.info.holder);
    CHECK(t.has_report && t.votes == 3);

    CHECK_OK(ask_and_await(r, flags, "c", &t));
    CHECK_INT(0, t.info.held);

    break_holder(r, flags, &c);

    t = (struct told){0};
    CHECK_OK(redlock_start_list(r, told_note, &t));
    await_told(r, flags, is_told, &t);
    CHECK_OK(t.error);
    CHECK_INT(2, t.names);
    CHECK_STR("a", t.first);
    CHECK_STR("b", t.last);
    CHECK(!t.has_info && !t.has_report);

    t = (struct told){0};
    CHECK_OK(redlock_start_ping(r, told_note, &t));
    await_told(r, flags, is_told, &t);
    CHECK_OK(t.error);
    CHECK(t.has_report && t.votes == 3 && !t.has_info);

    t = (struct told){0};
    CHECK_OK(redlock_start_admit(r, told_note, &t));
    await_told(r, flags, is_told, &t);
    CHECK_OK(t.error);
    CHECK(t.has_report && t.votes == 3);

    t = (struct told){0};
    CHECK_OK(redlock_start_audit(r, 10000, told_check, told_note, &t));
    await_told(r, flags, is_told, &t);
    CHECK_OK(t.error);
    CHECK(t.checks > 3 * 10);
    client_unlock(lock);
    redlock_close(r);
}

CASE(poll_loop, "Each question is answered through one descriptor, once and not from its call.")
{
    each_question(0);
}

CASE(io_thread, "Each question is answered by the I/O thread, exactly once.")
{
    each_question(REDLOCK_THREAD);
}

static void count_check(const redlock_check *check, void *data)
{
    (void)check;
    ++*(int *)data;
}

CASE(audit_of_both_kinds,
     "An audit says as much asynchronously as it does to a blocked caller.")
{
    struct cluster c;
    struct told t = {0};
    int count = 0;
    redlock *r = client_start(&c, 3, 0);
    CHECK_OK(redlock_audit(r, 10000, count_check, &count));
    CHECK_OK(redlock_start_audit(r, 10000, told_check, told_note, &t));
    await_told(r, 0, is_told, &t);
    CHECK_INT(count, t.checks);
    CHECK(cluster_await_empty(&c, 2000));
    redlock_close(r);
}

/* ---- many at once ---- */

static struct told page[NAMES];
static _Atomic int page_count;

static void note_page(int error, const redlock_answer *answer, void *data)
{
    told_note(error, answer, data);
    page_count++;
}

static bool is_page_told(void *data)
{
    (void)data;
    return page_count == NAMES;
}

/* How many requests any node has not answered. */
static uint32_t pending_most(redlock *r, size_t nodes)
{
    uint32_t most = 0;

    for (size_t i = 0; i < nodes; i++) {
        redlock_node_info info = {.size = sizeof info};
        CHECK_OK(redlock_node(r, i, &info));
        if (info.pending > most)
            most = info.pending;
    }
    return most;
}

static void status_page(uint32_t flags)
{
    struct cluster c;
    char name[32];
    redlock *r = client_start(&c, 5, flags);
    for (int i = 0; i < NAMES; i += 4) {
        snprintf(name, sizeof name, "redlock:n%d", i);
        cluster_set(&c, 0, 5, name, name, 600000);
    }
    cluster_each(&c, 0, 5, server_freeze);
    for (int i = 0; i < NAMES; i++) {
        page[i] = (struct told){0};
        snprintf(name, sizeof name, "n%d", i);
        CHECK_OK(redlock_start_query(r, name, note_page, &page[i]));
    }
    if (!flags)
        CHECK(redlock_process(r, 0) >= 0);
    /* Besides the questions: a look at the node's clock, and what checks it. */
    CHECK_BETWEEN(flags ? 0 : REDLOCK_QUESTIONS_SENT, REDLOCK_QUESTIONS_SENT + 8,
                  pending_most(r, 5));
    cluster_each(&c, 0, 5, server_thaw);
    await_told(r, flags, is_page_told, NULL);
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        CHECK_INT(1, page[i].calls);
        CHECK_OK(page[i].error);
        CHECK_STR(name, page[i].name);
        CHECK_INT(i % 4 == 0, page[i].info.held);
    }
    redlock_close(r);
}

CASE(page_of_400, "400 locks are asked for at once, so many at a time that nodes stay in time.")
{
    status_page(0);
}

CASE(page_of_400_io_thread, "An I/O thread answers 400 queries that were started at once.")
{
    status_page(REDLOCK_THREAD);
}

CASE(bounded, "One question past the bound is refused, and forgetting makes room again.")
{
    struct cluster c;
    struct told t = {0};
    redlock *r = client_start(&c, 3, 0);
    cluster_each(&c, 0, 3, server_freeze);
    for (int i = 0; i < REDLOCK_QUESTIONS_MAX; i++)
        CHECK_OK(redlock_start_query(r, "x", told_note, &t));
    CHECK_ERR(REDLOCK_NOMEM, redlock_start_query(r, "x", told_note, &t));
    CHECK_ERR(REDLOCK_NOMEM, redlock_start_ping(r, told_note, &t));
    CHECK_HAS("already", redlock_detail());
    CHECK_INT(REDLOCK_QUESTIONS_MAX, redlock_forget(r, &t));
    cluster_each(&c, 0, 3, server_thaw);
    CHECK_OK(ask_and_await(r, 0, "x", &t));
    redlock_close(r);
}

CASE(many_lists, "Lists that are started together are all answered, a few at a time.")
{
    struct cluster c;
    struct told t[20] = {0};
    redlock *r = client_start(&c, 3, 0);
    cluster_set(&c, 0, 3, "redlock:a", "somebody", 600000);
    for (int i = 0; i < 20; i++)
        CHECK_OK(redlock_start_list(r, told_note, &t[i]));
    for (int i = 0; i < 20; i++) {
        await_told(r, 0, is_told, &t[i]);
        CHECK_OK(t[i].error);
        CHECK_INT(1, t[i].names);
    }
    redlock_close(r);
}

CASE(many_admissions, "Admissions that are started together are carried out one after another.")
{
    struct cluster c;
    struct told t[5] = {0};
    redlock *r = client_start(&c, 3, 0);
    for (int i = 0; i < 5; i++)
        CHECK_OK(redlock_start_admit(r, told_note, &t[i]));
    for (int i = 0; i < 5; i++) {
        await_told(r, 0, is_told, &t[i]);
        CHECK_OK(t[i].error);
    }
    client_unlock(client_lock(r, "x", 10000)); /* so they are one set (G8) */
    redlock_close(r);
}

/* ---- nodes that fail ---- */

CASE(hung_nodes, "With one node of three hung the rest answers, with two the error says so.")
{
    struct cluster c;
    struct told t;
    redlock *r = client_start_hasty(&c, 3, 0, STEADY_MS);
    cluster_each(&c, 0, 1, server_freeze);
    CHECK_OK(ask_and_await(r, 0, "x", &t));
    CHECK_INT(2, t.votes);
    cluster_each(&c, 1, 1, server_freeze);
    CHECK_ERR(REDLOCK_NOQUORUM, ask_and_await(r, 0, "x", &t));
    CHECK(!t.has_info && t.has_report && t.has_detail);
    CHECK_INT(1, t.votes);
    t = (struct told){0};
    CHECK_OK(redlock_start_list(r, told_note, &t));
    await_told(r, 0, is_told, &t);
    CHECK_ERR(REDLOCK_NOQUORUM, t.error);
    CHECK_INT(0, t.names);
    redlock_close(r);
}

static void die_amid(uint32_t flags)
{
    struct cluster c;
    char name[32];
    redlock *r = client_start(&c, 5, flags);
    for (int i = 0; i < NAMES; i++) {
        page[i] = (struct told){0};
        snprintf(name, sizeof name, "n%d", i);
        CHECK_OK(redlock_start_query(r, name, note_page, &page[i]));
    }
    if (!flags)
        CHECK(redlock_process(r, 10) >= 0);
    cluster_each(&c, 0, 3, server_kill);
    await_told(r, flags, is_page_told, NULL);
    for (int i = 0; i < NAMES; i++) {
        CHECK_INT(1, page[i].calls);
        CHECK(page[i].error == REDLOCK_OK || page[i].error == REDLOCK_NOQUORUM);
    }
    redlock_close(r);
}

CASE(killed_nodes, "Queries end once each when a majority is killed while they are under way.")
{
    die_amid(0);
}

CASE(killed_nodes_io_thread,
     "An I/O thread ends each query when a majority is killed meanwhile.")
{
    die_amid(REDLOCK_THREAD);
}

CASE(refused_credentials, "Nodes that want a password make a question end with AUTH.")
{
    static const char *const arguments[] = {"--requirepass", "secret", NULL};
    struct cluster c = {.count = 3};
    struct told t = {0};
    for (size_t i = 0; i < 3; i++) {
        server_init(&c.node[i], arguments, "secret");
        server_launch(&c.node[i]);
        snprintf(c.url[i], sizeof c.url[i], "redis://127.0.0.1:%d", c.node[i].port.number);
        c.urls[i] = c.url[i];
    }
    for (size_t i = 0; i < 3; i++)
        server_ready(&c.node[i]);
    redlock *r = client_open(&c, 0);
    CHECK_ERR(REDLOCK_AUTH, ask_and_await(r, 0, "x", &t));
    CHECK(!t.has_info && t.has_report && t.has_detail);
    redlock_close(r);
}

CASE(no_redis, "Servers that are no Redis make a question end with PROTO.")
{
    struct evil evil[3];
    struct cluster c = {.count = 3};
    struct told t = {0};
    for (size_t i = 0; i < 3; i++) {
        evil_start(&evil[i], EVIL_HTTP);
        c.urls[i] = evil[i].url;
    }
    redlock *r = client_open(&c, 0);
    CHECK_ERR(REDLOCK_PROTO, ask_and_await(r, 0, "x", &t));
    CHECK(!t.has_info && t.has_report && t.has_detail);
    redlock_close(r);
    for (size_t i = 0; i < 3; i++)
        evil_stop(&evil[i]);
}
