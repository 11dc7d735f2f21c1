/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of commands, and what they share. */
#include <ctype.h>
#include <string.h>

#include "core/answer.h"
#include "lab/sim/commands.h"

#define MS_US 1000

struct rl_slice sim_slice(const char *text)
{
    return (struct rl_slice){text, strlen(text)};
}

bool sim_is_word(struct rl_slice word, const char *text)
{
    for (size_t i = 0; i < word.size; i++)
        if (toupper((unsigned char)word.data[i]) != text[i])
            return false;
    return text[word.size] == '\0';
}

/* The one way to write it, as servers want it: no sign but a minus, no zero in front. */
bool sim_read_number(struct rl_slice text, int64_t *out)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    uint64_t limit = (uint64_t)INT64_MAX + negative;
    uint64_t number = 0;

    if (text.size == negative || (text.data[negative] == '0' && text.size > 1))
        return false;
    for (size_t i = negative; i < text.size; i++) {
        unsigned digit = (unsigned)(text.data[i] - '0');

        if (digit > 9 || number > (limit - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - number) : (int64_t)number;
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

uint32_t sim_server_publish(struct sim_server *server, struct rl_slice channel,
                            struct rl_slice text)
{
    struct sim_message *message = &server->message[server->message_count];

    if (server->message_count == SIM_MESSAGES_MAX)
        return 0;
    server->message_count++;
    sim_copy_text(message->channel, sizeof message->channel, channel);
    sim_copy_text(message->text, sizeof message->text, text);
    return server->listeners ? server->listeners(server, message->channel) : 0;
}

bool sim_find_typed(struct sim_server *server, struct rl_slice name, enum sim_type type,
                    struct sim_key **key, struct sim_bytes *out)
{
    *key = sim_server_find(server, name);
    if (!*key || (*key)->type == type)
        return true;
    sim_reply_error(out, SIM_WRONGTYPE);
    return false;
}

void sim_count_items(struct sim_server *server, const struct sim_words *words,
                     enum sim_type type, struct sim_bytes *out)
{
    struct sim_key *key;

    if (sim_find_typed(server, words->word[1], type, &key, out))
        sim_reply_integer(out, key ? key->item_count : 0);
}

void sim_remove_items(struct sim_server *server, const struct sim_words *words,
                      enum sim_type type, struct sim_bytes *out)
{
    struct sim_key *key;
    int64_t count = 0;

    if (!sim_find_typed(server, words->word[1], type, &key, out))
        return;
    for (uint32_t i = 2; key && i < words->count; i++) {
        struct sim_item *item = sim_key_find(key, words->word[i]);

        if (!item)
            continue;
        sim_key_remove(key, item);
        count++;
    }
    if (key && key->item_count == 0)
        sim_store_remove(&server->store, key);
    sim_reply_integer(out, count);
}

enum { WRITES = 1, WHILE_LOADING = 2 };

static const struct command {
    const char *name;
    uint32_t words_min;
    uint32_t words_max;
    unsigned flags;
    sim_command_fn *run;
} commands[] = {
    {"SET", 3, 9, WRITES, sim_command_set},
    {"EVALSHA", 3, SIM_WORDS_MAX, 0, sim_command_evalsha},
    {"EVAL", 3, SIM_WORDS_MAX, 0, sim_command_eval},
    {"TIME", 1, 1, WHILE_LOADING, sim_command_time},
    {"INFO", 1, 2, WHILE_LOADING, sim_command_info},
    {"HMGET", 3, SIM_WORDS_MAX, 0, sim_command_hmget},
    {"SCRIPT", 2, 3, WHILE_LOADING, sim_command_script},
    {"CLIENT", 2, 3, WHILE_LOADING, sim_command_ok},
    {"DELIFEQ", 3, 3, WRITES, sim_command_delifeq},
    {"DELEX", 2, 4, WRITES, sim_command_delex},
    {"PTTL", 2, 2, 0, sim_command_pttl},
    {"GET", 2, 2, 0, sim_command_get},
    {"GETRANGE", 4, 4, 0, sim_command_getrange},
    {"DEL", 2, SIM_WORDS_MAX, WRITES, sim_command_del},
    {"EXISTS", 2, SIM_WORDS_MAX, 0, sim_command_exists},
    {"PEXPIRE", 3, 3, WRITES, sim_command_pexpire},
    {"PEXPIREAT", 3, 3, WRITES, sim_command_pexpireat},
    {"HSET", 4, SIM_WORDS_MAX, WRITES, sim_command_hset},
    {"HSETNX", 4, 4, WRITES, sim_command_hsetnx},
    {"HGET", 3, 3, 0, sim_command_hget},
    {"HGETALL", 2, 2, 0, sim_command_hgetall},
    {"HLEN", 2, 2, 0, sim_command_hlen},
    {"HDEL", 3, SIM_WORDS_MAX, WRITES, sim_command_hdel},
    {"HEXISTS", 3, 3, 0, sim_command_hexists},
    {"HINCRBY", 4, 4, WRITES, sim_command_hincrby},
    {"TYPE", 2, 2, 0, sim_command_type},
    {"ZADD", 4, SIM_WORDS_MAX, WRITES, sim_command_zadd},
    {"ZSCORE", 3, 3, 0, sim_command_zscore},
    {"ZRANK", 3, 3, 0, sim_command_zrank},
    {"ZCARD", 2, 2, 0, sim_command_zcard},
    {"ZREM", 3, SIM_WORDS_MAX, WRITES, sim_command_zrem},
    {"ZRANGE", 4, 5, 0, sim_command_zrange},
    {"ZREVRANGE", 4, 5, 0, sim_command_zrevrange},
    {"ZRANGEBYSCORE", 4, 7, 0, sim_command_zrangebyscore},
    {"ZREMRANGEBYSCORE", 4, 4, WRITES, sim_command_zremrangebyscore},
    {"PUBLISH", 3, 3, 0, sim_command_publish},
    {"PING", 1, 1, 0, sim_command_ping},
    {"AUTH", 2, 3, WHILE_LOADING, sim_command_ok},
    {"SELECT", 2, 2, WHILE_LOADING, sim_command_ok},
    {"FLUSHALL", 1, 1, WRITES, sim_command_flushall},
};

void sim_server_execute(struct sim_server *server, const struct sim_words *words,
                        struct sim_bytes *out)
{
    const struct command *command = NULL;

    for (size_t i = 0; i < sizeof commands / sizeof commands[0] && !command; i++)
        if (sim_is_word(words->word[0], commands[i].name))
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
