/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/faults.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "lab/sim/world.h"
#include "protocol/command.h"

uint8_t sim_fault_node_count(const struct sim_world *world)
{
    const struct sim_options *o = &world->options;

    return o->elected_count ? sim_server_count(o) : o->node_count;
}

struct sim_node *sim_fault_node(struct sim_world *world)
{
    return &world->node[sim_below(&world->rng, sim_fault_node_count(world))];
}

int64_t sim_fault_length_ns(struct sim_world *world, int64_t min_ms, int64_t max_ms)
{
    return sim_spread(&world->rng, min_ms, max_ms) * RL_NS_PER_MS;
}

void sim_fault_later(struct sim_world *world, int64_t delay_ns, sim_event_fn *run,
                     void *subject, uint64_t stamp)
{
    sim_events_add(&world->events, world->now_ns + delay_ns, run, subject, stamp);
}

enum sim_memory sim_fault_memory(struct sim_world *world)
{
    if (world->options.regime == SIM_REGIME_PLAIN)
        return SIM_MEMORY_ALL;
    return (enum sim_memory)sim_below(&world->rng, 3);
}

static void end_pause(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_node *node = subject;

    if (stamp == node->stamp)
        sim_node_resume(world, node);
}

void sim_fault_pause_node(struct sim_world *world)
{
    struct sim_node *node = sim_fault_node(world);

    if (!node->up || node->paused)
        return;
    sim_node_pause(world, node);
    sim_fault_later(world, sim_fault_length_ns(world, 1, 3000), end_pause, node, ++node->stamp);
}

static void end_loading(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_node *node = subject;

    (void)world;
    if (stamp == node->stamp)
        node->server.loading = false;
}

static void end_outage(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_node *node = subject;

    if (stamp != node->stamp || node->up)
        return;
    sim_node_start(world, node, sim_fault_memory(world));
    if (sim_chance(&world->rng, 300)) {
        node->server.loading = true;
        sim_fault_later(world, sim_fault_length_ns(world, 1, 500), end_loading, node,
                        node->stamp);
    }
}

void sim_fault_restart_node(struct sim_world *world)
{
    struct sim_node *node = sim_fault_node(world);

    if (!node->up)
        return;
    sim_node_crash(world, node);
    sim_fault_later(world, sim_fault_length_ns(world, 1, 1500), end_outage, node,
                    ++node->stamp);
}

void sim_fault_flush_scripts(struct sim_world *world)
{
    struct sim_node *node = sim_fault_node(world);

    sim_trace(world, "*** n%u forgets its scripts", node->index + 1);
    node->server.scripts = 0;
}

void sim_fault_answer_errors(struct sim_world *world)
{
    struct sim_node *node = sim_fault_node(world);

    if (world->options.has_sets && sim_chance(&world->rng, 500)) {
        sim_trace(world, "*** n%u hides its marker", node->index + 1);
        node->hides_until_ns = world->now_ns + sim_fault_length_ns(world, 10, 5000);
        return;
    }
    sim_trace(world, "*** n%u answers errors", node->index + 1);
    node->errors_until_ns = world->now_ns + sim_fault_length_ns(world, 1, 500);
}

void sim_fault_restart_hidden(struct sim_world *world)
{
    struct sim_node *node = sim_fault_node(world);

    if (node->up && !node->paused && !node->server.replica)
        sim_node_replace(world, node, sim_fault_memory(world));
}

void sim_fault_flush_all(struct sim_world *world)
{
    struct sim_node *node = sim_fault_node(world);

    if (!node->up || node->paused || node->server.replica)
        return;
    sim_trace(world, "*** n%u: FLUSHALL", node->index + 1);
    fake_store_clear(&node->server.store);
    node->forgot_ns = world->now_ns;
    sim_elected_forgot(world, node);
}

static void end_replica(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_node *node = subject;

    if (stamp == node->stamp && node->up && node->server.replica)
        sim_node_promote(world, node, sim_fault_memory(world));
}

void sim_fault_promote(struct sim_world *world)
{
    struct sim_node *node = sim_fault_node(world);

    if (!node->up || node->paused || node->server.replica || node->server.loading)
        return;
    sim_node_demote(world, node);
    sim_fault_later(world, sim_fault_length_ns(world, 1, 1000), end_replica, node,
                    ++node->stamp);
}

void sim_fault_evict(struct sim_world *world)
{
    struct sim_node *node = sim_fault_node(world);
    struct fake_store *store = &node->server.store;

    if (store->count == 0)
        return;
    sim_trace(world, "*** n%u evicts a key", node->index + 1);
    fake_store_remove(store, &store->key[sim_below(&world->rng, store->count)]);
}

void sim_fault_step_node(struct sim_world *world)
{
    struct sim_node *node = sim_fault_node(world);
    int64_t step_ns = sim_fault_length_ns(world, 100, 5000);

    if (world->options.regime == SIM_REGIME_STEPS &&
        world->now_ns < world->oracle.pardon_until_ns)
        return;
    if (sim_chance(&world->rng, 300))
        step_ns = -step_ns;
    node->clock.step_ns += step_ns;
    sim_trace(world, "*** the clock of n%u is set by %lld ms", node->index + 1,
              (long long)(step_ns / RL_NS_PER_MS));
    sim_oracle_stepped(world);
}

/* Over the number of the counter, or over the whole counter. */
void sim_fault_overwrite_counter(struct sim_world *world)
{
    static const char *const numbers[] = {"9007199254740993", "500000000000000000",
                                          "4503599627370496", "-7", "nan"};
    struct sim_node *node = sim_fault_node(world);
    char name[FAKE_NAME_SIZE];
    char field[FAKE_NAME_SIZE] = "x";
    bool whole = sim_chance(&world->rng, 500);
    const char *number = numbers[sim_below(&world->rng, sizeof numbers / sizeof numbers[0])];
    struct fake_key *key;

    snprintf(name, sizeof name, RL_FENCE_HEAD ":job%u",
             1 + (unsigned)sim_below(&world->rng, world->options.lock_count));
    key = fake_store_find(&node->server.store, rl_slice_of(name), sim_node_now_ms(world, node));
    if (!node->up || node->server.replica || (!key && !whole))
        return;
    if (!whole)
        fake_copy_text(field, sizeof field, rl_slice_of(key->item[0].field));
    sim_trace(world, "*** n%u: %s is overwritten with %s", node->index + 1, name, number);
    key = fake_store_create(&node->server.store, rl_slice_of(name), FAKE_HASH);
    fake_item_set(fake_key_item(key, rl_slice_of(field), NULL), rl_slice_of(number));
    key->expire_ms = sim_node_now_ms(world, node) + atoll(RL_FENCE_LIFE_MS);
}
