/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting, as traces: tickets, the place in the queue, being woken, giving the place up. */
#include "check.h"
#include "trace.h"

static const struct trace_options three = {.node_count = 3, .random = 0x80000000u};
static const struct trace_options five = {.node_count = 5, .random = 0x80000000u};

/* Another holds it for a second; we wait, and are queued with ticket 12. */
#define QUEUED                                                                                 \
    "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"                                    \
    "[1]   12 taken               -> send ROLLBACK 123, send TICKET 123\n"                     \
    "[2]   1 taken 900 #10\n"                                                                  \
    "[2]   3 taken 900 #12        -> send ACQUIRE 123\n"                                       \
    "[3]   123 taken 900 place=1\n"                                                            \
    "[3]   state queued\n"

CASE_OF(the_ticket_is_the_largest_of_a_quorum,
        "A ticket is the largest of a quorum's offers, and stays so.",
        trace_run(&three, QUEUED "[3]   ticket 12\n"
                                 "[3]   place 1\n"
                                 "[4]   late 1 TICKET 2 taken\n"
                                 "[4]   ticket 12\n"));

CASE(a_minority_of_offers_is_no_ticket,
     "With too few offers of a ticket the attempt begins anew after a backoff.")
{
    trace_run(&three, "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"
                      "[1]   12 taken     -> send ROLLBACK 123, send TICKET 123\n"
                      "[2]   1 taken 900 #10\n"
                      "[2]   23 refused\n"
                      "[2]   state backoff\n"
                      "[2]   ticket 0\n");
    trace_run(&three, "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"
                      "[1]   12 taken     -> send ROLLBACK 123, send TICKET 123\n"
                      "[2]   1 taken 900 #10\n"
                      "[51]  timer\n"
                      "[51]  state backoff\n");
}

CASE_OF(refusals_may_bring_the_tickets,
        "Refusals that offer tickets save the round that requests one.",
        trace_run(&three, "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"
                          "[1]   1 taken 900 #7\n"
                          "[1]   2 taken 900 #9       -> send ROLLBACK 123, send ACQUIRE 123\n"
                          "[1]   ticket 9\n"));

CASE_OF(sleeps_until_a_quorum_could_be_free,
        "A waiter sleeps until a millisecond after the quorum-th soonest expiry.",
        trace_run(&five, "[0]   acquire 1000 wait forever -> send ACQUIRE 12345\n"
                         "[1]   1 taken 100 #7\n"
                         "[1]   2 taken 200 #7\n"
                         "[1]   3 taken 300 #7 -> send ROLLBACK 12345, send ACQUIRE 12345\n"
                         "[2]   1 taken 700 place=1\n"
                         "[2]   2 taken 100 place=1\n"
                         "[2]   3 taken 300 place=1\n"
                         "[2]   4 taken 200 place=1\n"
                         "[2]   5 taken 900 place=1\n"
                         "[2]   timer-at 303\n"
                         "[303] timer         -> send ACQUIRE 12345\n"));

CASE_OF(patience_has_a_timer_only_when_it_counts,
        "The shorter timer of a queued attempt starts once a quorum is impossible.",
        trace_run(&three, "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"
                          "[1]   1 taken 900 #7\n"
                          "[1]   2 taken 900 #9       -> send ROLLBACK 123, send ACQUIRE 123\n"
                          "[2]   1 taken 900 place=1\n"
                          "[2]   timer-at 51\n"
                          "[2]   2 taken 900 place=1\n"
                          "[2]   timer-at 11\n"
                          "[11]  timer                -> send ROLLBACK 3\n"
                          "[11]  state queued\n"));

CASE_OF(shows_up_before_its_place_is_lost,
        "A waiter sends a heartbeat each second, however long the holder's TTL is.",
        trace_run(&three, "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"
                          "[1]   12 taken 90000 #7    -> send ROLLBACK 123, send ACQUIRE 123\n"
                          "[2]   123 taken 90000 place=1\n"
                          "[2]   timer-at 1002\n"
                          "[1002] timer               -> send ACQUIRE 123\n"));

CASE_OF(waits_for_who_is_ahead,
        "A waiter looks again when the waiter ahead of it would expire.",
        trace_run(&three, "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"
                          "[1]   12 taken 0 #7        -> send ROLLBACK 123, send ACQUIRE 123\n"
                          "[2]   1 taken 0 place=2 ahead=400\n"
                          "[2]   2 taken 0 place=2 ahead=401\n"
                          "[2]   3 taken 0 place=2 ahead=400\n"
                          "[2]   place 2\n"
                          "[2]   timer-at 404\n"));

