/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes. */
#include <inttypes.h>
#include <stdio.h>

#include "lab/fake/commands.h"

void fake_command_hset(struct fake_server *server, const struct fake_words *words,
                       struct fake_bytes *out)
{
    struct fake_key *key;
    int64_t count = 0;

    if (words->count % 2 != 0) {
        fake_reply_error(out, "ERR wrong number of arguments for 'hset' command");
        return;
    }
    if (!fake_find_typed(server, words->word[1], FAKE_HASH, &key, out))
        return;
    if (!key)
        key = fake_store_create(&server->store, words->word[1], FAKE_HASH);
    for (uint32_t i = 2; i < words->count; i += 2) {
        bool is_new;

        fake_item_set(fake_key_item(key, words->word[i], &is_new), words->word[i + 1]);
        count += is_new;
    }
    fake_reply_integer(out, count);
}

void fake_command_hsetnx(struct fake_server *server, const struct fake_words *words,
                         struct fake_bytes *out)
{
    struct fake_key *key;
    bool is_new = false;

    if (!fake_find_typed(server, words->word[1], FAKE_HASH, &key, out))
        return;
    if (!key)
        key = fake_store_create(&server->store, words->word[1], FAKE_HASH);
    if (!fake_key_find(key, words->word[2])) {
        fake_item_set(fake_key_item(key, words->word[2], NULL), words->word[3]);
        is_new = true;
    }
    fake_reply_integer(out, is_new);
}

static void reply_field(const struct fake_key *key, struct rl_slice field,
                        struct fake_bytes *out)
{
    const struct fake_item *item = key ? fake_key_find(key, field) : NULL;

    if (item)
        fake_reply_text(out, item->value);
    else
        fake_reply_nil(out);
}

void fake_command_hget(struct fake_server *server, const struct fake_words *words,
                       struct fake_bytes *out)
{
    struct fake_key *key;

    if (fake_find_typed(server, words->word[1], FAKE_HASH, &key, out))
        reply_field(key, words->word[2], out);
}

void fake_command_hmget(struct fake_server *server, const struct fake_words *words,
                        struct fake_bytes *out)
{
    struct fake_key *key;

    if (!fake_find_typed(server, words->word[1], FAKE_HASH, &key, out))
        return;
    fake_reply_array(out, words->count - 2);
    for (uint32_t i = 2; i < words->count; i++)
        reply_field(key, words->word[i], out);
}

void fake_command_hgetall(struct fake_server *server, const struct fake_words *words,
                          struct fake_bytes *out)
{
    struct fake_key *key;

    if (!fake_find_typed(server, words->word[1], FAKE_HASH, &key, out))
        return;
    fake_reply_array(out, key ? 2 * key->item_count : 0);
    for (uint32_t i = 0; key && i < key->item_count; i++) {
        fake_reply_text(out, key->item[i].field);
        fake_reply_text(out, key->item[i].value);
    }
}

void fake_command_hlen(struct fake_server *server, const struct fake_words *words,
                       struct fake_bytes *out)
{
    fake_count_items(server, words, FAKE_HASH, out);
}

void fake_command_hdel(struct fake_server *server, const struct fake_words *words,
                       struct fake_bytes *out)
{
    fake_remove_items(server, words, FAKE_HASH, out);
}

void fake_command_hexists(struct fake_server *server, const struct fake_words *words,
                          struct fake_bytes *out)
{
    struct fake_key *key;

    if (fake_find_typed(server, words->word[1], FAKE_HASH, &key, out))
        fake_reply_integer(out, key && fake_key_find(key, words->word[2]));
}

void fake_command_hincrby(struct fake_server *server, const struct fake_words *words,
                          struct fake_bytes *out)
{
    struct fake_key *key;
    const struct fake_item *item;
    int64_t number = 0;
    int64_t by;
    char text[24];

    if (!fake_read_number(words->word[3], &by)) {
        fake_reply_error(out, "ERR value is not an integer or out of range");
        return;
    }
    if (!fake_find_typed(server, words->word[1], FAKE_HASH, &key, out))
        return;
    item = key ? fake_key_find(key, words->word[2]) : NULL;
    if (item && !fake_read_number(fake_slice(item->value), &number)) {
        fake_reply_error(out, "ERR hash value is not an integer");
        return;
    }
    if (__builtin_add_overflow(number, by, &number)) {
        fake_reply_error(out, "ERR increment or decrement would overflow");
        return;
    }
    if (!key)
        key = fake_store_create(&server->store, words->word[1], FAKE_HASH);
    snprintf(text, sizeof text, "%" PRId64, number);
    fake_item_set(fake_key_item(key, words->word[2], NULL), fake_slice(text));
    fake_reply_integer(out, number);
}
