/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/lease.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "lab/sim/world.h"

/* How much before the end of its validity a loss may be reported (src/core/hold.c). */
#define LOSS_LEAD_NS (50 * RL_NS_PER_MS)

static bool believes(const struct sim_world *world, const struct sim_lease *lease)
{
    return lease->believed_ns > world->now_ns;
}

static void stop_believing(struct sim_lease *lease, enum sim_lease_phase phase)
{
    lease->believed_ns = 0;
    lease->phase = phase;
    lease->connection = NULL;
}

static bool is_current(const struct sim_worker *worker)
{
    return worker->lease_number == worker->lease->number;
}

/* The program reads what comes on this connection. */
static bool reads(const struct sim_worker *worker)
{
    return is_current(worker) && !worker->exchange.is_copy;
}

static void draw_lease(struct sim_world *world, struct sim_worker *worker,
                       struct sim_lease *lease)
{
    sim_app_draw_wish(world, worker);
    lease->old = lease->grant;
    lease->number++;
    lease->grant = (struct sim_grant){
        .hold = {.names = worker->names, .kind = worker->kind, .slots = worker->slots}};
    lease->grant.number = lease->number;
    lease->grant.is_stream = sim_chance(&world->rng, 400);
    lease->grant.is_remote = sim_chance(&world->rng, 500);
    lease->grant.leaves =
        lease->grant.is_stream && !lease->grant.is_remote && sim_chance(&world->rng, 300);
    snprintf(lease->grant.tag, sizeof lease->grant.tag, "l%u-%019u",
             (unsigned)(lease - world->lease) % 10, lease->number);
    memcpy(lease->grant.hold.owner, worker->owner, sizeof worker->owner);
    lease->fair = worker->fair;
    lease->held_ns = 0;
    lease->ended = lease->has_grant = false;
    lease->may = true;
    stop_believing(lease, SIM_LEASE_ASKS);
}

static void send_request(struct sim_world *world, struct sim_worker *worker,
                         struct sim_lease *lease, const struct sim_grant *grant,
                         enum lease_verb verb, bool is_copy)
{
    bool is_put = verb == LEASE_ACQUIRE;
    struct sim_request request = {
        .verb = verb,
        .lease = lease,
        .grant = grant,
        .is_copy = is_copy,
        .by_value = !is_put && grant->value[0] && (grant == &lease->old || lease->has_grant),
        .is_other = is_put && sim_chance(&world->rng, 300),
        .eof = is_put && sim_chance(&world->rng, 50),
    };

    if (verb == LEASE_RELEASE && sim_chance(&world->rng, 500))
        request.by_value = false;
    if (request.eof)
        request.is_copy = true; /* no client reads the answer */
    sim_service_serve(world, worker, &request);
}

/* A copy of the PUT that comes right behind the DELETE, at the same replica. */
static void copy_at_once(struct sim_world *world, struct sim_worker *worker,
                         struct sim_lease *lease)
{
    struct sim_client *client = worker->client;

    for (uint8_t i = 0; i < world->options.worker_count; i++)
        if (!client->worker[i].has_lock && &client->worker[i] != worker) {
            send_request(world, &client->worker[i], lease, &lease->grant, LEASE_ACQUIRE, true);
            return;
        }
}

/* The holder stops believing first: deleting what it wants gone is safe at any time. */
static void end_lease(struct sim_world *world, struct sim_worker *worker,
                      struct sim_lease *lease)
{
    lease->ended = true;
    stop_believing(lease, SIM_LEASE_NEW);
    send_request(world, worker, lease, &lease->grant, LEASE_RELEASE, false);
    if (sim_chance(&world->rng, 300))
        copy_at_once(world, worker, lease);
}

static void revoke(struct sim_world *world, struct sim_lease *lease)
{
    lease->may = false;
    sim_service_rule(world, lease);
}

static void serve_holder(struct sim_world *world, struct sim_worker *worker,
                         struct sim_lease *lease)
{
    uint64_t way = sim_below(&world->rng, 20);

    if (way < 10)
        send_request(world, worker, lease, &lease->grant, LEASE_RENEW, false);
    else if (way < 12)
        send_request(world, worker, lease, &lease->grant, LEASE_RENEW, true);
    else if (way < 15)
        send_request(world, worker, lease, &lease->grant, LEASE_ACQUIRE, false);
    else if (way < 19)
        end_lease(world, worker, lease);
    else
        stop_believing(lease, SIM_LEASE_NEW); /* it is gone; its lock runs out */
}

