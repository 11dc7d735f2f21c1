/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/lease.h"

#include <stdio.h>
#include <string.h>

#include "sim/world.h"

#define MS_NS ((int64_t)1000000)

/* How long the handle of a renewal stays, at most: that of a stream outlives many of them. */
#define REST_NS (1000 * MS_NS)
/* A handle that is kept for this long after its deadline would sweep, if it did. */
#define BEYOND_NS (200 * MS_NS)
/* How much before the end of its validity a loss may be told (src/core/hold.c). */
#define LOSS_LEAD_NS (50 * MS_NS)

static bool believes(const struct sim_world *world, const struct sim_lease *lease)
{
    return lease->believed_ns > world->now_ns;
}

static void stop_believing(struct sim_lease *lease, enum sim_lease_phase phase)
{
    lease->believed_ns = 0;
    lease->phase = phase;
}

/* The worker carries out a request of the acquisition that the lease is in now. */
static void take_up(struct sim_worker *worker, struct sim_lease *lease,
                    const struct sim_grant *grant)
{
    worker->lease = lease;
    worker->lease_number = grant == &lease->old ? 0 : lease->number;
    worker->is_copy = grant == &lease->old;
    worker->names = grant->hold.names;
    worker->kind = grant->hold.kind;
    worker->slots = grant->hold.slots;
    memcpy(worker->owner, grant->hold.owner, sizeof worker->owner);
    worker->fair = lease->fair;
    worker->tag[0] = '\0';
}

static bool is_current(const struct sim_worker *worker)
{
    return worker->lease_number == worker->lease->number;
}

/* ---- requests ---- */

static void draw_lease(struct sim_world *world, struct sim_worker *worker,
                       struct sim_lease *lease)
{
    sim_app_draw_wish(world, worker);
    lease->old = lease->grant;
    lease->number++;
    snprintf(lease->tag, sizeof lease->tag, "l%u-%019u", (unsigned)(lease - world->lease) % 10,
             lease->number);
    lease->grant = (struct sim_grant){
        .hold = {.names = worker->names, .kind = worker->kind, .slots = worker->slots}};
    memcpy(lease->grant.hold.owner, worker->owner, sizeof worker->owner);
    lease->fair = worker->fair;
    lease->held_ns = 0;
    lease->ended = false;
    stop_believing(lease, SIM_LEASE_ASKS);
}

static void put(struct sim_world *world, struct sim_worker *worker, struct sim_lease *lease)
{
    take_up(worker, lease, &lease->grant);
    memcpy(worker->tag, lease->tag, sizeof worker->tag);
    sim_app_acquire(world, worker);
}

/* A handle for the value that an answer gave; now and then only the value is known. */
static void adopt(struct sim_world *world, struct sim_worker *worker, struct sim_lease *lease,
                  const struct sim_grant *grant)
{
    bool knows_kind = sim_chance(&world->rng, 700);
    struct rl_lock_terms terms = {0};

    take_up(worker, lease, grant);
    if (knows_kind)
        terms = (struct rl_lock_terms){
            .kind = grant->hold.kind, .slots = grant->hold.slots, .fenced = grant->fence != 0};
    memset(worker->footprint, 0, sizeof worker->footprint);
    worker->missed_ns = 0;
    sim_app_make_handle(world, worker, &terms);
    rl_handle_adopt(worker->client->engine, &worker->handle, grant->value, strlen(grant->value),
                    knows_kind);
    worker->handle.lock.slot = grant->hold.slot;
    worker->handle.lock.token = grant->fence;
    worker->held = worker->leaves = true;
}

static void renew(struct sim_world *world, struct sim_worker *worker)
{
    const struct sim_options *o = &world->options;
    int64_t ttl_ns = sim_between(&world->rng, o->ttl_min_ms, o->ttl_max_ms) * MS_NS;

    sim_app_begin_operation(world, worker, SIM_EXTEND);
    sim_app_say(world, worker, worker->is_copy ? "extends for a copy" : "extends for a lease");
    rl_handle_extend(worker->client->engine, &worker->handle, ttl_ns,
                     sim_client_now_ns(world, worker->client));
}

static void post(struct sim_world *world, struct sim_worker *worker, struct sim_lease *lease,
                 const struct sim_grant *grant, bool is_copy)
{
    adopt(world, worker, lease, grant);
    worker->is_copy |= is_copy;
    renew(world, worker);
}

void sim_lease_go_on(struct sim_world *world, struct sim_worker *worker)
{
    if (world->options.elected_count && !world->calm && worker->held &&
        worker->handle.lock.state == RL_HELD && sim_chance(&world->rng, 800))
        renew(world, worker);
    else
        sim_app_drop(world, worker, "is left");
}

/* The holder stops believing first: deleting what it wants gone is safe at any time. */
static void delete_by_tag(struct sim_world *world, struct sim_worker *worker,
                          struct sim_lease *lease)
{
    lease->ended = true;
    stop_believing(lease, SIM_LEASE_NEW);
    take_up(worker, lease, &lease->grant);
    sim_ended_begin(world, worker, lease->grant.value);
    snprintf(worker->wanted, sizeof worker->wanted, "%s:", lease->tag);
    sim_app_evict(world, worker, true);
}

static void delete_by_value(struct sim_world *world, struct sim_worker *worker,
                            struct sim_lease *lease)
{
    lease->ended = true;
    stop_believing(lease, SIM_LEASE_NEW);
    adopt(world, worker, lease, &lease->grant);
    sim_ended_begin(world, worker, lease->grant.value);
    sim_app_release(world, worker);
}

static void serve_holder(struct sim_world *world, struct sim_worker *worker,
                         struct sim_lease *lease)
{
    uint64_t way = sim_below(&world->rng, 20);

