/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/elected.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "core/electors.h"
#include "lab/sim/faults.h"
#include "lab/sim/sets.h"
#include "lab/sim/world.h"

#define PORT "6379"

struct sim_node *sim_elected_elector(struct sim_world *world, uint8_t k)
{
    const struct sim_options *o = &world->options;

    return &world->node[sim_server_count(o) - o->elector_count + k % o->elector_count];
}

static struct sim_group *group_of(struct sim_world *world, const struct sim_node *node)
{
    return node->is_elector || node->vote >= world->options.elected_count
               ? NULL
               : &world->group[node->vote];
}

static void write_owner(uint8_t server, char *out, size_t size)
{
    snprintf(out, size, "10.0.0.%u:" PORT, server + 1u);
}

struct sim_node *sim_elected_find(struct sim_world *world, const char *owner)
{
    return &world->node[strtoul(owner + sizeof "10.0.0." - 1, NULL, 10) - 1];
}

static void answer_master(struct sim_world *world, const struct sim_node *elector,
                          struct rl_slice name, struct fake_bytes *out)
{
    uint8_t vote = (uint8_t)(name.size > 1 ? name.data[1] - '1' : 0);
    const struct sim_view *view = &world->group[vote].view[elector->elector];
    char ip[24];
    char epoch[24];

    snprintf(ip, sizeof ip, "10.0.0.%u", view->server + 1u);
    snprintf(epoch, sizeof epoch, "%" PRIu64, view->epoch);
    fake_reply_array(out, 8);
    fake_reply_text(out, "name");
    fake_reply_bulk(out, name);
    fake_reply_text(out, "ip");
    fake_reply_text(out, ip);
    fake_reply_text(out, "port");
    fake_reply_text(out, PORT);
    fake_reply_text(out, "config-epoch");
    fake_reply_text(out, epoch);
}

void sim_elected_answer(struct sim_world *world, struct sim_node *elector,
                        const struct fake_words *words, struct fake_bytes *out)
{
    if (!rl_slice_equals(words->word[0], "SENTINEL"))
        fake_reply_status(out, "OK");
    else if (words->count == 2 && rl_slice_equals(words->word[1], "MYID"))
        fake_reply_text(out, elector->server.run_id);
    else if (words->count == 3 && rl_slice_equals(words->word[1], "MASTER"))
        answer_master(world, elector, words->word[2], out);
    else
        fake_reply_error(out, "ERR unknown subcommand");
}

/* What an event brings an elector: its stamp has the group, the elector, server and epoch. */
#define REPORT(vote, elector, server, epoch)                                                   \
    ((uint64_t)(vote) << 56 | (uint64_t)(elector) << 48 | (uint64_t)(server) << 40 | (epoch))

/* An elector only moves up (X2'). */
static void spread(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_view *view = &world->group[stamp >> 56].view[stamp >> 48 & 0xff];
    uint64_t epoch = stamp & 0xffffffffff;
    struct sim_left *left;

    (void)subject;
    if (epoch <= view->epoch || world->calm)
        return;
    left = world->group[stamp >> 56].left[stamp >> 48 & 0xff];
    memmove(left + 1, left, (SIM_LEFT_MAX - 1) * sizeof *left);
    left[0] = (struct sim_left){view->epoch, world->now_ns};
    *view = (struct sim_view){epoch, (uint8_t)(stamp >> 40 & 0xff)};
    sim_trace(world, "elector %u: group %u is n%u, epoch %" PRIu64,
              (unsigned)(stamp >> 48 & 0xff) + 1, (unsigned)(stamp >> 56) + 1, view->server + 1,
              epoch);
}

static void follow(struct sim_world *world, struct sim_node *node, uint8_t leader)
{
    node->server.replica = true;
    node->follows = (uint8_t)(leader + 1);
    sim_trace(world, "*** n%u becomes a replica of n%u", node->index + 1, leader + 1u);
}

static void catch_up_with(struct sim_node *node, const struct sim_node *master)
{
    fake_store_copy(&node->server.store, &master->server.store);
    for (uint32_t i = 0; i < node->server.store.count; i++)
        node->server.store.key[i].stale = true;
    node->server.store.changed = false;
    memcpy(node->server.replid, master->server.replid, sizeof node->server.replid);
}

