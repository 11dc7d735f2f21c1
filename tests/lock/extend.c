/* SPDX-License-Identifier: BSD-2-Clause */
/* Extending a lock by hand; kinds/kinds_life.c has what another client may do by its value. */
#include "fixture.h"
#include "proxy.h"

CASE_ON(extends_on_a_quorum, "An extension moves the deadline and the keys' expiry.",
        .nodes = 5)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 20000);
    int64_t most_ms = LONG_TTL_MS - LONG_TTL_MS / 100 - 2;
    server_kill(&c->node[0]);
    server_kill(&c->node[1]);
    CHECK_OK(redlock_extend(lock, LONG_TTL_MS));
    CHECK_BETWEEN(most_ms - SOON_MS, most_ms, redlock_remaining_ms(lock));
    for (int i = 2; i < 5; i++)
        CHECK_BETWEEN(LONG_TTL_MS - SOON_MS, LONG_TTL_MS,
                      server_int(&c->node[i], "PTTL", "redlock:x", NULL));
}

/* A node may have renewed its key when the request left us, not when its answer came back. */
CASE_NODES(validity_counts_from_the_request,
           "Slow answers make the validity shorter, not longer.")
{
    struct proxy p[3];
    redlock_lock *lock;
    proxies_start(p, c, 3);
    r = client_open_warm(c, 0);
    for (int i = 0; i < 3; i++)
        p[i].switches->down_delay_ms = 400;
    lock = client_lock(r, "x", 10000);
    CHECK_BETWEEN(1, 10000 - 102 - 400, redlock_remaining_ms(lock));
    CHECK_OK(redlock_extend(lock, 20000));
    CHECK_BETWEEN(10000, 20000 - 202 - 400, redlock_remaining_ms(lock));
}

CASE_ON(gone_is_lost, "Extending a lock whose keys are gone from a majority is LOST for good.",
        .nodes = 5)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 2000);
    cluster_del(c, 0, 3, "redlock:x");
    CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, 2000));
    CHECK(redlock_detail()[0] != '\0');
    CHECK_INT(0, redlock_remaining_ms(lock));
    CHECK_BETWEEN(0, 2, cluster_count(c, "redlock:x")); /* it creates none */
    CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, 20000));
    /* Keys left on a minority exclude no other client; they expire at the promised end. */
    CHECK_OK(client_try(r, "x", 2000));
    CHECK(cluster_await_empty(c));
}

CASE_ON(adopt_sends_nothing, "Adopting a lock and freeing it unproven sends nothing.")
{
    redlock_lock *lock = NULL;
    for (int i = 0; i < 3; i++)
        server_forget_commands(&c->node[i]);
    CHECK_OK(redlock_adopt(r, "x", "some-value", NULL, &lock));
    CHECK_INT(REDLOCK_STATE_ADOPTED, redlock_state(lock));
    CHECK(next_event(r, 10) == NULL);
    for (int i = 0; i < 3; i++)
        CHECK_STR("", server_commands(&c->node[i]));
}
