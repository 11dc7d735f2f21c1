/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doubts about nodes, from what their INFO says (G7). Only what a node answered is judged: a node
 * that answers nothing raises no doubt here, and the full audit says "unknown".
 */
#ifndef RL_CORE_AUDIT_H
#define RL_CORE_AUDIT_H

#include "core/guard.h"

/* Clocks that differ by more than this make fence tokens after a restart doubtful. */
#define RL_AUDIT_SKEW_NS (500 * RL_NS_PER_MS)

/* One line per doubt: name, what it is and what to do. */
#define RL_DOUBTS(X)                                                                           \
    X(DUPLICATE, "the same server as another node (same run_id), and while the guard is on "   \
                 "they count once; give every node its own server")                            \
    X(CLUSTER, "this is a Redis Cluster, and does not count while the guard is on; use "       \
               "independent servers, which do not share the keys out and do not fail over")    \
    X(REPLICA, "a replica: it cannot grant locks; name its master, or make it one")            \
    X(EVICTING, "maxmemory is set and its policy evicts keys with an expiry, locks among "     \
                "them; set maxmemory-policy noeviction")                                       \
    X(SKEWED, "its clock differs from the other nodes' by more than half a second; run NTP")   \
    X(MISPLACED, "it belongs to another set of nodes than this client has, and does not "      \
                 "count while the guard is on; give all clients the same nodes, or after a "   \
                 "change `redlock init`")                                                      \
    X(UNPLACED,                                                                                \
      "it belongs to no set of nodes, others do or may, and it does not count while "          \
      "the guard is on; `redlock init`")                                                       \
    X(UNREAD, "its key redlock.admit cannot be read, so it does not count while the guard is " \
              "on; give the user that right (`redlock doctor` says more)")                     \
    X(BY_CLIENT, "it had forgotten its set of nodes, and clients know it by its name "         \
                 "alone; if every client means this server by that name, `redlock init` "      \
                 "confirms it")                                                                \
    X(MAX_TTL, "give all clients the same, or after a change `redlock init`")                  \
    X(EVEN,                                                                                    \
      "with an even number of nodes no more may fail than with one less; use an odd number")

enum rl_doubt {
#define RL_DOUBT_ENUM(name, text) RL_DOUBT_##name,
    RL_DOUBTS(RL_DOUBT_ENUM)
#undef RL_DOUBT_ENUM
};

struct rl_audit_node {
    bool reachable; /* and greeted: its facts are there */
    const struct rl_facts *facts;
    const struct rl_clock_window *window;
    enum redlock_reason objection; /* to its set (G8), whether or not the guard is on */
    bool set_by_client; /* no init has told it its set: a client has, or is about to */
    int64_t max_ttl_ms; /* of this client */
};

/* The doubts about one node among all, a bit per enum rl_doubt. */
uint32_t rl_audit_doubts(const struct rl_audit_node *nodes, uint8_t node_count, uint8_t node);

const char *rl_audit_doubt_text(int doubt);

#endif
