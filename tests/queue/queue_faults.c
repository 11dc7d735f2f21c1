/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What may go wrong while clients wait: the head of the queue dies, the holder dies, messages
 * do not come, a waiter loses the majority. The next waiter is served, also while one of the
 * five nodes is down or hung; how soon, queue_times.c measures.
 */
#include "core/lock.h"
#include "fixture.h"
#include "loads.h"
#include "waiter.h"

#include <stdio.h>

enum {
    KILLED = 4, /* waiters */
    DEAD_TTL_MS =
        12000, /* what they requested: once is less than GIVE_UP_MS, once each is more */
    BRIEF_MS = 3000,
    HELD_MS = 2500,
};

CASE_OF(dead_head, "A killed head of the queue is evicted, and the next waiter served.",
        CHECK(after_dead_head_ms(ALL_UP, GIVE_UP_MS) != NOT_SERVED));

CASE_OF(dead_head_node_killed,
        "With one node down a killed head of the queue is evicted, and the next served.",
        CHECK(after_dead_head_ms(ONE_KILLED, GIVE_UP_MS) != NOT_SERVED));

CASE_OF(dead_head_node_hung,
        "With one node hung a killed head of the queue is evicted, and the next served.",
        CHECK(after_dead_head_ms(ONE_HUNG, GIVE_UP_MS) != NOT_SERVED));

CASE_OF(dead_holder,
        "After a holder was killed the next waiter is served after the lock's TTL.",
        CHECK(after_dead_holder_ms(ALL_UP, GIVE_UP_MS) != NOT_SERVED));

CASE_OF(dead_holder_node_killed,
        "With one node down the waiter behind a killed holder is served after the TTL.",
        CHECK(after_dead_holder_ms(ONE_KILLED, GIVE_UP_MS) != NOT_SERVED));

CASE_OF(dead_holder_node_hung,
        "With one node hung the waiter behind a killed holder is served after the TTL.",
        CHECK(after_dead_holder_ms(ONE_HUNG, GIVE_UP_MS) != NOT_SERVED));

CASE_OF(no_messages,
        "A waiter whose subscriptions are cut all the time is served by its timer.",
        CHECK(without_messages_ms(ALL_UP, GIVE_UP_MS) != NOT_SERVED));

CASE_OF(no_messages_node_killed,
        "With one node down a waiter without subscriptions is served by its timer.",
        CHECK(without_messages_ms(ONE_KILLED, GIVE_UP_MS) != NOT_SERVED));

CASE_OF(no_messages_node_hung,
        "With one node hung a waiter without subscriptions is served by its timer.",
        CHECK(without_messages_ms(ONE_HUNG, GIVE_UP_MS) != NOT_SERVED));

CASE_OF(minority, "A waiter that lost its majority does not block the next.",
        CHECK(behind_a_minority_ms(GIVE_UP_MS) != NOT_SERVED));

CASE_OF(failed_rounds, "Attempts that reached some nodes but no majority leave nothing there.",
        CHECK_INT(0, left_by_failed_rounds(GIVE_UP_MS)));

CASE_OF(timeout_empties_the_queue, "The queue is empty right after its only waiter timed out.",
        CHECK_INT(0, places_after_timeout()));

CASE_ON(holder_from_the_queue_dies,
        "A killed holder that had waited leaves no dead queue entry.", .nodes = 5)
{
    struct waiter first, second;
    struct waiter_terms terms = {
        .name = "x", .ttl_ms = HELD_MS, .wait_ms = REDLOCK_WAIT_FOREVER};
    redlock_lock *lock = client_lock(r, "x", 20000);
    waiter_start(&first, c, 5, &terms);
    CHECK(queue_await(c, "x", 1));
    waiter_start(&second, c, 5, &terms);
    CHECK(queue_await(c, "x", 2));
    client_unlock(lock);
    CHECK(waiter_await(&first));
    CHECK_OK(first.news->error);
    waiter_kill(&first);
    CHECK(waiter_await(&second));
    waiter_end(&second);
}

static bool have_requests_of_all(void *data)
{
    const struct cluster *c = data;
    for (size_t i = 0; i < c->count; i++)
        if (server_unread(&c->node[i]) < KILLED + 1)
            return false;
    return true;
}

/*
 * Waiters are killed while their requests lie in the buffers of stopped nodes. A node reads a
 * request before it learns that the client has gone, so one of them gets the lock after its
 * death. (A plain first attempt can as well.) The dead send nothing more: it is one TTL, not
 * one each.
 */
CASE_NODES(requests_of_the_dead,
           "Requests that killed waiters left in buffers delay the next waiter by one TTL.",
           .nodes = 5)
{
    struct waiter dead[KILLED], next;
    struct waiter_terms terms = {.name = "x",
                                 .ttl_ms = DEAD_TTL_MS,
                                 .wait_ms = REDLOCK_WAIT_FOREVER,
                                 .node_timeout_ms = PATIENT_MS};
    cluster_set(c, 0, 5, "redlock:x", "another", 600000);
    for (int i = 0; i < KILLED; i++) {
        waiter_start(&dead[i], c, 5, &terms);
        CHECK(queue_await(c, "x", i + 1));
    }
    waiter_start(&next, c, 5, &terms);
    CHECK(queue_await(c, "x", KILLED + 1));
    cluster_set(c, 0, 5, "redlock:x", "another",
                BRIEF_MS); /* ends while the nodes are stopped */
    cluster_each(c, 0, 5, server_freeze);
    CHECK(wait_until(have_requests_of_all, c));
    for (int i = 0; i < KILLED; i++)
        waiter_kill(&dead[i]);
    sleep_ms(BRIEF_MS);
    cluster_each(c, 0, 5, server_thaw);
    CHECK(waiter_await(&next));
    CHECK_OK(next.news->error);
    waiter_end(&next);
}

