/* SPDX-License-Identifier: BSD-2-Clause */
/* The tally against a deliberately dumb twin, and the arithmetic of validity by table. */
#include "check.h"

#include "core/lock.h"

#include <stdlib.h>

enum { SILENT, YES, NO, ANSWERS };

/*
 * The twin knows no formula for a lost round: it fills in what is missing in the best and in
 * the worst way and counts.
 */
static enum rl_verdict dumb_verdict(const int *answer, int node_count)
{
    int worst = 0, best = 0;
    for (int i = 0; i < node_count; i++) {
        worst += answer[i] == YES;
        best += answer[i] != NO;
    }
    if (2 * worst > node_count)
        return RL_TALLY_WON;
    return 2 * best > node_count ? RL_TALLY_PENDING : RL_TALLY_LOST;
}

static void check_answers(const int *answer, int node_count)
{
    struct rl_tally tally = {
        .node_count = (uint8_t)node_count,
        .quorum = rl_quorum((uint8_t)node_count),
    };
    int so_far[16] = {SILENT};
    for (int i = 0; i < node_count; i++) {
        if (answer[i] == SILENT)
            continue;
        so_far[i] = answer[i];
        CHECK(rl_tally_vote(&tally, (uint8_t)i, answer[i] == YES));
        CHECK_INT(dumb_verdict(so_far, node_count), rl_tally_verdict(&tally));
        /* A second vote of the same node is none, whatever it says. */
        CHECK(!rl_tally_vote(&tally, (uint8_t)i, answer[i] != YES));
        CHECK_INT(dumb_verdict(so_far, node_count), rl_tally_verdict(&tally));
    }
    for (int i = 0; i < node_count; i++)
        CHECK_INT(answer[i] == SILENT, (rl_tally_pending(&tally) >> i) & 1);
    CHECK_INT(0, rl_tally_pending(&tally) >> node_count);
}

CASE(every_round_up_to_nine_nodes,
     "The tally agrees with its twin in all 3^N rounds of 1 to 9 nodes.")
{
    for (int node_count = 1; node_count <= 9; node_count++) {
        int total = 1, answer[16];
        for (int i = 0; i < node_count; i++)
            total *= ANSWERS;
        for (int code = 0; code < total; code++) {
            for (int i = 0, rest = code; i < node_count; i++, rest /= ANSWERS)
                answer[i] = rest % ANSWERS;
            check_answers(answer, node_count);
        }
    }
}

CASE(random_rounds_up_to_fifteen_nodes,
     "The tally agrees with its twin in random rounds of 10 to 15 nodes.")
{
    srandom(1);
    for (int n = 0; n < 100000; n++) {
        int answer[16], node_count = 10 + n % 6;
        for (int i = 0; i < node_count; i++)
            answer[i] = (int)(random() % ANSWERS);
        check_answers(answer, node_count);
    }
}

CASE(two_majorities_share_a_node, "Two disjoint sets of nodes are never both a majority.")
{
    for (int n = 1; n <= 15; n++) {
        CHECK(2 * rl_quorum((uint8_t)n) > n);
        CHECK(2 * (rl_quorum((uint8_t)n) - 1) <= n); /* and it is the smallest such number */
    }
}

CASE(validity_by_table, "Drift is ttl * ppm / 10^6 + 2 ms, and a day does not overflow.")
{
    static const struct {
        int64_t ttl_ms;
        uint32_t ppm;
        int64_t drift_us;
    } table[] = {
        {1000, 10000, 12000},         {10, 10000, 2100},
        {60000, 10000, 602000},       {1000, 0, 2000},
        {86400000, 10000, 864002000}, {86400000, 500000, 43200002000},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        int64_t ttl_ns = table[i].ttl_ms * RL_NS_PER_MS;
        CHECK_INT(5000 + ttl_ns - table[i].drift_us * 1000,
                  rl_validity_end_ns(5000, ttl_ns, table[i].ppm));
    }
}
