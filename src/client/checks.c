/* SPDX-License-Identifier: BSD-2-Clause */
/* The audit's verdicts, each with what was found and what to do. */
#include <stdio.h>
#include <string.h>

#include "client/audit.h"
#include "client/check_rights.h"
#include "client/report.h"
#include "engine/sets.h"
#include "engine/watch.h"
#include "io/clock.h"

void rl_audit_say(const struct rl_audit *audit, uint8_t node, const char *name, int verdict,
                  const char *text, const char *remedy)
{
    redlock_check check = {
        .size = sizeof check,
        .address = node == RL_AUDIT_ALL_NODES ? "" : audit->client->engine.node[node].address,
        .name = name,
        .verdict = verdict,
        .text = text,
        .remedy = remedy,
        .quorum = audit->client->quorum_name,
    };

    rl_check_list_add(audit->checks, &check);
}

/* ---- judging, node by node ---- */

/* For a node that does not answer as it should; `why` are its last words. */
static const char *remedy_of_silence(uint8_t vote, const char *why)
{
    if (vote == REDLOCK_VOTE_AUTH)
        return "check user and password, and the node's ACL";
    if (strstr(why, "redis://") || strstr(why, "rediss://"))
        return "write its address as the text says";
    if (strstr(why, "certificate"))
        return "check the certificates, and which authority this client trusts";
    if (vote == REDLOCK_VOTE_TIMEDOUT)
        return "start the server, check its address and the network, or if it is only slow "
               "raise --node-timeout (node_timeout_ms)";
    return "start the server, or check its address and the network";
}

static bool check_reachable(const struct rl_audit *audit, uint8_t i)
{
    const struct rl_node *node = &audit->client->engine.node[i];
    char text[RL_SENTENCE_MAX];
    uint8_t vote = audit->ping.node[i].vote;

    if (audit->rtt_us[i] >= 0) {
        snprintf(text, sizeof text, "answers, %s",
                 node->session.version[0] ? node->session.version : "version not told");
        rl_audit_say(audit, i, "reachable", REDLOCK_CHECK_OK, text, "");
        return true;
    }
    rl_node_describe_late(&audit->client->engine, i, text, sizeof text);
    if (vote == REDLOCK_VOTE_TIMEDOUT && text[0]) {
        rl_audit_say(audit, i, "reachable", REDLOCK_CHECK_FAIL, text,
                     "raise --node-timeout (node_timeout_ms), or use a server that is nearer");
        return false;
    }
    snprintf(text, sizeof text, "%s%s%s", redlock_vote_text(vote),
             node->session.failure_text[0] ? ": " : "", node->session.failure_text);
    rl_audit_say(audit, i, "reachable", REDLOCK_CHECK_FAIL, text,
                 remedy_of_silence(vote, node->session.failure_text));
    return false;
}

static void check_role(const struct rl_audit *audit, uint8_t i, uint32_t doubts)
{
    const struct rl_facts *facts = audit->nodes[i].facts;

    if (!facts->has_replication)
        rl_audit_say(audit, i, "role", REDLOCK_CHECK_UNKNOWN, "INFO replication is not allowed",
                     "allow +info for this user");
    else if (doubts & (1u << RL_DOUBT_REPLICA))
        rl_audit_say(audit, i, "role", REDLOCK_CHECK_FAIL, "a replica: it cannot grant locks",
                     "name its master instead, or make it one: REPLICAOF NO ONE");
    else
        rl_audit_say(audit, i, "role", REDLOCK_CHECK_OK, "master", "");
}

static void check_identity(const struct rl_audit *audit, uint8_t i, uint32_t doubts)
{
    const struct rl_facts *facts = audit->nodes[i].facts;

    if (!facts->run_id[0])
        rl_audit_say(
            audit, i, "identity", REDLOCK_CHECK_UNKNOWN,
            "INFO server is not allowed: whether it is another node's server cannot be told",
            "allow +info for this user");
    else if (doubts & (1u << RL_DOUBT_DUPLICATE))
        rl_audit_say(audit, i, "identity", REDLOCK_CHECK_FAIL,
                     audit->client->engine.guard_mode == RL_GUARD_OFF
                         ? "the same server as another node (same run_id): it votes twice"
                         : "the same server as another node (same run_id): they count once",
                     "give every node a server of its own");
    else
        rl_audit_say(audit, i, "identity", REDLOCK_CHECK_OK, "no other node is the same server",
                     "");
}

/* "set 0123456789abcdef of 3 nodes", of several quorums with the name of this one. */
static void describe_set(const char *set, char *out, size_t size)
{
    const char *quorum = strchr(set, ' ');

    snprintf(out, size, "set %.*s of %u nodes%s%s", RL_SET_ID_SIZE, set, rl_set_number(set),
             quorum ? ", quorum" : "", quorum ? quorum : "");
}

