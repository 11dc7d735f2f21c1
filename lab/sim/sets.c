/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/sets.h"

#include <stdio.h>

#include "base/time.h"
#include "core/set.h"
#include "lab/sim/world.h"

#define WRITTEN_WITHIN_NS (50 * RL_NS_PER_MS)

/* The stamp of an event that writes a set: its number, and whether it is for good. */
#define STAMP(number, for_good) ((uint64_t)(number) << 1 | (for_good))

bool sim_is_stranger(const struct sim_world *world, const struct sim_client *client)
{
    return !world->calm &&
           client->index + world->options.stranger_count >= world->options.client_count;
}

uint8_t sim_client_node_count(const struct sim_world *world, const struct sim_client *client)
{
    return sim_is_stranger(world, client) ? world->options.strangers_nodes
                                          : world->options.node_count;
}

struct sim_node *sim_client_node(struct sim_world *world, const struct sim_client *client,
                                 uint8_t i)
{
    const struct sim_options *o = &world->options;
    uint8_t doubled_count = rl_quorum(o->node_count);

    if (sim_is_stranger(world, client) && o->strangers == SIM_STRANGERS_NEIGHBOURS)
        return &world->node[o->outsider_count + i];
    if (sim_is_stranger(world, client) && o->strangers == SIM_STRANGERS_TWICE)
        return &world->node[i < doubled_count ? 0 : i + 1 - doubled_count];
    return &world->node[i];
}

static struct fake_key *marker_of(struct sim_world *world, struct sim_node *node)
{
    struct fake_key *marker = fake_store_find(&node->server.store, rl_slice_of(RL_MARKER_KEY),
                                              sim_node_now_ms(world, node));

    return marker
               ? marker
               : fake_store_create(&node->server.store, rl_slice_of(RL_MARKER_KEY), FAKE_HASH);
}

/* As src/engine/sets.c has it. */
static void write_set(struct sim_world *world, struct sim_node *node, uint32_t number,
                      bool for_good)
{
    char name[SIM_NODES_MAX][SIM_NODE_NAME_MAX];
    const char *names[SIM_NODES_MAX];
    bool is_new;
    struct fake_item *item = fake_key_item(marker_of(world, node), rl_slice_of("set"), &is_new);
    struct rl_set_self self;
    char id[RL_SET_ID_SIZE + 1];
    char set[RL_SET_MAX];
    char pending[RL_SET_ANSWER_MAX];

    for (uint8_t i = 0; i < world->options.node_count; i++) {
        sim_node_name(&world->node[i], name[i]);
        names[i] = name[i];
    }
    rl_set_init(&self, names, world->options.node_count, (struct rl_slice){"", 0});
    snprintf(id, sizeof id, "%016x", number);
    rl_set_write(&self, id, set);
    rl_set_write_pending(set, is_new ? "" : item->value, pending);
    fake_item_set(item, rl_slice_of(for_good ? set : pending));
    sim_trace(world, "n%u: is in set %u%s", node->index + 1, number, for_good ? "" : ", soon");
}

void sim_sets_write(struct sim_world *world, struct sim_node *node, uint32_t number)
{
    write_set(world, node, number, true);
}

static void written(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_node *node = subject;

    if (!world->calm && node->up && !node->server.replica)
        write_set(world, node, (uint32_t)(stamp >> 1), stamp & 1);
}

void sim_sets_init(struct sim_world *world)
{
    uint32_t number = ++world->set_count;
    bool finishes = sim_chance(&world->rng, 900);

    for (uint8_t i = 0; i < world->options.node_count; i++) {
        int64_t first_ns = world->now_ns + sim_between(&world->rng, 0, WRITTEN_WITHIN_NS);
        int64_t second_ns =
            world->now_ns + WRITTEN_WITHIN_NS + sim_between(&world->rng, 1, WRITTEN_WITHIN_NS);

        sim_events_add(&world->events, first_ns, written, &world->node[i],
                       STAMP(number, false));
        if (finishes)
            sim_events_add(&world->events, second_ns, written, &world->node[i],
                           STAMP(number, true));
    }
}

void sim_sets_begin(struct sim_world *world)
{
    if (!world->options.has_sets || world->options.elected_count)
        return;
    for (uint8_t i = 0; i < world->options.node_count; i++)
        write_set(world, &world->node[i], 0, true);
}

void sim_sets_end(struct sim_world *world)
{
    uint32_t number = ++world->set_count;

    if (!world->options.has_sets || world->options.elected_count)
        return;
    for (uint8_t i = 0; i < world->options.node_count; i++)
        write_set(world, &world->node[i], number, true);
    for (uint8_t i = 0; i < world->options.client_count; i++) {
        struct sim_client *client = &world->client[i];

        if (i + world->options.stranger_count < world->options.client_count)
            continue;
        sim_client_crash(world, client);
        sim_client_start(world, client);
    }
}
