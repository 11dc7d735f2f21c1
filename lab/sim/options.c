/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/options.h"

#include <string.h>

#include "base/time.h"
#include "core/lock.h"

#define US_NS ((int64_t)1000)

static const char regime_letters[] = "PDSTA";

static const struct {
    const char *name;
    const char *regimes;
} faults[] = {
#define FAULT(name, regimes) {#name, regimes},
    SIM_FAULTS(FAULT)
#undef FAULT
};

const char *sim_regime_text(enum sim_regime regime)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        SIM_REGIMES(TEXT)
#undef TEXT
    };

    return texts[regime];
}

const char *sim_fault_name(enum sim_fault fault)
{
    return faults[fault].name;
}

bool sim_promises_one_holder(const struct sim_options *options)
{
    return options->regime != SIM_REGIME_ANYTHING && options->regime != SIM_REGIME_BACK &&
           !options->break_permille;
}

/* Counters that are lost unseen, or clocks that are set, are beyond that promise. */
bool sim_promises_token_order(const struct sim_options *options)
{
    return options->regime != SIM_REGIME_ANYTHING && options->regime != SIM_REGIME_STEPS &&
           options->regime != SIM_REGIME_BACK;
}

bool sim_promises_memory(const struct sim_options *options)
{
    static const enum sim_fault losses[] = {SIM_FAULT_NODE_RESTART, SIM_FAULT_HIDDEN_RESTART,
                                            SIM_FAULT_FLUSHALL,     SIM_FAULT_PROMOTION,
                                            SIM_FAULT_EVICTION,     SIM_FAULT_NODE_STEP,
                                            SIM_FAULT_INIT};

    if (options->break_permille || options->elected_count)
        return false;
    if (options->regime == SIM_REGIME_PLAIN)
        return true;
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        if (options->every_ns[losses[i]])
            return false;
    return true;
}

static enum sim_regime draw_regime(struct sim_rng *rng)
{
    static const uint8_t weight[] = {1, 5, 5, 2, 1};
    uint64_t at = sim_below(rng, 14);

    for (int i = 0; i < SIM_REGIME_COUNT; i++) {
        if (at < weight[i])
            return (enum sim_regime)i;
        at -= weight[i];
    }
    return SIM_REGIME_DEFAULT;
}

static void draw_guard(struct sim_options *o, struct sim_rng *rng)
{
    switch (o->regime) {
    case SIM_REGIME_PLAIN:
        o->guard = RL_GUARD_OFF;
        return;
    case SIM_REGIME_DEFAULT:
        o->guard = RL_GUARD_DEFAULT;
        return;
    case SIM_REGIME_STRICT:
        o->guard = RL_GUARD_STRICT;
        return;
    default:
        o->guard = sim_chance(rng, 500) ? RL_GUARD_DEFAULT : RL_GUARD_STRICT;
        return;
    }
}

static void draw_size(struct sim_options *o, struct sim_rng *rng)
{
    static const uint8_t nodes[] = {3, 3, 3, 3, 3, 3, 5, 5, 5, 5, 1, 4, 7};

    o->node_count = nodes[sim_below(rng, sizeof nodes)];
    o->client_count = (uint8_t)sim_between(rng, 2, o->node_count > 4 ? 5 : SIM_CLIENTS_MAX);
    o->worker_count =
        (uint8_t)(sim_chance(rng, 300) ? sim_between(rng, 2, SIM_WORKERS_MAX) : 1);
    o->lock_count = (uint8_t)(sim_chance(rng, 300) ? sim_between(rng, 2, SIM_LOCKS_MAX) : 1);
}

