/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each case switches a rule off (lab/planted), and passes when the load of the real tests sees
 * what the rule is there to prevent: a test that no broken library fails proves nothing about
 * the real one.
 */
#include "check.h"
#include "client.h"
#include "crowd.h"
#include "kinds.h"
#include "lab/planted/planted.h"
#include "loads.h"

#include <redlock.h>

#include <stdio.h>

enum { LIMIT_MS = 4500, EXPIRY_SLACK_MS = 200, TRIES = 3 };

CASE(head_rule, "Without the head rule a fair queue is overtaken.")
{
    struct crowd_terms terms;
    int bypasses;
    planted_break("QUEUE_HEAD");
    terms = (struct crowd_terms){
        .processes = 16, .acquisitions = 400, .flags = REDLOCK_FAIR, .limit_ms = 20000};
    bypasses = crowd_bypasses(crowd_run(&terms));
    printf("# %d bypasses\n", bypasses);
    CHECK(bypasses > 0);
}

CASE(liveness, "Without the eviction of dead waiters a dead head blocks the queue.")
{
    planted_break("LIVENESS");
    CHECK_INT(NOT_SERVED, after_dead_head_ms(ALL_UP, LIMIT_MS));
}

CASE(expiry_timer,
     "Without a timer from the key's remaining time a dead holder is noticed late.")
{
    int64_t took_ms;
    planted_break("EXPIRY_TIMER");
    took_ms = after_dead_holder_ms(ALL_UP, LIMIT_MS);
    printf("# served %lld ms after the end of the TTL\n", (long long)took_ms);
    CHECK(took_ms == NOT_SERVED || took_ms > EXPIRY_SLACK_MS);
}

CASE(minority_leaves, "A waiter that stays in the queue without a majority blocks the next.")
{
    planted_break("QUEUE_NEEDS_QUORUM");
    CHECK_INT(NOT_SERVED, behind_a_minority_ms(LIMIT_MS));
}

CASE(rollback, "Without the rollback failed attempts leave their keys on the nodes.")
{
    planted_break("QUEUE_ROLLBACK");
    CHECK(left_by_failed_rounds(LIMIT_MS) > 0);
}

CASE(wake, "Without a message from the release a handover takes as long as a timer.")
{
    struct handover h;
    planted_break("WAKE");
    h = handover_measure(ALL_UP, 0, 20, 2500);
    /* Of the few that it comes to, those at the start may collide and be quick. */
    CHECK(h.count == 0 || h.worst_us > 3 * h.acquire_us);
    CHECK(h.count == 0 || h.worst_us > 100000);
}

CASE(leaving, "Waiters that gave up stay in the queue when they do not leave it.")
{
    planted_break("LEAVING");
    CHECK(places_after_timeout() > 0);
}

CASE(one_place, "When every waiter is sent to the nodes, one client fills the queue.")
{
    planted_break("ONE_PLACE");
    CHECK(local_queue_run(20).longest > 1);
}

CASE(yielding,
     "A waiter starves when a client may request again at once after a contended release.")
{
    planted_break("YIELDING");
    CHECK_INT(0, hog_beside_asker(0, 1, 3000));
}

CASE(late_subscribers,
     "Wake-ups are lost when a waiter does not look once after it has subscribed.")
{
    planted_break("LATE_LOOK");
    /* More than what the test forgives, however long it takes. */
    CHECK_INT(2, wakeup_lost(REDLOCK_FAIR, 4 * WAKEUP_ROUNDS, 2));
}

CASE(counter,
     "When nested holds are only counted, a failed inner acquire releases the outer hold.")
{
    int intrusions = 0;
    planted_break("HOLD_IDS");
    /* As long as nothing is lost, counting does: it is the losses that break it. */
    CHECK_INT(0, reentrant_load(0, 40, seed_choose(), false).intrusions);
    for (int i = 0; i < TRIES && intrusions == 0; i++)
        intrusions = reentrant_load(0, 40, seed_choose(), true).intrusions;
    CHECK(intrusions > 0);
}

CASE(per_node, "When each node admits any k holders, three hold a semaphore of two.")
{
    planted_break("COMMON_SLOT");
    CHECK_INT(3, semaphore_partitioned());
}

CASE(no_intent, "Readers that ignore a waiting writer keep it waiting for ever.")
{
    struct shared_outcome o = {0};
    planted_break("WRITER_FIRST");
    /* Readers that a busy machine keeps from overlapping let the writer in, but late. */
    for (int i = 0; i < TRIES && o.readers <= 20; i++)
        o = shared_stream(3000);
    CHECK(o.readers > 20);
}

CASE(partial, "When several names are granted in part, two clients hold one name.")
{
    int conflicts = 0;
    planted_break("ALL_OR_NOTHING");
    for (int i = 0; i < TRIES && conflicts == 0; i++) {
        struct load *l = load_run(&(struct load_spec){
            .nodes = 3,
            .workers = 8,
            .run_ms = 1000,
            .seed = seed_choose(),
            .wish = load_wish_any_names,
        });
        conflicts = holds_doubles(l->holds);
    }
    CHECK(conflicts > 0);
}
