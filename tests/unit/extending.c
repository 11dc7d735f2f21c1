/* SPDX-License-Identifier: BSD-2-Clause */
/* A held lock as golden traces: extended, renewed by the watchdog, released, adopted. */
#include "check.h"
#include "trace.h"

static const struct trace_options five = {.node_count = 5, .random = 1u << 31};
static const struct trace_options three = {.node_count = 3, .random = 1u << 31};
static const struct trace_options renewing = {
    .node_count = 5, .random = 1u << 31, .terms = {.renew = true}};

#define HELD_BY_THREE                                                                          \
    "[0]   acquire 1000  -> send ACQUIRE 12345\n"                                              \
    "[1]   123 granted   -> done OK\n"

CASE_OF(extend_moves_the_deadline,
        "A7: a quorum of renewals within the validity moves the deadline.",
        trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                       "[501]  1 granted\n"
                                       "[502]  2 granted\n"
                                       "[502]  remaining 486\n"
                                       "[503]  3 granted     -> done OK\n"
                                       "[503]  remaining 985\n"
                                       "[504]  4 missing     -> send REPAIR 4\n"
                                       "[505]  5 granted\n"
                                       "[505]  keys 1235\n"));

CASE_OF(a_late_grant_does_not_hide_a_missing_key,
        "A3: a late grant does not undo what a newer extension found missing.",
        trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                       "[501]  123 granted   -> done OK\n"
                                       "[502]  late 1 ACQUIRE 4 granted\n"
                                       "[502]  keys 123\n"
                                       "[503]  4 missing     -> send REPAIR 4\n"
                                       "[503]  keys 123\n"));

CASE_OF(extend_never_shortens, "A7: a shorter TTL leaves the deadline where it is.",
        trace_run(&five, HELD_BY_THREE "[100]  extend 200    -> send EXTEND 12345\n"
                                       "[101]  123 granted   -> done OK\n"
                                       "[101]  remaining 887\n"));

CASE_OF(failed_extension_leaves_the_old_deadline,
        "A7: an extension without a quorum leaves the deadline alone.",
        trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                       "[501]  1 granted\n"
                                       "[502]  23 refused\n"
                                       "[502]  4 missing     -> jeopardy, done NOQUORUM\n"
                                       "[502]  remaining 486\n"
                                       "[502]  state held\n"
                                       "[988]  timer         -> send ROLLBACK 12345, lost\n"
                                       "[988]  remaining 0\n"));

CASE_OF(late_renewals_of_an_older_round_do_not_count,
        "A7: an extension is proven by its own round.",
        trace_run(&five, HELD_BY_THREE "[100]  extend 1000   -> send EXTEND 12345\n"
                                       "[150]  timer         -> jeopardy, done NOQUORUM\n"
                                       "[160]  extend 1000   -> send EXTEND 12345\n"
                                       "[161]  late 2 EXTEND 1 granted\n"
                                       "[161]  late 2 EXTEND 2 granted\n"
                                       "[161]  late 2 EXTEND 3 granted\n"
                                       "[161]  remaining 827\n"));

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

CASE_OF(keys_gone_from_too_many_nodes_is_a_loss,
        "A7, A10: a quorum's keys missing is a loss; the others stay to the promised end.",
        trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                       "[501]  124 missing -> lost, done LOST\n"
                                       "[501]  state ended\n"
                                       "[900]  timer\n"
                                       "[988]  timer -> send ROLLBACK 12345\n"));

CASE(nodes_that_are_down_do_not_hide_a_loss,
     "A7: with one or two of five nodes down, the keys missing on the others prove the loss.")
{
    trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                   "[500]  5 refused\n"
                                   "[501]  12 missing\n"
                                   "[520]  3 missing -> lost, done LOST\n"
                                   "[520]  state ended\n");
    trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                   "[500]  45 refused\n"
                                   "[501]  12 missing\n"
                                   "[520]  3 missing -> lost, done LOST\n");
}