static void draw_times(struct sim_options *o, struct sim_rng *rng)
{
    o->drift_ppm = (uint32_t)(sim_chance(rng, 500) ? 10000 : sim_between(rng, 1000, 50000));
    o->skew_ns = sim_between(rng, 0, 500) * RL_NS_PER_MS;
    o->max_ttl_ms =
        sim_chance(rng, 300) ? sim_between(rng, 3000, 8000) : sim_spread(rng, 300, 4000);
    o->ttl_max_ms = sim_chance(rng, 500) ? o->max_ttl_ms : sim_between(rng, 100, o->max_ttl_ms);
    o->ttl_min_ms = sim_between(rng, 50, o->ttl_max_ms);
    o->hold_max_ns = sim_spread(rng, 5, 3000) * RL_NS_PER_MS;
    o->think_max_ns = sim_spread(rng, 1, 1000) * RL_NS_PER_MS;
    o->node_timeout_ns = (sim_chance(rng, 600) ? 50 : sim_spread(rng, 10, 500)) * RL_NS_PER_MS;
    o->retry_min_ns = sim_spread(rng, 1, 20) * RL_NS_PER_MS;
    o->retry_max_ns = sim_between(rng, 20, 250) * RL_NS_PER_MS;
    o->duration_ns = sim_between(rng, 3, 12) * RL_NS_PER_S;
}

static void draw_network(struct sim_options *o, struct sim_rng *rng)
{
    o->delay_min_ns = sim_spread(rng, 20, 2000) * US_NS;
    o->delay_max_ns = o->delay_min_ns * sim_between(rng, 1, 12);
    o->jitter_ns = sim_chance(rng, 800) ? sim_spread(rng, 10, 10000) * US_NS : US_NS;
    o->spike_permille = (uint32_t)(sim_chance(rng, 500) ? sim_between(rng, 1, 100) : 0);
    o->split_permille = (uint32_t)(sim_chance(rng, 500) ? sim_between(rng, 1, 500) : 0);
    o->turn_jitter_ns = sim_chance(rng, 500) ? 0 : sim_between(rng, 1, 300) * US_NS;
    /* What the clock guard promises after a step is for nodes that are seen every second. */
    if (o->regime == SIM_REGIME_STEPS) {
        o->delay_max_ns = o->delay_min_ns;
        o->jitter_ns = RL_NS_PER_MS;
        o->spike_permille = 0;
    }
}

static void draw_faults(struct sim_options *o, struct sim_rng *rng)
{
    for (int i = 0; i < SIM_FAULT_COUNTER; i++) {
        bool on = sim_chance(rng, 350);
        int64_t every_ns = sim_spread(rng, 100, 4000) * RL_NS_PER_MS;

        if (on && strchr(faults[i].regimes, regime_letters[o->regime]))
            o->every_ns[i] = every_ns;
    }
    if (o->regime == SIM_REGIME_STEPS)
        o->every_ns[SIM_FAULT_NODE_STEP] = 2 * RL_NS_PER_S;
}

/*
 * Attempts that stay open for long among locks that live for short, while nodes come and go:
 * what must not be counted has time to arrive.
 */
static void draw_twilight(struct sim_options *o, struct sim_rng *rng)
{
    static const enum sim_fault often[] = {SIM_FAULT_PARTITION, SIM_FAULT_SLOW,
                                           SIM_FAULT_NODE_RESTART, SIM_FAULT_BREAK};

    if (o->regime == SIM_REGIME_STEPS || !sim_chance(rng, 250))
        return;
    o->node_count = sim_chance(rng, 800) ? 3 : 5;
    o->max_ttl_ms = o->ttl_max_ms = sim_between(rng, 1500, 3000);
    o->ttl_min_ms = sim_between(rng, 60, 300);
    o->node_timeout_ns = sim_between(rng, 200, 600) * RL_NS_PER_MS;
    o->renew_permille = 800;
    for (size_t i = 0; i < sizeof often / sizeof often[0]; i++)
        if (sim_chance(rng, 800))
            o->every_ns[often[i]] = sim_spread(rng, 50, 800) * RL_NS_PER_MS;
}

/*
 * Nodes that come back with old snapshots while others are out of reach: what was counted must
 * not be counted again. Drawn aside, so that the other worlds stay what they are.
 */
