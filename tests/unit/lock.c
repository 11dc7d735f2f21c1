/* SPDX-License-Identifier: BSD-2-Clause */
/* Acquiring one lock as golden traces: every rule of the algorithm has one that shows it. */
#include "check.h"
#include "trace.h"

static const struct trace_options five = {.node_count = 5, .random = 1u << 31};
static const struct trace_options three = {.node_count = 3, .random = 1u << 31};

CASE_OF(wins_at_the_deciding_reply,
        "A3: the third of five grants decides, stragglers only add.",
        trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                         "[1]   1 granted\n"
                         "[2]   3 granted\n"
                         "[5]   5 granted             -> done OK\n"
                         "[5]   state held\n"
                         "[5]   keys 135\n"
                         "[5]   remaining 983\n"
                         "[7]   2 granted\n"
                         "[7]   keys 1235\n"
                         "[9]   4 taken\n"
                         "[9]   keys 1235\n"
                         "[9]   state held\n"));

CASE(validity_counts_from_before_the_first_send,
     "A3: the validity is the TTL less elapsed time and drift.")
{
    /* ttl 1000: drift 12, so at 988 and later nothing is left of it. */
    trace_run(&three, "[0]     acquire 1000        -> send ACQUIRE 123\n"
                      "[10]    1 granted\n"
                      "[40]    2 granted           -> done OK\n"
                      "[40]    remaining 948\n");
}

CASE_OF(quorum_after_the_validity_is_no_lock,
        "A3: a quorum after the end of the validity is rolled back.",
        trace_run(&three, "[0]     acquire 1000        -> send ACQUIRE 123\n"
                          "[10]    1 granted\n"
                          "[988]   2 granted           -> send ROLLBACK 123, done NOQUORUM\n"
                          "[988]   state ended\n"
                          "[988]   remaining 0\n"));

CASE(valid_until_its_loss_would_be_reported,
     "A3: a quorum wins until the moment when its loss would be reported.")
{
    trace_run(&three, "[0]     acquire 1000        -> send ACQUIRE 123\n"
                      "[10]    1 granted\n"
                      "[937]   2 granted           -> done OK\n"
                      "[937]   remaining 51\n"
                      "[938]   timer               -> lost\n");
    trace_run(&three, "[0]     acquire 1000        -> send ACQUIRE 123\n"
                      "[10]    1 granted\n"
                      "[938]   2 granted           -> send ROLLBACK 123, done NOQUORUM\n");
}

CASE_OF(loses_as_soon_as_winning_is_impossible,
        "A4: an attempt rolls back as soon as a quorum is impossible.",
        trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                         "[1]   1 granted\n"
                         "[2]   2 taken\n"
                         "[3]   3 taken\n"
                         "[4]   4 taken              -> send ROLLBACK 12345, send INQUIRE 234\n"
                         "[5]   2 taken 700\n"
                         "[5]   3 taken 701\n"
                         "[6]   4 taken 702          -> done BUSY\n"));

CASE(busy_and_broken_are_different, "A4: three dead of five is NOQUORUM, not BUSY.")
{
    trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                     "[1]   1 refused\n"
                     "[2]   2 refused\n"
                     "[3]   3 timedout           -> send ROLLBACK 12345, done NOQUORUM\n");
    trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                     "[1]   1 refused\n"
                     "[2]   2 refused\n"
                     "[3]   3 taken     -> send ROLLBACK 12345, send INQUIRE 3\n"
                     "[4]   3 taken 100          -> done BUSY\n");
}

CASE(refused_credentials_are_not_retried, "AUTH and PROTO end a wait at once.")
{
    trace_run(&three, "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"
                      "[1]   1 auth\n"
                      "[2]   3 auth               -> send ROLLBACK 123, done AUTH\n");
    trace_run(&three, "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"
                      "[1]   1 proto\n"
                      "[2]   3 proto              -> send ROLLBACK 123, done PROTO\n");
}

CASE_OF(silent_nodes_are_given_up,
        "A2: a node that has not answered by its deadline has not voted.",
        trace_run(&three, "[0]   acquire 1000          -> send ACQUIRE 123\n"
                          "[1]   1 granted\n"
                          "[1]   timer-at 50\n"
                          "[50]  timer       -> send ROLLBACK 123, done NOQUORUM\n"));

CASE_OF(node_deadline_is_small_against_the_ttl, "A2: never more than a quarter of the TTL.",
        trace_run(&three, "[0]   acquire 100           -> send ACQUIRE 123\n"
                          "[1]   timer-at 25\n"));

CASE_OF(a_warming_node_gets_its_time, "A cold connection starts a node's deadline anew.",
        trace_run(&three, "[0]   acquire 1000          -> send ACQUIRE 123\n"
                          "[1]   1 granted\n"
                          "[50]  timer warming 23\n"
                          "[50]  timer-at 100\n"
                          "[70]  2 granted            -> done OK\n"
                          "[70]  remaining 918\n"));

