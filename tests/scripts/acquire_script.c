/* SPDX-License-Identifier: BSD-2-Clause */
/* acquire.lua by hand: when a fence counter goes on, and when it starts again at the clock. */
#include "check.h"
#include "script_calls.h"

#include <stdio.h>
#include <stdlib.h>

CASES_BEGIN_WITH(begin);

#define FENCE "redlock.fence:x"
/* Far beyond any clock. */
#define AHEAD "4000000000000000"

/* The token of the next hold, which is given back at once. */
static long long draw(struct acquire a)
{
    long long token;
    a.value = "v";
    token = strtoll(call_acquire(&node, a), NULL, 10);
    CHECK_STR("v", server_cmd(&node, "GET", KEY, NULL));
    CHECK_INT(1, server_int(&node, "HLEN", FENCE, NULL));
    CHECK_BETWEEN(1, 86400000, server_int(&node, "PTTL", FENCE, NULL));
    server_cmd(&node, "DEL", KEY, NULL);
    return token;
}

#define DRAW(...) draw((struct acquire){__VA_ARGS__})

static const char *tag(void)
{
    return server_cmd(&node, "HKEYS", FENCE, NULL);
}

static void put(const char *field, const char *last)
{
    server_cmd(&node, "DEL", FENCE, NULL);
    server_cmd(&node, "HSET", FENCE, field, last, NULL);
    server_cmd(&node, "PEXPIRE", FENCE, "86400000", NULL);
}

CASE(counts,
     "The counter of the node's incarnation goes up by one a grant, and not when refused.")
{
    long long first = DRAW(.incarnation = "i1");
    CHECK(first >= begun_us);
    CHECK_STR("i1", tag());
    for (int i = 1; i <= 40; i++)
        CHECK_INT(first + i, DRAW(.incarnation = "i1"));
    CHECK_STR("OK", server_cmd(&node, "SET", KEY, "w", "PX", "5000", NULL));
    CHECK_PARTS("#3, 0=0, 1~5000, 2=w",
                call_acquire(&node, (struct acquire){.incarnation = "i1"}));
    server_cmd(&node, "DEL", KEY, NULL);
    CHECK_INT(first + 41, DRAW(.incarnation = "i1"));
}

CASE(other_incarnation,
     "A counter of another incarnation is replaced by one that starts at the clock.")
{
    put("i0", "1500000000000000");
    CHECK(DRAW(.incarnation = "i1") >= begun_us);
    CHECK_STR("i1", tag());
    CHECK(DRAW(.incarnation = "i0") > begun_us);
    CHECK_STR("i0", tag());
}

CASE(never_back, "A counter ahead of the clock is counted on, whatever its incarnation.")
{
    put("i0", AHEAD);
    CHECK_INT(4000000000000001, DRAW(.incarnation = "i1"));
    CHECK_INT(4000000000000002, DRAW(.incarnation = "i1"));
    CHECK_INT(4000000000000003, DRAW(.incarnation = "i2", .in_doubt = true));
    CHECK_INT(4000000000000004, DRAW(.incarnation = ""));
    CHECK_INT(4000000000000005, DRAW(.incarnation = "i2"));
    CHECK_INT(4000000000000006, DRAW(.incarnation = "i2", .in_doubt = true));
    CHECK_STR("i2", tag());
}

CASE(nameless,
     "On a node without a known incarnation the counter goes on from the last number.")
{
    put("", AHEAD);
    CHECK_INT(4000000000000001, DRAW(.incarnation = ""));
    CHECK_INT(4000000000000002, DRAW(.incarnation = ""));
    CHECK_STR("", tag());
}

CASE(doubt,
     "A counter that began in doubt starts at the clock until a client is sure of the node.")
{
    long long second, third;
    long long first = DRAW(.incarnation = "i1", .in_doubt = true);
    CHECK_STR("i1?", tag());
    put("i1?", "1500000000000000");
    second = DRAW(.incarnation = "i1", .in_doubt = true);
    CHECK(second > first);
    CHECK_STR("i1?", tag());
    put("i1?", "1500000000000000");
    third = DRAW(.incarnation = "i1");
    CHECK(third > second);
    CHECK_STR("i1", tag());
    CHECK_INT(third + 1, DRAW(.incarnation = "i1", .in_doubt = true));
    CHECK_STR("i1", tag());
}

CASE(unknown,
     "A client that does not know the incarnation starts at the clock and keeps the tag.")
{
    long long token;
    CHECK(DRAW(.incarnation = "", .in_doubt = true) >= begun_us);
    CHECK_STR("?", tag());
    put("?", "1500000000000000");
    CHECK(DRAW(.incarnation = "", .in_doubt = true) >= begun_us);
    put("i1", "1500000000000000");
    token = DRAW(.incarnation = "", .in_doubt = true);
    CHECK(token >= begun_us);
    CHECK_STR("i1", tag());
    CHECK_INT(token + 1, DRAW(.incarnation = "i1"));
}

CASE(small_numbers, "A counter that is too small for a clock is no token, and starts again.")
{
    put("i1", "7");
    CHECK(DRAW(.incarnation = "i1") >= begun_us);
    put("i1", "7");
    server_cmd(&node, "HSET", FENCE, "i0", AHEAD, NULL);
    CHECK_INT(4000000000000001, DRAW(.incarnation = "i1"));
    CHECK_STR("i1", tag());
}

CASE(marker,
     "In strict mode a counter begins without doubt only where the marker names the node.")
{
    char life[32], doubtful[33];
    const char *id = server_cmd(&node, "HGET", "redlock.admit", "id", NULL);
    snprintf(life, sizeof life, "%.8s%.8s", id, id + 41);
    DRAW(.incarnation = life, .strict = true);
    CHECK_STR(life, tag());
    /* The marker names another incarnation than the client believes. */
    DRAW(.incarnation = "i1", .strict = true);
    CHECK_STR("i1?", tag());
    server_cmd(&node, "DEL", "redlock.admit", FENCE, NULL);
    DRAW(.incarnation = "i1"); /* the others go by the node's age */
    CHECK_STR("i1", tag());
    server_cmd(&node, "DEL", FENCE, NULL);
    snprintf(doubtful, sizeof doubtful, "%s?", life);
    DRAW(.incarnation = life, .strict = true);
    CHECK_STR(doubtful, tag());
}

CASE(life, "An idle counter lives for a day, and some of the grants prolong that.")
{
    DRAW(.incarnation = "i1");
    CHECK_BETWEEN(86300000, 86400000, server_int(&node, "PTTL", FENCE, NULL));
    server_cmd(&node, "PEXPIRE", FENCE, "60000", NULL);
    for (int i = 0; i < 16; i++)
        DRAW(.incarnation = "i1");
    CHECK_BETWEEN(86300000, 86400000, server_int(&node, "PTTL", FENCE, NULL));
}
