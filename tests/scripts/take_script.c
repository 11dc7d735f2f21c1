/* SPDX-License-Identifier: BSD-2-Clause */
/* The take scripts by hand: every way in which a node grants, refuses, and says
 * for how long. */
#include "check.h"
#include "clock.h"
#include "script_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CASES_BEGIN_WITH(begin);

CASE(mutex,
     "take_mutex.lua sets a mutex as the plain key, and returns its TTL to a refused request.")
{
    const char *reply = TAKE(.value = "a", .ttl = "5000");
    CHECK_PARTS("#7, 0=1, 1=0, 2=, 3=0, 4=, 6=0", reply); /* neither token nor marker */
    CHECK_STR("a", server_cmd(&node, "GET", KEY, NULL));
    CHECK_LEFT(5000, pttl(KEY));
    reply = TAKE(.value = "b", .ttl = "9000");
    CHECK_PARTS("0=0, 1~5000, 6=0, 7=0", reply); /* no ticket: it did not look at the queue */
    CHECK_STR("a", server_cmd(&node, "GET", KEY, NULL));
    GRANTED(.value = "a", .ttl = "9000"); /* the same attempt again */
    CHECK_LEFT(5000, pttl(KEY));          /* which does not renew it */
    CHECK_INT(1, server_keys(&node));
}

CASE(identity,
     "A take script returns the node's identity on request, and it is what the marker says.")
{
    const char *reply = TAKE(.value = "a", .identity = "1");
    CHECK_INT(1, part_int(reply, 0));
    CHECK_BETWEEN(60, 100, strlen(part(reply, 4)));
    CHECK_STR(part(reply, 2), part(reply, 4));
    CHECK_INT(60000, part_int(reply, 3));
    reply = TAKE(.value = "b", .identity = "1");
    CHECK_INT(0, part_int(reply, 0));
    CHECK_STR(part(reply, 2), part(reply, 4));
    server_cmd(&node, "DEL", "redlock.admit", NULL);
    CHECK_PARTS("2=, 3=0", TAKE(.value = "b", .kind = "s", .identity = "1"));
}

CASE(max_ttl, "No take script grants a lock beyond the marker's max_ttl, or leaves anything.")
{
    server_cmd(&node, "HSET", "redlock.admit", "max_ttl", "1000", NULL);
    FOR_KINDS(kind)
    {
        CHECK_PARTS("#2, 0=-2, 1=1000",
                    TAKE(.ttl = "1001", .kind = kind, .group = "2", .slot = "1",
                         .fence_life = "1000", .waiter = "w1", .ticket = "5"));
        CHECK_INT(0, server_keys(&node));
        GRANTED(.value = "v", .ttl = "1000", .kind = kind, .group = "2", .slot = "1");
        CHECK_INT(1, server_int(&node, "DEL", KEY, NULL));
    }
}

CASE(readers, "take_shared.lua keeps readers in one sorted set, each with an end of its own.")
{
    long long ends;
    const char *reply;
    GRANTED(.value = "a", .kind = "s", .ttl = "9000");
    CHECK_STR("zset", server_cmd(&node, "TYPE", KEY, NULL));
    GRANTED(.value = "b", .kind = "s", .ttl = "4000"); /* does not shorten the key's life */
    CHECK_LEFT(9000, pttl(KEY));
    GRANTED(.value = "c", .kind = "s", .ttl = "20000");
    CHECK_LEFT(20000, pttl(KEY));
    CHECK_INT(3, server_int(&node, "ZCARD", KEY, NULL));
    ends = server_int(&node, "ZSCORE", KEY, "b", NULL);
    CHECK_LEFT(4000, ends - server_now_ms(&node));
    reply = TAKE(.value = "w", .ttl = "100");
    CHECK_INT(0, part_int(reply, 0));
    CHECK_LEFT(20000, part_int(reply, 1)); /* until the last reader is gone */
}

CASE(expired_readers_go, "take_shared.lua removes expired readers when the next reader comes.")
{
    GRANTED(.value = "short", .kind = "s", .ttl = "30");
    GRANTED(.value = "long", .kind = "s", .ttl = "8000");
    sleep_ms(40);
    GRANTED(.value = "next", .kind = "s", .ttl = "50");
    CHECK_STR("(nil)", server_cmd(&node, "ZSCORE", KEY, "short", NULL));
    CHECK_INT(2, server_int(&node, "ZCARD", KEY, NULL));
    CHECK_LEFT(8000, pttl(KEY));
}

