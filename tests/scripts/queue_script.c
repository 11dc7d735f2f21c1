/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue on one node, by hand: which waiter is asked to wait, for which others, and which is
 * woken. Built twice: with BY_WAIT a plain mutex is waited for by wait.lua, as without strict
 * rules, else by take_mutex.lua.
 */
#include "check.h"
#include "clock.h"
#include "resp.h"
#include "script_calls.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

CASES_BEGIN_WITH(begin);

#define QUEUE "redlock.queue:x"
#define ALIVE "redlock.alive:x"

/* Waiters of three clients; the 16 characters after the letter are the client's. */
#define CLIENT_A "aaaaaaaaaaaaaaaa"
#define CLIENT_B "bbbbbbbbbbbbbbbb"
#define W1 "w" CLIENT_A ".1"
#define W2 "w" CLIENT_A ".2"
#define R1 "r" CLIENT_B ".1"
#define R2 "r" CLIENT_B ".2"

static const char *take(struct take t)
{
#ifdef BY_WAIT
    if ((!t.name || !strchr(t.name, ',')) && t.waiter && (!t.kind || t.kind[0] == 'm'))
        return call_wait(&node, t);
#endif
    return call_take(&node, t);
}

#undef TAKE
#define TAKE(...) take((struct take){__VA_ARGS__})

CASE(place,
     "A waiter's place follows its first ticket, and the reply has the TTL of the one ahead.")
{
    const char *reply;
    GRANTED(.value = "held", .ttl = "9000");
    reply = TAKE(.waiter = W2, .ticket = "20", .life = "3000");
    CHECK_INT(0, part_int(reply, 0));
    CHECK_INT(1, part_int(reply, 7)); /* place */
    CHECK_INT(0, part_int(reply, 8)); /* no waiter ahead */
    CHECK_LEFT(3000, server_int(&node, "PTTL", QUEUE, NULL));
    CHECK_LEFT(3000, server_int(&node, "PTTL", ALIVE, NULL));
    reply = TAKE(.waiter = W1, .ticket = "10", .life = "2500");
    CHECK_INT(1, part_int(reply, 7)); /* an earlier ticket goes first */
    reply = TAKE(.waiter = W2, .ticket = "5", .life = "3000");
    CHECK_INT(2, part_int(reply, 7)); /* a second ticket does not improve the place */
    CHECK_LEFT(2500, part_int(reply, 8));
}

CASE(head_first, "A free lock is granted to the head of the queue alone.")
{
    const char *reply;
    server_cmd(&node, "ZADD", QUEUE, "10", W1, NULL);
    server_cmd(&node, "ZADD", ALIVE, "9e15", W1, NULL);
    reply = TAKE(.value = "b", .waiter = W2, .ticket = "20");
    CHECK_INT(0, part_int(reply, 0));
    CHECK_INT(-2, part_int(reply, 1)); /* only the queue is in the way */
    CHECK_INT(2, part_int(reply, 7));
    REFUSED(.value = "f", .waiter = "wcccccccccccccccc.9"); /* fair, without a ticket yet */
    CHECK_INT(2, server_int(&node, "ZCARD", QUEUE, NULL));
    GRANTED(.value = "a", .waiter = W1, .ticket = "10");
    CHECK_STR("a", server_cmd(&node, "GET", KEY, NULL));
}

CASE(overtaking, "Requests that are not fair may overtake the queue, except readers.")
{
    const char *reply;
    server_cmd(&node, "ZADD", QUEUE, "10", W1, NULL);
    server_cmd(&node, "ZADD", ALIVE, "9e15", W1, NULL);
    GRANTED(.value = "m");
    server_cmd(&node, "DEL", KEY, NULL);
    GRANTED(.value = "o", .kind = "o", .group = "me");
    server_cmd(&node, "DEL", KEY, NULL);
    GRANTED(.value = "k#1", .kind = "k", .group = "2", .slot = "1");
    server_cmd(&node, "DEL", KEY, NULL);
    reply = TAKE(.value = "s", .kind = "s");
    CHECK_INT(0, part_int(reply, 0)); /* a waiting writer is a writer */
    CHECK_INT(2, part_int(reply, 7));
    CHECK(part_int(reply, 8) > 0);
}

