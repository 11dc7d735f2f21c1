/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/faults.h"

#include "base/time.h"
#include "lab/sim/sets.h"
#include "lab/sim/world.h"

static struct sim_client *draw_client(struct sim_world *world)
{
    return &world->client[sim_below(&world->rng, world->options.client_count)];
}

/* The one to an elector; or to its node, whichever of its servers that is. */
static struct sim_peer *draw_peer(struct sim_client *client, const struct sim_node *node,
                                  bool is_subscriber)
{
    if (node->is_elector)
        return &client->elector[node->elector];
    return is_subscriber ? &client->subscriber[node->vote] : &client->peer[node->vote];
}

static void break_connection(struct sim_world *world)
{
    struct sim_client *client = draw_client(world);
    struct sim_node *node = sim_fault_node(world);
    bool is_subscriber = sim_chance(&world->rng, 250);
    struct sim_peer *peer = draw_peer(client, node, is_subscriber);
    struct sim_conn *conn = client->alive ? peer->conn : NULL;
    uint64_t what = sim_below(&world->rng, 4);

    if (!conn || !conn->node_open)
        return;
    sim_trace(world, "*** the %s of c%u and n%u breaks%s%s",
              is_subscriber ? "subscriber" : "connection", client->index + 1, node->index + 1,
              what & 1 ? ", requests are lost" : "", what & 2 ? ", replies are lost" : "");
    if (what & 1) {
        sim_net_lose(conn, SIM_UP);
        conn->node_open = false;
    }
    if (what & 2)
        sim_net_lose(conn, SIM_DOWN);
    /* The client learns of it; the node when the client's end arrives, behind its requests. */
    if (conn->node_open)
        conn->ended = true;
    else
        sim_net_node_closes(world, conn);
    sim_client_poke(world, client);
}

/* A pair, packed into the stamp of an event: client, node, direction. */
static void unblock(struct sim_world *world, void *subject, uint64_t stamp)
{
    (void)subject;
    sim_net_block(world, &world->client[stamp >> 16], &world->node[stamp >> 8 & 0xff],
                  (enum sim_direction)(stamp & 1), false);
}

static void block(struct sim_world *world, struct sim_client *client, struct sim_node *node,
                  uint64_t directions, int64_t length_ns)
{
    for (uint64_t d = 0; d < 2; d++) {
        if (!(directions & (d + 1)))
            continue;
        sim_net_block(world, client, node, (enum sim_direction)d, true);
        sim_fault_later(world, length_ns, unblock, NULL,
                        (uint64_t)client->index << 16 | (uint64_t)node->index << 8 | d);
    }
}

static void partition(struct sim_world *world)
{
    struct sim_client *client = draw_client(world);
    struct sim_node *node = sim_fault_node(world);
    uint64_t directions = 1 + sim_below(&world->rng, 3);
    int64_t length_ns = sim_fault_length_ns(world, 5, 3000);
    bool whole_client = sim_chance(&world->rng, 200);
    bool whole_node = sim_chance(&world->rng, 200);

    sim_trace(world, "*** c%u and n%u do not reach each other%s%s for %lld ms",
              client->index + 1, node->index + 1, whole_client ? ", nor c any other node" : "",
              whole_node ? ", nor n any other client" : "",
              (long long)(length_ns / RL_NS_PER_MS));
    block(world, client, node, directions, length_ns);
    for (uint8_t i = 0; whole_client && i < sim_fault_node_count(world); i++)
        block(world, client, &world->node[i], directions, length_ns);
    for (uint8_t i = 0; whole_node && i < world->options.client_count; i++)
        block(world, &world->client[i], node, directions, length_ns);
}

static void slow_down(struct sim_world *world)
{
    struct sim_client *client = draw_client(world);
    struct sim_node *node = sim_fault_node(world);
    struct sim_link *link = sim_net_link(world, client, node);

    link->slow_until_ns = world->now_ns + sim_fault_length_ns(world, 10, 3000);
    link->slow_by_ns = sim_fault_length_ns(world, 5, 1000);
    sim_trace(world, "*** c%u and n%u get slow, up to %lld ms", client->index + 1,
              node->index + 1, (long long)(link->slow_by_ns / RL_NS_PER_MS));
}

static void end_stop(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_client *client = subject;

    if (stamp == client->fate_stamp)
        sim_client_resume(world, client);
}

static void stop_client(struct sim_world *world)
{
    struct sim_client *client = draw_client(world);

    if (!client->alive || client->paused)
        return;
    /* The worst moment is while answers are on their way. */
    if (sim_chance(&world->rng, 500))
        client->stops_next = true;
    else
        sim_client_pause(world, client);
    sim_fault_later(world, sim_fault_length_ns(world, 1, 3000), end_stop, client,
                    ++client->fate_stamp);
}

static void come_back(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_client *client = subject;

    if (stamp == client->fate_stamp && !client->alive)
        sim_client_start(world, client);
}

