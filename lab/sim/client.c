/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "core/rules.h"
#include "engine/receive.h"
#include "engine/send.h"
#include "lab/sim/sets.h"
#include "lab/sim/world.h"
#include "protocol/value.h"

int64_t sim_client_now_ns(const struct sim_world *world, const struct sim_client *client)
{
    int64_t now_ns = sim_clock_read(&client->clock, world->now_ns);

    return RL_RULE(STEADY_CLOCK) ? now_ns : now_ns + client->wall_step_ns;
}

int64_t sim_client_when_ns(const struct sim_client *client, int64_t local_ns)
{
    if (local_ns == INT64_MAX)
        return INT64_MAX;
    return sim_clock_when(&client->clock,
                          RL_RULE(STEADY_CLOCK) ? local_ns : local_ns - client->wall_step_ns);
}

static void peer_fail(struct sim_world *world, struct sim_client *client, struct sim_peer *peer,
                      enum redlock_vote vote, const char *text)
{
    int64_t now_ns = sim_client_now_ns(world, client);
    char kept[REDLOCK_TEXT_MAX];

    /* The text may be the session's own. */
    strncpy(kept, text, sizeof kept - 1);
    kept[sizeof kept - 1] = '\0';
    sim_trace(world, "c%u n%u%s: %s", client->index + 1, peer->node->index + 1,
              peer->link.role == RL_LINK_SUBSCRIBER ? " (subscriber)" : "", kept);
    if (peer->conn)
        sim_net_client_closes(world, peer->conn);
    peer->conn = NULL;
    rl_link_failed(&peer->link, vote, REDLOCK_REASON_NONE, kept, now_ns);
}

/* To whom the electors of the node say; they may not have said it yet. */
static void peer_connect(struct sim_world *world, struct sim_client *client,
                         struct sim_peer *peer)
{
    const char *owner = rl_link_choose(&peer->link);

    if (!owner)
        return;
    if (owner[0])
        peer->node = sim_elected_find(world, owner);
    peer->conn = sim_net_connect(world, client, peer->node);
}

static void peer_tick(struct sim_world *world, struct sim_client *client, struct sim_peer *peer)
{
    int64_t now_ns = sim_client_now_ns(world, client);

    if (peer->link.state == RL_LINK_CONNECTING && !peer->conn)
        peer_connect(world, client, peer);
    if (now_ns < rl_link_due_ns(&peer->link))
        return;
    if (peer->link.state == RL_LINK_DOWN) {
        rl_link_connecting(&peer->link, now_ns);
        peer_connect(world, client, peer);
    } else {
        peer_fail(world, client, peer, REDLOCK_VOTE_SILENT,
                  peer->link.state == RL_LINK_UP ? "no answer, given up"
                                                 : "no connection in time");
    }
}

/* False: the session refused what came, and the connection is over. */
static bool peer_read(struct sim_world *world, struct sim_client *client, struct sim_peer *peer)
{
    struct rl_session *session = peer->link.session;
    struct fake_bytes *input = &peer->conn->client_input;

    while (input->size > 0) {
        int64_t now_ns = sim_client_now_ns(world, client);
        char *room;
        size_t size = rl_session_room(session, &room);

        if (size > input->size)
            size = input->size;
        memcpy(room, input->data, size);
        fake_bytes_take(input, size);
        peer->conn->read_size += size;
        if (rl_link_received(&peer->link, size, now_ns) < 0) {
            peer_fail(world, client, peer, session->failure, session->failure_text);
            return false;
        }
        if (world->options.elected_count)
            sim_elected_read(world, peer->conn);
    }
    return true;
}

/* What epoll would have reported. */
static void peer_ready(struct sim_world *world, struct sim_client *client,
                       struct sim_peer *peer)
{
    struct sim_conn *conn = peer->conn;

    if (!conn)
        return;
    if (conn->refused) {
        peer_fail(world, client, peer, REDLOCK_VOTE_REFUSED, "connection refused");
        return;
    }
    if (peer->link.state == RL_LINK_CONNECTING && conn->connected)
        rl_link_connected(&peer->link, sim_client_now_ns(world, client));
    if (peer->link.state != RL_LINK_UP)
        return;
    if (peer_read(world, client, peer) && conn->ended)
        peer_fail(world, client, peer, REDLOCK_VOTE_UNREACHABLE, "the connection broke");
}

static void peer_flush(struct sim_world *world, struct sim_client *client,
                       struct sim_peer *peer)
{
    struct rl_session *session = peer->link.session;
    const char *bytes;
    size_t size;

    if (peer->link.state != RL_LINK_UP)
        return;
    while ((size = rl_session_output(session, &bytes)) > 0) {
        sim_net_send(world, peer->conn, SIM_UP, bytes, size);
        rl_session_sent(session, size, sim_client_now_ns(world, client));
        client->sent = true;
    }
}

typedef void peer_fn(struct sim_world *world, struct sim_client *client, struct sim_peer *peer);

