/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock_audit() must find each planted fault, name the node and say what to do; on healthy
 * nodes it must find nothing, and where a server hides something it must be "unknown".
 */
#include "findings.h"
#include "fixture.h"
#include "nodeclock.h"
#include "proxy.h"
#include "resp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CASE_NODES(healthy, "The audit of three good nodes finds nothing and leaves nothing on them.")
{
    struct findings all;
    static const char *const node_checks[] = {"reachable",   "role",    "identity", "eviction",
                                              "persistence", "clock",   "latency",  "rights",
                                              "fencing",     "waiting", "kinds",    "guard"};
    audit(c, &all);
    expect_only(&all, (const char *const[]){NULL});
    for (int node = 0; node < 3; node++)
        for (size_t i = 0; i < sizeof node_checks / sizeof node_checks[0]; i++)
            expect(&all, c, node, node_checks[i], REDLOCK_CHECK_OK);
    expect(&all, c, -1, "number", REDLOCK_CHECK_OK);
    expect(&all, c, -1, "versions", REDLOCK_CHECK_OK);
    CHECK(cluster_await_empty(c));
}

CASE_NODES(same_server_twice,
           "The audit of two addresses of one server fails the identity of both.")
{
    struct findings all;
    struct proxy p;
    proxy_start(&p, c->node[0].port.number);
    c->urls[1] = p.url;
    audit(c, &all);
    expect(&all, c, 0, "identity", REDLOCK_CHECK_FAIL);
    expect(&all, c, 1, "identity", REDLOCK_CHECK_FAIL);
    expect(&all, c, 2, "identity", REDLOCK_CHECK_OK);
    expect_only(&all, (const char *const[]){"identity", "guard", "rights", "fencing", NULL});
}

CASE_NODES(replica, "The audit of a replica fails its role and its rights.")
{
    struct findings all;
    struct server outside;
    char port[16];
    server_start(&outside, NULL);
    snprintf(port, sizeof port, "%d", outside.port.number);
    CHECK_STR("OK", server_cmd(&c->node[2], "REPLICAOF", "127.0.0.1", port, NULL));
    audit(c, &all);
    expect(&all, c, 2, "role", REDLOCK_CHECK_FAIL);
    expect(&all, c, 0, "role", REDLOCK_CHECK_OK);
    CHECK_HAS("master", find(&all, c, 2, "role")->remedy);
    CHECK_LACKS("init", find(&all, c, 2, "guard")->remedy);
    expect_only(&all, (const char *const[]){"role", "rights", "fencing", "guard", NULL});
}

CASE_NODES(failover,
           "The audit warns of a master that has a replica, or that a Sentinel watches.")
{
    static const char *const hello[] = {"SUBSCRIBE", "__sentinel__:hello", NULL};
    struct findings all;
    struct server outside;
    char port[16], reply[256];
    struct resp *sentinel;
    server_start(&outside, NULL);
    snprintf(port, sizeof port, "%d", c->node[0].port.number);
    CHECK_STR("OK", server_cmd(&outside, "REPLICAOF", "127.0.0.1", port, NULL));
    AWAIT(strstr(server_cmd(&c->node[0], "INFO", "replication", NULL), "connected_slaves:1") !=
          NULL);
    sentinel = resp_unix(c->node[1].socket_path);
    CHECK(sentinel != NULL && resp_send(sentinel, hello) == 0 &&
          resp_read(sentinel, reply, sizeof reply) == 0);
    audit(c, &all);
    expect(&all, c, 0, "role", REDLOCK_CHECK_WARN);
    CHECK_HAS("master with 1 replica: a replica that takes over votes at once",
              find(&all, c, 0, "role")->text);
    CHECK_HAS("without replicas", find(&all, c, 0, "role")->remedy);
    expect(&all, c, 1, "role", REDLOCK_CHECK_WARN);
    CHECK_HAS("watched by a Sentinel", find(&all, c, 1, "role")->text);
    expect(&all, c, 2, "role", REDLOCK_CHECK_OK);
    /* The first replica of a server gives it another replication id: its marker is of
     * no use now. */
    expect_only(&all, (const char *const[]){"role", "guard", NULL});
    resp_free(sentinel);
}

CASE_NODES(evicting,
           "The audit fails the eviction of a node with volatile-lru and a memory limit.")
{
    struct findings all;
    const struct server *s = &c->node[1];
    CHECK_STR("OK", server_cmd(s, "CONFIG", "SET", "maxmemory-policy", "volatile-lru", NULL));
    audit(c, &all); /* without a limit nothing is ever evicted */
    expect(&all, c, 1, "eviction", REDLOCK_CHECK_OK);
    CHECK_STR("OK", server_cmd(s, "CONFIG", "SET", "maxmemory", "100mb", NULL));
    audit(c, &all);
    expect(&all, c, 1, "eviction", REDLOCK_CHECK_FAIL);
    CHECK_HAS("volatile-lru", find(&all, c, 1, "eviction")->text);
    CHECK_HAS("noeviction", find(&all, c, 1, "eviction")->remedy);
    expect_only(&all, (const char *const[]){"eviction", NULL});
    CHECK_STR("OK", server_cmd(s, "CONFIG", "SET", "maxmemory-policy", "noeviction", NULL));
    audit(c, &all);
    expect(&all, c, 1, "eviction", REDLOCK_CHECK_OK);
}

