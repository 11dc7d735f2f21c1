/* SPDX-License-Identifier: BSD-2-Clause */
/* The audit's verdicts, each with what was found and what to do. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/audit.h"
#include "client/calls.h"
#include "client/deployment.h"
#include "engine/safety.h"
#include "engine/sets.h"
#include "engine/watch.h"
#include "io/clock.h"

void rl_check_report(const struct rl_check *c, enum redlock_verdict verdict,
                     enum redlock_reason reason, const char *remedy, const char *format, ...)
{
    char text[RL_SENTENCE_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rl_job_add_check(c->audit->job, &(redlock_check){
                                        .address = c->node ? c->node->address : "",
                                        .name = c->name,
                                        .verdict = verdict,
                                        .reason = reason,
                                        .text = text,
                                        .remedy = remedy ? remedy : rl_remedy(reason),
                                        .quorum = c->audit->client->quorum_name,
                                    });
}

/* ---- judging, node by node ---- */

static void check_reachable(const struct rl_check *c)
{
    const char *version = c->node->session.version;
    enum redlock_vote vote = c->audit->ping.node[c->i].vote;
    enum redlock_reason reason;
    char why[REDLOCK_TEXT_MAX];

    if (c->audit->rtt_us[c->i] >= 0) {
        RL_PASS(c, "answers, %s", version[0] ? version : "version not reported");
        return;
    }
    reason = rl_node_explain_vote(c->engine, c->i, vote, why);
    if (reason == REDLOCK_REASON_LATE)
        rl_check_report(c, REDLOCK_CHECK_FAIL, reason, NULL, "%s", why);
    else
        rl_check_report(c, REDLOCK_CHECK_FAIL, reason, NULL, "%s%s%s",
                        redlock_vote_text((int)vote), why[0] ? ": " : "", why);
}

static void check_role(const struct rl_check *c)
{
    int64_t count = c->facts->replica_count;
    bool has_sentinel = c->node->session.has_sentinel;
    char replicas[48] = "";

    if (count > 0)
        snprintf(replicas, sizeof replicas, " with %lld replica%s", (long long)count,
                 count == 1 ? "" : "s");
    if (c->findings & RL_FINDING(SENTINEL))
        RL_SAY(c, FAIL, SENTINEL, "this is a Sentinel: it knows servers, and keeps no locks");
    else if (c->findings & RL_FINDING(CLUSTER))
        RL_SAY(c, FAIL, CLUSTER,
               "this is a Redis Cluster: each of its masters has some of the keys, and a node "
               "must have all; and a replica that takes over has forgotten locks");
    else if (!c->facts->has_replication)
        RL_SAY(c, UNKNOWN, INFO, "INFO replication is not allowed");
    else if (c->findings & RL_FINDING(REPLICA))
        RL_SAY(c, FAIL, REPLICA,
               "a replica: it cannot grant locks, and once promoted it would vote without "
               "those that had not reached it");
    else if (c->node->elected)
        RL_PASS(c, "%s",
                c->node->elected->login.vote_count ? "the master of a slot of the cluster"
                                                   : "the master of a Sentinel group");
    /* The guard looks at one server. Which one is the node is decided elsewhere then. */
    else if (count > 0 || c->facts->was_promoted || has_sentinel)
        RL_SAY(c, WARN, FAILOVER,
               "master%s%s: a replica that takes over votes at once, without the locks that "
               "had not reached it, and strict mode does not see an old master that lives on",
               replicas, has_sentinel ? ", watched by a Sentinel" : "");
    else
        RL_PASS(c, "master");
}

static void check_identity(const struct rl_check *c)
{
    if (!c->facts->run_id[0])
        RL_SAY(c, UNKNOWN, INFO,
               "INFO server is not allowed: whether it is another node's server is not known");
    else if (c->findings & RL_FINDING(SAME_SERVER))
        RL_SAY(c, FAIL, SAME_SERVER, "the same server as another node (same run_id): %s",
               c->engine->guard_mode == RL_GUARD_OFF ? "it votes twice" : "they count once");
    else
        RL_PASS(c, "no other node is the same server");
}