static void without_right(struct cluster *c, const char *first_rule, const char *second_rule)
{
    struct waiter w;
    struct waiter_terms terms = {.name = "x",
                                 .ttl_ms = 20000,
                                 .wait_ms = REDLOCK_WAIT_FOREVER,
                                 .username = "deaf",
                                 .password = "secret"};
    redlock *r;
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 2000);
    redlock_lock *lock;
    for (int i = 0; i < 5; i++)
        CHECK_STR("OK",
                  server_cmd(&c->node[i], "ACL", "SETUSER", "deaf", "reset", "on", ">secret",
                             "allkeys", "+@all", first_rule, second_rule, NULL));
    r = client_open_warm(c, 0);
    lock = client_lock(r, "x", 20000);
    waiter_start(&w, c, 5, &terms);
    CHECK(queue_await(c, "x", 1));
    client_unlock(lock);
    CHECK(waiter_await(&w));
    CHECK_OK(w.news->error);
    /* The user without the right hands over to the next waiter as well. */
    CHECK_ERR(REDLOCK_TIMEOUT, redlock_acquire(r, "x", 20000, &q, &lock));
    waiter_end(&w);
    CHECK_OK(client_try(r, "x", 20000));
}

CASE_OF_ON(no_right_to_subscribe,
           "Without the right to subscribe a waiter is served by its timer.",
           without_right(c, "allchannels", "-subscribe"), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(no_right_to_any_channel,
           "A waiter without the right to any channel is served by its timer.",
           without_right(c, "resetchannels", "+ping"), .nodes = 5, .clients = NO_CLIENT);

CASE_NODES(release_without_channels,
           "A holder without the right to publish can release beside waiters.")
{
    struct waiter holder, next;
    struct waiter_terms terms = {.name = "x",
                                 .ttl_ms = 20000,
                                 .wait_ms = REDLOCK_WAIT_FOREVER,
                                 .username = "mute",
                                 .password = "secret"};
    for (int i = 0; i < 3; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "ACL", "SETUSER", "mute", "reset", "on",
                                   ">secret", "allkeys", "resetchannels", "+@all", NULL));
    waiter_start(&holder, c, 3, &terms);
    CHECK(waiter_await(&holder));
    CHECK_OK(holder.news->error);
    waiter_start(&next, c, 3, &terms);
    AWAIT(queue_length(&c->node[0], "x") == 1);
    waiter_end(&holder); /* checks that its release was OK */
    CHECK(waiter_await(&next));
    waiter_end(&next);
    CHECK(cluster_await_empty(c));
}

CASE_NODES(never_a_majority, "A waiter that never reaches a majority leaves no queue entry.",
           .nodes = 5)
{
    struct waiter w;
    struct waiter_terms terms = {
        .name = "x", .ttl_ms = 20000, .wait_ms = 1000, .flags = REDLOCK_FAIR};
    cluster_each(c, 2, 3, server_kill);
    cluster_set(c, 0, 2, "redlock:x", "another", 20000);
    waiter_start(&w, c, 2, &terms);
    while (!w.news->done) /* by its deadline */
        for (int i = 0; i < 2; i++)
            CHECK_INT(0, queue_length(&c->node[i], "x"));
    CHECK_ERR(REDLOCK_NOQUORUM, w.news->error);
    waiter_end(&w);
}

/* The name of the one channel that is subscribed to on this node. */
static const char *wake_channel(const struct server *s)
{
    return server_cmd(s, "PUBSUB", "CHANNELS", "redlock.wake:*", NULL);
}

CASE_NODES(flooded_subscriber,
           "A node that floods a waiter with messages loses its connection, "
           "and the wait goes on.")
{
    enum { NODES = 3 };
    static const char flood[] = "for i = 1, 20000 do redis.call('PUBLISH', ARGV[1], 'x') end";
    redlock_lock *lock = NULL, *held;
    char channel[128];
    redlock *holder, *waiter;
    long long before;
    bool left = false, back = false;
    holder = client_open_warm(c, 0);
    waiter = client_open_warm(c, 0);
    held = client_lock(holder, "x", 60000);
    lock = CLIENT_START(waiter, "x", 10000, .wait_ms = 30000);
    for (int64_t end_ms = now_ms() + GIVE_UP_MS;
         now_ms() < end_ms && !*wake_channel(&c->node[0]);)
        next_event(waiter, 20);
    snprintf(channel, sizeof channel, "%s", wake_channel(&c->node[0]));
    before = server_int(&c->node[0], "PUBLISH", channel, "x", NULL);
    CHECK_INT(1, before);
    server_cmd(&c->node[0], "EVAL", flood, "0", channel, NULL);
    for (int64_t end_ms = now_ms() + GIVE_UP_MS; now_ms() < end_ms && !back;) {
        next_event(waiter, 20);
        left = left || !*wake_channel(&c->node[0]);
        back = left && *wake_channel(&c->node[0]);
    }
    CHECK(left);
    CHECK(back);
    NO_EVENT(waiter);
    client_unlock(held);
    EXPECT(waiter, ACQUIRED, REDLOCK_OK, lock);
}