/* Does it belong to the nodes that it is used with? Only `redlock init` writes that down. */
static void check_membership(const struct rl_audit *audit, uint8_t i, uint32_t doubts)
{
    const struct rl_engine *engine = &audit->client->engine;
    const char *set = engine->node[i].set_answer.set;
    const char *replica =
        doubts & (1u << RL_DOUBT_REPLICA) ? "a replica never votes: see role" : NULL;
    const char *counts = engine->guard_mode == RL_GUARD_OFF ? "" : "; its votes do not count";
    char found[RL_SENTENCE_MAX / 2];
    char text[RL_SENTENCE_MAX];

    describe_set(set, found, sizeof found);
    if (doubts & (1u << RL_DOUBT_UNPLACED)) {
        snprintf(text, sizeof text, "belongs to no set of nodes, and others do%s", counts);
        rl_audit_say(
            audit, i, "membership", REDLOCK_CHECK_FAIL, text,
            replica ? replica
                    : "if it is one of them, once nothing can be held that it has forgotten: "
                      "redlock init; else give this client the nodes that the others have");
    } else if (doubts & (1u << RL_DOUBT_MISPLACED)) {
        snprintf(text, sizeof text, "%s: %s%s", found,
                 rl_guard_reason_text(rl_sets_objection(engine, i)), counts);
        rl_audit_say(
            audit, i, "membership", REDLOCK_CHECK_FAIL, text,
            "give this client the nodes that the others have; after a change of the set: redlock "
            "init (redlock(1), Changing the nodes)");
    } else if (doubts & (1u << RL_DOUBT_BY_CLIENT)) {
        snprintf(text, sizeof text,
                 "%s: it had forgotten, and a client has told it, by its name", found);
        rl_audit_say(
            audit, i, "membership", REDLOCK_CHECK_WARN, text,
            "see that this name means this server on every machine (better: name nodes by their "
            "addresses, or let the server keep its data); then: redlock init");
    } else if (set[0]) {
        rl_audit_say(audit, i, "membership", REDLOCK_CHECK_OK, found, "");
    } else {
        rl_audit_say(audit, i, "membership", REDLOCK_CHECK_WARN,
                     "belongs to no set of nodes: a client with other nodes goes unnoticed",
                     replica ? replica : "when nothing is held: redlock init");
    }
}

/* G4 has the smaller one of a client and a node bound what is granted. */
static void check_max_ttl(const struct rl_audit *audit, uint8_t i, uint32_t doubts)
{
    int64_t marked_ms = audit->nodes[i].facts->marker_max_ttl_ms;
    char text[RL_SENTENCE_MAX];

    if (marked_ms <= 0)
        return;
    snprintf(text, sizeof text, "initialised with %.3f s, this client has %.3f s",
             (double)marked_ms / 1e3, (double)audit->client->max_ttl_ms / 1e3);
    if (doubts & (1u << RL_DOUBT_MAX_TTL))
        rl_audit_say(
            audit, i, "max_ttl", REDLOCK_CHECK_WARN, text,
            "give all clients the same --max-ttl, or after a change, when nothing is held: redlock "
            "init");
    else
        rl_audit_say(audit, i, "max_ttl", REDLOCK_CHECK_OK, text, "");
}

static void check_eviction(const struct rl_audit *audit, uint8_t i, uint32_t doubts)
{
    const struct rl_facts *facts = audit->nodes[i].facts;
    char text[RL_SENTENCE_MAX];

    if (!facts->has_memory) {
        rl_audit_say(audit, i, "eviction", REDLOCK_CHECK_UNKNOWN, "INFO memory is not allowed",
                     "allow +info for this user");
        return;
    }
    snprintf(text, sizeof text, "maxmemory %lld, policy %s", (long long)facts->maxmemory_bytes,
             facts->maxmemory_policy);
    if (doubts & (1u << RL_DOUBT_EVICTING))
        rl_audit_say(audit, i, "eviction", REDLOCK_CHECK_FAIL, text,
                     "locks can be evicted: CONFIG SET maxmemory-policy noeviction");
    else
        rl_audit_say(audit, i, "eviction", REDLOCK_CHECK_OK, text, "");
}

static void check_persistence(const struct rl_audit *audit, uint8_t i)
{
    const struct rl_facts *facts = audit->nodes[i].facts;
    bool guarded = audit->client->engine.guard_mode != RL_GUARD_OFF;

    if (!facts->has_persistence)
        rl_audit_say(audit, i, "persistence", REDLOCK_CHECK_UNKNOWN,
                     "INFO persistence is not allowed", "allow +info for this user");
    else if (facts->append_only)
        rl_audit_say(audit, i, "persistence", REDLOCK_CHECK_OK, "append-only file", "");
    else if (guarded)
        rl_audit_say(
            audit, i, "persistence", REDLOCK_CHECK_OK,
            "no append-only file: a restart forgets locks, and the restart guard covers that",
            "");
    else
        rl_audit_say(
            audit, i, "persistence", REDLOCK_CHECK_WARN,
            "no append-only file, and the restart guard is off: a restart forgets locks",
            "switch the guard on, or delay restarts by max_ttl");
}

