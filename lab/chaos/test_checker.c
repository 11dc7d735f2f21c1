/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checker on histories made by hand: each promise once kept and once broken by as little
 * as possible. Times are milliseconds of an imagined clock.
 */
#include "base/time.h"
#include "check.h"
#include "checker.h"

#include <redlock.h>
#include <signal.h>

enum { RECORDS_MAX = 64 };

/* The history being made, and what the checker says of it. */
static struct record made[RECORDS_MAX];
static struct history history = {.record = made};
static struct verdict verdict;

static struct record *add(int what, int64_t at_ms, int worker, uint32_t hold)
{
    struct record *r;
    CHECK(history.count < RECORDS_MAX);
    r = &made[history.count++];
    *r = (struct record){.what = (uint8_t)what,
                         .at_ns = at_ms * RL_NS_PER_MS,
                         .worker = (uint16_t)worker,
                         .life = 1,
                         .hold = hold};
    return r;
}

/* Asked, granted a millisecond later, valid until, released (0: not). */
static struct record *hold(int kind, int name, int worker, uint32_t number, int64_t ask_ms,
                           int64_t until_ms, int64_t release_ms)
{
    struct record *r = add(RECORD_ASK, ask_ms, worker, number);
    r->kind = (uint8_t)kind;
    r->names = 1u << name;
    if (release_ms != 0)
        add(RECORD_RELEASE, release_ms, worker, number);
    r = add(RECORD_GRANT, ask_ms + 1, worker, number);
    r->kind = (uint8_t)kind;
    r->deadline_ns = until_ms * RL_NS_PER_MS;
    r->token = number; /* in order unless a test says otherwise */
    return r;
}

/* The first record of this worker. Records move: the checker sorts them by their times. */
static struct record *noted(int what, int worker)
{
    size_t i = 0;
    while (i < history.count && (made[i].what != what || made[i].worker != worker))
        i++;
    CHECK(i < history.count);
    return &made[i];
}

static void fault(int kind, int target, int64_t from_ms, int64_t to_ms, int param)
{
    struct record *r = add(RECORD_FAULT, from_ms, target, 0);
    r->kind = (uint8_t)kind;
    r->value = param;
    r = add(RECORD_HEALED, to_ms, target, 0);
    r->kind = (uint8_t)kind;
}

static void phases(int64_t last_call_ms, int64_t quiet_ms, int64_t over_ms)
{
    add(RECORD_PHASE, 1, 0, 0);
    add(RECORD_PHASE, last_call_ms, 0, 0)->value = PHASE_LAST_CALL;
    add(RECORD_PHASE, quiet_ms, 0, 0)->value = PHASE_QUIET;
    add(RECORD_PHASE, over_ms, 0, 0)->value = PHASE_OVER;
}

/* How often this promise was broken; every other one must be kept. */
static size_t broken(int breach)
{
    check_history(&history, &verdict);
    for (int i = 0; i < BREACH_COUNT; i++)
        if (i != breach && i != BREACH_IDLE && verdict.breaches[i] > 0)
            FAIL("also broken: %s", breach_text(i));
    return verdict.breaches[breach];
}

CASE(one_after_the_other, "Holders that follow each other without a gap are no breach.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 1000, 50);
    hold(REDLOCK_MUTEX, NAME_ORDERS, 1, 2, 49, 1000, 90);
    hold(REDLOCK_MUTEX, NAME_STOCK, 2, 3, 60, 1000, 80);
    CHECK_INT(0, broken(BREACH_DOUBLE));
    CHECK_INT(3, verdict.grants[REDLOCK_MUTEX]);
}

CASE(two_holders, "A grant a millisecond before the release of another is a double hold.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 1000, 50);
    hold(REDLOCK_MUTEX, NAME_ORDERS, 1, 2, 48, 1000, 90);
    CHECK_INT(1, broken(BREACH_DOUBLE));
    CHECK_INT(NAME_ORDERS, verdict.note[0].name);
}

/* Broken at this time, by a call of a millisecond. */
static struct record *evict(uint32_t number, int64_t at_ms)
{
    struct record *r = add(RECORD_EVICT, at_ms, 3, number);
    r->names = 1u << NAME_EVICTED;
    r->value = (at_ms - 1) * RL_NS_PER_MS;
    return r;
}

