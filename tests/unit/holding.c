/* SPDX-License-Identifier: BSD-2-Clause */
/* Holding safely, as golden traces: fencing tokens, repair, jeopardy, nodes that drop out. */
#include "check.h"
#include "trace.h"

static const struct trace_options fenced = {
    .node_count = 3, .random = 1u << 31, .terms = {.fenced = true}};
static const struct trace_options five = {.node_count = 5, .random = 1u << 31};
static const struct trace_options renewing = {
    .node_count = 5, .random = 1u << 31, .terms = {.renew = true}};

CASE_OF(equal_counters_need_no_extra_round_trip,
        "Equal fence counters of a quorum need no ALIGN.",
        trace_run(&fenced, "[0]   acquire 1000        -> send ACQUIRE 123\n"
                           "[1]   1 granted @7\n"
                           "[2]   3 granted @7        -> done OK\n"
                           "[2]   token 7\n"));

CASE_OF(the_token_is_written_back_to_granting_nodes,
        "ALIGN goes only to nodes that granted with a smaller counter.",
        trace_run(&fenced, "[0]   acquire 1000        -> send ACQUIRE 123\n"
                           "[1]   1 granted @5\n"
                           "[2]   3 granted @7        -> send ALIGN 1\n"
                           "[2]   state aligning\n"
                           "[2]   2 granted @9\n"
                           "[3]   1 granted           -> done OK\n"
                           "[3]   token 7\n"
                           "[3]   remaining 985\n"));

CASE(no_token_without_a_quorum,
     "An acquire fails when a node lost the key before it was aligned.")
{
    trace_run(&fenced, "[0]   acquire 1000        -> send ACQUIRE 123\n"
                       "[1]   1 granted @5\n"
                       "[2]   3 granted @7        -> send ALIGN 1\n"
                       "[3]   1 missing           -> send ROLLBACK 123, done NOQUORUM\n");
    trace_run(&fenced, "[0]   acquire 1000        -> send ACQUIRE 123\n"
                       "[1]   1 granted @5\n"
                       "[2]   3 granted @7        -> send ALIGN 1\n"
                       "[52]  timer               -> send ROLLBACK 123, done NOQUORUM\n");
}

CASE(validity_is_checked_again_after_alignment,
     "A fenced acquire fails when the validity or the wait ends during ALIGN.")
{
    trace_run(&fenced, "[0]    acquire 1000       -> send ACQUIRE 123\n"
                       "[1]    1 granted @5\n"
                       "[930]  3 granted @7       -> send ALIGN 1\n"
                       "[938]  1 granted          -> send ROLLBACK 123, done NOQUORUM\n");
    trace_run(&fenced, "[0]    acquire 1000 wait 20 -> send ACQUIRE 123\n"
                       "[1]    1 granted @5\n"
                       "[18]   3 granted @7       -> send ALIGN 1\n"
                       "[21]   1 granted          -> send ROLLBACK 123, done TIMEOUT\n");
}

CASE_OF(canceled_while_aligning, "A cancel during ALIGN rolls the attempt back.",
        trace_run(&fenced, "[0]   acquire 1000        -> send ACQUIRE 123\n"
                           "[1]   1 granted @5\n"
                           "[2]   3 granted @7        -> send ALIGN 1\n"
                           "[3]   cancel              -> send ROLLBACK 123, done CANCELED\n"));

CASE_OF(a_ttl_that_nodes_do_not_allow_is_no_reason_to_wait,
        "G4: a TTL beyond the nodes' max_ttl is INVAL at once.",
        trace_run(&fenced, "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"
                           "[1]   12 toolong  -> send ROLLBACK 123, done INVAL\n"));

CASE(young_nodes_do_not_vote, "G1: a grant in quarantine is no vote, and the error is GUARDED.")
{
    trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                     "[1]   12 granted\n"
                     "[2]   345 guarded -> send ROLLBACK 12345, done GUARDED\n");
    trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                     "[1]   123 refused   -> send ROLLBACK 12345, done NOQUORUM\n");
}

#define HELD_BY_THREE                                                                          \
    "[0]   acquire 1000  -> send ACQUIRE 12345\n"                                              \
    "[1]   123 granted   -> done OK\n"

CASE_OF(missing_keys_are_repaired, "A8: a proven renewal repairs nodes that miss the key.",
        trace_run(&renewing, HELD_BY_THREE "[334]  timer          -> send EXTEND 12345\n"
                                           "[335]  1 granted\n"
                                           "[335]  4 missing\n"
                                           "[335]  23 granted     -> send REPAIR 4\n"
                                           "[335]  keys 123\n"
                                           "[336]  5 missing      -> send REPAIR 5\n"
                                           "[337]  4 granted\n"
                                           "[337]  keys 1234\n"
                                           "[338]  5 taken\n"
                                           "[338]  keys 1234\n"));

