/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of one lock as golden traces: every rule of the algorithm has one that shows it. */
#include "check.h"
#include "trace.h"

static const struct trace_options five = {.node_count = 5, .random = 1u << 31};
static const struct trace_options three = {.node_count = 3, .random = 1u << 31};

CASE(wins_at_the_deciding_reply, "A3: the third of five grants decides, stragglers only add.")
{
    trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                     "[1]   1 granted\n"
                     "[2]   3 granted\n"
                     "[5]   5 granted             -> done OK\n"
                     "[5]   state held\n"
                     "[5]   held 135\n"
                     "[5]   remaining 983\n"
                     "[7]   2 granted\n"
                     "[7]   held 1235\n"
                     "[9]   4 held\n"
                     "[9]   held 1235\n"
                     "[9]   state held\n");
}

CASE(validity_counts_from_before_the_first_send,
     "A3: the validity is the TTL less elapsed time and drift.")
{
    /* ttl 1000: drift 12, so at 988 and later nothing is left of it. */
    trace_run(&three, "[0]     acquire 1000        -> send ACQUIRE 123\n"
                      "[10]    1 granted\n"
                      "[40]    2 granted           -> done OK\n"
                      "[40]    remaining 948\n");
}

CASE(quorum_after_the_validity_is_no_lock,
     "A3: a quorum after the end of the validity is rolled back.")
{
    trace_run(&three, "[0]     acquire 1000        -> send ACQUIRE 123\n"
                      "[10]    1 granted\n"
                      "[988]   2 granted           -> send ROLLBACK 123, done NOQUORUM\n"
                      "[988]   state ended\n"
                      "[988]   remaining 0\n");
}

CASE(valid_until_its_loss_would_be_told,
     "A3: a quorum wins until the moment when its loss would be told.")
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

CASE(loses_as_soon_as_winning_is_impossible,
     "A4: an attempt rolls back as soon as a quorum is impossible.")
{
    trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                     "[1]   1 granted\n"
                     "[2]   2 held\n"
                     "[3]   3 held\n"
                     "[4]   4 held               -> send ROLLBACK 12345, send INQUIRE 234\n"
                     "[5]   2 held 700\n"
                     "[5]   3 held 701\n"
                     "[6]   4 held 702           -> done BUSY\n");
}

CASE(busy_and_broken_are_different, "A4: three dead of five is NOQUORUM, not BUSY.")
{
    trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                     "[1]   1 refused\n"
                     "[2]   2 refused\n"
                     "[3]   3 timedout           -> send ROLLBACK 12345, done NOQUORUM\n");
    trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                     "[1]   1 refused\n"
                     "[2]   2 refused\n"
                     "[3]   3 held      -> send ROLLBACK 12345, send INQUIRE 3\n"
                     "[4]   3 held 100           -> done BUSY\n");
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

CASE(silent_nodes_are_given_up,
     "A2: a node that has not answered by its deadline has not voted.")
{
    trace_run(&three, "[0]   acquire 1000          -> send ACQUIRE 123\n"
                      "[1]   1 granted\n"
                      "[1]   timer-at 50\n"
                      "[50]  timer       -> send ROLLBACK 123, done NOQUORUM\n");
}

CASE(node_deadline_is_small_against_the_ttl, "A2: never more than a quarter of the TTL.")
{
    trace_run(&three, "[0]   acquire 100           -> send ACQUIRE 123\n"
                      "[1]   timer-at 25\n");
}

CASE(a_warming_node_gets_its_time, "A cold connection starts a node's deadline anew.")
{
    trace_run(&three, "[0]   acquire 1000          -> send ACQUIRE 123\n"
                      "[1]   1 granted\n"
                      "[50]  timer warming 23\n"
                      "[50]  timer-at 100\n"
                      "[70]  2 granted            -> done OK\n"
                      "[70]  remaining 918\n");
}

CASE(retries_after_a_random_delay,
     "A9: retries have full jitter, a doubling delay and a new round each.")
{
    /* The random number is one half: half of 10, then 20, then 40 ms. */
    trace_run(&three, "[0]    acquire 1000 wait 2000 -> send ACQUIRE 123\n"
                      "[1]    1 refused\n"
                      "[1]    2 refused    -> send ROLLBACK 123\n"
                      "[1]    state backoff\n"
                      "[1]    timer-at 6\n"
                      "[7]    timer        -> send ACQUIRE 123\n"
                      "[7]    1 refused\n"
                      "[7]    2 refused    -> send ROLLBACK 123\n"
                      "[7]    timer-at 17\n"
                      "[18]   timer        -> send ACQUIRE 123\n"
                      "[18]   1 granted\n"
                      "[19]   2 granted    -> done OK\n");
}