/* What its master has at this moment; what it had in between is never seen. */
static void catch_up(struct sim_world *world, struct sim_node *node)
{
    struct sim_node *master = node->follows ? &world->node[node->follows - 1] : NULL;

    if (node->server.replica && master && master != node && node->up && !node->paused &&
        master->up && !master->paused && world->now_ns >= node->lags_until_ns)
        catch_up_with(node, master);
}

static void synced(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_node *node = subject;

    (void)stamp;
    catch_up(world, node);
    sim_fault_later(world, sim_spread(&world->rng, 2, 400) * RL_NS_PER_MS, synced, node, 0);
}

/* CLIENT KILL, as Sentinel has it; servers of other makes only refuse to write. */
static void close_all(struct sim_world *world, struct sim_node *node)
{
    for (struct sim_conn *conn = world->conns; conn; conn = conn->next)
        if (conn->node == node && conn->node_open)
            sim_net_node_closes(world, conn);
}

static void demoted(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_node *node = subject;
    struct sim_group *group = group_of(world, node);

    if (world->calm || stamp != node->demotion_stamp || group->leader == node->index)
        return;
    if (!node->up || node->paused) {
        sim_fault_later(world, RL_NS_PER_S, demoted, node, stamp);
        return;
    }
    follow(world, node, group->leader);
    if (sim_chance(&world->rng, 600))
        close_all(world, node);
}

/* It goes on as the master that it was, with all that waits in its buffers. */
static void resumed(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_node *node = subject;

    if (!world->calm && stamp == node->demotion_stamp)
        sim_node_resume(world, node);
}

static void demote_later(struct sim_world *world, struct sim_node *node)
{
    int64_t length_ns = sim_fault_length_ns(world, 20, 25000);

    if (world->options.is_slow)
        length_ns = sim_between(&world->rng, 1000, 40000) * RL_NS_PER_MS;
    /* Gentle: not before all know it from its electors. */
    if (world->options.is_gentle)
        length_ns = sim_between(&world->rng, 8000, 12000) * RL_NS_PER_MS;
    if (world->options.swings)
        length_ns = sim_between(&world->rng, 20, 300) * RL_NS_PER_MS;
    if (world->options.relapses)
        length_ns = sim_between(&world->rng, 300, 3000) * RL_NS_PER_MS;

    ++node->demotion_stamp;
    if (world->options.is_gentle)
        sim_fault_later(world, length_ns / 2, resumed, node, node->demotion_stamp);
    sim_fault_later(world, length_ns, demoted, node, node->demotion_stamp);
}

void sim_elected_started(struct sim_world *world, struct sim_node *node)
{
    struct sim_group *group = group_of(world, node);

    if (!group || group->leader == node->index)
        return;
    /* As its own master for a while, or put right at once. */
    if (sim_chance(&world->rng, 400))
        demote_later(world, node);
    else
        follow(world, node, group->leader);
}

static struct fake_item *field(struct fake_key *marker, const char *name)
{
    return fake_key_item(marker, rl_slice_of(name), NULL);
}

static void write_marker(struct sim_world *world, struct sim_node *node, bool admits)
{
    struct sim_group *group = group_of(world, node);
    struct fake_key *marker = fake_store_find(&node->server.store, rl_slice_of(RL_MARKER_KEY),
                                              sim_node_now_ms(world, node));
    struct rl_electors electors = {.count = world->options.elector_count};
    char text[RL_ELECTOR_LIST_MAX];
    char owner[32];
    int size;

    if (!marker)
        marker = fake_store_create(&node->server.store, rl_slice_of(RL_MARKER_KEY), FAKE_HASH);
    sim_sets_write(world, node, 0);
    snprintf(text, sizeof text, "%" PRId64, world->options.max_ttl_ms);
    fake_item_set(field(marker, "max_ttl"), rl_slice_of(text));
    if (group) {
        for (uint8_t i = 0; i < electors.count; i++)
            memcpy(electors.elector[i].id, sim_elected_elector(world, i)->server.run_id,
                   sizeof electors.elector[i].id);
        rl_electors_write_list(&electors, text);
        fake_item_set(field(marker, "electors"), rl_slice_of(text));
    }
    if (!admits)
        return;
    size = snprintf(text, sizeof text, "%s:%s", node->server.run_id, node->server.replid);
    if (group) {
        write_owner(group->leader, owner, sizeof owner);
        snprintf(text + size, sizeof text - (size_t)size, " %" PRIu64 "@%s", group->epoch,
                 owner);
    }
    fake_item_set(field(marker, "id"), rl_slice_of(text));
}

