/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "lab/sim/sets.h"

#define LOOK_EVERY_NS (20 * RL_NS_PER_MS)

/* In the calm: quarantines, watched once more from the start, then one after the other. */
#define GUARD_TIMES 3
#define SERVED_NS (20 * RL_NS_PER_S)
#define QUIET_NS (10 * RL_NS_PER_S)

/* A run that does not come to an end is a bug of the simulator, or a busy loop of a client. */
#define EVENTS_MAX 20000000

void sim_fail(struct sim_world *world, const char *oracle, const char *format, ...)
{
    va_list args;

    if (world->failed)
        return;
    world->failed = true;
    world->failed_oracle = oracle;
    va_start(args, format);
    vsnprintf(world->failure, sizeof world->failure, format, args);
    va_end(args);
    sim_trace(world, "!!! %s: %s", oracle, world->failure);
}

static void describe(struct sim_world *world)
{
    const struct sim_options *o = &world->options;

    if (!world->trace)
        return;
    fprintf(
        world->trace,
        "seed %llu: %s\n%u nodes (%u groups of %u, %u electors), %u clients with %u workers, "
        "%u locks, max_ttl %lld ms, "
        "ttl %lld to %lld ms, node timeout %lld ms, drift %u ppm, faults:",
        (unsigned long long)world->seed, sim_regime_text(o->regime), o->node_count,
        o->elected_count, o->group_size, o->elector_count, o->client_count, o->worker_count,
        o->lock_count, (long long)o->max_ttl_ms, (long long)o->ttl_min_ms,
        (long long)o->ttl_max_ms, (long long)(o->node_timeout_ns / RL_NS_PER_MS), o->drift_ppm);
    for (int i = 0; i < SIM_FAULT_COUNT; i++)
        if (o->every_ns[i])
            fprintf(world->trace, " %s every %lld ms", sim_fault_name((enum sim_fault)i),
                    (long long)(o->every_ns[i] / RL_NS_PER_MS));
    fputc('\n', world->trace);
}

static bool all_idle(const struct sim_world *world)
{
    for (uint8_t i = 0; i < world->options.client_count; i++)
        for (uint8_t j = 0; j < world->options.worker_count; j++)
            if (!sim_app_is_idle(&world->client[i].worker[j]))
                return false;
    return true;
}

static bool all_quiet(const struct sim_world *world)
{
    for (uint8_t i = 0; i < world->options.client_count; i++)
        if (!sim_client_is_quiet(&world->client[i]))
            return false;
    return true;
}

static int64_t served_within_ns(const struct sim_options *o)
{
    int64_t vouch_ns = o->elected_count ? RL_VOUCH_NS : 0;

    return GUARD_TIMES * (o->max_ttl_ms * RL_NS_PER_MS + vouch_ns + RL_GUARD_MARGIN_NS) +
           SERVED_NS;
}

static void complain_unserved(struct sim_world *world)
{
    for (uint8_t i = 0; i < world->options.client_count; i++) {
        for (uint8_t j = 0; j < world->options.worker_count; j++) {
            const struct sim_worker *worker = &world->client[i].worker[j];

            if (!sim_app_is_idle(worker))
                sim_fail(world, "every waiter is served", "c%u.%u still %s %s", i + 1, j + 1,
                         worker->operation == SIM_ACQUIRE ? "waits for" : "is busy with",
                         worker->label);
        }
    }
}

/* Is it over, or has it taken too long? */
static void look(struct sim_world *world, void *subject, uint64_t stamp)
{
    int64_t calm_ns = world->now_ns - world->calm_at_ns;
    int64_t served_ns = served_within_ns(&world->options);

    (void)subject;
    (void)stamp;
    sim_oracle_calm(world);
    if (all_idle(world) && all_quiet(world)) {
        sim_keys_final(world);
        world->ended = true;
    } else if (calm_ns > served_ns && !all_idle(world)) {
        complain_unserved(world);
    } else if (calm_ns > served_ns + QUIET_NS) {
        sim_fail(world, "clients come to rest", "a client is never quiet");
    } else {
        sim_events_add(&world->events, world->now_ns + LOOK_EVERY_NS, look, NULL, 0);
    }
}

static void calm_down(struct sim_world *world, void *subject, uint64_t stamp)
{
    (void)subject;
    (void)stamp;
    sim_trace(world, "--- the faults are over");
    world->calm = true;
    world->calm_at_ns = world->now_ns;
    sim_faults_end(world);
    sim_sets_end(world);
    if (world->options.elected_count)
        sim_elected_end(world);
    for (uint8_t i = 0; i < world->options.client_count; i++)
        for (uint8_t j = 0; j < world->options.worker_count; j++)
            sim_app_calm(world, &world->client[i].worker[j]);
    sim_events_add(&world->events, world->now_ns + LOOK_EVERY_NS, look, NULL, 0);
}

static void begin(struct sim_world *world)
{
    const struct sim_options *o = &world->options;

    sim_rng_seed(&world->rng, world->seed);
    if (sim_is_elected(world->seed))
        sim_options_draw_elected(&world->options, &world->rng);
    else
        sim_options_draw(&world->options, &world->rng);
    describe(world);
    for (uint8_t i = 0; i < sim_server_count(o); i++)
        sim_node_init(world, i);
    sim_sets_begin(world);
    if (o->elected_count)
        sim_elected_begin(world);
    for (uint8_t i = 0; i < o->client_count; i++)
        for (uint8_t j = 0; j < sim_server_count(o); j++)
            world->link[i][j].delay_ns =
                sim_between(&world->rng, o->delay_min_ns, o->delay_max_ns);
    for (uint8_t i = 0; i < o->client_count; i++) {
        world->client[i].index = i;
        sim_client_start(world, &world->client[i]);
    }
    sim_faults_begin(world);
    sim_events_add(&world->events, o->duration_ns, calm_down, NULL, 0);
}

static void end(struct sim_world *world)
{
    world->trace = NULL;
    for (uint8_t i = 0; i < world->options.client_count; i++)
        if (world->client[i].alive)
            sim_client_crash(world, &world->client[i]);
    for (uint8_t i = 0; i < sim_server_count(&world->options); i++)
        sim_node_free(&world->node[i]);
    sim_net_free(world);
    sim_oracle_free(&world->oracle);
    sim_events_free(&world->events);
}

void sim_play(uint64_t seed, FILE *trace, struct sim_result *out)
{
    struct sim_world *world = fake_alloc(sizeof *world);
    struct sim_event event;

    world->seed = seed;
    world->trace = trace;
    begin(world);
    while (!world->failed && !world->ended && sim_events_take(&world->events, &event)) {
        world->now_ns = event.at_ns;
        event.run(world, event.subject, event.stamp);
        if (++world->event_count > EVENTS_MAX)
            sim_fail(world, "clients come to rest", "the run does not end");
    }
    *out = (struct sim_result){
        .failed = world->failed,
        .grants = world->grants,
        .events = world->event_count,
        .simulated_ns = world->now_ns,
        .regime = world->options.regime,
    };
    snprintf(out->oracle, sizeof out->oracle, "%s", world->failed ? world->failed_oracle : "");
    memcpy(out->failure, world->failure, sizeof out->failure);
    end(world);
    free(world);
}