CASE(late_grant_of_an_older_round_is_not_counted,
     "A1, A3: a reply counts for its own round only.")
{
    trace_run(&three, "[0]    acquire 1000 wait 2000 -> send ACQUIRE 123\n"
                      "[1]    1 refused\n"
                      "[1]    2 refused    -> send ROLLBACK 123\n"
                      "[7]    timer        -> send ACQUIRE 123\n"
                      "[7]    late 1 ACQUIRE 3 granted\n"
                      "[7]    1 granted\n"
                      "[7]    state acquiring\n"
                      "[8]    3 granted    -> done OK\n"
                      "[8]    held 13\n");
}

CASE(one_node_votes_once, "A repeated answer of one node is not a second vote.")
{
    trace_run(&three, "[0]    acquire 1000        -> send ACQUIRE 123\n"
                      "[1]    1 granted\n"
                      "[2]    1 granted\n"
                      "[2]    state acquiring\n");
}

CASE(wait_deadline_ends_the_wait,
     "A9: a wait ends with TIMEOUT at its deadline, also between attempts.")
{
    trace_run(&three, "[0]    acquire 1000 wait 20 -> send ACQUIRE 123\n"
                      "[1]    1 held\n"
                      "[17]   2 held       -> send ROLLBACK 123, send TICKET 123\n"
                      "[17]   timer-at 20\n"
                      "[20]   timer        -> done TIMEOUT\n");
}

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

CASE(untold_in_time_is_taken_back,
     "A9: a hold not delivered before the deadline is rolled back without a loss.")
{
    trace_run(&three, "[0]    acquire 1000 wait 20 -> send ACQUIRE 123\n"
                      "[1]    1 granted\n"
                      "[2]    2 granted    -> done OK\n"
                      "[21]   untold       -> send ROLLBACK 123\n"
                      "[21]   state ended\n"
                      "[21]   remaining 0\n"
                      "[22]   3 granted\n"
                      "[990]  timer\n"
                      "[991]  extend 1000  -> done LOST\n");
    /* Lost meanwhile, of which the owner hears nothing either. */
    trace_run(&three, "[0]    acquire 1000 wait 20 -> send ACQUIRE 123\n"
                      "[1]    1 granted\n"
                      "[2]    2 granted    -> done OK\n"
                      "[938]  timer        -> lost\n"
                      "[940]  untold       -> send ROLLBACK 123\n"
                      "[990]  timer\n");
}

CASE(an_outage_is_waited_out, "A9: too few nodes now do not end a wait.")
{
    trace_run(&three, "[0]    acquire 1000 wait 2000 -> send ACQUIRE 123\n"
                      "[1]    1 refused\n"
                      "[1]    2 refused    -> send ROLLBACK 123\n"
                      "[7]    timer        -> send ACQUIRE 123\n"
                      "[7]    1 granted\n"
                      "[8]    2 granted    -> done OK\n");
}

CASE(cancel_rolls_back, "A canceled attempt leaves nothing behind.")
{
    trace_run(&three, "[0]    acquire 1000 wait forever -> send ACQUIRE 123\n"
                      "[1]    1 granted\n"
                      "[2]    cancel       -> send ROLLBACK 123, done CANCELED\n"
                      "[3]    2 granted\n"
                      "[3]    state ended\n");
    trace_run(&three, "[0]    acquire 1000 wait forever -> send ACQUIRE 123\n"
                      "[1]    1 held\n"
                      "[2]    2 held       -> send ROLLBACK 123, send TICKET 123\n"
                      "[3]    cancel       -> done CANCELED\n");
}

#define HELD_BY_THREE                                                                          \
    "[0]   acquire 1000  -> send ACQUIRE 12345\n"                                              \
    "[1]   1 granted\n"                                                                        \
    "[1]   2 granted\n"                                                                        \
    "[1]   3 granted     -> done OK\n"

CASE(extend_moves_the_deadline,
     "A7: a quorum of renewals within the validity moves the deadline.")
{
    trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                   "[501]  1 granted\n"
                                   "[502]  2 granted\n"
                                   "[502]  remaining 486\n"
                                   "[503]  3 granted     -> done OK\n"
                                   "[503]  remaining 985\n"
                                   "[504]  4 missing     -> send HEAL 4\n"
                                   "[505]  5 granted\n"
                                   "[505]  held 1235\n");
}

