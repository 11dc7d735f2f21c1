/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Servers whose memory is used up and that evict nothing: what is held stays held, is renewed
 * and given back, because none of that needs memory. Only what is new is refused, in the
 * server's words.
 */
#include "fixture.h"
#include "kinds.h"

#include <stdio.h>

enum { NODES = 3, TTL_MS = RENEWED_TTL_MS, LIFETIMES = 2 };

static void set_memory(const struct cluster *c, int first, const char *limit)
{
    for (int i = first; i < NODES; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "CONFIG", "SET", "maxmemory", limit, NULL));
}

static void use_up(const struct cluster *c, int first)
{
    set_memory(c, first, "1");
    CHECK_HAS("OOM", server_cmd(&c->node[NODES - 1], "SET", "new", "key", NULL));
}

/* A hold of each kind, under a name of its own. */
struct hold {
    redlock_lock *lock;
    redlock_lock *longer; /* another beside it, for longer: the key's own expiry may stay */
    int64_t until_ns;
};

static void take(redlock *r, enum shape shape, struct hold *h)
{
    redlock_request q = shape_request(shape);
    bool several_hold = shape_traits(shape) & REDLOCK_KIND_SEVERAL;
    q.flags |= REDLOCK_RENEW | (several_hold ? 0 : REDLOCK_FENCED);
    h->lock = client_lock_as(r, shape_text(shape), TTL_MS, q);
    if (shape_may_be_held_twice(shape) && !q.slots)
        h->longer = client_lock_as(r, shape_text(shape), LONG_TTL_MS, shape_request(shape));
    h->until_ns = now_ns() + (int64_t)LIFETIMES * TTL_MS * RL_NS_PER_MS;
}

static void hold_every_kind(struct cluster *c, redlock *r, int first)
{
    struct hold hold[SHAPES] = {0};
    const redlock_report *report;
    FOR_SHAPES(shape)
    take(r, shape, &hold[shape]);
    use_up(c, first);
    FOR_SHAPES(shape)
    {
        AWAIT(redlock_state(hold[shape].lock) == REDLOCK_STATE_LOST ||
              redlock_deadline_ns(hold[shape].lock) >= hold[shape].until_ns);
        CHECK(redlock_state(hold[shape].lock) != REDLOCK_STATE_LOST);
        CHECK_OK(redlock_extend(hold[shape].lock, 20000));
    }
    /* What is new is refused, and leaves nothing behind. */
    CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, "new", TTL_MS));
    printf("# %s\n", redlock_detail());
    report = redlock_failure_report();
    CHECK(report_votes(report, REDLOCK_VOTE_ERROR) >= 2);
    for (int i = first; i < NODES; i++)
        if (report->node[i].vote == REDLOCK_VOTE_ERROR)
            CHECK_HAS("OOM", report->node[i].text);
    CHECK(cluster_await(c, "redlock:new", 0));
    FOR_SHAPES(shape)
    {
        if (hold[shape].longer != NULL)
            client_unlock(hold[shape].longer);
        client_unlock(hold[shape].lock);
    }
    CHECK(kind_await_clean(c));
    set_memory(c, first, "0");
    CHECK_OK(client_try(r, "new", TTL_MS));
}

CASE_OF_ON(hold_on_all, "On nodes without memory every kind is renewed, extended and released.",
           hold_every_kind(c, r, 0), .nodes = NODES, .flags = REDLOCK_THREAD);

CASE_OF_ON(hold_on_a_majority,
           "Every kind is kept with one node that has memory, without native commands.",
           hold_every_kind(c, r, 1), .nodes = NODES,
           .flags = REDLOCK_THREAD | REDLOCK_NO_NATIVE);

CASE_OF_ON(hold_strict,
           "In strict mode every kind is renewed, extended and released on nodes "
           "without memory.",
           hold_every_kind(c, r, 0), .nodes = NODES, .flags = REDLOCK_THREAD | REDLOCK_STRICT);

CASE_ON(leave_the_queue, "A waiter that gives up leaves the queue of a node without memory.",
        .nodes = NODES, .flags = REDLOCK_THREAD, .clients = 2)
{
    FOR_SHAPES(shape)
    {
        redlock_lock *lock = client_lock_as(r, "x", LONG_TTL_MS, shape_request(shape));
        struct kind_waiter w = {0};
        kind_start(other, "x", 30000, shape_rival(shape), 20000, &w);
        CHECK(cluster_await(c, "redlock.queue:x", NODES));
        use_up(c, 0);
        redlock_cancel(w.lock);
        NO_EVENT(w.client);
        redlock_lock_free(w.lock);
        CHECK(cluster_await(c, "redlock.queue:x", 0));
        client_unlock(lock);
        CHECK(kind_await_clean(c));
        set_memory(c, 0, "0");
    }
}

CASE_ON(served_afterwards, "A waiter is served once the nodes have memory again.",
        .nodes = NODES, .flags = REDLOCK_THREAD, .clients = 2)
{
    redlock_lock *lock = client_lock(r, "x", 30000);
    struct kind_waiter w = {0};
    kind_start(other, "x", 30000, shape_request(SHAPE_MUTEX), 20000, &w);
    CHECK(cluster_await(c, "redlock.queue:x", NODES));
    use_up(c, 0);
    client_unlock(lock);
    CHECK(cluster_await(c, "redlock:x", 0));
    set_memory(c, 0, "0");
    KIND_EXPECT(REDLOCK_OK, w);
    client_unlock(w.lock);
    CHECK(kind_await_clean(c));
}
