/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules that keep the promise, by name, each at the line that implements it; a rule that is
 * a line of a script is an edit of its text (lab/planted/scripts/NAME.cmake).
 *
 * RL_RULE(NAME) is the constant true, and the compiler leaves nothing of it. Only in the
 * planted build (lab/planted), which the simulator, the fault rig and tests link, can a rule be
 * switched off, one at a time: what does not notice a missing rule would not notice a bug there
 * either.
 */
#ifndef RL_CORE_RULES_H
#define RL_CORE_RULES_H

/*
 * One line per rule: name, what goes wrong without it. Without one of these a lock may have two
 * holders, or what was promised of it is broken: the simulator notices.
 */
#define RL_RULES(X)                                                                            \
    X(MAJORITY, "the quorum is one node too small")                                            \
    X(FRESH_VALUE, "a retry uses the value of the attempt before (A1)")                        \
    X(VALID_WHEN_DECIDED, "the validity is not looked at when the deciding reply comes (A3)")  \
    X(DRIFT, "no allowance for clocks that run at different rates (A3)")                       \
    X(ROLLBACK_EVERYWHERE, "a rollback goes only to nodes that granted (A4)")                  \
    X(ROLLBACK_BEHIND, "a rollback waits for the next connection (A5)")                        \
    X(RELEASE_COMPARES, "a release deletes whatever is there (A6)")                            \
    X(EXTEND_COMPARES, "an extension sets the key, whatever its value (A7)")                   \
    X(EXTEND_WHILE_VALID, "an extension counts after the validity ended (A7, A10)")            \
    X(LOSS_PROVEN, "a renewal that cannot be won waits for no proof of the loss (A7)")         \
    X(REPAIRED_ALONE, "a value that others may renew or end is put back (A8)")                 \
    X(REPAIR_IS_NO_PROOF, "a key set anew counts as renewed, in quarantine too (A8, G3)")      \
    X(GRANT_IN_TIME, "a lock is granted after the wait deadline (A9)")                         \
    X(HANDED_OUT_IN_TIME, "a grant is handed out when it is late or lost (A9)")                \
    X(LOSS_TIMER, "no timer for the end of the validity (A10)")                                \
    X(KEPT_TO_THE_END, "what was lost is deleted before its promised end (A10)")               \
    X(REST_TO_THE_END, "what is left of a lock that a majority misses is deleted (A10)")       \
    X(ROUNDS, "late grants of an earlier round are counted")                                   \
    X(RESTART_GUARD, "a node that restarted votes at once (G1)")                               \
    X(GUARD_TIME, "a quarantine does not last for max_ttl (G1)")                               \
    X(CHECK_FIRST, "a node once checked is not checked on its next connection (G1)")           \
    X(STRICT_MARKER, "strict mode ignores the marker of an acquire (G2)")                      \
    X(ATTESTATION, "strict mode counts a grant before its attestation has answered (G2)")      \
    X(NODE_SET, "nodes of another set are counted (G8)")                                       \
    X(SETS_KNOWN, "nodes without a set decide before the others have shown theirs (G8)")       \
    X(SET_READ, "a node that refuses to show its set counts as one of none (G8)")              \
    X(SAME_SERVER, "a server that a client has two names for votes twice (G8)")                \
    X(SET_STAYS, "a node whose admission is taken back loses its set, too (G6, G8)")           \
    X(CLOCK_GUARD, "a node's clock may be set unnoticed (G6)")                                 \
    X(STEADY_CLOCK, "the client goes by its wall clock")                                       \
    X(ALIGN, "no alignment of fence counters")                                                 \
    X(ALIGN_WHERE_GRANTED, "fence counters are aligned on any majority")                       \
    X(COUNTER_LIFE, "a fence counter that came back with a snapshot goes on counting")         \
    X(TOKEN_RANGE, "a fence counter of any size is believed")                                  \
    X(RENEWAL_OF_COUNTED, "a renewal counts where the grant did not (G3)")                     \
    X(RENEWAL_ATTESTED,                                                                        \
      "strict mode counts a renewal where neither grant nor attestation did (G3)")             \
    X(QUEUE_ROLLBACK, "a failed round from the queue keeps what it got")                       \
    X(QUEUE_NEEDS_QUORUM, "a waiter that reaches too few nodes keeps its place in the queue")  \
    X(QUEUE_HEAD, "a node grants to any waiter in its queue")                                  \
    X(NO_OVERTAKING, "an attempt behind our own release counts grants where others wait")      \
    X(WRITER_FIRST, "readers ignore a writer that waits")                                      \
    X(LIVENESS, "the dead stay in the queue")                                                  \
    X(READERS_MAJORITY, "one node is enough for a reader")                                     \
    X(HOLD_IDS, "the holds of an owner are counted, not named")                                \
    X(NESTED_BY_QUORUM, "one node is believed about the token of the owner's first hold")      \
    X(COMMON_SLOT, "a node gives any free slot of a semaphore")                                \
    X(ALL_OR_NOTHING, "a node that has the first of several names free grants them all")       \
    X(KEPT_IS_LEFT, "the loss of a kept lock deletes what others renew (REDLOCK_KEEP)")        \
    X(ADOPTED_IS_LEFT, "the loss of an adopted lock deletes what others renew")                \
    X(EXTENSION_STAYS, "an extension that was not confirmed is rolled back")                   \
    X(TAG_ONCE, "a tag is granted again beside its own lock (REDLOCK_YOURS)")                  \
    X(TAG_COMPARED, "a release by tag deletes every holder")                                   \
    X(BROKEN_STAYS, "repair puts back what an operator has evicted (A8)")

