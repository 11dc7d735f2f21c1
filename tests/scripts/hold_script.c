/* SPDX-License-Identifier: BSD-2-Clause */
/* giveback.lua, renew.lua, align.lua and look.lua by hand: holds of every kind
 * by value alone. */
#include "check.h"
#include "clock.h"
#include "script_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CASES_BEGIN_WITH(begin);

CASE(give_mutex, "Giving back deletes a string key with the caller's value, and no other.")
{
    GRANTED(.value = "a");
    CHECK_STR("0", GIVE(.value = "b"));
    CHECK_INT(1, server_keys(&node));
    CHECK_STR("1", GIVE(.value = "a"));
    CHECK_INT(0, server_keys(&node));
    CHECK_STR("0", GIVE(.value = "a"));
    CHECK_STR("0", GIVE(.value = ""));
}

CASE(give_reader,
     "Giving back removes one reader; the key lives as long as the last that is left.")
{
    GRANTED(.value = "a", .kind = "s", .ttl = "9000");
    GRANTED(.value = "b", .kind = "s", .ttl = "4000");
    CHECK_STR("0", GIVE(.value = "c"));
    CHECK_STR("1", GIVE(.value = "a"));
    CHECK_LEFT(4000, pttl(KEY));
    CHECK_STR("0", GIVE(.value = "a")); /* once */
    CHECK_STR("1", GIVE(.value = "b"));
    CHECK_INT(0, server_keys(&node));
}

CASE(give_owner, "Giving back removes one hold; the owner stays until its last hold.")
{
    GRANTED(.value = "a", .kind = "o", .group = "me", .ttl = "9000", .fence_life = "1000");
    GRANTED(.value = "b", .kind = "o", .group = "me", .ttl = "4000", .fence_life = "1000");
    server_cmd(&node, "DEL", "redlock.fence:x", NULL);
    CHECK_STR("0", GIVE(.value = "c"));
    CHECK_STR("0", GIVE(.value = "me"));
    CHECK_STR("1", GIVE(.value = "a"));
    CHECK_STR("0", GIVE(.value = "a")); /* a repeated one does nothing: no count to go down */
    CHECK_STR("me", server_cmd(&node, "HGET", KEY, "owner", NULL));
    CHECK_LEFT(4000, pttl(KEY));
    CHECK_STR("1", GIVE(.value = "b"));
    CHECK_INT(0, server_keys(&node));
}

CASE(give_slot,
     "Giving back frees a slot by its value, and deletes the key with the last slot.")
{
    GRANTED(.value = "a#1", .kind = "k", .group = "3", .slot = "1", .ttl = "9000");
    GRANTED(.value = "b#2", .kind = "k", .group = "3", .slot = "2", .ttl = "4000");
    GRANTED(.value = "c#3", .kind = "k", .group = "3", .slot = "3", .ttl = "30");
    sleep_ms(40);
    CHECK_STR("0", GIVE(.value = "z#1")); /* the right slot, another's value */
    CHECK_STR("1", GIVE(.value = "a#1"));
    CHECK_INT(2, server_int(&node, "HLEN", KEY, NULL)); /* `slots` and b */
    CHECK_LEFT(4000, pttl(KEY));
    CHECK_STR("1", GIVE(.value = "b#2"));
    CHECK_INT(0, server_keys(&node));
}

CASE(give_several, "Giving back several names deletes all of them and reports a missing one.")
{
    GRANTED("a,b,c", .value = "v");
    CHECK_STR("1", GIVE("a,b,c", .value = "v"));
    CHECK_INT(0, server_keys(&node));
    GRANTED("a,b,c", .value = "v");
    server_cmd(&node, "SET", "redlock:b", "another", NULL);
    CHECK_STR("0", GIVE("a,b,c", .value = "v"));
    CHECK_INT(1, server_keys(&node)); /* the others went, the stranger stays */
    CHECK_STR("another", server_cmd(&node, "GET", "redlock:b", NULL));
}

CASE(give_strangers, "Giving back leaves keys of other holders and other types alone.")
{
    server_cmd(&node, "RPUSH", "redlock:list", "v", NULL);
    server_cmd(&node, "SADD", "redlock:set", "v", NULL);
    server_cmd(&node, "HSET", "redlock:hash", "v", "v", "slots", "v", NULL);
    CHECK_STR("0", GIVE("list", .value = "v"));
    CHECK_STR("0", GIVE("set", .value = "v"));
    CHECK_STR("0", GIVE("hash", .value = "v"));
    CHECK_STR("0", GIVE("nothing", .value = "v"));
    CHECK_INT(3, server_keys(&node));
    CHECK_INT(2, server_int(&node, "HLEN", "redlock:hash", NULL));
}

