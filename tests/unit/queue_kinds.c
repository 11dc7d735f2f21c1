/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots, nested holds and their tokens, as traces. */
#include "check.h"
#include "trace.h"

static const struct trace_options slots = {
    .node_count = 3, .random = 0, .terms = {.kind = REDLOCK_SEMAPHORE, .slots = 3}};
static const struct trace_options nested = {
    .node_count = 3, .terms = {.kind = REDLOCK_REENTRANT, .fenced = true}};

CASE(a_semaphore_tries_the_slot_that_is_free,
     "A semaphore refused on one slot tries the free slot that the refusal named.")
{
    trace_run(&slots, "[0]   acquire 1000         -> send ACQUIRE 123\n"
                      "[0]   slot 1\n"
                      "[1]   12 taken 0 slot=2    -> send ROLLBACK 123, send ACQUIRE 123\n"
                      "[1]   slot 2\n"
                      "[2]   12 granted           -> done OK\n");
    trace_run(&slots, "[0]   acquire 1000         -> send ACQUIRE 123\n"
                      "[1]   1 taken 500\n"
                      "[1]   2 taken 600          -> send ROLLBACK 123, done BUSY\n");
}

CASE(a_step_may_ask_three_things,
     "One reply may ask a node again, roll back and start the next attempt.")
{
    trace_run(&slots,
              "[0]   acquire 1000 wait 5000  -> send ACQUIRE 123\n"
              "[1]   12 taken 900 #7      -> send ROLLBACK 123, send ACQUIRE 123\n"
              "[1]   123 taken 900\n"
              "[2]   wake 1               -> send ACQUIRE 123\n"
              "[3]   wake 3\n"
              "[3]   1 taken 0 slot=2\n"
              "[3]   2 refused\n"
              "[12]  3 taken 0 slot=2 -> send AGAIN 3, send ROLLBACK 23, send ACQUIRE 123\n");
}

CASE_OF(a_nested_hold_has_the_token_of_the_first,
        "A nested hold waits for a quorum that has the first hold's token.",
        trace_run(&nested, "[0]   acquire 1000        -> send ACQUIRE 123\n"
                           "[1]   1 granted @99\n"
                           "[1]   2 granted @42 owners=41\n"
                           "[1]   state acquiring\n"
                           "[2]   3 granted @42 owners=41 -> done OK\n"
                           "[2]   token 41\n"));

CASE(a_leftover_of_the_owner_gives_no_token,
     "One node's leftover of an owner does not give its old token.")
{
    trace_run(&nested, "[0]   acquire 1000        -> send ACQUIRE 123\n"
                       "[1]   1 granted @99\n"
                       "[1]   2 granted @8 owners=7\n"
                       "[2]   3 granted @99       -> done OK\n"
                       "[2]   token 99\n");
    trace_run(&nested, "[0]   acquire 1000        -> send ACQUIRE 123\n"
                       "[1]   1 granted @99\n"
                       "[1]   2 granted @8 owners=7\n"
                       "[50]  timer               -> send ALIGN 2\n"
                       "[51]  2 granted           -> done OK\n"
                       "[51]  token 99\n");
}

CASE_OF(a_hold_beside_holds_of_its_owner_passes_the_slot_on,
        "Nodes that disagree about an owner's token are all aligned to the new one.",
        trace_run(&nested, "[0]   acquire 1000        -> send ACQUIRE 123\n"
                           "[1]   1 granted @44 owners=40\n"
                           "[1]   2 granted @44 owners=42\n"
                           "[2]   3 granted @44 owners=43 -> send ALIGN 123\n"
                           "[3]   12 granted          -> done OK\n"
                           "[3]   token 44\n"));

CASE(patience_ends_with_the_quorum,
     "The short deadline of a queued attempt does not apply to ALIGN.")
{
    static const struct trace_options fenced = {.node_count = 3, .terms = {.fenced = true}};

    trace_run(&fenced, "[0]   acquire 1000 wait forever -> send ACQUIRE 123\n"
                       "[1]   1 taken 900 #7\n"
                       "[1]   2 taken 900 #9       -> send ROLLBACK 123, send ACQUIRE 123\n"
                       "[8]   1 granted @40\n"
                       "[8]   2 granted @41        -> send ALIGN 1\n"
                       "[12]  timer\n"
                       "[12]  state aligning\n"
                       "[15]  1 granted            -> done OK\n"
                       "[15]  token 41\n");
}

CASE(a_late_grant_during_alignment_gets_the_token,
     "A node that grants late during ALIGN is aligned to the token as well.")
{
    trace_run(&nested, "[0]   acquire 1000         -> send ACQUIRE 123\n"
                       "[1]   1 granted @5\n"
                       "[2]   3 granted @7         -> send ALIGN 1\n"
                       "[2]   2 granted @6         -> send ALIGN 2\n"
                       "[3]   2 granted\n"
                       "[3]   state aligning\n"
                       "[4]   1 granted            -> done OK\n"
                       "[4]   token 7\n");
    /* It has the token for its counter, but gives another to the owner's next hold. */
    trace_run(&nested, "[0]   acquire 1000         -> send ACQUIRE 123\n"
                       "[1]   1 granted @5\n"
                       "[2]   3 granted @7         -> send ALIGN 1\n"
                       "[2]   2 granted @7 owners=4 -> send ALIGN 2\n"
                       "[4]   1 granted            -> done OK\n");
}

CASE_OF(a_repaired_hold_gets_its_token,
        "A node that gets a repaired re-entrant hold gets its token as well.",
        trace_run(&nested, "[0]   acquire 1000         -> send ACQUIRE 123\n"
                           "[1]   12 granted @9        -> done OK\n"
                           "[5]   extend 1000          -> send EXTEND 123\n"
                           "[6]   3 missing\n"
                           "[6]   12 granted           -> send REPAIR 3, done OK\n"
                           "[7]   3 granted            -> send ALIGN 3\n"));
