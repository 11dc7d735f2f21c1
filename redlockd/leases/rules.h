/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules of the service by name, each at the line of lease.c that keeps it, as the library's
 * are in core/rules.h: LEASE_RULE(NAME) is the constant true, and the compiler leaves nothing
 * of it. Only in the planted build (lab/planted) can a rule be switched off, one at a time.
 */
#ifndef REDLOCKD_LEASES_RULES_H
#define REDLOCKD_LEASES_RULES_H

/* One line per rule: name, what goes wrong without it. */
#define LEASE_RULES(X)                                                                         \
    X(ID_GRANTED_ONCE, "an id that was granted or ended here is granted again")                \
    X(ID_SPENT_FIRST, "an id is spent only when its release is confirmed")                     \
    X(TAKEN_OVER_IF_SAME, "a repeated PUT gets what the first requested, whatever its terms")  \
    X(NEWER_DECIDES, "the connection of a PUT whose wait was taken over still ends it")        \
    X(COUNTED_FROM_OWN, "after_ms of a wait taken over counts from the first request")         \
    X(MAJORITY_QUERIED, "a renewal is confirmed from memory, before a majority was queried")   \
    X(EXACT_GRANT, "a value that was found by its tag is prolonged")                           \
    X(HANDLE_KEPT, "the handle of a granted lease sweeps at its deadline")                     \
    X(RENEWAL_STAYS, "a renewal that was not confirmed is rolled back")                        \
    X(EOF_BEGINS_NOTHING, "a PUT behind which its client has closed is begun")                 \
    X(WAIT_ENDS_AT_ONCE, "a wait goes on when its client is gone")                             \
    X(RELEASE_ENDS_WAIT, "a wait goes on though its id was released")                          \
    X(UNDELIVERED_RELEASED, "a grant of which no byte was sent stays")                         \
    X(DELIVERED_STAYS, "a grant of which a byte was sent is released")                         \
    X(DRIFT_DEDUCTED, "the deadline makes no allowance for the client's clock")                \
    X(RIGHT_AT_GRANT, "a wait is granted after its right has ended")                           \
    X(RIGHT_AT_RENEWAL, "a stream is renewed after its right has ended")                       \
    X(CLOSE_RELEASES, "a local stream that its client closed stays")                           \
    X(GRANT_WITH_RECONNECT, "a local stream is given its grant at once, and POST takes it")    \
    X(CUT_STAYS, "a local stream that this side cut is released beside its client")            \
    X(REMOTE_STAYS, "a stream over TCP is released when its connection ends")                  \
    X(RETURNED_STAYS, "a stream that came back with its grant is released on close")           \
    X(LEFT_BEFORE_RECONNECT, "a stream that got reconnect is released on close")               \
    X(CLIENT_SEEN, "a stream is renewed though its client is not seen to live")

enum lease_rule {
    LEASE_RULE_NONE,
#define LEASE_RULE_ENUM(name, text) LEASE_RULE_##name,
    LEASE_RULES(LEASE_RULE_ENUM)
#undef LEASE_RULE_ENUM
};

#ifdef RL_PLANTED
extern enum lease_rule lease_rule_broken;
#define LEASE_RULE(name) (lease_rule_broken != LEASE_RULE_##name)
#else
#define LEASE_RULE(name) 1
#endif

#endif