static void serve_stream(struct sim_world *world, struct sim_worker *worker,
                         struct sim_lease *lease)
{
    uint64_t way = sim_below(&world->rng, 20);

    if (!lease->connection && !lease->has_grant)
        return; /* it hangs */
    if (!lease->connection && way < 12)
        send_request(world, worker, lease, &lease->grant, LEASE_RESUME, false);
    else if (way < 4)
        sim_service_drain(world, worker->client);
    else if (way < 8 && lease->has_grant)
        send_request(world, worker, lease, &lease->grant, LEASE_RENEW, false);
    else if (way < 14 && lease->has_grant)
        send_request(world, worker, lease, &lease->grant, LEASE_RESUME, true);
    else if (way < 16)
        send_request(world, worker, lease, &lease->grant, LEASE_ACQUIRE, true);
    else if (way < 17)
        end_lease(world, worker, lease);
    else if (way < 18)
        revoke(world, lease);
}

/* No answer yet: again, elsewhere; or it gives up; or a request that has no grant. */
static void serve_asking(struct sim_world *world, struct sim_worker *worker,
                         struct sim_lease *lease)
{
    uint64_t way = sim_below(&world->rng, 20);

    if (way < 6)
        send_request(world, worker, lease, &lease->grant, LEASE_ACQUIRE, way == 0);
    else if (way < 9)
        end_lease(world, worker, lease);
    else if (way < 11)
        send_request(world, worker, lease, &lease->grant, LEASE_RENEW, false);
    else if (way < 12)
        revoke(world, lease);
    else if (way < 13)
        sim_service_drain(world, worker->client);
}

/* A copy that is very late. */
static void serve_copy(struct sim_world *world, struct sim_worker *worker,
                       struct sim_lease *lease)
{
    static const enum lease_verb verbs[] = {LEASE_ACQUIRE, LEASE_RENEW, LEASE_RENEW,
                                            LEASE_RELEASE};

    send_request(world, worker, lease, &lease->old, verbs[sim_below(&world->rng, 4)], true);
}

void sim_lease_serve(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_lease *lease = &world->lease[sim_below(&world->rng, world->options.lease_count)];
    uint64_t way = sim_below(&world->rng, 10);

    if (lease->old.value[0] && way == 9) {
        serve_copy(world, worker, lease);
    } else if (lease->phase == SIM_LEASE_NEW) {
        draw_lease(world, worker, lease);
        send_request(world, worker, lease, &lease->grant, LEASE_ACQUIRE, false);
    } else if (lease->phase == SIM_LEASE_ENDS) {
        end_lease(world, worker, lease);
    } else if (lease->phase == SIM_LEASE_ASKS) {
        serve_asking(world, worker, lease);
    } else if (!believes(world, lease) && way >= 2) {
        stop_believing(lease, SIM_LEASE_NEW);
    } else if (lease->grant.is_stream) {
        serve_stream(world, worker, lease);
    } else {
        serve_holder(world, worker, lease);
    }
    if (!worker->lease && !world->calm)
        sim_app_plan(world, worker, sim_between(&world->rng, 1, world->options.think_max_ns));
}

/* By the clock of the program, from when it began to send. */
static void believe(struct sim_world *world, struct sim_worker *worker,
                    const struct lease_deadline *deadline)
{
    struct sim_lease *lease = worker->lease;
    int64_t span_ns = (deadline->after_ms + deadline->remaining_ms) * RL_NS_PER_MS;
    struct sim_clock clock = {.rate_ppb = worker->exchange.holder_rate_ppb};
    int64_t until_ns = worker->exchange.sent_ns + sim_clock_when(&clock, span_ns);

    if (until_ns > sim_client_when_ns(worker->client, deadline->deadline_ns))
        sim_fail(world, "answers are true", "lease %s believes for longer than its replica",
                 lease->grant.tag);
    if (until_ns > lease->believed_ns && until_ns > world->now_ns)
        lease->believed_ns = until_ns;
}

static int64_t valid_until_ns(const struct sim_worker *worker)
{
    const struct rl_lock *lock = &worker->handle.lock;

    return lock->state == RL_HELD ? sim_client_when_ns(worker->client, lock->deadline_ns) : 0;
}

