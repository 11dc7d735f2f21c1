/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes. */
#include "sim/commands.h"

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

void sim_command_hset(struct sim_server *server, const struct sim_words *words,
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

void sim_command_hget(struct sim_server *server, const struct sim_words *words,
                      struct sim_bytes *out)
{
    bool wrong;
    struct sim_key *key = find_hash(server, words->word[1], &wrong, out);

    if (!wrong)
        reply_field(key, words->word[2], out);
}

void sim_command_hmget(struct sim_server *server, const struct sim_words *words,
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

void sim_command_hgetall(struct sim_server *server, const struct sim_words *words,
                         struct sim_bytes *out)
{
    bool wrong;
    const struct sim_key *key = find_hash(server, words->word[1], &wrong, out);

    if (wrong)
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
    bool wrong;
    const struct sim_key *key = find_hash(server, words->word[1], &wrong, out);

    if (!wrong)
        sim_reply_integer(out, key ? key->item_count : 0);
}
