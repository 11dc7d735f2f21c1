/* SPDX-License-Identifier: BSD-2-Clause */
/* The audit's verdicts, each with what was found and what to do. */
#include <stdio.h>
#include <string.h>

#include "client/audit.h"
#include "client/report.h"
#include "engine/sets.h"
#include "engine/watch.h"
#include "io/clock.h"

void rl_audit_say(const struct rl_audit *audit, uint8_t node, const char *name, int verdict,
                  enum redlock_reason reason, const char *text, const char *remedy)
{
    redlock_check check = {
        .address = node == RL_AUDIT_ALL_NODES ? "" : audit->client->engine.node[node].address,
        .name = name,
        .verdict = verdict,
        .reason = reason,
        .text = text,
        .remedy = remedy ? remedy : rl_remedy(reason),
        .quorum = audit->client->quorum_name,
    };

    rl_check_list_add(audit->checks, &check);
}

void rl_audit_pass(const struct rl_audit *audit, uint8_t node, const char *name,
                   const char *text)
{
    rl_audit_say(audit, node, name, REDLOCK_CHECK_OK, REDLOCK_REASON_NONE, text, NULL);
}

/* ---- judging, node by node ---- */

static bool check_reachable(const struct rl_audit *audit, uint8_t i)
{
    const struct rl_engine *engine = &audit->client->engine;
    const char *version = engine->node[i].session.version;
    enum redlock_vote vote = audit->ping.node[i].vote;
    enum redlock_reason reason;
    char why[REDLOCK_TEXT_MAX];
    char text[RL_SENTENCE_MAX];

    if (audit->rtt_us[i] >= 0) {
        snprintf(text, sizeof text, "answers, %s", version[0] ? version : "version not told");
        rl_audit_pass(audit, i, "reachable", text);
        return true;
    }
    reason = rl_node_explain_vote(engine, i, vote, why);
    if (reason == REDLOCK_REASON_LATE)
        snprintf(text, sizeof text, "%s", why);
    else
        snprintf(text, sizeof text, "%s%s%s", redlock_vote_text((int)vote), why[0] ? ": " : "",
                 why);
    rl_audit_say(audit, i, "reachable", REDLOCK_CHECK_FAIL, reason, text, NULL);
    return false;
}

/* The guard looks at one server. Which one is the node is decided elsewhere then. */
static void warn_of_failover(const struct rl_audit *audit, uint8_t i)
{
    int64_t count = audit->nodes[i].facts->replica_count;
    bool has_sentinel = audit->client->engine.node[i].session.has_sentinel;
    char replicas[48] = "";
    char text[RL_SENTENCE_MAX];

    if (count > 0)
        snprintf(replicas, sizeof replicas, " with %lld replica%s", (long long)count,
                 count == 1 ? "" : "s");
    snprintf(text, sizeof text,
             "master%s%s: a replica that takes over votes at once, without the locks that had "
             "not reached it, and strict mode does not see an old master that lives on",
             replicas, has_sentinel ? ", watched by a Sentinel" : "");
    rl_audit_say(audit, i, "role", REDLOCK_CHECK_WARN, REDLOCK_REASON_FAILOVER, text, NULL);
}

static void check_role(const struct rl_audit *audit, uint8_t i, uint64_t doubts)
{
    const struct rl_facts *facts = audit->nodes[i].facts;

    if (doubts & RL_DOUBT(CLUSTER))
        rl_audit_say(
            audit, i, "role", REDLOCK_CHECK_FAIL, REDLOCK_REASON_CLUSTER,
            "this is a Redis Cluster: each of its masters has some of the keys, and a node "
            "must have all; and a replica that takes over has forgotten locks",
            NULL);
    else if (!facts->has_replication)
        rl_audit_say(audit, i, "role", REDLOCK_CHECK_UNKNOWN, REDLOCK_REASON_INFO,
                     "INFO replication is not allowed", NULL);
    else if (doubts & RL_DOUBT(REPLICA))
        rl_audit_say(
            audit, i, "role", REDLOCK_CHECK_FAIL, REDLOCK_REASON_REPLICA,
            "a replica: it cannot grant locks, and once promoted it would vote without "
            "those that had not reached it",
            NULL);
    else if (facts->replica_count > 0 || audit->client->engine.node[i].session.has_sentinel)
        warn_of_failover(audit, i);
    else
        rl_audit_pass(audit, i, "role", "master");
}