static void restored(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_node *node = subject;

    (void)stamp;
    if (!world->calm && node->up && !node->paused && !node->server.replica)
        write_marker(world, node, false);
}

void sim_elected_forgot(struct sim_world *world, struct sim_node *node)
{
    if (world->options.elected_count && !node->is_elector)
        sim_fault_later(world, sim_fault_length_ns(world, 100, 2000), restored, node, 0);
}

static struct sim_group *draw_group(struct sim_world *world)
{
    return &world->group[sim_below(&world->rng, world->options.elected_count)];
}

/*
 * Any server: a replica as it happens to be, the master once more, or an old master that has
 * not been demoted and wins back with its own memory.
 */
static struct sim_node *draw_winner(struct sim_world *world, const struct sim_group *group)
{
    const struct sim_options *o = &world->options;
    bool by_itself = sim_chance(&world->rng, 120) && !o->is_gentle;

    for (int tries = 0; tries < 8; tries++) {
        struct sim_node *node =
            &world->node[group->server[sim_below(&world->rng, o->group_size)]];

        if (!node->up || node->paused || (node->index == group->leader) != by_itself)
            continue;
        if (!o->is_gentle || node->server.replica)
            return node;
    }
    return NULL;
}

static void refollowed(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_node *node = subject;
    struct sim_group *group = group_of(world, node);

    (void)stamp;
    if (!world->calm && node->server.replica && group->leader != node->index)
        follow(world, node, group->leader);
}

static void inform_electors(struct sim_world *world, uint8_t vote)
{
    struct sim_group *group = &world->group[vote];
    bool is_slow = sim_chance(&world->rng, 300);
    bool is_alone = world->options.is_slow && sim_chance(&world->rng, 250); /* who knows it */
    uint64_t last =
        sim_chance(&world->rng, 500) ? 0 : sim_below(&world->rng, world->options.elector_count);

    for (uint8_t i = 0; i < world->options.elector_count; i++) {
        int64_t delay_ms = sim_spread(&world->rng, 1, is_slow ? 6000 : 1000);

        if (is_alone)
            delay_ms = i == last ? 1 : sim_between(&world->rng, 5000, 25000);
        else if (world->options.is_slow && i == last)
            delay_ms = sim_between(&world->rng, 0, 30000);
        else if (!world->options.is_gentle && sim_chance(&world->rng, 250))
            delay_ms = sim_spread(&world->rng, 500, 15000);
        if (world->options.is_gentle)
            delay_ms %= 1000;
        if (world->options.relapses)
            delay_ms %= 100;
        if (world->options.swings)
            delay_ms = sim_between(&world->rng, 2000, 6000);
        sim_fault_later(world, delay_ms * RL_NS_PER_MS, spread, NULL,
                        REPORT(vote, i, group->leader, group->epoch));
    }
}

#define SPLIT_STAMP(client, node) ((uint64_t)(client) << 8 | (node))

static void healed(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_client *client = &world->client[stamp >> 8];
    struct sim_node *node = &world->node[stamp & 0xff];

    (void)subject;
    sim_net_block(world, client, node, SIM_UP, false);
    sim_net_block(world, client, node, SIM_DOWN, false);
}

/* No client reaches it for a while. */
static void hide(struct sim_world *world, struct sim_node *node)
{
    int64_t length_ns = sim_between(&world->rng, 1000, 4500) * RL_NS_PER_MS;

    for (uint8_t i = 0; i < world->options.client_count; i++) {
        sim_net_block(world, &world->client[i], node, SIM_UP, true);
        sim_net_block(world, &world->client[i], node, SIM_DOWN, true);
        sim_fault_later(world, length_ns, healed, NULL, SPLIT_STAMP(i, node->index));
    }
}