CASE(beside_evicted,
     "A new holder beside one that was broken before is counted, and no breach.")
{
    hold(REDLOCK_MUTEX, NAME_EVICTED, 0, 1, 10, 1000, 0);
    evict(1, 500);
    hold(REDLOCK_MUTEX, NAME_EVICTED, 1, 2, 500, 1500, 600);
    check_group(&history, 1000, &verdict);
    CHECK_INT(0, verdict.breaches[BREACH_DOUBLE]);
    CHECK_INT(1, verdict.beside_evicted);
}

CASE(before_the_eviction, "A new holder beside one that is broken later is a double hold.")
{
    hold(REDLOCK_MUTEX, NAME_EVICTED, 0, 1, 10, 1000, 0);
    hold(REDLOCK_MUTEX, NAME_EVICTED, 1, 2, 400, 1500, 600);
    evict(1, 500);
    check_group(&history, 1000, &verdict);
    CHECK_INT(1, verdict.breaches[BREACH_DOUBLE]);
}

CASE(evicted_for_good, "A holder that goes on after a final eviction is a breach.")
{
    hold(REDLOCK_MUTEX, NAME_EVICTED, 0, 1, 10, 1501, 0);
    evict(1, 500);
    check_group(&history, 1000, &verdict);
    CHECK_INT(1, verdict.breaches[BREACH_EVICTED]);
    add(RECORD_TERM, 5499, 1, 0);
    check_group(&history, 1000, &verdict);
    CHECK_INT(0, verdict.breaches[BREACH_EVICTED]);
    CHECK_INT(1, verdict.evicted);
    CHECK_INT(0, verdict.evicted_for_good);
}

CASE(evicted_perhaps, "What may have ended a hold excuses another holder, and is never final.")
{
    hold(REDLOCK_MUTEX, NAME_EVICTED, 0, 1, 10, 1501, 0);
    evict(1, 500)->error = REDLOCK_NOQUORUM;
    hold(REDLOCK_MUTEX, NAME_EVICTED, 1, 2, 500, 1500, 600);
    check_group(&history, 1000, &verdict);
    CHECK_INT(0, verdict.breaches[BREACH_DOUBLE]);
    CHECK_INT(0, verdict.breaches[BREACH_EVICTED]);
    CHECK_INT(0, verdict.evicted);
}

/* A holder of this way is killed at 20 ms; until then another grant is a double hold. */
static void killed_holder(int flags, int64_t free_ms)
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 1000, 0);
    made[0].flags = (uint8_t)flags;
    fault(FAULT_KILL_CLIENT, 0, 20, 30, 0);
    hold(REDLOCK_MUTEX, NAME_ORDERS, 1, 2, free_ms - 2, 3000, 1100);
    CHECK_INT(1, broken(BREACH_DOUBLE));
    noted(RECORD_GRANT, 1)->at_ns = free_ms * RL_NS_PER_MS;
    CHECK_INT(0, broken(BREACH_DOUBLE));
}

CASE_OF(dead_holder_counts,
        "A holder that was killed holds until its validity ends, not longer.",
        killed_holder(0, 1000));
CASE_OF(dead_stream, "What a stream held is free when its holder is killed, and not before.",
        killed_holder(RECORD_LEASE | RECORD_STREAM, 20));
CASE_OF(dead_worker_of_hold,
        "What `redlock hold` held is free when its worker is killed, and not before.",
        killed_holder(RECORD_LEASE | RECORD_COMMAND, 20));

CASE(lost_holder, "A holder that learned of its loss holds no more, whatever its deadline is.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 1000, 0);
    add(RECORD_LOST, 500, 0, 1);
    hold(REDLOCK_MUTEX, NAME_ORDERS, 1, 2, 500, 3000, 600);
    CHECK_INT(0, broken(BREACH_DOUBLE));
}

