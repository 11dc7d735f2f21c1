/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Golden traces of one lock's state machine. A trace is text, a step a line:
 *
 *     [0]  acquire 1000            -> send ACQUIRE 123
 *     [3]  1 granted
 *     [4]  2 granted               -> done OK
 *
 * The number in brackets is the time in ms, the words are the event, what follows the arrow is
 * everything that the step must request. A step without an arrow must request nothing.
 *
 *     acquire TTL [wait MS|forever [parked|yields]]    unpark [holds]    wake NODES [SLOT]
 *     extend TTL    release    cancel    timer [warming NODES]
 *     NODES VOTE [TTL] [@TOKEN] [#TICKET] [place=N] [ahead=MS] [slot=N] [owners=TOKEN]
 *                  their answers to the last request, in this order: granted taken missing
 *                  timedout refused auth proto loading guarded toolong kept
 *                  (in quarantine: kept, granted; lacking, missing, on an elected vote)
 *     out NODE     the node's memory or clock is not to be trusted
 *     term NODE [later]    an elected vote has another term, or incarnation; greeted NODE
 *     too-late     the wait ended before the result was delivered
 *     abandon      our own clock is not to be trusted
 *     late ROUND OP NODE VOTE    an answer to an older round
 *     state NAME / remaining MS / keys NODES / timer-at MS / token N / ticket N / place N /
 *     slot N       checks, no event
 */
#ifndef REDLOCK_TESTS_TRACE_H
#define REDLOCK_TESTS_TRACE_H

#include <stdint.h>

#include "core/lock.h"

struct trace_options {
    uint8_t node_count;
    struct rl_lock_terms terms;
    uint32_t random; /* what every draw gives */
};

/* Runs the trace; fails the case at the first line that does not hold. */
void trace_run(const struct trace_options *options, const char *text);

#endif
