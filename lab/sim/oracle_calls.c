/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What callers are promised: every operation ends once and in time, no grant is late or already
 * over, and a loss is reported before the validity ends, as long as the process runs.
 */
#include "base/time.h"
#include "core/kind.h"
#include "lab/sim/world.h"

/* Nothing takes longer than this on top of the per-node deadlines: connecting, twice. */
#define OPERATION_NS (3000 * RL_NS_PER_MS)
#define NODE_TIMEOUTS 5

/* How much before the end a loss is reported, at most (src/core/hold.c). */
#define LOSS_LEAD_NS (50 * RL_NS_PER_MS)

/* Was the process stopped for part of this time, by its own clock? */
static bool slept(const struct sim_client *client, int64_t from_ns, int64_t to_ns)
{
    return client->paused_ns && client->paused_ns <= to_ns && client->resumed_ns >= from_ns;
}

static void complain(struct sim_world *world, const struct sim_worker *worker,
                     const char *oracle, const char *what)
{
    sim_fail(world, oracle, "c%u.%u %s: %s", worker->client->index + 1, worker->index + 1,
             worker->label, what);
}

/* The end of a hold has come: its owner must know of it. */
static void hold_ends(struct sim_world *world, void *subject, uint64_t stamp)
{
    struct sim_worker *worker = subject;
    const struct rl_lock *lock = &worker->handle.lock;
    struct sim_client *client = worker->client;

    if (stamp != (uint64_t)worker->watched_ns || !client->alive || !worker->has_lock ||
        lock->state != RL_HELD || lock->deadline_ns != worker->watched_ns)
        return;
    if (!slept(client, lock->deadline_ns - LOSS_LEAD_NS, lock->deadline_ns))
        complain(world, worker, "loss in time",
                 "the validity is over and was not reported lost");
}

void sim_calls_watch(struct sim_world *world, struct sim_worker *worker)
{
    const struct rl_lock *lock = &worker->handle.lock;

    /* Adopted, and not extended yet: its validity is unknown. */
    if (lock->state != RL_HELD || lock->adopted || lock->deadline_ns == worker->watched_ns)
        return;
    worker->watched_ns = lock->deadline_ns;
    sim_events_add(&world->events, sim_client_when_ns(worker->client, lock->deadline_ns) + 1,
                   hold_ends, worker, (uint64_t)worker->watched_ns);
}

void sim_calls_granted(struct sim_world *world, struct sim_worker *worker)
{
    int64_t now_ns = sim_client_now_ns(world, worker->client);
    int64_t deadline_ns = worker->handle.lock.deadline_ns;

    /* Proof that a node's clock was set may come in the same turn. */
    bool set = world->options.every_ns[SIM_FAULT_NODE_STEP] != 0;

    if ((worker->handle.lock.state != RL_HELD || deadline_ns <= now_ns) && !set)
        complain(world, worker, "valid grants", "granted, but its validity is over");
    if (rl_kinds[worker->kind].has_slots &&
        (worker->handle.lock.slot < 1 || worker->handle.lock.slot > worker->slots))
        complain(world, worker, "valid grants", "granted a slot that there is not");
    if (worker->wait_deadline_ns && now_ns > worker->wait_deadline_ns)
        complain(world, worker, "waits in time", "granted after the wait deadline");
}

void sim_calls_lost(struct sim_world *world, struct sim_worker *worker)
{
    int64_t now_ns = sim_client_now_ns(world, worker->client);

    if (!worker->held && worker->operation != SIM_ACQUIRE)
        complain(world, worker, "one outcome", "lost, but it was not held");
    if (sim_promises_memory(&world->options) && now_ns < worker->believed_ns - LOSS_LEAD_NS)
        complain(world, worker, "no false loss", "lost, though every node kept it");
    if (worker->believed_ns && now_ns > worker->believed_ns &&
        !slept(worker->client, worker->believed_ns - LOSS_LEAD_NS, now_ns))
        complain(world, worker, "loss in time",
                 "the loss was reported after the validity's end");
}

void sim_calls_done(struct sim_world *world, struct sim_worker *worker)
{
    const struct sim_client *client = worker->client;
    int64_t now_ns = sim_client_now_ns(world, client);
    int64_t bound_ns = OPERATION_NS + NODE_TIMEOUTS * world->options.node_timeout_ns;

    if (worker->operation == SIM_NO_OPERATION) {
        complain(world, worker, "one outcome", "an outcome without an operation");
        return;
    }
    if (slept(client, worker->begun_ns, now_ns))
        return;
    if (worker->operation == SIM_ACQUIRE && worker->wait_deadline_ns) {
        if (worker->wait_deadline_ns != RL_NEVER_NS &&
            now_ns > worker->wait_deadline_ns + world->options.turn_jitter_ns * 2 + 1000)
            complain(world, worker, "waits in time", "the call outlasts its deadline");
        return;
    }
    if (now_ns - worker->begun_ns > bound_ns)
        complain(world, worker, "waits in time", "the operation took too long");
}
