/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that no server can be made to give: repeated, early and absurd ones. */
#include "base/time.h"
#include "check.h"
#include "engine/survey.h"
#include "protocol/answer.h"
#include "protocol/command.h"
#include "trace.h"

static const struct trace_options three = {.node_count = 3, .random = 1u << 31};
static const struct trace_options fenced = {
    .node_count = 3, .random = 1u << 31, .terms = {.fenced = true}};

CASE_OF(validity_ends_while_nodes_warm_up,
        "A4: grants of nodes still connecting win nothing after the validity.",
        trace_run(&three, "[0]    acquire 1000         -> send ACQUIRE 123\n"
                          "[1]    1 granted\n"
                          "[988]  timer warming 23     -> send ROLLBACK 123, done NOQUORUM\n"));

CASE(nothing_is_due_before_the_first_request,
     "A timer event before the first request changes nothing.")
{
    trace_run(&three, "[0]    timer\n"
                      "[0]    timer-at 9223372036854\n" /* never, in milliseconds */
                      "[0]    state idle\n"
                      "[0]    1 granted\n"
                      "[0]    state idle\n");
}

CASE_OF(answers_count_once, "A second answer to the same request is not a second vote.",
        trace_run(&three, "[0]    acquire 1000         -> send ACQUIRE 123\n"
                          "[1]    1 granted\n"
                          "[2]    1 granted\n"
                          "[2]    state acquiring\n"
                          "[3]    2 granted            -> done OK\n"
                          "[10]   extend 1000          -> send EXTEND 123\n"
                          "[11]   1 granted\n"
                          "[12]   1 granted\n"
                          "[12]   remaining 976\n"
                          "[13]   3 granted            -> done OK\n"
                          "[13]   remaining 985\n"
                          "[20]   release              -> send RELEASE 123\n"
                          "[21]   1 granted\n"
                          "[22]   1 granted\n"
                          "[22]   state releasing\n"
                          "[23]   2 granted            -> done OK\n"));

CASE_OF(remaining_times_are_noted_once, "An answer to an inquiry that was not made is ignored.",
        trace_run(&three, "[0]    acquire 1000         -> send ACQUIRE 123\n"
                          "[1]    1 taken\n"
                          "[2]    2 taken              -> send ROLLBACK 123, send INQUIRE 12\n"
                          "[3]    late 1 INQUIRE 3 taken\n"
                          "[4]    1 taken 500\n"
                          "[5]    late 1 INQUIRE 1 taken\n"
                          "[6]    2 taken 500          -> done BUSY\n"));

CASE_OF(alignment_counts_once,
        "An answer to ALIGN counts once, and only from a node that it was sent to.",
        trace_run(&fenced, "[0]    acquire 1000        -> send ACQUIRE 123\n"
                           "[1]    1 granted @5\n"
                           "[2]    3 granted @7        -> send ALIGN 1\n"
                           "[3]    late 1 ALIGN 2 granted\n"
                           "[3]    state aligning\n"
                           "[4]    1 granted           -> done OK\n"
                           "[5]    late 1 ALIGN 1 granted\n"
                           "[5]    state held\n"));

CASE_OF(a_node_drops_out_between_attempts,
        "G6: a node that drops out while the lock waits takes nothing back.",
        trace_run(&three, "[0]    acquire 1000 wait 500 -> send ACQUIRE 123\n"
                          "[1]    1 taken\n"
                          "[2]    2 taken              -> send ROLLBACK 123, send TICKET 123\n"
                          "[3]    out 3\n"));

CASE_OF(a_release_is_not_given_up_early,
        "A6: a release waits for its nodes until the node deadline.",
        trace_run(&three, "[0]    acquire 1000         -> send ACQUIRE 123\n"
                          "[1]    1 granted\n"
                          "[2]    2 granted            -> done OK\n"
                          "[10]   release              -> send RELEASE 123\n"
                          "[11]   timer\n"
                          "[11]   state releasing\n"
                          "[60]   timer                -> done NOQUORUM\n"));

CASE_OF(adopted_and_confirmed_too_late,
        "A7: an extension that took longer than its TTL proves nothing.",
        trace_run(&three, "[0]    adopt\n"
                          "[0]    extend 40            -> send EXTEND 123\n"
                          "[5]    1 granted\n"
                          "[45]   2 granted            -> jeopardy, done NOQUORUM\n"
                          "[45]   remaining 0\n"));

