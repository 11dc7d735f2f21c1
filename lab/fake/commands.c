/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of commands, and what they share. */
#include <ctype.h>

#include "core/answer.h"
#include "lab/fake/commands.h"

#define MS_US 1000

bool fake_is_word(struct rl_slice word, const char *text)
{
    for (size_t i = 0; i < word.size; i++)
        if (toupper((unsigned char)word.data[i]) != text[i])
            return false;
    return text[word.size] == '\0';
}

/* The one way to write it, as servers want it: no sign but a minus, no zero in front. */
bool fake_read_number(struct rl_slice text, int64_t *out)
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

int64_t fake_server_now_ms(const struct fake_server *server)
{
    return server->now_us / MS_US;
}

struct fake_key *fake_server_find(struct fake_server *server, struct rl_slice name)
{
    return fake_store_find(&server->store, name, fake_server_now_ms(server));
}

const char *fake_server_get(struct fake_server *server, struct rl_slice name, bool *wrong)
{
    struct fake_key *key = fake_server_find(server, name);

    *wrong = key && key->type != FAKE_STRING;
    return key && !*wrong ? key->item[0].value : NULL;
}

struct fake_key *fake_server_set(struct fake_server *server, struct rl_slice name,
                                 struct rl_slice value, int64_t ttl_ms)
{
    struct fake_key *key = fake_store_create(&server->store, name, FAKE_STRING);

    fake_item_set(fake_key_item(key, rl_slice_of(""), NULL), value);
    key->expire_ms = ttl_ms ? fake_server_now_ms(server) + ttl_ms : 0;
    return key;
}

void fake_server_delete(struct fake_server *server, struct rl_slice name)
{
    struct fake_key *key = fake_server_find(server, name);

    if (key)
        fake_store_remove(&server->store, key);
}

uint32_t fake_server_publish(struct fake_server *server, struct rl_slice channel,
                             struct rl_slice text)
{
    struct fake_message *message = &server->message[server->message_count];

    if (server->message_count == FAKE_MESSAGES_MAX)
        return 0;
    server->message_count++;
    fake_copy_text(message->channel, sizeof message->channel, channel);
    fake_copy_text(message->text, sizeof message->text, text);
    return server->listeners ? server->listeners(server, message->channel) : 0;
}

bool fake_call_find(struct fake_call *call, enum fake_type type)
{
    call->key = fake_server_find(call->server, call->word[1]);
    if (!call->key || call->key->type == type)
        return true;
    fake_reply_error(call->out, FAKE_WRONGTYPE);
    return false;
}

void fake_call_create(struct fake_call *call, enum fake_type type)
{
    if (!call->key)
        call->key = fake_store_create(&call->server->store, call->word[1], type);
}

void fake_call_remove_empty(struct fake_call *call)
{
    if (call->key && call->key->item_count == 0)
        fake_store_remove(&call->server->store, call->key);
}

/* Of a hash or a sorted set. */
static void count_items(struct fake_call *call)
{
    fake_reply_integer(call->out, call->key ? call->key->item_count : 0);
}

static void remove_items(struct fake_call *call)
{
    int64_t count = 0;

    for (uint32_t i = 2; call->key && i < call->count; i++) {
        struct fake_item *item = fake_key_find(call->key, call->word[i]);

        if (!item)
            continue;
        fake_key_remove(call->key, item);
        count++;
    }
    fake_call_remove_empty(call);
    fake_reply_integer(call->out, count);
}

/* OF_: the key is of that type, whatever the other words are. */
enum { WRITES = 1, WHILE_LOADING = 2, OF_HASH = 4, OF_ZSET = 8 };

