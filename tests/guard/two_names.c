/* SPDX-License-Identifier: BSD-2-Clause */
/* One server that a client has two names for: it must not count twice (G8). */
#include "fixture.h"
#include "proxy.h"
#include "set_nodes.h"

enum { TTL_MS = 10000 };

static int try_as(redlock *r, const char *owner, int64_t wait_ms)
{
    return CLIENT_TRY(r, "x", TTL_MS, .kind = REDLOCK_REENTRANT, .owner = owner,
                      .wait_ms = wait_ms);
}

/* Node 0 by two names, and node 1: by itself it is no majority of these. */
static redlock *open_doubled(const struct cluster *c, const struct proxy *p, uint32_t flags)
{
    const char *const urls[] = {c->urls[0], p->url, c->urls[1]};
    return CLIENT_OPEN(c, .nodes = urls, .node_count = 3, .flags = flags);
}

CASE_NODES(one_server_two_names, "A server that a client has two names for counts once.",
           .also = {REDLOCK_STRICT})
{
    struct proxy p;
    redlock_lock *lock;
    redlock *twice;
    redlock_node_info info, second;
    CHECK_OK(init_nodes(c, 0, 3));
    proxy_start(&p, c->node[0].port.number);
    r = client_open_warm(c, flags);
    lock = CLIENT_LOCK(r, "x", TTL_MS, .kind = REDLOCK_REENTRANT, .owner = "right");
    CHECK(cluster_await(c, "redlock:x", 3));
    CHECK_INT(1,
              server_int(&c->node[0], "DEL", "redlock:x", NULL)); /* as if it had been away */
    for (int i = 0; i < 20; i++) {
        twice = open_doubled(c, &p, flags);
        CHECK_NEVER(try_as(twice, "wrong", 0) == REDLOCK_OK);
        client_close(twice);
    }
    twice = open_doubled(c, &p, flags);
    client_warm(twice);
    CHECK_NEVER(try_as(twice, "wrong", 0) == REDLOCK_OK);
    proxy_cut(&p);
    client_warm(twice);
    CHECK_NEVER(try_as(twice, "wrong", 0) == REDLOCK_OK);
    client_unlock(lock);
    CHECK_OK(try_as(twice, "wrong", 5000)); /* node 0 and node 1 are a majority */
    info = client_node(twice, 0);
    second = client_node(twice, 1);
    CHECK_INT(1, info.quarantined + second.quarantined);
    CHECK_INT(0, info.misplaced + second.misplaced); /* one server twice is of its own set */
    CHECK_HAS("same server", info.quarantined ? info.text : second.text);
    server_stop(&c->node[1]);
    CHECK_REFUSED(REDLOCK_GUARDED, try_as(twice, "wrong", 0));
    CHECK_HAS("its own server", redlock_detail());
}

CASE_NODES(one_server_two_names_of_a_mutex,
           "A plain lock is had from a server with two names and another, and from no less.",
           .nodes = 2)
{
    struct proxy p;
    redlock *twice;
    redlock_lock *lock;
    proxy_start(&p, c->node[0].port.number);
    twice = open_doubled(c, &p, 0);
    lock = CLIENT_LOCK(twice, "x", TTL_MS, .wait_ms = 5000);
    client_unlock(lock);
    server_restart(&c->node[0]); /* another run_id, and the names are as doubtful as before */
    server_stop(&c->node[1]);
    CHECK_NEVER(client_try(twice, "x", TTL_MS) == REDLOCK_OK);
}

CASE_NODES(one_server_two_names_unguarded,
           "With the guard off a server votes by each of its names.", .nodes = 2)
{
    struct proxy p;
    redlock *twice;
    proxy_start(&p, c->node[0].port.number);
    twice = open_doubled(c, &p, REDLOCK_NO_GUARD);
    client_warm(twice);
    server_stop(&c->node[1]);
    CHECK_OK(try_as(twice, "wrong", 0));
}