static enum redlock_vote vote(enum rl_op op, struct rl_reply reply)
{
    return rl_answer_read(op, reply.scalar.type == RL_REPLY_ARRAY, &reply).vote;
}

#define SCALAR(kind, number, words)                                                            \
    ((struct rl_reply){.scalar = {RL_REPLY_##kind, (number), {(words), sizeof(words) - 1}}})

CASE(senseless_replies_are_no_votes,
     "A reply that does not fit its request is a protocol error.")
{
    struct rl_reply array = {.scalar = {.type = RL_REPLY_ARRAY}};

    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_ACQUIRE, array));
    array.element_count = 2;
    array.element[0] = array.element[1] = (struct rl_scalar){.type = RL_REPLY_INTEGER};
    array.element[0].integer = 7;
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_ACQUIRE, array));
    array.element_count = 3;
    array.element[0].integer = 1;
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_ACQUIRE, array));
    CHECK_INT(REDLOCK_VOTE_PROTO, rl_answer_read_attestation(&array).vote);
    array.element_count = 5;
    array.element[0].integer = 1;
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_ACQUIRE, array));
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_ACQUIRE, SCALAR(INTEGER, 1, "")));
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_EXTEND, SCALAR(STATUS, 0, "QUEUED")));
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_RELEASE, SCALAR(INTEGER, 3, "")));
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_INQUIRE, SCALAR(STATUS, 0, "OK")));
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_LOOK, SCALAR(INTEGER, 1, "")));
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_TICKET, SCALAR(INTEGER, 1, "")));
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_PING, SCALAR(STATUS, 0, "OK")));
    CHECK_INT(REDLOCK_VOTE_PROTO, vote(RL_OP_ADMIT, SCALAR(STATUS, 0, "OK")));
    /* SET ... IFEQ, which newer servers understand. */
    CHECK_INT(REDLOCK_VOTE_GRANTED, vote(RL_OP_EXTEND, SCALAR(STATUS, 0, "OK")));
    CHECK_INT(REDLOCK_VOTE_MISSING, vote(RL_OP_EXTEND, SCALAR(NIL, 0, "")));
    /* Another kind of lock under our name: ours is gone. */
    CHECK_INT(REDLOCK_VOTE_MISSING, vote(RL_OP_EXTEND, SCALAR(ERROR, 0, "WRONGTYPE it is")));
    CHECK_INT(REDLOCK_VOTE_ERROR, vote(RL_OP_PING, SCALAR(ERROR, 0, "WRONGTYPE Operation")));
}

CASE(a_machine_that_slept, "A round trip of an hour is capped, not negative.")
{
    CHECK_INT(1500000, rl_rtt_us(1500000000));
    CHECK_INT(RL_RTT_MAX_US, rl_rtt_us(3600 * RL_NS_PER_S));
}

CASE(survey_corners, "A query counts each node once, and does not end before its deadline.")
{
    struct rl_policy policy = {.node_count = 3,
                               .all_nodes = rl_all_nodes(3),
                               .quorum = 2,
                               .node_timeout_ns = RL_NS_PER_S};
    struct rl_answer missing = {.vote = REDLOCK_VOTE_MISSING, .key_ttl_ms = -1};
    struct rl_answer held = {.vote = REDLOCK_VOTE_TAKEN, .key_ttl_ms = -1};
    struct rl_survey survey = {0};

    rl_survey_begin(&survey, &policy, 0);
    rl_survey_answer(&survey, 1, held, NULL, 1);
    rl_survey_answer(&survey, 1, missing, NULL, 1);
    CHECK_INT(REDLOCK_VOTE_TAKEN, survey.node[1].vote);
    rl_survey_answer(&survey, 2, held, NULL, 1);
    rl_survey_timer(&survey, 0, 0, RL_NS_PER_S - 1);
    CHECK(survey.due);
    rl_survey_timer(&survey, 0, 0, RL_NS_PER_S);
    CHECK(!survey.due);
    CHECK_INT(REDLOCK_OK, rl_survey_error(&survey));
}