static void draw_relapse(struct sim_options *o, const struct sim_rng *rng)
{
    struct sim_rng aside = *rng;

    if (o->regime != SIM_REGIME_DEFAULT || !sim_chance(&aside, 200))
        return;
    o->node_count = 3;
    o->lock_count = 1;
    o->use[0] = REDLOCK_MUTEX;
    o->several_permille = 0;
    o->fenced_permille = 1000;
    o->try_permille = 500;
    o->max_ttl_ms = o->ttl_max_ms = sim_between(&aside, 200, 500);
    o->ttl_min_ms = 100;
    o->hold_max_ns = 10 * RL_NS_PER_MS;
    o->think_max_ns = 20 * RL_NS_PER_MS;
    o->skew_ns = sim_between(&aside, 0, 50) * RL_NS_PER_MS;
    o->duration_ns = 12 * RL_NS_PER_S;
    o->every_ns[SIM_FAULT_NODE_RESTART] = sim_between(&aside, 1000, 3000) * RL_NS_PER_MS;
    o->every_ns[SIM_FAULT_NODE_PAUSE] = sim_between(&aside, 200, 1000) * RL_NS_PER_MS;
    o->every_ns[SIM_FAULT_PARTITION] = sim_between(&aside, 200, 1000) * RL_NS_PER_MS;
}

/*
 * Fence counters are overwritten with what no clock has reached: they start again at the clock.
 * So the clocks agree here; where they do not, a lost counter may bring smaller tokens
 * (guarantees.md). Drawn aside as well.
 */
static void draw_bad_counters(struct sim_options *o, const struct sim_rng *rng)
{
    struct sim_rng aside = *rng;

    if (!sim_promises_token_order(o) || sim_below(&aside, 20) != 3)
        return;
    o->skew_ns = 0;
    o->drift_ppm = 0;
    o->fenced_permille = 1000;
    o->every_ns[SIM_FAULT_COUNTER] = sim_spread(&aside, 50, 2000) * RL_NS_PER_MS;
}

static bool loses_memory(const struct sim_options *o)
{
    return o->every_ns[SIM_FAULT_NODE_RESTART] || o->every_ns[SIM_FAULT_HIDDEN_RESTART] ||
           o->every_ns[SIM_FAULT_FLUSHALL] || o->every_ns[SIM_FAULT_PROMOTION];
}

/*
 * A neighbour decides with outsiders as soon as it cannot reach a node of the set
 * (guarantees.md): so it always can here, and begins anew often.
 */
static void draw_neighbours(struct sim_options *o, struct sim_rng *rng)
{
    int64_t init_every_ns = o->every_ns[SIM_FAULT_INIT];

    o->strangers = SIM_STRANGERS_NEIGHBOURS;
    o->strangers_nodes = o->node_count;
    o->outsider_count = rl_quorum(o->node_count);
    memset(o->every_ns, 0, sizeof o->every_ns);
    o->every_ns[SIM_FAULT_INIT] = init_every_ns;
    o->every_ns[SIM_FAULT_CLIENT_CRASH] = sim_spread(rng, 50, 500) * RL_NS_PER_MS;
    o->node_timeout_ns = 500 * RL_NS_PER_MS;
    o->max_ttl_ms = o->ttl_max_ms = 3000;
    o->ttl_min_ms = 2500;
    o->hold_max_ns = 500 * RL_NS_PER_MS;
    o->spike_permille = 0;
    o->young_permille = 0;
}

/*
 * A client whose only node has its clock set, and may vote again while the set still has a
 * majority without it: does it know then that the node is in a set? Guard times are short, so
 * that it has the time to exchange.
 */
static void draw_loner(struct sim_options *o, struct sim_rng *rng)
{
    o->node_count = 3;
    o->strangers_nodes = 1;
    o->max_ttl_ms = o->ttl_max_ms = sim_between(rng, 200, 400);
    o->ttl_min_ms = 100;
    o->hold_max_ns = 300 * RL_NS_PER_MS;
    o->think_max_ns = 5 * RL_NS_PER_MS;
    o->lock_count = 1;
    o->use[0] = REDLOCK_MUTEX;
    o->several_permille = 0;
    o->duration_ns = 12 * RL_NS_PER_S;
    o->every_ns[SIM_FAULT_NODE_STEP] = 4 * RL_NS_PER_S;
}

static void draw_strangers(struct sim_options *o, struct sim_rng *rng)
{
    bool is_steady = o->regime == SIM_REGIME_DEFAULT || o->regime == SIM_REGIME_STRICT;

    switch (sim_below(rng, 3)) {
    case 1:
        if (is_steady && rl_quorum(o->node_count) <= SIM_OUTSIDERS_MAX)
            draw_neighbours(o, rng);
        return;
    case 2:
        o->strangers = SIM_STRANGERS_TWICE;
        o->strangers_nodes = o->node_count;
        o->use[0] = REDLOCK_REENTRANT;
        return;
    default:
        if (o->regime == SIM_REGIME_STEPS && o->guard == RL_GUARD_STRICT)
            draw_loner(o, rng);
        return;
    }
}