static void crash_client(struct sim_world *world)
{
    struct sim_client *client = draw_client(world);

    if (!client->alive)
        return;
    sim_client_crash(world, client);
    sim_fault_later(world, sim_fault_length_ns(world, 1, 1000), come_back, client,
                    ++client->fate_stamp);
}

static void step_client(struct sim_world *world)
{
    struct sim_client *client = draw_client(world);
    int64_t step_ns = sim_fault_length_ns(world, 10, 5000);

    if (!client->alive)
        return;
    if (sim_chance(&world->rng, 500))
        step_ns = -step_ns;
    client->wall_step_ns += step_ns;
    sim_trace(world, "*** the wall clock of c%u is set by %lld ms", client->index + 1,
              (long long)(step_ns / RL_NS_PER_MS));
    sim_client_poke(world, client);
}

static void (*const apply[SIM_FAULT_COUNT])(struct sim_world *) = {
    [SIM_FAULT_BREAK] = break_connection,
    [SIM_FAULT_PARTITION] = partition,
    [SIM_FAULT_SLOW] = slow_down,
    [SIM_FAULT_NODE_PAUSE] = sim_fault_pause_node,
    [SIM_FAULT_NODE_RESTART] = sim_fault_restart_node,
    [SIM_FAULT_SCRIPT_FLUSH] = sim_fault_flush_scripts,
    [SIM_FAULT_NODE_ERRORS] = sim_fault_answer_errors,
    [SIM_FAULT_CLIENT_PAUSE] = stop_client,
    [SIM_FAULT_CLIENT_CRASH] = crash_client,
    [SIM_FAULT_CLIENT_WALL] = step_client,
    [SIM_FAULT_HIDDEN_RESTART] = sim_fault_restart_hidden,
    [SIM_FAULT_FLUSHALL] = sim_fault_flush_all,
    [SIM_FAULT_PROMOTION] = sim_fault_promote,
    [SIM_FAULT_EVICTION] = sim_fault_evict,
    [SIM_FAULT_NODE_STEP] = sim_fault_step_node,
    [SIM_FAULT_COUNTER] = sim_fault_overwrite_counter,
    [SIM_FAULT_INIT] = sim_sets_init,
    [SIM_FAULT_FAILOVER] = sim_fault_failover,
    [SIM_FAULT_SPLIT] = sim_fault_split,
    [SIM_FAULT_LAG] = sim_fault_lag,
    [SIM_FAULT_BACKWARDS] = sim_fault_backwards,
};

static void next(struct sim_world *world, enum sim_fault fault);

static void strike(struct sim_world *world, void *subject, uint64_t stamp)
{
    (void)subject;
    if (world->calm || world->failed)
        return;
    if (sim_chance(&world->rng, 300))
        sim_node_snapshot(sim_fault_node(world));
    apply[stamp](world);
    next(world, (enum sim_fault)stamp);
}

static void next(struct sim_world *world, enum sim_fault fault)
{
    sim_fault_later(world,
                    sim_between(&world->rng, RL_NS_PER_MS, 2 * world->options.every_ns[fault]),
                    strike, NULL, fault);
}

/* A command that lives for a second, and comes again at once. */
static void end_command(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_client *client = subject;

    (void)stamp;
    if (world->calm || world->failed)
        return;
    if (client->alive && !client->paused) {
        sim_client_crash(world, client);
        sim_client_start(world, client);
    }
    sim_fault_later(world, sim_fault_length_ns(world, 300, 3000), end_command, client, 0);
}

void sim_faults_begin(struct sim_world *world)
{
    for (uint8_t i = 0; i < world->options.brief_count; i++)
        sim_fault_later(world, sim_fault_length_ns(world, 300, 3000), end_command,
                        &world->client[world->options.client_count - 1 - i], 0);
    for (int i = 0; i < SIM_FAULT_COUNT; i++)
        if (world->options.every_ns[i])
            next(world, (enum sim_fault)i);
}

void sim_faults_end(struct sim_world *world)
{
    for (uint8_t i = 0; i < sim_fault_node_count(world); i++) {
        struct sim_node *node = &world->node[i];

        node->stamp++;
        if (!node->up)
            sim_node_start(world, node, sim_fault_memory(world));
        if (node->server.replica && !world->options.elected_count)
            sim_node_promote(world, node, sim_fault_memory(world));
        node->server.loading = false;
        node->errors_until_ns = node->hides_until_ns = 0;
        sim_node_resume(world, node);
    }
    for (uint8_t i = 0; i < world->options.client_count; i++) {
        struct sim_client *client = &world->client[i];

        for (uint8_t j = 0; j < sim_fault_node_count(world); j++) {
            sim_net_block(world, client, &world->node[j], SIM_UP, false);
            sim_net_block(world, client, &world->node[j], SIM_DOWN, false);
            sim_net_link(world, client, &world->node[j])->slow_until_ns = 0;
        }
        client->fate_stamp++;
        sim_client_resume(world, client);
        if (!client->alive)
            sim_client_start(world, client);
    }
}
