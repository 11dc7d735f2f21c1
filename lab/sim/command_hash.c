/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes. */
#include <inttypes.h>
#include <stdio.h>

#include "lab/sim/commands.h"

void sim_command_hset(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    struct sim_key *key;
    int64_t count = 0;

    if (words->count % 2 != 0) {
        sim_reply_error(out, "ERR wrong number of arguments for 'hset' command");
        return;
    }
    if (!sim_find_typed(server, words->word[1], SIM_HASH, &key, out))
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

void sim_command_hsetnx(struct sim_server *server, const struct sim_words *words,
                        struct sim_bytes *out)
{
    struct sim_key *key;
    bool is_new = false;

    if (!sim_find_typed(server, words->word[1], SIM_HASH, &key, out))
        return;
    if (!key)
        key = sim_store_create(&server->store, words->word[1], SIM_HASH);
    if (!sim_key_find(key, words->word[2])) {
        sim_item_set(sim_key_item(key, words->word[2], NULL), words->word[3]);
        is_new = true;
    }
    sim_reply_integer(out, is_new);
}

static void reply_field(const struct sim_key *key, struct rl_slice field, struct sim_bytes *out)
{
    const struct sim_item *item = key ? sim_key_find(key, field) : NULL;

    if (item)
        sim_reply_text(out, item->value);
    else
        sim_reply_nil(out);
}

void sim_command_hget(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    struct sim_key *key;

    if (sim_find_typed(server, words->word[1], SIM_HASH, &key, out))
        reply_field(key, words->word[2], out);
}

void sim_command_hmget(struct sim_server *server, const struct sim_words *words,
                       struct sim_bytes *out)
{
    struct sim_key *key;

    if (!sim_find_typed(server, words->word[1], SIM_HASH, &key, out))
        return;
    sim_reply_array(out, words->count - 2);
    for (uint32_t i = 2; i < words->count; i++)
        reply_field(key, words->word[i], out);
}

void sim_command_hgetall(struct sim_server *server, const struct sim_words *words,
                         struct sim_bytes *out)
{
    struct sim_key *key;

    if (!sim_find_typed(server, words->word[1], SIM_HASH, &key, out))
        return;
    sim_reply_array(out, key ? 2 * key->item_count : 0);
    for (uint32_t i = 0; key && i < key->item_count; i++) {
        sim_reply_text(out, key->item[i].field);
        sim_reply_text(out, key->item[i].value);
    }
}

void sim_command_hlen(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    sim_count_items(server, words, SIM_HASH, out);
}

void sim_command_hdel(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    sim_remove_items(server, words, SIM_HASH, out);
}

void sim_command_hexists(struct sim_server *server, const struct sim_words *words,
                         struct sim_bytes *out)
{
    struct sim_key *key;

    if (sim_find_typed(server, words->word[1], SIM_HASH, &key, out))
        sim_reply_integer(out, key && sim_key_find(key, words->word[2]));
}

void sim_command_hincrby(struct sim_server *server, const struct sim_words *words,
                         struct sim_bytes *out)
{
    struct sim_key *key;
    const struct sim_item *item;
    int64_t number = 0;
    int64_t by;
    char text[24];

    if (!sim_read_number(words->word[3], &by)) {
        sim_reply_error(out, "ERR value is not an integer or out of range");
        return;
    }
    if (!sim_find_typed(server, words->word[1], SIM_HASH, &key, out))
        return;
    item = key ? sim_key_find(key, words->word[2]) : NULL;
    if (item && !sim_read_number(sim_slice(item->value), &number)) {
        sim_reply_error(out, "ERR hash value is not an integer");
        return;
    }
    if (__builtin_add_overflow(number, by, &number)) {
        sim_reply_error(out, "ERR increment or decrement would overflow");
        return;
    }
    if (!key)
        key = sim_store_create(&server->store, words->word[1], SIM_HASH);
    snprintf(text, sizeof text, "%" PRId64, number);
    sim_item_set(sim_key_item(key, words->word[2], NULL), sim_slice(text));
    sim_reply_integer(out, number);
}
