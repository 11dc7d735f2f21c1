/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/quorum.h"

#include "core/rules.h"
#include "core/time.h"

#define DRIFT_FIXED_NS (2 * RL_NS_PER_MS)

uint8_t rl_quorum(uint8_t node_count)
{
    return (uint8_t)(node_count / 2 + RL_RULE(MAJORITY));
}

bool rl_tally_vote(struct rl_tally *tally, uint8_t node, bool yes)
{
    uint16_t bit = (uint16_t)(1u << node);

    if ((tally->yes | tally->no) & bit)
        return false;
    if (yes) {
        tally->yes |= bit;
        tally->yes_count++;
    } else {
        tally->no |= bit;
        tally->no_count++;
    }
    return true;
}

void rl_tally_reconsider(struct rl_tally *tally, uint8_t node)
{
    uint16_t bit = (uint16_t)(1u << node);

    if (tally->no & bit) {
        tally->no &= (uint16_t)~bit;
        tally->no_count--;
    }
}

void rl_tally_revoke(struct rl_tally *tally, uint8_t node)
{
    uint16_t bit = (uint16_t)(1u << node);

    if (tally->yes & bit) {
        tally->yes &= (uint16_t)~bit;
        tally->yes_count--;
    }
    rl_tally_vote(tally, node, false);
}

enum rl_verdict rl_tally_verdict(const struct rl_tally *tally)
{
    if (tally->yes_count >= tally->quorum)
        return RL_TALLY_WON;
    if (tally->node_count - tally->no_count < tally->quorum)
        return RL_TALLY_LOST;
    return RL_TALLY_PENDING;
}

uint16_t rl_tally_pending(const struct rl_tally *tally)
{
    uint16_t all = (uint16_t)((1u << tally->node_count) - 1);

    return (uint16_t)(all & ~(tally->yes | tally->no));
}

int64_t rl_drift_ns(int64_t ttl_ns, uint32_t drift_ppm)
{
    if (!RL_RULE(DRIFT))
        return 0;
    /* A day of ttl (8.64e13 ns) divided first: no overflow for any ppm up to 100 %. */
    return ttl_ns / 1000000 * drift_ppm + DRIFT_FIXED_NS;
}

int64_t rl_validity_end_ns(int64_t start_ns, int64_t ttl_ns, uint32_t drift_ppm)
{
    return start_ns + ttl_ns - rl_drift_ns(ttl_ns, drift_ppm);
}