CASE(a_renewal_waits_for_no_proof_in_vain,
     "A7: a renewal that can neither be won nor prove the loss fails at once, or in time.")
{
    trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                   "[500]  5 refused\n"
                                   "[501]  12 missing\n"
                                   "[502]  3 granted\n"
                                   "[503]  4 granted     -> jeopardy, done NOQUORUM\n"
                                   "[503]  state held\n");
    trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                   "[500]  5 refused\n"
                                   "[501]  12 missing\n"
                                   "[501]  timer-at 550\n"
                                   "[550]  timer         -> jeopardy, done NOQUORUM\n"
                                   "[550]  remaining 438\n");
}

CASE(a_straggler_completes_the_proof,
     "A7: a missing key that is reported after the renewal was judged failed ends the hold.")
{
    trace_run(&five, HELD_BY_THREE "[500]  extend 1000   -> send EXTEND 12345\n"
                                   "[501]  12 missing\n"
                                   "[550]  timer         -> jeopardy, done NOQUORUM\n"
                                   "[560]  3 granted\n"
                                   "[561]  4 missing     -> lost\n"
                                   "[561]  state ended\n"
                                   "[988]  timer -> send ROLLBACK 12345\n");
    trace_run(&renewing, HELD_BY_THREE "[334]  timer         -> send EXTEND 12345\n"
                                       "[335]  5 refused\n"
                                       "[335]  12 missing\n"
                                       "[384]  timer         -> jeopardy\n"
                                       "[384]  timer-at 434\n"
                                       "[400]  3 missing     -> lost\n");
}

CASE_OF(a_renewal_that_was_left_open_is_repeated,
        "A11: a renewal left open that can no longer be won is repeated, proof or not.",
        trace_run(&renewing, HELD_BY_THREE "[334]  timer         -> send EXTEND 12345\n"
                                           "[335]  5 refused\n"
                                           "[335]  1 missing\n"
                                           "[384]  timer         -> jeopardy\n"
                                           "[400]  2 missing\n"
                                           "[400]  timer-at 450\n"
                                           "[450]  timer         -> send EXTEND 12345\n"));

CASE(what_others_may_end_is_not_repaired,
     "A8: a value that is kept, tagged or adopted is put back on no node, late or not.")
{
    struct trace_options kept = five;
    struct trace_options tagged = five;

    kept.terms.keep = true;
    tagged.terms.tagged = true;
#define RENEWED_BY_THREE                                                                       \
    "[500]  extend 1000   -> send EXTEND 12345\n"                                              \
    "[501]  12 granted\n"                                                                      \
    "[502]  4 missing\n"                                                                       \
    "[503]  3 granted     -> done OK\n"                                                        \
    "[504]  5 missing\n"                                                                       \
    "[504]  keys 123\n"
    trace_run(&kept, HELD_BY_THREE RENEWED_BY_THREE);
    trace_run(&tagged, HELD_BY_THREE RENEWED_BY_THREE);
    trace_run(&five, "[0]    adopt\n" RENEWED_BY_THREE);
#undef RENEWED_BY_THREE
}

CASE(extensions_can_be_capped, "A7: extensions are capped by count and by total time held.")
{
    struct trace_options counted = five;
    struct trace_options timed = five;

    counted.terms.max_extensions = 1;
    timed.terms.max_hold_ns = 1500 * 1000000ll;
    trace_run(&counted, HELD_BY_THREE "[10]   extend 1000    -> send EXTEND 12345\n"
                                      "[11]   123 granted    -> done OK\n"
                                      "[20]   extend 1000    -> done INVAL\n"
                                      "[20]   state held\n");
    trace_run(&timed, HELD_BY_THREE "[500]  extend 1000    -> send EXTEND 12345\n"
                                    "[501]  123 granted    -> done OK\n"
                                    "[502]  extend 1000    -> done INVAL\n");
}

