/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of the model, one function each and a table of them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/recipe.h"
#include "sim/server.h"

#define MS_US 1000
#define SECOND_US 1000000

typedef void command_fn(struct sim_server *server, const struct sim_words *words,
                        struct sim_bytes *out);

struct rl_slice sim_slice(const char *text)
{
    return (struct rl_slice){text, strlen(text)};
}

static bool is_word(struct rl_slice word, const char *text)
{
    if (word.size != strlen(text))
        return false;
    for (size_t i = 0; i < word.size; i++)
        if (toupper((unsigned char)word.data[i]) != text[i])
            return false;
    return true;
}

bool sim_read_number(struct rl_slice text, int64_t *out)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    int64_t number = 0;

    if (text.size == negative || text.size > 18)
        return false;
    for (size_t i = negative; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        number = number * 10 + (text.data[i] - '0');
    }
    *out = negative ? -number : number;
    return true;
}

/* ---- the store, at the server's time ---- */

int64_t sim_server_now_ms(const struct sim_server *server)
{
    return server->now_us / MS_US;
}

struct sim_key *sim_server_find(struct sim_server *server, struct rl_slice name)
{
    return sim_store_find(&server->store, name, sim_server_now_ms(server));
}

const char *sim_server_get(struct sim_server *server, struct rl_slice name, bool *wrong)
{
    struct sim_key *key = sim_server_find(server, name);

    *wrong = key && key->type != SIM_STRING;
    return key && !*wrong ? key->item[0].value : NULL;
}

struct sim_key *sim_server_set(struct sim_server *server, struct rl_slice name,
                               struct rl_slice value, int64_t ttl_ms)
{
    struct sim_key *key = sim_store_create(&server->store, name, SIM_STRING);

    sim_item_set(sim_key_item(key, sim_slice(""), NULL), value);
    key->expire_ms = ttl_ms ? sim_server_now_ms(server) + ttl_ms : 0;
    return key;
}

void sim_server_delete(struct sim_server *server, struct rl_slice name)
{
    struct sim_key *key = sim_server_find(server, name);

    if (key)
        sim_store_remove(&server->store, key);
}

/* ---- strings and expiry ---- */

static void get(struct sim_server *server, const struct sim_words *words, struct sim_bytes *out)
{
    bool wrong;
    const char *value = sim_server_get(server, words->word[1], &wrong);

    if (wrong)
        sim_reply_error(out, SIM_WRONGTYPE);
    else if (value)
        sim_reply_text(out, value);
    else
        sim_reply_nil(out);
}

/* SET key value [NX | IFEQ value] [PX ms] */
static void set(struct sim_server *server, const struct sim_words *words, struct sim_bytes *out)
{
    const struct rl_slice *word = words->word;
    const struct rl_slice *expected = NULL;
    bool only_new = false;
    int64_t ttl_ms = 0;
    bool wrong;
    const char *old;

    for (uint32_t i = 3; i < words->count; i++) {
        if (is_word(word[i], "NX")) {
            only_new = true;
        } else if (is_word(word[i], "IFEQ") && server->has_set_ifeq && i + 1 < words->count) {
            expected = &word[++i];
        } else if (is_word(word[i], "PX") && i + 1 < words->count) {
            if (!sim_read_number(word[++i], &ttl_ms) || ttl_ms <= 0) {
                sim_reply_error(out, "ERR invalid expire time in 'set' command");
                return;
            }
        } else {
            sim_reply_error(out, "ERR syntax error");
            return;
        }
    }
    old = sim_server_get(server, word[1], &wrong);
    if (expected && wrong) {
        sim_reply_error(out, SIM_WRONGTYPE);
    } else if ((only_new && (old || wrong)) ||
               (expected && (!old || !rl_slice_equals(*expected, old)))) {
        sim_reply_nil(out);
    } else {
        sim_server_set(server, word[1], word[2], ttl_ms);
        sim_reply_status(out, "OK");
    }
}

static void getrange(struct sim_server *server, const struct sim_words *words,
                     struct sim_bytes *out)
{
    bool wrong;
    const char *value = sim_server_get(server, words->word[1], &wrong);
    int64_t size = value ? (int64_t)strlen(value) : 0;
    int64_t first;
    int64_t last;