static void fail_over(struct sim_world *world, bool loses)
{
    struct sim_group *group = draw_group(world);
    struct sim_node *old = &world->node[group->leader];
    struct sim_node *node = draw_winner(world, group);
    uint8_t vote = (uint8_t)(group - world->group);

    if (!node || (world->options.is_gentle && world->now_ns < 3 * RL_NS_PER_S))
        return;
    if (world->options.is_gentle) {
        sim_node_pause(world, old);
        catch_up_with(node, old);
    }
    if (!loses && node->server.replica)
        catch_up_with(node, old);
    memmove(group->past + 1, group->past, sizeof group->past - sizeof group->past[0]);
    group->past[0] = (struct sim_view){group->epoch, group->leader};
    group->epoch += (uint64_t)sim_between(&world->rng, 1, 2);
    group->leader = node->index;
    sim_trace(world, "*** group %u: n%u is the master of epoch %" PRIu64 "%s", vote + 1u,
              node->index + 1, group->epoch, node->server.replica ? "" : ", undemoted");
    if (node->server.replica) {
        memcpy(node->server.replid2, node->server.replid, sizeof node->server.replid2);
        sim_node_promote(world, node, SIM_MEMORY_ALL);
        node->follows = 0;
    }
    node->demotion_stamp++;
    if (old != node)
        demote_later(world, old);
    for (uint8_t i = 0; i < world->options.group_size; i++) {
        struct sim_node *other = &world->node[group->server[i]];

        if (other != node && other->server.replica)
            sim_fault_later(world, sim_fault_length_ns(world, 1, 2000), refollowed, other, 0);
    }
    inform_electors(world, vote);
    if (world->options.skew_ns > RL_NS_PER_S)
        hide(world, node);
}

static void block_requests(struct sim_world *world, struct sim_client *client, bool blocked)
{
    for (uint8_t i = 0; i < sim_server_count(&world->options); i++)
        sim_net_block(world, client, &world->node[i], SIM_UP, blocked);
}

static void went_on(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_client *client = subject;

    if (stamp == client->fate_stamp)
        sim_client_resume(world, client);
}

/* All answers wait for it: those of the electors, and that of the old master. */
static void reached(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_client *client = subject;

    (void)stamp;
    if (!world->calm && client->alive && !client->paused) {
        sim_client_pause(world, client);
        sim_fault_later(world, sim_between(&world->rng, 20, 300) * RL_NS_PER_MS, went_on,
                        client, ++client->fate_stamp);
    }
    block_requests(world, client, false);
}

static void relapsed(struct sim_world *world, void *subject, uint64_t stamp)
{
    (void)stamp;
    if (!world->calm)
        fail_over(world, true);
    sim_fault_later(world, sim_between(&world->rng, 50, 200) * RL_NS_PER_MS, reached, subject,
                    0);
}

static void broken(struct sim_world *world, void *subject, uint64_t stamp)
{
    (void)stamp;
    if (!world->calm)
        sim_app_break(world, subject);
}

/* What the holder sends is on its way until the next term; no replica gets the eviction. */
static void cut_off(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_group *group = &world->group[0];
    struct sim_client *client = world->calm ? NULL : sim_app_find_holder(world);
    int64_t break_ms = sim_between(&world->rng, 1, 400);

    (void)subject;
    (void)stamp;
    if (!client)
        return;
    for (uint8_t i = 0; i < world->options.group_size; i++)
        world->node[group->server[i]].lags_until_ns = world->now_ns + 5 * RL_NS_PER_S;
    sim_trace(world, "*** requests of c%u take long", client->index + 1);
    block_requests(world, client, true);
    sim_fault_later(world, break_ms * RL_NS_PER_MS, broken, client, 0);
    sim_fault_later(world, (break_ms + sim_between(&world->rng, 100, 1000)) * RL_NS_PER_MS,
                    relapsed, client, 0);
}

static void swung_back(struct sim_world *world, void *subject, uint64_t stamp)
{
    (void)subject;
    (void)stamp;
    if (!world->calm)
        fail_over(world, true);
}

void sim_fault_failover(struct sim_world *world)
{
    bool relapses = world->options.relapses;

    fail_over(world, !relapses);
    if (relapses)
        sim_fault_later(world, sim_between(&world->rng, 500, 2500) * RL_NS_PER_MS, cut_off,
                        NULL, 0);
    if (world->options.swings)
        sim_fault_later(world, sim_between(&world->rng, 400, 1500) * RL_NS_PER_MS, swung_back,
                        NULL, 0);
}

/* Two sides: clients reach the servers and electors of their own, or all electors,
 * or all servers. */