/* Does it belong to the nodes that it is used with? Only an admission writes that down. */
static void check_membership(const struct rl_check *c)
{
    const char *counts =
        c->engine->guard_mode == RL_GUARD_OFF ? "" : "; its votes do not count";
    enum redlock_reason objection = rl_sets_objection(c->engine, c->i);
    /* What a replica lacks is no set. */
    const char *remedy =
        c->findings & RL_FINDING(REPLICA) ? rl_remedy(REDLOCK_REASON_REPLICA) : NULL;
    const char *set = c->engine->set_answer[c->i].set;
    const char *quorum = strchr(set, ' ');
    char found[RL_SENTENCE_MAX / 2];

    /* "set 0123456789abcdef of 3 nodes", of several quorums with the name of this one. */
    snprintf(found, sizeof found, "set %.*s of %u nodes%s%s", RL_SET_ID_SIZE, set,
             rl_set_number(set),
             !quorum                                ? ""
             : quorum[1] == '@' && quorum[2] == 'c' ? ", votes of a cluster"
             : quorum[1] == '@'                     ? ", a Sentinel group among them"
                                                    : ", quorum",
             quorum && quorum[1] != '@' ? quorum : "");
    if (objection == REDLOCK_REASON_SET_UNREADABLE)
        RL_SAY(c, FAIL, SET_UNREADABLE, "the key redlock.admit cannot be read: %s%s",
               c->node->session.marker_error, counts);
    else if (c->node->session.guard.objection == REDLOCK_REASON_NO_SET && c->node->elected)
        rl_check_report(c, REDLOCK_CHECK_FAIL, REDLOCK_REASON_NO_SETS, remedy, "%s%s",
                        RL_WATCH_NO_ELECTORS, counts);
    else if (objection == REDLOCK_REASON_NO_SET)
        rl_check_report(c, REDLOCK_CHECK_FAIL, objection, remedy,
                        "belongs to no set of nodes, and others do%s", counts);
    else if (objection)
        rl_check_report(c, REDLOCK_CHECK_FAIL, objection, NULL, "%s: %s%s", found,
                        redlock_reason_text((int)objection), counts);
    else if (c->findings & RL_FINDING(SET_BY_NAME))
        RL_SAY(c, WARN, SET_BY_NAME,
               "it had forgotten its set, and a client has restored it, by its name");
    else if (set[0])
        RL_PASS(c, "%s", found);
    else
        rl_check_report(
            c, REDLOCK_CHECK_WARN, REDLOCK_REASON_NO_SETS, remedy,
            "not initialised: it cannot tell a client that has a wrong list of nodes "
            "from the others, and two clients with different lists can both hold a "
            "lock");
}

/* G4 has the smaller one of a client and a node bound what is granted. */
static void check_max_ttl(const struct rl_check *c)
{
    bool differs = c->findings & RL_FINDING(MAX_TTL);

    if (c->facts->marker_max_ttl_ms > 0)
        rl_check_report(c, differs ? REDLOCK_CHECK_WARN : REDLOCK_CHECK_OK,
                        differs ? REDLOCK_REASON_MAX_TTL : REDLOCK_REASON_NONE, NULL,
                        "initialised with %.3f s, this client has %.3f s",
                        (double)c->facts->marker_max_ttl_ms / 1e3,
                        (double)c->audit->client->max_ttl_ms / 1e3);
}

static void check_eviction(const struct rl_check *c)
{
    bool evicts = c->findings & RL_FINDING(EVICTION);

    if (!c->facts->has_memory)
        RL_SAY(c, UNKNOWN, INFO, "INFO memory is not allowed");
    else
        rl_check_report(c, evicts ? REDLOCK_CHECK_FAIL : REDLOCK_CHECK_OK,
                        evicts ? REDLOCK_REASON_EVICTION : REDLOCK_REASON_NONE, NULL,
                        "maxmemory %lld, policy %s", (long long)c->facts->maxmemory_bytes,
                        c->facts->maxmemory_policy);
}