    if (!sim_read_number(words->word[2], &first) || !sim_read_number(words->word[3], &last)) {
        sim_reply_error(out, "ERR value is not an integer or out of range");
    } else if (wrong) {
        sim_reply_error(out, SIM_WRONGTYPE);
    } else {
        last = last < size - 1 ? last : size - 1;
        sim_reply_bulk(out, first < 0 || first > last
                                ? sim_slice("")
                                : (struct rl_slice){value + first, (size_t)(last - first + 1)});
    }
}

static void del(struct sim_server *server, const struct sim_words *words, struct sim_bytes *out)
{
    int64_t count = 0;

    for (uint32_t i = 1; i < words->count; i++) {
        count += sim_server_find(server, words->word[i]) != NULL;
        sim_server_delete(server, words->word[i]);
    }
    sim_reply_integer(out, count);
}

/* DELIFEQ key value, DELEX key [IFEQ value]: 1 deleted, 0 not there or different. */
static void delete_if(struct sim_server *server, struct rl_slice name, struct rl_slice value,
                      const char *wrong_error, struct sim_bytes *out)
{
    bool wrong;
    const char *old = sim_server_get(server, name, &wrong);

    if (wrong) {
        sim_reply_error(out, wrong_error);
        return;
    }
    if (old && rl_slice_equals(value, old)) {
        sim_server_delete(server, name);
        sim_reply_integer(out, 1);
        return;
    }
    sim_reply_integer(out, 0);
}

static void delifeq(struct sim_server *server, const struct sim_words *words,
                    struct sim_bytes *out)
{
    if (!server->has_delifeq)
        sim_reply_error(out, "ERR unknown command 'DELIFEQ'");
    else
        delete_if(server, words->word[1], words->word[2], SIM_WRONGTYPE, out);
}

static void delex(struct sim_server *server, const struct sim_words *words,
                  struct sim_bytes *out)
{
    if (!server->has_delex)
        sim_reply_error(out, "ERR unknown command 'DELEX'");
    else if (words->count == 2)
        del(server, words, out);
    else if (words->count == 4 && is_word(words->word[2], "IFEQ"))
        delete_if(server, words->word[1], words->word[3],
                  "ERR Key should be of string type if conditions are specified", out);
    else
        sim_reply_error(out, "ERR syntax error");
}

static void exists(struct sim_server *server, const struct sim_words *words,
                   struct sim_bytes *out)
{
    int64_t count = 0;

    for (uint32_t i = 1; i < words->count; i++)
        count += sim_server_find(server, words->word[i]) != NULL;
    sim_reply_integer(out, count);
}

static void pttl(struct sim_server *server, const struct sim_words *words,
                 struct sim_bytes *out)
{
    struct sim_key *key = sim_server_find(server, words->word[1]);

    if (!key)
        sim_reply_integer(out, -2);
    else
        sim_reply_integer(out,
                          key->expire_ms ? key->expire_ms - sim_server_now_ms(server) : -1);
}

static void pexpire(struct sim_server *server, const struct sim_words *words,
                    struct sim_bytes *out)
{
    struct sim_key *key = sim_server_find(server, words->word[1]);
    int64_t ttl_ms;

    if (!sim_read_number(words->word[2], &ttl_ms)) {
        sim_reply_error(out, "ERR value is not an integer or out of range");
        return;
    }
    sim_reply_integer(out, key != NULL);
    if (key && ttl_ms <= 0)
        sim_store_remove(&server->store, key);
    else if (key)
        key->expire_ms = sim_server_now_ms(server) + ttl_ms;
}

static void incr(struct sim_server *server, const struct sim_words *words,
                 struct sim_bytes *out)
{
    bool wrong;
    const char *old = sim_server_get(server, words->word[1], &wrong);
    int64_t number = 0;
    char text[24];