CASE_OF(what_was_kept_counts_in_quarantine,
        "G3: a renewal counts in quarantine where the key was proven before.",
        trace_run(&renewing, HELD_BY_THREE "[334]  timer          -> send EXTEND 12345\n"
                                           "[335]  123 kept\n"
                                           "[335]  keys 123\n"
                                           "[335]  remaining 987\n"));

CASE(what_was_set_in_quarantine_proves_nothing,
     "G3: a key set in quarantine counts only after a vote of that node.")
{
    trace_run(&renewing,
              HELD_BY_THREE "[2]    4 guarded\n"
                            "[334]  timer          -> send EXTEND 12345\n"
                            "[335]  12 granted\n"
                            "[335]  4 kept\n"
                            "[335]  remaining 653\n"
                            "[335]  5 kept\n"
                            "[335]  3 refused      -> jeopardy\n"
                            "[335]  remaining 653\n"
                            "[385]  timer          -> send EXTEND 12345\n"
                            "[386]  4 granted\n" /* the quarantine is over */
                            "[386]  12 granted     -> recovered\n"
                            "[719]  timer          -> send EXTEND 12345\n"
                            "[720]  4 kept\n" /* in quarantine again, and now it is known */
                            "[720]  12 granted\n"
                            "[720]  keys 124\n");
}

CASE_OF(what_was_missing_proves_nothing,
        "G3: a key that was missing once counts only after a voting node repairs it.",
        trace_run(&renewing, HELD_BY_THREE "[334]  timer          -> send EXTEND 12345\n"
                                           "[335]  3 missing\n"
                                           "[335]  124 granted    -> send REPAIR 3\n"
                                           "[336]  3 guarded\n"
                                           "[668]  timer          -> send EXTEND 12345\n"
                                           "[669]  3 kept\n"
                                           "[669]  12 granted\n"
                                           "[669]  keys 124\n"
                                           "[670]  4 granted\n"
                                           "[670]  keys 124\n"));

CASE_OF(a_renewal_overtakes_a_refused_healing,
        "G3: a renewal that overtakes a refused repair proves no key.",
        trace_run(&renewing, HELD_BY_THREE "[334]  timer          -> send EXTEND 12345\n"
                                           "[335]  3 missing\n"
                                           "[335]  124 granted    -> send REPAIR 3\n"
                                           "[668]  timer          -> send EXTEND 12345\n"
                                           "[669]  3 granted\n"
                                           "[669]  late 2 REPAIR 3 guarded\n"
                                           "[669]  12 granted\n"
                                           "[1002] timer          -> send EXTEND 12345\n"
                                           "[1003] 3 kept\n"
                                           "[1003] 12 granted\n"
                                           "[1003] remaining 653\n"
                                           "[1003] 4 granted\n"
                                           "[1003] remaining 987\n"));

CASE_OF(a_failed_renewal_repairs_nothing, "A8: a renewal without a quorum repairs no node.",
        trace_run(&renewing, HELD_BY_THREE "[334]  timer          -> send EXTEND 12345\n"
                                           "[335]  1 granted\n"
                                           "[335]  4 missing\n"
                                           "[335]  23 refused     -> jeopardy\n"));

CASE_OF(jeopardy_and_recovery,
        "A10: jeopardy is reported once when it begins and once when it ends.",
        trace_run(&renewing, HELD_BY_THREE "[334]  timer          -> send EXTEND 12345\n"
                                           "[335]  123 refused    -> jeopardy\n"
                                           "[385]  timer          -> send EXTEND 12345\n"
                                           "[386]  123 refused\n"
                                           "[436]  timer          -> send EXTEND 12345\n"
                                           "[437]  123 granted    -> recovered\n"
                                           "[437]  remaining 987\n"));

CASE(late_answers_complete_a_renewal,
     "A10: the late answer of a slow node completes a renewal.")
{
    trace_run(&renewing, HELD_BY_THREE "[334]  timer          -> send EXTEND 12345\n"
                                       "[335]  1 granted\n"
                                       "[384]  timer          -> jeopardy\n"
                                       "[384]  timer-at 938\n"
                                       "[600]  2 granted\n"
                                       "[700]  3 granted      -> recovered\n"
                                       "[700]  remaining 622\n"
                                       "[700]  timer-at 667\n");
    trace_run(&renewing, HELD_BY_THREE "[334]  timer          -> send EXTEND 12345\n"
                                       "[384]  timer          -> jeopardy\n"
                                       "[500]  123 refused\n"
                                       "[550]  timer          -> send EXTEND 12345\n");
}

CASE_OF(lost_is_reported_before_the_end,
        "A10: the loss is reported with a lead before the end of the validity.",
        trace_run(&renewing, HELD_BY_THREE "[937]  remaining 51\n"
                                           "[938]  timer  -> lost\n"
                                           "[938]  remaining 0\n"));

