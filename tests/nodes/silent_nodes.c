/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes that fall silent while the client holds nothing: a hung server, a network that drops
 * packets. No connection ends, so only a request that stays unanswered shows it.
 */
#include "fixture.h"
#include "proxy.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, SILENT = 2 };

struct watch {
    redlock *r;
    bool is_loop; /* the test is its event loop */
    int wanted;   /* nodes that are up */
};

/* As a loop that knows nothing of locks does it: only what the descriptor says. */
static void drain_if_readable(redlock *r)
{
    struct pollfd p = {.fd = redlock_fd(r), .events = POLLIN};
    if (poll(&p, 1, 0) > 0)
        drain(r);
}

static bool are_up(void *data)
{
    struct watch *w = data;
    int up = 0;
    if (w->is_loop)
        drain_if_readable(w->r);
    for (size_t i = 0; i < NODES; i++)
        up += client_node(w->r, i).state == REDLOCK_NODE_UP;
    return up == w->wanted;
}

static bool is_any_up_again(void *data)
{
    struct watch *w = data;
    if (w->is_loop)
        drain_if_readable(w->r);
    for (size_t i = 0; i < SILENT; i++)
        if (client_node(w->r, i).state == REDLOCK_NODE_UP)
            return true;
    return false;
}

/* Some nodes fall silent under an idle client, and come back. */
static void fall_silent(struct watch *w, void (*silence)(void *), void (*end)(void *),
                        void *data)
{
    w->wanted = NODES;
    CHECK(wait_until(are_up, w));
    silence(data);
    w->wanted = NODES - SILENT;
    CHECK(wait_until(are_up, w));
    for (size_t i = 0; i < SILENT; i++) {
        redlock_node_info info = client_node(w->r, i);
        printf("# %s: %s, %lld ms\n", info.address, info.text, (long long)info.answered_ms);
        CHECK_INT(REDLOCK_NODE_DOWN, info.state);
        CHECK(info.text[0] != '\0');
        CHECK(info.answered_ms >= 2000);
    }
    /* New connections are made meanwhile, and prove nothing. */
    CHECK(!wait_within(is_any_up_again, w, 4000));
    end(data);
    w->wanted = NODES;
    CHECK(wait_until(are_up, w));
    CHECK(client_node(w->r, 0).answered_ms >= 0);
}

static void freeze(void *data)
{
    cluster_each(data, 0, SILENT, server_freeze);
}

static void thaw(void *data)
{
    cluster_each(data, 0, SILENT, server_thaw);
}

static void hang(struct cluster *c, uint32_t flags)
{
    struct watch w = {.r = client_open_hasty(c, flags, STEADY_MS),
                      .is_loop = !(flags & REDLOCK_THREAD)};
    fall_silent(&w, freeze, thaw, c);
    client_close(w.r);
}

CASE_OF_ON(hung_under_a_thread,
           "redlock_node() of an idle client with a thread shows hung servers as down.",
           hang(c, REDLOCK_THREAD), .nodes = NODES, .clients = NO_CLIENT);

CASE_OF_ON(hung_under_a_loop,
           "redlock_node() shows hung servers as down when an event loop drives "
           "the idle client.",
           hang(c, 0), .nodes = NODES, .clients = NO_CLIENT);

CASE_OF_ON(hung_without_guard, "An idle client without the guard finds hung servers, too.",
           hang(c, REDLOCK_THREAD | REDLOCK_NO_GUARD), .nodes = NODES, .clients = NO_CLIENT);

static void stop_forwarding(void *data)
{
    for (size_t i = 0; i < SILENT; i++)
        ((struct proxy *)data)[i].switches->swallow = 1;
}

static void forward(void *data)
{
    for (size_t i = 0; i < SILENT; i++)
        ((struct proxy *)data)[i].switches->swallow = 0;
}

CASE_NODES(black_holed,
           "Nodes whose answers are dropped on the way are shown as down when idle.",
           .nodes = NODES)
{
    struct proxy proxy[NODES];
    struct watch w;
    proxies_start(proxy, c, NODES);
    w = (struct watch){.r = client_open_hasty(c, REDLOCK_THREAD, STEADY_MS)};
    fall_silent(&w, stop_forwarding, forward, proxy);
}

static int count_time(const struct cluster *c)
{
    static const char field[] = "cmdstat_time:calls=";
    const char *found = strstr(server_cmd(&c->node[0], "INFO", "commandstats", NULL), field);
    return found ? atoi(found + sizeof field - 1) : 0;
}

CASE_NODES(asked_in_moderation,
           "An idle client sends nothing unless redlock_node() was called, and then seldom.",
           .nodes = NODES)
{
    int64_t began_ms;
    r = client_open_hasty(c, REDLOCK_THREAD, STEADY_MS);
    client_warm_nodes(r, NODES);
    sleep_ms(2000); /* what the first connection requests is over */
    server_forget_commands(&c->node[0]);
    sleep_ms(6000);
    CHECK_INT(0, count_time(c));
    began_ms = now_ms();
    client_node(r, 0);
    AWAIT(count_time(c) >= 2);
    CHECK(now_ms() - began_ms >= 3000);
}
