/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers that no clock can have reached, planted where the scripts keep counters, tickets and
 * ends of holds: each counts as missing, the node repairs itself, and no other gets the number.
 */
#include "fixture.h"
#include "kinds.h"
#include "nodeclock.h"
#include "script_calls.h"

#include <stdio.h>
#include <stdlib.h>

#define FENCE "redlock.fence:x"
#define ALIVE "redlock.alive:x"
#define LIMIT INT64_C(4503599627370496) /* 2^52 */

enum { TTL_MS = LONG_TTL_MS };

static const char *const bad_counters[] = {
    "9007199254740993",
    "9007199254740992",
    "4503599627370496",
    "4503599627370495", /* what it would give next is out of range */
    "500000000000000000",
    "9223372036854775807",
    "-9223372036854775808",
    "-1",
    "1e300",
    "nan",
    "inf",
    "-inf",
    "1700000000000000.5",
    "nonsense",
    "",
};

enum { BAD_COUNTERS = sizeof bad_counters / sizeof bad_counters[0] };

static void plant(const struct server *s, const char *field, int which)
{
    printf("# %s = \"%s\"\n", field, bad_counters[which]);
    server_cmd(s, "DEL", FENCE, NULL);
    CHECK_STR("1", server_cmd(s, "HSET", FENCE, field, bad_counters[which], NULL));
}

static long long draw(bool by_take)
{
    const char *reply =
        by_take ? call_take(&node, (struct take){.value = "v", .fence_life = "86400000"})
                : call_acquire(&node, (struct acquire){.value = "v", .incarnation = "i1"});
    long long token = by_take ? part_int(reply, 1) : strtoll(reply, NULL, 10);
    CHECK_STR("v", server_cmd(&node, "GET", KEY, NULL));
    server_cmd(&node, "DEL", KEY, NULL);
    return token;
}

static void counter_heals(bool by_take)
{
    static const char *const fields[] = {"i1", "i0", "x", "i1?", ""};
    begin();
    for (int i = 0; i < BAD_COUNTERS; i++) {
        for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
            long long token;
            long long now_us = server_now_ms(&node) * 1000;
            plant(&node, fields[f], i);
            token = draw(by_take);
            CHECK_BETWEEN(now_us, now_us + 60000000, token);
            CHECK_STR("i1", server_cmd(&node, "HKEYS", FENCE, NULL));
            CHECK_INT(token, server_int(&node, "HGET", FENCE, "i1", NULL));
            CHECK_BETWEEN(1, 86400000, server_int(&node, "PTTL", FENCE, NULL));
            CHECK_INT(token + 1, draw(by_take));
        }
    }
}

CASE_OF(counter_of_acquire,
        "acquire.lua starts at the clock where a planted value is no counter.",
        counter_heals(false));

CASE_OF(counter_of_take,
        "take_mutex.lua starts at the clock where a planted value is no counter.",
        counter_heals(true));

CASE(beside_a_counter, "A number planted beside the counter does not change it.")
{
    long long first;
    begin();
    first = draw(false);
    server_cmd(&node, "HSET", FENCE, "x", "9007199254740993", NULL);
    CHECK_INT(first + 1, draw(false));
    CHECK_INT(first + 2, draw(true));
}

CASE(last_below_the_limit,
     "A planted number counts as long as the next one is below the limit.")
{
    begin();
    server_cmd(&node, "HSET", FENCE, "i1", "4503599627370493", NULL);
    CHECK_INT(LIMIT - 2, draw(false));
    CHECK_INT(LIMIT - 1, draw(true));
    CHECK(draw(false) < LIMIT / 2);
}

CASE(token_of_an_owner,
     "A planted token of an owner's first hold does not count and is replaced.")
{
    begin();
    for (int i = 0; i < BAD_COUNTERS; i++) {
        struct take t = {.value = "a", .kind = "o", .group = "me", .fence_life = "86400000"};
        const char *reply;
        if (i == 3)
            continue; /* one less than the limit is a token */
        server_cmd(&node, "DEL", KEY, NULL);
        CHECK_INT(1, part_int(call_take(&node, t), 0));
        server_cmd(&node, "HSET", KEY, "fence", bad_counters[i], NULL);
        t.value = "b";
        reply = call_take(&node, t);
        CHECK_PARTS("0=1, 6=0", reply);
        CHECK_INT(part_int(reply, 1), server_int(&node, "HGET", KEY, "fence", NULL));
    }
}

