/* SPDX-License-Identifier: BSD-2-Clause */
/* From a holder's release to the next waiter's return: round trips, not polling. */
#include "handover.h"
#include "check.h"

enum { HANDOVERS = 300, LIMIT_MS = 15000, TIMES = 3, RUNS = 3 };

/* A starved machine only ever adds: what the library does itself shows in the best run. */
static void hand_over(enum trouble trouble)
{
    for (int i = 1;; i++) {
        struct handover h = handover_measure(trouble, HANDOVERS, LIMIT_MS);
        CHECK(h.count > HANDOVERS / 2);
        if (h.median_us <= TIMES * h.plain_us)
            return;
        if (i == RUNS)
            CHECK_BETWEEN(0, TIMES * h.plain_us, h.median_us);
    }
}

CASE(quick, "A handover takes at most three times as long as an uncontended acquire.")
{
    hand_over(ALL_UP);
}

CASE(quick_with_a_node_killed,
     "With one of five nodes down a handover takes at most three uncontended acquires.")
{
    hand_over(ONE_KILLED);
}

CASE(quick_with_a_node_hung,
     "With one of five nodes hung a handover takes at most three uncontended acquires.")
{
    hand_over(ONE_HUNG);
}
