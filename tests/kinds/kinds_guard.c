/* SPDX-License-Identifier: BSD-2-Clause */
/* Guards for every kind: nodes that forgot, young nodes, markers, and the nodes' max_ttl. */
#include "fixture.h"
#include "kinds.h"

enum { TTL_MS = LONG_TTL_MS };

/* The shape's own request and, where the shape admits several, one that would join it. */
static redlock_lock *held_on_three_of_five(redlock *r, const struct cluster *c,
                                           enum shape shape)
{
    static const char *const keys[] = {"redlock:x", "redlock:y", "redlock:z"};
    redlock_lock *lock = client_lock_as(r, "x", TTL_MS, shape_request(shape));
    CHECK(kind_await_holds(c, "x", redlock_value(lock), 5));
    for (int node = 3; node < 5; node++)
        for (int i = 0; i < 3; i++)
            server_cmd(&c->node[node], "DEL", keys[i], NULL);
    return lock;
}

/*
 * A holds it on nodes 1, 2 and 3 of five, node 3 restarts, and B, which must be excluded,
 * asks: nodes 3, 4 and 5 would make a second majority.
 */
static int second_majority(struct cluster *c, enum shape shape, uint32_t flags)
{
    redlock *a = client_open_warm(c, REDLOCK_THREAD | flags);
    redlock *b = client_open_warm(c, REDLOCK_THREAD | flags);
    redlock_lock *lock = held_on_three_of_five(a, c, shape);
    redlock_lock *second = NULL;
    redlock_request q;
    int error;
    if (flags & REDLOCK_STRICT)
        server_cmd(&c->node[2], "FLUSHALL", NULL); /* no connection breaks */
    else
        server_restart(&c->node[2]);
    client_warm(b);
    q = shape_rival(shape);
    error = redlock_acquire(b, "x", TTL_MS, &q, &second);
    redlock_lock_free(second);
    redlock_release(lock);
    redlock_lock_free(lock);
    client_close(a);
    client_close(b);
    CHECK(kind_await_clean(c));
    server_admit(&c->node[2]);
    return error;
}

CASE_NODES(restarted, "A restarted node makes no second majority for a lock of any kind.",
           .nodes = 5)
{
    FOR_SHAPES(shape)
    {
        int error = second_majority(c, shape, 0);
        CHECK(error == REDLOCK_BUSY || error == REDLOCK_GUARDED);
    }
}

CASE_NODES(restarted_unguarded,
           "With the guard off, a restarted node makes a second majority for every kind.",
           .nodes = 5)
{
    FOR_SHAPES(shape)
    CHECK_ERR(REDLOCK_OK, second_majority(c, shape, REDLOCK_NO_GUARD));
}

CASE_NODES(flushed_strict,
           "In strict mode a flushed node makes no second majority for a lock of any kind.",
           .nodes = 5)
{
    FOR_SHAPES(shape)
    {
        int error = second_majority(c, shape, REDLOCK_STRICT);
        CHECK(error == REDLOCK_BUSY || error == REDLOCK_GUARDED);
    }
}

CASE_NODES(young_majority,
           "Two young nodes of three: GUARDED for every kind, and nothing stays on any node.")
{
    server_restart(&c->node[0]);
    server_restart(&c->node[1]);
    r = client_open_warm(c, REDLOCK_THREAD);
    FOR_SHAPES(shape)
    {
        redlock_request q;
        CHECK_REFUSED(REDLOCK_GUARDED, client_try_as(r, "x", TTL_MS, shape_request(shape)));
        CHECK_HAS("redlock_admit()", redlock_detail());
        q = shape_request(shape);
        q.wait_ms = 1000;
        CHECK_REFUSED(REDLOCK_GUARDED, client_try_as(r, "x", TTL_MS, q));
        CHECK(kind_await_clean(c));
    }
}

