/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The waiters of one client: one of them is sent to the nodes, the others follow in the order
 * of their calls; all share one subscription per node, which is made when it is first needed.
 */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "queue_local_load.h"
#include "waiter.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 3, TTL_MS = 20000, NAMES = 20 };

CASE(one_place_per_client,
     "A hundred waiters of one client take one queue entry and keep their order.")
{
    struct local_queue q = local_queue_run(100);
    CHECK_INT(1, q.longest);
    CHECK_INT(100, q.served);
    CHECK_INT(0, q.disorders);
}

/* ---- subscriptions ------------------------------------------------------------------------- */

static int subscribers(const struct server *s)
{
    const char *list = server_cmd(s, "CLIENT", "LIST", "TYPE", "pubsub", NULL);
    int count = 0;
    for (const char *p = list; (p = strstr(p, "id=")) != NULL; p++)
        count += p == list || p[-1] == '\n';
    return count;
}

static void on_done(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    (void)error;
    (void)data;
}

static bool everywhere_one(void *data)
{
    const struct cluster *c = data;
    for (size_t i = 0; i < c->count; i++)
        if (subscribers(&c->node[i]) != 1)
            return false;
    return true;
}

CASE(subscriptions,
     "A client has one subscriber connection per node, made on first use, for all names.")
{
    struct cluster c;
    redlock_lock *lock[NAMES][2];
    redlock *other = client_start(&c, NODES, 0);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    redlock_lock *held = client_lock(other, "busy", TTL_MS);
    CHECK_OK(client_try(r, "free", TTL_MS));
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "busy", TTL_MS));
    for (int i = 0; i < NODES; i++) {
        CHECK_INT(0, subscribers(&c.node[i]));
        CHECK_INT(2, server_clients(&c.node[i]));
    }
    for (int k = 0; k < NAMES; k++) {
        char name[16], key[32];
        snprintf(name, sizeof name, "n%d", k);
        snprintf(key, sizeof key, "redlock:n%d", k);
        cluster_set(&c, 0, NODES, key, "another", TTL_MS);
        for (int i = 0; i < 2; i++) {
            redlock_request q = {
                .size = sizeof q, .wait_ms = REDLOCK_WAIT_FOREVER, .done = on_done};
            CHECK_OK(redlock_start(r, name, TTL_MS, &q, &lock[k][i]));
        }
    }
    for (int k = 0; k < NAMES; k++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", k);
        CHECK(queue_await(&c, name, 1, 2000));
    }
    CHECK(wait_until(everywhere_one, &c, 2000));
    for (int i = 0; i < NODES; i++)
        CHECK_INT(2, server_clients(&c.node[i])); /* and no further connection */
    for (int k = 0; k < NAMES; k++)
        for (int i = 0; i < 2; i++)
            redlock_lock_free(lock[k][i]);
    client_unlock(held);
    redlock_close(r);
    redlock_close(other);
}

/* ---- position ------------------------------------------------------------------------------ */

struct place {
    redlock_lock *lock;
    int wanted;
};

static bool has_place(void *data)
{
    const struct place *p = data;
    return redlock_position(p->lock) == p->wanted;
}

static void await_place(redlock_lock *lock, int wanted)
{
    struct place p = {lock, wanted};
    /*
     * A waiter asks the nodes three times in the TTL of its queue entry, which is three
     * seconds. A holder that does not drive its client may leave its own entry for that long
     * on a late node.
     */
    if (!wait_until(has_place, &p, 4500 + SLACK_MS))
        CHECK_INT(wanted, redlock_position(lock));
}

CASE(position_in_the_nodes_queue,
     "A waiter's position counts down while those ahead are served.")
{
    enum { AHEAD = 3 };
    struct cluster c;
    struct waiter w[AHEAD];
    struct waiter_terms terms = {
        .name = "x", .ttl_ms = TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER};
    redlock_request q = {.size = sizeof q, .wait_ms = REDLOCK_WAIT_FOREVER, .done = on_done};
    redlock_lock *mine[2];
    redlock *other = client_start(&c, NODES, 0);
    redlock_lock *held = client_lock(other, "x", TTL_MS);
    for (int i = 0; i < AHEAD; i++) {
        waiter_start(&w[i], &c, NODES, &terms);
        CHECK(queue_await(&c, "x", i + 1, 2000));
    }
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    for (int i = 0; i < 2; i++)
        CHECK_OK(redlock_start(r, "x", TTL_MS, &q, &mine[i]));
    await_place(mine[0], AHEAD + 1);
    await_place(mine[1], AHEAD + 2);
    client_unlock(held);
    for (int i = 0; i < AHEAD; i++) {
        CHECK(waiter_await(&w[i], 2000));
        await_place(mine[0], AHEAD - i);
        await_place(mine[1], AHEAD - i + 1);
        waiter_end(&w[i]);
    }
    await_place(mine[0], 0); /* it holds it */
    await_place(mine[1], 1);
    CHECK_OK(redlock_release(mine[0]));
    await_place(mine[1], 0);
    CHECK(redlock_remaining_ms(mine[1]) > 0);
    redlock_lock_free(mine[0]);
    redlock_lock_free(mine[1]);
    redlock_close(r);
    redlock_close(other);
}

