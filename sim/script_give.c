/* SPDX-License-Identifier: BSD-2-Clause */
/* What is done to a hold of any kind: giveback.lua, renew.lua, align.lua. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/answer.h"
#include "core/rules.h"
#include "sim/script.h"

#define HEADS_MAX 16
#define TICKET_KEPT_MS 500

/* "#7" at the end of the value of a semaphore's hold; empty: none. */
static struct rl_slice slot_of(struct rl_slice value)
{
    for (size_t at = value.size; at > 0; at--) {
        char c = value.data[at - 1];

        if (c == '#' && at < value.size)
            return (struct rl_slice){value.data + at - 1, value.size - at + 1};
        if (c < '0' || c > '9')
            break;
    }
    return (struct rl_slice){"", 0};
}

static void keep_until(struct sim_server *server, struct rl_slice name, int64_t last_ms)
{
    struct sim_key *key = sim_server_find(server, name);

    if (last_ms <= sim_server_now_ms(server))
        sim_server_delete(server, name);
    else if (key)
        key->expire_ms = last_ms;
}

/* Whose hold a field of a hash is, and until when; false: it is no hold. */
static bool read_hold(const struct sim_item *item, struct rl_slice *holder, int64_t *ends_ms)
{
    const char *colon;

    *ends_ms = atoll(item->value);
    if (strncmp(item->field, "h:", 2) == 0) {
        *holder = sim_slice(item->field + 2);
        return true;
    }
    colon = strchr(item->value, ':');
    if (strncmp(item->field, "s:", 2) != 0 || !colon)
        return false;
    *holder = sim_slice(colon + 1);
    return true;
}

/* Without the rule, the owner's holds are a number. */
static bool count_down(struct sim_server *server, struct rl_slice name)
{
    struct sim_key *key = sim_server_find(server, name);
    struct sim_item *count = sim_key_find(key, sim_slice("count"));
    char text[24];

    if (!count)
        return false;
    snprintf(text, sizeof text, "%lld", atoll(count->value) - 1);
    sim_item_set(count, sim_slice(text));
    if (atoll(text) <= 0)
        sim_server_delete(server, name);
    return true;
}

static bool give_back_field(struct sim_server *server, struct rl_slice name,
                            struct rl_slice value)
{
    struct sim_key *key = sim_server_find(server, name);
    int64_t now_ms = sim_server_now_ms(server);
    int64_t last_ms = 0;
    bool mine = false;

    if (!RL_RULE(HOLD_IDS) && sim_key_find(key, sim_slice("owner")))
        return count_down(server, name);
    for (uint32_t i = 0; i < key->item_count; i++) {
        struct rl_slice holder;
        int64_t ends_ms;

        if (!read_hold(&key->item[i], &holder, &ends_ms))
            continue;
        if (sim_script_same(holder, value) && ends_ms > now_ms) {
            mine = true;
            sim_key_remove(key, &key->item[i--]);
        } else if (ends_ms <= now_ms) {
            sim_key_remove(key, &key->item[i--]);
        } else if (ends_ms > last_ms) {
            last_ms = ends_ms;
        }
    }
    if (mine)
        keep_until(server, name, last_ms);
    return mine;
}

static bool give_back(struct sim_server *server, struct rl_slice name, struct rl_slice value)
{
    struct sim_key *key = sim_server_find(server, name);

    if (!key)
        return false;
    if (key->type == SIM_STRING) {
        bool ours = sim_script_is_value(server, name, value);

        if (ours)
            sim_server_delete(server, name);
        return ours;
    }
    if (key->type == SIM_HASH)
        return give_back_field(server, name, value);
    while (key && key->item[0].score <= (double)sim_server_now_ms(server)) {
        sim_script_zrem(server, name, sim_slice(key->item[0].field));
        key = sim_server_find(server, name);
    }
    if (!sim_script_zrem(server, name, value))
        return false;
    key = sim_server_find(server, name);
    if (key)
        keep_until(server, name, (int64_t)key->item[key->item_count - 1].score);
    return true;
}

static bool is_free_for(struct sim_server *server, const char *head, struct rl_slice name)
{
    const struct sim_key *key = sim_server_find(server, name);
    const char *slots = sim_script_field(server, name, "slots");

    if (!key)
        return true;
    if (key->type == SIM_ZSET)
        return head[0] == 'r';
    return slots && key->item_count - 1 < (uint32_t)atoi(slots);
}

