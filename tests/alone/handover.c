/* SPDX-License-Identifier: BSD-2-Clause */
/* From a holder's release to the next waiter's return: round trips, not polling. */
#include "check.h"
#include "clock.h"
#include "loads.h"
#include "pulse.h"

enum { HANDOVERS = 40, WAY_MS = 10, LIMIT_MS = 15000 };

/* A release reaches the nodes, their messages the waiter; its attempt goes and returns. */
static void hand_over(enum trouble trouble)
{
    struct handover h = handover_measure(trouble, WAY_MS, HANDOVERS, LIMIT_MS);
    CHECK(h.count > HANDOVERS / 2);
    CHECK(h.plain_us >= 2 * WAY_MS * 1000);
    CHECK_BETWEEN(0, 5 * h.plain_us / 2, h.median_us);
}

CASE_OF(quick, "A handover takes at most 2.5 uncontended acquires.", hand_over(ALL_UP));

CASE_OF(quick_with_a_node_killed,
        "With a node down a handover takes at most 2.5 uncontended acquires.",
        hand_over(ONE_KILLED));

CASE_OF(quick_with_a_node_hung,
        "With a node hung a handover takes at most 2.5 uncontended acquires.",
        hand_over(ONE_HUNG));