CASE_NODES(young_minority,
           "The grant of one young node of three does not count, whatever the kind.")
{
    server_restart(&c->node[1]);
    r = client_open_warm(c, REDLOCK_THREAD);
    FOR_SHAPES(shape)
    {
        redlock_lock *lock = client_lock_as(r, "x", TTL_MS, shape_request(shape));
        int error;
        CHECK(kind_await_holds(c, "x", redlock_value(lock), 3));
        CHECK_OK(redlock_ping(r, NULL));
        CHECK_INT(0, redlock_margin(lock));
        server_cmd(&c->node[2], "DEL", "redlock:x", NULL);
        server_cmd(&c->node[0], "DEL", "redlock:x", NULL);
        error = redlock_extend(lock, TTL_MS); /* only the young one has it */
        CHECK(error == REDLOCK_LOST || error == REDLOCK_GUARDED);
        redlock_lock_free(lock);
        CHECK(kind_await_clean(c));
    }
}

CASE_NODES(no_marker_strict,
           "In strict mode grants of nodes without a marker do not count, whatever the kind.")
{
    FOR_SHAPES(shape)
    {
        r = client_open_warm(c, REDLOCK_THREAD | REDLOCK_STRICT);
        CHECK_OK(client_try_as(r, "x", TTL_MS, shape_request(shape)));
        server_cmd(&c->node[0], "FLUSHALL", NULL);
        CHECK_OK(client_try_as(r, "x", TTL_MS, shape_request(shape)));
        server_cmd(&c->node[1], "DEL", "redlock.admit", NULL);
        CHECK_REFUSED(REDLOCK_GUARDED, client_try_as(r, "x", TTL_MS, shape_request(shape)));
        client_close(r);
        CHECK(kind_await_clean(c));
        for (int i = 0; i < 2; i++)
            server_admit(&c->node[i]);
    }
}

CASE_NODES(max_ttl,
           "The nodes' max_ttl binds every kind, also for a client with another max_ttl.")
{
    redlock *strict, *plain;
    for (int i = 0; i < 3; i++)
        server_cmd(&c->node[i], "HSET", "redlock.admit", "max_ttl", "5000", NULL);
    strict = client_open_warm(c, REDLOCK_THREAD | REDLOCK_STRICT);
    plain = client_open_warm(c, REDLOCK_THREAD);
    FOR_SHAPES(shape)
    {
        redlock_request q;
        int64_t start_ms;
        CHECK_ERR(REDLOCK_INVAL, client_try_as(strict, "x", 5001, shape_request(shape)));
        CHECK_HAS("max_ttl", redlock_detail());
        CHECK_OK(client_try_as(strict, "x", 5000, shape_request(shape)));
        q = shape_request(shape);
        q.wait_ms = GIVE_UP_MS;
        start_ms = now_ms();
        CHECK_ERR(REDLOCK_INVAL, client_try_as(strict, "x", 5001, q));
        CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms); /* is not retried */
        q.flags = REDLOCK_FENCED;                       /* binds them strict or not */
        if (shape_traits(shape) & REDLOCK_KIND_EXCLUSIVE)
            CHECK_ERR(REDLOCK_INVAL, client_try_as(plain, "x", 5001, q));
        CHECK_OK(client_try_as(plain, "x", 5000, shape_request(shape)));
        CHECK(kind_await_clean(c));
    }
}

CASE_NODES(quarantined_repair, "A node in quarantine gets no repaired key of any kind.")
{
    FOR_SHAPES(shape)
    {
        redlock_lock *lock;
        r = client_open_warm(c, REDLOCK_THREAD);
        lock = client_lock_as(r, "x", TTL_MS, shape_request(shape));
        CHECK(kind_await_holds(c, "x", redlock_value(lock), 3));
        server_restart(&c->node[1]);
        client_warm(r);
        CHECK_OK(redlock_extend(lock, TTL_MS));
        client_warm(r);
        CHECK_INT(2, kind_count_holds(c, "x", redlock_value(lock)));
        CHECK_INT(0, redlock_margin(lock));
        client_unlock(lock);
        client_close(r);
        CHECK(kind_await_clean(c));
        server_admit(&c->node[1]);
    }
}
