/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator's model of a server against a real one: random commands and scripts go to both,
 * and the replies must agree. What depends on time (remaining lives, tokens that start at the
 * clock) may differ by what a loaded machine adds.
 */
#include "check.h"
#include "resp.h"
#include "servers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/recipe.h"
#include "rl_scripts.h"
#include "sim/rng.h"
#include "sim/server.h"

enum { ROUNDS = 4000, WORDS_MAX = 12, REPLY_SIZE = 4096 };

#define TIME_SLACK 3000000 /* microseconds, for tokens and clocks; as ms it is never reached */
#define LIFE_SLACK_MS 3000
#define TIMELIKE_MIN 10000 /* smaller numbers are verdicts and counters */

static struct server real;
static struct resp *line; /* to the real one */
static struct sim_server model;
static struct sim_rng rng;

static int64_t wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void ask_real(const char *const *argv, char *out)
{
    CHECK(resp_send(line, argv) == 0);
    CHECK(resp_read(line, out, REPLY_SIZE) == 0);
}

/* The model's bytes, read by the same eyes as the real server's. */
static void ask_model(const char *const *argv, char *out)
{
    struct sim_words words = {0};
    struct sim_bytes reply = {0};
    struct resp *reader;
    int ends[2];

    for (; argv[words.count]; words.count++)
        words.word[words.count] = sim_slice(argv[words.count]);
    model.now_us = wall_us();
    sim_server_execute(&model, &words, &reply);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(write(ends[1], reply.data, reply.size) == (ssize_t)reply.size);
    close(ends[1]);
    reader = resp_fd(ends[0]);
    CHECK(resp_read(reader, out, REPLY_SIZE) == 0);
    resp_free(reader);
    sim_bytes_free(&reply);
}

static void field_of(const char *info, const char *name, char *out, size_t size)
{
    struct rl_slice text = {info, strlen(info)};
    const char *at = strstr(text.data, name);

    CHECK(at != NULL);
    at += strlen(name);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\r\n"), at);
}

static bool real_knows(const char *const *argv)
{
    char reply[REPLY_SIZE];

    ask_real(argv, reply);
    return reply[0] != '-';
}

static void begin(uint64_t seed)
{
    char reply[REPLY_SIZE];

    sim_rng_seed(&rng, seed);
    server_start(&real, NULL);
    line = resp_tcp("127.0.0.1", real.port.number);
    CHECK(line != NULL);
    ask_real((const char *const[]){"FLUSHALL", NULL}, reply);
    model = (struct sim_server){0};
    model.has_delifeq = real_knows((const char *const[]){"DELIFEQ", "none", "x", NULL});
    model.has_delex = real_knows((const char *const[]){"DELEX", "none", "IFEQ", "x", NULL});
    model.has_set_ifeq =
        real_knows((const char *const[]){"SET", "none", "x", "IFEQ", "x", "PX", "1", NULL});
    ask_real((const char *const[]){"INFO", "server", NULL}, reply);
    field_of(reply, "run_id:", model.run_id, sizeof model.run_id);
    ask_real((const char *const[]){"INFO", "replication", NULL}, reply);
    field_of(reply, "master_replid:", model.replid, sizeof model.replid);
    model.started_us = wall_us();
}

static void end(void)
{
    sim_server_free(&model);
    resp_free(line);
}

/* ---- comparing ---- */

static const char *first_word(const char *text)
{
    static char words[2][64];
    static int at;
    char *out = words[at ^= 1];

    snprintf(out, sizeof words[0], "%.*s", (int)strcspn(text, " \n"), text);
    return out;
}

/* Numbers of the size of times may differ by the slack; everything else is equal. */
static bool alike(const char *a, const char *b, int64_t slack)
{
    while (*a || *b) {
        size_t size_a = strcspn(a, "\n");
        size_t size_b = strcspn(b, "\n");
        char *end_a;
        char *end_b;
        long long number_a = strtoll(a, &end_a, 10);
        long long number_b = strtoll(b, &end_b, 10);
        bool numbers = end_a == a + size_a && end_b == b + size_b && size_a && size_b;
        bool close =
            numbers && llabs(number_a - number_b) <= slack && (number_a < 0) == (number_b < 0);

        if (!close && (size_a != size_b || memcmp(a, b, size_a) != 0))
            return false;
        a += size_a + (a[size_a] == '\n');
        b += size_b + (b[size_b] == '\n');
    }
    return true;
}