/*
 * Nodes that know which set they are, and are given another now and then. Where they keep their
 * memory there are also clients with other nodes: a majority of those, and a majority of the
 * others', need not have one in common. Drawn aside as well.
 */
static void draw_sets(struct sim_options *o, const struct sim_rng *rng)
{
    struct sim_rng aside = *rng;

    if (o->guard == RL_GUARD_OFF || o->node_count == 1 || sim_below(&aside, 4) != 1)
        return;
    o->has_sets = true;
    if (sim_chance(&aside, 500))
        o->every_ns[SIM_FAULT_INIT] = sim_spread(&aside, 500, 5000) * RL_NS_PER_MS;
    if (o->regime == SIM_REGIME_ANYTHING || loses_memory(o))
        return;
    o->stranger_count = (uint8_t)sim_between(&aside, 1, o->client_count - 1);
    o->strangers_nodes = (uint8_t)sim_between(&aside, 1, o->node_count / 2);
    draw_strangers(o, &aside);
}

/*
 * Clients that are replicas of a service: their workers acquire, renew and release for holders
 * of leases, each of which uses any of them. Drawn aside as well.
 */
static void draw_leases(struct sim_options *o, const struct sim_rng *rng)
{
    static const enum sim_fault losses[] = {SIM_FAULT_NODE_RESTART, SIM_FAULT_HIDDEN_RESTART,
                                            SIM_FAULT_FLUSHALL, SIM_FAULT_PROMOTION};
    struct sim_rng aside = *rng;
    bool keeps;

    if (o->regime == SIM_REGIME_STEPS || o->regime == SIM_REGIME_ANYTHING || o->has_sets ||
        o->every_ns[SIM_FAULT_COUNTER] || sim_below(&aside, 6) != 2)
        return;
    o->lease_count = (uint8_t)sim_between(&aside, 2, SIM_LEASES_MAX);
    o->client_count = (uint8_t)sim_between(&aside, 2, 4);
    o->worker_count = SIM_WORKERS_MAX;
    o->lock_count = 1;
    o->several_permille = 0;
    o->ttl_min_ms = o->ttl_max_ms / 2;
    o->hold_max_ns = sim_spread(&aside, 5, 1000) * RL_NS_PER_MS;
    o->think_max_ns = sim_spread(&aside, 1, 300) * RL_NS_PER_MS;
    /* Where nodes keep what they have, an answer can be compared with it. */
    keeps = sim_chance(&aside, 600);
    for (size_t i = 0; keeps && i < sizeof losses / sizeof losses[0]; i++)
        o->every_ns[losses[i]] = 0;
}

/*
 * Operators that evict holders, which may then be beside the next one: what was evicted must
 * stay so. Holders renew often, and requests of an eviction reach the nodes one long after the
 * other. Nodes keep their memory: an evicted value that a snapshot brings back says nothing.
 * Drawn aside as well.
 */
static void draw_breaks(struct sim_options *o, const struct sim_rng *rng)
{
    struct sim_rng aside = *rng;

    if (o->regime == SIM_REGIME_STEPS || o->regime == SIM_REGIME_ANYTHING || o->has_sets ||
        o->lease_count || sim_below(&aside, 16) != 7)
        return;
    o->break_permille = 300;
    o->node_count = sim_chance(&aside, 700) ? 3 : 5;
    o->client_count = 3;
    o->worker_count = SIM_WORKERS_MAX;
    o->try_permille = 900;
    o->renew_permille = 1000;
    o->young_permille = 0;
    o->several_permille = 0;
    o->lock_count = 1;
    o->max_ttl_ms = 8000;
    o->ttl_max_ms = sim_between(&aside, 300, 900);
    o->ttl_min_ms = o->ttl_max_ms / 2;
    o->hold_max_ns = 3 * RL_NS_PER_S;
    o->think_max_ns = sim_spread(&aside, 1, 50) * RL_NS_PER_MS;
    o->node_timeout_ns = sim_between(&aside, 10, 60) * RL_NS_PER_MS;
    o->spike_permille = (uint32_t)sim_between(&aside, 50, 300);
    memset(o->every_ns, 0, sizeof o->every_ns);
    o->every_ns[SIM_FAULT_SLOW] = sim_spread(&aside, 20, 200) * RL_NS_PER_MS;
    o->every_ns[SIM_FAULT_PARTITION] = sim_spread(&aside, 500, 3000) * RL_NS_PER_MS;
}

