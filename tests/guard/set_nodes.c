/* SPDX-License-Identifier: BSD-2-Clause */
#include "set_nodes.h"

#include "check.h"
#include "clock.h"

#include <stdio.h>

redlock_options options_of(const struct cluster *c, size_t first, size_t count)
{
    redlock_options o = client_options(c);
    o.nodes = c->urls + first;
    o.node_count = count;
    return o;
}

redlock *open_nodes(const struct cluster *c, size_t first, size_t count, uint32_t flags)
{
    redlock_options o = options_of(c, first, count);
    redlock *r;
    o.flags = flags;
    r = client_open_with(&o);
    client_warm(r);
    return r;
}

int init_nodes(const struct cluster *c, size_t first, size_t count)
{
    redlock *r = open_nodes(c, first, count, 0);
    int error = redlock_admit(r, NULL);
    client_close(r);
    return error;
}

const char *set_of(const struct cluster *c, size_t node)
{
    return server_cmd(&c->node[node], "HGET", "redlock.admit", "set", NULL);
}

void write_set(const struct cluster *c, size_t node, const char *set)
{
    CHECK(server_int(&c->node[node], "HSET", "redlock.admit", "set", set, NULL) >= 0);
}

void await_outcome(redlock *r, int64_t ttl_ms, int expected)
{
    int64_t end_ms = now_ms() + GIVE_UP_MS;
    int error;
    while ((error = client_try(r, "x", ttl_ms)) != expected) {
        if (now_ms() >= end_ms)
            FAIL("still %s: %s", redlock_strerror(error), redlock_detail());
        sleep_ms(10);
    }
}

void restored_set(const struct cluster *c, char out[96])
{
    snprintf(out, 96, "%s", set_of(c, 0));
    CHECK_INT(':', out[16]);
    out[16] = '~';
}