    if (wrong) {
        sim_reply_error(out, SIM_WRONGTYPE);
        return;
    }
    if (old && !sim_read_number(sim_slice(old), &number)) {
        sim_reply_error(out, "ERR value is not an integer or out of range");
        return;
    }
    snprintf(text, sizeof text, "%" PRId64, number + 1);
    if (old)
        sim_item_set(sim_server_find(server, words->word[1])->item, sim_slice(text));
    else
        sim_server_set(server, words->word[1], sim_slice(text), 0);
    sim_reply_integer(out, number + 1);
}

/* ---- hashes ---- */

/* The hash, or NULL when there is none; an error has been replied when *wrong. */
static struct sim_key *find_hash(struct sim_server *server, struct rl_slice name, bool *wrong,
                                 struct sim_bytes *out)
{
    struct sim_key *key = sim_server_find(server, name);

    *wrong = key && key->type != SIM_HASH;
    if (*wrong)
        sim_reply_error(out, SIM_WRONGTYPE);
    return *wrong ? NULL : key;
}

static void hset(struct sim_server *server, const struct sim_words *words,
                 struct sim_bytes *out)
{
    bool wrong;
    struct sim_key *key;
    int64_t count = 0;

    if (words->count % 2 != 0) {
        sim_reply_error(out, "ERR wrong number of arguments for 'hset' command");
        return;
    }
    key = find_hash(server, words->word[1], &wrong, out);
    if (wrong)
        return;
    if (!key)
        key = sim_store_create(&server->store, words->word[1], SIM_HASH);
    for (uint32_t i = 2; i < words->count; i += 2) {
        bool is_new;

        sim_item_set(sim_key_item(key, words->word[i], &is_new), words->word[i + 1]);
        count += is_new;
    }
    sim_reply_integer(out, count);
}

static void reply_field(const struct sim_key *key, struct rl_slice field, struct sim_bytes *out)
{
    const struct sim_item *item = key ? sim_key_find(key, field) : NULL;

    if (item)
        sim_reply_text(out, item->value);
    else
        sim_reply_nil(out);
}

static void hget(struct sim_server *server, const struct sim_words *words,
                 struct sim_bytes *out)
{
    bool wrong;
    struct sim_key *key = find_hash(server, words->word[1], &wrong, out);

    if (!wrong)
        reply_field(key, words->word[2], out);
}

static void hmget(struct sim_server *server, const struct sim_words *words,
                  struct sim_bytes *out)
{
    bool wrong;
    struct sim_key *key = find_hash(server, words->word[1], &wrong, out);

    if (wrong)
        return;
    sim_reply_array(out, words->count - 2);
    for (uint32_t i = 2; i < words->count; i++)
        reply_field(key, words->word[i], out);
}

/* ---- the server itself ---- */

static void ping(struct sim_server *server, const struct sim_words *words,
                 struct sim_bytes *out)
{
    (void)server;
    (void)words;
    sim_reply_status(out, "PONG");
}

static void reply_ok(struct sim_server *server, const struct sim_words *words,
                     struct sim_bytes *out)
{
    (void)server;
    (void)words;
    sim_reply_status(out, "OK");
}

static void time_now(struct sim_server *server, const struct sim_words *words,
                     struct sim_bytes *out)
{
    char text[24];

    (void)words;
    sim_reply_array(out, 2);
    snprintf(text, sizeof text, "%" PRId64, server->now_us / SECOND_US);
    sim_reply_text(out, text);
    snprintf(text, sizeof text, "%" PRId64, server->now_us % SECOND_US);
    sim_reply_text(out, text);
}

static void info(struct sim_server *server, const struct sim_words *words,
                 struct sim_bytes *out)
{
    char text[512] = "";

    if (words->count > 1 && is_word(words->word[1], "SERVER"))
        snprintf(text, sizeof text,
                 "# Server\r\nredis_version:7.0.15\r\nrun_id:%s\r\nuptime_in_seconds:%" PRId64
                 "\r\n",
                 server->run_id, server->now_us / SECOND_US - server->started_us / SECOND_US);
    else if (words->count > 1 && is_word(words->word[1], "REPLICATION"))
        snprintf(text, sizeof text, "# Replication\r\nrole:%s\r\nmaster_replid:%s\r\n",
                 server->replica ? "slave" : "master", server->replid);
    else if (words->count > 1 && is_word(words->word[1], "PERSISTENCE"))
        snprintf(text, sizeof text, "# Persistence\r\nloading:%d\r\naof_enabled:0\r\n",
                 server->loading);
    else if (words->count > 1 && is_word(words->word[1], "MEMORY"))
        snprintf(text, sizeof text,
                 "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n");
    sim_reply_text(out, text);
}