CASE(next_ticket,
     "A refused request without a ticket is offered one after the last and the clock.")
{
    const char *reply;
    long long before_us;
    GRANTED(.value = "held");
    before_us = server_now_ms(&node) * 1000;
    reply = TAKE(.waiter = W1);
    CHECK_BETWEEN(before_us, before_us + 10000000, part_int(reply, 6));
    REFUSED(.value = "v", .waiter = W1, .ticket = "4000000000000000");
    CHECK_INT(4000000000000001, part_int(TAKE(.waiter = W2), 6));
    CHECK_INT(4000000000000001, part_int(call_ticket(&node, "x"), 0));
    CHECK_LEFT(20000, part_int(call_ticket(&node, "x"), 1));
    CHECK_INT(1, server_int(&node, "ZCARD", QUEUE, NULL)); /* asking is not joining */
}

CASE(ticket_of_several, "A ticket for several names is larger than the last of each of them.")
{
    long long before_us = server_now_ms(&node) * 1000;
    const char *reply = call_ticket(&node, "a,b");
    CHECK_BETWEEN(before_us, server_now_ms(&node) * 1000 + 1000, part_int(reply, 0));
    CHECK_INT(-2, part_int(reply, 1));
    GRANTED("b", .waiter = W1, .ticket = "4000000000000000"); /* served, and remembered */
    server_cmd(&node, "DEL", "redlock:b", NULL);
    GRANTED("a", .ttl = "5000");
    CHECK_INT(4000000000000001, part_int(call_ticket(&node, "a,b"), 0));
    CHECK_LEFT(5000, part_int(call_ticket(&node, "a,b"), 1));
    CHECK_INT(4000000000000001, part_int(call_ticket(&node, "b,a"), 0));
}

CASE(signs_of_life, "A heartbeat is written again only when the last one is no longer fresh.")
{
    long long first;
    GRANTED(.value = "held");
    REFUSED(.waiter = W1, .ticket = "10", .life = "2500");
    first = server_int(&node, "ZSCORE", ALIVE, W1, NULL);
    sleep_ms(1250);
    REFUSED(.waiter = W1, .ticket = "10", .life = "2500");
    CHECK(server_int(&node, "ZSCORE", ALIVE, W1, NULL) >= first + 1250);
    CHECK_LEFT(2500, server_int(&node, "PTTL", QUEUE, NULL));
    CHECK_STR("10", server_cmd(&node, "ZSCORE", QUEUE, W1, NULL));
}

CASE(readers_behind_a_writer, "A reader waits only for writers that were queued before it.")
{
    GRANTED(.value = "r0", .kind = "s", .ttl = "9000");
    GRANTED(.value = "r1", .kind = "s", .waiter = R1, .ticket = "10"); /* beside a reader */
    REFUSED(.value = "w1", .waiter = W1, .ticket = "20");
    GRANTED(.value = "r1", .kind = "s", .waiter = R1, .ticket = "10"); /* was before it */
    REFUSED(.value = "r2", .kind = "s", .waiter = R2, .ticket = "30");
    REFUSED(.value = "r3", .kind = "s"); /* the first attempt of a newcomer, too */
    server_cmd(&node, "ZREM", QUEUE, W1, NULL);
    server_cmd(&node, "ZREM", ALIVE, W1, NULL);
    GRANTED(.value = "r2", .kind = "s", .waiter = R2, .ticket = "30"); /* behind readers */
}

CASE(unknown_waiter, "A waiter of an unknown kind is waited for and woken as a writer is.")
{
    char later[32];
    snprintf(later, sizeof later, "%lld", server_now_ms(&node) + 100000);
    GRANTED(.value = "r0", .kind = "s", .ttl = "9000");
    server_cmd(&node, "ZADD", QUEUE, "10", "?strange", NULL);
    server_cmd(&node, "ZADD", ALIVE, later, "?strange", NULL);
    REFUSED(.value = "r1", .kind = "s", .waiter = R1, .ticket = "20");
    REFUSED(.value = "w1", .waiter = W1, .ticket = "30");
}

CASE(writer_behind_readers, "A writer waits for every waiter that was queued before it.")
{
    server_cmd(&node, "ZADD", QUEUE, "10", R1, NULL);
    server_cmd(&node, "ZADD", ALIVE, "9e15", R1, NULL);
    REFUSED(.value = "w1", .waiter = W1, .ticket = "20");
    server_cmd(&node, "ZREM", QUEUE, R1, NULL);
    server_cmd(&node, "ZREM", ALIVE, R1, NULL);
    GRANTED(.value = "w1", .waiter = W1, .ticket = "20");
}

