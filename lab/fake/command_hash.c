/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes. */
#include <inttypes.h>
#include <stdio.h>

#include "lab/fake/commands.h"

void fake_command_hset(struct fake_call *call)
{
    int64_t count = 0;

    if (call->count % 2 != 0) {
        fake_reply_error(call->out, "ERR wrong number of arguments for 'hset' command");
        return;
    }
    if (!fake_call_find(call, FAKE_HASH))
        return;
    fake_call_create(call, FAKE_HASH);
    for (uint32_t i = 2; i < call->count; i += 2) {
        bool is_new;

        fake_item_set(fake_key_item(call->key, call->word[i], &is_new), call->word[i + 1]);
        count += is_new;
    }
    fake_reply_integer(call->out, count);
}

void fake_command_hsetnx(struct fake_call *call)
{
    bool is_new;

    fake_call_create(call, FAKE_HASH);
    is_new = !fake_key_find(call->key, call->word[2]);
    if (is_new)
        fake_item_set(fake_key_item(call->key, call->word[2], NULL), call->word[3]);
    fake_reply_integer(call->out, is_new);
}

static void reply_field(const struct fake_call *call, struct rl_slice field)
{
    const struct fake_item *item = call->key ? fake_key_find(call->key, field) : NULL;

    if (item)
        fake_reply_text(call->out, item->value);
    else
        fake_reply_nil(call->out);
}

void fake_command_hget(struct fake_call *call)
{
    reply_field(call, call->word[2]);
}

void fake_command_hmget(struct fake_call *call)
{
    fake_reply_array(call->out, call->count - 2);
    for (uint32_t i = 2; i < call->count; i++)
        reply_field(call, call->word[i]);
}

void fake_command_hgetall(struct fake_call *call)
{
    const struct fake_key *key = call->key;

    fake_reply_array(call->out, key ? 2 * key->item_count : 0);
    for (uint32_t i = 0; key && i < key->item_count; i++) {
        fake_reply_text(call->out, key->item[i].field);
        fake_reply_text(call->out, key->item[i].value);
    }
}

void fake_command_hexists(struct fake_call *call)
{
    fake_reply_integer(call->out, call->key && fake_key_find(call->key, call->word[2]));
}

void fake_command_hincrby(struct fake_call *call)
{
    const struct fake_item *item;
    int64_t number = 0;
    int64_t by;
    char text[24];

    if (!fake_read_number(call->word[3], &by)) {
        fake_reply_error(call->out, NO_INTEGER);
        return;
    }
    if (!fake_call_find(call, FAKE_HASH))
        return;
    item = call->key ? fake_key_find(call->key, call->word[2]) : NULL;
    if (item && !fake_read_number(rl_slice_of(item->value), &number)) {
        fake_reply_error(call->out, "ERR hash value is not an integer");
        return;
    }
    if (__builtin_add_overflow(number, by, &number)) {
        fake_reply_error(call->out, "ERR increment or decrement would overflow");
        return;
    }
    fake_call_create(call, FAKE_HASH);
    snprintf(text, sizeof text, "%" PRId64, number);
    fake_item_set(fake_key_item(call->key, call->word[2], NULL), rl_slice_of(text));
    fake_reply_integer(call->out, number);
}
