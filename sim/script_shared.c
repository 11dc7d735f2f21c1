/* SPDX-License-Identifier: BSD-2-Clause */
/* What several scripts do. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/answer.h"
#include "core/rules.h"
#include "protocol/command.h"
#include "sim/script.h"

#define WAITER_ID_SIZE 16

int64_t sim_script_number(struct rl_slice text)
{
    int64_t value = 0;

    sim_read_number(text, &value);
    return value;
}

bool sim_script_same(struct rl_slice a, struct rl_slice b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

const char *sim_script_field(struct sim_server *server, struct rl_slice name, const char *which)
{
    struct sim_key *key = sim_server_find(server, name);
    struct sim_item *item =
        key && key->type == SIM_HASH ? sim_key_find(key, sim_slice(which)) : NULL;

    return item ? item->value : NULL;
}

bool sim_script_is_value(struct sim_server *server, struct rl_slice name, struct rl_slice value)
{
    bool wrong;
    const char *old = sim_server_get(server, name, &wrong);

    return old && rl_slice_equals(value, old);
}

int64_t sim_script_remaining_ms(struct sim_server *server, struct rl_slice name)
{
    const struct sim_key *key = sim_server_find(server, name);

    if (!key)
        return -2;
    return key->expire_ms ? key->expire_ms - sim_server_now_ms(server) : -1;
}

void sim_script_expire_in(struct sim_server *server, struct rl_slice name, int64_t ttl_ms)
{
    struct sim_key *key = sim_server_find(server, name);

    if (key)
        key->expire_ms = sim_server_now_ms(server) + ttl_ms;
}

struct rl_slice sim_script_name(char *out, size_t size, const char *prefix,
                                struct rl_slice value)
{
    int length = snprintf(out, size, "%s%.*s", prefix, (int)value.size, value.data);

    return (struct rl_slice){out, (size_t)length};
}

struct rl_slice sim_script_doubt(char *out, size_t size, struct rl_slice sure)
{
    int length = snprintf(out, size, "%.*s?", (int)sure.size, sure.data);

    return (struct rl_slice){out, (size_t)length};
}

struct sim_key *sim_script_hash(struct sim_server *server, struct rl_slice name)
{
    struct sim_key *key = sim_server_find(server, name);

    return key ? key : sim_store_create(&server->store, name, SIM_HASH);
}

void sim_script_zadd(struct sim_server *server, struct rl_slice name, struct rl_slice member,
                     double score)
{
    struct sim_key *key = sim_server_find(server, name);

    if (!key)
        key = sim_store_create(&server->store, name, SIM_ZSET);
    sim_key_score(key, member, score);
}

double sim_script_zscore(struct sim_server *server, struct rl_slice name,
                         struct rl_slice member)
{
    struct sim_key *key = sim_server_find(server, name);
    struct sim_item *item = key ? sim_key_find(key, member) : NULL;

    return item ? item->score : -1;
}

bool sim_script_zrem(struct sim_server *server, struct rl_slice name, struct rl_slice member)
{
    struct sim_key *key = sim_server_find(server, name);
    struct sim_item *item = key ? sim_key_find(key, member) : NULL;

    if (!item)
        return false;
    sim_key_remove(key, item);
    if (key->item_count == 0)
        sim_store_remove(&server->store, key);
    return true;
}

double sim_script_largest_ticket(struct sim_server *server, struct rl_slice alive)
{
    double largest = sim_script_zscore(server, alive, sim_slice("t"));

    return largest < 0 || largest + 1 >= (double)RL_COUNTER_LIMIT ? 0 : largest;
}

bool sim_script_wake(struct sim_server *server, const char *waiter, struct rl_slice slot)
{
    char channel[SIM_MESSAGE_SIZE];
    char text[SIM_MESSAGE_SIZE];

    snprintf(channel, sizeof channel, RL_WAKE_PREFIX "%.*s", WAITER_ID_SIZE,
             waiter[0] ? waiter + 1 : "");
    snprintf(text, sizeof text, "%.60s%.*s", waiter, (int)slot.size, slot.data);
    return sim_server_publish(server, sim_slice(channel), sim_slice(text)) > 0;
}

/* ---- fence counters ---- */

int64_t sim_script_last(struct rl_slice text)
{
    int64_t last = -1;

    if (!sim_read_number(text, &last))
        return -1;
    if (RL_RULE(TOKEN_RANGE) && last + 1 >= RL_COUNTER_LIMIT)
        return -1;
    return (int64_t)(double)last;
}

void sim_script_read_counter(struct sim_server *server, struct rl_slice name,
                             struct sim_counter *out)
{
    const struct sim_key *key = sim_server_find(server, name);

    *out = (struct sim_counter){.last = -1};
    if (!key)
        return;
    out->has_from = true;
    sim_copy_text(out->from, sizeof out->from, sim_slice(key->item[0].field));
    out->last = sim_script_last(sim_slice(key->item[0].value));
}

void sim_script_write_counter(struct sim_server *server, struct rl_slice name, int64_t token,
                              struct rl_slice from, int64_t life_ms)
{
    struct sim_key *key = sim_server_find(server, name);
    char text[SIM_VALUE_SIZE];

    if (key && !rl_slice_equals(from, key->item[0].field))
        sim_server_delete(server, name);
    snprintf(text, sizeof text, "%" PRId64, token);
    sim_item_set(sim_key_item(sim_script_hash(server, name), from, NULL), sim_slice(text));
    sim_script_expire_in(server, name, life_ms);
}

/* ---- the node's standing ---- */

bool sim_script_standing(const struct sim_call *call, struct rl_slice marker, int64_t ttl_ms,
                         bool asked, struct sim_standing *out)
{
    struct sim_server *server = call->server;
    const char *id = sim_script_field(server, marker, "id");
    const char *max_ttl = sim_script_field(server, marker, "max_ttl");

    *out = (struct sim_standing){.max_ttl_ms =
                                     max_ttl ? sim_script_number(sim_slice(max_ttl)) : 0};
    if (id)
        sim_copy_text(out->id, sizeof out->id, sim_slice(id));
    if (out->max_ttl_ms > 0 && ttl_ms > out->max_ttl_ms) {
        sim_reply_array(call->out, 2);
        sim_reply_integer(call->out, -2);
        sim_reply_integer(call->out, out->max_ttl_ms);
        return false;
    }
    if (asked)
        snprintf(out->identity, sizeof out->identity, "%s:%s", server->run_id, server->replid);
    return true;
}

void sim_script_reply_two(const struct sim_call *call, int64_t first, int64_t second)
{
    sim_reply_array(call->out, 2);
    sim_reply_integer(call->out, first);
    sim_reply_integer(call->out, second);
}

void sim_script_reply_standing(const struct sim_call *call, uint32_t count, int64_t verdict,
                               int64_t value, const struct sim_standing *standing)
{
    sim_reply_array(call->out, count);
    sim_reply_integer(call->out, verdict);
    sim_reply_integer(call->out, value);
    sim_reply_text(call->out, standing->id);
    sim_reply_integer(call->out, standing->max_ttl_ms);
    sim_reply_text(call->out, standing->identity);
}