CASE(renewed_holder, "A hold lasts as long as the last renewal that its holder has seen.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 1000, 1400);
    add(RECORD_SEEN, 900, 0, 1)->deadline_ns = 1800 * RL_NS_PER_MS;
    hold(REDLOCK_MUTEX, NAME_ORDERS, 1, 2, 1200, 3000, 1500);
    CHECK_INT(1, broken(BREACH_DOUBLE));
}

CASE(readers_and_writer, "Two readers at once are no breach; a reader beside a writer is one.")
{
    hold(REDLOCK_SHARED, NAME_CATALOG, 0, 1, 10, 1000, 50);
    hold(REDLOCK_SHARED, NAME_CATALOG, 1, 2, 20, 1000, 60);
    CHECK_INT(0, broken(BREACH_DOUBLE));
    hold(REDLOCK_MUTEX, NAME_CATALOG, 2, 3, 55, 1000, 70);
    CHECK_INT(1, broken(BREACH_DOUBLE));
}

CASE(owners, "Nested holds of one owner are no breach; holds of two owners or two lives are.")
{
    hold(REDLOCK_REENTRANT, NAME_TREE, 0, 1, 10, 1000, 50);
    hold(REDLOCK_REENTRANT, NAME_TREE, 0, 2, 20, 1000, 40);
    CHECK_INT(0, broken(BREACH_DOUBLE));
    hold(REDLOCK_REENTRANT, NAME_TREE, 1, 3, 35, 1000, 60);
    CHECK_INT(2, broken(BREACH_DOUBLE));
}

CASE(several_names, "A lock of two names excludes the holders of each.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 1000, 50);
    made[0].names = 1u << NAME_ORDERS | 1u << NAME_STOCK;
    hold(REDLOCK_MUTEX, NAME_STOCK, 1, 2, 20, 1000, 60);
    CHECK_INT(1, broken(BREACH_DOUBLE));
    CHECK_INT(NAME_STOCK, verdict.note[0].name);
}

CASE(slots,
     "A semaphore of two has two holders on two slots; more, or one slot twice, is a breach.")
{
    hold(REDLOCK_SEMAPHORE, NAME_PRINTERS, 0, 1, 10, 1000, 50)->slot = 1;
    hold(REDLOCK_SEMAPHORE, NAME_PRINTERS, 1, 2, 20, 1000, 60)->slot = 2;
    CHECK_INT(0, broken(BREACH_SLOTS));
    hold(REDLOCK_SEMAPHORE, NAME_PRINTERS, 2, 3, 30, 1000, 70)->slot = 3;
    CHECK_INT(1, broken(BREACH_SLOTS));
    history.count = 0;
    hold(REDLOCK_SEMAPHORE, NAME_PRINTERS, 0, 1, 10, 1000, 50)->slot = 1;
    hold(REDLOCK_SEMAPHORE, NAME_PRINTERS, 1, 2, 20, 1000, 60)->slot = 1;
    CHECK_INT(1, broken(BREACH_DOUBLE));
}

CASE(clock_set_forward, "Two holders are forgiven only soon after a clock was set forward.")
{
    fault(FAULT_CLOCK, 0, 5, 4000, 700);
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 2000, 800);
    hold(REDLOCK_MUTEX, NAME_ORDERS, 1, 2, 700, 2000, 900);
    CHECK_INT(0, broken(BREACH_DOUBLE));
    CHECK_INT(1, verdict.forgiven);
    hold(REDLOCK_MUTEX, NAME_STOCK, 0, 3, 1000, 3000, 1800);
    hold(REDLOCK_MUTEX, NAME_STOCK, 1, 4, 1700, 3000, 1900);
    CHECK_INT(1, broken(BREACH_DOUBLE));
    noted(RECORD_FAULT, 0)->value = -700; /* then it goes forward at the end, long after */
    CHECK_INT(2, broken(BREACH_DOUBLE));
}

CASE(token_order,
     "A token that is not larger than one granted before the request began is a breach.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 7, 10, 1000, 20);
    hold(REDLOCK_MUTEX, NAME_ORDERS, 1, 8, 30, 1000, 40);
    CHECK_INT(0, broken(BREACH_TOKEN));
    hold(REDLOCK_MUTEX, NAME_ORDERS, 2, 9, 50, 1000, 60)->token = 6;
    CHECK_INT(1, broken(BREACH_TOKEN));
}