static void check_identity(const struct rl_audit *audit, uint8_t i, uint64_t doubts)
{
    const struct rl_facts *facts = audit->nodes[i].facts;

    if (!facts->run_id[0])
        rl_audit_say(
            audit, i, "identity", REDLOCK_CHECK_UNKNOWN, REDLOCK_REASON_INFO,
            "INFO server is not allowed: whether it is another node's server cannot be told",
            NULL);
    else if (doubts & RL_DOUBT(SAME_SERVER))
        rl_audit_say(audit, i, "identity", REDLOCK_CHECK_FAIL, REDLOCK_REASON_SAME_SERVER,
                     audit->client->engine.guard_mode == RL_GUARD_OFF
                         ? "the same server as another node (same run_id): it votes twice"
                         : "the same server as another node (same run_id): they count once",
                     NULL);
    else
        rl_audit_pass(audit, i, "identity", "no other node is the same server");
}

/* "set 0123456789abcdef of 3 nodes", of several quorums with the name of this one. */
static void describe_set(const char *set, char *out, size_t size)
{
    const char *quorum = strchr(set, ' ');

    snprintf(out, size, "set %.*s of %u nodes%s%s", RL_SET_ID_SIZE, set, rl_set_number(set),
             quorum ? ", quorum" : "", quorum ? quorum : "");
}

/* Does it belong to the nodes that it is used with? Only an admission writes that down. */
static void check_membership(const struct rl_audit *audit, uint8_t i, uint64_t doubts)
{
    const struct rl_engine *engine = &audit->client->engine;
    const struct rl_node *node = &engine->node[i];
    const char *counts = engine->guard_mode == RL_GUARD_OFF ? "" : "; its votes do not count";
    enum redlock_reason objection = rl_sets_objection(engine, i);
    /* What a replica lacks is no set. */
    const char *remedy = doubts & RL_DOUBT(REPLICA) ? rl_remedy(REDLOCK_REASON_REPLICA) : NULL;
    char found[RL_SENTENCE_MAX / 2];
    char text[RL_SENTENCE_MAX];

    describe_set(node->set_answer.set, found, sizeof found);
    if (objection == REDLOCK_REASON_SET_UNREADABLE)
        snprintf(text, sizeof text, "the key redlock.admit cannot be read: %s%s",
                 node->session.marker_error, counts);
    else if (objection == REDLOCK_REASON_NO_SET)
        snprintf(text, sizeof text, "belongs to no set of nodes, and others do%s", counts);
    else
        snprintf(text, sizeof text, "%s: %s%s", found, redlock_reason_text((int)objection),
                 counts);
    if (objection)
        rl_audit_say(audit, i, "membership", REDLOCK_CHECK_FAIL, objection, text,
                     objection == REDLOCK_REASON_NO_SET ? remedy : NULL);
    else if (doubts & RL_DOUBT(SET_BY_NAME))
        rl_audit_say(audit, i, "membership", REDLOCK_CHECK_WARN, REDLOCK_REASON_SET_BY_NAME,
                     "it had forgotten its set, and a client has told it, by its name", NULL);
    else if (node->set_answer.set[0])
        rl_audit_pass(audit, i, "membership", found);
    else
        rl_audit_say(
            audit, i, "membership", REDLOCK_CHECK_WARN, REDLOCK_REASON_NO_SETS,
            "not initialised: it cannot tell a client that has a wrong list of nodes "
            "from the others, and two clients with different lists can both hold a lock",
            remedy);
}

/* G4 has the smaller one of a client and a node bound what is granted. */
static void check_max_ttl(const struct rl_audit *audit, uint8_t i, uint64_t doubts)
{
    int64_t marked_ms = audit->nodes[i].facts->marker_max_ttl_ms;
    char text[RL_SENTENCE_MAX];

    if (marked_ms <= 0)
        return;
    snprintf(text, sizeof text, "initialised with %.3f s, this client has %.3f s",
             (double)marked_ms / 1e3, (double)audit->client->max_ttl_ms / 1e3);
    if (doubts & RL_DOUBT(MAX_TTL))
        rl_audit_say(audit, i, "max_ttl", REDLOCK_CHECK_WARN, REDLOCK_REASON_MAX_TTL, text,
                     NULL);
    else
        rl_audit_pass(audit, i, "max_ttl", text);
}

static void check_eviction(const struct rl_audit *audit, uint8_t i, uint64_t doubts)
{
    const struct rl_facts *facts = audit->nodes[i].facts;
    char text[RL_SENTENCE_MAX];

    if (!facts->has_memory) {
        rl_audit_say(audit, i, "eviction", REDLOCK_CHECK_UNKNOWN, REDLOCK_REASON_INFO,
                     "INFO memory is not allowed", NULL);
        return;
    }
    snprintf(text, sizeof text, "maxmemory %lld, policy %s", (long long)facts->maxmemory_bytes,
             facts->maxmemory_policy);
    if (doubts & RL_DOUBT(EVICTION))
        rl_audit_say(audit, i, "eviction", REDLOCK_CHECK_FAIL, REDLOCK_REASON_EVICTION, text,
                     NULL);
    else
        rl_audit_pass(audit, i, "eviction", text);
}