CASE(a_late_grant_does_not_hide_a_missing_key,
     "A3: a late grant does not undo what a newer extension found missing.")
{
    trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                   "[501]  1 granted\n"
                                   "[501]  2 granted\n"
                                   "[501]  3 granted     -> done OK\n"
                                   "[502]  late 1 ACQUIRE 4 granted\n"
                                   "[502]  held 123\n"
                                   "[503]  4 missing     -> send HEAL 4\n"
                                   "[503]  held 123\n");
}

CASE(extend_never_shortens, "A7: a shorter TTL leaves the deadline where it is.")
{
    trace_run(&five, HELD_BY_THREE "[100]  extend 200    -> send EXTEND 12345\n"
                                   "[101]  1 granted\n"
                                   "[101]  2 granted\n"
                                   "[101]  3 granted     -> done OK\n"
                                   "[101]  remaining 887\n");
}

CASE(failed_extension_leaves_the_old_deadline,
     "A7: an extension without a quorum leaves the deadline alone.")
{
    trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                   "[501]  1 granted\n"
                                   "[502]  2 refused\n"
                                   "[502]  3 refused\n"
                                   "[502]  4 missing     -> jeopardy, done NOQUORUM\n"
                                   "[502]  remaining 486\n"
                                   "[502]  state held\n"
                                   "[988]  timer         -> send ROLLBACK 12345, lost\n"
                                   "[988]  remaining 0\n");
}

CASE(late_renewals_of_an_older_round_do_not_count,
     "A7: an extension is proven by its own round.")
{
    trace_run(&five, HELD_BY_THREE "[100]  extend 1000   -> send EXTEND 12345\n"
                                   "[150]  timer         -> jeopardy, done NOQUORUM\n"
                                   "[160]  extend 1000   -> send EXTEND 12345\n"
                                   "[161]  late 2 EXTEND 1 granted\n"
                                   "[161]  late 2 EXTEND 2 granted\n"
                                   "[161]  late 2 EXTEND 3 granted\n"
                                   "[161]  remaining 827\n");
}

CASE(a_renewal_after_the_end_changes_nothing, "A10: late replies do not resurrect a hold.")
{
    trace_run(&five, HELD_BY_THREE "[930]  extend 1000   -> send EXTEND 12345\n"
                                   "[931]  1 granted\n"
                                   "[932]  2 granted\n"
                                   "[988]  3 granted -> send ROLLBACK 12345, lost, done LOST\n"
                                   "[988]  remaining 0\n");
    trace_run(&five,
              HELD_BY_THREE "[988]  extend 1000 -> send ROLLBACK 12345, lost, done LOST\n");
}

CASE(keys_gone_from_too_many_nodes_is_a_loss,
     "A7, A10: a quorum's keys missing is a loss; the others stay to the promised end.")
{
    trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                   "[501]  1 missing\n"
                                   "[501]  2 missing\n"
                                   "[501]  4 missing -> lost, done LOST\n"
                                   "[501]  state ended\n"
                                   "[900]  timer\n"
                                   "[988]  timer -> send ROLLBACK 12345\n");
}

CASE(extensions_can_be_capped, "A7: extensions are capped by count and by total time held.")
{
    struct trace_options counted = five;
    struct trace_options timed = five;

    counted.terms.max_extensions = 1;
    timed.terms.max_hold_ns = 1500 * 1000000ll;
    trace_run(&counted, HELD_BY_THREE "[10]   extend 1000    -> send EXTEND 12345\n"
                                      "[11]   1 granted\n"
                                      "[11]   2 granted\n"
                                      "[11]   3 granted      -> done OK\n"
                                      "[20]   extend 1000    -> done INVAL\n"
                                      "[20]   state held\n");
    trace_run(&timed, HELD_BY_THREE "[500]  extend 1000    -> send EXTEND 12345\n"
                                    "[501]  1 granted\n"
                                    "[501]  2 granted\n"
                                    "[501]  3 granted      -> done OK\n"
                                    "[502]  extend 1000    -> done INVAL\n");
}

CASE(the_watchdog_renews_at_a_third,
     "A11: the watchdog renews at a third of the TTL, again and again, silently.")
{
    struct trace_options renewing = five;

    renewing.terms.renew = true;
    trace_run(&renewing, HELD_BY_THREE "[1]    timer-at 333\n"
                                       "[334]  timer         -> send EXTEND 12345\n"
                                       "[335]  1 granted\n"
                                       "[335]  2 granted\n"
                                       "[335]  3 granted\n"
                                       "[335]  remaining 987\n"
                                       "[335]  timer-at 667\n");
}