CASE(token_of_an_earlier_round,
     "A token that is not larger than the largest of the round before is a breach.")
{
    int64_t floor[NAMES] = {0};
    struct verdict v;
    int64_t largest;
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 7, 10, 1000, 20);
    check_round(&history, ALLOWANCE_MS, floor, &v);
    CHECK_INT(0, v.breaches[BREACH_TOKEN]);
    largest = floor[NAME_ORDERS];
    CHECK(largest > 0);
    floor[NAME_ORDERS] = largest - 1;
    check_round(&history, ALLOWANCE_MS, floor, &v);
    CHECK_INT(0, v.breaches[BREACH_TOKEN]);
    check_round(&history, ALLOWANCE_MS, floor, &v);
    CHECK_INT(1, v.breaches[BREACH_TOKEN]);
}

CASE(late_worker,
     "A wait that outlasts its deadline is a breach, but where its own process was late.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 1, 7, 10, 3000, 2100);
    noted(RECORD_ASK, 1)->deadline_ns = 500 * RL_NS_PER_MS;
    noted(RECORD_GRANT, 1)->at_ns = 2000 * RL_NS_PER_MS;
    CHECK_INT(1, broken(BREACH_WAIT_LATE));
    add(RECORD_LATE, 1900, 1, 0)->value = 1500 * RL_NS_PER_MS; /* of worker 0 */
    CHECK_INT(1, broken(BREACH_WAIT_LATE));
    add(RECORD_LATE, 1900, 2, 0)->value = 1500 * RL_NS_PER_MS;
    CHECK_INT(0, broken(BREACH_WAIT_LATE));
}

CASE(late_end_of_a_command,
     "A command that outlives its lock is a breach, but for as long as the machine was late.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 7, 10, 1000, 50);
    hold(REDLOCK_MUTEX, NAME_ORDERS, 1, 8, 30, 1000, 60);
    made[0].flags = RECORD_LEASE | RECORD_COMMAND | RECORD_RUN;
    CHECK_INT(1, broken(BREACH_DOUBLE));
    add(RECORD_LATE, 40, 0, 0)->value = 10 * RL_NS_PER_MS;
    CHECK_INT(1, broken(BREACH_DOUBLE));
    add(RECORD_LATE, 45, 0, 0)->value = 30 * RL_NS_PER_MS;
    CHECK_INT(0, broken(BREACH_DOUBLE));
}

CASE(token_of_overlapping_requests,
     "Overlapping requests may get tokens in any order, but no token twice.")
{
    struct record *r;
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 7, 10, 1000, 12);
    r = hold(REDLOCK_MUTEX, NAME_ORDERS, 1, 8, 10, 1000, 40);
    r->at_ns += 5000000;
    r->token = 3;
    CHECK_INT(0, broken(BREACH_TOKEN));
    noted(RECORD_GRANT, 1)->token = 7;
    CHECK_INT(1, broken(BREACH_TOKEN));
}

static void written(int what, int64_t at_ms, int64_t based_on, int64_t token)
{
    struct record *r = add(what, at_ms, 0, 1);
    r->names = 1u << NAME_LEDGER;
    r->based_on = based_on;
    r->value = based_on + 1;
    r->token = token;
}

CASE(lost_updates, "A lost update is a breach with tokens, and only counted without.")
{
    written(RECORD_FENCED, 10, 0, 5);
    written(RECORD_FENCED, 11, 1, 6);
    written(RECORD_REFUSED, 12, 1, 5);
    written(RECORD_PLAIN, 13, 0, 5);
    written(RECORD_PLAIN, 14, 0, 6);
    CHECK_INT(0, broken(BREACH_FENCED));
    CHECK_INT(1, verdict.plain_lost);
    CHECK_INT(1, verdict.fenced_refused);
    written(RECORD_FENCED, 15, 1, 6);
    CHECK_INT(1, broken(BREACH_FENCED));
}

CASE(old_token_accepted,
     "A register that accepts an older token after a newer one is a breach.")
{
    written(RECORD_FENCED, 10, 0, 6);
    written(RECORD_FENCED, 11, 1, 5);
    CHECK_INT(1, broken(BREACH_FENCED));
}