CASE(retries_after_a_random_delay,
     "A9: retries have full jitter, a doubling delay and a new round each.")
{
    /* The random number is one half: half of 10, then 20, then 40 ms. */
    trace_run(&three, "[0]    acquire 1000 wait 2000 -> send ACQUIRE 123\n"
                      "[1]    12 refused   -> send ROLLBACK 123\n"
                      "[1]    state backoff\n"
                      "[1]    timer-at 6\n"
                      "[7]    timer        -> send ACQUIRE 123\n"
                      "[7]    12 refused   -> send ROLLBACK 123\n"
                      "[7]    timer-at 17\n"
                      "[18]   timer        -> send ACQUIRE 123\n"
                      "[18]   1 granted\n"
                      "[19]   2 granted    -> done OK\n");
}

CASE_OF(late_grant_of_an_older_round_is_not_counted,
        "A1, A3: a reply counts for its own round only.",
        trace_run(&three, "[0]    acquire 1000 wait 2000 -> send ACQUIRE 123\n"
                          "[1]    12 refused   -> send ROLLBACK 123\n"
                          "[7]    timer        -> send ACQUIRE 123\n"
                          "[7]    late 1 ACQUIRE 3 granted\n"
                          "[7]    1 granted\n"
                          "[7]    state acquiring\n"
                          "[8]    3 granted    -> done OK\n"
                          "[8]    keys 13\n"));

CASE_OF(wait_deadline_ends_the_wait,
        "A9: a wait ends with TIMEOUT at its deadline, also between attempts.",
        trace_run(&three, "[0]    acquire 1000 wait 20 -> send ACQUIRE 123\n"
                          "[1]    1 taken\n"
                          "[17]   2 taken      -> send ROLLBACK 123, send TICKET 123\n"
                          "[17]   timer-at 20\n"
                          "[20]   timer        -> done TIMEOUT\n"));

CASE(never_grants_late, "A9: a quorum that comes after the wait deadline is rolled back.")
{
    trace_run(&three, "[0]    acquire 1000 wait 20 -> send ACQUIRE 123\n"
                      "[1]    1 granted\n"
                      "[21]   2 granted    -> send ROLLBACK 123, done TIMEOUT\n");
    trace_run(&three, "[0]    acquire 1000 wait 20 -> send ACQUIRE 123\n"
                      "[1]    1 granted\n"
                      "[20]   timer        -> send ROLLBACK 123, done NOQUORUM\n"
                      "[21]   2 granted\n"
                      "[21]   state ended\n");
}

CASE(nothing_is_tried_after_the_wait,
     "A9: an acquire whose driver comes after its deadline sends nothing.")
{
    trace_run(&three, "[30]   acquire 1000 wait -10 -> done TIMEOUT\n"
                      "[30]   state ended\n");
    trace_run(&three, "[30]   acquire 1000 wait -10 parked -> done TIMEOUT\n");
    trace_run(&three, "[30]   acquire 1000 wait -10 yields -> done TIMEOUT\n");
}

CASE(too_late_is_taken_back,
     "A9: a hold not delivered before the deadline is rolled back without a loss.")
{
    trace_run(&three, "[0]    acquire 1000 wait 20 -> send ACQUIRE 123\n"
                      "[1]    1 granted\n"
                      "[2]    2 granted    -> done OK\n"
                      "[21]   too-late     -> send ROLLBACK 123\n"
                      "[21]   state ended\n"
                      "[21]   remaining 0\n"
                      "[22]   3 granted\n"
                      "[990]  timer\n"
                      "[991]  extend 1000  -> done LOST\n");
    /* Lost meanwhile, of which the owner gets nothing either. */
    trace_run(&three, "[0]    acquire 1000 wait 20 -> send ACQUIRE 123\n"
                      "[1]    1 granted\n"
                      "[2]    2 granted    -> done OK\n"
                      "[938]  timer        -> lost\n"
                      "[940]  too-late     -> send ROLLBACK 123\n"
                      "[990]  timer\n");
}

CASE_OF(an_outage_is_waited_out, "A9: too few nodes now do not end a wait.",
        trace_run(&three, "[0]    acquire 1000 wait 2000 -> send ACQUIRE 123\n"
                          "[1]    12 refused   -> send ROLLBACK 123\n"
                          "[7]    timer        -> send ACQUIRE 123\n"
                          "[7]    1 granted\n"
                          "[8]    2 granted    -> done OK\n"));

CASE(cancel_rolls_back, "A canceled attempt leaves nothing behind.")
{
    trace_run(&three, "[0]    acquire 1000 wait forever -> send ACQUIRE 123\n"
                      "[1]    1 granted\n"
                      "[2]    cancel       -> send ROLLBACK 123, done CANCELED\n"
                      "[3]    2 granted\n"
                      "[3]    state ended\n");
    trace_run(&three, "[0]    acquire 1000 wait forever -> send ACQUIRE 123\n"
                      "[1]    1 taken\n"
                      "[2]    2 taken      -> send ROLLBACK 123, send TICKET 123\n"
                      "[3]    cancel       -> done CANCELED\n");
}