CASE(renew_kinds,
     "A renewal by value works for every kind, never shortens and never creates a hold.")
{
    FOR_KINDS(kind)
    {
        GRANTED(.value = "a#1", .kind = kind, .group = "2", .slot = "1", .ttl = "4000");
        CHECK_STR("1", call_renew(&node, "x", "a#1", "9000"));
        CHECK_LEFT(9000, pttl(KEY));
        CHECK_STR("1", call_renew(&node, "x", "a#1", "2000"));
        CHECK_LEFT(9000, pttl(KEY));
        CHECK_STR("0", call_renew(&node, "x", "b#1", "20000"));
        CHECK_STR("0", call_renew(&node, "x", "b", "20000"));
        CHECK_LEFT(9000, pttl(KEY));
        CHECK_STR("1", GIVE(.value = "a#1"));
        CHECK_STR("0", call_renew(&node, "x", "a#1", "9000"));
        CHECK_INT(0, server_keys(&node));
    }
}

static long long hold_left_ms(const char *reply)
{
    return atoll(reply) - server_now_ms(&node);
}

CASE(renew_own_record, "A renewal moves the end of its own hold only.")
{
    GRANTED(.value = "a", .kind = "s", .ttl = "4000");
    GRANTED(.value = "b", .kind = "s", .ttl = "4000");
    CHECK_STR("1", call_renew(&node, "x", "a", "9000"));
    CHECK_LEFT(9000, hold_left_ms(server_cmd(&node, "ZSCORE", KEY, "a", NULL)));
    CHECK_LEFT(4000, hold_left_ms(server_cmd(&node, "ZSCORE", KEY, "b", NULL)));
    server_cmd(&node, "DEL", KEY, NULL);
    GRANTED(.value = "a", .kind = "o", .group = "me", .ttl = "4000");
    GRANTED(.value = "b", .kind = "o", .group = "me", .ttl = "4000");
    CHECK_STR("1", call_renew(&node, "x", "a", "9000"));
    CHECK_LEFT(9000, hold_left_ms(server_cmd(&node, "HGET", KEY, "h:a", NULL)));
    CHECK_LEFT(4000, hold_left_ms(server_cmd(&node, "HGET", KEY, "h:b", NULL)));
    server_cmd(&node, "DEL", KEY, NULL);
    GRANTED(.value = "a#1", .kind = "k", .group = "2", .slot = "1", .ttl = "4000");
    GRANTED(.value = "b#2", .kind = "k", .group = "2", .slot = "2", .ttl = "4000");
    CHECK_STR("1", call_renew(&node, "x", "a#1", "9000"));
    CHECK_LEFT(9000, hold_left_ms(server_cmd(&node, "HGET", KEY, "s:1", NULL)));
    CHECK_HAS(":a#1", server_cmd(&node, "HGET", KEY, "s:1", NULL));
    CHECK_LEFT(4000, hold_left_ms(server_cmd(&node, "HGET", KEY, "s:2", NULL)));
}

CASE(renew_too_late, "A renewal does not revive an expired hold in a key that lives on.")
{
    FOR_KINDS(kind)
    {
        if (kind[0] == 'm')
            continue;
        GRANTED(.value = "a#1", .kind = kind, .group = "2", .slot = "1", .ttl = "30");
        GRANTED(.value = "b#2", .kind = kind, .group = "2", .slot = "2", .ttl = "9000");
        sleep_ms(40);
        CHECK_STR("0", call_renew(&node, "x", "a#1", "9000"));
        CHECK_STR("1", call_renew(&node, "x", "b#2", "9000"));
        server_cmd(&node, "DEL", KEY, NULL);
    }
}

