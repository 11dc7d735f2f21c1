/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Leases: answers are true. No two holders of leases that exclude each other believe in one
 * name at one true instant, each by the deadlines that answers gave it. Where nodes keep what
 * they have, a majority has the value that a holder believes in, as its kind, for as long. And
 * a tag is granted once: not again while it is held, even where many may hold.
 */
#include <string.h>

#include "lab/sim/world.h"

static bool believes(const struct sim_world *world, const struct sim_lease *lease)
{
    return lease->believed_ns > world->now_ns;
}

static enum fake_type type_of(uint8_t kind)
{
    const char *type = rl_kinds[kind].key_type;

    return strcmp(type, "string") == 0 ? FAKE_STRING
           : strcmp(type, "zset") == 0 ? FAKE_ZSET
                                       : FAKE_HASH;
}

bool sim_has_hold(struct sim_world *world, struct sim_node *node, const char *wanted,
                  enum fake_type *type)
{
    int64_t now_ms = sim_node_now_ms(world, node);

    for (uint32_t k = 0; k < node->server.store.count; k++) {
        const struct fake_key *key = &node->server.store.key[k];

        for (uint32_t i = 0; key->expire_ms > now_ms && i < key->item_count; i++) {
            int64_t ends_ms = 0;
            const char *value = sim_read_hold(key, &key->item[i], &ends_ms);

            if (!value || ends_ms <= now_ms || strcmp(value, wanted) != 0)
                continue;
            if (type)
                *type = key->type;
            return true;
        }
    }
    return false;
}

/* Has the node this value, as the kind that it is? */
static bool carries(struct sim_world *world, struct sim_node *node,
                    const struct sim_lease *lease)
{
    enum fake_type type;

    if (!sim_has_hold(world, node, lease->grant.value, &type))
        return false;
    if (type != type_of(lease->grant.hold.kind))
        sim_fail(world, "answers are true", "n%u has lease %s as another kind", node->index + 1,
                 lease->grant.tag);
    return true;
}

static void check_kept(struct sim_world *world, const struct sim_lease *lease)
{
    uint8_t count = 0;

    for (uint8_t i = 0; i < world->options.node_count; i++)
        count += carries(world, &world->node[i], lease);
    if (count <= world->options.node_count / 2)
        sim_fail(world, "answers are true", "lease %s believes, and is on %u of %u nodes",
                 lease->grant.tag, count, world->options.node_count);
}

void sim_lease_observe(struct sim_world *world)
{
    uint8_t count = world->options.lease_count;

    for (uint8_t i = 0; i < count; i++) {
        const struct sim_lease *lease = &world->lease[i];

        if (!believes(world, lease))
            continue;
        for (uint8_t j = 0; j < i; j++)
            if (believes(world, &world->lease[j]) &&
                !sim_is_compatible(&lease->grant.hold, &world->lease[j].grant.hold))
                sim_fail(world, "one holder", "leases %s and %s believe in one lock",
                         lease->grant.tag, world->lease[j].grant.tag);
        if (sim_promises_memory(&world->options))
            check_kept(world, lease);
    }
}

/* What the replica of this worker remembers of it, if it is one of the last two. */
static uint32_t *spent_of(struct sim_worker *worker)
{
    struct sim_lease *lease = worker->lease;
    uint32_t number = worker->exchange.grant.number;
    struct sim_grant *grant = lease->grant.number == number ? &lease->grant
                              : lease->old.number == number ? &lease->old
                                                            : NULL;

    return grant ? &grant->spent[worker->client->index] : NULL;
}

void sim_lease_spent(struct sim_worker *worker)
{
    uint32_t *spent = spent_of(worker);

    if (spent)
        *spent = worker->client->life + 1u;
}

void sim_lease_granted(struct sim_world *world, struct sim_worker *worker)
{
    const struct sim_lease *lease = worker->lease;
    uint32_t *spent = spent_of(worker);

    if (worker->lease_number == lease->number && !lease->ended &&
        lease->held_ns > world->now_ns)
        sim_fail(world, "a tag is granted once", "c%u.%u is granted %s again",
                 worker->client->index + 1, worker->index + 1, lease->grant.tag);
    if (spent && *spent == worker->client->life + 1u)
        sim_fail(world, "a tag is granted once", "c%u.%u is granted %s, which was spent there",
                 worker->client->index + 1, worker->index + 1, worker->exchange.grant.tag);
    sim_lease_spent(worker);
}

static bool does(const struct lease_actions *actions, enum lease_action_type type)
{
    for (unsigned i = 0; i < actions->count; i++)
        if (actions->list[i].type == type)
            return true;
    return false;
}

/*
 * No lock is kept without a client: a wait ends with its client; a grant of which no byte was
 * sent, and a local stream that its client closed, are released; and a stream is not renewed
 * for a client that acknowledges nothing.
 */
void sim_lease_check(struct sim_world *world, const struct sim_worker *worker,
                     const struct lease *before, const struct lease_event *event,
                     const struct lease_actions *actions)
{
    enum lease_state state = worker->exchange.rules.state;
    bool is_closed =
        (event->type == LEASE_GONE || event->type == LEASE_CUT) && !event->is_older;
    bool is_first = before->state == LEASE_STREAMING && !before->has_returned;
    bool is_unknown = before->state == LEASE_ANSWERED || (is_first && !event->was_sent);
    bool is_left_alone = is_unknown || (is_first && before->is_local && !before->leaves &&
                                        event->type == LEASE_GONE);
    const char *what = NULL;

    if (event->type == LEASE_ACQUIRED && !event->may &&
        (state == LEASE_ANSWERED || state == LEASE_STREAMING))
        what = "is granted without a right";
    else if (event->is_older && state != before->state)
        what = "goes by the connection of a request whose wait was taken over";
    else if (is_closed && before->state == LEASE_WAITING && state == LEASE_WAITING)
        what = "waits for a client that is gone";
    else if (is_closed && is_left_alone && state != LEASE_UNDONE)
        what = "keeps a lock that no client has";
    else if (before->state == LEASE_STREAMING && !before->is_local && !event->is_seen &&
             (event->type == LEASE_TICK || event->type == LEASE_DRAIN) &&
             does(actions, LEASE_EXTEND))
        what = "renews for a client that is not seen to live";
    else if (before->state == LEASE_STREAMING && !event->may &&
             (event->type == LEASE_TICK || event->type == LEASE_DRAIN) &&
             does(actions, LEASE_EXTEND))
        what = "renews without a right";
    if (what)
        sim_fail(world, "for a client", "c%u.%u %s", worker->client->index + 1,
                 worker->index + 1, what);
}