CASE(owner_passes_the_queue, "An owner that holds the lock does not wait for the queue.")
{
    GRANTED(.value = "a", .kind = "o", .group = "me");
    REFUSED(.value = "b", .kind = "o", .group = "you", .waiter = W1, .ticket = "10");
    GRANTED(.value = "c", .kind = "o", .group = "me", .waiter = W2, .ticket = "20");
    server_cmd(&node, "DEL", KEY, NULL);
    REFUSED(.value = "c", .kind = "o", .group = "me", .waiter = W2, .ticket = "20");
}

CASE(queue_of_several,
     "A request for several names queues where they are taken, and for the head of each.")
{
    const char *reply;
    GRANTED("a", .value = "held");
    REFUSED("a,b", .value = "v", .waiter = W1, .ticket = "10");
    CHECK_INT(1, server_int(&node, "ZCARD", "redlock.queue:a", NULL));
    /* The holder of a may want b now: no waiter is in its way. */
    CHECK_INT(0, server_int(&node, "ZCARD", "redlock.queue:b", NULL));
    GRANTED("b", .value = "u", .waiter = W2, .ticket = "20");
    REFUSED("a,b", .value = "v", .waiter = W1, .ticket = "10");
    CHECK_INT(1, server_int(&node, "ZCARD", "redlock.queue:b", NULL));
    server_cmd(&node, "DEL", "redlock:a", "redlock:b", NULL);
    reply = TAKE("b", .value = "u", .waiter = W2, .ticket = "20");
    CHECK_INT(0, part_int(reply, 0)); /* free, but another waiter was first */
    CHECK_INT(2, part_int(reply, 7));
    GRANTED("a,b", .value = "v", .waiter = W1, .ticket = "10");
}

static struct resp *subscriber;

static void listen_to(const char *channel)
{
    char reply[256];
    const char *const ask[] = {"SUBSCRIBE", channel, NULL};
    subscriber = resp_unix(node.socket_path);
    CHECK(subscriber && resp_send(subscriber, ask) == 0);
    CHECK(resp_read(subscriber, reply, sizeof reply) == 0);
}

/* The next message; empty when there is none. The server answered its PING behind them. */
static const char *woken(void)
{
    static char reply[256];
    struct pollfd p = {.fd = subscriber->fd, .events = POLLIN};
    CHECK_STR("PONG", server_cmd(&node, "PING", NULL));
    if (subscriber->start == subscriber->end && poll(&p, 1, 50) == 0)
        return "";
    CHECK(resp_read(subscriber, reply, sizeof reply) == 0);
    return strrchr(reply, '\n') + 1;
}

static void queue_up(const char *waiter, const char *ticket)
{
    server_cmd(&node, "ZADD", QUEUE, ticket, waiter, NULL);
    server_cmd(&node, "ZADD", ALIVE, "9e15", waiter, NULL);
}

CASE(head_is_woken, "Giving back wakes the head of the queue, on its client's channel.")
{
    listen_to("redlock.wake:" CLIENT_A);
    queue_up(W1, "10");
    queue_up(W2, "20");
    GRANTED(.value = "v");
    CHECK_STR("2", GIVE(.value = "v"));
    CHECK_STR(W1, woken());
    CHECK_STR("", woken()); /* and no other waiter */
    GRANTED(.value = "v");
    CHECK_STR("2", call_release(&node, "x", "v"));
    CHECK_STR(W1, woken());
    CHECK_STR("2", call_release(&node, "x", ""));
    CHECK_STR(W1, woken());
    GRANTED(.value = "v");
    CHECK_STR("0", call_release(&node, "x", "")); /* taken */
    CHECK_STR("0", GIVE(.value = "not v"));
    CHECK_STR("", woken());
}

CASE(the_dead_are_passed_over,
     "Giving back passes over dead waiters and wakes the first living one.")
{
    listen_to("redlock.wake:" CLIENT_A);
    queue_up(W1, "10");
    queue_up(W2, "20");
    server_cmd(&node, "ZADD", ALIVE, "5", W1, NULL);
    GRANTED(.value = "v");
    CHECK_STR("2", GIVE(.value = "v"));
    CHECK_STR(W2, woken());
}

