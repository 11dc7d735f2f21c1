/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator's model of a server against a real one: random commands, what Lua makes of
 * values and replies, and the scripts about a plain mutex and the marker. model_kinds.c has the
 * other scripts. Both run the same texts: what is compared is the commands, and how Lua calls
 * them.
 */
#include "check.h"
#include "model_both.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 4000 };

#define KEY "redlock:a|redlock:b|redlock:c|redlock.admit|redlock.probation"
#define VALUE "0123456789abcdef0123456789abcdef01234567|x|7|41|"
#define TTL "60000|500000|1000000"

static const char *const commands[] = {
    "SET " KEY " " VALUE,
    "SET " KEY " " VALUE " NX PX " TTL,
    "SET " KEY " " VALUE " PX " TTL " NX",
    "SET " KEY " " VALUE " IFEQ " VALUE " PX " TTL,
    "SET " KEY " " VALUE " PX 0|-5|x",
    "SET " KEY,
    "GET " KEY,
    "GETRANGE " KEY " 0|2|50 0|5|64",
    "GETRANGE " KEY " 0 3|40|0",
    "DEL " KEY " " KEY,
    "PTTL " KEY,
    "EXISTS " KEY " " KEY,
    "PEXPIRE " KEY " 60000|900000|0|x",
    "HSETNX redlock.admit id|set " VALUE,
    "HSET redlock.admit id " VALUE " max_ttl 60000",
    "HGET " KEY " id",
    "HMGET " KEY " id max_ttl none",
    "DELIFEQ " KEY " " VALUE,
    "DELEX " KEY " IFEQ " VALUE,
    "PING",
};

/* A key that lives for a millisecond, and time for it to go. */
static void let_one_expire(void)
{
    static const char *const brief[] = {"SET " KEY " " VALUE " PX 1"};
    const char *argv[WORDS_MAX];
    char reply[REPLY_SIZE];

    DRAW(argv, brief);
    compare(argv, 0, reply);
    usleep(5000);
}

#define HASH "hash|hash|hash|zset|string"
#define ZSET "zset|zset|zset|hash|string"
#define MEMBER "a|b|c|d"
#define SCORE "1|2|2.5|-3|1700000000000000|1e300|inf|nan"
#define SCORES "-inf|0|2|(2|x +inf|2|(2|1700000000000000|-1"

static const char *const hash_commands[] = {
    "HSET " HASH " " MEMBER " 1|-7|9223372036854775806|1e3|x",
    "HSET " HASH " " MEMBER " 1|-7|9223372036854775806|1e3|x",
    "HINCRBY " HASH " " MEMBER " 1|-3|9223372036854775807|x|007",
    "HDEL " HASH " " MEMBER " " MEMBER,
    "HEXISTS " HASH " " MEMBER,
    "HGETALL " HASH,
    "HLEN " HASH,
    "TYPE " HASH,
    "PEXPIREAT " HASH " 1|4000000000000|x",
};

static const char *const zset_commands[] = {
    "ZADD " ZSET " " SCORE " " MEMBER " 1|5 " MEMBER,
    "ZADD " ZSET " " SCORE " " MEMBER " 1|5 " MEMBER,
    "ZADD " ZSET " NX|XX " SCORE " " MEMBER,
    "ZSCORE " ZSET " " MEMBER,
    "ZRANK " ZSET " " MEMBER,
    "ZCARD " ZSET,
    "ZREM " ZSET " " MEMBER " " MEMBER,
    "ZRANGE " ZSET " 0|1|-2|9 0|-1|15|-9",
    "ZREVRANGE " ZSET " 0|1 0|2|-1 WITHSCORES",
    "ZRANGEBYSCORE " ZSET " " SCORES " LIMIT 0|1|9 0|2|64",
    "ZREMRANGEBYSCORE " ZSET " " SCORES,
    "SET string x",
};

