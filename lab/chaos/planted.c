/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs on a Sentinel group, or a cluster, with one rule of docs/elected.md switched off in all
 * workers, each with the faults that this rule is for. The checker has to find two holders.
 */
#include "run.h"

#include "check.h"
#include "lab/planted/planted.h"

static void expect_two_holders_of(int votes, const char *rule, enum trap trap)
{
    const struct verdict *verdict;
    planted_break(rule);
    verdict =
        chaos_run((struct schedule){.seed = chaos_seed(),
                                    .regime = REGIME_PLANTED,
                                    .elected = true,
                                    .votes = votes,
                                    .node_timeout_ms = LONG_TIMEOUT_MS,
                                    .trap = trap,
                                    .max_ttl_ms = check_setting("CHAOS_MAX_TTL", GROUP_TTL_MS)},
                  check_setting("CHAOS_SECONDS", 60));
    CHECK(verdict->breaches[BREACH_DOUBLE] > 0);
}

static void expect_two_holders(const char *rule, enum trap trap)
{
    expect_two_holders_of(0, rule, trap);
}

CASE_OF(planted_vouch, "Where grants count whatever the electors say (E4), two hold a lock.",
        expect_two_holders("VOUCHED", TRAP_ISOLATED));

CASE_OF(planted_renewal_vouch,
        "Where renewals count whatever the electors say (E4), two hold a lock.",
        expect_two_holders("RENEWAL_VOUCHED", TRAP_LATE_TURN));

CASE_OF(planted_majority, "Where one elector is enough (E2, E4), two hold a lock.",
        expect_two_holders("ELECTOR_MAJORITY", TRAP_SPLIT));

CASE_OF(planted_stale_vouch, "Where electors vouch for ever (E4), two hold a lock.",
        expect_two_holders("VOUCH_FRESH", TRAP_ISOLATED));

CASE_OF(planted_quarantine,
        "Where the quarantine does not last for max_ttl (E6), two hold a lock.",
        expect_two_holders("GUARD_TIME", TRAP_LATE_TURN));

CASE_OF(planted_heir, "Where any key that is found counts (E9), two hold a lock.",
        expect_two_holders("SUCCESSION_IN_TIME", TRAP_LATE_HEIR));

CASE_OF(planted_found,
        "Where a key counts in a term that its hold has no proof of (E8), two hold a lock.",
        expect_two_holders("RENEWAL_IN_TERM", TRAP_LATE_HEIR));

CASE_OF(planted_cluster_vouch,
        "Where grants on a cluster count whatever the electors say (E4), two hold a lock.",
        expect_two_holders_of(1, "VOUCHED", TRAP_TAKEOVER));

CASE_OF(planted_cluster_votes,
        "Where that is so of two votes of three at once (E1, E4), two hold a lock.",
        expect_two_holders_of(3, "VOUCHED", TRAP_TWO));

CASE_OF(planted_cluster_majority,
        "Where half of the nodes of the cluster are enough (E2, E4), two hold a lock.",
        expect_two_holders_of(1, "ELECTOR_MAJORITY", TRAP_SPLIT));

CASE_OF(planted_cluster_quarantine,
        "Where the quarantine on a cluster does not last for max_ttl (E6), two hold a lock.",
        expect_two_holders_of(1, "GUARD_TIME", TRAP_TAKEOVER));
