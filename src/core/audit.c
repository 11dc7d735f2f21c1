/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/audit.h"

#include <string.h>

static bool is_duplicate(const struct rl_audit_node *nodes, uint8_t node_count, uint8_t node)
{
    const char *run_id = nodes[node].facts->run_id;

    for (uint8_t i = 0; i < node_count; i++)
        if (i != node && nodes[i].reachable && run_id[0] &&
            (!nodes[node].cluster || nodes[i].cluster != nodes[node].cluster) &&
            strcmp(nodes[i].facts->run_id, run_id) == 0)
            return true;
    return false;
}

/* More than the allowance away from most of the others whose clock is known. */
static bool is_skewed(const struct rl_audit_node *nodes, uint8_t node_count, uint8_t node)
{
    const struct rl_clock_window *a = nodes[node].window;
    uint8_t near_count = 0;
    uint8_t far_count = 0;

    for (uint8_t i = 0; a->known && i < node_count; i++) {
        const struct rl_clock_window *b = nodes[i].window;

        if (i == node || !nodes[i].reachable || !b->known)
            continue;
        /* Surely further apart than is fine, whatever the samples leave open. */
        if (a->low_ns - b->high_ns > RL_AUDIT_SKEW_NS ||
            b->low_ns - a->high_ns > RL_AUDIT_SKEW_NS)
            far_count++;
        else
            near_count++;
    }
    /* Of two clocks that differ, either may be wrong. */
    return far_count > near_count && (node_count == 2 || far_count + near_count >= 2);
}

uint64_t rl_audit_findings(const struct rl_audit_node *nodes, uint8_t node_count, uint8_t node)
{
    const struct rl_facts *facts = nodes[node].facts;
    uint64_t findings = 0;

    if (!nodes[node].reachable)
        return 0;
    if (is_duplicate(nodes, node_count, node))
        findings |= RL_FINDING(SAME_SERVER);
    if (facts->sentinel)
        findings |= RL_FINDING(SENTINEL);
    else if (facts->cluster)
        findings |= RL_FINDING(CLUSTER);
    else if (facts->has_replication && !facts->master)
        findings |= RL_FINDING(REPLICA);
    /* Policies that evict keys with an expiry, as every lock has. */
    if (facts->has_memory && facts->maxmemory_bytes > 0 &&
        (strncmp(facts->maxmemory_policy, "volatile-", 9) == 0 ||
         strncmp(facts->maxmemory_policy, "allkeys-", 8) == 0))
        findings |= RL_FINDING(EVICTION);
    if (is_skewed(nodes, node_count, node))
        findings |= RL_FINDING(SKEW);
    if (facts->cluster || facts->sentinel) /* that is why whatever its set is cannot be read */
        return findings;
    if (nodes[node].objection != REDLOCK_REASON_NONE)
        findings |= UINT64_C(1) << nodes[node].objection;
    else if (nodes[node].set_by_client)
        findings |= RL_FINDING(SET_BY_NAME);
    if (facts->marker_max_ttl_ms > 0 && facts->marker_max_ttl_ms != nodes[node].max_ttl_ms)
        findings |= RL_FINDING(MAX_TTL);
    if (node == 0 && node_count % 2 == 0)
        findings |= RL_FINDING(EVEN_NUMBER);
    return findings;
}

#define SAME_NODES                                                                             \
    "give all clients the same nodes, or after a change of the set admit them again"
#define CERTIFICATES "check the certificates, and which authority this client trusts"

#define FOR(reason) [REDLOCK_REASON_##reason]