/* Half of the worlds have plain mutexes only, so that the others do not dilute
 * what they find. */
static void draw_uses(struct sim_options *o, struct sim_rng *rng)
{
    o->owner_count = (uint8_t)sim_between(rng, 2, SIM_OWNERS_MAX);
    o->fair_permille = (uint32_t)sim_below(rng, 3) * 500;
    o->try_permille = sim_chance(rng, 500) ? 333 : 50;
    if (sim_chance(rng, 450))
        return;
    if (sim_chance(rng, 250)) {
        o->lock_count = (uint8_t)sim_between(rng, 3, SIM_LOCKS_MAX);
        o->several_permille = 700;
    }
    for (int i = 0; i < SIM_LOCKS_MAX; i++) {
        o->slots[i] = (uint8_t)sim_between(rng, 1, SIM_SLOTS_MAX);
        if (!o->several_permille || sim_chance(rng, 200))
            o->use[i] = (uint8_t)sim_below(rng, SIM_USE_ANY + 1);
    }
}

void sim_options_draw(struct sim_options *options, struct sim_rng *rng)
{
    *options = (struct sim_options){.regime = draw_regime(rng)};
    draw_guard(options, rng);
    draw_size(options, rng);
    draw_times(options, rng);
    draw_network(options, rng);
    draw_faults(options, rng);
    options->fenced_permille = sim_chance(rng, 500) ? (uint32_t)sim_below(rng, 3) * 500 : 1000;
    options->renew_permille = (uint32_t)sim_below(rng, 3) * 400;
    options->young_permille = sim_chance(rng, 150) ? 400 : 0;
    draw_twilight(options, rng);
    draw_uses(options, rng);
    draw_relapse(options, rng);
    draw_bad_counters(options, rng);
    draw_sets(options, rng);
    draw_leases(options, rng);
    draw_breaks(options, rng);
    /* By what is drawn already, so that the other worlds stay as they are. */
    options->late_permille = options->hold_max_ns % 5 == 0 ? 300 : 0;
    options->calm_delay_ns = options->node_timeout_ns / 6;
    if (options->calm_delay_ns > options->ttl_min_ms * RL_NS_PER_MS / 24)
        options->calm_delay_ns = options->ttl_min_ms * RL_NS_PER_MS / 24;
}

uint8_t sim_server_count(const struct sim_options *o)
{
    return (uint8_t)(o->node_count + o->outsider_count +
                     o->elected_count * (o->group_size - (o->elected_count > 0)) +
                     o->elector_count);
}

/* What every such world can have, each in half of them. */
static void draw_trouble(struct sim_options *o, struct sim_rng *rng)
{
    static const struct {
        enum sim_fault fault;
        uint32_t permille;
        int64_t min_ms;
        int64_t max_ms;
    } troubles[] = {
        {SIM_FAULT_SPLIT, 600, 2000, 10000},       {SIM_FAULT_LAG, 500, 1000, 10000},
        {SIM_FAULT_NODE_PAUSE, 500, 1000, 10000},  {SIM_FAULT_NODE_RESTART, 350, 3000, 20000},
        {SIM_FAULT_CLIENT_PAUSE, 400, 500, 10000}, {SIM_FAULT_CLIENT_CRASH, 250, 2000, 20000},
        {SIM_FAULT_PARTITION, 400, 500, 5000},     {SIM_FAULT_SLOW, 350, 500, 5000},
        {SIM_FAULT_BREAK, 300, 500, 8000},         {SIM_FAULT_SCRIPT_FLUSH, 150, 1000, 8000},
        {SIM_FAULT_FLUSHALL, 80, 5000, 30000},
    };

    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        int64_t every_ms = sim_spread(rng, troubles[i].min_ms, troubles[i].max_ms);

        if (sim_chance(rng, troubles[i].permille))
            o->every_ns[troubles[i].fault] = every_ms * RL_NS_PER_MS;
    }
}

