/* SPDX-License-Identifier: BSD-2-Clause */
/* What failovers cost, measured on histories made by hand. */
#include "base/time.h"
#include "check.h"
#include "schedule.h"
#include "turns.h"

enum { RECORDS_MAX = 64 };

static struct record made[RECORDS_MAX];
static struct history history = {made, 0};
static struct turns turns;

static struct record *add(int what, int64_t at_ms, int worker, uint32_t hold)
{
    struct record *r;
    CHECK(history.count < RECORDS_MAX);
    r = &made[history.count++];
    *r = (struct record){.what = (uint8_t)what,
                         .at_ns = at_ms * RL_NS_PER_MS,
                         .worker = (uint16_t)worker,
                         .hold = hold};
    return r;
}

/* Renewed until then; lost then as well, or not. */
static void hold(uint32_t number, int64_t at_ms, int64_t ttl_ms, int64_t until_ms, bool is_lost)
{
    struct record *r = add(RECORD_ASK, at_ms, 0, number);
    r->names = 1;
    r->flags = RECORD_RENEWED;
    r->value = ttl_ms;
    add(RECORD_GRANT, at_ms, 0, number)->deadline_ns = (at_ms + ttl_ms) * RL_NS_PER_MS;
    add(RECORD_SEEN, until_ms - 1, 0, number)->deadline_ns = until_ms * RL_NS_PER_MS;
    if (is_lost)
        add(RECORD_LOST, until_ms, 0, number);
}

/* Told at 1000, named by a majority at 2000. */
static void fail_over(void)
{
    add(RECORD_TERM, 1, 0, 0);
    add(RECORD_FAULT, 1000, 0, 0)->kind = FAULT_FAILOVER;
    add(RECORD_HEALED, 1100, 0, 0)->kind = FAULT_FAILOVER;
    add(RECORD_TERM, 2000, 1, 0)->value = 1;
}

CASE(cost_of_new_locks,
     "The first new lock counts from when clients cannot count on the old master any more.")
{
    fail_over();
    hold(1, 3999, 3000, 5000, false);
    hold(2, 9005, 3000, 9500, false);
    history_sort(&history);
    turns_read(&history, &turns);
    CHECK_INT(1, turns.count);
    CHECK_INT(FAULT_FAILOVER, turns.turn[0].kind);
    CHECK_INT(9005, turns.turn[0].granted_ns / RL_NS_PER_MS);
}

CASE(holders_that_went_on,
     "A holder has gone on when it was renewed after any answer of the old master could count.")
{
    fail_over();
    hold(1, 500, 8000, 12001, false); /* 1.5 * (1 s + 3 s) + 2 s are enough */
    hold(2, 500, 8000, 9000, true);
    hold(3, 500, 7999, 12000, false);
    hold(4, 500, 7999, 8000, true);
    hold(5, 1500, 8000, 9000, true); /* was not there before */
    history_sort(&history);
    turns_read(&history, &turns);
    CHECK_INT(1, turns.turn[0].went_on[0]);
    CHECK_INT(1, turns.turn[0].lost[0]);
    CHECK_INT(1, turns.turn[0].went_on[1]);
    CHECK_INT(1, turns.turn[0].lost[1]);
}
