/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator's model of a server against a real one: random commands, what Lua makes of
 * values and replies, and the scripts about a plain mutex and the marker. model_kinds.c has the
 * other scripts. Both run the same texts: what is compared is the commands, and how Lua calls
 * them.
 */
#include "check.h"
#include "model_both.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rl_scripts.h"

enum { ROUNDS = 4000 };

/* ---- drawing ---- */

static const char *draw_key(void)
{
    return PICK("redlock:a", "redlock:b", "redlock:c", "redlock.admit", "redlock.probation");
}

static const char *draw_value(void)
{
    return PICK("0123456789abcdef0123456789abcdef01234567", "x", "7", "41", "");
}

static const char *draw_ttl(void)
{
    return PICK("60000", "500000", "1000000");
}

/* A key that lives for a millisecond, and time for it to go. */
static void let_one_expire(void)
{
    char reply[REPLY_SIZE];

    compare((const char *const[]){"SET", draw_key(), draw_value(), "PX", "1", NULL}, 0, reply);
    usleep(5000);
}

static void draw_command(const char **argv)
{
    const char *key = draw_key();
    const char *value = draw_value();

    switch (sim_below(&rng, 19)) {
    case 0:
        ASK("SET", key, value);
        return;
    case 1:
        ASK("SET", key, value, "NX", "PX", draw_ttl());
        return;
    case 2:
        ASK("SET", key, value, "PX", draw_ttl(), "NX");
        return;
    case 3:
        ASK("SET", key, value, "IFEQ", draw_value(), "PX", draw_ttl());
        return;
    case 4:
        ASK("SET", key, value, "PX", PICK("0", "-5", "x"));
        return;
    case 5:
        ASK("GET", key);
        return;
    case 6:
        ASK("GETRANGE", key, PICK("0", "2", "50"), PICK("0", "5", "64"));
        return;
    case 7:
        ASK("DEL", key, draw_key());
        return;
    case 8:
        ASK("PTTL", key);
        return;
    case 9:
        ASK("EXISTS", key, draw_key());
        return;
    case 10:
        ASK("PEXPIRE", key, PICK("60000", "900000", "0", "x"));
        return;
    case 11:
        ASK("GETRANGE", key, "0", PICK("3", "40", "0"));
        return;
    case 12:
        if (value[0] & 1)
            ASK("HSETNX", "redlock.admit", PICK("id", "set"), value);
        else
            ASK("HSET", "redlock.admit", "id", value, "max_ttl", "60000");
        return;
    case 13:
        ASK("HGET", key, "id");
        return;
    case 14:
        ASK("HMGET", key, "id", "max_ttl", "none");
        return;
    case 15:
        ASK("DELIFEQ", key, value);
        return;
    case 16:
        ASK("DELEX", key, "IFEQ", value);
        return;
    case 17:
        ASK("PING");
        return;
    default:
        ASK("SET", key);
        return;
    }
}

static const char *draw_member(void)
{
    return PICK("a", "b", "c", "d");
}

static void draw_hash_command(const char **argv)
{
    const char *key = PICK("hash", "hash", "hash", "zset", "string");
    const char *field = draw_member();

    switch (sim_below(&rng, 9)) {
    case 0:
    case 1:
        ASK("HSET", key, field, PICK("1", "-7", "9223372036854775806", "1e3", "x"));
        return;
    case 2:
        ASK("HINCRBY", key, field, PICK("1", "-3", "9223372036854775807", "x", "007"));
        return;
    case 3:
        ASK("HDEL", key, field, draw_member());
        return;
    case 4:
        ASK("HEXISTS", key, field);
        return;
    case 5:
        ASK("HGETALL", key);
        return;
    case 6:
        ASK("HLEN", key);
        return;
    case 7:
        ASK("TYPE", key);
        return;
    default:
        ASK("PEXPIREAT", key, PICK("1", "4000000000000", "x"));
        return;
    }
}

