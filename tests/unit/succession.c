/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds on elected votes, step by step: another term, and what a hold may do in it
 * (E8, E9, E13). */
#include "check.h"
#include "trace.h"

/* One Sentinel group, a TTL of nine seconds: the validity ends at 8908 ms, the last notice is
 * at 8858. Renewals are due at 3000. */
#define HELD                                                                                   \
    "[0]    acquire 9000      -> send ACQUIRE 1\n"                                             \
    "[1]    1 granted         -> done OK\n"

static const struct trace_options alone = {.node_count = 1, .terms = {.renew = true}};
static const struct trace_options three = {.node_count = 3, .terms = {.renew = true}};

CASE_OF(found_keys_are_renewed,
        "E9: a key that is found in the later term is renewed and counts.",
        trace_run(&alone, HELD "[3000] timer             -> send EXTEND 1\n"
                               "[3001] 1 refused         -> jeopardy\n"
                               "[4000] term 1 later\n"
                               "[4001] greeted 1\n"
                               "[4001] timer             -> send EXTEND 1\n"
                               "[4002] 1 kept            -> recovered\n"
                               "[4002] remaining 8907\n"
                               "[7001] timer             -> send EXTEND 1\n"
                               "[7002] 1 kept\n"
                               "[7002] remaining 8907\n"));

CASE_OF(missing_is_no_loss,
        "E9: a key that the failover lost is no vote, and no proof of loss.",
        trace_run(&alone, HELD "[2000] term 1 later\n"
                               "[2001] greeted 1\n"
                               "[2001] timer             -> send EXTEND 1\n"
                               "[2002] 1 lacking         -> jeopardy\n"
                               "[2002] state held\n"
                               "[2002] remaining 6906\n"));

CASE_OF(missing_once_found_is_a_loss,
        "A7: a key that was found in the term, and is missing then, is lost.",
        trace_run(&alone, HELD "[2000] term 1 later\n"
                               "[2001] greeted 1\n"
                               "[2001] timer             -> send EXTEND 1\n"
                               "[2002] 1 kept\n"
                               "[5001] timer             -> send EXTEND 1\n"
                               "[5002] 1 lacking         -> lost\n"));

CASE(missing_voids_the_right,
     "E13: after the answer that it is missing nothing that is found counts.")
{
    trace_run(&alone, HELD "[2000] term 1 later\n"
                           "[2001] greeted 1\n"
                           "[2001] timer             -> send EXTEND 1\n"
                           "[2002] 1 lacking         -> jeopardy\n"
                           "[2452] timer             -> send EXTEND 1\n"
                           "[2453] 1 kept\n"
                           "[2453] remaining 6455\n"
                           /* Nor in a term after that: the proof is void. */
                           "[3000] term 1 later\n"
                           "[3001] greeted 1\n"
                           "[3001] timer             -> send EXTEND 1\n"
                           "[3002] 1 kept\n"
                           "[3002] remaining 5906\n");
}

CASE_OF(missing_voids_a_right_not_used_yet,
        "E13: the same when the answer of the old server comes after the new vouch.",
        trace_run(&alone, HELD "[3000] timer             -> send EXTEND 1\n"
                               "[3001] term 1 later\n"
                               "[3002] 1 lacking         -> jeopardy\n"
                               "[3003] greeted 1\n"
                               "[3452] timer             -> send EXTEND 1\n"
                               "[3453] 1 kept\n"
                               "[3453] remaining 5455\n"));

CASE_OF(too_late_to_succeed, "E9: not with two seconds or less left when the vouch comes.",
        trace_run(&alone, HELD "[3000] timer             -> send EXTEND 1\n"
                               "[3001] 1 refused         -> jeopardy\n"
                               "[6890] term 1 later\n"
                               "[6891] greeted 1\n"
                               "[6891] timer             -> send EXTEND 1\n"
                               "[6892] 1 kept\n"
                               "[6892] remaining 2016\n"));

CASE_OF(in_time_to_succeed, "E9: with more than that it does.",
        trace_run(&alone, HELD "[3000] timer             -> send EXTEND 1\n"
                               "[3001] 1 refused         -> jeopardy\n"
                               "[6880] term 1 later\n"
                               "[6881] greeted 1\n"
                               "[6881] timer             -> send EXTEND 1\n"
                               "[6882] 1 kept            -> recovered\n"
                               "[6882] remaining 8907\n"));

CASE_OF(no_succession_downwards, "E12: nor to a term that is not a later one.",
        trace_run(&alone, HELD "[2000] term 1\n"
                               "[2001] greeted 1\n"
                               "[3000] timer             -> send EXTEND 1\n"
                               "[3001] 1 kept            -> jeopardy\n"
                               "[3001] remaining 5907\n"));

CASE_OF(one_incarnation_only,
        "E9: the right is for one incarnation: a restart in the term ends it.",
        trace_run(&alone, HELD "[2000] term 1 later\n"
                               "[2001] greeted 1\n"
                               "[2001] timer             -> send EXTEND 1\n"
                               "[2002] 1 refused         -> jeopardy\n"
                               "[2100] term 1\n"
                               "[2452] timer             -> send EXTEND 1\n"
                               "[2453] 1 kept\n"
                               "[2453] remaining 6455\n"));

CASE_OF(grants_of_the_old_term_go,
        "E11: an attempt does not count what an earlier term has granted.",
        trace_run(&three, "[0]   acquire 1000            -> send ACQUIRE 123\n"
                          "[1]   1 granted\n"
                          "[2]   term 1 later\n"
                          "[3]   2 granted\n"
                          "[4]   3 granted               -> done OK\n"
                          "[4]   keys 23\n"));

CASE_OF(other_votes_carry,
        "E9: a right ends when other votes have renewed the hold without this one.",
        trace_run(&three, "[0]    acquire 9000      -> send ACQUIRE 123\n"
                          "[1]    12 granted        -> done OK\n"
                          "[1]    3 granted\n"
                          "[2900] term 1 later\n"
                          "[3000] timer             -> send EXTEND 123\n"
                          "[3001] 1 refused\n"
                          "[3001] 23 granted\n"
                          "[3100] greeted 1\n"
                          "[6000] timer             -> send EXTEND 123\n"
                          "[6001] 1 kept\n"
                          "[6001] 2 granted\n"
                          "[6001] 3 refused         -> jeopardy\n"));