static void check_persistence(const struct rl_audit *audit, uint8_t i)
{
    const struct rl_facts *facts = audit->nodes[i].facts;
    bool guarded = audit->client->engine.guard_mode != RL_GUARD_OFF;

    if (!facts->has_persistence)
        rl_audit_say(audit, i, "persistence", REDLOCK_CHECK_UNKNOWN, REDLOCK_REASON_INFO,
                     "INFO persistence is not allowed", NULL);
    else if (facts->append_only)
        rl_audit_pass(audit, i, "persistence", "append-only file");
    else if (guarded)
        rl_audit_say(
            audit, i, "persistence", REDLOCK_CHECK_OK, REDLOCK_REASON_NONE,
            "no append-only file: ok for locks, whose loss in a restart the guard covers",
            "what has to outlast the guard, as records of periodic runs do, needs appendonly yes");
    else
        rl_audit_say(
            audit, i, "persistence", REDLOCK_CHECK_WARN, REDLOCK_REASON_PERSISTENCE,
            "no append-only file, and the restart guard is off: a restart forgets locks", NULL);
}

static void check_clock(const struct rl_audit *audit, uint8_t i, uint64_t doubts)
{
    const struct rl_guard *guard = &audit->client->engine.node[i].session.guard;
    redlock_node_info info = REDLOCK_NODE_INFO();
    char text[RL_SENTENCE_MAX];

    if (!guard->window.known) {
        rl_audit_say(audit, i, "clock", REDLOCK_CHECK_UNKNOWN, REDLOCK_REASON_RIGHTS,
                     "TIME is not allowed", "allow +time for this user");
        return;
    }
    rl_report_clock(guard, &info);
    snprintf(text, sizeof text, "%+.3f s against this machine (+/- %.3f s)",
             (double)info.clock_offset_us / 1e6, (double)info.clock_error_us / 1e6);
    if (guard->step_ns != 0 || guard->reason == REDLOCK_REASON_CLOCK)
        rl_audit_say(audit, i, "clock", REDLOCK_CHECK_FAIL, REDLOCK_REASON_CLOCK,
                     "its clock was set while we watched", NULL);
    else if (doubts & RL_DOUBT(SKEW))
        rl_audit_say(audit, i, "clock", REDLOCK_CHECK_WARN, REDLOCK_REASON_SKEW, text,
                     "it differs from the other nodes by more than 0.5 s: run NTP on it");
    else
        rl_audit_pass(audit, i, "clock", text);
}

static void check_latency(const struct rl_audit *audit, uint8_t i)
{
    const struct rl_engine *engine = &audit->client->engine;
    int64_t ttl_ns = audit->ttl_ms * RL_NS_PER_MS;
    int64_t allowed_us = rl_lock_node_timeout_ns(&engine->policy, ttl_ns) / 1000;
    char text[RL_SENTENCE_MAX];

    snprintf(text, sizeof text, "%.2f ms; %.0f ms are allowed for a TTL of %.3f s",
             (double)audit->rtt_us[i] / 1e3, (double)allowed_us / 1e3,
             (double)audit->ttl_ms / 1e3);
    if (audit->rtt_us[i] >= allowed_us / 2)
        rl_audit_say(audit, i, "latency",
                     audit->rtt_us[i] < allowed_us ? REDLOCK_CHECK_WARN : REDLOCK_CHECK_FAIL,
                     REDLOCK_REASON_LATE, text, NULL);
    else
        rl_audit_pass(audit, i, "latency", text);
}

static void check_guard(const struct rl_audit *audit, uint8_t i)
{
    const struct rl_guard *guard = &audit->client->engine.node[i].session.guard;
    char text[RL_SENTENCE_MAX];
    enum redlock_reason reason = rl_watch_describe(guard, rl_now_ns(), text, sizeof text);

    if (audit->client->engine.guard_mode == RL_GUARD_OFF)
        rl_audit_say(audit, i, "guard", REDLOCK_CHECK_WARN, REDLOCK_REASON_GUARD_OFF,
                     redlock_reason_text(REDLOCK_REASON_GUARD_OFF), NULL);
    else if (reason)
        rl_audit_say(audit, i, "guard", REDLOCK_CHECK_WARN, reason, text,
                     !guard->objection ? NULL
                     : guard->objection == REDLOCK_REASON_SAME_SERVER
                         ? "waiting does not help: see identity"
                         : "waiting does not help: see membership");
    else
        rl_audit_pass(audit, i, "guard", "may vote");
}

/* ---- judging all together ---- */