CASE_NODES(skewed_clock,
           "The audit warns about a clock that is a minute off, and says by how much.",
           .start = nodeclock_cluster)
{
    struct findings all;
    double off;
    nodeclock_step(&c->node[2], 60000);
    audit(c, &all);
    expect(&all, c, 2, "clock", REDLOCK_CHECK_WARN);
    expect(&all, c, 0, "clock", REDLOCK_CHECK_OK);
    expect(&all, c, 1, "clock", REDLOCK_CHECK_OK);
    /* Where within the round trip the node read its clock is not known: a little less
     * is right too. */
    off = strtod(find(&all, c, 2, "clock")->text, NULL);
    CHECK(off > 59 && off < 61);
    expect_only(&all, (const char *const[]){"clock", NULL});
}

CASE_NODES(even_number, "The audit warns about an even number of nodes.", .nodes = 4)
{
    struct findings all;
    audit(c, &all);
    expect(&all, c, -1, "number", REDLOCK_CHECK_WARN);
    CHECK_HAS("odd", find(&all, c, -1, "number")->remedy);
    expect_only(&all, (const char *const[]){"number", NULL});
}

CASE_NODES(slow_node,
           "The audit fails the latency of a node that is slower than the TTL allows.")
{
    struct findings all;
    struct proxy p;
    redlock_options o;
    proxy_start(&p, c->node[1].port.number);
    p.switches->down_delay_ms = 150;
    c->urls[1] = p.url;
    o = client_options(c);
    audit_with(&o, 400, &all); /* a quarter of it is allowed */
    expect(&all, c, 1, "latency", REDLOCK_CHECK_FAIL);
    expect(&all, c, 0, "latency", REDLOCK_CHECK_OK);
    audit_with(&o, 10000, &all);
    expect(&all, c, 1, "latency", REDLOCK_CHECK_OK);
    expect_only(&all, (const char *const[]){NULL});
}

CASE_NODES(dead_nodes,
           "The audit fails dead nodes as unreachable, and the number when too many are dead.")
{
    struct findings all;
    redlock_options o = client_options(c);
    o.node_timeout_ms = 500;
    server_kill(&c->node[0]);
    audit_with(&o, TTL_MS, &all);
    expect(&all, c, 0, "reachable", REDLOCK_CHECK_FAIL);
    expect(&all, c, -1, "number", REDLOCK_CHECK_OK);
    server_freeze(&c->node[1]);
    audit_with(&o, TTL_MS, &all);
    expect(&all, c, 1, "reachable", REDLOCK_CHECK_FAIL);
    expect(&all, c, 2, "reachable", REDLOCK_CHECK_OK);
    expect(&all, c, -1, "number", REDLOCK_CHECK_FAIL);
    server_thaw(&c->node[1]);
}

CASE_NODES(young_nodes,
           "The audit warns about nodes that may not vote yet, and names their admission.",
           .young = true)
{
    struct findings all;
    audit(c, &all);
    for (int i = 0; i < 3; i++) {
        expect(&all, c, i, "guard", REDLOCK_CHECK_WARN);
        CHECK_HAS("admit it", find(&all, c, i, "guard")->remedy);
        expect(&all, c, i, "rights", REDLOCK_CHECK_OK);
    }
}

CASE_NODES(bad_counters, "The audit warns about fence counters that no clock can have "
                         "reached, and names one.")
{
    static const char *const numbers[] = {"9007199254740993", "1e300", "nan", "-1", "1.5",
                                          "4503599627370495"};
    struct findings all;
    redlock_lock *lock;
    for (int i = 0; i < 200; i++) {
        char key[64];
        snprintf(key, sizeof key, "redlock.fence:fine-%d", i);
        server_cmd(&c->node[i % 3], "HSET", key, "i", "1700000000000000", NULL);
        snprintf(key, sizeof key, "redlock:other-%d", i);
        server_cmd(&c->node[i % 3], "SET", key, "v", "PX", "60000", NULL);
    }
    audit(c, &all);
    expect_only(&all, (const char *const[]){NULL});
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        server_cmd(&c->node[1], "HSET", "redlock.fence:job", "i", numbers[i], NULL);
        audit(c, &all);
        expect(&all, c, 1, "fencing", REDLOCK_CHECK_WARN);
        expect(&all, c, 0, "fencing", REDLOCK_CHECK_OK);
        expect_only(&all, (const char *const[]){"fencing", NULL});
        CHECK_HAS("1 counter", find(&all, c, 1, "fencing")->text);
        CHECK_HAS("redlock.fence:job", find(&all, c, 1, "fencing")->text);
        CHECK_HAS("DEL", find(&all, c, 1, "fencing")->remedy);
    }
    /* What is no counter at all, and the counter of a key of another prefix. */
    server_cmd(&c->node[2], "SET", "redlock.fence@other", "7", NULL);
    server_cmd(&c->node[2], "HSET", "redlock.fence:two", "a", "1", "b", "2", NULL);
    audit(c, &all);
    CHECK_HAS("2 counters", find(&all, c, 2, "fencing")->text);
    /* A fenced lock of the name mends it. */
    r = client_open_warm(c, 0);
    lock = CLIENT_LOCK(r, "job", TTL_MS, .flags = REDLOCK_FENCED);
    client_unlock(lock);
    client_close(r);
    audit(c, &all);
    expect(&all, c, 1, "fencing", REDLOCK_CHECK_OK);
}
