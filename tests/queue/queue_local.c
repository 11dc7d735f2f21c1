/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The waiters of one client: one of them is sent to the nodes, the others follow in the order
 * of their calls; all share one subscription per node, which is made when it is first needed.
 */
#include "base/slice.h"
#include "drive/client.h"
#include "fixture.h"
#include "loads.h"
#include "waiter.h"

#include <stdio.h>
#include <string.h>

enum { NODES = 3, TTL_MS = LONG_TTL_MS, NAMES = 20 };

CASE(one_place_per_client,
     "A hundred waiters of one client take one queue entry and keep their order.")
{
    struct local_queue q = local_queue_run(100);
    CHECK_INT(1, q.longest);
    CHECK_INT(100, q.served);
    CHECK_INT(0, q.disorders);
}

static int subscribers(const struct server *s)
{
    const char *list = server_cmd(s, "CLIENT", "LIST", "TYPE", "pubsub", NULL);
    int count = 0;
    for (const char *p = list; (p = strstr(p, "id=")) != NULL; p++)
        count += p == list || p[-1] == '\n';
    return count;
}

static bool everywhere_one(void *data)
{
    const struct cluster *c = data;
    for (size_t i = 0; i < c->count; i++)
        if (subscribers(&c->node[i]) != 1)
            return false;
    return true;
}

CASE_ON(subscriptions,
        "A client has one subscriber connection per node, made on first use, for all names.",
        .nodes = NODES, .flags = REDLOCK_THREAD, .clients = 2)
{
    redlock_lock *lock[NAMES][2];
    client_lock(other, "busy", TTL_MS);
    CHECK_OK(client_try(r, "free", TTL_MS));
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "busy", TTL_MS));
    for (int i = 0; i < NODES; i++) {
        CHECK_INT(0, subscribers(&c->node[i]));
        CHECK_INT(2, server_clients(&c->node[i]));
    }
    for (int k = 0; k < NAMES; k++) {
        char name[16], key[32];
        snprintf(name, sizeof name, "n%d", k);
        snprintf(key, sizeof key, "redlock:n%d", k);
        cluster_set(c, 0, NODES, key, "another", TTL_MS);
        for (int i = 0; i < 2; i++) {
            lock[k][i] = CLIENT_START(r, name, TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER);
        }
    }
    for (int k = 0; k < NAMES; k++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", k);
        CHECK(queue_await(c, name, 1));
    }
    CHECK(wait_until(everywhere_one, c));
    for (int i = 0; i < NODES; i++)
        CHECK_INT(2, server_clients(&c->node[i])); /* and no further connection */
    for (int k = 0; k < NAMES; k++)
        for (int i = 0; i < 2; i++)
            redlock_lock_free(lock[k][i]);
}

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
    if (!wait_until(has_place, &p))
        CHECK_INT(wanted, redlock_position(lock));
}

CASE_ON(position_in_the_nodes_queue,
        "A waiter's position counts down while those ahead are served.", .nodes = NODES,
        .flags = REDLOCK_THREAD, .clients = 2)
{
    enum { AHEAD = 3 };
    struct waiter w[AHEAD];
    struct waiter_terms terms = {
        .name = "x", .ttl_ms = TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER};
    redlock_lock *mine[2];
    redlock_lock *held = client_lock(other, "x", TTL_MS);
    for (int i = 0; i < AHEAD; i++) {
        waiter_start(&w[i], c, NODES, &terms);
        CHECK(queue_await(c, "x", i + 1));
    }
    for (int i = 0; i < 2; i++)
        mine[i] = CLIENT_START(r, "x", TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER);
    await_place(mine[0], AHEAD + 1);
    await_place(mine[1], AHEAD + 2);
    client_unlock(held);
    for (int i = 0; i < AHEAD; i++) {
        CHECK(waiter_await(&w[i]));
        await_place(mine[0], AHEAD - i);
        await_place(mine[1], AHEAD - i + 1);
        waiter_end(&w[i]);
    }
    EXPECT(r, ACQUIRED, REDLOCK_OK, mine[0]);
    CHECK_INT(0, redlock_position(mine[0]));
    await_place(mine[1], 1);
    CHECK_OK(redlock_release(mine[0]));
    EXPECT(r, ACQUIRED, REDLOCK_OK, mine[1]);
    CHECK_INT(0, redlock_position(mine[1]));
}

