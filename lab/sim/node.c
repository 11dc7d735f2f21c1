/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "core/answer.h"
#include "lab/sim/world.h"

#define US_NS 1000
#define EPOCH_NS (1700000000 * RL_NS_PER_S)
#define OLD_AGE_NS (100000 * RL_NS_PER_S)

static uint32_t count_listeners(const struct fake_server *server, const char *channel);

static void draw_id(struct sim_world *world, char *out)
{
    for (int i = 0; i < FAKE_ID_DIGITS; i++)
        out[i] = "0123456789abcdef"[sim_below(&world->rng, 16)];
    out[FAKE_ID_DIGITS] = '\0';
}

static int64_t wall_ns(const struct sim_world *world, const struct sim_node *node)
{
    return sim_clock_read(&node->clock, world->now_ns);
}

int64_t sim_node_now_ms(const struct sim_world *world, const struct sim_node *node)
{
    return wall_ns(world, node) / RL_NS_PER_MS;
}

void sim_node_name(const struct sim_node *node, char out[SIM_NODE_NAME_MAX])
{
    snprintf(out, SIM_NODE_NAME_MAX, "n%u", node->index + 1);
}

void sim_node_init(struct sim_world *world, uint8_t index)
{
    struct sim_node *node = &world->node[index];
    struct sim_rng *rng = &world->rng;
    int64_t rate_max = (int64_t)world->options.drift_ppm * 1000 * 49 / 100;

    node->index = node->vote = index;
    node->server.listeners = count_listeners;
    node->server.listeners_data = world;
    node->up = true;
    node->clock.offset_ns = EPOCH_NS + sim_between(rng, 0, world->options.skew_ns);
    node->clock.rate_ppb = sim_between(rng, -rate_max, rate_max);
    node->server.has_set_ifeq = sim_chance(rng, 300);
    node->server.has_delifeq = sim_chance(rng, 200);
    node->server.has_delex = sim_chance(rng, 200);
    draw_id(world, node->server.run_id);
    draw_id(world, node->server.replid);
    node->server.started_us = wall_ns(world, node) / US_NS;
    if (sim_chance(rng, world->options.young_permille))
        return;
    /* It has a past: a long uptime, or the marker of `redlock init`. */
    if (world->options.guard == RL_GUARD_DEFAULT && sim_chance(rng, 500))
        node->server.started_us -= OLD_AGE_NS / US_NS;
    else
        sim_node_vouch(world, node);
}

void sim_node_free(struct sim_node *node)
{
    fake_server_free(&node->server);
    fake_store_free(&node->snapshot);
}

void sim_node_vouch(struct sim_world *world, struct sim_node *node)
{
    struct fake_key *marker =
        fake_store_create(&node->server.store, rl_slice_of(RL_MARKER_KEY), FAKE_HASH);
    char text[2 * FAKE_ID_DIGITS + 2];

    snprintf(text, sizeof text, "%s:%s", node->server.run_id, node->server.replid);
    fake_item_set(fake_key_item(marker, rl_slice_of("id"), NULL), rl_slice_of(text));
    snprintf(text, sizeof text, "%" PRId64, world->options.max_ttl_ms);
    fake_item_set(fake_key_item(marker, rl_slice_of("max_ttl"), NULL), rl_slice_of(text));
}

static bool is_refused(const struct sim_world *world, const struct sim_node *node,
                       const struct fake_words *words)
{
    if (world->now_ns < node->hides_until_ns && rl_slice_equals(words->word[0], "HMGET"))
        return true;
    return world->now_ns < node->errors_until_ns &&
           (rl_slice_equals(words->word[0], "SET") || rl_slice_starts(words->word[0], "EVAL"));
}

/* No client will remove the keys of this request any more: only their TTL ends them. */
static void mark_keys(struct sim_node *node, const struct fake_words *words, bool strings_too)
{
    bool scripted = rl_slice_starts(words->word[0], "EVAL") && words->count > 2;
    int64_t count = 1;

    if (scripted)
        fake_read_number(words->word[2], &count);
    for (int64_t i = scripted ? 3 : 1; count-- > 0 && i < words->count; i++) {
        struct fake_key *key = fake_server_find(&node->server, words->word[i]);

        if (key && (strings_too || key->type != FAKE_STRING))
            key->stale = true;
    }
}