CASE(alignment, "No counter is aligned to a planted token, and a planted counter is aligned.")
{
    struct take t = {.value = "a", .kind = "o", .group = "me", .fence_life = "86400000"};
    begin();
    CHECK_INT(1, part_int(call_take(&node, t), 0));
    CHECK_STR("0", call_align(&node, "x", "a", "4503599627370496"));
    CHECK_STR("0", call_align(&node, "x", "a", "9007199254740993"));
    CHECK(server_int(&node, "HGET", FENCE, "i1", NULL) < LIMIT / 2);
    CHECK(server_int(&node, "HGET", KEY, "fence", NULL) < LIMIT / 2);
    for (int i = 0; i < BAD_COUNTERS; i++) {
        if (i == 3)
            continue;
        plant(&node, "i1", i);
        server_cmd(&node, "HSET", KEY, "fence", bad_counters[i], NULL);
        CHECK_STR("1", call_align(&node, "x", "a", "4000000000000000"));
        CHECK_STR("4000000000000000", server_cmd(&node, "HGET", FENCE, "i1", NULL));
        CHECK_STR("4000000000000000", server_cmd(&node, "HGET", KEY, "fence", NULL));
    }
}

CASE(tickets, "A planted ticket does not count: the next ticket is the clock's.")
{
    static const char *const scores[] = {"inf", "1e300", "9007199254740993", "-inf"};
    begin();
    for (size_t i = 0; i < sizeof scores / sizeof scores[0]; i++) {
        const char *reply;
        long long now_us = server_now_ms(&node) * 1000;
        server_cmd(&node, "SET", KEY, "w", "PX", "20000", NULL);
        server_cmd(&node, "ZADD", ALIVE, scores[i], "t", NULL);
        CHECK_BETWEEN(now_us, LIMIT / 2, part_int(call_ticket(&node, "x"), 0));
        reply = call_take(&node, (struct take){.waiter = "w1"});
        CHECK_BETWEEN(now_us, LIMIT / 2, part_int(reply, 6));
        call_take(&node, (struct take){.waiter = "w1", .ticket = "1700000000000000"});
        CHECK_STR("1700000000000000", server_cmd(&node, "ZSCORE", ALIVE, "t", NULL));
        server_cmd(&node, "DEL", KEY, ALIVE, "redlock.queue:x", NULL);
    }
}

CASE(ends_of_holds,
     "A planted end that never comes is reported as a long time and stops no release.")
{
    struct take t = {.value = "a", .kind = "o", .group = "me"};
    begin();
    server_cmd(&node, "ZADD", KEY, "inf", "r", NULL);
    CHECK_INT(1, part_int(call_look(&node, "x"), 6));
    CHECK(part_int(call_look(&node, "x"), 8) > 0);
    CHECK_INT(1, part_int(call_take(&node, (struct take){.value = "a", .kind = "s"}), 0));
    CHECK_STR("1", call_give(&node, (struct give){.value = "a"}));
    server_cmd(&node, "DEL", KEY, NULL);
    server_cmd(&node, "HSET", KEY, "owner", "me", "h:z", "inf", "h:y", "nan", NULL);
    CHECK_INT(1, part_int(call_look(&node, "x"), 6));
    CHECK_INT(1, part_int(call_take(&node, t), 0));
    CHECK_STR("1", call_give(&node, (struct give){.value = "a"}));
    server_cmd(&node, "DEL", KEY, NULL);
    server_cmd(&node, "HSET", KEY, "slots", "1", "s:1",
               "99999999999999999999999999999999999999:z#1", NULL);
    t = (struct take){.value = "a#1", .kind = "k", .group = "1", .slot = "1"};
    CHECK_INT(0, part_int(call_take(&node, t), 0));
    CHECK(part_int(call_take(&node, t), 1) > 0);
}

CASE(marker, "A marker whose max_ttl is no number allows every TTL.")
{
    begin();
    server_cmd(&node, "HSET", "redlock.admit", "max_ttl", "nonsense", NULL);
    CHECK_PARTS("0=1, 3=0", call_take(&node, (struct take){.value = "a", .identity = "1"}));
}