/*
 * Where a later term is used at all while the earlier one has not been forgotten by all:
 * what was counted in the one can meet what is counted in the other.
 */
static void draw_slow(struct sim_options *o, struct sim_rng *rng)
{
    o->is_slow = true;
    for (int i = 0; i < SIM_FAULT_COUNT; i++)
        if (sim_chance(rng, 600))
            o->every_ns[i] = 0;
    o->every_ns[SIM_FAULT_FAILOVER] = sim_between(rng, 5000, 12000) * RL_NS_PER_MS;
    if (sim_chance(rng, 600))
        o->every_ns[SIM_FAULT_SPLIT] = sim_between(rng, 4000, 12000) * RL_NS_PER_MS;
    o->max_ttl_ms = o->ttl_max_ms = sim_between(rng, 2300, 4000);
    o->ttl_min_ms = sim_between(rng, 1500, o->ttl_max_ms);
    o->hold_max_ns =
        (sim_chance(rng, 500) ? sim_spread(rng, 200, 15000) : 30000) * RL_NS_PER_MS;
    o->think_max_ns = sim_spread(rng, 50, 500) * RL_NS_PER_MS;
    o->client_count = (uint8_t)sim_between(rng, 2, 3);
    o->brief_count %= o->client_count;
    o->duration_ns = sim_between(rng, 30, 60) * RL_NS_PER_S;
    if (o->names_elector_twice)
        o->elector_count = 3;
}

/*
 * Servers whose times of day differ by seconds: what a replica has lives longer there than its
 * holder believes in it, and the holder, alive by other votes, comes late. The order of tokens
 * is not promised.
 */
static void draw_skewed(struct sim_options *o, struct sim_rng *rng)
{
    o->skew_ns = 4 * RL_NS_PER_S;
    o->fenced_permille = 0;
    o->elected_count = 1;
    o->max_ttl_ms = o->ttl_max_ms = o->ttl_min_ms = sim_between(rng, 2500, 3500);
    o->renew_permille = 1000;
    o->hold_max_ns = 30 * RL_NS_PER_S;
    o->every_ns[SIM_FAULT_FAILOVER] = sim_between(rng, 2000, 6000) * RL_NS_PER_MS;
    o->every_ns[SIM_FAULT_NODE_PAUSE] = 0;
    o->every_ns[SIM_FAULT_CLIENT_PAUSE] = 0;
    o->every_ns[SIM_FAULT_SPLIT] = sim_between(rng, 2000, 5000) * RL_NS_PER_MS;
}

/* Failovers as they should be: a hold whose TTL is long enough must not notice them. */
static void draw_gentle(struct sim_options *o)
{
    o->is_gentle = true;
    o->is_slow = false;
    o->node_count = o->elected_count = 1;
    /* A replica whose time of day is seconds ahead lets the key expire that much too early. */
    if (o->skew_ns > RL_NS_PER_S)
        o->skew_ns = 0;
    o->max_ttl_ms = o->ttl_max_ms = o->ttl_min_ms = 8000;
    o->hold_max_ns = 40 * RL_NS_PER_S;
    o->renew_permille = 1000;
    o->delay_max_ns = o->delay_min_ns;
    o->spike_permille = 0;
    o->turn_jitter_ns = 0;
    o->brief_count = 0;
    memset(o->every_ns, 0, sizeof o->every_ns);
    o->every_ns[SIM_FAULT_FAILOVER] = 15 * RL_NS_PER_S;
}

/*
 * A hold that has succeeded to a term is evicted there, and its client learns that and the
 * next term, where its key is still there, at once (E13). TTLs outlive two failovers.
 */
static void draw_elected_relapse(struct sim_options *o, struct sim_rng *rng)
{
    o->relapses = true;
    o->is_slow = false;
    o->max_ttl_ms = o->ttl_max_ms = sim_between(rng, 5500, 7000);
    o->ttl_min_ms = o->ttl_max_ms - 300;
    o->break_permille = 30;
    o->try_permille = 1000;
    o->brief_count = 0;
    memset(o->every_ns, 0, sizeof o->every_ns);
    o->every_ns[SIM_FAULT_FAILOVER] = sim_between(rng, 6000, 12000) * RL_NS_PER_MS;
    o->duration_ns = 60 * RL_NS_PER_S;
}