/* In the order of src/drive/iteration.c: a node's two connections one after the other. */
static void for_each_peer(struct sim_world *world, struct sim_client *client, peer_fn *run)
{
    for (uint8_t i = 0; i < client->elector_count; i++)
        run(world, client, &client->elector[i]);
    for (uint8_t i = 0; i < client->node_count; i++) {
        run(world, client, &client->peer[i]);
        run(world, client, &client->subscriber[i]);
    }
}

static void wake(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_client *client = subject;

    if (stamp == client->wake_stamp)
        sim_client_turn(world, client);
}

static void poked(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_client *client = subject;

    (void)stamp;
    client->poked = false;
    sim_client_turn(world, client);
}

static int64_t late_ns(struct sim_world *world)
{
    int64_t jitter_ns = world->options.turn_jitter_ns;

    return jitter_ns ? (int64_t)sim_below(&world->rng, (uint64_t)jitter_ns) : 0;
}

void sim_client_poke(struct sim_world *world, struct sim_client *client)
{
    if (client->poked)
        return;
    client->poked = true;
    sim_events_add(&world->events, world->now_ns + late_ns(world), poked, client, 0);
}

static void arm(struct sim_world *world, struct sim_client *client)
{
    int64_t next_ns = rl_engine_next_ns(client->engine);
    int64_t at_ns;

    for (uint8_t i = 0; i < client->node_count; i++) {
        int64_t peer_ns = rl_link_due_ns(&client->peer[i].link);
        int64_t subscriber_ns = rl_link_due_ns(&client->subscriber[i].link);

        if (peer_ns < next_ns)
            next_ns = peer_ns;
        if (subscriber_ns < next_ns)
            next_ns = subscriber_ns;
    }
    for (uint8_t i = 0; i < client->elector_count; i++) {
        int64_t elector_ns = rl_link_due_ns(&client->elector[i].link);

        if (elector_ns < next_ns)
            next_ns = elector_ns;
    }
    client->wake_stamp++;
    if (next_ns == RL_NEVER_NS)
        return;
    at_ns = sim_client_when_ns(client, next_ns);
    if (at_ns < world->now_ns)
        at_ns = world->now_ns;
    sim_events_add(&world->events, at_ns + late_ns(world), wake, client, client->wake_stamp);
}

void sim_client_turn(struct sim_world *world, struct sim_client *client)
{
    struct rl_handle *handle;
    int64_t now_ns;

    if (!client->alive || client->paused || world->failed)
        return;
    now_ns = sim_client_now_ns(world, client);
    /* Sockets before timers, as rl_iterate() has it. */
    for_each_peer(world, client, peer_ready);
    for_each_peer(world, client, peer_tick);
    rl_engine_tick(client->engine, now_ns);
    sim_oracle_observe(world, client);
    while ((handle = TAILQ_FIRST(&client->engine->ready)) != NULL) {
        rl_engine_remove_ready(client->engine, handle);
        sim_app_news(world, (struct sim_worker *)handle);
    }
    client->sent = false;
    for_each_peer(world, client, peer_flush);
    arm(world, client);
    sim_oracle_observe(world, client);
    if (client->sent && client->stops_next)
        sim_client_pause(world, client);
}

/*
 * A value names its client and process, for the reader of a trace and for the oracles. Not with
 * leases: there its first digits distinguish two requests of one client and tag.
 */
static int draw_secret(void *data, void *bytes, size_t size)
{
    struct sim_client *client = data;
    uint8_t *value = bytes;

    sim_rng_fill(&client->rng, bytes, size);
    if (size == RL_VALUE_RANDOM_BYTES && client->signs_values) {
        value[0] = (uint8_t)(client->index + 1);
        value[1] = (uint8_t)(client->life >> 8);
        value[2] = (uint8_t)client->life;
    }
    return 0;
}

static uint32_t draw_number(void *data)
{
    struct sim_client *client = data;
    uint32_t number;

    sim_rng_fill(&client->rng, &number, sizeof number);
    return number;
}

/* It decides nothing: any time will do. */
static int64_t read_wall_ms(void *data)
{
    return ((struct sim_client *)data)->wall_step_ns / RL_NS_PER_MS + 1;
}

static void set_policy(struct rl_engine *engine, const struct sim_options *o,
                       uint8_t node_count)
{
    engine->max_ttl_ns = o->max_ttl_ms * RL_NS_PER_MS;
    engine->guard_mode = o->guard;
    engine->stall_ns = rl_link_stall_ns(o->node_timeout_ns);
    engine->policy = (struct rl_policy){
        .node_count = node_count,
        .quorum = rl_quorum(node_count),
        .all_nodes = rl_all_nodes(node_count),
        .drift_ppm = o->drift_ppm,
        .node_timeout_ns = o->node_timeout_ns,
        .retry_min_ns = o->retry_min_ns,
        .retry_max_ns = o->retry_max_ns < o->retry_min_ns ? o->retry_min_ns : o->retry_max_ns,
    };
}