CASE(renew_several, "A renewal renews all of several names or none.")
{
    GRANTED("a,b,c", .value = "v", .ttl = "4000");
    CHECK_STR("1", call_renew(&node, "a,b,c", "v", "6000"));
    CHECK_LEFT(6000, pttl("redlock:c"));
    server_cmd(&node, "DEL", "redlock:c", NULL);
    CHECK_STR("0", call_renew(&node, "a,b,c", "v", "9000"));
    CHECK_LEFT(6000, pttl("redlock:a"));
    CHECK_INT(2, server_keys(&node));
    server_cmd(&node, "SET", "redlock:c", "another", NULL);
    CHECK_STR("0", call_renew(&node, "a,b,c", "v", "9000"));
    CHECK_STR("another", server_cmd(&node, "GET", "redlock:c", NULL));
}

CASE(renew_strangers, "A renewal reports keys of other types as not its own, without an error.")
{
    server_cmd(&node, "RPUSH", "redlock:list", "v", NULL);
    server_cmd(&node, "HSET", "redlock:hash", "v", "v", "s:1", "no number", NULL);
    CHECK_STR("0", call_renew(&node, "list", "v", "9000"));
    CHECK_STR("0", call_renew(&node, "hash", "v", "9000"));
    CHECK_STR("0", call_renew(&node, "hash", "v#1", "9000"));
    CHECK_INT(-1, pttl("redlock:list"));
}

CASE(align,
     "Aligning raises a counter, never lowers it, and only while the caller holds the lock.")
{
    GRANTED("a,b", .value = "v", .fence_life = "1000");
    CHECK_STR("1", call_align(&node, "a,b", "v", "4000000000000000"));
    CHECK_STR("i1\n4000000000000000", server_cmd(&node, "HGETALL", "redlock.fence:a", NULL));
    CHECK_STR("i1\n4000000000000000", server_cmd(&node, "HGETALL", "redlock.fence:b", NULL));
    CHECK_BETWEEN(86300000, 86400000, pttl("redlock.fence:b"));
    CHECK_STR("1", call_align(&node, "a,b", "v", "3000000000000000"));
    CHECK_STR("i1\n4000000000000000", server_cmd(&node, "HGETALL", "redlock.fence:a", NULL));
    CHECK_STR("0", call_align(&node, "a,b", "w", "4400000000000000"));
    server_cmd(&node, "SET", "redlock:b", "w", NULL);
    CHECK_STR("0", call_align(&node, "a,b", "v", "4400000000000000"));
    CHECK_STR("0", call_align(&node, "b,a", "v", "4400000000000000"));
    CHECK_STR("i1\n4000000000000000", server_cmd(&node, "HGETALL", "redlock.fence:a", NULL));
    server_cmd(&node, "DEL", "redlock:b", "redlock.fence:a", NULL);
    CHECK_STR("0", call_align(&node, "b", "v", "4400000000000000"));
    CHECK_STR("1", call_align(&node, "a", "v", "5")); /* a counter that is gone is set */
    CHECK_STR("i1\n5", server_cmd(&node, "HGETALL", "redlock.fence:a", NULL));
}

CASE(align_owner, "Aligning raises an owner's token with the counter, for later nested holds.")
{
    GRANTED(.value = "a", .kind = "o", .group = "me", .fence_life = "86400000");
    CHECK_STR("0", call_align(&node, "x", "b", "4000000000000000"));
    CHECK_STR("1", call_align(&node, "x", "a", "4000000000000000"));
    CHECK_PARTS("6=4000000000000000, 1=4000000000000001",
                TAKE(.value = "b", .kind = "o", .group = "me", .fence_life = "1000"));
    server_cmd(&node, "RPUSH", "redlock:list", "v", NULL);
    CHECK_STR("0", call_align(&node, "list", "v", "4"));
}

CASE_OF(look_at_nothing, "Looking at a free name finds no holder and no waiter.",
        CHECK_PARTS("#7, 0=none, 1=-2, 2=0, 3=0, 4=0, 6=0", call_look(&node, "x")));