    if (way < 10)
        post(world, worker, lease, &lease->grant, false);
    else if (way < 12)
        post(world, worker, lease, &lease->grant, true);
    else if (way < 15)
        put(world, worker, lease);
    else if (way < 17)
        delete_by_tag(world, worker, lease);
    else if (way < 19)
        delete_by_value(world, worker, lease);
    else
        stop_believing(lease, SIM_LEASE_NEW); /* it is gone; its lock runs out */
}

void sim_lease_serve(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_lease *lease = &world->lease[sim_below(&world->rng, world->options.lease_count)];
    uint64_t way = sim_below(&world->rng, 10);

    if (lease->old.value[0] && way == 9) {
        post(world, worker, lease, &lease->old, true); /* a copy that is very late */
    } else if (lease->phase == SIM_LEASE_NEW) {
        draw_lease(world, worker, lease);
        put(world, worker, lease);
    } else if (lease->phase == SIM_LEASE_ENDS) {
        delete_by_tag(world, worker, lease);
    } else if (lease->phase == SIM_LEASE_HOLDS && (believes(world, lease) || way < 2)) {
        serve_holder(world, worker, lease);
    } else if (lease->phase == SIM_LEASE_HOLDS) {
        stop_believing(lease, SIM_LEASE_NEW);
    } else if (way < 3) {
        put(world, worker, lease); /* no answer yet: again, elsewhere */
    } else if (way < 5) {
        delete_by_tag(world, worker, lease);
    }
    if (!worker->has_lock)
        sim_app_plan(world, worker, sim_between(&world->rng, 1, world->options.think_max_ns));
}

/* ---- answers ---- */

static int64_t valid_until_ns(const struct sim_worker *worker)
{
    const struct rl_lock *lock = &worker->handle.lock;

    return lock->state == RL_HELD ? sim_client_when_ns(worker->client, lock->deadline_ns) : 0;
}

static void note_held(const struct sim_world *world, struct sim_worker *worker)
{
    int64_t until_ns = valid_until_ns(worker);

    if (is_current(worker) && until_ns > worker->lease->held_ns && until_ns > world->now_ns)
        worker->lease->held_ns = until_ns;
}

static void believe(const struct sim_world *world, struct sim_worker *worker)
{
    int64_t until_ns = valid_until_ns(worker);

    if (until_ns > worker->lease->believed_ns && until_ns > world->now_ns)
        worker->lease->believed_ns = until_ns;
}

/* The answer to a PUT, with the grant. */
static void tell_grant(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_lease *lease = worker->lease;
    struct rl_slice value = rl_claim_value(worker->handle.claim);

    sim_app_say(world, worker, "is told to the lease");
    lease->phase = SIM_LEASE_HOLDS;
    lease->grant.hold.slot = worker->handle.lock.slot;
    lease->grant.fence = worker->handle.lock.token;
    sim_copy_text(lease->grant.value, sizeof lease->grant.value, value);
    believe(world, worker);
}

static void granted(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_lease *lease = worker->lease;
    bool may_tell = is_current(worker) && lease->phase == SIM_LEASE_ASKS;
    uint64_t way = sim_below(&world->rng, 10);

    worker->held = true;
    world->grants++;
    sim_oracle_granted(world, worker);
    sim_lease_granted(world, worker);
    note_held(world, worker);
    if (world->calm || (!(may_tell && way < 7) && way % 2)) {
        /* The client was gone before a byte of the answer was sent: by the value, never the tag. */
        if (is_current(worker))
            lease->ended = true;
        sim_app_release(world, worker);
        return;
    }
    if (may_tell && way < 7)
        tell_grant(world, worker);
    worker->leaves = true; /* also where the answer was lost on its way */
    sim_app_plan(world, worker, sim_chance(&world->rng, 500) ? 1 : worker->ttl_ns + BEYOND_NS);
}

static void put_refused(struct sim_world *world, struct sim_worker *worker, int error)
{
    struct sim_lease *lease = worker->lease;

    if (is_current(worker) && lease->phase == SIM_LEASE_ASKS) {
        if (error == REDLOCK_YOURS)
            lease->phase = SIM_LEASE_ENDS;
        else if (sim_chance(&world->rng, 500))
            lease->phase = SIM_LEASE_NEW;
    }
    sim_app_drop(world, worker, "is free again");
}

static void extended(struct sim_world *world, struct sim_worker *worker, int error)
{
    struct sim_lease *lease = worker->lease;
    bool hears = is_current(worker) && lease->phase == SIM_LEASE_HOLDS && !worker->is_copy &&
                 sim_chance(&world->rng, 800);

    if (error == REDLOCK_OK) {
        note_held(world, worker);
        if (hears)
            believe(world, worker);
        sim_app_plan(world, worker, sim_between(&world->rng, 1, REST_NS));
        return;
    }
    if (hears && error == REDLOCK_LOST) {
        if (sim_promises_memory(&world->options) &&
            lease->believed_ns - LOSS_LEAD_NS > world->now_ns)
            sim_fail(world, "no false loss", "lease %s was told that it is lost", lease->tag);
        stop_believing(lease, SIM_LEASE_NEW);
    }
    sim_app_drop(world, worker, "is left");
}

void sim_lease_finished(struct sim_world *world, struct sim_worker *worker,
                        enum sim_operation operation, int error)
{
    if (operation == SIM_ACQUIRE && error == REDLOCK_OK)
        granted(world, worker);
    else if (operation == SIM_ACQUIRE)
        put_refused(world, worker, error);
    else if (operation == SIM_EXTEND)
        extended(world, worker, error);
    else
        sim_app_drop(world, worker, "is free again");
}