static void check_clock(const struct rl_audit *audit, uint8_t i, uint32_t doubts)
{
    const struct rl_guard *guard = &audit->client->engine.node[i].session.guard;
    redlock_node_info info = {.size = sizeof info};
    char text[RL_SENTENCE_MAX];

    if (!guard->window.known) {
        rl_audit_say(audit, i, "clock", REDLOCK_CHECK_UNKNOWN, "TIME is not allowed",
                     "allow +time for this user");
        return;
    }
    rl_report_clock(guard, &info);
    snprintf(text, sizeof text, "%+.3f s against this machine (+/- %.3f s)",
             (double)info.clock_offset_us / 1e6, (double)info.clock_error_us / 1e6);
    if (guard->step_ns != 0 || guard->reason == RL_GUARD_CLOCK_REASON)
        rl_audit_say(audit, i, "clock", REDLOCK_CHECK_FAIL,
                     "its clock was set while we watched",
                     "let NTP slew the clock instead of stepping it");
    else if (doubts & (1u << RL_DOUBT_SKEWED))
        rl_audit_say(audit, i, "clock", REDLOCK_CHECK_WARN, text,
                     "it differs from the other nodes by more than 0.5 s: run NTP on it");
    else
        rl_audit_say(audit, i, "clock", REDLOCK_CHECK_OK, text, "");
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
    if (audit->rtt_us[i] >= allowed_us)
        rl_audit_say(
            audit, i, "latency", REDLOCK_CHECK_FAIL, text,
            "it never answers in time: raise the TTL and node_timeout_ms, or move it closer");
    else if (audit->rtt_us[i] >= allowed_us / 2)
        rl_audit_say(
            audit, i, "latency", REDLOCK_CHECK_WARN, text,
            "it often answers too late: raise the TTL and node_timeout_ms, or move it closer");
    else
        rl_audit_say(audit, i, "latency", REDLOCK_CHECK_OK, text, "");
}

static void check_guard(const struct rl_audit *audit, uint8_t i, uint32_t doubts)
{
    const struct rl_node *node = &audit->client->engine.node[i];
    char text[RL_SENTENCE_MAX];

    rl_watch_describe(&node->session.guard, rl_now_ns(), text, sizeof text);
    if (audit->client->engine.guard_mode == RL_GUARD_OFF)
        rl_audit_say(audit, i, "guard", REDLOCK_CHECK_WARN, "the restart guard is off", "");
    else if (text[0] && (doubts & (1u << RL_DOUBT_REPLICA)))
        rl_audit_say(audit, i, "guard", REDLOCK_CHECK_WARN, text,
                     "a replica never votes: see role");
    else if (node->session.guard.objection == RL_GUARD_SAME_SERVER_REASON)
        rl_audit_say(audit, i, "guard", REDLOCK_CHECK_WARN, text,
                     "waiting does not help: see identity");
    else if (node->session.guard.objection != RL_GUARD_NONE_REASON)
        rl_audit_say(audit, i, "guard", REDLOCK_CHECK_WARN, text,
                     "waiting does not help: see membership");
    else if (text[0])
        rl_audit_say(audit, i, "guard", REDLOCK_CHECK_WARN, text,
                     "wait, or if nothing can be held on it: redlock init");
    else
        rl_audit_say(audit, i, "guard", REDLOCK_CHECK_OK, "may vote", "");
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
        rl_audit_say(audit, RL_AUDIT_ALL_NODES, "number", REDLOCK_CHECK_FAIL, text,
                     "no lock can be acquired");
    else if (policy->node_count % 2 == 0)
        rl_audit_say(audit, RL_AUDIT_ALL_NODES, "number", REDLOCK_CHECK_WARN, text,
                     "no more may fail than with one node less: use an odd number");
    else if (policy->node_count == 1)
        rl_audit_say(
            audit, RL_AUDIT_ALL_NODES, "number", REDLOCK_CHECK_WARN, text,
            "one node cannot promise what several do: while it is down no lock can be taken, and "
            "what it forgets is forgotten; use three or five");
    else
        rl_audit_say(audit, RL_AUDIT_ALL_NODES, "number", REDLOCK_CHECK_OK, text, "");
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
                         "the nodes run different versions",
                         "fine during an upgrade; otherwise run the same everywhere");
            return;
        }
        memcpy(first, version, sizeof first);
    }
    rl_audit_say(audit, RL_AUDIT_ALL_NODES, "versions",
                 first[0] ? REDLOCK_CHECK_OK : REDLOCK_CHECK_UNKNOWN,
                 first[0] ? first : "no node tells its version", "");
}

void rl_audit_judge(const struct rl_audit *audit)
{
    uint8_t node_count = audit->client->engine.policy.node_count;

    check_number(audit);
    check_versions(audit);
    for (uint8_t i = 0; i < node_count; i++) {
        uint32_t doubts = rl_audit_doubts(audit->nodes, node_count, i);

        if (!check_reachable(audit, i))
            continue;
        check_role(audit, i, doubts);
        check_identity(audit, i, doubts);
        check_membership(audit, i, doubts);
        check_max_ttl(audit, i, doubts);
        check_eviction(audit, i, doubts);
        check_persistence(audit, i);
        check_clock(audit, i, doubts);
        check_latency(audit, i);
        rl_check_rights(audit, i, doubts);
        check_guard(audit, i, doubts);
    }
}
