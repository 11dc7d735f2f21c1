/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes that are no servers, or no longer: silence, garbage, web servers, endless replies.
 * Whatever they do, the others decide in time, memory stays small, the report is true,
 * and a real server in their place is back in the vote within seconds.
 */
#include "evil.h"
#include "fake.h"
#include "fixture.h"
#include "proxy.h"

#include <stdio.h>

enum {
    ROUNDS = 20,
    /* The evil ones offer 64 MiB and more. A sanitizer's shadow makes memory harder to read. */
    GROWTH_MAX_KIB = CHECK_SANITIZED ? 24 * 1024 : 2 * 1024,
};

static void check_vote_of_evil(enum evil_kind kind, const redlock_report *report, uint32_t node)
{
    int vote = report->node[node].vote;
    bool fine = false;
    switch (kind) {
    case EVIL_SILENT:
    case EVIL_DEAF:
        /* Unreachable: after a second of silence the client has hung up. */
        fine = vote == REDLOCK_VOTE_SILENT || vote == REDLOCK_VOTE_PENDING ||
               vote == REDLOCK_VOTE_UNREACHABLE;
        break;
    case EVIL_CLOSES:
        fine = vote == REDLOCK_VOTE_UNREACHABLE || vote == REDLOCK_VOTE_PENDING;
        break;
    case EVIL_CHATTY:
        fine = vote != REDLOCK_VOTE_GRANTED; /* out of step: nothing it says is a vote */
        break;
    default:
        fine = vote == REDLOCK_VOTE_PROTO || vote == REDLOCK_VOTE_PENDING;
        break;
    }
    if (!fine)
        FAIL("vote of a %s node: %s", evil_name(kind), report_text(report));
}

/* Acquires and releases once; how long the acquisition took. */
static int64_t win_round(redlock *r, enum evil_kind kind)
{
    redlock_lock *lock = NULL;
    int64_t start_ms = now_ms();
    int64_t took_ms;
    CHECK_OK(redlock_acquire(r, "x", LONG_TTL_MS, NULL, &lock));
    took_ms = now_ms() - start_ms;
    check_vote_of_evil(kind, redlock_lock_report(lock), 0);
    check_vote_of_evil(kind, redlock_lock_report(lock), 1);
    client_unlock(lock);
    return took_ms;
}

/*
 * Two of five nodes are of this kind: locks are won all the same, by the votes of the others
 * alone. A round that waited for an evil node would take the node timeout.
 */
static void minority(struct cluster *c, enum evil_kind kind)
{
    struct evil e[2];
    redlock *r;
    long before_kib;
    int64_t end_ms;
    for (int i = 0; i < 2; i++) {
        server_kill(&c->node[i]);
        evil_start_on(&e[i], kind, c->node[i].port);
    }
    r = client_open_hasty(c, 0, FAR_MS);
    client_warm_nodes(r, 3); /* a silent node delays the first attempt, once */
    memory_forget_peak();
    before_kib = memory_peak_kib();
    end_ms = now_ms() + 500;
    for (int i = 0; i < ROUNDS; i++)
        CHECK_BETWEEN(0, SOON_MS, win_round(r, kind));
    while (now_ms() < end_ms) /* the evil nodes are tried again meanwhile */
        win_round(r, kind);
    CHECK_BETWEEN(0, GROWTH_MAX_KIB, memory_peak_kib() - before_kib);
    for (int i = 0; i < 2; i++) {
        CHECK(e[i].shared->connections > 0);
        evil_stop(&e[i]);
        server_restart_admitted(&c->node[i]);
    }
    CHECK(client_recovers(r, c, 5));
}

/* Three of five: the right error, in time. `node_timeout_ms` matters where
 * nodes say nothing. */