static int64_t next_token(redlock *r, enum shape shape)
{
    redlock_request q = shape_request(shape);
    redlock_lock *lock;
    int64_t token;
    q.flags |= REDLOCK_FENCED;
    lock = client_lock_as(r, "x", TTL_MS, q);
    token = redlock_fence(lock);
    client_unlock(lock);
    return token;
}

CASE_ON(tokens_grow_default,
        "In the default mode every token is larger with a planted counter on one node.",
        .also = {REDLOCK_STRICT})
{
    static const enum shape shapes[] = {SHAPE_MUTEX, SHAPE_REENTRANT, SHAPE_SEVERAL};
    int64_t last = 0;
    for (int i = 0; i < BAD_COUNTERS; i++) {
        plant(&c->node[i % 3], i % 2 ? "x" : "0123456789abcdef", i);
        for (int round = 0; round < 6; round++) {
            int64_t token = next_token(r, shapes[round % 3]);
            CHECK_NEVER(token <= last);
            CHECK_NEVER(token >= LIMIT);
            last = token;
        }
        for (int n = 0; n < 3; n++)
            CHECK(strtoll(server_cmd(&c->node[n], "HVALS", FENCE, NULL), NULL, 10) < LIMIT);
    }
}

CASE_ON(everything_goes_on, "Numbers planted under one name stop no query, listing or lock.")
{
    redlock_answer *answer = NULL;
    redlock_info info;
    for (int i = 0; i < 3; i++) {
        server_cmd(&c->node[i], "HSET", FENCE, "i", "1e300", NULL);
        server_cmd(&c->node[i], "ZADD", KEY, "inf", "r", NULL);
        server_cmd(&c->node[i], "HSET", "redlock.fence:y", "i", "nan", NULL);
        server_cmd(&c->node[i], "ZADD", ALIVE, "inf", "w0123456789abcdef0", "inf", "t", NULL);
        server_cmd(&c->node[i], "ZADD", "redlock.queue:x", "1", "w0123456789abcdef0", NULL);
    }
    CHECK_OK(redlock_query(r, "x", &answer));
    info = *answer->info;
    CHECK_INT(3, report_votes(answer->report, REDLOCK_VOTE_TAKEN));
    redlock_answer_free(answer);
    CHECK_INT(1, info.held);
    CHECK_INT(0, info.fence);
    CHECK_INT(REDLOCK_WAIT_MAX_MS, info.holder.remaining_ms);
    info = client_query(r, "y");
    CHECK_INT(0, info.fence);
    /* The key is in the way, and that is all: held by another, for an unknown time. */
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS));
    CHECK_ERR(REDLOCK_TIMEOUT, CLIENT_TRY(r, "x", TTL_MS, .wait_ms = 1000));
    CHECK_OK(client_try(r, "z", TTL_MS));
}

CASE_NODES(token_of_a_strange_clock,
           "A token out of range is no vote, and no other node is aligned to it.",
           .start = nodeclock_cluster)
{
    redlock_request q = REDLOCK_REQUEST(.flags = REDLOCK_FENCED);
    nodeclock_step(&c->node[0], INT64_C(100) * 365 * 86400000); /* beyond the year 2112 */
    r = client_open_warm(c, 0);
    for (int i = 0; i < 5; i++) {
        redlock_lock *lock = client_lock_as(r, "x", TTL_MS, q);
        CHECK_NEVER(redlock_fence(lock) >= LIMIT);
        client_unlock(lock);
        for (int n = 1; n < 3; n++)
            CHECK(strtoll(server_cmd(&c->node[n], "HVALS", FENCE, NULL), NULL, 10) < LIMIT);
    }
    /* Two of three such nodes leave no majority, and the message says why. */
    server_kill(&c->node[1]);
    CHECK_ERR(REDLOCK_NOQUORUM, client_try_as(r, "x", TTL_MS, q));
    CHECK_INT(REDLOCK_VOTE_ERROR, redlock_failure_report()->node[0].vote);
    CHECK_HAS("fencing token", redlock_failure_report()->node[0].text);
}
