/* SPDX-License-Identifier: BSD-2-Clause */
/* The schedule of faults that a seed draws. */
#include "check.h"
#include "checker.h"

#include <string.h>

static struct schedule drawn(uint64_t seed, enum regime regime)
{
    static struct schedule s;
    s = (struct schedule){.seed = seed, .regime = regime, .network = true, .netem = true};
    s.faults_ms = 116000;
    schedule_draw(&s);
    return s;
}

CASE(same_seed_same_faults,
     "A seed always gives the same faults, and another seed gives others.")
{
    static struct schedule a, b, other;
    a = drawn(11, REGIME_DEFAULT);
    b = drawn(11, REGIME_DEFAULT);
    other = drawn(12, REGIME_DEFAULT);
    CHECK(a.count > 50);
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    CHECK(memcmp(a.fault, other.fault, sizeof a.fault) != 0);
}

static int broken_nodes_at(const struct schedule *s, int64_t at_ms)
{
    unsigned int nodes = 0;
    for (size_t i = 0; i < s->count; i++)
        if (!fault_hits_client(s->fault[i].kind) && s->fault[i].start_ms <= at_ms &&
            at_ms < s->fault[i].whole_ms)
            nodes |= 1u << s->fault[i].target;
    return __builtin_popcount(nodes);
}

static bool is_outage(const struct schedule *s, int64_t at_ms)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->fault[i].kind >= FAULT_OUTAGE_FREEZE && s->fault[i].start_ms <= at_ms &&
            at_ms < s->fault[i].whole_ms)
            return true;
    return false;
}

CASE(only_a_minority, "Outside of an outage at most two of five nodes are broken at a time.")
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct schedule s = drawn(seed, seed % 2 ? REGIME_STRICT : REGIME_DEFAULT);
        for (size_t i = 0; i < s.count; i++) {
            CHECK(s.fault[i].end_ms <= s.faults_ms);
            CHECK(i == 0 || s.fault[i - 1].start_ms <= s.fault[i].start_ms);
            CHECK(seed % 2 || s.fault[i].kind != FAULT_FLUSH);
            if (!is_outage(&s, s.fault[i].start_ms))
                CHECK_BETWEEN(0, 2, broken_nodes_at(&s, s.fault[i].start_ms));
        }
    }
}

CASE(clocks_are_set_alone, "No other fault is active while a clock is set, nor shortly after.")
{
    size_t steps = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct schedule s = drawn(seed, REGIME_DEFAULT);
        for (size_t i = 0; i < s.count; i++)
            for (size_t j = 0; s.fault[i].kind == FAULT_CLOCK && j < s.count; j++) {
                steps += i == j;
                CHECK(i == j || s.fault[j].end_ms < s.fault[i].start_ms ||
                      s.fault[j].start_ms >= s.fault[i].end_ms + BLIND_MS);
            }
    }
    CHECK(steps > 40);
}

static struct schedule drawn_of(int votes, uint64_t seed, bool network, enum trap trap)
{
    static struct schedule s;
    s = (struct schedule){.seed = seed,
                          .regime = REGIME_STRICT,
                          .network = network,
                          .elected = true,
                          .votes = votes,
                          .node_timeout_ms = 1000,
                          .trap = trap,
                          .max_ttl_ms = 3000,
                          .faults_ms = 116000};
    schedule_draw(&s);
    return s;
}

static struct schedule drawn_failovers(uint64_t seed, bool network, enum trap trap)
{
    return drawn_of(0, seed, network, trap);
}

CASE(failovers_of_a_seed,
     "A seed gives the same faults of a Sentinel group, in order, and all end within the run.")
{
    static struct schedule a, b;
    a = drawn_failovers(11, true, TRAP_ANY);
    b = drawn_failovers(11, true, TRAP_ANY);
    CHECK(a.count > 20);
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    for (size_t i = 0; i < a.count; i++) {
        CHECK(a.fault[i].end_ms <= a.faults_ms);
        CHECK(i == 0 || a.fault[i - 1].start_ms <= a.fault[i].start_ms);
    }
}

CASE(failovers_without_network, "Without namespaces nothing is cut off.")
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct schedule s = drawn_failovers(seed, false, TRAP_ANY);
        CHECK(s.count > 20);
        for (size_t i = 0; i < s.count; i++)
            CHECK(s.fault[i].kind != FAULT_CUT_MASTER && s.fault[i].kind != FAULT_CUT_SIDE);
    }
}

CASE(every_trap,
     "Each trap alone has faults, and with every one of them the master is deposed.")
{
    static const int kinds[] = {0, 1, 3}; /* a Sentinel group, and clusters of so many votes */
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int trap = TRAP_ANY + 1; trap < TRAP_COUNT; trap++) {
            struct schedule s;
            int deposed = 0;
            if (!trap_fits(trap, kinds[k]))
                continue;
            s = drawn_of(kinds[k], 3, true, (enum trap)trap);
            for (size_t i = 0; i < s.count; i++) {
                int kind = s.fault[i].kind;
                deposed += (kind >= FAULT_FAILOVER && kind <= FAULT_CUT_MASTER) ||
                           kind == FAULT_MIGRATE;
                CHECK(s.fault[i].vote < (kinds[k] > 0 ? kinds[k] : 1));
            }
            CHECK(deposed > 3);
        }
}