CASE(all_pairs, "No two kinds of lock are granted on one name, in either order.")
{
    FOR_KINDS(kind)
    FOR_KINDS(other)
    {
        const char *reply;
        GRANTED(.value = "a", .kind = kind, .group = "2", .slot = "1");
        reply = TAKE(.value = "b", .kind = other, .group = "2", .slot = "2");
        /* Beside each other only with its like, and a mutex not even then. */
        CHECK_INT(kind == other && kind[0] != 'm', part_int(reply, 0));
        server_cmd(&node, "DEL", KEY, NULL);
    }
}

CASE(wrong_types, "Every take script refuses a key of any other type and leaves it as it is.")
{
    CHECK_INT(1, server_int(&node, "RPUSH", "redlock:list", "e", NULL));
    CHECK_INT(1, server_int(&node, "SADD", "redlock:set", "e", NULL));
    CHECK_INT(1, server_int(&node, "HSET", "redlock:hash", "f", "1", NULL));
    FOR_KINDS(kind)
    {
        static const char *const names[] = {"list", "set", "hash"};
        for (int n = 0; n < 3; n++) /* which have no expiry */
            CHECK_PARTS("0=0, 1=-1", TAKE(names[n], .kind = kind, .group = "2", .slot = "1"));
    }
    CHECK_INT(1, server_int(&node, "LLEN", "redlock:list", NULL));
    CHECK_INT(1, server_int(&node, "HLEN", "redlock:hash", NULL));
}

CASE(owner,
     "take_owner.lua grants an owner any number of holds, each a field, and refuses another.")
{
    GRANTED(.value = "a", .kind = "o", .group = "me", .ttl = "3000");
    CHECK_STR("hash", server_cmd(&node, "TYPE", KEY, NULL));
    CHECK_STR("me", server_cmd(&node, "HGET", KEY, "owner", NULL));
    GRANTED(.value = "b", .kind = "o", .group = "me", .ttl = "9000");
    GRANTED(.value = "b", .kind = "o", .group = "me", .ttl = "9000");
    CHECK_INT(3, server_int(&node, "HLEN", KEY, NULL)); /* repeated, and not counted twice */
    CHECK_LEFT(9000, pttl(KEY));
    GRANTED(.value = "c", .kind = "o", .group = "me", .ttl = "1000");
    CHECK_LEFT(9000, pttl(KEY)); /* never shortened */
    CHECK_PARTS("0=0, 1~9000", TAKE(.value = "d", .kind = "o", .group = "you"));
    REFUSED(.value = "d", .kind = "o", .group = "");
}

CASE(nested_token, "take_owner.lua gives a nested hold the first hold's token, and counts on.")
{
    const char *reply =
        TAKE(.value = "a", .kind = "o", .group = "me", .fence_life = "86400000");
    char token[32];
    snprintf(token, sizeof token, "%s", part(reply, 1));
    CHECK_INT(0, part_int(reply, 6));
    CHECK_STR(token, server_cmd(&node, "HGET", "redlock.fence:x", "i1", NULL));
    CHECK_STR(token, server_cmd(&node, "HGET", KEY, "fence", NULL));
    reply = TAKE(.value = "b", .kind = "o", .group = "me", .fence_life = "86400000");
    CHECK_STR(token, part(reply, 6));
    CHECK_INT(atoll(token) + 1, part_int(reply, 1)); /* in case it only looks nested */
    CHECK_STR(token, server_cmd(&node, "HGET", KEY, "fence", NULL));
    CHECK_INT(0, part_int(TAKE(.value = "c", .kind = "o", .group = "me"), 1)); /* not asked */
    server_cmd(&node, "DEL", KEY, NULL);
    reply = TAKE(.value = "c", .kind = "o", .group = "you", .fence_life = "86400000");
    CHECK_INT(atoll(token) + 2, part_int(reply, 1));
    CHECK_INT(0, part_int(reply, 6));
}