static void wake(const struct sim_call *call, const struct rl_slice *name)
{
    struct sim_server *server = call->server;
    const struct sim_key *queue = sim_server_find(server, name[1]);

    for (uint32_t i = 0; queue && i < queue->item_count && i < HEADS_MAX; i++) {
        const char *head = queue->item[i].field;

        if (rl_slice_equals(call->arg[1], head))
            return;
        if (sim_script_zscore(server, name[2], sim_slice(head)) <=
            (double)sim_server_now_ms(server))
            continue;
        if (!is_free_for(server, head, name[0]))
            return;
        sim_script_wake(server, head, slot_of(call->arg[0]));
        if (head[0] != 'r')
            return;
    }
}

/* The place went with the grant; nobody else was served meanwhile. */
static void put_back(const struct sim_call *call, const struct rl_slice *name)
{
    struct sim_server *server = call->server;
    int64_t life_ms = sim_script_number(call->arg[3]);

    if (sim_script_zscore(server, name[1], call->arg[1]) < 0)
        sim_script_zadd(server, name[1], call->arg[1], (double)sim_script_number(call->arg[2]));
    sim_script_zadd(server, name[2], call->arg[1],
                    (double)(sim_server_now_ms(server) + life_ms));
    sim_script_expire_in(server, name[1], life_ms);
    sim_script_expire_in(server, name[2], life_ms);
}

/* KEYS lock, queue, liveness of each name; ARGV value or '', waiter, ticket or 0, life */
void sim_script_giveback(const struct sim_call *call)
{
    struct sim_server *server = call->server;
    struct rl_slice value = call->arg[0];
    struct rl_slice waiter = call->arg[1];
    bool leaving = waiter.size && rl_slice_equals(call->arg[2], "0");
    uint32_t given = 0;
    bool waiting = false;

    for (uint32_t i = 0; i < call->key_count; i += 3) {
        const struct rl_slice *name = call->key + i;
        bool mine = value.size && give_back(server, name[0], value);
        bool left = leaving && sim_script_zrem(server, name[1], waiter);

        if (leaving)
            sim_script_zrem(server, name[2], waiter);
        else if (waiter.size && mine)
            put_back(call, name);
        given += mine;
        if (sim_server_find(server, name[1]))
            waiting = true;
        else if (!sim_server_find(server, name[0]))
            sim_server_delete(server, name[2]);
        else
            sim_script_expire_in(server, name[2], TICKET_KEPT_MS);
        if (mine || left)
            wake(call, name);
    }
    if (given * 3 < call->key_count)
        sim_reply_integer(call->out, 0);
    else
        sim_reply_integer(call->out, waiting ? 2 : 1);
}

/* ---- renewal ---- */

/* The record of our hold in a hash; NULL: none. */
static struct sim_item *find_hold(struct sim_key *key, struct rl_slice value)
{
    struct rl_slice slot = slot_of(value);
    char field[SIM_NAME_SIZE];
    struct sim_item *item =
        sim_key_find(key, sim_script_name(field, sizeof field, "h:", value));
    struct rl_slice holder;
    int64_t ends_ms;

    if (item || slot.size == 0)
        return item;
    slot = (struct rl_slice){slot.data + 1, slot.size - 1};
    item = sim_key_find(key, sim_script_name(field, sizeof field, "s:", slot));
    return item && read_hold(item, &holder, &ends_ms) && sim_script_same(holder, value) ? item
                                                                                        : NULL;
}

/* Until when our hold lasts by its own record; 0: there is none. */
static int64_t hold_ends_ms(struct sim_server *server, struct rl_slice name,
                            struct rl_slice value)
{
    struct sim_key *key = sim_server_find(server, name);
    struct sim_item *item;

    if (!key)
        return 0;
    if (key->type == SIM_STRING)
        return sim_script_is_value(server, name, value)
                   ? sim_server_now_ms(server) + sim_script_remaining_ms(server, name)
                   : 0;
    if (key->type == SIM_HASH && !RL_RULE(HOLD_IDS) && sim_key_find(key, sim_slice("count")))
        return key->expire_ms;
    item = key->type == SIM_ZSET ? sim_key_find(key, value) : find_hold(key, value);
    if (!item)
        return 0;
    return key->type == SIM_ZSET ? (int64_t)item->score : atoll(item->value);
}

