/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes that die, hang and come back. Each case states the outcome, that a node is not waited
 * for where the others decide, and the recovery.
 */
#include "fixture.h"

#include <stdio.h>

enum { ROUNDS = 9 };

/* ROUNDS tries of one lock, each with this outcome at once. */
static void check_tries(redlock *r, int expected)
{
    for (int i = 0; i < ROUNDS; i++) {
        redlock_lock *lock = NULL;
        int64_t start_ms = now_ms();
        int error = redlock_acquire(r, "x", LONG_TTL_MS, NULL, &lock);
        CHECK_ERR(expected, error);
        if (lock != NULL)
            client_unlock(lock);
        CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    }
}

CASE_ON(two_gone,
        "One dead and one hung node of five delay no acquire, and both vote again later.",
        .nodes = 5, .node_timeout_ms = FAR_MS)
{
    server_kill(&c->node[0]);
    server_freeze(&c->node[3]);
    check_tries(r, REDLOCK_OK);
    server_thaw(&c->node[3]);
    server_restart_admitted(&c->node[0]);
    CHECK(client_recovers(r, c, 5));
    CHECK(cluster_await_empty(c));
}

CASE_ON(three_dead,
        "Three dead nodes of five are NOQUORUM at once, and nothing is left on the others.",
        .nodes = 5, .node_timeout_ms = FAR_MS)
{
    cluster_each(c, 0, 3, server_kill);
    check_tries(r, REDLOCK_NOQUORUM);
    CHECK(cluster_await_empty(c));
    cluster_each(c, 0, 3, server_restart_admitted);
    CHECK(client_recovers(r, c, 5));
}

CASE_ON(three_hung,
        "Three hung nodes of five are NOQUORUM at the node timeout, and no key is left later.",
        .nodes = 5, .node_timeout_ms = STEADY_MS)
{
    const redlock_report *report;
    cluster_each(c, 0, 3, server_freeze);
    CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "x", 10000));
    report = redlock_failure_report();
    CHECK_INT(5, report->node_count);
    CHECK_INT(3, report->quorum);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_INT(REDLOCK_VOTE_SILENT, report->node[i].vote);
    CHECK(report_votes(report, REDLOCK_VOTE_GRANTED) >= 1);
    check_tries(r, REDLOCK_NOQUORUM); /* after a second of silence, at once */
    cluster_each(c, 0, 3, server_thaw);
    CHECK(client_recovers(r, c, 5));
    /* The acquires they had not answered were followed by their rollbacks. */
    CHECK(cluster_await_empty(c));
}

CASE_ON(three_hung_while_held,
        "A release with three of five nodes hung is NOQUORUM, and no key is left later.",
        .nodes = 5, .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 20000);
    cluster_each(c, 0, 3, server_freeze);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_release(lock));
    redlock_lock_free(lock);
    cluster_each(c, 0, 3, server_thaw);
    CHECK(cluster_await_empty(c));
}

CASE_ON(refused_is_reported,
        "The report says connection refused for dead and granted for live nodes.", .nodes = 5,
        .node_timeout_ms = STEADY_MS)
{
    const redlock_report *report;
    cluster_each(c, 0, 3, server_kill);
    /* Past the first notice of the closed connection, the new tries are refused. */
    CHECK_ERR(REDLOCK_NOQUORUM, CLIENT_TRY(r, "x", 10000, .wait_ms = 2000));
    report = redlock_failure_report();
    for (uint32_t i = 0; i < 3; i++) {
        char address[64];
        snprintf(address, sizeof address, "127.0.0.1:%d", c->node[i].port.number);
        CHECK_STR(address, report->node[i].address);
        if (report->node[i].vote != REDLOCK_VOTE_REFUSED)
            FAIL("expected refused: %s", report_text(report));
        CHECK_INT(-1, report->node[i].rtt_us);
    }
    CHECK_INT(2, report_votes(report, REDLOCK_VOTE_GRANTED) +
                     report_votes(report, REDLOCK_VOTE_PENDING));
}

CASE_ON(restarted_in_the_middle, "A lock held over the restart of a node is kept and released.",
        .nodes = 5, .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 20000);
    server_restart(&c->node[2]);
    CHECK(redlock_remaining_ms(lock) > 0);
    CHECK_OK(redlock_extend(lock, 20000));
    CHECK_INT(4, cluster_count_value(c, "redlock:x", redlock_value(lock)));
    client_unlock(lock);
    CHECK(cluster_await_empty(c));
    server_restart_admitted(&c->node[2]);
    CHECK(client_recovers(r, c, 5));
}