CASE(woken_by_the_first_message,
     "A woken waiter sends to all nodes at once, and leaves the queue when it wins.")
{
    trace_run(&three, QUEUED "[10]  wake 2        -> send ACQUIRE 123\n"
                             "[11]  21 granted    -> done OK\n"
                             "[11]  keys 12\n"
                             "[11]  ticket 0\n"
                             "[12]  3 granted\n"
                             "[12]  keys 123\n");
    /* Where no grant has taken the place along, it is given up. */
    trace_run(&three, QUEUED "[10]  wake 2        -> send ACQUIRE 123\n"
                             "[11]  3 taken 800 place=2\n"
                             "[11]  21 granted    -> send LEAVE 3, done OK\n");
    trace_run(&three, QUEUED "[10]  wake 2        -> send ACQUIRE 123\n"
                             "[11]  21 granted    -> done OK\n"
                             "[11]  3 taken 800 place=2 -> send LEAVE 3\n");
    trace_run(&three, QUEUED "[10]  wake 2        -> send ACQUIRE 123\n"
                             "[11]  21 granted    -> done OK\n"
                             "[12]  release       -> send RELEASE 123, send LEAVE 3\n");
}

CASE_OF(asks_again_where_the_release_comes_later,
        "A node that refused gets another request with the same value after its wake-up.",
        trace_run(&three, QUEUED "[10]  wake 2        -> send ACQUIRE 123\n"
                                 "[11]  2 granted\n"
                                 "[11]  13 taken 800 place=1\n"
                                 "[11]  state acquiring\n"
                                 "[12]  wake 3        -> send AGAIN 3\n"
                                 "[13]  3 granted     -> send LEAVE 1, done OK\n"));

CASE_OF(a_message_may_overtake_the_refusal,
        "A wake-up that overtakes the refusal is remembered until the refusal comes.",
        trace_run(&three, QUEUED "[10]  wake 2        -> send ACQUIRE 123\n"
                                 "[11]  2 granted\n"
                                 "[11]  wake 1\n"
                                 "[11]  1 taken 800 place=1 -> send AGAIN 1\n"
                                 "[13]  1 granted     -> done OK\n"));

CASE_OF(a_failed_round_keeps_its_place,
        "A failed attempt from the queue rolls its grants back and keeps its place.",
        trace_run(&three, QUEUED "[10]  wake 2        -> send ACQUIRE 123\n"
                                 "[11]  2 granted\n"
                                 "[11]  13 taken 800 place=1\n"
                                 "[11]  timer-at 20\n"
                                 "[20]  timer         -> send ROLLBACK 2\n"
                                 "[20]  state queued\n"
                                 "[20]  ticket 12\n"
                                 "[20]  timer-at 25\n"));

CASE_OF(a_silent_node_is_rolled_back_too,
        "A4: an attempt from the queue rolls back a node that did not answer.",
        trace_run(&three, QUEUED "[10]  wake 2        -> send ACQUIRE 123\n"
                                 "[11]  21 taken 800 place=1\n"
                                 "[11]  state acquiring\n"
                                 "[20]  timer         -> send ROLLBACK 3\n"
                                 "[20]  state queued\n"
                                 "[21]  3 granted\n"
                                 "[21]  state queued\n"));

CASE_OF(too_few_answers_give_the_place_up,
        "A waiter without answers from a quorum leaves the queue.",
        trace_run(&three, QUEUED "[10]  wake 2        -> send ACQUIRE 123\n"
                                 "[11]  2 granted\n"
                                 "[11]  13 refused\n"
                                 "[20]  timer         -> send QUIT 123\n"
                                 "[20]  state backoff\n"
                                 "[20]  ticket 0\n"
                                 "[41]  timer         -> send ACQUIRE 123\n"));

CASE_OF(a_node_repeats_itself_for_ever,
        "A node that always wakes and refuses gets a bounded number of requests.",
        trace_run(&three, QUEUED "[10]  wake 2 -> send ACQUIRE 123\n"
                                 "[10]  2 granted\n"
                                 "[10]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1 -> send AGAIN 1\n[11]  1 taken\n"
                                 "[11]  wake 1\n"));