static void prolong(struct sim_server *server, struct rl_slice name, struct rl_slice value,
                    int64_t ends_ms)
{
    struct sim_key *key = sim_server_find(server, name);
    struct sim_item *item = key->type == SIM_HASH ? find_hold(key, value) : NULL;
    char text[SIM_VALUE_SIZE];

    if (key->type == SIM_ZSET)
        sim_key_score(key, value, (double)ends_ms);
    if (!item)
        return;
    if (item->field[0] == 'h')
        snprintf(text, sizeof text, "%" PRId64, ends_ms);
    else
        snprintf(text, sizeof text, "%" PRId64 ":%.*s", ends_ms, (int)value.size, value.data);
    sim_item_set(item, sim_slice(text));
}

/* KEYS locks; ARGV value, ttl */
void sim_script_renew(const struct sim_call *call)
{
    struct sim_server *server = call->server;
    int64_t ttl_ms = sim_script_number(call->arg[1]);
    int64_t until_ms = sim_server_now_ms(server) + ttl_ms;

    for (uint32_t i = 0; i < call->key_count; i++) {
        if (hold_ends_ms(server, call->key[i], call->arg[0]) > sim_server_now_ms(server))
            continue;
        sim_reply_integer(call->out, 0);
        return;
    }
    for (uint32_t i = 0; i < call->key_count; i++) {
        if (hold_ends_ms(server, call->key[i], call->arg[0]) < until_ms)
            prolong(server, call->key[i], call->arg[0], until_ms);
        if (sim_script_remaining_ms(server, call->key[i]) < ttl_ms)
            sim_script_expire_in(server, call->key[i], ttl_ms);
    }
    sim_reply_integer(call->out, 1);
}

/* ---- alignment ---- */

static bool is_ours(struct sim_server *server, struct rl_slice name, struct rl_slice value)
{
    struct sim_key *key = sim_server_find(server, name);
    char field[SIM_NAME_SIZE];

    if (!RL_RULE(ALIGN_WHERE_GRANTED))
        return true;
    if (!key || key->type != SIM_HASH)
        return sim_script_is_value(server, name, value);
    if (!RL_RULE(HOLD_IDS))
        return true;
    return sim_key_find(key, sim_script_name(field, sizeof field, "h:", value)) != NULL;
}

/* What is no number of a counter is behind every token. */
static bool is_behind(const char *text, int64_t token)
{
    int64_t number = -1;

    if (!text || !sim_read_number(sim_slice(text), &number))
        return true;
    return number < token || (RL_RULE(TOKEN_RANGE) && number >= RL_COUNTER_LIMIT);
}

/* KEYS lock and fence counter of each name; ARGV value, token, counter's life, incarnation */
void sim_script_align(const struct sim_call *call)
{
    struct sim_server *server = call->server;
    int64_t token = sim_script_number(call->arg[1]);
    struct sim_counter counter;

    if (RL_RULE(TOKEN_RANGE) && token >= RL_COUNTER_LIMIT) {
        sim_reply_integer(call->out, 0);
        return;
    }
    for (uint32_t i = 0; i < call->key_count; i += 2) {
        if (is_ours(server, call->key[i], call->arg[0]))
            continue;
        sim_reply_integer(call->out, 0);
        return;
    }
    for (uint32_t i = 0; i < call->key_count; i += 2) {
        const char *first;
        struct sim_key *key = sim_server_find(server, call->key[i + 1]);

        sim_script_read_counter(server, call->key[i + 1], &counter);
        if (is_behind(key ? key->item[0].value : NULL, token))
            sim_script_write_counter(server, call->key[i + 1], token,
                                     counter.has_from ? sim_slice(counter.from) : call->arg[3],
                                     sim_script_number(call->arg[2]));
        sim_script_expire_in(server, call->key[i + 1], sim_script_number(call->arg[2]));
        /* A new key may have moved the others. */
        key = sim_server_find(server, call->key[i]);
        first = sim_script_field(server, call->key[i], "fence");
        if (key && key->type == SIM_HASH && is_behind(first, token))
            sim_item_set(sim_key_item(key, sim_slice("fence"), NULL), call->arg[1]);
    }
    sim_reply_integer(call->out, 1);
}
