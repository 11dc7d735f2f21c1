/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is on the nodes: no lock without an end, none longer than max_ttl, nothing but what the
 * project is known to store; and when a client is idle, nothing of it is left anywhere. That
 * last promise is not made for requests that arrived after their client had given the
 * connection up (nothing can travel behind them any more), nor for what a disk brought back:
 * such keys are `stale`, and their TTL takes them.
 */
#include <stdlib.h>
#include <string.h>

#include "lab/sim/world.h"
#include "protocol/command.h"

#define PREFIX "redlock:"

static bool begins(const struct fake_key *key, const char *head)
{
    return strncmp(key->name, head, strlen(head)) == 0;
}

static bool is_lock(const struct fake_key *key)
{
    return begins(key, PREFIX);
}

static bool is_marker(const struct fake_key *key)
{
    return strcmp(key->name, RL_MARKER_KEY) == 0 || strcmp(key->name, RL_PROBATION_KEY) == 0;
}

/* How long such a key may live; 0: there is no such key. */
static int64_t life_max_ms(const struct sim_world *world, const struct fake_key *key)
{
    if (is_lock(key))
        return world->options.max_ttl_ms;
    if (begins(key, RL_FENCE_HEAD ":"))
        return atoll(RL_FENCE_LIFE_MS);
    if (begins(key, "redlock.broken:"))
        return world->options.max_ttl_ms;
    if (begins(key, RL_QUEUE_HEAD ":") || begins(key, RL_ALIVE_HEAD ":"))
        return RL_WAITER_TTL_MS;
    return 0;
}

void sim_keys_check(struct sim_world *world, struct sim_node *node)
{
    bool stepped = world->options.every_ns[SIM_FAULT_NODE_STEP] != 0;
    int64_t now_ms = sim_node_now_ms(world, node);

    for (uint32_t i = 0; i < node->server.store.count; i++) {
        const struct fake_key *key = &node->server.store.key[i];
        int64_t life_ms = life_max_ms(world, key);

        if (is_marker(key))
            continue;
        if (life_ms == 0)
            sim_fail(world, "keys", "n%u has a key %s", node->index + 1, key->name);
        else if (key->expire_ms == 0)
            sim_fail(world, "keys", "n%u: %s never expires", node->index + 1, key->name);
        else if (!stepped && !key->stale && key->expire_ms > now_ms + life_ms)
            sim_fail(world, "keys", "n%u: %s lives longer than is allowed", node->index + 1,
                     key->name);
    }
}

static uint8_t hex_byte(const char *text)
{
    char digits[3] = {text[0], text[1], '\0'};

    return (uint8_t)strtol(digits, NULL, 16);
}

/* Did a living process draw this value? Values name their client and process: client.c. */
static bool is_of_the_living(const struct sim_world *world, const char *value)
{
    uint8_t index = (uint8_t)(hex_byte(value) - 1);
    uint16_t life = (uint16_t)(hex_byte(value + 2) << 8 | hex_byte(value + 4));

    return index < world->options.client_count && world->client[index].alive &&
           world->client[index].life == life;
}

const char *sim_read_hold(const struct fake_key *key, const struct fake_item *item,
                          int64_t *ends_ms)
{
    const char *colon = strchr(item->value, ':');

    switch (key->type) {
    case FAKE_STRING:
        *ends_ms = key->expire_ms;
        return item->value;
    case FAKE_ZSET:
        *ends_ms = (int64_t)item->score;
        return item->field;
    case FAKE_HASH:
        *ends_ms = atoll(item->value);
        if (strncmp(item->field, "h:", 2) == 0)
            return item->field + 2;
        return strncmp(item->field, "s:", 2) == 0 && colon ? colon + 1 : NULL;
    }
    return NULL;
}

static void check_left(struct sim_world *world, const struct sim_node *node,
                       const struct fake_key *key)
{
    int64_t now_ms = sim_node_now_ms(world, node);

    if (!is_lock(key) || now_ms > key->expire_ms || key->stale)
        return;
    for (uint32_t i = 0; i < key->item_count; i++) {
        int64_t ends_ms;
        const char *value = sim_read_hold(key, &key->item[i], &ends_ms);

        if (value && ends_ms > now_ms && is_of_the_living(world, value))
            sim_fail(world, "nothing left behind",
                     "n%u still has %s of c%u, which gave it up long ago", node->index + 1,
                     key->name, hex_byte(value));
    }
}

void sim_keys_final(struct sim_world *world)
{
    /* What went to a master that was deposed meanwhile is left to its TTL. */
    for (uint8_t i = world->options.elected_count; i < world->options.node_count; i++) {
        struct sim_node *node = &world->node[i];

        sim_keys_check(world, node);
        for (uint32_t k = 0; k < node->server.store.count; k++)
            check_left(world, node, &node->server.store.key[k]);
    }
}
