/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each case runs against a library in which the rule of its name is broken (CMakeLists.txt),
 * and passes when the load of the real tests sees it.
 */
#include "check.h"
#include "crowd.h"
#include "handover.h"
#include "hog.h"
#include "queue_load.h"
#include "queue_local_load.h"
#include "wakeup_load.h"

#include <redlock.h>

#include <stdio.h>

enum { LIMIT_MS = 4500, EXPIRY_SLACK_MS = CHECK_SANITIZED ? 600 : 200 };

CASE(head_rule, "Without the head rule a fair queue is overtaken.")
{
    struct crowd_terms terms = {
        .processes = 16, .acquisitions = 400, .flags = REDLOCK_FAIR, .limit_ms = 20000};
    int bypasses = crowd_bypasses(crowd_run(&terms));
    printf("# %d bypasses\n", bypasses);
    CHECK(bypasses > 0);
}

CASE(liveness, "Without the eviction of dead waiters a dead head blocks the queue.")
{
    CHECK_INT(NOT_SERVED, after_dead_head_ms(ALL_UP, LIMIT_MS));
}

CASE(expiry_timer,
     "Without a timer from the key's remaining time a dead holder is noticed late.")
{
    int64_t took_ms = after_dead_holder_ms(ALL_UP, LIMIT_MS);
    printf("# served %lld ms after the end of the TTL\n", (long long)took_ms);
    CHECK(took_ms == NOT_SERVED || took_ms > EXPIRY_SLACK_MS);
}

CASE(minority_leaves, "A waiter that stays in the queue without a majority blocks the next.")
{
    CHECK_INT(NOT_SERVED, behind_a_minority_ms(LIMIT_MS));
}

CASE(rollback, "Without the rollback failed attempts leave their keys on the nodes.")
{
    CHECK(left_by_failed_rounds(LIMIT_MS) > 0);
}

CASE(wake, "Without a message from the release a handover takes as long as a timer.")
{
    struct handover h = handover_measure(ALL_UP, 20, 2500);
    /* Of the few that it comes to, those at the start may collide and be quick. */
    CHECK(h.count == 0 || h.worst_us > 3 * h.acquire_us);
    CHECK(h.count == 0 || h.worst_us > 100000);
}

CASE(leaving, "Waiters that gave up stay in the queue when they do not leave it.")
{
    CHECK(places_after_timeout() > 0);
}

CASE(one_place, "When every waiter is sent to the nodes, one client fills the queue.")
{
    CHECK(local_queue_run(20).longest > 1);
}

CASE(yielding,
     "A waiter starves when a client may ask again at once after a contended release.")
{
    CHECK_INT(0, hog_beside_asker(0, 1, 3000));
}

CASE(late_subscribers,
     "Wake-ups are lost when a waiter does not look once after it has subscribed.")
{
    /* More than what the test forgives, however long it takes. */
    CHECK_INT(2, wakeup_lost(REDLOCK_FAIR, 4 * WAKEUP_ROUNDS, 2));
}
