/* SPDX-License-Identifier: BSD-2-Clause */
/* At most k holders, and k if k want it: slots, hints, other k, failing nodes. */
#include "fixture.h"
#include "kinds.h"
#include "loads.h"

#include <stdio.h>

enum { TTL_MS = LONG_TTL_MS, MANY = 100 };

static void check_all_permits(struct cluster *c, uint32_t k)
{
    redlock_lock *lock[MANY];
    bool seen[MANY + 1] = {false};
    redlock *r[3];
    for (int i = 0; i < 3; i++)
        r[i] = client_open_warm(c, REDLOCK_THREAD);
    for (uint32_t i = 0; i < k; i++) {
        int slot;
        lock[i] =
            client_lock_as(r[i % 3], "x", TTL_MS, slots_request(k)); /* a try finds the slot */
        slot = redlock_slot(lock[i]);
        CHECK_BETWEEN(1, k, slot);
        CHECK(!seen[slot]);
        seen[slot] = true;
    }
    for (int i = 0; i < 3; i++)
        CHECK_ERR(REDLOCK_BUSY, client_try_as(r[i], "x", TTL_MS, slots_request(k)));
    for (uint32_t i = 0; i < k; i++) { /* each in turn is the only free one */
        int slot = redlock_slot(lock[i]);
        client_unlock(lock[i]);
        lock[i] = client_lock_as(r[(i + 1) % 3], "x", TTL_MS, slots_request(k));
        CHECK_INT(slot, redlock_slot(lock[i]));
    }
    for (uint32_t i = 0; i < k; i++)
        client_unlock(lock[i]);
    CHECK(cluster_await_empty(c));
    for (int i = 0; i < 3; i++)
        client_close(r[i]);
}

CASE_NODES(all_permits, "k holders have k slots, one more is refused, and a slot that "
                        "becomes free is found.")
{
    static const uint32_t ks[] = {1, 2, 3, 7, 33};
    for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++)
        check_all_permits(c, ks[i]);
}

CASE_ON(another_k, "Clients that disagree about k exclude each other altogether.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *lock;
    other = client_open_warm(c, 0);
    lock = client_lock_as(r, "x", TTL_MS, slots_request(3));
    CHECK(kind_await_holds(c, "x", redlock_value(lock), 3));
    CHECK_ERR(REDLOCK_BUSY, client_try_as(other, "x", TTL_MS, slots_request(2)));
    CHECK_ERR(REDLOCK_BUSY, client_try_as(other, "x", TTL_MS, slots_request(4)));
    CHECK_ERR(REDLOCK_BUSY, client_try(other, "x", TTL_MS));
    CHECK_OK(client_try_as(other, "x", TTL_MS, slots_request(3)));
    client_unlock(lock);
    CHECK(cluster_await_empty(c)); /* both releases have reached every node */
    CHECK_OK(client_try_as(other, "x", TTL_MS, slots_request(2)));
}

/* The holder of slot 7 of 7 releases, and the waiter for one of k gets the number 7. */
static void pass_on_slot_seven(redlock *a, redlock *b, struct cluster *c, uint32_t k)
{
    redlock_lock *seventh = NULL, *rest[8];
    struct kind_waiter w;
    int held = 1;
    while (seventh == NULL) {
        redlock_lock *lock = client_lock_as(a, "x", TTL_MS, slots_request(7));
        if (redlock_slot(lock) == 7)
            seventh = lock;
        else
            client_unlock(lock);
    }
    CHECK(kind_await_holds(c, "x", redlock_value(seventh), 3));
    kind_start(b, "x", TTL_MS, slots_request(k), 20000, &w);
    CHECK(cluster_await(c, "redlock.queue:x", 3));
    client_unlock(seventh);
    KIND_EXPECT(REDLOCK_OK, w);
    CHECK_BETWEEN(1, k, redlock_slot(w.lock));
    for (uint32_t i = 1; i < k; i++, held++)
        rest[i] = client_lock_as(a, "x", TTL_MS, slots_request(k));
    CHECK_ERR(REDLOCK_BUSY, client_try_as(a, "x", TTL_MS, slots_request(k)));
    for (int i = 1; i < held; i++)
        client_unlock(rest[i]);
    client_unlock(w.lock);
    CHECK(cluster_await_empty(c));
}