CASE_OF(a_lost_lock_given_up_is_swept_at_once,
        "Freeing a lost lock rolls its keys back at once.",
        trace_run(&renewing, HELD_BY_THREE "[938]  timer  -> lost\n"
                                           "[940]  cancel -> send ROLLBACK 12345\n"
                                           "[988]  timer\n"));

CASE_OF(a_node_that_drops_out_carries_nothing,
        "G6: a node that drops out leaves the hold, which is lost below a quorum.",
        trace_run(&five, HELD_BY_THREE "[2]   4 granted\n"
                                       "[2]   keys 1234\n"
                                       "[3]   out 1\n"
                                       "[3]   keys 234\n"
                                       "[3]   state held\n"
                                       "[4]   out 5\n"
                                       "[4]   state held\n"
                                       "[5]   out 2   -> lost\n"
                                       "[988] timer   -> send ROLLBACK 12345\n"));

CASE(a_node_that_drops_out_loses_its_vote,
     "G6: a node that drops out loses its vote in a running acquire or extension.")
{
    trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                     "[1]   12 granted\n"
                     "[2]   out 1\n"
                     "[2]   3 granted\n"
                     "[2]   state acquiring\n"
                     "[3]   1 granted\n"
                     "[3]   state acquiring\n"
                     "[4]   4 granted            -> done OK\n"
                     "[4]   keys 234\n");
    trace_run(&fenced, "[0]   acquire 1000        -> send ACQUIRE 123\n"
                       "[1]   1 granted @5\n"
                       "[2]   3 granted @7        -> send ALIGN 1\n"
                       "[3]   out 3     -> send ROLLBACK 123, done GUARDED\n");
    trace_run(&five, HELD_BY_THREE "[2]    45 granted\n"
                                   "[500]  extend 1000    -> send EXTEND 12345\n"
                                   "[501]  12 granted\n"
                                   "[502]  out 1\n"
                                   "[503]  3 granted\n"
                                   "[503]  remaining 485\n"
                                   "[504]  4 granted      -> done OK\n"
                                   "[504]  keys 234\n");
}

CASE_OF(our_own_pause_spoils_an_attempt,
        "G6: a pause of our own process fails a running attempt.",
        trace_run(&five, "[0]   acquire 1000          -> send ACQUIRE 12345\n"
                         "[1]   1 granted\n"
                         "[2]   abandon   -> send ROLLBACK 12345, done NOQUORUM\n"));

CASE_OF(what_another_process_acquired_is_not_ours_to_delete,
        "Losing an adopted lock does not delete its keys.",
        trace_run(&fenced, "[0]     adopt\n"
                           "[5]     extend 200       -> send EXTEND 123\n"
                           "[6]     12 granted       -> done OK\n"
                           "[201]   timer            -> lost\n"));

CASE_OF(a_short_extension_proves_little,
        "A7: nodes that confirmed only a shorter end do not count for the deadline.",
        trace_run(&five, HELD_BY_THREE "[100]  extend 200     -> send EXTEND 12345\n"
                                       "[101]  345 granted    -> done OK\n"
                                       "[101]  keys 123\n"
                                       "[102]  1 missing\n"
                                       "[102]  keys 23\n"
                                       "[102]  2 granted\n"
                                       "[102]  keys 23\n"));

CASE_OF(our_own_pause_ends_every_hold,
        "G6: a pause of our own process ends every hold as lost.",
        trace_run(&five, HELD_BY_THREE "[5]   abandon  -> lost\n"
                                       "[5]   state ended\n"));

CASE(the_cap_ends_the_renewals, "A11: the watchdog stops at its cap and the hold expires.")
{
    struct trace_options capped = renewing;

    capped.terms.max_extensions = 1;
    trace_run(&capped, HELD_BY_THREE "[334]  timer          -> send EXTEND 12345\n"
                                     "[335]  123 granted\n"
                                     "[668]  timer\n"
                                     "[668]  timer-at 1272\n"
                                     "[1321] timer  -> lost\n"
                                     "[1322] timer  -> send ROLLBACK 12345\n");
}

CASE(a_key_set_in_quarantine_proves_nothing,
     "G3: a renewal counts only on a node whose grant has counted.")
{
    trace_run(&(struct trace_options){.node_count = 3},
              "[0]    acquire 1000 -> send ACQUIRE 123\n"
              "[1]    1 guarded\n"
              "[1]    23 granted   -> done OK\n"
              "[1]    keys 23\n"
              "[100]  extend 1000  -> send EXTEND 123\n"
              "[101]  1 kept\n"
              "[101]  2 granted\n"
              "[101]  3 timedout   -> jeopardy, done GUARDED\n");
    trace_run(&(struct trace_options){.node_count = 3},
              "[0]    acquire 1000 -> send ACQUIRE 123\n"
              "[1]    23 granted   -> done OK\n"
              "[100]  extend 1000  -> send EXTEND 123\n"
              "[101]  2 kept\n"
              "[101]  3 granted    -> done OK\n"
              "[101]  1 kept\n"
              "[101]  keys 23\n");
}