CASE_ON(all_restarted, "A client survives the restart of every node.", .nodes = 5,
        .node_timeout_ms = FAR_MS)
{
    client_unlock(client_lock(r, "x", 10000));
    cluster_each(c, 0, 5, server_kill);
    check_tries(r, REDLOCK_NOQUORUM);
    cluster_each(c, 0, 5, server_restart_admitted);
    CHECK(client_recovers(r, c, 5));
}

CASE_ON(waiting_through_an_outage, "A waiter gets the lock soon after a majority is back.",
        .nodes = 5, .node_timeout_ms = FAR_MS)
{
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 1000);
    redlock_lock *lock = NULL;
    int64_t start_ms;
    cluster_each(c, 0, 3, server_freeze);
    start_ms = now_ms();
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_acquire(r, "x", LONG_TTL_MS, &q, &lock));
    CHECK_BETWEEN(1000, SOON_MS, now_ms() - start_ms);
    cluster_each(c, 0, 3, server_thaw);
    q.wait_ms = GIVE_UP_MS;
    CHECK_OK(redlock_acquire(r, "x", 10000, &q, &lock));
}

CASE(loading_is_reported, "A node that is loading its dataset is reported as loading.")
{
    static const char *const slow[] = {"--enable-debug-command",
                                       "yes",
                                       "--key-load-delay",
                                       "1000",
                                       "--loading-process-events-interval-bytes",
                                       "1024",
                                       "--save",
                                       "3600 1",
                                       NULL};
    struct cluster c;
    char size[16];
    redlock *r;
    int64_t end_ms;
    int vote = REDLOCK_VOTE_NONE;
    cluster_start_as(&c, 1, &(struct cluster_form){.extra = slow});
    snprintf(size, sizeof size, "%d", 20000);
    CHECK_STR("OK", server_cmd(&c.node[0], "DEBUG", "POPULATE", size, NULL));
    CHECK_STR("OK", server_cmd(&c.node[0], "SAVE", NULL));
    server_kill(&c.node[0]);
    server_launch(&c.node[0]);
    r = client_open(&c, 0);
    end_ms = now_ms() + GIVE_UP_MS;
    while (now_ms() < end_ms && vote != REDLOCK_VOTE_LOADING && vote != REDLOCK_VOTE_GRANTED) {
        redlock_lock *lock = NULL;
        int error = redlock_acquire(r, "x", 10000, NULL, &lock);
        redlock_lock_free(lock);
        vote = redlock_failure_report()->node[0].vote;
        if (vote == REDLOCK_VOTE_LOADING)
            CHECK_ERR(REDLOCK_NOQUORUM, error);
    }
    CHECK_INT(REDLOCK_VOTE_LOADING, vote);
    CHECK_INT(REDLOCK_REASON_LOADING, redlock_failure_report()->node[0].reason);
}

CASE_NODES(replica_is_reported,
           "A read-only replica grants nothing and is reported as read-only.")
{
    struct server outside; /* a master that gets its first replica changes its identity */
    char port[16];
    server_start(&outside, NULL);
    snprintf(port, sizeof port, "%d", outside.port.number);
    for (int i = 1; i < 3; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "REPLICAOF", "127.0.0.1", port, NULL));
    r = client_open(c, 0);
    CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "x", 10000));
    CHECK_INT(2, report_votes(redlock_failure_report(), REDLOCK_VOTE_READONLY));
    CHECK(redlock_failure_report()->node[0].vote != REDLOCK_VOTE_READONLY);
}

CASE_ON(full_memory_is_reported,
        "A node that is out of memory grants nothing, and is reported in its own words.")
{
    for (int i = 0; i < 2; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "CONFIG", "SET", "maxmemory", "1", NULL));
    CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "x", 10000));
    for (int i = 0; i < 2; i++) {
        CHECK_INT(REDLOCK_VOTE_ERROR, redlock_failure_report()->node[i].vote);
        CHECK_HAS("OOM", redlock_failure_report()->node[i].text);
    }
    for (int i = 0; i < 2; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "CONFIG", "SET", "maxmemory", "0", NULL));
    CHECK_OK(client_try(r, "x", 10000));
}
