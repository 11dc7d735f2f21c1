/* SPDX-License-Identifier: BSD-2-Clause */
#include "model_both.h"

#include "check.h"
#include "lab/fake/lua.h"
#include "resp.h"
#include "rl_scripts.h"
#include "servers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TIMELIKE_MIN 10000 /* smaller numbers are verdicts, places and slots */

static struct server real;
static struct resp *line; /* to the real one */
struct fake_server model;
struct sim_rng rng;

static int64_t wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void call_real(const char *const *argv, char *out)
{
    CHECK(resp_send(line, argv) == 0);
    CHECK(resp_read(line, out, REPLY_SIZE) == 0);
}

/* The model's bytes, decoded by the reader that decodes the real server's. */
static void read_model(struct fake_bytes *reply, char *out)
{
    struct resp *reader;
    int ends[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(write(ends[1], reply->data, reply->size) == (ssize_t)reply->size);
    close(ends[1]);
    reader = resp_fd(ends[0]);
    CHECK(resp_read(reader, out, REPLY_SIZE) == 0);
    resp_free(reader);
    fake_bytes_free(reply);
}

void call_model(const char *const *argv, char *out)
{
    struct fake_words words = {0};
    struct fake_bytes reply = {0};

    for (; argv[words.count]; words.count++)
        words.word[words.count] = rl_slice_of(argv[words.count]);
    model.now_us = wall_us();
    fake_server_execute(&model, &words, &reply);
    read_model(&reply, out);
}

void field_of(const char *info, const char *name, char *out, size_t size)
{
    struct rl_slice text = {info, strlen(info)};
    const char *at = strstr(text.data, name);

    CHECK(at != NULL);
    at += strlen(name);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\r\n"), at);
}

int real_port(void)
{
    return real.port.number;
}

static bool real_knows(const char *const *argv)
{
    char reply[REPLY_SIZE];

    call_real(argv, reply);
    return reply[0] != '-';
}

void both_begin(uint64_t seed)
{
    char reply[REPLY_SIZE];

    sim_rng_seed(&rng, seed);
    server_start(&real, NULL);
    line = resp_tcp("127.0.0.1", real.port.number);
    CHECK(line != NULL);
    call_real((const char *const[]){"FLUSHALL", NULL}, reply);
    model = (struct fake_server){0};
    model.has_delifeq = real_knows((const char *const[]){"DELIFEQ", "none", "x", NULL});
    model.has_delex = real_knows((const char *const[]){"DELEX", "none", "IFEQ", "x", NULL});
    model.has_set_ifeq =
        real_knows((const char *const[]){"SET", "none", "x", "IFEQ", "x", "PX", "1", NULL});
    call_real((const char *const[]){"INFO", "server", NULL}, reply);
    field_of(reply, "run_id:", model.run_id, sizeof model.run_id);
    call_real((const char *const[]){"INFO", "replication", NULL}, reply);
    field_of(reply, "master_replid:", model.replid, sizeof model.replid);
    model.started_us = wall_us();
}

void both_end(void)
{
    fake_server_free(&model);
    resp_free(line);
}

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
        bool close = numbers && number_a >= TIMELIKE_MIN && number_b >= TIMELIKE_MIN &&
                     llabs(number_a - number_b) <= slack;

        /* Servers write numbers with a fraction in 17 digits, newer ones in as few as
         * distinguish them. */
        double real_a = strtod(a, &end_a);
        double real_b = strtod(b, &end_b);
        bool equal = size_a && end_a == a + size_a && end_b == b + size_b && real_a == real_b;
        if (!close && !equal && (size_a != size_b || memcmp(a, b, size_a) != 0))
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

/* Of errors the first word has to be the same. */
static void check_alike(const char *const *argv, const char *theirs, const char *ours,
                        int64_t slack)
{
    bool error = theirs[0] == '-' && isalpha((unsigned char)theirs[1]); /* else a number */
    bool same =
        error ? strcmp(first_word(theirs), first_word(ours)) == 0 : alike(theirs, ours, slack);

    if (!same)
        FAIL("%s\n  real:  %s\n  model: %s", shown(argv), theirs, ours);
}

void compare(const char *const *argv, int64_t slack, char *out)
{
    char ours[REPLY_SIZE];

    call_real(argv, out);
    call_model(argv, ours);
    check_alike(argv, out, ours, slack);
}

void compare_lua(const char *text)
{
    const char *const argv[] = {"EVAL", text, "0", NULL};
    const struct fake_lua_call call = {.name = "test", .text = text};
    struct fake_bytes reply = {0};
    char theirs[REPLY_SIZE];
    char ours[REPLY_SIZE];

    call_real(argv, theirs);
    model.now_us = wall_us();
    fake_lua_run(&model, &call, &reply);
    read_model(&reply, ours);
    check_alike(argv, theirs, ours, 0);
}

void share_counter(const char *key)
{
    char reply[REPLY_SIZE];
    char ignored[REPLY_SIZE];
    char *at = reply;

    compare((const char *const[]){"HGETALL", key, NULL}, TIME_SLACK, reply);
    while (*at) {
        const char *field = at;
        const char *value = at += strcspn(at, "\n") + 1;

        at[-1] = '\0';
        at += strcspn(at, "\n");
        if (*at)
            *at++ = '\0';
        call_model((const char *const[]){"HSET", key, field, value, NULL}, ignored);
    }
}

/* Writes the word of a script at argv; how many words it takes. */
static size_t draw_script(const char *word, const char **argv)
{
    static const struct {
        const char *name, *text, *sha1;
    } scripts[] = {
#define ROW(NAME) {#NAME, RL_SCRIPT_##NAME, RL_SCRIPT_##NAME##_SHA1},
        RL_SCRIPTS(ROW)
#undef ROW
    };
    bool runs = strncmp(word, "RUN:", 4) == 0;
    bool by_text = !runs || sim_chance(&rng, 500);
    size_t i = 0;

    while (strcmp(scripts[i].name, word + 4) != 0)
        CHECK(++i < sizeof scripts / sizeof scripts[0]);
    if (runs)
        *argv++ = by_text ? "EVAL" : "EVALSHA";
    *argv = by_text ? scripts[i].text : scripts[i].sha1;
    return 1 + runs;
}

/* One of the alternatives of a word, in place. */
static const char *draw_alternative(char *word)
{
    uint64_t count = 1;

    for (const char *at = word; (at = strchr(at, '|')); at++)
        count++;
    for (uint64_t left = sim_below(&rng, count); left > 0; left--)
        word = strchr(word, '|') + 1;
    word[strcspn(word, "|")] = '\0';
    return word;
}

void draw(const char *const *patterns, size_t count, const char **argv)
{
    static char text[1024];
    char *rest = NULL;

    CHECK((size_t)snprintf(text, sizeof text, "%s", patterns[sim_below(&rng, count)]) <
          sizeof text);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        *argv = draw_alternative(word);
        argv += strncmp(*argv, "RUN:", 4) == 0 || strncmp(*argv, "NEW:", 4) == 0
                    ? draw_script(*argv, argv)
                    : 1;
    }
    *argv = NULL;
}