static void check_persistence(const struct rl_check *c)
{
    if (!c->facts->has_persistence)
        RL_SAY(c, UNKNOWN, INFO, "INFO persistence is not allowed");
    else if (c->facts->append_only)
        RL_PASS(c, "append-only file");
    else if (c->engine->guard_mode != RL_GUARD_OFF)
        rl_check_report(
            c, REDLOCK_CHECK_OK, REDLOCK_REASON_NONE,
            "what has to outlast the guard, as records of periodic runs do, needs appendonly "
            "yes",
            "no append-only file: ok for locks, whose loss in a restart the guard covers");
    else
        RL_SAY(c, WARN, PERSISTENCE,
               "no append-only file, and the restart guard is off: a restart forgets locks");
}

static void check_clock(const struct rl_check *c)
{
    const struct rl_guard *guard = &c->node->session.guard;
    redlock_node_info info = REDLOCK_NODE_INFO();
    bool is_skewed = c->findings & RL_FINDING(SKEW);

    if (!guard->window.known) {
        rl_check_report(c, REDLOCK_CHECK_UNKNOWN, REDLOCK_REASON_RIGHTS,
                        "allow +time for this user", "TIME is not allowed");
        return;
    }
    if (guard->step_ns != 0 || guard->reason == REDLOCK_REASON_CLOCK) {
        RL_SAY(c, FAIL, CLOCK, "its clock was set while we watched");
        return;
    }
    rl_report_clock(guard, &info);
    rl_check_report(
        c, is_skewed ? REDLOCK_CHECK_WARN : REDLOCK_CHECK_OK,
        is_skewed ? REDLOCK_REASON_SKEW : REDLOCK_REASON_NONE,
        is_skewed ? "it differs from the other nodes by more than 0.5 s: run NTP on it" : NULL,
        "%+.3f s against this machine (+/- %.3f s)", (double)info.clock_offset_us / 1e6,
        (double)info.clock_error_us / 1e6);
}

static void check_latency(const struct rl_check *c)
{
    int64_t ttl_ms = c->audit->job->terms.ttl_ms;
    int64_t allowed_us =
        rl_lock_node_timeout_ns(&c->engine->policy, ttl_ms * RL_NS_PER_MS) / 1000;
    int32_t rtt_us = c->audit->rtt_us[c->i];
    bool is_slow = rtt_us >= allowed_us / 2;

    rl_check_report(c,
                    !is_slow              ? REDLOCK_CHECK_OK
                    : rtt_us < allowed_us ? REDLOCK_CHECK_WARN
                                          : REDLOCK_CHECK_FAIL,
                    is_slow ? REDLOCK_REASON_LATE : REDLOCK_REASON_NONE, NULL,
                    "%.2f ms; %.0f ms are allowed for a TTL of %.3f s", (double)rtt_us / 1e3,
                    (double)allowed_us / 1e3, (double)ttl_ms / 1e3);
}

static void check_guard(const struct rl_check *c)
{
    const struct rl_guard *guard = &c->node->session.guard;
    char text[RL_SENTENCE_MAX];
    enum redlock_reason reason = rl_watch_describe(guard, rl_now_ns(), text, sizeof text);

    if (c->engine->guard_mode == RL_GUARD_OFF)
        RL_SAY(c, WARN, GUARD_OFF, "%s", redlock_reason_text(REDLOCK_REASON_GUARD_OFF));
    else if (reason)
        rl_check_report(c, REDLOCK_CHECK_WARN, reason,
                        !guard->objection ? NULL
                        : guard->objection == REDLOCK_REASON_SAME_SERVER
                            ? "waiting does not help: see identity"
                            : "waiting does not help: see membership",
                        "%s", text);
    else
        RL_PASS(c, "may vote");
}

/* ---- of a Sentinel group ---- */

