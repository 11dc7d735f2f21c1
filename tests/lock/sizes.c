/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The quorum is exact for every number of nodes: with just a majority of the configured nodes
 * alive a lock is won, with one fewer it is not.
 */
#include "check.h"
#include "client.h"

static void exact_quorum(size_t nodes)
{
    struct cluster c;
    size_t quorum = nodes / 2 + 1;
    redlock *r = client_start(&c, nodes, 0);

    redlock_request q = REDLOCK_REQUEST();
    redlock_lock *lock = client_lock_as(r, "x", 20000, q);
    const redlock_report *report = redlock_lock_report(lock);
    CHECK_INT(nodes, report->node_count);
    CHECK_INT(quorum, report->quorum);
    CHECK(report_votes(report, REDLOCK_VOTE_GRANTED) >= (int)quorum);
    CHECK(cluster_await(&c, "redlock:x", (int)nodes));
    client_unlock(lock);
    CHECK(cluster_await_empty(&c));

    for (size_t i = quorum; i < nodes; i++)
        server_kill(&c.node[i]);
    lock = client_lock(r, "x", 20000);
    CHECK_INT(quorum, cluster_count(&c, "redlock:x"));
    CHECK_INT(0, redlock_margin(lock));
    CHECK_OK(redlock_extend(lock, 20000));
    client_unlock(lock);
    CHECK(cluster_await_empty(&c));

    server_kill(&c.node[0]);
    lock = NULL;
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_acquire(r, "x", 20000, &q, &lock));
    CHECK(lock == NULL);
    report = redlock_failure_report();
    /* Lost as soon as winning is impossible: some may not have answered by then. */
    CHECK_INT(quorum - 1, report_votes(report, REDLOCK_VOTE_GRANTED) +
                              report_votes(report, REDLOCK_VOTE_PENDING));
    CHECK(cluster_await_empty(&c));

    server_restart_admitted(&c.node[0]);
    q.wait_ms = 5000;
    CHECK_OK(redlock_acquire(r, "x", 20000, &q, &lock));
    client_unlock(lock);
    client_close(r);
}

/* The line between win and BUSY: held by another on all but the quorum. */
static void exact_votes(size_t nodes)
{
    struct cluster c;
    size_t quorum = nodes / 2 + 1;
    redlock *r = client_start(&c, nodes, 0);
    cluster_set(&c, 0, nodes - quorum, "redlock:x", "another", 60000);
    CHECK_OK(client_try(r, "x", 20000));
    CHECK(cluster_await(&c, "redlock:x", (int)(nodes - quorum)));
    cluster_set(&c, nodes - quorum, 1, "redlock:x", "another", 60000);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 20000));
    CHECK(cluster_await(&c, "redlock:x", (int)(nodes - quorum + 1)));
    client_close(r);
}

CASE(one_node, "One node of one is a majority, none is not.")
{
    exact_quorum(1);
    exact_votes(1);
}

CASE(two_nodes, "Two nodes of two are a majority, one is not.")
{
    exact_quorum(2);
    exact_votes(2);
}

CASE(three_nodes, "Two nodes of three are a majority, one is not.")
{
    exact_quorum(3);
    exact_votes(3);
}

CASE(four_nodes, "Three nodes of four are a majority, two are not.")
{
    exact_quorum(4);
    exact_votes(4);
}

CASE(five_nodes, "Three nodes of five are a majority, two are not.")
{
    exact_quorum(5);
    exact_votes(5);
}

CASE(fifteen_nodes, "Eight nodes of fifteen are a majority, seven are not.")
{
    exact_quorum(15);
    exact_votes(15);
}