static void check_number(const struct rl_audit *audit)
{
    const struct rl_policy *policy = &audit->client->engine.policy;
    uint8_t reachable_count = 0;
    char text[RL_SENTENCE_MAX];

    for (uint8_t i = 0; i < policy->node_count; i++)
        reachable_count += audit->nodes[i].reachable;
    snprintf(text, sizeof text, "%u of %u node%s reachable, %u needed, %u may fail",
             reachable_count, policy->node_count, policy->node_count == 1 ? "" : "s",
             policy->quorum, policy->node_count - policy->quorum);
    if (reachable_count < policy->quorum)
        rl_audit_say(audit, RL_AUDIT_ALL_NODES, "number", REDLOCK_CHECK_FAIL,
                     REDLOCK_REASON_TOO_FEW, text, NULL);
    else if (policy->node_count % 2 == 0 || policy->node_count == 1)
        rl_audit_say(audit, RL_AUDIT_ALL_NODES, "number", REDLOCK_CHECK_WARN,
                     policy->node_count == 1 ? REDLOCK_REASON_ONE_NODE
                                             : REDLOCK_REASON_EVEN_NUMBER,
                     text, NULL);
    else
        rl_audit_pass(audit, RL_AUDIT_ALL_NODES, "number", text);
}

/* How many nodes have the address of this one, without the port? Those of this machine: none. */
static uint8_t count_on_host(const struct rl_engine *engine, uint8_t node, size_t *host_size)
{
    const char *address = engine->node[node].address;
    const char *colon = strrchr(address, ':');
    uint8_t count = 0;

    *host_size = colon ? (size_t)(colon - address) : strlen(address);
    if (rl_set_is_local(address))
        return 0;
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        count += strncmp(engine->node[i].address, address, *host_size + 1) == 0;
    return count;
}

/* Nodes of one machine fail together. Loopback is for trying things, and is left alone. */
static void check_hosts(const struct rl_audit *audit)
{
    const struct rl_engine *engine = &audit->client->engine;
    uint8_t tolerated = engine->policy.node_count - engine->policy.quorum;
    char text[RL_SENTENCE_MAX];
    size_t size;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        uint8_t count = count_on_host(engine, i, &size);

        if (count < 2 || count <= tolerated)
            continue;
        snprintf(text, sizeof text,
                 "%u of %u nodes are on %.*s: with that machine too many of them fail", count,
                 engine->policy.node_count, (int)size, engine->node[i].address);
        rl_audit_say(audit, RL_AUDIT_ALL_NODES, "hosts", REDLOCK_CHECK_WARN,
                     REDLOCK_REASON_ONE_HOST, text, NULL);
        return;
    }
    rl_audit_pass(audit, RL_AUDIT_ALL_NODES, "hosts",
                  rl_set_is_local(engine->node[0].address) ? "this machine"
                                                           : "no machine has too many nodes");
}

static void check_versions(const struct rl_audit *audit)
{
    const struct rl_engine *engine = &audit->client->engine;
    char first[sizeof engine->node[0].session.version] = "";

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const char *version = engine->node[i].session.version;

        if (!audit->nodes[i].reachable || !version[0])
            continue;
        if (first[0] && strcmp(first, version) != 0) {
            rl_audit_say(audit, RL_AUDIT_ALL_NODES, "versions", REDLOCK_CHECK_WARN,
                         REDLOCK_REASON_VERSIONS, redlock_reason_text(REDLOCK_REASON_VERSIONS),
                         NULL);
            return;
        }
        memcpy(first, version, sizeof first);
    }
    rl_audit_say(audit, RL_AUDIT_ALL_NODES, "versions",
                 first[0] ? REDLOCK_CHECK_OK : REDLOCK_CHECK_UNKNOWN,
                 first[0] ? REDLOCK_REASON_NONE : REDLOCK_REASON_INFO,
                 first[0] ? first : "no node tells its version", NULL);
}

void rl_audit_judge(const struct rl_audit *audit)
{
    uint8_t node_count = audit->client->engine.policy.node_count;

    check_number(audit);
    check_hosts(audit);
    check_versions(audit);
    for (uint8_t i = 0; i < node_count; i++) {
        uint64_t doubts = rl_audit_doubts(audit->nodes, node_count, i);

        if (!check_reachable(audit, i))
            continue;
        check_role(audit, i, doubts);
        /* Nothing else that is asked of such a node is worth an advice. */
        if (doubts & RL_DOUBT(CLUSTER))
            continue;
        check_identity(audit, i, doubts);
        check_membership(audit, i, doubts);
        check_max_ttl(audit, i, doubts);
        check_eviction(audit, i, doubts);
        check_persistence(audit, i);
        check_clock(audit, i, doubts);
        check_latency(audit, i);
        rl_check_rights(audit, i, doubts);
        check_guard(audit, i);
    }
}