/* A majority suffices for locks; one that is away is missed when another goes. */
static void check_sentinels(const struct rl_check *c)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    enum redlock_reason reason = REDLOCK_REASON_NONE;
    char why[RL_SENTENCE_MAX / 2] = "";
    char term[32] = "";

    rl_deployment_describe(c->audit->client, c->i, &info);
    if (info.server[0])
        snprintf(term, sizeof term, ", term %lld", (long long)info.term);
    for (uint32_t k = 0; k < info.elector_count && !reason; k++) {
        reason = (enum redlock_reason)info.elector[k].reason;
        if (reason)
            snprintf(why, sizeof why, "; %.*s: %s", REDLOCK_ADDRESS_MAX / 2,
                     info.elector[k].address, redlock_reason_text((int)reason));
    }
    if (!reason && info.elector_count != info.listed_count)
        reason = REDLOCK_REASON_ELECTORS;
    if (!reason && info.voucher_count <= info.listed_count / 2)
        reason = REDLOCK_REASON_NOT_VOUCHED;
    rl_check_report(c,
                    info.voucher_count <= info.listed_count / 2 ? REDLOCK_CHECK_FAIL
                    : reason                                    ? REDLOCK_CHECK_WARN
                                                                : REDLOCK_CHECK_OK,
                    reason, NULL, "%u of %u name %s%s%s", info.voucher_count, info.listed_count,
                    info.server[0] ? info.server : "the same server", term, why);
}

/*
 * Holders go on through a failover only if the last renewal before it lasts long enough (E9).
 */
static void check_ttl(const struct rl_check *c)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    int64_t ttl_ms = c->audit->job->terms.ttl_ms;
    int64_t max_ttl_ns = c->node->session.guard.node_max_ttl_ns;
    int64_t held_ms, run_ms;
    bool is_short;

    rl_deployment_describe(c->audit->client, c->i, &info);
    if (info.failover_ms < 0) {
        RL_SAY(c, UNKNOWN, NO_TERM, "no sentinel has reported its down-after-milliseconds");
        return;
    }
    held_ms = rl_deployment_least_ttl_ms(info.failover_ms, 0);
    run_ms = rl_deployment_least_ttl_ms(info.failover_ms, RL_DEPLOYMENT_RUN_GRACE_MS);
    is_short = ttl_ms < run_ms;
    if (max_ttl_ns <= 0 || max_ttl_ns > c->engine->max_ttl_ns)
        max_ttl_ns = c->engine->max_ttl_ns;
    rl_check_report(
        c, is_short ? REDLOCK_CHECK_WARN : REDLOCK_CHECK_OK,
        is_short ? REDLOCK_REASON_SHORT_TTL : REDLOCK_REASON_NONE,
        is_short && run_ms > max_ttl_ns / RL_NS_PER_MS
            ? "a shorter down-after-milliseconds; or a larger max_ttl for all clients "
              "and, when nothing is held, admit the nodes again: then a longer TTL"
            : NULL,
        "a failover takes about %.1f s: locks with a TTL of %.1f s or more are held "
        "through it, commands that run under them with %.1f s; yours is %.1f s",
        (double)info.failover_ms / 1e3, (double)held_ms / 1e3, (double)run_ms / 1e3,
        (double)ttl_ms / 1e3);
}

/*
 * Votes may be on one master: that is sound, and with a majority of them there, its failover is
 * one of them all.
 */
static void check_masters(const struct rl_check *c)
{
    const struct rl_policy *policy = &c->engine->policy;
    uint8_t vote_count = 0, master_count = 0, most = 0;
    const char *busiest = "";

    for (uint8_t i = 0; i < policy->node_count; i++) {
        const struct rl_elected *elected = c->engine->node[i].elected;
        uint8_t count = 0;

        if (!elected || !elected->login.vote_count || !elected->electors.term.id[0])
            continue;
        vote_count++;
        for (uint8_t k = 0; k < policy->node_count; k++) {
            const struct rl_elected *other = c->engine->node[k].elected;

            if (!other || strcmp(other->electors.term.id, elected->electors.term.id) != 0)
                continue;
            /* The first of a master's votes counts it. */
            master_count += count == 0 && k == i;
            count++;
        }
        if (count > most) {
            most = count;
            busiest = elected->electors.term.owner;
        }
    }
    if (vote_count == 0)
        return;
    if (policy->node_count > 1 && most > policy->node_count - policy->quorum)
        rl_check_report(
            c, REDLOCK_CHECK_WARN, REDLOCK_REASON_ONE_HOST,
            "move slots until every vote has a master of its own, or take more votes",
            "%u of %u votes are on the master %s: its failover costs all locks, and "
            "new ones wait",
            most, vote_count, busiest);
    else
        RL_PASS(
            c,
            "%u votes on %u masters; with cluster-require-full-coverage no the others go on "
            "when one dies, else none does until it is replaced",
            vote_count, master_count);
}