static void draw_zset_command(const char **argv)
{
    const char *key = PICK("zset", "zset", "zset", "hash", "string");
    const char *member = draw_member();
    const char *score = PICK("1", "2", "2.5", "-3", "1700000000000000", "1e300", "inf", "nan");
    const char *from = PICK("-inf", "0", "2", "(2", "x");
    const char *to = PICK("+inf", "2", "(2", "1700000000000000", "-1");

    switch (sim_below(&rng, 12)) {
    case 0:
    case 1:
        ASK("ZADD", key, score, member, PICK("1", "5"), draw_member());
        return;
    case 2:
        ASK("ZADD", key, PICK("NX", "XX"), score, member);
        return;
    case 3:
        ASK("ZSCORE", key, member);
        return;
    case 4:
        ASK("ZRANK", key, member);
        return;
    case 5:
        ASK("ZCARD", key);
        return;
    case 6:
        ASK("ZREM", key, member, draw_member());
        return;
    case 7:
        ASK("ZRANGE", key, PICK("0", "1", "-2", "9"), PICK("0", "-1", "15", "-9"));
        return;
    case 8:
        ASK("ZREVRANGE", key, PICK("0", "1"), PICK("0", "2", "-1"), "WITHSCORES");
        return;
    case 9:
        ASK("ZRANGEBYSCORE", key, from, to, "LIMIT", PICK("0", "1", "9"), PICK("0", "2", "64"));
        return;
    case 10:
        ASK("ZREMRANGEBYSCORE", key, from, to);
        return;
    default:
        ASK("SET", "string", "x");
        return;
    }
}

CASE(commands_agree, "Random commands get the same replies from the model and a real server.")
{
    const char *argv[WORDS_MAX];
    char reply[REPLY_SIZE];

    both_begin(1);
    for (int i = 0; i < ROUNDS; i++) {
        if (sim_chance(&rng, 10))
            let_one_expire();
        draw_command(argv);
        compare(argv, strcmp(argv[0], "PTTL") == 0 ? LIFE_SLACK_MS : 0, reply);
    }
    both_end();
}

CASE(types_agree, "Random commands on hashes and sorted sets: the same replies from both.")
{
    const char *argv[WORDS_MAX];
    char reply[REPLY_SIZE];

    both_begin(5);
    for (int i = 0; i < ROUNDS; i++) {
        if (sim_chance(&rng, 400))
            draw_hash_command(argv);
        else
            draw_zset_command(argv);
        compare(argv, 0, reply);
    }
    both_end();
}

CASE(lua_agrees, "Values, replies and errors pass between Lua and the commands as on a server.")
{
    static const char *const texts[] = {
        "return {1, 'a', true, {2, {}}, 3.99, -3.99, nil, 5}",
        "return {false, 1}",
        "return 4503599627370496.5",
        "return 'text'",
        "return true",
        "return false",
        "return nil",
        "return {ok = 'FINE'}",
        "return {err = 'NO good'}",
        "return {{err = 'NO good'}, {ok = 'FINE'}}",
        "return redis.status_reply('FINE')",
        "return redis.error_reply('NO good')",
        "return tostring(redis.call('GET', 'none'))",
        "return redis.call('SET', 'number', 1700000000000000)",
        "return redis.call('GET', 'number')",
        "return redis.call('SET', 'number', 0.1)",
        "return redis.call('GET', 'number')",
        "return redis.call('SET', 'number', -2 ^ 70)",
        "return redis.call('GET', 'number')",
        "return redis.call('TYPE', 'number').ok",
        "return redis.call('HGET', 'number', 'x')",
        "return redis.pcall('HGET', 'number', 'x')",
        "return string.sub(redis.pcall('HGET', 'number', 'x').err, 1, 9)",
        "return #redis.call('TIME')",
        "return redis.call('TIME', 'x')",
        "return redis.call('NONE')",
        "return redis.call()",
        "return redis.call('GET', {})",
        "return redis.call('EVAL', 'return 1', 0)",
        "return #KEYS + #ARGV",
        "made_here = 1",
        "return made_nowhere",
        "return nil + 1",
        "return (",
    };

    both_begin(6);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        compare_lua(texts[i]);
    both_end();
}

/* Keys of the right types: what the scripts are made for. */
static void draw_state(const char **argv)
{
    switch (sim_below(&rng, 9)) {
    case 0:
        ASK("DEL", PICK("redlock:a", "redlock:b", "redlock.admit", "redlock.probation"));
        return;
    case 1:
        ASK("SET", PICK("redlock:a", "redlock:b"), PICK("x", "y"), "PX", draw_ttl());
        return;
    case 2:
        ASK("HSET", "redlock.fence:a", PICK("me", "you", "me?", "?", ""),
            PICK("100", "2000000000000", "3000000000015", "4000000000000001",
                 "4503599627370494", "4503599627370495", "9007199254740993",
                 "500000000000000000", "9223372036854775807", "-1", "1e300", "nan", "17.5"));
        return;
    case 8:
        ASK("DEL", "redlock.fence:a");
        return;
    case 3:
        ASK("HSET", "redlock.admit", "id", PICK("me", "you"), "max_ttl", PICK("60000", "5"));
        return;
    case 4:
        ASK("SCRIPT", "FLUSH");
        return;
    case 5:
        ASK("SCRIPT", "LOAD",
            PICK(RL_SCRIPT_RELEASE, RL_SCRIPT_EXTEND, RL_SCRIPT_ACQUIRE, RL_SCRIPT_ALIGN));
        return;
    case 6:
        ASK("PTTL", PICK("redlock:a", "redlock.fence:a", "redlock.fence:b"));
        return;
    default:
        ASK("GET", PICK("redlock:a", "redlock:b", "redlock.probation"));
        return;
    }
}