void sim_fault_split(struct sim_world *world)
{
    bool is_skewed = world->options.skew_ns > RL_NS_PER_S;
    uint64_t client_sides = sim_rng_next(&world->rng);
    uint64_t node_sides = sim_rng_next(&world->rng);
    int64_t length_ns = sim_fault_length_ns(world, 200, world->options.is_slow ? 25000 : 8000);
    uint64_t spared = sim_below(&world->rng, is_skewed ? 2 : 3); /* 1: electors, 2: servers */

    sim_trace(world, "*** two sides for %lld ms", (long long)(length_ns / RL_NS_PER_MS));
    for (uint8_t i = 0; i < world->options.client_count; i++)
        for (uint8_t j = 0; j < sim_server_count(&world->options); j++) {
            struct sim_node *node = &world->node[j];

            /* Where times of day differ it is about the servers of the group alone. */
            if (is_skewed && !group_of(world, node))
                continue;
            if (((client_sides >> i ^ node_sides >> j) & 1) == 0 ||
                spared == (node->is_elector ? 1u : 2u))
                continue;
            sim_net_block(world, &world->client[i], node, SIM_UP, true);
            sim_net_block(world, &world->client[i], node, SIM_DOWN, true);
            sim_fault_later(world, length_ns, healed, NULL, SPLIT_STAMP(i, j));
        }
}

void sim_fault_lag(struct sim_world *world)
{
    struct sim_group *group = draw_group(world);
    struct sim_node *node =
        &world->node[group->server[sim_below(&world->rng, world->options.group_size)]];

    node->lags_until_ns = world->now_ns + sim_fault_length_ns(world, 50, 8000);
    sim_trace(world, "*** n%u gets nothing from its master", node->index + 1);
}

/* Its file was restored from a backup, or it was set by hand. */
void sim_fault_backwards(struct sim_world *world)
{
    struct sim_group *group = draw_group(world);
    uint64_t elector = sim_below(&world->rng, world->options.elector_count);
    const struct sim_view *past = &group->past[sim_below(&world->rng, 4)];

    if (past->epoch == 0)
        return;
    group->view[elector] = *past;
    sim_trace(world, "*** elector %u goes back to epoch %" PRIu64, (unsigned)elector + 1,
              past->epoch);
}

static void make_group(struct sim_world *world, uint8_t vote)
{
    const struct sim_options *o = &world->options;
    struct sim_group *group = &world->group[vote];

    group->epoch = 1;
    group->leader = vote;
    for (uint8_t i = 0; i < o->elector_count; i++)
        group->view[i] = (struct sim_view){1, vote};
    group->server[0] = vote;
    for (uint8_t i = 1; i < o->group_size; i++) {
        struct sim_node *node =
            &world->node[o->node_count + vote * (o->group_size - 1) + i - 1];

        group->server[i] = node->index;
        node->vote = vote;
        fake_store_clear(&node->server.store);
        follow(world, node, vote);
    }
}

void sim_elected_begin(struct sim_world *world)
{
    const struct sim_options *o = &world->options;

    for (uint8_t i = 0; i < o->elector_count; i++) {
        struct sim_node *node = sim_elected_elector(world, i);

        node->is_elector = true;
        node->elector = i;
        node->vote = SIM_SERVERS_MAX - 1;
        fake_store_clear(&node->server.store);
    }
    for (uint8_t i = 0; i < o->elected_count; i++)
        make_group(world, i);
    for (uint8_t i = 0; i < o->node_count; i++)
        write_marker(world, &world->node[i], true);
    for (uint8_t i = 0; i < sim_server_count(o); i++)
        if (!world->node[i].is_elector && world->node[i].vote < o->elected_count)
            sim_fault_later(world, RL_NS_PER_MS, synced, &world->node[i], 0);
}

void sim_elected_end(struct sim_world *world)
{
    const struct sim_options *o = &world->options;

    for (uint8_t i = 0; i < o->elected_count; i++) {
        struct sim_group *group = &world->group[i];

        for (uint8_t k = 0; k < o->elector_count; k++)
            group->view[k] = (struct sim_view){group->epoch, group->leader};
        for (uint8_t k = 0; k < o->group_size; k++) {
            struct sim_node *node = &world->node[group->server[k]];

            node->lags_until_ns = 0;
            if (node->index == group->leader || node->server.replica)
                continue;
            follow(world, node, group->leader);
            close_all(world, node);
        }
        for (uint8_t k = 0; k < o->group_size; k++)
            if (group->server[k] != group->leader)
                world->node[group->server[k]].follows = (uint8_t)(group->leader + 1);
    }
    for (uint8_t i = 0; i < o->node_count; i++)
        write_marker(world,
                     i < o->elected_count ? &world->node[world->group[i].leader]
                                          : &world->node[i],
                     false);
}