/* A release that the node refuses is not repeated: what it was about stays for its TTL. */
static void note_refusal(struct sim_node *node, const struct fake_words *words,
                         struct rl_slice reply)
{
    if (reply.data[0] == '-' && !rl_slice_starts(reply, "-NOSCRIPT"))
        mark_keys(node, words, true);
}

/* Sends what was published to every subscribed connection. */
static void deliver(struct sim_world *world, struct sim_node *node)
{
    struct fake_bytes bytes = {0};

    for (uint32_t i = 0; i < node->server.message_count; i++) {
        const struct fake_message *message = &node->server.message[i];

        for (struct sim_conn *conn = world->conns; conn; conn = conn->next) {
            if (conn->node != node || !conn->node_open ||
                strcmp(conn->channel, message->channel) != 0)
                continue;
            bytes.size = 0;
            fake_reply_array(&bytes, 3);
            fake_reply_text(&bytes, "message");
            fake_reply_text(&bytes, message->channel);
            fake_reply_text(&bytes, message->text);
            sim_net_send(world, conn, SIM_DOWN, bytes.data, bytes.size);
        }
    }
    node->server.message_count = 0;
    fake_bytes_free(&bytes);
}

static uint32_t count_listeners(const struct fake_server *server, const char *channel)
{
    const struct sim_world *world = server->listeners_data;
    uint32_t count = 0;

    for (const struct sim_conn *conn = world->conns; conn; conn = conn->next)
        count += &conn->node->server == server && conn->node_open &&
                 strcmp(conn->channel, channel) == 0;
    return count;
}

static void subscribe(struct sim_conn *conn, struct rl_slice channel, struct fake_bytes *out)
{
    fake_copy_text(conn->channel, sizeof conn->channel, channel);
    fake_reply_array(out, 3);
    fake_reply_text(out, "subscribe");
    fake_reply_bulk(out, channel);
    fake_reply_integer(out, 1);
}

static void execute(struct sim_world *world, struct sim_conn *conn,
                    const struct fake_words *words, struct fake_bytes *out)
{
    struct sim_node *node = conn->node;
    size_t before = out->size;

    node->server.now_us = wall_ns(world, node) / US_NS;
    /* A client that has closed the connection cannot send anything behind this any more. */
    node->server.store.writes_stale = !conn->client_open;
    if (node->is_elector)
        sim_elected_answer(world, node, words, out);
    else if (is_refused(world, node, words))
        fake_reply_error(out, "MISCONF Redis is configured to save RDB snapshots");
    else if (rl_slice_equals(words->word[0], "SUBSCRIBE") && !node->server.loading)
        subscribe(conn, words->word[1], out);
    else
        fake_server_execute(&node->server, words, out);
    /* A hold that was added to those of others: nothing can travel behind it any more. */
    if (!conn->client_open)
        mark_keys(node, words, false);
    note_refusal(node, words, (struct rl_slice){out->data + before, out->size - before});
    if (world->trace)
        sim_trace_command(world, conn, words, out->data + before, out->size - before);
    if (node->server.store.changed) {
        node->server.store.changed = false;
        sim_oracle_store(world, node);
    }
    sim_oracle_executed(world, conn, words,
                        (struct rl_slice){out->data + before, out->size - before});
    deliver(world, node);
}

static void process(struct sim_world *world, struct sim_conn *conn)
{
    struct fake_bytes *input = &conn->node_input;
    struct fake_bytes out = {0};
    struct fake_words words;
    size_t at = 0;
    long taken = 0;

    while (at < input->size &&
           (taken = fake_request_read(input->data + at, input->size - at, &words)) > 0) {
        execute(world, conn, &words, &out);
        at += (size_t)taken;
    }
    fake_bytes_take(input, at);
    conn->told_size += out.size;
    if (out.size > 0)
        sim_net_send(world, conn, SIM_DOWN, out.data, out.size);
    fake_bytes_free(&out);
    if (taken < 0)
        sim_fail(world, "protocol", "n%u got bytes that are no request", conn->node->index + 1);
}

void sim_node_received(struct sim_world *world, struct sim_conn *conn)
{
    if (!conn->node->paused)
        process(world, conn);
}

void sim_node_hangup(struct sim_world *world, struct sim_conn *conn)
{
    (void)world;
    conn->node_ended = true;
    if (conn->node->paused)
        return;
    conn->node_open = conn->node_ended = false;
}

void sim_node_pause(struct sim_world *world, struct sim_node *node)
{
    node->paused = true;
    sim_trace(world, "*** n%u hangs", node->index + 1);
}