CASE(look_at_kinds, "Looking finds the holders of each kind and how long each has.")
{
    const char *reply;
    GRANTED(.value = "m", .ttl = "4000", .fence_life = "86400000");
    reply = call_look(&node, "x");
    CHECK_STR("string", part(reply, 0));
    CHECK(part_int(reply, 2) > 1000000000000000);
    CHECK_PARTS("6=1, 7=m, 8~4000", reply);
    server_cmd(&node, "DEL", KEY, NULL);

    GRANTED(.value = "b", .kind = "s", .ttl = "4000");
    GRANTED(.value = "a", .kind = "s", .ttl = "9000");
    GRANTED(.value = "dead", .kind = "s", .ttl = "20");
    sleep_ms(30);
    CHECK_PARTS("0=zset, 6=2, 7=a, 8~9000, 10=b, 11~4000", call_look(&node, "x"));
    CHECK_INT(3, server_int(&node, "ZCARD", KEY, NULL)); /* looking changes nothing */
    server_cmd(&node, "DEL", KEY, NULL);

    GRANTED(.value = "a", .kind = "o", .group = "me", .ttl = "4000");
    GRANTED(.value = "b", .kind = "o", .group = "me", .ttl = "9000");
    CHECK_PARTS("0=hash:owner, 5=me, 6=2", call_look(&node, "x"));
    server_cmd(&node, "DEL", KEY, NULL);

    GRANTED(.value = "a#2", .kind = "k", .group = "3", .slot = "2", .ttl = "4000");
    CHECK_PARTS("0=hash:slots, 5=3, 6=1, 7=a#2", call_look(&node, "x"));
}

CASE(look_at_many, "Looking at many holders finds their number and sixteen of them.")
{
    const char *reply;
    for (int i = 0; i < 19; i++) {
        char value[16];
        snprintf(value, sizeof value, "r%02d", i);
        GRANTED(.value = value, .kind = "s");
    }
    reply = call_look(&node, "x");
    CHECK_INT(19, part_int(reply, 6));
    CHECK_INT(7 + 3 * 16, part_count(reply));
    CHECK_STR("r15", part(reply, 7 + 3 * 15));
    CHECK_INT(40, strlen(part(reply, 9 + 3 * 15)));
}

CASE(look_at_the_queue, "Looking counts the living waiters and names them from the head on.")
{
    char later[32], ticket[32];
    const char *reply;
    GRANTED(.value = "held");
    snprintf(ticket, sizeof ticket, "%lld", (server_now_ms(&node) - 7000) * 1000);
    server_cmd(&node, "ZADD", "redlock.queue:x", "1", "wdead", "2", "wfirst", ticket,
               "wsecond me", NULL);
    snprintf(later, sizeof later, "%lld", server_now_ms(&node) + 100000);
    server_cmd(&node, "ZADD", "redlock.alive:x", "5", "wdead", later, "wfirst", later,
               "wsecond me", "9e15", "t", NULL);
    reply = call_look(&node, "x");
    CHECK_PARTS("3=2, 4=2, 10=wfirst", reply);
    CHECK_INT(-1, part_int(reply, 11)); /* such a ticket is no time */
    CHECK_STR("wsecond me", part(reply, 12));
    CHECK_BETWEEN(7000, 60000, part_int(reply, 13));
    CHECK_INT(3, server_int(&node, "ZCARD", "redlock.queue:x", NULL));
}

CASE(look_at_strangers, "Looking shows keys of other types as such, and cuts a huge value.")
{
    const char *reply;
    char *huge = malloc(100001);
    CHECK(huge != NULL);
    memset(huge, 'h', 100000);
    huge[100000] = '\0';
    server_cmd(&node, "RPUSH", "redlock:list", "v", NULL);
    server_cmd(&node, "SET", "redlock:huge", huge, NULL);
    free(huge);
    CHECK_PARTS("0=list, 7=(list)", call_look(&node, "list"));
    /* A hash is a lock only by its holds. */
    server_cmd(&node, "HSET", "redlock:hash", "slots", "1", "zset", "2", NULL);
    CHECK_PARTS("0=hash, 5=, 6=1, 7=(hash), 8=-1", call_look(&node, "hash"));
    reply = call_look(&node, "huge");
    CHECK_INT(REDLOCK_VALUE_MAX + 1, strlen(part(reply, 7)));
    CHECK_INT(-1, part_int(reply, 8)); /* no expiry */
}

CASE(expired_is_not_ours, "An expired hold is not given back, though others keep the key.")
{
    FOR_KINDS(kind)
    {
        if (kind[0] == 'm')
            continue;
        GRANTED(.value = "short#1", .kind = kind, .group = "2", .slot = "1", .ttl = "30");
        GRANTED(.value = "long#2", .kind = kind, .group = "2", .slot = "2");
        sleep_ms(40);
        CHECK_STR("0", GIVE(.value = "short#1"));
        CHECK_STR("1", GIVE(.value = "long#2"));
        CHECK_INT(0, server_int(&node, "EXISTS", KEY, NULL));
    }
}