void sim_lease_note_held(const struct sim_world *world, struct sim_worker *worker)
{
    int64_t until_ns = valid_until_ns(worker);

    if (is_current(worker) && until_ns > worker->lease->held_ns && until_ns > world->now_ns)
        worker->lease->held_ns = until_ns;
}

/* The answer to a PUT. */
static void receive_grant(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_lease *lease = worker->lease;

    sim_app_note(world, worker, "is answered to the lease");
    if (worker->exchange.is_other)
        sim_fail(world, "answers are true", "lease %s is answered 201 of another request",
                 lease->grant.tag);
    lease->phase = SIM_LEASE_HOLDS;
    lease->grant.hold.slot = worker->handle.lock.slot;
    lease->grant.fence = worker->handle.lock.token;
    fake_copy_text(lease->grant.value, sizeof lease->grant.value,
                   rl_attempt_value(worker->handle.attempt));
}

void sim_lease_held(struct sim_world *world, struct sim_worker *worker,
                    const struct lease_deadline *deadline, bool with_grant)
{
    struct sim_lease *lease = worker->lease;
    bool is_stream = worker->exchange.rules.is_stream;
    /* A renewal without a grant would be the first that it learns of its lock. */
    bool is_new =
        worker->exchange.rules.verb == LEASE_ACQUIRE
            ? lease->connection != worker
            : worker->exchange.rules.verb == LEASE_RENEW && !worker->exchange.by_value;

    /* Events of a stream are not lost: it is closed. */
    if (!reads(worker) || (!is_stream && sim_chance(&world->rng, 200)))
        return;
    if (is_new && lease->phase != SIM_LEASE_ASKS)
        return;
    if (!is_new && lease->phase != SIM_LEASE_HOLDS)
        return;
    if (is_new)
        receive_grant(world, worker);
    if (is_stream)
        lease->connection = worker;
    lease->has_grant |= with_grant;
    believe(world, worker, deadline);
}

void sim_lease_reconnects(struct sim_world *world, struct sim_worker *worker,
                          const struct lease_deadline *deadline)
{
    struct sim_lease *lease = worker->lease;

    if (lease->connection != worker)
        return;
    lease->connection = NULL;
    lease->has_grant = true;
    believe(world, worker, deadline);
}

void sim_lease_refused(struct sim_world *world, struct sim_worker *worker,
                       enum lease_answer answer, int error)
{
    struct sim_lease *lease = worker->lease;
    bool is_ended = answer == LEASE_STOP || error == REDLOCK_LOST || error == REDLOCK_EXPIRED;

    if (!reads(worker) || sim_chance(&world->rng, 200))
        return;
    if (lease->phase == SIM_LEASE_HOLDS && error == REDLOCK_LOST &&
        sim_promises_memory(&world->options) && !lease->ended &&
        lease->believed_ns - LOSS_LEAD_NS > world->now_ns)
        sim_fail(world, "no false loss", "lease %s was answered that it is lost",
                 lease->grant.tag);
    if (lease->phase == SIM_LEASE_HOLDS && is_ended)
        stop_believing(lease, SIM_LEASE_NEW);
    else if (lease->phase == SIM_LEASE_HOLDS && lease->connection == worker)
        lease->connection = NULL;
    else if (lease->phase == SIM_LEASE_ASKS &&
             (answer == LEASE_YOURS || answer == LEASE_SUPERSEDED))
        lease->phase = SIM_LEASE_ENDS;
    else if (lease->phase == SIM_LEASE_ASKS && sim_chance(&world->rng, 500))
        lease->phase = SIM_LEASE_NEW;
}

/* Where closing releases, the program stops with the stream; behind TCP it works on. */
void sim_lease_closed(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_lease *lease = worker->lease;

    (void)world;
    if (lease->connection != worker)
        return;
    lease->connection = NULL;
    if (!lease->grant.is_remote && !lease->has_grant)
        stop_believing(lease, SIM_LEASE_NEW);
}

/* It believes until the last deadline that it received. */
void sim_lease_cut(struct sim_worker *worker)
{
    if (worker->lease->connection == worker)
        worker->lease->connection = NULL;
}

void sim_lease_dies(struct sim_world *world, struct sim_worker *worker)
{
    struct sim_lease *lease = worker->lease;

    (void)world;
    if (lease->connection == worker)
        stop_believing(lease, SIM_LEASE_NEW);
}