/* ---- judging all together ---- */

static void check_number(const struct rl_check *c)
{
    const struct rl_policy *policy = &c->engine->policy;
    uint8_t reachable_count = 0;
    enum redlock_verdict verdict = REDLOCK_CHECK_WARN;
    enum redlock_reason reason = REDLOCK_REASON_NONE;

    for (uint8_t i = 0; i < policy->node_count; i++)
        reachable_count += c->audit->nodes[i].reachable;
    if (reachable_count < policy->quorum) {
        verdict = REDLOCK_CHECK_FAIL;
        reason = REDLOCK_REASON_TOO_FEW;
    } else if (policy->node_count == 1 && c->engine->node[0].elected) {
        RL_PASS(c, "one %s, reachable",
                c->engine->node[0].elected->login.vote_count ? "vote of a cluster"
                                                             : "Sentinel group");
        return;
    } else if (policy->node_count == 1) {
        reason = REDLOCK_REASON_ONE_NODE;
    } else if (policy->node_count % 2 == 0) {
        reason = REDLOCK_REASON_EVEN_NUMBER;
    } else {
        verdict = REDLOCK_CHECK_OK;
    }
    rl_check_report(c, verdict, reason, NULL,
                    "%u of %u node%s reachable, %u needed, %u may fail", reachable_count,
                    policy->node_count, policy->node_count == 1 ? "" : "s", policy->quorum,
                    policy->node_count - policy->quorum);
}

/* How many nodes have the address of this one, without the port? Of this machine: none. */
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
static void check_hosts(const struct rl_check *c)
{
    const struct rl_engine *engine = c->engine;
    uint8_t tolerated = engine->policy.node_count - engine->policy.quorum;
    size_t size;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        uint8_t count = count_on_host(engine, i, &size);

        if (count < 2 || count <= tolerated)
            continue;
        RL_SAY(c, WARN, ONE_HOST,
               "%u of %u nodes are on %.*s: with that machine too many of them fail", count,
               engine->policy.node_count, (int)size, engine->node[i].address);
        return;
    }
    RL_PASS(c, "%s",
            rl_set_is_local(engine->node[0].address) ? "this machine"
                                                     : "no machine has too many nodes");
}

static void check_versions(const struct rl_check *c)
{
    const char *first = NULL;

    for (uint8_t i = 0; i < c->engine->policy.node_count; i++) {
        const char *version = c->engine->node[i].session.version;

        if (!c->audit->nodes[i].reachable || !version[0])
            continue;
        if (first && strcmp(first, version) != 0) {
            RL_SAY(c, WARN, VERSIONS, "%s", redlock_reason_text(REDLOCK_REASON_VERSIONS));
            return;
        }
        first = version;
    }
    if (first)
        RL_PASS(c, "%s", first);
    else
        RL_SAY(c, UNKNOWN, INFO, "no node tells its version");
}