/* Operators that evict holders around failovers: what is final must stay so. */
static void draw_elected_breaks(struct sim_options *o, struct sim_rng *rng)
{
    o->break_permille = (uint32_t)sim_between(rng, 200, 600);
    o->node_count = o->elected_count = 1;
    o->client_count = 3;
    o->worker_count = 2;
    o->lock_count = 1;
    o->renew_permille = 1000;
    o->hold_max_ns = 30 * RL_NS_PER_S;
    o->ttl_min_ms = o->ttl_max_ms - 300;
    o->think_max_ns = sim_spread(rng, 50, 500) * RL_NS_PER_MS;
    o->every_ns[SIM_FAULT_FAILOVER] = sim_spread(rng, 1500, 8000) * RL_NS_PER_MS;
    if (sim_chance(rng, 700))
        o->every_ns[SIM_FAULT_LAG] = sim_spread(rng, 500, 3000) * RL_NS_PER_MS;
    /* What came meanwhile, of nodes and electors, is read in one turn. */
    if (sim_chance(rng, 700))
        o->every_ns[SIM_FAULT_CLIENT_PAUSE] = sim_spread(rng, 100, 1000) * RL_NS_PER_MS;
    if (sim_chance(rng, 250))
        draw_elected_relapse(o, rng);
}

/*
 * Values that several clients renew and end: a client that has adopted one succeeds to a later
 * term by the proofs that it has itself. Drawn aside as well.
 */
static void draw_elected_leases(struct sim_options *o, const struct sim_rng *rng)
{
    struct sim_rng aside = *rng;

    if (sim_below(&aside, 8) != 5)
        return;
    o->lease_count = (uint8_t)sim_between(&aside, 1, 3);
    o->client_count = (uint8_t)sim_between(&aside, 2, 3);
    o->worker_count = SIM_WORKERS_MAX;
    o->brief_count = 0;
    o->max_ttl_ms = o->ttl_max_ms = sim_between(&aside, 3000, 7000);
    o->ttl_min_ms = o->ttl_max_ms - sim_between(&aside, 0, 1000);
    o->think_max_ns = sim_spread(&aside, 50, 1000) * RL_NS_PER_MS;
    /* Some ends are final before the next failover, and some are not. */
    o->every_ns[SIM_FAULT_FAILOVER] = sim_between(&aside, 4000, 15000) * RL_NS_PER_MS;
    o->duration_ns = 60 * RL_NS_PER_S;
    if (sim_chance(&aside, 700))
        o->node_count = o->elected_count = 1;
}

/* Electors that are behind a server that was demoted and promoted again (E5). Drawn
 * aside as well. */
static void draw_swings(struct sim_options *o, const struct sim_rng *rng)
{
    struct sim_rng aside = *rng;

    if (o->lease_count || sim_below(&aside, 16) != 11)
        return;
    o->swings = true;
    o->is_slow = false;
    o->node_count = o->elected_count = 1;
    o->group_size = 2;
    o->max_ttl_ms = o->ttl_max_ms = sim_between(&aside, 2300, 5000);
    o->ttl_min_ms = o->ttl_max_ms / 2;
    o->renew_permille = 1000;
    o->hold_max_ns = 20 * RL_NS_PER_S;
    o->every_ns[SIM_FAULT_FAILOVER] = 10 * RL_NS_PER_S;
    o->every_ns[SIM_FAULT_NODE_RESTART] = 0;
}

/* A plain node behind an address with a failover, of which the client knows
 * nothing (G1, E7). */
