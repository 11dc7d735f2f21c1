/* SPDX-License-Identifier: BSD-2-Clause */
/* The cheap part of the audit: the warnings that any client gets as events. */
#include "fixture.h"
#include "nodeclock.h"
#include "proxy.h"

#include <stdio.h>

enum { TTL_MS = 10000 };

/* How many warnings a client of these nodes gets, and their words. */
static int warn_about(struct cluster *c, char warnings[4096])
{
    redlock *r = client_open_warm(c, 0);
    int count;
    warnings[0] = '\0';
    for (int i = 0; i < 20; i++)
        client_try(r, "x", TTL_MS);
    count = read_warnings(r, warnings, 4096);
    CHECK_INT(0, read_warnings(r, warnings, 4096));
    client_close(r);
    printf("# %s", warnings);
    return count;
}

CASE_NODES(warns_of_nothing, "A client of healthy nodes gets no warning.")
{
    char warnings[4096];
    CHECK_INT(0, warn_about(c, warnings));
}

CASE_NODES(warns_at_open,
           "Duplicate nodes, replicas, eviction and an even number are each warned of once.",
           .nodes = 4)
{
    struct server outside;
    char warnings[4096], port[16];
    struct proxy p;
    server_start(&outside, NULL);
    proxy_start(&p, c->node[0].port.number);
    c->urls[1] = p.url;
    snprintf(port, sizeof port, "%d", outside.port.number);
    CHECK_STR("OK", server_cmd(&c->node[2], "REPLICAOF", "127.0.0.1", port, NULL));
    CHECK_STR("OK", server_cmd(&c->node[3], "CONFIG", "SET", "maxmemory", "100mb",
                               "maxmemory-policy", "allkeys-lru", NULL));
    CHECK_INT(5, warn_about(c, warnings)); /* a duplicate is warned of twice, once per node */
    CHECK_HAS("same server", warnings);
    CHECK_HAS("replica", warnings);
    CHECK_HAS("evict", warnings);
    CHECK_HAS("even", warnings);
}

CASE_NODES(warns_of_a_skewed_clock, "A node whose clock is far from the others is warned of.",
           .start = nodeclock_cluster)
{
    char warnings[4096];
    nodeclock_step(&c->node[1], -90000);
    CHECK_INT(1, warn_about(c, warnings));
    CHECK_HAS("clock", warnings);
}