CASE(commands_agree, "Random commands get the same replies from the model and a real server.")
{
    const char *argv[WORDS_MAX];
    char reply[REPLY_SIZE];

    both_begin(1);
    for (int i = 0; i < ROUNDS; i++) {
        if (sim_chance(&rng, 10))
            let_one_expire();
        DRAW(argv, commands);
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
            DRAW(argv, hash_commands);
        else
            DRAW(argv, zset_commands);
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
static const char *const states[] = {
    "DEL redlock:a|redlock:b|redlock.admit|redlock.probation",
    "SET redlock:a|redlock:b x|y PX " TTL,
    "HSET redlock.fence:a me|you|me?|?| 100|2000000000000|3000000000015|4000000000000001|"
    "4503599627370494|4503599627370495|9007199254740993|500000000000000000|"
    "9223372036854775807|-1|1e300|nan|17.5",
    "DEL redlock.fence:a",
    "HSET redlock.admit id me|you max_ttl 60000|5",
    "SCRIPT FLUSH",
    "SCRIPT LOAD NEW:RELEASE|NEW:EXTEND|NEW:ACQUIRE|NEW:ALIGN",
    "PTTL redlock:a|redlock.fence:a|redlock.fence:b",
    "GET redlock:a|redlock:b|redlock.probation",
};

#define LOCK "redlock:a|redlock:b"
#define TERMS "x|y 50000|60000 me|you|"
#define ALIGNED                                                                                \
    "RUN:ALIGN 2 redlock:a redlock.fence:a x|y "                                               \
    "90|104|2500000000000|4503599627370495|4503599627370496 86400000 me|you"

static const char *const scripts[] = {
    /* With and without the marker, sure and in doubt. */
    "RUN:ACQUIRE 2 " LOCK " redlock.fence:a " TERMS,
    "RUN:ACQUIRE 2 " LOCK " redlock.fence:a " TERMS " ?",
    "RUN:ACQUIRE 3 " LOCK " redlock.fence:a redlock.admit " TERMS,
    "RUN:ACQUIRE 3 " LOCK " redlock.fence:a redlock.admit " TERMS " ?",
    ALIGNED,
    ALIGNED,
    "RUN:EXTEND 1 " LOCK " x|y 100000|700000",
    "RUN:EXTEND 1 " LOCK " x|y 100000|700000",
    "RUN:RELEASE 3 " LOCK " redlock.queue:a redlock.alive:a x|y| 0|1",
    "RUN:RELEASE 3 " LOCK " redlock.queue:a redlock.alive:a x|y| 0|1",
    "RUN:PROBE 2 redlock.admit redlock.probation me|you n1|n2",
    "RUN:PROBE 2 redlock.admit redlock.probation me|you n1|n2",
    "RUN:ADMIT 2 redlock.admit redlock.probation me|you me/n1|you/n2 60000",
    "RUN:ADMIT 2 redlock.admit redlock.probation me|you me/n1|you/n2 60000",
    "RUN:ATTESTATION 1 redlock.admit",
    "RUN:ATTESTATION 1 redlock.admit",
    "RUN:EXPEL 1 redlock.admit me|you",
    "RUN:EXPEL 1 redlock.admit me|you",
};

CASE(scripts_agree, "Random scripts get the same replies from the model and a real server.")
{
    const char *argv[WORDS_MAX];
    char reply[REPLY_SIZE];

    both_begin(2);
    for (int i = 0; i < ROUNDS; i++) {
        DRAW(argv, states);
        compare(argv, strcmp(argv[0], "PTTL") == 0 ? LIFE_SLACK_MS : TIME_SLACK, reply);
        DRAW(argv, scripts);
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

        call_real(argv, theirs);
        call_model(argv, ours);
        for (int j = 1; j < 4 && sections[i][j]; j++) {
            field_of(theirs, sections[i][j], a, sizeof a);
            field_of(ours, sections[i][j], b, sizeof b);
            CHECK_STR(a, b);
        }
    }
    call_real((const char *const[]){"TIME", NULL}, theirs);
    call_model((const char *const[]){"TIME", NULL}, ours);
    CHECK_BETWEEN(-1, 1, strtoll(theirs, NULL, 10) - strtoll(ours, NULL, 10));
    CHECK(strchr(theirs, '\n') && strchr(ours, '\n'));
    both_end();
}