CASE(the_watchdog_insists_until_the_end,
     "A10: failed renewals are retried until the lock is lost.")
{
    struct trace_options renewing = five;

    renewing.terms.renew = true;
    trace_run(&renewing, HELD_BY_THREE "[334]  timer         -> send EXTEND 12345\n"
                                       "[335]  1 refused\n"
                                       "[335]  2 refused\n"
                                       "[335]  3 refused     -> jeopardy\n"
                                       "[335]  timer-at 385\n"
                                       "[385]  timer         -> send EXTEND 12345\n"
                                       "[435]  timer\n"
                                       "[435]  state held\n"
                                       "[988]  timer  -> send ROLLBACK 12345, lost\n"
                                       "[988]  timer\n");
}

CASE(a_hold_without_watchdog_ends_by_itself,
     "A10: a hold without watchdog is lost by the end of its validity.")
{
    trace_run(&five, HELD_BY_THREE "[1]    timer-at 938\n"
                                   "[937]  timer\n"
                                   "[938]  timer   -> lost\n"
                                   "[938]  state ended\n"
                                   "[938]  timer-at 988\n"
                                   "[988]  timer   -> send ROLLBACK 12345\n"
                                   "[989]  timer\n");
}

CASE(release_is_decided_by_a_quorum, "A6: deleted on a majority is released.")
{
    trace_run(&five, HELD_BY_THREE "[10]  release        -> send RELEASE 12345\n"
                                   "[10]  remaining 0\n"
                                   "[11]  1 granted\n"
                                   "[11]  2 granted\n"
                                   "[12]  3 granted      -> done OK\n");
}

CASE(released_where_it_was, "A6: nodes that never had the key do not make a release EXPIRED.")
{
    trace_run(&five, HELD_BY_THREE "[10]  release        -> send RELEASE 12345\n"
                                   "[11]  1 granted\n"
                                   "[11]  4 missing\n"
                                   "[12]  5 missing\n"
                                   "[12]  2 granted\n"
                                   "[60]  timer          -> done OK\n");
}

CASE(a_key_that_is_gone_is_expired, "A6: a release is EXPIRED when a quorum of keys is gone.")
{
    trace_run(&five, HELD_BY_THREE "[10]  release        -> send RELEASE 12345\n"
                                   "[11]  1 missing\n"
                                   "[11]  2 missing\n"
                                   "[12]  3 missing      -> send INQUIRE 123\n"
                                   "[13]  1 missing\n"
                                   "[13]  2 missing\n"
                                   "[13]  3 missing      -> done EXPIRED\n");
}

CASE(a_key_of_another_is_lost, "A6: a release that finds another's keys is LOST, not EXPIRED.")
{
    trace_run(&five, HELD_BY_THREE "[10]  release        -> send RELEASE 12345\n"
                                   "[11]  1 missing\n"
                                   "[11]  2 missing\n"
                                   "[12]  3 missing      -> send INQUIRE 123\n"
                                   "[13]  1 held 900\n"
                                   "[13]  2 held 900\n"
                                   "[62]  timer          -> done LOST\n");
}

CASE(a_release_after_the_end_says_so, "A6: a release after the end of the validity says so.")
{
    trace_run(&five, HELD_BY_THREE "[990] release        -> send RELEASE 12345\n"
                                   "[991] 1 granted\n"
                                   "[991] 2 granted\n"
                                   "[991] 3 granted      -> done EXPIRED\n");
}

CASE(a_release_nobody_confirms, "A6: a release with too few confirmations is NOQUORUM, not OK.")
{
    trace_run(&five, HELD_BY_THREE "[10]  release        -> send RELEASE 12345\n"
                                   "[11]  1 granted\n"
                                   "[11]  2 refused\n"
                                   "[11]  3 refused\n"
                                   "[60]  timer          -> done NOQUORUM\n");
}

CASE(an_adopted_lock_is_proven_by_extension,
     "An adopted value is held once a quorum has renewed it.")
{
    trace_run(&three, "[0]   adopt\n"
                      "[0]   remaining 0\n"
                      "[5]   extend 1000         -> send EXTEND 123\n"
                      "[6]   1 granted\n"
                      "[7]   3 granted           -> done OK\n"
                      "[7]   remaining 986\n"
                      "[9]   release             -> send RELEASE 123\n"
                      "[9]   1 granted\n"
                      "[9]   3 granted           -> done OK\n");
    trace_run(&three, "[0]   adopt\n"
                      "[5]   extend 1000         -> send EXTEND 123\n"
                      "[6]   1 missing\n"
                      "[7]   3 missing   -> lost, done LOST\n");
}
