/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/net.h"

#include <stdlib.h>
#include <string.h>

#include "lab/sim/world.h"

struct sim_link *sim_net_link(struct sim_world *world, const struct sim_client *client,
                              const struct sim_node *node)
{
    return &world->link[client->index][node->index];
}

static int64_t draw_delay_ns(struct sim_world *world, const struct sim_conn *conn)
{
    const struct sim_link *link = sim_net_link(world, conn->client, conn->node);
    const struct sim_options *o = &world->options;
    int64_t delay_ns = link->delay_ns + (int64_t)sim_below(&world->rng, (uint64_t)o->jitter_ns);

    if (!world->calm && sim_chance(&world->rng, o->spike_permille))
        delay_ns *= sim_between(&world->rng, 2, 100);
    /* In the calm nothing is too far away to be asked in time. */
    if (world->calm && delay_ns > world->options.calm_delay_ns)
        return world->options.calm_delay_ns;
    if (world->now_ns < link->slow_until_ns)
        delay_ns += (int64_t)sim_below(&world->rng, (uint64_t)link->slow_by_ns);
    return delay_ns;
}

static void drop_segments(struct sim_pipe *pipe)
{
    while (pipe->first) {
        struct sim_segment *next = pipe->first->next;

        free(pipe->first);
        pipe->first = next;
    }
    pipe->last = NULL;
}

void sim_net_lose(struct sim_conn *conn, enum sim_direction direction)
{
    drop_segments(&conn->pipe[direction]);
}

static void arrive_at_node(struct sim_world *world, struct sim_conn *conn,
                           const struct sim_segment *segment)
{
    if (!conn->node_open) {
        /* The node has no such connection (any more): its kernel answers with a reset. */
        if (!segment->end)
            sim_net_node_closes(world, conn);
    } else if (segment->end) {
        sim_node_hangup(world, conn);
    } else {
        fake_bytes_add(&conn->node_input, segment->data, segment->size);
        sim_node_received(world, conn);
    }
}

static void arrive_at_client(struct sim_world *world, struct sim_conn *conn,
                             const struct sim_segment *segment)
{
    if (!conn->client_open)
        return;
    if (segment->end)
        conn->ended = true;
    else
        fake_bytes_add(&conn->client_input, segment->data, segment->size);
    sim_client_poke(world, conn->client);
}

static void run_pipe(struct sim_world *world, struct sim_conn *conn,
                     enum sim_direction direction, uint64_t stamp)
{
    struct sim_pipe *pipe = &conn->pipe[direction];

    if (stamp != pipe->stamp ||
        sim_net_link(world, conn->client, conn->node)->blocked[direction])
        return;
    while (pipe->first && pipe->first->at_ns <= world->now_ns) {
        struct sim_segment *segment = pipe->first;

        pipe->first = segment->next;
        if (!pipe->first)
            pipe->last = NULL;
        if (direction == SIM_UP)
            arrive_at_node(world, conn, segment);
        else
            arrive_at_client(world, conn, segment);
        free(segment);
    }
}

static void run_up(struct sim_world *world, void *subject, uint64_t stamp)
{
    run_pipe(world, subject, SIM_UP, stamp);
}

static void run_down(struct sim_world *world, void *subject, uint64_t stamp)
{
    run_pipe(world, subject, SIM_DOWN, stamp);
}

static void put(struct sim_world *world, struct sim_conn *conn, enum sim_direction direction,
                const char *bytes, size_t size, bool end)
{
    struct sim_pipe *pipe = &conn->pipe[direction];
    struct sim_segment *segment = fake_alloc(sizeof *segment + size);

    *segment = (struct sim_segment){.size = size, .end = end};
    if (size)
        memcpy(segment->data, bytes, size);
    segment->at_ns = world->now_ns + draw_delay_ns(world, conn);
    if (segment->at_ns < pipe->last_ns)
        segment->at_ns = pipe->last_ns;
    pipe->last_ns = segment->at_ns;
    if (pipe->last)
        pipe->last->next = segment;
    else
        pipe->first = segment;
    pipe->last = segment;
    sim_events_add(&world->events, segment->at_ns, direction == SIM_UP ? run_up : run_down,
                   conn, pipe->stamp);
}