void sim_node_resume(struct sim_world *world, struct sim_node *node)
{
    if (!node->paused)
        return;
    node->paused = false;
    sim_trace(world, "*** n%u goes on", node->index + 1);
    for (struct sim_conn *conn = world->conns; conn; conn = conn->next) {
        if (conn->node != node || !conn->node_open)
            continue;
        process(world, conn);
        if (conn->node_ended)
            conn->node_open = conn->node_ended = false;
    }
}

void sim_node_crash(struct sim_world *world, struct sim_node *node)
{
    node->up = node->paused = false;
    sim_trace(world, "*** n%u crashes", node->index + 1);
    for (struct sim_conn *conn = world->conns; conn; conn = conn->next) {
        if (conn->node != node || !conn->node_open)
            continue;
        /* A reset may overtake what was sent before it. */
        if (sim_chance(&world->rng, 300))
            sim_net_lose(conn, SIM_DOWN);
        sim_net_node_closes(world, conn);
    }
}

/* No client will remove keys that come back from a disk: only their TTL ends them. */
static void mark_stale(struct fake_store *store)
{
    for (uint32_t i = 0; i < store->count; i++)
        store->key[i].stale = true;
}

static void recall(struct sim_world *world, struct sim_node *node, enum sim_memory memory)
{
    if (memory == SIM_MEMORY_NONE)
        fake_store_clear(&node->server.store);
    else if (memory == SIM_MEMORY_SNAPSHOT)
        fake_store_copy(&node->server.store, &node->snapshot);
    if (memory != SIM_MEMORY_ALL)
        node->forgot_ns = world->now_ns;
    mark_stale(&node->server.store);
    node->server.store.changed = false;
}

static const char *memory_text(enum sim_memory memory)
{
    return memory == SIM_MEMORY_ALL        ? "with all its memory"
           : memory == SIM_MEMORY_SNAPSHOT ? "with an old snapshot"
                                           : "without memory";
}

static void begin_anew(struct sim_world *world, struct sim_node *node, enum sim_memory memory)
{
    /* An elector keeps its file, and with it its id and its view. */
    if (node->is_elector)
        return;
    recall(world, node, memory);
    draw_id(world, node->server.run_id);
    draw_id(world, node->server.replid);
    node->server.replid2[0] = '\0';
    node->server.scripts = 0;
    node->server.replica = node->server.loading = false;
    node->server.started_us = wall_ns(world, node) / US_NS;
}

static bool is_promoted(struct sim_world *world)
{
    return world->options.promoted_permille &&
           sim_chance(&world->rng, world->options.promoted_permille);
}

void sim_node_start(struct sim_world *world, struct sim_node *node, enum sim_memory memory)
{
    node->up = true;
    begin_anew(world, node, memory);
    sim_trace(world, "*** n%u starts %s", node->index + 1, memory_text(memory));
    if (is_promoted(world)) {
        /* Another server, which was up all the time and had what had reached it. */
        draw_id(world, node->server.replid2);
        node->server.started_us -= OLD_AGE_NS / US_NS;
    }
    if (world->options.elected_count)
        sim_elected_started(world, node);
    if (memory != SIM_MEMORY_ALL)
        sim_elected_forgot(world, node);
}

void sim_node_replace(struct sim_world *world, struct sim_node *node, enum sim_memory memory)
{
    begin_anew(world, node, memory);
    /* Subscriptions end: the subscribers stay connected to the proxy, and get no messages. */
    for (struct sim_conn *conn = world->conns; conn; conn = conn->next)
        if (conn->node == node)
            conn->channel[0] = '\0';
    sim_trace(world, "*** n%u restarts behind its proxy %s", node->index + 1,
              memory_text(memory));
}

void sim_node_snapshot(struct sim_node *node)
{
    fake_store_copy(&node->snapshot, &node->server.store);
}

void sim_node_demote(struct sim_world *world, struct sim_node *node)
{
    node->server.replica = true;
    sim_trace(world, "*** n%u becomes a replica", node->index + 1);
}

void sim_node_promote(struct sim_world *world, struct sim_node *node, enum sim_memory memory)
{
    recall(world, node, memory);
    draw_id(world, node->server.replid);
    node->server.replica = false;
    sim_trace(world, "*** n%u becomes a master again %s", node->index + 1, memory_text(memory));
}