CASE(the_end_of_the_wait_leaves_the_queue,
     "A9: at its deadline a waiter leaves the queue, asleep or in an attempt.")
{
    trace_run(&three, "[0]   acquire 1000 wait 100    -> send ACQUIRE 123\n"
                      "[1]   12 taken 900 #7      -> send ROLLBACK 123, send ACQUIRE 123\n"
                      "[2]   123 taken 900\n"
                      "[2]   timer-at 100\n"
                      "[100] timer                -> send LEAVE 123, done TIMEOUT\n");
    trace_run(&three, "[0]   acquire 1000 wait 100    -> send ACQUIRE 123\n"
                      "[1]   12 taken 900 #7      -> send ROLLBACK 123, send ACQUIRE 123\n"
                      "[2]   123 taken 900\n"
                      "[99]  wake 1               -> send ACQUIRE 123\n"
                      "[99]  1 granted\n"
                      "[100] timer                -> send QUIT 123, done TIMEOUT\n"
                      "[100] 2 granted\n"
                      "[100] state ended\n");
    trace_run(&three, "[0]   acquire 1000 wait 100    -> send ACQUIRE 123\n"
                      "[1]   12 taken 900 #7      -> send ROLLBACK 123, send ACQUIRE 123\n"
                      "[2]   123 taken 900\n"
                      "[101] wake 1\n"
                      "[101] state queued\n");
}

CASE(cancel_leaves_the_queue, "A canceled waiter leaves the queue from every state of waiting.")
{
    trace_run(&three, QUEUED "[9]   cancel        -> send LEAVE 123, done CANCELED\n");
    trace_run(&three, QUEUED "[9]   wake 1        -> send ACQUIRE 123\n"
                             "[10]  cancel        -> send QUIT 123, done CANCELED\n");
    trace_run(&three, "[0]   acquire 1000 wait 100 parked\n"
                      "[1]   cancel               -> done CANCELED\n");
}

CASE(only_the_first_of_a_client_is_sent,
     "A waiter behind others of its client sends nothing before its turn.")
{
    trace_run(&three, "[0]   acquire 1000 wait 100 parked\n"
                      "[0]   state parked\n"
                      "[0]   timer-at 100\n"
                      "[50]  unpark               -> send ACQUIRE 123\n");
    trace_run(&three, "[0]   acquire 1000 wait 100 parked\n"
                      "[100] timer                -> done TIMEOUT\n");
    trace_run(&three, "[0]   acquire 1000 wait 100 parked\n"
                      "[101] unpark               -> done TIMEOUT\n");
}

CASE_OF(what_we_hold_ourselves_is_not_tried,
        "A waiter whose own client holds the lock requests a ticket a moment later.",
        trace_run(&three, "[0]   acquire 1000 wait 100 parked\n"
                          "[5]   unpark holds\n"
                          "[5]   timer-at 6\n"
                          "[6]   timer                -> send TICKET 123\n"
                          "[6]   12 taken 900 #7      -> send ACQUIRE 123\n"));

CASE(our_own_release_hands_over,
     "A release of the same client hands the lock over without a ticket.")
{
    trace_run(&three, "[0]   acquire 1000 wait 100 parked\n"
                      "[5]   unpark holds\n"
                      "[5]   wake 123 over        -> send ACQUIRE 123\n"
                      "[6]   12 granted           -> done OK\n");
    /* Others wait on the nodes: then it queues behind them. */
    trace_run(&three, "[0]   acquire 1000 wait 100 parked\n"
                      "[5]   unpark holds\n"
                      "[5]   wake 123 over        -> send ACQUIRE 123\n"
                      "[6]   12 taken 900 #7      -> send ROLLBACK 3, send ACQUIRE 123\n");
    /* Not a release of ours, or the wait is over. */
    trace_run(&three, "[0]   acquire 1000 wait 100 parked\n"
                      "[5]   unpark holds\n"
                      "[5]   wake 1\n"
                      "[100] wake 123 over\n"
                      "[100] timer                -> done TIMEOUT\n");
}

CASE(yielding_begins_in_the_queue,
     "An acquire that yields begins with a ticket, and holds nothing if its wait ends there.")
{
    trace_run(&three, "[0]   acquire 1000 wait 10 yields -> send TICKET 123\n"
                      "[10]  timer                -> done TIMEOUT\n");
    trace_run(&three, "[0]   acquire 1000 wait 100 yields -> send TICKET 123\n"
                      "[1]   123 refused\n"
                      "[1]   state backoff\n"
                      "[100] timer                -> done NOQUORUM\n");
    trace_run(&three, "[0]   acquire 1000 wait 100 yields -> send TICKET 123\n"
                      "[1]   1 taken 900 #7\n"
                      "[1]   3 taken 900 #9       -> send ACQUIRE 123\n");
}
