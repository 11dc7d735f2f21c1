/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each case runs against a library in which a rule of the kinds is broken (CMakeLists.txt), and
 * passes when the load of the real tests sees what the rule is there to prevent.
 */
#include "check.h"
#include "client.h"
#include "kinds.h"
#include "reentrant_load.h"
#include "semaphore_load.h"
#include "shared_load.h"

enum { TRIES = 3 };

CASE(counter,
     "When nested holds are only counted, a failed inner acquire releases the outer hold.")
{
    /* As long as nothing is lost, counting does: it is the losses that break it. */
    CHECK_INT(0, reentrant_load(0, 40, seed_choose(), false).intrusions);
    int intrusions = 0;
    for (int i = 0; i < TRIES && intrusions == 0; i++)
        intrusions = reentrant_load(0, 40, seed_choose(), true).intrusions;
    CHECK(intrusions > 0);
}

CASE(per_node, "When each node admits any k holders, three hold a semaphore of two.")
{
    CHECK_INT(3, semaphore_partitioned());
}

CASE(no_intent, "Readers that ignore a waiting writer keep it waiting for ever.")
{
    struct shared_outcome o = {0};
    /* Readers that a busy machine keeps from overlapping let the writer in, but late. */
    for (int i = 0; i < TRIES && o.readers <= 20; i++)
        o = shared_stream(3000);
    CHECK(o.readers > 20);
}

CASE(partial, "When several names are granted in part, two clients hold one name.")
{
    int conflicts = 0;
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