static const char *const remedies[] = {
    FOR(UNRESOLVED) = "check its name, and how this machine looks names up",
    FOR(REFUSED) = "start the server, or check its address and the network",
    FOR(UNREACHABLE) = "start the server, or check its address and the network",
    FOR(RESOURCES) = "free some memory, or raise the limit that the text names",
    FOR(SILENT) = "start the server, check its address and the network, or if it "
                  "is only slow raise node_timeout_ms",
    FOR(LATE) = "raise node_timeout_ms and the TTL, or use a server that is nearer",
    FOR(TLS_PORT) = "write its address as the text says",
    FOR(PLAIN_PORT) = "write its address as the text says",
    FOR(AUTHORITY) = CERTIFICATES,
    FOR(SERVER_NAME) = CERTIFICATES,
    FOR(CERTIFICATE) = CERTIFICATES,
    FOR(CLIENT_CERTIFICATE) = CERTIFICATES,
    FOR(TLS) = "start the server, or check its address and the network",
    FOR(PASSWORD_NEEDED) = "check user and password",
    FOR(WRONG_PASSWORD) = "check user and password",
    FOR(PROTECTED_MODE) = "set requirepass or an ACL user on the server, then give "
                          "this client the password",
    FOR(RIGHTS) = "give the user the rights listed in redlock-nodes(7)",
    FOR(PROTOCOL) = "start the server, or check its address and the network",
    FOR(LOADING) = "wait",
    FOR(REPLICA) = "a replica never votes: name a master without replicas instead, "
                   "or make it one (REPLICAOF NO ONE)",
    FOR(CLUSTER) = "name it as a whole, cluster://host1+host2+host3; or use three or five "
                   "independent servers (cluster-enabled no), without replicas; "
                   "docs/servers.md says more",
    FOR(SENTINEL) = "name the group instead, by all its sentinels: "
                    "sentinel://host1+host2+host3/group",
    FOR(SERVER_ERROR) = "see what the server says",
    FOR(COUNTER) = "find out what wrote that, and DEL it: the counter starts again "
                   "at the node's clock",
    FOR(UNCHECKED) = "wait",
    FOR(YOUNG) = "wait, or if nothing can be held on it admit it",
    FOR(INFO) = "allow +info for this user",
    FOR(NOT_ADMITTED) = "wait, or if nothing can be held on it admit it",
    FOR(MAX_TTL) = "give all clients the same max_ttl, or after a change, when "
                   "nothing is held, admit the nodes again",
    FOR(CLOCK) = "wait, and let NTP slew the clock instead of stepping it",
    FOR(OTHER_SET) = SAME_NODES,
    FOR(OTHER_NUMBER) = SAME_NODES,
    FOR(OTHER_QUORUM) = SAME_NODES,
    FOR(NO_SET) = "if it is one of them, once nothing can be held that it has "
                  "forgotten, admit it; else give this client the nodes that the "
                  "others have",
    FOR(SET_PENDING) = "admit the nodes again",
    FOR(SET_CHANGED) = "look, and admit the nodes again",
    FOR(SET_UNREADABLE) = "give the user the rights listed in redlock-nodes(7), +hmget "
                          "and ~redlock* among them",
    FOR(SAME_SERVER) = "give every node a server of its own",
    FOR(PROMOTED) = "wait, or if nothing can be held on it admit it",
    FOR(VERSION) = "run one version of redlock everywhere, or after an upgrade of all "
                   "clients admit the nodes again",
    FOR(NEW_TERM) = "wait; holders that renew go on meanwhile",
    FOR(NO_TERM) =
        "start the sentinels or nodes of the cluster, check their addresses in the URL "
        "and the network",
    FOR(NOT_VOUCHED) =
        "start the sentinels or nodes of the cluster, or check the network to them",
    FOR(NO_GROUP) = "check the name of the group in the URL: it is the one of `sentinel "
                    "monitor`",
    FOR(NO_SENTINEL) = "name the sentinels in the URL, not the servers; their port is "
                       "26379 by default",
    FOR(SENTINEL_LOGIN) = "give user and password of the sentinels: sentinel_username, "
                          "sentinel_password_file",
    FOR(SENTINEL_TWICE) = "name each sentinel once; those that were copied with their file "
                          "need a `sentinel myid` of their own",
    FOR(ELECTORS) = "give all clients the same URL, or after a change of the sentinels "
                    "admit the group again",
    FOR(SHORT_TTL) = "take a longer TTL, or a shorter down-after-milliseconds",
    FOR(FAILOVER) = "use a server without replicas and failover as a node; the "
                    "other nodes are the redundancy (docs/guarantees.md)",
    FOR(EVICTION) = "set maxmemory-policy noeviction",
    FOR(PERSISTENCE) = "switch the guard on, or delay restarts by max_ttl",
    FOR(SKEW) = "run NTP on it",
    FOR(SET_BY_NAME) = "see that this name means this server on every machine "
                       "(better: name nodes by their addresses, or let the server "
                       "keep its data), then admit the nodes again",
    FOR(NO_SETS) = "when nothing is held, admit the nodes",
    FOR(TOO_FEW) = "no lock can be acquired: bring back enough nodes",
    FOR(EVEN_NUMBER) = "use an odd number",
    FOR(ONE_NODE) = "use three or five: while it is down no lock can be taken, and "
                    "what it forgets is forgotten",
    FOR(ONE_HOST) = "put every node on a machine of its own",
    FOR(VERSIONS) = "fine during an upgrade; otherwise run the same everywhere",
    FOR(SLOT) = "wait until the slot has been moved, or its master replaced; let the others go "
                "on meanwhile: cluster-require-full-coverage no",
    FOR(NO_CLUSTER) = "name nodes of the cluster, and no proxy; give the user +cluster|nodes",
    FOR(PLACEMENT) = "another client has a different set of quorums, and does not "
                     "exclude this one; give all the same set (after a change of "
                     "it: wait for max_ttl)",
};

const char *rl_remedy(enum redlock_reason reason)
{
    bool is_listed = reason < sizeof remedies / sizeof remedies[0] && remedies[reason];

    return is_listed ? remedies[reason] : "";
}