CASE_ON(slot_of_another_k, "The slot of a larger semaphore is none of a smaller one.",
        .flags = REDLOCK_THREAD, .clients = 2)
{
    pass_on_slot_seven(r, other, c, 2); /* through the nodes */
    pass_on_slot_seven(r, r, c, 2);     /* through its own client */
}

CASE_ON(waiting, "A waiter gets the slot that becomes free.", .flags = REDLOCK_THREAD,
        .clients = 2)
{
    redlock_lock *lock[3];
    for (int i = 0; i < 3; i++)
        lock[i] = client_lock_as(r, "x", TTL_MS, slots_request(3));
    for (int i = 0; i < 3; i++) {
        struct kind_waiter w;
        int slot;
        kind_start(other, "x", TTL_MS, slots_request(3), 20000, &w);
        CHECK(cluster_await(c, "redlock.queue:x", 3));
        slot = redlock_slot(lock[i]);
        client_unlock(lock[i]);
        KIND_EXPECT(REDLOCK_OK, w);
        CHECK_INT(slot, redlock_slot(w.lock));
        lock[i] = w.lock;
    }
    for (int i = 0; i < 3; i++)
        client_unlock(lock[i]);
    CHECK(cluster_await_empty(c));
}

CASE_ON(own_expiry, "A dead holder's slot expires by itself, and the other slots stay.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *lock = client_lock_as(r, "x", TTL_MS, slots_request(2));
    redlock_request q;
    redlock_lock *next;
    redlock_lock_leave(client_lock_as(r, "x", 2000, slots_request(2)));
    CHECK_ERR(REDLOCK_BUSY, client_try_as(r, "x", TTL_MS, slots_request(2)));
    q = slots_request(2);
    q.wait_ms = GIVE_UP_MS;
    next = client_lock_as(r, "x", TTL_MS, q);
    CHECK(redlock_slot(next) != redlock_slot(lock));
    client_unlock(next);
    client_unlock(lock);
    CHECK(cluster_await_empty(c));
}

CASE_OF(partitioned,
        "Of three clients with different majorities at most two hold a semaphore of two.",
        CHECK_BETWEEN(1, 2, semaphore_partitioned()));

static void never_above(uint32_t k)
{
    int64_t run_ms = check_setting("REDLOCK_STRESS_MS", CHECK_SANITIZED ? 2500 : 2000);
    struct load *l =
        semaphore_load(k, 3, run_ms, LOAD_HANGS | LOAD_CUTS | LOAD_RESTARTS, seed_choose());
    int peak = holds_peak(l->holds, REDLOCK_SEMAPHORE);
    printf("# k = %u: at most %d at once\n", k, peak);
    CHECK_NEVER(peak > (int)k);
    CHECK_NEVER(holds_doubles(l->holds)); /* of one slot */
    CHECK(holds_count(l->holds) > 20);
    CHECK(k == 1 || peak > 1);
}

CASE_OF(never_above_1,
        "A semaphore of 1 never has two holders while nodes hang, are cut off and restart.",
        never_above(1));

CASE_OF(never_above_2,
        "A semaphore of 2 never has three holders while nodes hang, are cut off and restart.",
        never_above(2));

CASE_OF(never_above_3,
        "A semaphore of 3 never has four holders while nodes hang, are cut off and restart.",
        never_above(3));

CASE_OF(never_above_7,
        "A semaphore of 7 never has eight holders while nodes hang, are cut off and restart.",
        never_above(7));
