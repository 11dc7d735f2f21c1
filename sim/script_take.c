/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking a lock of any kind, with the queue and the token: take.lua, ticket.lua, align.lua. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/answer.h"
#include "core/rules.h"
#include "sim/script.h"

#define FREE_SLOTS_MAX 4
#define SLOTS_MAX 64

/* The arguments by name, and what is found out on the way. */
struct take {
    const struct sim_call *call;
    struct sim_server *server;
    int64_t now_ms;
    uint32_t names;
    struct rl_slice value;
    int64_t ttl_ms;
    char kind;
    struct rl_slice group;
    struct rl_slice want;
    bool fenced;
    struct rl_slice waiter;
    int64_t ticket;
    int64_t life_ms;
    bool healing;

    int64_t next_ticket;
    int64_t place;
    int64_t ahead_ms;
    bool blocked;
    bool taken;
    int64_t left_ms;
    int64_t free[FREE_SLOTS_MAX];
    uint32_t free_count;
};

enum { LOCK, FENCE, QUEUE, ALIVE, KEYS_PER_NAME };

static struct rl_slice key_of(const struct take *take, uint32_t name, int which)
{
    return take->call->key[name * KEYS_PER_NAME + (uint32_t)which];
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static uint32_t rank_of(const struct sim_key *queue, struct rl_slice waiter)
{
    const struct sim_item *item = queue && waiter.size ? sim_key_find(queue, waiter) : NULL;

    if (!queue)
        return 0;
    return item ? (uint32_t)(item - queue->item) : queue->item_count;
}

static void prune(struct take *take, struct rl_slice queue, struct rl_slice alive)
{
    struct sim_key *lives = sim_server_find(take->server, alive);

    while (RL_RULE(LIVENESS) && lives && lives->item[0].score <= (double)take->now_ms) {
        char dead[SIM_NAME_SIZE];

        sim_copy_text(dead, sizeof dead, sim_slice(lives->item[0].field));
        sim_script_zrem(take->server, queue, sim_slice(dead));
        sim_script_zrem(take->server, alive, sim_slice(dead));
        lives = sim_server_find(take->server, alive);
    }
}

/* A sign of life, unless the last one is fresh. */
static void enqueue(struct take *take, struct rl_slice queue, struct rl_slice alive)
{
    struct sim_server *server = take->server;
    double ends = sim_script_zscore(server, alive, take->waiter);

    if ((ends < 0 ? 0 : ends) >= (double)take->now_ms + 0.7 * (double)take->life_ms)
        return;
    if (sim_script_zscore(server, queue, take->waiter) < 0)
        sim_script_zadd(server, queue, take->waiter, (double)take->ticket);
    sim_script_zadd(server, alive, take->waiter, (double)(take->now_ms + take->life_ms));
    if (sim_script_largest_ticket(server, alive) < (double)take->ticket)
        sim_script_zadd(server, alive, sim_slice("t"), (double)take->ticket);
    sim_script_expire_in(server, queue, take->life_ms);
    sim_script_expire_in(server, alive, take->life_ms);
}

static bool is_behind(const struct take *take, const struct sim_key *queue, uint32_t rank)
{
    if (!RL_RULE(QUEUE_HEAD) && take->ticket != 0)
        return false;
    if (take->kind != 's')
        return rank > 0;
    for (uint32_t i = 0; i < rank; i++)
        if (queue->item[i].field[0] == 'w')
            return true;
    return false;
}

static void stand_in_queue(struct take *take, uint32_t name)
{
    struct rl_slice queue_name = key_of(take, name, QUEUE);
    struct rl_slice alive = key_of(take, name, ALIVE);
    const struct sim_key *queue;
    uint32_t rank;

    take->next_ticket = larger(take->next_ticket, take->server->now_us);
    if (take->waiter.size && take->ticket)
        enqueue(take, queue_name, alive);
    queue = sim_server_find(take->server, queue_name);
    if (!take->waiter.size || !take->ticket) {
        double largest = sim_script_largest_ticket(take->server, alive);

        take->next_ticket = larger(take->next_ticket, (int64_t)largest + 1);
    }
    rank = rank_of(queue, take->waiter);
    if (rank > 0) {
        prune(take, queue_name, alive);
        queue = sim_server_find(take->server, queue_name);
        rank = rank_of(queue, take->waiter);
    }
    if (is_behind(take, queue, rank)) {
        double ends =
            sim_script_zscore(take->server, alive, sim_slice(queue->item[rank - 1].field));

        if (ends < 0)
            sim_script_zrem(take->server, queue_name, sim_slice(queue->item[rank - 1].field));
        take->blocked = true;
        take->ahead_ms = larger(take->ahead_ms, ends < 0 ? 1 : (int64_t)ends - take->now_ms);
    }
    take->place = larger(take->place, rank + 1);
}

/* ---- the lock itself ---- */

static void look_at_names(struct take *take)
{
    take->taken = false;
    for (uint32_t i = 0; i < take->names; i++) {
        struct rl_slice lock = key_of(take, i, LOCK);

        if (!sim_server_find(take->server, lock) ||
            sim_script_is_value(take->server, lock, take->value))
            continue;
        take->left_ms = larger(take->left_ms, sim_script_remaining_ms(take->server, lock));
        /* Without the rule, the first name is as good as all. */
        take->taken |= RL_RULE(ALL_OR_NOTHING) || i == 0;
    }
}

static void look_at_slots(struct take *take, const struct sim_key *key)
{
    int64_t slots = sim_script_number(take->group);
    int64_t want = sim_script_number(take->want);
    bool busy[SLOTS_MAX + 1] = {false};
    int64_t soonest_ms = INT64_MAX;

    for (uint32_t i = 0; i < key->item_count; i++) {
        const struct sim_item *item = &key->item[i];
        int64_t slot = atoll(item->field + 2);
        int64_t ends_ms = atoll(item->value);

        if (strncmp(item->field, "s:", 2) != 0 || ends_ms <= take->now_ms)
            continue;
        busy[slot] = true;
        if (ends_ms < soonest_ms)
            soonest_ms = ends_ms;
    }
    take->taken = want > slots || busy[want];
    if (!take->taken)
        return;
    for (int64_t i = 1; i < slots && take->free_count < FREE_SLOTS_MAX; i++) {
        int64_t slot = (want - 1 + i) % slots + 1;

        if (!busy[slot])
            take->free[take->free_count++] = slot;
    }
    take->left_ms = take->free_count ? 0 : soonest_ms - take->now_ms;
}

static void look_at_lock(struct take *take)
{
    struct sim_key *key = sim_server_find(take->server, key_of(take, 0, LOCK));
    const char *owner = sim_script_field(take->server, key_of(take, 0, LOCK), "owner");
    const char *slots = sim_script_field(take->server, key_of(take, 0, LOCK), "slots");

    take->taken = key != NULL;
    take->left_ms = -2;
    if (take->kind == 'm') {
        look_at_names(take);
    } else if (key && take->kind == 's' && key->type == SIM_ZSET) {
        take->taken = false;
    } else if (take->kind == 'o' && owner && rl_slice_equals(take->group, owner)) {
        take->taken = take->blocked = false;
    } else if (take->kind == 'k' && slots && rl_slice_equals(take->group, slots)) {
        look_at_slots(take, key);
        /* Without the rule, any free permit of this node is as good as another. */
        if (!RL_RULE(COMMON_SLOT) && take->taken && take->free_count)
            take->taken = false;
    }
    if (take->taken && take->left_ms == -2)
        take->left_ms = sim_script_remaining_ms(take->server, key_of(take, 0, LOCK));
}

static void write_hold(struct take *take)
{
    struct sim_server *server = take->server;
    struct rl_slice name = key_of(take, 0, LOCK);
    int64_t ends_ms = take->now_ms + take->ttl_ms;
    char field[SIM_NAME_SIZE];
    char content[SIM_VALUE_SIZE];
    struct sim_key *key;

    if (take->kind == 's') {
        struct sim_key *readers = sim_server_find(server, name);

        while (readers && readers->item[0].score <= (double)take->now_ms) {
            sim_script_zrem(server, name, sim_slice(readers->item[0].field));
            readers = sim_server_find(server, name);
        }
        sim_script_zadd(server, name, take->value, (double)ends_ms);
        return;
    }
    key = sim_script_hash(server, name);
    sim_item_set(sim_key_item(key, sim_slice(take->kind == 'o' ? "owner" : "slots"), NULL),
                 take->group);
    if (take->kind == 'o' && !RL_RULE(HOLD_IDS)) {
        /* How often the owner has it, and not by whom. */
        struct sim_item *count = sim_key_item(key, sim_slice("count"), NULL);

        snprintf(content, sizeof content, "%lld", atoll(count->value) + 1);
        sim_item_set(count, sim_slice(content));
        return;
    }
    if (take->kind == 'o') {
        snprintf(content, sizeof content, "%" PRId64, ends_ms);
        sim_script_name(field, sizeof field, "h:", take->value);
    } else {
        snprintf(content, sizeof content, "%" PRId64 ":%.*s", ends_ms, (int)take->value.size,
                 take->value.data);
        sim_script_name(field, sizeof field, "s:", take->want);
        if (take->free_count)
            snprintf(field, sizeof field, "s:%" PRId64, take->free[0]);
    }
    sim_item_set(sim_key_item(key, sim_slice(field), NULL), sim_slice(content));
}

/* The grant of a lock for one takes the place in the queue with it. */
static void leave_queue(struct take *take)
{
    if (take->kind != 'm' && take->kind != 'o')
        return;
    for (uint32_t i = 0; take->waiter.size && take->ticket && i < take->names; i++) {
        sim_script_zrem(take->server, key_of(take, i, QUEUE), take->waiter);
        sim_script_zrem(take->server, key_of(take, i, ALIVE), take->waiter);
    }
}

/* The plain mutex, free, and we are first. */
static bool take_at_once(struct take *take, bool marked)
{
    struct rl_slice lock = key_of(take, 0, LOCK);
    const struct sim_key *queue = sim_server_find(take->server, key_of(take, 0, QUEUE));

    if (take->kind != 'm' || take->names != 1 || take->fenced || marked || !take->ticket ||
        !queue || !rl_slice_equals(take->waiter, queue->item[0].field) ||
        sim_server_find(take->server, lock))
        return false;
    sim_server_set(take->server, lock, take->value, take->ttl_ms);
    leave_queue(take);
    return true;
}

static void take_lock(struct take *take)
{
    struct rl_slice name = key_of(take, 0, LOCK);

    for (uint32_t i = 0; take->kind == 'm' && i < take->names; i++) {
        struct rl_slice lock = key_of(take, i, LOCK);

        if (!sim_server_find(take->server, lock))
            sim_server_set(take->server, lock, take->value, take->ttl_ms);
        else if (take->healing && sim_script_remaining_ms(take->server, lock) < take->ttl_ms)
            sim_script_expire_in(take->server, lock, take->ttl_ms);
    }
    if (take->kind != 'm')
        write_hold(take);
    leave_queue(take);
    if (take->kind == 'm')
        return;
    if (sim_script_remaining_ms(take->server, name) < take->ttl_ms)
        sim_script_expire_in(take->server, name, take->ttl_ms);
}

/* ---- the token ---- */

static bool is_known(const struct sim_counter *counter, struct rl_slice sure)
{
    return counter->has_from && sure.size != 0 && rl_slice_equals(sure, counter->from) &&
           counter->last > SIM_COUNTED_MAX;
}

static int64_t draw_token(struct take *take, struct rl_slice incarnation, int64_t life_ms,
                          bool lost_marker)
{
    const char *doubt = memchr(incarnation.data, '?', incarnation.size);
    struct rl_slice sure = {incarnation.data,
                            doubt ? (size_t)(doubt - incarnation.data) : incarnation.size};
    struct sim_counter counter;
    int64_t token = 0;

    for (uint32_t i = 0; i < take->names; i++) {
        bool known;

        sim_script_read_counter(take->server, key_of(take, i, FENCE), &counter);
        known = is_known(&counter, sure) || (!RL_RULE(COUNTER_LIFE) && counter.last > 0);
        token = larger(token, (int64_t)((double)counter.last + 1));
        token = larger(token, known ? 0 : take->server->now_us);
    }
    for (uint32_t i = 0; i < take->names; i++) {
        char doubtful[SIM_VALUE_SIZE];
        struct rl_slice from;
        bool known;

        sim_script_read_counter(take->server, key_of(take, i, FENCE), &counter);
        known = is_known(&counter, sure);
        from = known || (counter.has_from && sure.size == 0) ? sim_slice(counter.from)
                                                             : incarnation;
        if (lost_marker && !known && sim_script_same(from, sure))
            from = sim_script_doubt(doubtful, sizeof doubtful, sure);
        sim_script_write_counter(take->server, key_of(take, i, FENCE), token, from, life_ms);
    }
    return token;
}

static int64_t owners_token(struct take *take, int64_t token)
{
    struct rl_slice name = key_of(take, 0, LOCK);
    const char *first = sim_script_field(take->server, name, "fence");
    int64_t owners = first ? sim_script_number(sim_slice(first)) : 0;
    char text[24];

    if (owners < 0 || (RL_RULE(TOKEN_RANGE) && owners >= RL_COUNTER_LIMIT))
        owners = 0;
    if (take->kind != 'o' || owners != 0)
        return take->kind == 'o' ? owners : 0;
    snprintf(text, sizeof text, "%" PRId64, token);
    sim_item_set(sim_key_item(sim_server_find(take->server, name), sim_slice("fence"), NULL),
                 sim_slice(text));
    return 0;
}

/* Of several names: no place where the lock is free. */
static void step_aside(struct take *take)
{
    for (uint32_t i = 0; take->kind == 'm' && take->waiter.size && i < take->names; i++) {
        struct rl_slice lock = key_of(take, i, LOCK);
        const struct sim_key *queue;

        if (sim_server_find(take->server, lock) &&
            !sim_script_is_value(take->server, lock, take->value))
            continue;
        sim_script_zrem(take->server, key_of(take, i, ALIVE), take->waiter);
        if (!sim_script_zrem(take->server, key_of(take, i, QUEUE), take->waiter))
            continue;
        queue = sim_server_find(take->server, key_of(take, i, QUEUE));
        if (queue)
            sim_script_wake(take->server, queue->item[0].field, sim_slice(""));
    }
}

static void refuse(const struct take *take, const struct sim_standing *standing)
{
    struct sim_bytes *out = take->call->out;

    sim_script_reply_standing(take->call, 8 + take->free_count, 0, take->left_ms, standing);
    sim_reply_integer(out, take->next_ticket);
    sim_reply_integer(out, take->place);
    sim_reply_integer(out, take->ahead_ms);
    for (uint32_t i = 0; i < take->free_count; i++)
        sim_reply_integer(out, take->free[i]);
}

static void read_arguments(const struct sim_call *call, struct take *out)
{
    const struct rl_slice *arg = call->arg;

    *out = (struct take){
        .call = call,
        .server = call->server,
        .now_ms = sim_server_now_ms(call->server),
        .names = (uint32_t)sim_script_number(arg[0]),
        .value = arg[1],
        .ttl_ms = sim_script_number(arg[2]),
        .kind = arg[3].data[0],
        .group = arg[4],
        .want = arg[5],
        .fenced = !rl_slice_equals(arg[6], "0"),
        .waiter = arg[8],
        .ticket = sim_script_number(arg[9]),
        .life_ms = sim_script_number(arg[10]),
        .healing = rl_slice_equals(arg[10], "heal"),
    };
}

void sim_script_take(const struct sim_call *call)
{
    struct sim_standing standing = {0};
    struct take take;
    bool marked = rl_slice_equals(call->arg[7], "1");
    int64_t token = 0;
    int64_t owners = 0;

    read_arguments(call, &take);
    if (take_at_once(&take, marked)) {
        sim_script_reply_standing(call, 6, 1, 0, &standing);
        sim_reply_integer(call->out, 0);
        return;
    }
    if ((take.fenced || marked) && !sim_script_standing(call, call->key[call->key_count - 1],
                                                        take.ttl_ms, marked, &standing))
        return;
    for (uint32_t i = 0; i < take.names; i++)
        if (!take.healing && (take.waiter.size || take.kind == 's'))
            stand_in_queue(&take, i);
    look_at_lock(&take);
    if (take.taken)
        step_aside(&take);
    if (take.taken || take.blocked) {
        refuse(&take, &standing);
        return;
    }
    take_lock(&take);
    if (take.fenced) {
        token = draw_token(&take, call->arg[11], sim_script_number(call->arg[6]),
                           marked && strcmp(standing.id, standing.identity) != 0);
        owners = owners_token(&take, token);
    }
    sim_script_reply_standing(call, 6, 1, token, &standing);
    sim_reply_integer(call->out, owners);
}

/* KEYS lock and liveness of each name */
void sim_script_ticket(const struct sim_call *call)
{
    int64_t ticket = call->server->now_us;
    int64_t left_ms = -2;

    for (uint32_t i = 0; i < call->key_count; i += 2) {
        double largest = sim_script_largest_ticket(call->server, call->key[i + 1]);

        ticket = larger(ticket, (int64_t)largest + 1);
        left_ms = larger(left_ms, sim_script_remaining_ms(call->server, call->key[i]));
    }
    sim_reply_array(call->out, 2);
    sim_reply_integer(call->out, ticket);
    sim_reply_integer(call->out, left_ms);
}