static redlock_lock *start(redlock *r, uint32_t flags)
{
    redlock_lock *lock =
        CLIENT_START(r, "x", TTL_MS, .flags = flags, .wait_ms = REDLOCK_WAIT_FOREVER);
    return lock;
}

CASE_ON(hands_over_behind_others,
        "A handover within a client overtakes no waiter on the nodes.", .nodes = NODES,
        .flags = REDLOCK_THREAD, .clients = 2)
{
    redlock_lock *ours[2], *theirs;
    redlock_lock *held = client_lock(r, "x", TTL_MS);
    for (int i = 0; i < 2; i++) {
        ours[i] = start(r, 0);
        /* The first has its place before the other client comes; the second has none. */
        CHECK(queue_await(c, "x", 1));
    }
    theirs = start(other, 0);
    CHECK(queue_await(c, "x", 2));
    client_unlock(held);
    EXPECT(r, ACQUIRED, REDLOCK_OK, ours[0]);
    client_unlock(ours[0]);
    EXPECT(other, ACQUIRED, REDLOCK_OK, theirs);
    NO_EVENT(r);
    client_unlock(theirs);
    EXPECT(r, ACQUIRED, REDLOCK_OK, ours[1]);
    client_unlock(ours[1]);
}

/* Given back while one of ours follows, and another client waits on the nodes. */
static void follow(struct cluster *c, redlock *r, uint32_t flags)
{
    redlock_lock *ours[2], *theirs;
    redlock *other = client_open_warm(c, REDLOCK_THREAD);
    for (int i = 0; i < 2; i++)
        ours[i] = start(r, flags);
    EXPECT(r, ACQUIRED, REDLOCK_OK, ours[0]);
    theirs = start(other, flags);
    CHECK(queue_await(c, "x", 1));
    CHECK_OK(redlock_start_release(ours[0]));
    EXPECT(r, RELEASED, REDLOCK_OK, ours[0]);
    redlock_lock_free(ours[0]);
    for (int64_t end_ms = now_ms() + GIVE_UP_MS;
         redlock_state(theirs) != REDLOCK_STATE_HELD && now_ms() < end_ms; NO_EVENT(r))
        next_event(other, 10);
    CHECK_INT(REDLOCK_STATE_HELD, redlock_state(theirs));
    client_unlock(theirs);
    EXPECT(r, ACQUIRED, REDLOCK_OK, ours[1]);
    client_unlock(ours[1]);
}

CASE_OF_ON(follows_behind_others,
           "An acquire right after its client's release overtakes no waiter that came between.",
           follow(c, r, 0), .nodes = NODES);

CASE_OF_ON(follows_fairly,
           "A fair acquire right after its client's release "
           "overtakes no waiter that came between.",
           follow(c, r, REDLOCK_FAIR), .nodes = NODES);

enum { CHOSEN = 64, CHOSEN_BUCKETS = 256 };

static size_t longest_chain(const struct rl_local_queues *queues)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < queues->bucket_count; i++) {
        const struct rl_local_queue *queue;
        size_t size = 0;
        LIST_FOREACH (queue, &queues->bucket[i], bucket)
            size++;
        longest = size > longest ? size : longest;
    }
    return longest;
}

CASE_ON(chosen_names,
        "Names that share a bucket of a hash without a key are spread by the one that has it.",
        .nodes = NODES, .clients = 2)
{
    int count = 0;
    for (int number = 0; count < CHOSEN; number++) {
        char key[32];
        uint64_t hash;
        snprintf(key, sizeof key, "redlock:n%d", number);
        hash = rl_slice_hash(rl_slice_of(key));
        if ((hash ^ hash >> 32) % CHOSEN_BUCKETS != 0)
            continue;
        cluster_set(c, 0, NODES, key, "another", TTL_MS);
        CLIENT_START(r, key + strlen("redlock:"), TTL_MS, .wait_ms = REDLOCK_WAIT_FOREVER);
        count++;
    }
    while (r->engine.local_queues.count < CHOSEN)
        next_event(r, 100);
    CHECK(longest_chain(&r->engine.local_queues) < CHOSEN / 4);
}