void sim_net_send(struct sim_world *world, struct sim_conn *conn, enum sim_direction direction,
                  const char *bytes, size_t size)
{
    while (size > 1 && sim_chance(&world->rng, world->options.split_permille)) {
        size_t part = 1 + sim_below(&world->rng, size - 1);

        put(world, conn, direction, bytes, part, false);
        bytes += part;
        size -= part;
    }
    put(world, conn, direction, bytes, size, false);
}

/* What a server answers to a knock. */
enum { REFUSED, ACCEPTED };

static void answered(struct sim_world *world, void *subject, uint64_t answer)
{
    struct sim_conn *conn = subject;

    if (!conn->client_open || sim_net_link(world, conn->client, conn->node)->blocked[SIM_DOWN])
        return;
    conn->connected = answer == ACCEPTED;
    conn->refused = answer == REFUSED;
    sim_client_poke(world, conn->client);
}

static void knock(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_conn *conn = subject;
    int64_t back_ns = world->now_ns + draw_delay_ns(world, conn);

    (void)stamp;
    /* Lost on the way: the client's own timeout ends it. */
    if (sim_net_link(world, conn->client, conn->node)->blocked[SIM_UP])
        return;
    /* A hung process has a kernel that accepts for it. */
    conn->node_open = conn->node->up;
    sim_events_add(&world->events, back_ns, answered, conn,
                   conn->node->up ? ACCEPTED : REFUSED);
    conn->pipe[SIM_DOWN].last_ns = back_ns;
}

struct sim_conn *sim_net_connect(struct sim_world *world, struct sim_client *client,
                                 struct sim_node *node)
{
    struct sim_conn *conn = fake_alloc(sizeof *conn);

    conn->client = client;
    conn->node = node;
    conn->number = ++world->conn_count;
    conn->client_open = true;
    conn->next = world->conns;
    world->conns = conn;
    sim_events_add(&world->events, world->now_ns + draw_delay_ns(world, conn), knock, conn, 0);
    return conn;
}

void sim_net_client_closes(struct sim_world *world, struct sim_conn *conn)
{
    if (!conn->client_open)
        return;
    conn->client_open = false;
    put(world, conn, SIM_UP, NULL, 0, true);
}

void sim_net_node_closes(struct sim_world *world, struct sim_conn *conn)
{
    conn->node_open = conn->node_ended = false;
    conn->node_input.size = 0;
    put(world, conn, SIM_DOWN, NULL, 0, true);
}

void sim_net_block(struct sim_world *world, struct sim_client *client, struct sim_node *node,
                   enum sim_direction direction, bool blocked)
{
    struct sim_link *link = sim_net_link(world, client, node);

    if (link->blocked[direction] == blocked)
        return;
    link->blocked[direction] = blocked;
    /* What piled up goes on now, in order, each with a new delay. */
    for (struct sim_conn *conn = world->conns; conn && !blocked; conn = conn->next) {
        struct sim_pipe *pipe = &conn->pipe[direction];

        if (conn->client != client || conn->node != node)
            continue;
        pipe->stamp++;
        pipe->last_ns = 0;
        for (struct sim_segment *s = pipe->first; s; s = s->next) {
            s->at_ns = world->now_ns + draw_delay_ns(world, conn);
            if (s->at_ns < pipe->last_ns)
                s->at_ns = pipe->last_ns;
            pipe->last_ns = s->at_ns;
            sim_events_add(&world->events, s->at_ns, direction == SIM_UP ? run_up : run_down,
                           conn, pipe->stamp);
        }
    }
}

void sim_net_free(struct sim_world *world)
{
    while (world->conns) {
        struct sim_conn *conn = world->conns;

        world->conns = conn->next;
        drop_segments(&conn->pipe[SIM_UP]);
        drop_segments(&conn->pipe[SIM_DOWN]);
        fake_bytes_free(&conn->client_input);
        fake_bytes_free(&conn->node_input);
        free(conn);
    }
}