static void majority(struct cluster *c, enum evil_kind kind, int expected,
                     uint32_t node_timeout_ms)
{
    struct evil e[3];
    redlock *r;
    long before_kib;
    for (int i = 0; i < 3; i++) {
        server_kill(&c->node[i]);
        evil_start_on(&e[i], kind, c->node[i].port);
    }
    r = client_open_hasty(c, 0, node_timeout_ms);
    client_warm_nodes(r, 2);
    memory_forget_peak();
    before_kib = memory_peak_kib();
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start_ms = now_ms();
        CHECK_ERR(expected, client_try(r, "x", LONG_TTL_MS));
        CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    }
    CHECK_BETWEEN(0, GROWTH_MAX_KIB, memory_peak_kib() - before_kib);
    CHECK(cluster_await_empty(c));
    for (int i = 0; i < 3; i++) {
        evil_stop(&e[i]);
        server_restart_admitted(&c->node[i]);
    }
    CHECK(client_recovers(r, c, 5));
}

CASE_OF_ON(silent_minority, "Two nodes that accept and never answer delay no acquire.",
           minority(c, EVIL_SILENT), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(deaf_minority,
           "Two nodes that accept and never read delay no acquire and cost no memory.",
           minority(c, EVIL_DEAF), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(garbage_minority,
           "Two nodes that answer garbage are reported as PROTO and outvoted.",
           minority(c, EVIL_GARBAGE), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(http_minority, "Two web servers among the nodes are reported as such and outvoted.",
           minority(c, EVIL_HTTP), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(huge_bulk_minority, "A bulk header of 1 GiB is refused at the header.",
           minority(c, EVIL_HUGE_BULK), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(huge_array_minority, "An array header of 100,000,000 is refused at the header.",
           minority(c, EVIL_HUGE_ARRAY), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(deep_array_minority, "Arrays nested without end are refused.",
           minority(c, EVIL_DEEP_ARRAY), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(endless_line_minority, "A line without end is refused.",
           minority(c, EVIL_ENDLESS_LINE), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(closing_minority,
           "Two nodes that close every connection at once are retried with a backoff.",
           minority(c, EVIL_CLOSES), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(chatty_minority,
           "Replies that nodes send unasked or twice are votes for no request.",
           minority(c, EVIL_CHATTY), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(silent_majority,
           "Three silent nodes of five are NOQUORUM at the node timeout, and recover later.",
           majority(c, EVIL_SILENT, REDLOCK_NOQUORUM, 200), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(garbage_majority, "Three nodes of five that answer garbage are PROTO.",
           majority(c, EVIL_GARBAGE, REDLOCK_PROTO, FAR_MS), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(http_majority, "Three web servers among five nodes are PROTO.",
           majority(c, EVIL_HTTP, REDLOCK_PROTO, FAR_MS), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(huge_bulk_majority, "Three nodes of five that announce 1 GiB are PROTO.",
           majority(c, EVIL_HUGE_BULK, REDLOCK_PROTO, FAR_MS), .nodes = 5,
           .clients = NO_CLIENT);

CASE_NODES(backoff_is_bounded,
           "A node that closes every connection is retried with a bounded backoff.")
{
    struct evil e;
    server_kill(&c->node[0]);
    evil_start_on(&e, EVIL_CLOSES, c->node[0].port);
    r = client_open(c, REDLOCK_THREAD);
    sleep_ms(1500);
    CHECK_BETWEEN(2, 100, e.shared->connections);
}

static void poisoned(struct cluster *c, const char *poison, int expected)
{
    struct fake f[2];
    redlock *r;
    long before_kib;
    for (int i = 0; i < 2; i++) {
        fake_init(&f[i]);
        snprintf(f[i].shared->poison, sizeof f[i].shared->poison, "%s", poison);
        fake_run(&f[i]);
        c->urls[i] = f[i].url;
    }
    r = client_open_warm(c, 0);
    memory_forget_peak();
    before_kib = memory_peak_kib();
    for (int i = 0; i < 3; i++) {
        CHECK_ERR(expected, client_try(r, "x", 10000));
        CHECK_LACKS("granted] [127", report_text(redlock_failure_report()));
    }
    CHECK_BETWEEN(0, GROWTH_MAX_KIB, memory_peak_kib() - before_kib);
    CHECK(cluster_await_empty(c));
}

CASE_OF_ON(poison_huge_bulk, "A vote of 1 GiB is no vote and takes no memory.",
           poisoned(c, "$1073741824\r\n", REDLOCK_PROTO), .clients = NO_CLIENT);

CASE_OF_ON(poison_huge_array, "A vote of a hundred million elements is no vote.",
           poisoned(c, "*100000000\r\n", REDLOCK_PROTO), .clients = NO_CLIENT);

CASE_OF_ON(poison_endless_line, "A vote that never ends its line is no vote.",
           poisoned(c, "+O", REDLOCK_PROTO), .clients = NO_CLIENT);

CASE_OF_ON(poison_http, "A web page in place of a vote is no vote.",
           poisoned(c, "HTTP/1.1 200 OK\r\n\r\n", REDLOCK_PROTO), .clients = NO_CLIENT);

CASE_OF_ON(poison_integer, "An integer in place of a vote is no vote.",
           poisoned(c, ":1\r\n", REDLOCK_PROTO), .clients = NO_CLIENT);

CASE_OF_ON(poison_negative_bulk, "A bulk of length -2 is no vote.",
           poisoned(c, "$-2\r\n", REDLOCK_PROTO), .clients = NO_CLIENT);

CASE_NODES(one_byte_at_a_time, "Replies that arrive byte by byte are votes all the same.")
{
    struct proxy p[3];
    redlock_options o;
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 30000); /* a slow machine tries again */
    proxies_start(p, c, 3);
    for (int i = 0; i < 3; i++)
        p[i].switches->trickle = 1;
    o = client_options(c);
    o.node_timeout_ms = 15000; /* the greeting alone is some thousand bytes */
    r = client_open_with(&o);
    for (int i = 0; i < 3; i++) {
        redlock_lock *lock = NULL;
        CHECK_OK(redlock_acquire(r, "x", 60000, &q, &lock)); /* a quarter of it for a node */
        CHECK_OK(redlock_extend(lock, 60000));
        client_unlock(lock);
    }
}

CASE_NODES(cut_anywhere,
           "A connection cut after any number of bytes loses a vote, never a lock.")
{
    struct proxy p;
    proxy_before(&p, c, 0);
    for (int bytes = 1; bytes < 400; bytes += bytes < 60 ? 1 : 23) {
        p.switches->cut_after = bytes;
        r = client_open(c, 0);
        for (int i = 0; i < 3; i++)
            CHECK_ERR(REDLOCK_OK, client_try(r, "x", 20000));
        client_close(r);
    }
    /* On the cut node a key may wait for its expiry, on the others none may. */
    for (int i = 1; i < 3; i++)
        CHECK_INT(0, server_int(&c->node[i], "EXISTS", "redlock:x", NULL));
}

/* A reply without a request must not become the reply to the next request. */
CASE_NODES(unsolicited_reply, "A reply without a request is no vote for the next request.")
{
    struct proxy p[3];
    proxies_start(p, c, 3);
    r = client_open_warm(c, REDLOCK_THREAD);
    cluster_set(c, 0, 3, "redlock:x", "another", 30000);
    for (int i = 0; i < 3; i++)
        p[i].switches->inject++;
    sleep_ms(50); /* on its way to the I/O thread, which drops the connections */
    for (int i = 0; i < 3; i++) {
        redlock_lock *lock = NULL;
        int error = redlock_acquire(r, "x", 10000, NULL, &lock);
        CHECK(lock == NULL && error != REDLOCK_OK);
    }
    CHECK_INT(3, cluster_count_value(c, "redlock:x", "another"));
    CHECK(client_recovers(r, c, 3));
    for (int i = 0; i < 3; i++)
        CHECK_BETWEEN(2, 20, p[i].switches->connections);
}