CASE(loss_told_late,
     "A loss reported after the validity is a breach, unless the process was stopped.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 1000, 0);
    add(RECORD_LOST, 1000 + ALLOWANCE_MS, 0, 1);
    CHECK_INT(0, broken(BREACH_LATE_LOSS));
    CHECK_INT(ALLOWANCE_MS, verdict.reported_worst_ms);
    history.count = 0;
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 1000, 0);
    add(RECORD_LOST, 1001 + ALLOWANCE_MS, 0, 1);
    CHECK_INT(1, broken(BREACH_LATE_LOSS));
    fault(FAULT_STOP_CLIENT, 1, 900, 1200, 0);
    CHECK_INT(1, broken(BREACH_LATE_LOSS));
    fault(FAULT_STOP_CLIENT, 0, 900, 1200, 0);
    CHECK_INT(0, broken(BREACH_LATE_LOSS));
}

CASE(late_machine,
     "Lateness is forgiven while the whole machine stands still, not before or after.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 1000, 0);
    add(RECORD_LOST, 1900, 0, 1);
    add(RECORD_LATE, 1800, 0, 0)->value = 900 * RL_NS_PER_MS;
    CHECK_INT(0, broken(BREACH_LATE_LOSS));
    /* From 1.4 s on: too late to excuse anything. */
    noted(RECORD_LATE, 0)->value = 400 * RL_NS_PER_MS;
    CHECK_INT(1, broken(BREACH_LATE_LOSS));
}

CASE(loss_never_reported,
     "A worker that goes on after its validity without a notice is a breach.")
{
    hold(REDLOCK_MUTEX, NAME_ORDERS, 0, 1, 10, 1000, 1300);
    CHECK_INT(1, broken(BREACH_LATE_LOSS));
    fault(FAULT_KILL_CLIENT, 0, 500, 600, 0);
    CHECK_INT(0, broken(BREACH_LATE_LOSS));
}

static void wait_for(uint32_t number, int64_t ask_ms, int64_t until_ms, int64_t deny_ms)
{
    struct record *r = add(RECORD_ASK, ask_ms, 0, number);
    r->names = 1u << NAME_ORDERS;
    r->deadline_ns = until_ms * RL_NS_PER_MS;
    add(RECORD_DENY, deny_ms, 0, number)->error = REDLOCK_TIMEOUT;
}

CASE(wait_too_long,
     "A wait that returns later than its deadline and the allowance is a breach.")
{
    wait_for(1, 10, 500, 500 + ALLOWANCE_MS);
    CHECK_INT(0, broken(BREACH_WAIT_LATE));
    wait_for(2, 10, 500, 501 + ALLOWANCE_MS);
    CHECK_INT(1, broken(BREACH_WAIT_LATE));
}

CASE(starved, "A waiter must be served once the faults end, unless it gave up before.")
{
    phases(1000, 2000, 9000);
    wait_for(1, 900, 2500, 2500);
    CHECK_INT(0, broken(BREACH_STARVED));
    wait_for(2, 1500, 8000, 8000);
    CHECK_INT(1, broken(BREACH_STARVED));
}

CASE(workers_end_well,
     "A worker that crashed or hangs is a breach, one that was killed is not.")
{
    phases(1000, 2000, 9000);
    add(RECORD_BORN, 5, 0, 0);
    fault(FAULT_KILL_CLIENT, 0, 100, 200, 0);
    add(RECORD_DIED, 110, 0, 0)->error = SIGKILL;
    CHECK_INT(0, broken(BREACH_WORKER));
    CHECK_INT(1, verdict.killed);
    add(RECORD_BORN, 210, 0, 0);
    CHECK_INT(1, broken(BREACH_WORKER));
    add(RECORD_DIED, 8000, 0, 0)->error = SIGSEGV;
    CHECK_INT(1, broken(BREACH_WORKER));
}

CASE(nothing_happened, "A run without acquisitions is a breach: it proves nothing.")
{
    check_history(&history, &verdict);
    CHECK_INT(4, verdict.breaches[BREACH_IDLE]);
}