CASE_OF(the_watchdog_renews_at_a_third,
        "A11: the watchdog renews at a third of the TTL, again and again, silently.",
        trace_run(&renewing, HELD_BY_THREE "[1]    timer-at 333\n"
                                           "[334]  timer         -> send EXTEND 12345\n"
                                           "[335]  123 granted\n"
                                           "[335]  remaining 987\n"
                                           "[335]  timer-at 667\n"));

CASE_OF(the_watchdog_insists_until_the_end,
        "A10: failed renewals are retried until the lock is lost.",
        trace_run(&renewing, HELD_BY_THREE "[334]  timer         -> send EXTEND 12345\n"
                                           "[335]  123 refused   -> jeopardy\n"
                                           "[335]  timer-at 385\n"
                                           "[385]  timer         -> send EXTEND 12345\n"
                                           "[435]  timer\n"
                                           "[435]  state held\n"
                                           "[988]  timer  -> send ROLLBACK 12345, lost\n"
                                           "[988]  timer\n"));

CASE_OF(a_hold_without_watchdog_ends_by_itself,
        "A10: a hold without watchdog is lost by the end of its validity.",
        trace_run(&five, HELD_BY_THREE "[1]    timer-at 938\n"
                                       "[937]  timer\n"
                                       "[938]  timer   -> lost\n"
                                       "[938]  state ended\n"
                                       "[938]  timer-at 988\n"
                                       "[988]  timer   -> send ROLLBACK 12345\n"
                                       "[989]  timer\n"));

CASE_OF(release_is_decided_by_a_quorum, "A6: deleted on a majority is released.",
        trace_run(&five, HELD_BY_THREE "[10]  release        -> send RELEASE 12345\n"
                                       "[10]  remaining 0\n"
                                       "[11]  12 granted\n"
                                       "[12]  3 granted      -> done OK\n"));

CASE_OF(released_where_it_was,
        "A6: nodes that never had the key do not make a release EXPIRED.",
        trace_run(&five, HELD_BY_THREE "[10]  release        -> send RELEASE 12345\n"
                                       "[11]  1 granted\n"
                                       "[11]  4 missing\n"
                                       "[12]  5 missing\n"
                                       "[12]  2 granted\n"
                                       "[60]  timer          -> done OK\n"));

CASE_OF(a_key_that_is_gone_is_expired,
        "A6: a release is EXPIRED when a quorum of keys is gone.",
        trace_run(&five, HELD_BY_THREE "[10]  release        -> send RELEASE 12345\n"
                                       "[11]  12 missing\n"
                                       "[12]  3 missing      -> send INQUIRE 123\n"
                                       "[13]  123 missing    -> done EXPIRED\n"));

CASE_OF(a_key_of_another_is_lost,
        "A6: a release that finds another's keys is LOST, not EXPIRED.",
        trace_run(&five, HELD_BY_THREE "[10]  release        -> send RELEASE 12345\n"
                                       "[11]  12 missing\n"
                                       "[12]  3 missing      -> send INQUIRE 123\n"
                                       "[13]  12 taken 900\n"
                                       "[62]  timer          -> done LOST\n"));

CASE_OF(a_release_after_the_end_says_so, "A6: a release after the end of the validity says so.",
        trace_run(&five, HELD_BY_THREE "[990] release        -> send RELEASE 12345\n"
                                       "[991] 123 granted    -> done EXPIRED\n"));

CASE_OF(a_release_nobody_confirms,
        "A6: a release with too few confirmations is NOQUORUM, not OK.",
        trace_run(&five, HELD_BY_THREE "[10]  release        -> send RELEASE 12345\n"
                                       "[11]  1 granted\n"
                                       "[11]  23 refused\n"
                                       "[60]  timer          -> done NOQUORUM\n"));

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
                      "[9]   13 granted          -> done OK\n");
    trace_run(&three, "[0]   adopt\n"
                      "[5]   extend 1000         -> send EXTEND 123\n"
                      "[6]   1 missing\n"
                      "[7]   3 missing   -> lost, done LOST\n");
}