CASE(tokens,
     "take_mutex.lua starts counters at the clock, adds one, and lets them live for a day.")
{
    long long before_us = server_now_ms(&node) * 1000;
    const char *reply = TAKE(.value = "a", .fence_life = "86400000");
    long long first = part_int(reply, 1);
    CHECK_BETWEEN(before_us, server_now_ms(&node) * 1000 + 1000, first);
    CHECK_BETWEEN(86300000, 86400000, pttl("redlock.fence:x"));
    server_cmd(&node, "DEL", KEY, NULL);
    server_cmd(&node, "PEXPIRE", "redlock.fence:x", "60000", NULL);
    GRANTED(.value = "b");
    CHECK_BETWEEN(0, 60000, pttl("redlock.fence:x")); /* was not touched */
    REFUSED(.value = "c", .fence_life = "86400000");
    server_cmd(&node, "DEL", KEY, NULL);
    CHECK_INT(first + 1, part_int(TAKE(.value = "d", .fence_life = "86400000"), 1));
    CHECK_BETWEEN(86300000, 86400000, pttl("redlock.fence:x"));
}

CASE(old_counter,
     "take_mutex.lua starts a counter of another incarnation at the clock, never lower.")
{
    long long before_us = server_now_ms(&node) * 1000;
    server_cmd(&node, "HSET", "redlock.fence:x", "i0", "1000", NULL);
    CHECK(part_int(TAKE(.value = "a", .fence_life = "86400000"), 1) >= before_us);
    server_cmd(&node, "DEL", KEY, NULL);
    server_cmd(&node, "DEL", "redlock.fence:x", NULL);
    server_cmd(&node, "HSET", "redlock.fence:x", "i0", "4000000000000000", NULL);
    CHECK_STR("4000000000000001", part(TAKE(.value = "a", .fence_life = "86400000"), 1));
    CHECK_STR("i1\n4000000000000001", server_cmd(&node, "HGETALL", "redlock.fence:x", NULL));
    server_cmd(&node, "DEL", KEY, NULL);
    server_cmd(&node, "HSET", "redlock.fence:x", "i1", "nonsense", NULL);
    CHECK(part_int(TAKE(.value = "a", .fence_life = "86400000"), 1) >= before_us);
}

CASE(slots,
     "take_slots.lua gives a slot to one holder, and returns free slots to a refused request.")
{
    const char *reply;
    GRANTED(.value = "a#2", .kind = "k", .group = "7", .slot = "2", .ttl = "4000");
    CHECK_STR("7", server_cmd(&node, "HGET", KEY, "slots", NULL));
    CHECK_HAS(":a#2", server_cmd(&node, "HGET", KEY, "s:2", NULL));
    reply = TAKE(.value = "b#2", .kind = "k", .group = "7", .slot = "2");
    CHECK_INT(0, part_int(reply, 0));
    CHECK_INT(0, part_int(reply, 1)); /* at once, elsewhere */
    CHECK_STR("a#2", part(reply, 9));
    CHECK_INT(14, part_count(reply)); /* four hints, the next ones in turn */
    for (int i = 0; i < 4; i++)
        CHECK_INT(3 + i, part_int(reply, 10 + i));
    GRANTED(.value = "c#7", .kind = "k", .group = "7", .slot = "7", .ttl = "9000");
    reply = TAKE(.value = "d#7", .kind = "k", .group = "7", .slot = "7");
    CHECK_INT(1, part_int(reply, 10)); /* round the corner, and past the one that is taken */
    CHECK_INT(3, part_int(reply, 11));
    CHECK_LEFT(9000, pttl(KEY));
}

CASE(full_semaphore, "take_slots.lua returns when the first slot of a full semaphore expires.")
{
    const char *reply;
    GRANTED(.value = "a#1", .kind = "k", .group = "2", .slot = "1", .ttl = "9000");
    GRANTED(.value = "b#2", .kind = "k", .group = "2", .slot = "2", .ttl = "3000");
    reply = TAKE(.value = "c#1", .kind = "k", .group = "2", .slot = "1");
    CHECK_PARTS("0=0, 1~3000", reply);
    CHECK_STR("a#1", part(reply, 9));                                /* lasts longest */
    CHECK_INT(10, part_count(reply));                                /* no hint */
    REFUSED(.value = "c#1", .kind = "k", .group = "3", .slot = "3"); /* another k */
    REFUSED(.value = "c#1", .kind = "k", .group = "1", .slot = "1");
    CHECK_INT(3, server_int(&node, "HLEN", KEY, NULL));
}