static void draw_promoted(struct sim_options *o, struct sim_rng *rng)
{
    o->regime = SIM_REGIME_DEFAULT;
    o->guard = RL_GUARD_DEFAULT;
    o->node_count = sim_chance(rng, 500) ? 1 : 3;
    o->client_count = 3;
    o->worker_count = o->lock_count = 1;
    draw_times(o, rng);
    draw_network(o, rng);
    o->max_ttl_ms = o->ttl_max_ms = sim_between(rng, 1000, 4000);
    o->ttl_min_ms = o->ttl_max_ms / 2;
    o->hold_max_ns = 3 * RL_NS_PER_S;
    o->think_max_ns = 200 * RL_NS_PER_MS;
    o->duration_ns = 30 * RL_NS_PER_S;
    o->renew_permille = 500;
    o->try_permille = 300;
    o->brief_count = 1;
    o->promoted_permille = 700;
    o->every_ns[SIM_FAULT_NODE_RESTART] = sim_between(rng, 2000, 10000) * RL_NS_PER_MS;
    o->calm_delay_ns = o->node_timeout_ns / 6;
}

void sim_options_draw_elected(struct sim_options *o, struct sim_rng *rng)
{
    bool goes_back = sim_chance(rng, 60);

    *o = (struct sim_options){0};
    if (sim_chance(rng, 50)) {
        draw_promoted(o, rng);
        return;
    }

    *o = (struct sim_options){.regime = goes_back ? SIM_REGIME_BACK : SIM_REGIME_ELECTED};
    o->guard = RL_GUARD_STRICT;
    o->node_count = sim_chance(rng, 650) ? 1 : 3;
    o->elected_count = (uint8_t)(o->node_count == 1 ? 1 : sim_between(rng, 1, 3));
    o->group_size = (uint8_t)(o->elected_count < 3 && sim_chance(rng, 400) ? 3 : 2);
    o->elector_count = sim_chance(rng, 800) ? 3 : 5;
    o->names_elector_twice = sim_chance(rng, 250);
    o->client_count = (uint8_t)sim_between(rng, 2, 4);
    o->worker_count = (uint8_t)(sim_chance(rng, 200) ? 2 : 1);
    o->lock_count = 1;
    o->brief_count = (uint8_t)(sim_chance(rng, 350) ? sim_between(rng, 1, 2) : 0);
    o->has_sets = true;
    draw_times(o, rng);
    draw_network(o, rng);
    o->skew_ns = sim_between(rng, 0, 900) * RL_NS_PER_MS;
    /* Longer than electors vouch: below that there is no succession. */
    o->max_ttl_ms = sim_between(rng, 2300, 7000);
    o->ttl_max_ms = o->max_ttl_ms;
    o->ttl_min_ms = sim_between(rng, 500, o->ttl_max_ms);
    o->hold_max_ns = sim_spread(rng, 100, 20000) * RL_NS_PER_MS;
    o->think_max_ns = sim_spread(rng, 100, 2000) * RL_NS_PER_MS;
    /* A quarantine is long, and there is no need to knock at every moment of it. */
    o->retry_min_ns = sim_between(rng, 50, 200) * RL_NS_PER_MS;
    o->retry_max_ns = sim_between(rng, 200, 800) * RL_NS_PER_MS;
    o->duration_ns = sim_between(rng, 20, 60) * RL_NS_PER_S;
    o->fenced_permille = (uint32_t)sim_below(rng, 3) * 500;
    o->renew_permille = sim_chance(rng, 700) ? 1000 : 500;
    o->try_permille = sim_chance(rng, 500) ? 300 : 900;
    o->every_ns[SIM_FAULT_FAILOVER] = sim_spread(rng, 1500, 25000) * RL_NS_PER_MS;
    draw_trouble(o, rng);
    if (sim_chance(rng, 600))
        draw_slow(o, rng);
    if (o->node_count == 3 && sim_chance(rng, 400))
        draw_skewed(o, rng);
    if (goes_back)
        o->every_ns[SIM_FAULT_BACKWARDS] = 5 * RL_NS_PER_S;
    else if (sim_chance(rng, 80))
        draw_gentle(o);
    else if (sim_chance(rng, 250))
        draw_elected_breaks(o, rng);
    else {
        draw_elected_leases(o, rng);
        draw_swings(o, rng);
    }
    o->calm_delay_ns = o->node_timeout_ns / 6;
    if (o->calm_delay_ns > o->ttl_min_ms * RL_NS_PER_MS / 24)
        o->calm_delay_ns = o->ttl_min_ms * RL_NS_PER_MS / 24;
}