/* ---- handing over --------------------------------------------------------------------------- */

static _Atomic int served_count;
static _Atomic int place[2]; /* of our two waiters among those served, from 1 */

static void give_on(redlock_lock *lock, int error, void *data)
{
    CHECK_OK(error);
    *(_Atomic int *)data = ++served_count;
    redlock_start_release(lock, on_done, NULL);
}

static bool are_all_served(void *data)
{
    (void)data;
    return served_count == 3;
}

CASE(hands_over_behind_others, "A handover within a client overtakes no waiter on the nodes.")
{
    struct cluster c;
    redlock_lock *ours[2], *theirs = NULL;
    redlock *r = client_start(&c, NODES, REDLOCK_THREAD);
    redlock *other = client_open_warm(&c, REDLOCK_THREAD);
    redlock_lock *held = client_lock(r, "x", TTL_MS);
    for (int i = 0; i < 2; i++) {
        redlock_request q = {.size = sizeof q,
                             .wait_ms = REDLOCK_WAIT_FOREVER,
                             .done = give_on,
                             .data = (void *)&place[i]};
        CHECK_OK(redlock_start(r, "x", TTL_MS, &q, &ours[i]));
        /* The first has its place before the other client comes; the second has none. */
        CHECK(queue_await(&c, "x", 1, 5000));
    }
    _Atomic int their_place = 0;
    redlock_request q = {.size = sizeof q,
                         .wait_ms = REDLOCK_WAIT_FOREVER,
                         .done = give_on,
                         .data = (void *)&their_place};
    CHECK_OK(redlock_start(other, "x", TTL_MS, &q, &theirs));
    CHECK(queue_await(&c, "x", 2, 5000));
    client_unlock(held);
    CHECK(wait_until(are_all_served, NULL, 5000));
    CHECK_INT(1, place[0]);
    CHECK_INT(2, their_place);
    CHECK_INT(3, place[1]);
    redlock_lock_free(ours[0]);
    redlock_lock_free(ours[1]);
    redlock_lock_free(theirs);
    redlock_close(r);
    redlock_close(other);
}

struct follower {
    const struct cluster *cluster;
    redlock *other;
    redlock_lock *theirs;
    uint32_t flags;
    _Atomic int their_place;
};

/* Holds until another client waits on the nodes, and gives back while one of ours follows. */
static void hold_until_awaited(redlock_lock *lock, int error, void *data)
{
    struct follower *f = data;
    redlock_request q = {.size = sizeof q,
                         .flags = f->flags,
                         .wait_ms = REDLOCK_WAIT_FOREVER,
                         .done = give_on,
                         .data = (void *)&f->their_place};
    CHECK_OK(error);
    CHECK_OK(redlock_start(f->other, "x", TTL_MS, &q, &f->theirs));
    CHECK(queue_await(f->cluster, "x", 1, 5000));
    CHECK_OK(redlock_start_release(lock, on_done, NULL));
}

static void follow(uint32_t flags)
{
    struct cluster c;
    redlock_lock *ours[2];
    redlock *r = client_start(&c, NODES, 0);
    struct follower f = {
        .cluster = &c, .other = client_open_warm(&c, REDLOCK_THREAD), .flags = flags};
    for (int i = 0; i < 2; i++) {
        redlock_request q = {.size = sizeof q,
                             .flags = flags,
                             .wait_ms = REDLOCK_WAIT_FOREVER,
                             .done = i ? give_on : hold_until_awaited,
                             .data = i ? (void *)&place[1] : &f};
        CHECK_OK(redlock_start(r, "x", TTL_MS, &q, &ours[i]));
    }
    for (int64_t end_ns = now_ns() + 5000000000; served_count < 2 && now_ns() < end_ns;)
        CHECK(redlock_process(r, 10) >= 0);
    CHECK_INT(1, f.their_place);
    CHECK_INT(2, place[1]);
    redlock_lock_free(ours[0]);
    redlock_lock_free(ours[1]);
    redlock_lock_free(f.theirs);
    redlock_close(r);
    redlock_close(f.other);
}

CASE(follows_behind_others,
     "An acquire right after its client's release overtakes no waiter that came between.")
{
    follow(0);
}

CASE(follows_fairly,
     "A fair acquire right after its client's release overtakes no waiter that came between.")
{
    follow(REDLOCK_FAIR);
}
