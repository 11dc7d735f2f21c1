/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A crowd of processes on one name: every one of them is served, in the order of the queue
 * where that was requested, and at a price per acquisition that does not grow with the crowd.
 */
#include "crowd.h"
#include "check.h"
#include "clock.h"

#include <redlock.h>

enum {
    PROCESSES = CHECK_SANITIZED ? 16 : 64,
    TURNS = CHECK_SANITIZED ? 21 : 24, /* per process */
    TURNS_MIN = 4,     /* in the time limit: without messages a turn takes a second */
    REQUESTS_MAX = 80, /* per acquisition, over five nodes */
    LIMIT_MS = 100000,
};

static struct crowd *run(uint32_t flags, enum trouble trouble, int turns)
{
    struct crowd_terms terms = {
        .processes = PROCESSES,
        .acquisitions = PROCESSES * turns,
        .flags = flags,
        .trouble = trouble,
        .limit_ms = LIMIT_MS,
    };
    struct crowd *crowd = crowd_run(&terms);
    /* How many acquisitions there is time for is the machine's affair. */
    CHECK_BETWEEN(PROCESSES * TURNS_MIN, terms.acquisitions + PROCESSES, crowd->served);
    CHECK(crowd->requests < (long long)REQUESTS_MAX * crowd->served);
    CHECK_BETWEEN(0, SOON_MS, crowd_longest_idle_ms(crowd)); /* longer is a stall */
    return crowd;
}

/* How many of the records say when they were queued: without them the order proves nothing. */
static int queued(const struct crowd *crowd)
{
    int count = 0;
    for (int i = 0; i < crowd->count; i++)
        count += crowd->record[i].queued_ns != 0;
    return count;
}

static void serve_in_order(enum trouble trouble, int turns)
{
    struct crowd *crowd = run(REDLOCK_FAIR, trouble, turns);
    int least, most;
    crowd_shares(crowd, &least, &most);
    CHECK(queued(crowd) > crowd->count / 2);
    CHECK_INT(0, crowd_bypasses(crowd));
    CHECK(least >= TURNS_MIN - 1);
}

CASE_OF(fair, "Of 64 fair processes none overtakes a waiter that was queued before it.",
        serve_in_order(ALL_UP, TURNS));

CASE_OF(fair_with_a_node_killed,
        "With one of five nodes down no fair process overtakes a queued waiter.",
        serve_in_order(ONE_KILLED, TURNS));

CASE_OF(fair_with_a_node_hung,
        "With one of five nodes hung no fair process overtakes a queued waiter.",
        serve_in_order(ONE_HUNG, TURNS));

static void serve_all(enum trouble trouble, int turns)
{
    struct crowd *crowd = run(0, trouble, turns);
    int least, most;
    crowd_shares(crowd, &least, &most);
    CHECK(least >= 3);
    /* Overtaking is allowed, staying ahead is not. */
    CHECK_BETWEEN(0, 6 * PROCESSES, crowd_most_others(crowd));
}

CASE_OF(nobody_starves,
        "Without REDLOCK_FAIR newcomers may overtake, but every waiter is served.",
        serve_all(ALL_UP, TURNS));

CASE_OF(nobody_starves_with_a_node_killed,
        "With one of five nodes down every waiter is served, fair or not.",
        serve_all(ONE_KILLED, TURNS));
