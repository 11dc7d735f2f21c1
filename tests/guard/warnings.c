/* SPDX-License-Identifier: BSD-2-Clause */
/* The cheap part of the audit: the warnings that any client gets through options.warn. */
#include "check.h"
#include "client.h"
#include "nodeclock.h"
#include "proxy.h"

#include <stdio.h>
#include <string.h>

enum { TTL_MS = 10000 };

struct warnings {
    int count;
    char text[16][256];
};

static void on_warn(const char *address, const char *text, void *data)
{
    struct warnings *w = data;
    CHECK(w->count < 16);
    snprintf(w->text[w->count++], sizeof w->text[0], "%s %s", address, text);
}

static bool is_warned(const struct warnings *w, const char *word)
{
    for (int i = 0; i < w->count; i++)
        if (strstr(w->text[i], word) != NULL)
            return true;
    return false;
}

static void warn_about(struct cluster *c, struct warnings *w)
{
    redlock_options o = client_options(c);
    memset(w, 0, sizeof *w);
    o.warn = on_warn;
    o.warn_data = w;
    redlock *r = client_open_with(&o);
    client_warm(r);
    for (int i = 0; i < 20; i++) {
        client_try(r, "x", TTL_MS);
        redlock_process(r, 0);
    }
    redlock_close(r);
    for (int i = 0; i < w->count; i++)
        printf("# %s\n", w->text[i]);
}

CASE(warns_of_nothing, "A client of healthy nodes gets no warning.")
{
    struct cluster c;
    struct warnings w;
    cluster_start(&c, 3);
    warn_about(&c, &w);
    CHECK_INT(0, w.count);
}

CASE(warns_at_open,
     "Duplicate nodes, replicas, eviction and an even number are each warned of once.")
{
    struct cluster c;
    struct server outside;
    struct warnings w;
    struct proxy p;
    char port[16];
    cluster_start(&c, 4);
    server_start(&outside, NULL);
    proxy_start(&p, c.node[0].port.number);
    c.urls[1] = p.url;
    snprintf(port, sizeof port, "%d", outside.port.number);
    CHECK_STR("OK", server_cmd(&c.node[2], "REPLICAOF", "127.0.0.1", port, NULL));
    CHECK_STR("OK", server_cmd(&c.node[3], "CONFIG", "SET", "maxmemory", "100mb",
                               "maxmemory-policy", "allkeys-lru", NULL));
    warn_about(&c, &w);
    CHECK(is_warned(&w, "same server"));
    CHECK(is_warned(&w, "replica"));
    CHECK(is_warned(&w, "evict"));
    CHECK(is_warned(&w, "even"));
    CHECK_INT(5, w.count); /* a duplicate is warned of twice, once per node */
}

CASE(warns_of_a_skewed_clock, "A node whose clock is far from the others is warned of.")
{
    struct cluster c;
    struct warnings w;
    nodeclock_cluster(&c, 3);
    nodeclock_step(&c.node[1], -90000);
    warn_about(&c, &w);
    CHECK_INT(1, w.count);
    CHECK(is_warned(&w, "clock"));
}