CASE(rollback_wakes_nobody_behind,
     "A rollback of the head of the queue wakes no waiter behind it.")
{
    listen_to("redlock.wake:" CLIENT_A);
    queue_up(W1, "10");
    queue_up(W2, "20");
    GRANTED(.value = "v", .waiter = W1, .ticket = "10");
    CHECK_INT(1, server_int(&node, "ZCARD", QUEUE, NULL)); /* the grant took the place along */
    CHECK_STR("2", GIVE(.value = "v", .waiter = W1, .ticket = "10"));
    CHECK_STR("", woken());
    CHECK_INT(2, server_int(&node, "ZCARD", QUEUE, NULL));
    CHECK_STR("0", GIVE(.waiter = W1)); /* but a waiter that leaves does */
    CHECK_STR(W2, woken());
    CHECK_INT(1, server_int(&node, "ZCARD", QUEUE, NULL));
    CHECK_INT(1, server_int(&node, "ZCARD", ALIVE, NULL));
    CHECK_STR("0", GIVE(.waiter = W1)); /* was not there any more */
    CHECK_STR("", woken());
}

CASE(leaving_a_taken_lock, "A waiter that leaves the queue of a taken lock wakes no other.")
{
    listen_to("redlock.wake:" CLIENT_A);
    GRANTED(.value = "v");
    queue_up(W1, "10");
    queue_up(W2, "20");
    CHECK_STR("0", GIVE(.waiter = W1));
    CHECK_STR("", woken());
}

CASE(readers_are_woken_together,
     "Readers at the head of the queue are woken together, up to the first writer.")
{
    listen_to("redlock.wake:" CLIENT_B);
    queue_up(R1, "10");
    queue_up(R2, "20");
    GRANTED(.value = "v");
    CHECK_STR("2", GIVE(.value = "v"));
    CHECK_STR(R1, woken());
    CHECK_STR(R2, woken());
    CHECK_STR("", woken());
}

CASE(plain_release_passes_the_deaf_over,
     "The release of a mutex wakes the next waiter when the first has no subscriber.")
{
    listen_to("redlock.wake:" CLIENT_A);
    queue_up("w" CLIENT_B ".1", "10");
    queue_up(W2, "20");
    GRANTED(.value = "v");
    CHECK_STR("2", call_release(&node, "x", "v"));
    CHECK_STR(W2, woken());
    CHECK_STR("2", call_release(&node, "x", ""));
    CHECK_STR(W2, woken());
}

CASE(plain_release_wakes_all_readers,
     "The release of a plain mutex wakes every reader at the head.")
{
    listen_to("redlock.wake:" CLIENT_B);
    queue_up(R1, "10");
    queue_up(R2, "20");
    GRANTED(.value = "v");
    CHECK_STR("2", call_release(&node, "x", "v"));
    CHECK_STR(R1, woken());
    CHECK_STR(R2, woken());
    CHECK_STR("", woken());
    server_cmd(&node, "DEL", QUEUE, NULL);
    CHECK_STR("1", call_release(&node, "x", "")); /* no waiter */
}

CASE(last_reader_wakes_the_writer, "A writer is woken when the last reader leaves, not before.")
{
    listen_to("redlock.wake:" CLIENT_A);
    GRANTED(.value = "r1", .kind = "s");
    GRANTED(.value = "r2", .kind = "s");
    queue_up(W1, "10");
    CHECK_STR("2", GIVE(.value = "r1"));
    CHECK_STR("", woken());
    CHECK_STR("2", GIVE(.value = "r2"));
    CHECK_STR(W1, woken());
}

CASE(free_slot_is_published,
     "A waiter for a semaphore gets the number of the slot that became free.")
{
    listen_to("redlock.wake:" CLIENT_A);
    GRANTED(.value = "a#1", .kind = "k", .group = "2", .slot = "1");
    GRANTED(.value = "b#2", .kind = "k", .group = "2", .slot = "2");
    queue_up(W1, "10");
    CHECK_STR("2", GIVE(.value = "b#2"));
    CHECK_STR(W1 "#2", woken());
}

CASE(last_hold_wakes, "Only the last of an owner's holds wakes the next owner.")
{
    listen_to("redlock.wake:" CLIENT_A);
    GRANTED(.value = "a", .kind = "o", .group = "me");
    GRANTED(.value = "b", .kind = "o", .group = "me");
    queue_up(W1, "10");
    CHECK_STR("2", GIVE(.value = "a"));
    CHECK_STR("", woken());
    CHECK_STR("2", GIVE(.value = "b"));
    CHECK_STR(W1, woken());
}