static const char *shown(const char *const *argv)
{
    static char text[1024];
    size_t at = 0;

    for (; *argv && at < sizeof text - 80; argv++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%.60s ", *argv);
    return text;
}

/* Asks both; the real reply is left in `out`. */
static void compare(const char *const *argv, int64_t slack, char *out)
{
    char theirs[REPLY_SIZE];

    ask_real(argv, out);
    ask_model(argv, theirs);
    if (out[0] == '-') {
        CHECK_STR(first_word(out), first_word(theirs));
        return;
    }
    if (!alike(out, theirs, slack))
        FAIL("%s\n  real:  %s\n  model: %s", shown(argv), out, theirs);
}

/* ---- drawing ---- */

static const char *pick(const char *const *from, size_t count)
{
    return from[sim_below(&rng, count)];
}

#define PICK(...)                                                                              \
    pick((const char *const[]){__VA_ARGS__},                                                   \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

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

    switch (sim_below(&rng, 20)) {
#define ASK(...)                                                                               \
    memcpy(argv, (const char *[]){__VA_ARGS__, NULL}, sizeof(const char *[]){__VA_ARGS__, NULL})
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
        ASK("UNLINK", key);
        return;
    case 9:
        ASK("PTTL", key);
        return;
    case 10:
        ASK("EXISTS", key, draw_key());
        return;
    case 11:
        ASK("PEXPIRE", key, PICK("60000", "900000", "0", "x"));
        return;
    case 12:
        ASK("INCR", key);
        return;
    case 13:
        ASK("HSET", "redlock.admit", "id", value, "max_ttl", "60000");
        return;
    case 14:
        ASK("HGET", key, "id");
        return;
    case 15:
        ASK("HMGET", key, "id", "max_ttl", "none");
        return;
    case 16:
        ASK("DELIFEQ", key, value);
        return;
    case 17:
        ASK("DELEX", key, "IFEQ", value);
        return;
    case 18:
        ASK("PING");
        return;
    default:
        ASK("SET", key);
        return;
    }
}

CASE(commands_agree, "Random commands get the same replies from the model and a real server.")
{
    const char *argv[WORDS_MAX];
    char reply[REPLY_SIZE];

    begin(1);
    for (int i = 0; i < ROUNDS; i++) {
        if (sim_chance(&rng, 10))
            let_one_expire();
        draw_command(argv);
        compare(argv, strcmp(argv[0], "PTTL") == 0 ? LIFE_SLACK_MS : 0, reply);
    }
    end();
}

/* Keys of the right types: what the scripts are made for. */
static void draw_state(const char **argv)
{
    switch (sim_below(&rng, 8)) {
    case 0:
        ASK("DEL", PICK("redlock:a", "redlock:b", "redlock.admit", "redlock.probation"));
        return;
    case 1:
        ASK("SET", PICK("redlock:a", "redlock:b"), PICK("x", "y"), "PX", draw_ttl());
        return;
    case 2:
        ASK("SET", "redlock.fence:a", PICK("100", "105", "5000"));
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
        ASK("GET", PICK("redlock:a", "redlock:b", "redlock.fence:a", "redlock.probation"));
        return;
    }
}

#define SCRIPT(NAME)                                                                           \
    by_text ? "EVAL" : "EVALSHA", by_text ? RL_SCRIPT_##NAME : RL_SCRIPT_##NAME##_SHA1

static void draw_script(const char **argv)
{
    bool by_text = sim_chance(&rng, 500);
    const char *value = PICK("x", "y");

    switch (sim_below(&rng, 8)) {
    case 0:
    case 1:
        ASK(SCRIPT(ACQUIRE), "3", PICK("redlock:a", "redlock:b"), "redlock.fence:a",
            "redlock.admit", value, PICK("50000", "60000"), PICK("0", "86400000"),
            PICK("0", "1"));
        return;
    case 2:
        ASK(SCRIPT(ALIGN), "2", "redlock:a", "redlock.fence:a", value,
            PICK("90", "104", "2000"), "86400000");
        return;
    case 3:
        ASK(SCRIPT(EXTEND), "1", PICK("redlock:a", "redlock:b"), value,
            PICK("100000", "700000"));
        return;
    case 4:
        ASK(SCRIPT(RELEASE), "1", PICK("redlock:a", "redlock:b"), value);
        return;
    case 5:
        ASK(SCRIPT(PROBE), "2", "redlock.admit", "redlock.probation", PICK("me", "you"),
            PICK("n1", "n2"));
        return;
    case 6:
        ASK(SCRIPT(ADMIT), "2", "redlock.admit", "redlock.probation", PICK("me", "you"),
            PICK("me/n1", "you/n2"), "60000");
        return;
    default:
        ASK(SCRIPT(EXPEL), "1", "redlock.admit", PICK("me", "you"));
        return;
    }
}

/* A counter that started at the clock did so at two moments: from here on it is one. */
static void share_counter(void)
{
    char reply[REPLY_SIZE];
    char ignored[REPLY_SIZE];

    ask_real((const char *const[]){"GET", "redlock.fence:a", NULL}, reply);
    if (reply[0] >= '0' && reply[0] <= '9') {
        ask_model(
            (const char *const[]){"SET", "redlock.fence:a", reply, "PX", "86400000", NULL},
            ignored);
        ask_real((const char *const[]){"SET", "redlock.fence:a", reply, "PX", "86400000", NULL},
                 ignored);
    }
}

CASE(scripts_agree, "Random scripts get the same replies from the model and a real server.")
{
    const char *argv[WORDS_MAX];
    char reply[REPLY_SIZE];

    begin(2);
    for (int i = 0; i < ROUNDS; i++) {
        draw_state(argv);
        compare(argv, strcmp(argv[0], "PTTL") == 0 ? LIFE_SLACK_MS : TIME_SLACK, reply);
        draw_script(argv);
        compare(argv, TIME_SLACK, reply);
        share_counter();
    }
    end();
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

    begin(3);
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
    compare((const char *const[]){"TIME", NULL}, TIME_SLACK, theirs);
    end();
}