static void script(struct sim_server *server, const struct sim_words *words,
                   struct sim_bytes *out)
{
    if (words->count == 3 && is_word(words->word[1], "LOAD")) {
        sim_scripts_load(server, words->word[2], out);
    } else if (is_word(words->word[1], "FLUSH")) {
        server->scripts = 0;
        sim_reply_status(out, "OK");
    } else {
        sim_reply_error(out, "ERR unknown subcommand");
    }
}

static void eval(struct sim_server *server, const struct sim_words *words,
                 struct sim_bytes *out)
{
    sim_scripts_run(server, words, true, out);
}

static void evalsha(struct sim_server *server, const struct sim_words *words,
                    struct sim_bytes *out)
{
    sim_scripts_run(server, words, false, out);
}

static void flushall(struct sim_server *server, const struct sim_words *words,
                     struct sim_bytes *out)
{
    (void)words;
    sim_store_clear(&server->store);
    sim_reply_status(out, "OK");
}

enum { WRITES = 1, WHILE_LOADING = 2 };

static const struct command {
    const char *name;
    uint32_t words_min;
    uint32_t words_max;
    unsigned flags;
    command_fn *run;
} commands[] = {
    {"SET", 3, 9, WRITES, set},
    {"EVALSHA", 3, SIM_WORDS_MAX, WRITES, evalsha},
    {"EVAL", 3, SIM_WORDS_MAX, WRITES, eval},
    {"TIME", 1, 1, WHILE_LOADING, time_now},
    {"INFO", 1, 2, WHILE_LOADING, info},
    {"HMGET", 3, SIM_WORDS_MAX, 0, hmget},
    {"SCRIPT", 2, 3, WHILE_LOADING, script},
    {"CLIENT", 2, 3, WHILE_LOADING, reply_ok},
    {"DELIFEQ", 3, 3, WRITES, delifeq},
    {"DELEX", 2, 4, WRITES, delex},
    {"PTTL", 2, 2, 0, pttl},
    {"GET", 2, 2, 0, get},
    {"GETRANGE", 4, 4, 0, getrange},
    {"DEL", 2, SIM_WORDS_MAX, WRITES, del},
    {"UNLINK", 2, SIM_WORDS_MAX, WRITES, del},
    {"EXISTS", 2, SIM_WORDS_MAX, 0, exists},
    {"PEXPIRE", 3, 3, WRITES, pexpire},
    {"INCR", 2, 2, WRITES, incr},
    {"HSET", 4, SIM_WORDS_MAX, WRITES, hset},
    {"HGET", 3, 3, 0, hget},
    {"PING", 1, 1, 0, ping},
    {"AUTH", 2, 3, WHILE_LOADING, reply_ok},
    {"SELECT", 2, 2, WHILE_LOADING, reply_ok},
    {"FLUSHALL", 1, 1, WRITES, flushall},
};

void sim_server_execute(struct sim_server *server, const struct sim_words *words,
                        struct sim_bytes *out)
{
    const struct command *command = NULL;

    for (size_t i = 0; i < sizeof commands / sizeof commands[0] && !command; i++)
        if (is_word(words->word[0], commands[i].name))
            command = &commands[i];
    if (!command)
        sim_reply_error(out, "ERR unknown command");
    else if (words->count < command->words_min || words->count > command->words_max)
        sim_reply_error(out, "ERR wrong number of arguments");
    else if (server->loading && !(command->flags & WHILE_LOADING))
        sim_reply_error(out, "LOADING Redis is loading the dataset in memory");
    else if (server->replica && (command->flags & WRITES))
        sim_reply_error(out, "READONLY You can't write against a read only replica.");
    else
        command->run(server, words, out);
}

void sim_server_free(struct sim_server *server)
{
    sim_store_free(&server->store);
}