/* The same of elected votes (docs/elected.md), which only some worlds of the simulator have. */
#define RL_ELECTED_RULES(X)                                                                    \
    X(ELECTOR_ONCE, "an elector that has two addresses counts twice (E2)")                     \
    X(ELECTOR_MAJORITY, "less than a majority of the electors names a term (E4)")              \
    X(TERM_WHOLE, "a server is in one term whatever the epoch (E3)")                           \
    X(VOUCH_FRESH, "electors vouch for a term for ever (E4)")                                  \
    X(VOUCHED, "a grant counts whatever the electors name (E4)")                               \
    X(RENEWAL_VOUCHED, "a renewal counts whatever the electors name (E4, E8)")                 \
    X(TERM_ATTESTED, "a renewal counts whichever incarnation made it (E5)")                    \
    X(TERM_GUARD_TIME, "the quarantine of a term is as long as a TTL, without L (E6)")         \
    X(MARKER_NAMES_TERM, "a marker admits its incarnation in every term (E7)")                 \
    X(STAMP_NAMES_TERM, "the stamp of an earlier term admits the same incarnation (E7)")       \
    X(STAMP_MAJORITY, "a server is stamped in a term that no majority has named (E7)")         \
    X(STAMP_AGE, "a stamp of any age admits (E7)")                                             \
    X(RENEWAL_IN_TERM, "a renewal counts in a term that its hold has no proof of (E8)")        \
    X(SUCCESSION_IN_TIME, "a hold succeeds to a new term however short its proof is (E9)")     \
    X(SUCCESSION_GREETED, "a hold succeeds though its proof ended before the greeting (E9)")   \
    X(SUCCESSION_TERM, "a hold succeeds to every incarnation in the term (E9)")                \
    X(SUCCESSION_PROOF, "a hold succeeds by a validity that other votes carry (E9)")           \
    X(FENCE_TERM, "a counter of an earlier term of its server goes on counting (E11)")         \
    X(MISSING_VOIDS, "a proof outlives the answer that the key is missing (E13)")              \
    X(VOID_WHOLE, "a right to succeed outlives the answer that the key is missing (E13)")      \
    X(BREAK_FINAL, "an eviction is final as soon as it is done (E13)")                         \
    X(PROMOTED_IS_YOUNG, "a promoted replica votes by its uptime (G1)")

/*
 * Rules of waiting. Without one of them no lock has two holders, but waiters are passed over or
 * wait for a timer: the loads of tests/broken notice.
 */
#define RL_WAITING_RULES(X)                                                                    \
    X(WAKE, "a release wakes no waiter")                                                       \
    X(EXPIRY_TIMER, "a waiter sleeps on when the key should have expired")                     \
    X(LEAVING, "a waiter that gives up stays in the queue")                                    \
    X(ONE_PLACE, "every waiter of a client is sent to the nodes")                              \
    X(YIELDING, "a client acquires again at once after a contended release")                   \
    X(LATE_LOOK, "a waiter looks neither once subscribed nor soon after a collision")

enum rl_rule {
    RL_RULE_NONE,
#define RL_RULE_ENUM(name, text) RL_RULE_##name,
    RL_RULES(RL_RULE_ENUM) RL_ELECTED_RULES(RL_RULE_ENUM) RL_WAITING_RULES(RL_RULE_ENUM)
#undef RL_RULE_ENUM
        RL_RULE_COUNT,
};

#ifdef RL_PLANTED
extern enum rl_rule rl_rule_broken;
#define RL_RULE(name) (rl_rule_broken != RL_RULE_##name)
#else
#define RL_RULE(name) 1
#endif

#endif