static const struct command {
    const char *name;
    uint32_t words_min;
    uint32_t words_max;
    unsigned flags;
    fake_command_fn *run;
} commands[] = {
    {"SET", 3, 9, WRITES, fake_command_set},
    {"EVALSHA", 3, FAKE_WORDS_MAX, 0, fake_command_eval},
    {"EVAL", 3, FAKE_WORDS_MAX, 0, fake_command_eval},
    {"TIME", 1, 1, WHILE_LOADING, fake_command_time},
    {"INFO", 1, 2, WHILE_LOADING, fake_command_info},
    {"HMGET", 3, FAKE_WORDS_MAX, OF_HASH, fake_command_hmget},
    {"SCRIPT", 2, 3, WHILE_LOADING, fake_command_script},
    {"CLIENT", 2, 3, WHILE_LOADING, fake_command_ok},
    {"DELIFEQ", 3, 3, WRITES, fake_command_delifeq},
    {"DELEX", 2, 4, WRITES, fake_command_delex},
    {"PTTL", 2, 2, 0, fake_command_pttl},
    {"GET", 2, 2, 0, fake_command_get},
    {"GETRANGE", 4, 4, 0, fake_command_getrange},
    {"DEL", 2, FAKE_WORDS_MAX, WRITES, fake_command_del},
    {"EXISTS", 2, FAKE_WORDS_MAX, 0, fake_command_exists},
    {"PEXPIRE", 3, 3, WRITES, fake_command_pexpire},
    {"PEXPIREAT", 3, 3, WRITES, fake_command_pexpireat},
    {"HSET", 4, FAKE_WORDS_MAX, WRITES, fake_command_hset},
    {"HSETNX", 4, 4, WRITES | OF_HASH, fake_command_hsetnx},
    {"HGET", 3, 3, OF_HASH, fake_command_hget},
    {"HGETALL", 2, 2, OF_HASH, fake_command_hgetall},
    {"HLEN", 2, 2, OF_HASH, count_items},
    {"HDEL", 3, FAKE_WORDS_MAX, WRITES | OF_HASH, remove_items},
    {"HEXISTS", 3, 3, OF_HASH, fake_command_hexists},
    {"HINCRBY", 4, 4, WRITES, fake_command_hincrby},
    {"TYPE", 2, 2, 0, fake_command_type},
    {"ZADD", 4, FAKE_WORDS_MAX, WRITES, fake_command_zadd},
    {"ZSCORE", 3, 3, OF_ZSET, fake_command_zscore},
    {"ZRANK", 3, 3, OF_ZSET, fake_command_zrank},
    {"ZCARD", 2, 2, OF_ZSET, count_items},
    {"ZREM", 3, FAKE_WORDS_MAX, WRITES | OF_ZSET, remove_items},
    {"ZRANGE", 4, 5, 0, fake_command_zrange},
    {"ZREVRANGE", 4, 5, 0, fake_command_zrevrange},
    {"ZRANGEBYSCORE", 4, 7, 0, fake_command_zrangebyscore},
    {"ZREMRANGEBYSCORE", 4, 4, WRITES, fake_command_zremrangebyscore},
    {"PUBLISH", 3, 3, 0, fake_command_publish},
    {"PING", 1, 1, 0, fake_command_ping},
    {"AUTH", 2, 3, WHILE_LOADING, fake_command_ok},
    {"SELECT", 2, 2, WHILE_LOADING, fake_command_ok},
    {"FLUSHALL", 1, 1, WRITES, fake_command_flushall},
};

void fake_server_execute(struct fake_server *server, const struct fake_words *words,
                         struct fake_bytes *out)
{
    struct fake_call call = {server, words->word, words->count, NULL, out};
    const struct command *command = NULL;

    for (size_t i = 0; i < sizeof commands / sizeof commands[0] && !command; i++)
        if (fake_is_word(words->word[0], commands[i].name))
            command = &commands[i];
    if (!command)
        fake_reply_error(out, "ERR unknown command");
    else if (words->count < command->words_min || words->count > command->words_max)
        fake_reply_error(out, "ERR wrong number of arguments");
    else if (server->loading && !(command->flags & WHILE_LOADING))
        fake_reply_error(out, "LOADING Redis is loading the dataset in memory");
    else if (server->replica && (command->flags & WRITES))
        fake_reply_error(out, "READONLY You can't write against a read only replica.");
    else if (!(command->flags & (OF_HASH | OF_ZSET)) ||
             fake_call_find(&call, command->flags & OF_HASH ? FAKE_HASH : FAKE_ZSET))
        command->run(&call);
}

void fake_server_free(struct fake_server *server)
{
    fake_store_free(&server->store);
}