/* Every other client may have one more than there are: two addresses of one elector. */
static void make_electors(struct sim_world *world, struct sim_client *client, uint8_t node)
{
    const struct sim_options *o = &world->options;
    struct rl_elected *elected = fake_alloc(sizeof *elected);
    bool twice = o->names_elector_twice && client->index % 2 == 0;
    uint8_t count = (uint8_t)(o->elector_count + twice);

    elected->electors.count = count;
    elected->login.client_name = "redlock";
    elected->login.group = (const char *[]){"g1", "g2", "g3"}[node];
    for (uint8_t i = 0; i < count; i++) {
        struct sim_peer *peer = &client->elector[client->elector_count++];

        *peer = client->peer[node];
        peer->node = sim_elected_elector(world, i);
        peer->link.role = RL_LINK_ELECTOR;
        peer->link.elector = i;
        sim_node_name(peer->node, elected->address[i]);
    }
    client->engine->node[node].elected = elected;
}

void sim_client_start(struct sim_world *world, struct sim_client *client)
{
    const struct sim_options *o = &world->options;
    int64_t rate_max = (int64_t)o->drift_ppm * 1000 * 49 / 100;

    client->life++;
    client->alive = true;
    client->signs_values = o->lease_count == 0;
    client->node_count = sim_client_node_count(world, client);
    client->elector_count = 0;
    memset(client->tenure, 0, sizeof client->tenure);
    client->paused = client->poked = client->stops_next = false;
    client->paused_ns = client->resumed_ns = client->wall_step_ns = 0;
    sim_rng_seed(&client->rng, sim_rng_next(&world->rng));
    client->clock.offset_ns = sim_between(&world->rng, 1, 1000000) * RL_NS_PER_S;
    client->clock.rate_ppb = sim_between(&world->rng, -rate_max, rate_max);
    client->clock.step_ns = 0;
    client->engine = fake_alloc(sizeof *client->engine);
    set_policy(client->engine, o, client->node_count);
    /* The owner of every second client wants to know how its nodes are. */
    client->engine->watches_idle = client->index % 2 != 0;
    client->engine->random = draw_number;
    client->engine->secret = draw_secret;
    client->engine->wall_ms = read_wall_ms;
    client->engine->random_data = client;
    for (uint8_t i = 0; i < client->node_count; i++) {
        client->engine->node[i].login = (struct rl_login){
            .client_name = "redlock",
            .database = sim_chance(&world->rng, 100) ? 1 : 0,
            .password = sim_chance(&world->rng, 100) ? "secret" : NULL,
            .probe_native = true,
        };
        client->peer[i] = (struct sim_peer){
            .node = sim_client_node(world, client, i),
            .link = {.engine = client->engine,
                     .node = i,
                     .connect_timeout_ns = RL_CONNECT_TIMEOUT_MS * RL_NS_PER_MS},
        };
        sim_node_name(client->peer[i].node, client->engine->node[i].address);
        client->subscriber[i] = client->peer[i];
        client->subscriber[i].link.role = RL_LINK_SUBSCRIBER;
        if (i < o->elected_count)
            make_electors(world, client, i);
    }
    if (rl_engine_init(client->engine) < 0)
        abort();
    sim_trace(world, "c%u starts, life %u", client->index + 1, client->life);
    for (uint8_t i = 0; i < o->worker_count; i++)
        sim_app_begin(world, &client->worker[i], client, i);
    sim_client_turn(world, client);
}

static void peer_crash(struct sim_world *world, struct sim_client *client,
                       struct sim_peer *peer)
{
    struct sim_conn *conn = peer->conn;

    if (conn && client->crashes_silently)
        conn->client_open = false;
    else if (conn)
        sim_net_client_closes(world, conn);
    peer->conn = NULL;
}

void sim_client_crash(struct sim_world *world, struct sim_client *client)
{
    bool silent = sim_chance(&world->rng, 200); /* the whole machine went */

    sim_trace(world, "*** c%u dies", client->index + 1);
    sim_mutex_death(world, client);
    client->crashes_silently = silent;
    for_each_peer(world, client, peer_crash);
    for (uint8_t i = 0; i < world->options.worker_count; i++)
        sim_app_end(world, &client->worker[i]);
    rl_engine_free(client->engine);
    free(client->engine);
    client->engine = NULL;
    client->alive = client->paused = false;
    client->wake_stamp++;
}

void sim_client_pause(struct sim_world *world, struct sim_client *client)
{
    sim_trace(world, "*** c%u stops", client->index + 1);
    client->paused = true;
    client->stops_next = false;
    client->paused_ns = sim_client_now_ns(world, client);
    client->resumed_ns = INT64_MAX;
}

void sim_client_resume(struct sim_world *world, struct sim_client *client)
{
    client->stops_next = false;
    if (!client->alive || !client->paused)
        return;
    sim_trace(world, "*** c%u goes on", client->index + 1);
    client->paused = false;
    client->resumed_ns = sim_client_now_ns(world, client);
    sim_client_turn(world, client);
    for (uint8_t i = 0; i < world->options.worker_count; i++)
        sim_app_resume(world, &client->worker[i]);
}

bool sim_client_is_quiet(const struct sim_client *client)
{
    for (uint8_t i = 0; i < client->node_count; i++) {
        const struct rl_session *session = &client->engine->node[i].session;

        if (session->state != RL_SESSION_UP || session->pending.count > 0)
            return false;
    }
    return true;
}
