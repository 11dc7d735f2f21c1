/* SPDX-License-Identifier: BSD-2-Clause */
/* Guards for every kind: young nodes, markers, max_ttl. guard/amnesia.c has restarts. */
#include "fixture.h"
#include "kinds.h"

enum { TTL_MS = LONG_TTL_MS };

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