CASE(expired_slot,
     "take_slots.lua grants a slot whose own time is over, whatever the key's TTL.")
{
    const char *reply;
    GRANTED(.value = "b#2", .kind = "k", .group = "2", .slot = "2", .ttl = "90000");
    GRANTED(.value = "a#1", .kind = "k", .group = "2", .slot = "1", .ttl = "30");
    sleep_ms(40); /* full_semaphore shows that a slot whose time is not over is refused */
    CHECK_HAS(":a#1", server_cmd(&node, "HGET", KEY, "s:1", NULL));
    reply = TAKE(.value = "d#2", .kind = "k", .group = "2", .slot = "2");
    CHECK_INT(0, part_int(reply, 0));
    CHECK_INT(1, part_int(reply, 10)); /* the hint knows it, too */
    GRANTED(.value = "c#1", .kind = "k", .group = "2", .slot = "1", .ttl = "5000");
    CHECK_HAS(":c#1", server_cmd(&node, "HGET", KEY, "s:1", NULL));
}

CASE(several,
     "take_mutex.lua grants all of several names or none, and returns the longest TTL.")
{
    GRANTED("b", .value = "other", .ttl = "4000");
    GRANTED("c", .value = "third", .ttl = "9000");
    CHECK_PARTS("0=0, 1~9000", TAKE("a,b,c", .value = "v", .fence_life = "86400000"));
    CHECK_INT(2, server_keys(&node)); /* nothing of ours, no counter either */
    server_cmd(&node, "DEL", "redlock:b", "redlock:c", NULL);
    GRANTED("a,b,c", .value = "v", .ttl = "5000");
    CHECK_INT(3, server_keys(&node));
    for (int i = 0; i < 3; i++) {
        static const char *const keys[] = {"redlock:a", "redlock:b", "redlock:c"};
        CHECK_STR("v", server_cmd(&node, "GET", keys[i], NULL));
        CHECK_LEFT(5000, pttl(keys[i]));
    }
}

CASE(repair, "Every take script repairs past the queue and overwrites no other holder.")
{
    FOR_KINDS(kind)
    {
        server_cmd(&node, "ZADD", "redlock.queue:x", "5", "wsomebody", NULL);
        server_cmd(&node, "ZADD", "redlock.alive:x", "9e15", "wsomebody", NULL);
        GRANTED(.value = "v#1", .kind = kind, .group = "2", .slot = "1", .life = "repair");
        CHECK_INT(1, server_int(&node, "ZCARD", "redlock.queue:x", NULL));
        REFUSED(.value = "w#1", .kind = kind[0] == 's' ? "m" : kind,
                .group = kind[0] == 'o' ? "3" : "2", .slot = "1", .life = "repair");
        server_cmd(&node, "FLUSHALL", NULL);
    }
}

#define TAG "AZaz09_-AZaz09_-AZaz09:"
#define REST "0123456789abcdef0123456789abcdef"

CASE(granted_once,
     "Beside a hold of its tag no request is granted, but for other attempts of the same one.")
{
    FOR_KINDS(kind)
    {
        const char *reply;
        if (kind[0] == 'm')
            continue;
        GRANTED(.value = TAG "aaaaaaaa" REST "#1", .kind = kind, .group = "4", .slot = "1");
        reply =
            TAKE(.value = TAG "bbbbbbbb" REST "#2", .kind = kind, .group = "4", .slot = "2");
        CHECK_INT(0, part_int(reply, 0));
        CHECK_STR(TAG "aaaaaaaa" REST "#1", part(reply, 9));
        GRANTED(.value = TAG "aaaaaaaa"
                             "1" REST "#2",
                .kind = kind, .group = "4", .slot = "2");
        GRANTED(.value = "B" TAG "bbbbbbb" REST "#3", .kind = kind, .group = "4", .slot = "3");
        GRANTED(.value = "c#4", .kind = kind, .group = "4", .slot = "4");
        server_cmd(&node, "DEL", KEY, NULL);
        /* What has expired holds nothing. */
        GRANTED(.value = TAG "aaaaaaaa" REST "#1", .kind = kind, .group = "4", .slot = "1",
                .ttl = "20");
        GRANTED(.value = "c#4", .kind = kind, .group = "4", .slot = "4", .ttl = "9000");
        sleep_ms(40);
        GRANTED(.value = TAG "bbbbbbbb" REST "#2", .kind = kind, .group = "4", .slot = "2");
        server_cmd(&node, "DEL", KEY, NULL);
    }
}