/* With and without the marker, sure and in doubt. */
static void draw_acquire(const char **argv, const char *value)
{
    bool by_text = sim_chance(&rng, 500);
    const char *lock = PICK("redlock:a", "redlock:b");
    const char *ttl = PICK("50000", "60000");
    const char *incarnation = PICK("me", "you", "");

    switch (sim_below(&rng, 4)) {
    case 0:
        ASK(SCRIPT(ACQUIRE), "2", lock, "redlock.fence:a", value, ttl, incarnation);
        return;
    case 1:
        ASK(SCRIPT(ACQUIRE), "2", lock, "redlock.fence:a", value, ttl, incarnation, "?");
        return;
    case 2:
        ASK(SCRIPT(ACQUIRE), "3", lock, "redlock.fence:a", "redlock.admit", value, ttl,
            incarnation);
        return;
    default:
        ASK(SCRIPT(ACQUIRE), "3", lock, "redlock.fence:a", "redlock.admit", value, ttl,
            incarnation, "?");
        return;
    }
}

static void draw_script(const char **argv)
{
    bool by_text = sim_chance(&rng, 500);
    const char *value = PICK("x", "y");

    switch (sim_below(&rng, 9)) {
    case 0:
    case 1:
        draw_acquire(argv, value);
        return;
    case 2:
        ASK(SCRIPT(ALIGN), "2", "redlock:a", "redlock.fence:a", value,
            PICK("90", "104", "2500000000000", "4503599627370495", "4503599627370496"),
            "86400000", PICK("me", "you"));
        return;
    case 3:
        ASK(SCRIPT(EXTEND), "1", PICK("redlock:a", "redlock:b"), value,
            PICK("100000", "700000"));
        return;
    case 4:
        ASK(SCRIPT(RELEASE), "3", PICK("redlock:a", "redlock:b"), "redlock.queue:a",
            "redlock.alive:a", PICK("x", "y", ""), PICK("0", "1"));
        return;
    case 5:
        ASK(SCRIPT(PROBE), "2", "redlock.admit", "redlock.probation", PICK("me", "you"),
            PICK("n1", "n2"));
        return;
    case 6:
        ASK(SCRIPT(ADMIT), "2", "redlock.admit", "redlock.probation", PICK("me", "you"),
            PICK("me/n1", "you/n2"), "60000");
        return;
    case 7:
        ASK(SCRIPT(WITNESS), "1", "redlock.admit");
        return;
    default:
        ASK(SCRIPT(EXPEL), "1", "redlock.admit", PICK("me", "you"));
        return;
    }
}

CASE(scripts_agree, "Random scripts get the same replies from the model and a real server.")
{
    const char *argv[WORDS_MAX];
    char reply[REPLY_SIZE];

    both_begin(2);
    for (int i = 0; i < ROUNDS; i++) {
        draw_state(argv);
        compare(argv, strcmp(argv[0], "PTTL") == 0 ? LIFE_SLACK_MS : TIME_SLACK, reply);
        draw_script(argv);
        compare(argv, TIME_SLACK, reply);
        share_counter("redlock.fence:a");
    }
    both_end();
}

CASE(info_agrees, "What the vetting reads of INFO and TIME is in both, and the same.")
{
    static const char *const sections[][4] = {
        {"server", "run_id:", NULL},
        {"replication", "role:", "master_replid:", NULL},
        {"persistence", "loading:", NULL},
        {"memory", "maxmemory:", "maxmemory_policy:", NULL},
    };
    char theirs[REPLY_SIZE];
    char ours[REPLY_SIZE];
    char a[128];
    char b[128];

    both_begin(3);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        const char *const argv[] = {"INFO", sections[i][0], NULL};

        ask_real(argv, theirs);
        ask_model(argv, ours);
        for (int j = 1; j < 4 && sections[i][j]; j++) {
            field_of(theirs, sections[i][j], a, sizeof a);
            field_of(ours, sections[i][j], b, sizeof b);
            CHECK_STR(a, b);
        }
    }
    ask_real((const char *const[]){"TIME", NULL}, theirs);
    ask_model((const char *const[]){"TIME", NULL}, ours);
    CHECK_BETWEEN(-1, 1, strtoll(theirs, NULL, 10) - strtoll(ours, NULL, 10));
    CHECK(strchr(theirs, '\n') && strchr(ours, '\n'));
    both_end();
}