/* Those that must pass on a majority before a lock is granted for correctness. */
static void check_profile(const struct rl_check *c)
{
    const struct rl_policy *policy = &c->engine->policy;
    enum redlock_profile profile = c->audit->client->profile;
    enum redlock_reason first = REDLOCK_REASON_NONE;
    uint8_t safe_count = 0;
    bool is_refused;

    for (uint8_t i = 0; i < policy->node_count; i++) {
        enum redlock_reason reason =
            c->audit->nodes[i].reachable ? rl_safety_find(c->engine, i) : REDLOCK_REASON_NONE;

        safe_count += c->audit->nodes[i].reachable && !reason;
        first = first ? first : reason;
    }
    is_refused = profile == REDLOCK_PROFILE_CORRECTNESS && safe_count < policy->quorum && first;
    rl_check_report(c, is_refused ? REDLOCK_CHECK_FAIL : REDLOCK_CHECK_OK,
                    is_refused ? first : REDLOCK_REASON_NONE, NULL,
                    "%s; %u of %u nodes pass the safety checks (" RL_SAFETY_CHECKS ")%s%s",
                    redlock_profile_text((int)profile), safe_count, policy->node_count,
                    is_refused ? ", too few: no lock is granted; see " : "",
                    is_refused ? rl_safety_check_name(first) : "");
}

/* ---- all of them, in the order of the answer ---- */

enum scope {
    ALL_TOGETHER,
    EACH,
    EACH_REACHABLE,
    EACH_USABLE,
    EACH_TRIED,
    EACH_GROUP,
    EACH_VOTE
};

static const struct {
    enum scope scope;
    const char *name;
    void (*run)(const struct rl_check *c);
} checks[] = {
    {ALL_TOGETHER, "number", check_number},
    {ALL_TOGETHER, "hosts", check_hosts},
    {ALL_TOGETHER, "versions", check_versions},
    {ALL_TOGETHER, "profile", check_profile},
    {ALL_TOGETHER, "masters", check_masters},
    {EACH, "reachable", check_reachable},
    {EACH_REACHABLE, "role", check_role},
    {EACH_GROUP, "sentinels", check_sentinels},
    {EACH_GROUP, "ttl", check_ttl},
    {EACH_VOTE, "electors", check_sentinels},
    {EACH_USABLE, "identity", check_identity},
    {EACH_USABLE, "membership", check_membership},
    {EACH_USABLE, "max_ttl", check_max_ttl},
    {EACH_USABLE, "eviction", check_eviction},
    {EACH_USABLE, "persistence", check_persistence},
    {EACH_USABLE, "clock", check_clock},
    {EACH_USABLE, "latency", check_latency},
    {EACH_TRIED, "rights", rl_check_rights},
    {EACH_TRIED, "fencing", rl_check_fencing},
    {EACH_TRIED, "waiting", rl_check_waiting},
    {EACH_TRIED, "kinds", rl_check_kinds},
    {EACH_USABLE, "guard", check_guard},
};

static bool applies(enum scope scope, const struct rl_check *c)
{
    if (!c->node || scope == ALL_TOGETHER)
        return !c->node && scope == ALL_TOGETHER;
    if (scope >= EACH_REACHABLE && c->audit->rtt_us[c->i] < 0)
        return false;
    /* No other check of such a node is worth an advice. */
    if (scope >= EACH_USABLE && (c->findings & (RL_FINDING(CLUSTER) | RL_FINDING(SENTINEL))))
        return false;
    if (scope == EACH_GROUP)
        return c->node->elected && !c->node->elected->login.vote_count;
    if (scope == EACH_VOTE)
        return c->node->elected && c->node->elected->login.vote_count;
    /* The first of several addresses of one server has the key that the others find held. */
    return scope != EACH_TRIED || !(c->findings & RL_FINDING(SAME_SERVER)) ||
           c->audit->rights[0].node[c->i].vote != REDLOCK_VOTE_TAKEN;
}

static void run_checks(struct rl_check *c)
{
    for (size_t k = 0; k < sizeof checks / sizeof checks[0]; k++) {
        c->name = checks[k].name;
        if (applies(checks[k].scope, c))
            checks[k].run(c);
    }
}

void rl_audit_judge(const struct rl_audit *audit)
{
    struct rl_check c = {.audit = audit, .engine = &audit->client->engine};

    run_checks(&c);
    for (c.i = 0; c.i < c.engine->policy.node_count; c.i++) {
        c.node = &c.engine->node[c.i];
        c.facts = audit->nodes[c.i].facts;
        c.findings = rl_audit_findings(audit->nodes, c.engine->policy.node_count, c.i);
        run_checks(&c);
    }
}
