/* SPDX-License-Identifier: BSD-2-Clause */
/* May a node vote? The guard's judgement, fact by fact, also of the server of an elected vote
 * (E5 to E7), and its sense of time. */
#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "base/time.h"
#include "check.h"
#include "core/audit.h"
#include "core/guard.h"

static struct rl_facts healthy(int64_t uptime_s)
{
    return (struct rl_facts){
        .has_server = true,
        .has_replication = true,
        .has_persistence = true,
        .master = true,
        .run_id = "r1",
        .replid = "p1",
        .uptime_s = uptime_s,
    };
}

static struct rl_guard guard_of(enum rl_guard_mode mode)
{
    struct rl_guard guard;

    rl_guard_init(&guard, mode, 60 * RL_NS_PER_S, 10000);
    rl_guard_connected(&guard);
    return guard;
}

/* Of every case: a guard in the default mode, and what a healthy old node says. */
static struct rl_guard guard;
static struct rl_facts facts;

static void begin(void)
{
    guard = guard_of(RL_GUARD_DEFAULT);
    facts = healthy(1000);
}

CASES_BEGIN_WITH(begin);

CASE(nothing_counts_before_the_check,
     "G1: no grant counts before the node's check has answered.")
{
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S));
}

CASE(old_nodes_vote_at_once,
     "G1: a node that is up longer than max_ttl and the margin votes at once.")
{
    facts = healthy(63);
    rl_guard_judge(&guard, &facts, 0);
    CHECK(rl_guard_check_vote(&guard, 0));
    facts = healthy(62);
    rl_guard_connected(&guard);
    rl_guard_judge(&guard, &facts, 0);
    CHECK(!rl_guard_check_vote(&guard, 0));
}

CASE(young_nodes_wait, "G1: a young node votes after max_ttl and the margin on one connection.")
{
    facts = healthy(5);
    rl_guard_judge(&guard, &facts, 100 * RL_NS_PER_S);
    CHECK(!rl_guard_check_vote(&guard, 161 * RL_NS_PER_S));
    CHECK_INT(162 * RL_NS_PER_S, rl_guard_ends_ns(&guard));
    /* A break starts the watch anew, however long it had gone on. */
    rl_guard_connected(&guard);
    CHECK(!rl_guard_check_vote(&guard, 170 * RL_NS_PER_S));
    rl_guard_judge(&guard, &facts, 161 * RL_NS_PER_S);
    CHECK(!rl_guard_check_vote(&guard, 170 * RL_NS_PER_S));
    CHECK(rl_guard_check_vote(&guard, 223 * RL_NS_PER_S));
}

CASE(a_new_connection_begins_unchecked,
     "G1: a new connection inherits no trust from the old one.")
{
    rl_guard_judge(&guard, &facts, 0);
    CHECK(rl_guard_check_vote(&guard, 0));
    rl_guard_connected(&guard);
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S));
}

CASE(a_marker_of_this_incarnation_admits,
     "G1, G5: only a marker of the node's own incarnation admits it.")
{
    facts = healthy(1);
    strcpy(facts.marker, "r1:p1");
    rl_guard_judge(&guard, &facts, 0);
    CHECK(rl_guard_check_vote(&guard, 0));
    /* Restarted from a snapshot: the marker survived, newer locks did not. */
    strcpy(facts.run_id, "r2");
    rl_guard_connected(&guard);
    rl_guard_judge(&guard, &facts, 0);
    CHECK(!rl_guard_check_vote(&guard, 0));
    /* Promoted in place: the same process with another history. */
    strcpy(facts.run_id, "r1");
    strcpy(facts.replid, "p2");
    rl_guard_connected(&guard);
    rl_guard_judge(&guard, &facts, 0);
    CHECK(!rl_guard_check_vote(&guard, 0));
}

CASE(loading_and_replicas_do_not_vote,
     "G1: a loading node or a replica never votes, marker or not.")
{
    strcpy(facts.marker, "r1:p1");
    facts.loading = true;
    rl_guard_judge(&guard, &facts, 0);
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S));
    facts.loading = false;
    facts.master = false;
    rl_guard_judge(&guard, &facts, 0);
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S));
    rl_guard_vouched(&guard);
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S));
}

CASE(clusters_do_not_vote,
     "G1: a node of a Redis Cluster never votes, neither with a marker nor vouched for.")
{
    strcpy(facts.marker, "r1:p1");
    facts.cluster = true;
    rl_guard_judge(&guard, &facts, 0);
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S));
    CHECK_INT(REDLOCK_REASON_CLUSTER, guard.reason);
    rl_guard_vouched(&guard);
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S));
}

CASE(a_node_that_tells_nothing_is_watched,
     "G1: a node that forbids INFO is watched as if it were young.")
{
    facts = (struct rl_facts){0};
    rl_guard_judge(&guard, &facts, 0);
    CHECK(!rl_guard_check_vote(&guard, 61 * RL_NS_PER_S));
    CHECK(rl_guard_check_vote(&guard, 63 * RL_NS_PER_S));
}

CASE(a_repeated_check_shortens_nothing,
     "G1: checking a node again does not shorten its quarantine.")
{
    facts = healthy(5);
    rl_guard_judge(&guard, &facts, 0);
    facts.uptime_s = 35;
    rl_guard_judge(&guard, &facts, 30 * RL_NS_PER_S);
    CHECK_INT(62 * RL_NS_PER_S, rl_guard_ends_ns(&guard));

    /* Promoted on a living connection: what it remembers is another server's. */
    guard = guard_of(RL_GUARD_DEFAULT);
    facts = healthy(1000);
    facts.master = false;
    rl_guard_judge(&guard, &facts, 0);
    facts.master = true;
    rl_guard_judge(&guard, &facts, 10 * RL_NS_PER_S);
    CHECK(!rl_guard_check_vote(&guard, 71 * RL_NS_PER_S));
    CHECK(rl_guard_check_vote(&guard, 73 * RL_NS_PER_S));

    /* Demoted and promoted between two checks: its history has another name. */
    guard = guard_of(RL_GUARD_DEFAULT);
    facts = healthy(1000);
    rl_guard_judge(&guard, &facts, 0);
    CHECK(rl_guard_check_vote(&guard, 0));
    strcpy(facts.replid, "p2");
    rl_guard_judge(&guard, &facts, 10 * RL_NS_PER_S);
    CHECK(!rl_guard_check_vote(&guard, 10 * RL_NS_PER_S));
}

CASE(a_set_clock_is_not_forgotten,
     "G6: no check, connection or marker lets a node with a set clock vote.")
{
    strcpy(facts.marker, "r1:p1");
    rl_guard_judge(&guard, &facts, 0);
    rl_guard_blame_clock(&guard, 10 * RL_NS_PER_S);
    rl_guard_judge(&guard, &facts, 20 * RL_NS_PER_S);
    CHECK(!rl_guard_check_vote(&guard, 20 * RL_NS_PER_S));
    rl_guard_connected(&guard);
    rl_guard_judge(&guard, &facts, 30 * RL_NS_PER_S);
    CHECK(!rl_guard_check_vote(&guard, 71 * RL_NS_PER_S));
    CHECK(rl_guard_check_vote(&guard, 73 * RL_NS_PER_S));
    rl_guard_blame_clock(&guard, 100 * RL_NS_PER_S);
    rl_guard_vouched(&guard);
    CHECK(rl_guard_check_vote(&guard, 100 * RL_NS_PER_S));
}

CASE(the_longest_ttl_of_anybody_counts,
     "G4: the quarantine lasts for the node's max_ttl if it is the larger one.")
{
    facts = healthy(100);
    facts.marker_max_ttl_ms = 120000;
    rl_guard_judge(&guard, &facts, 0);
    CHECK(!rl_guard_check_vote(&guard, 100 * RL_NS_PER_S));
    CHECK(rl_guard_check_vote(&guard, 123 * RL_NS_PER_S));
}

static struct rl_slice slice(const char *text)
{
    return rl_slice_of(text);
}

CASE(strict_needs_the_marker_with_every_grant,
     "G2: a node whose marker is gone once is out for the full time.")
{
    guard = guard_of(RL_GUARD_STRICT);
    /* Age alone admits no node in strict mode. */
    rl_guard_judge(&guard, &facts, 0);
    CHECK(!rl_guard_check_vote(&guard, 0));
    strcpy(facts.marker, "r1:p1");
    rl_guard_judge(&guard, &facts, 0);
    CHECK(rl_guard_marker(&guard, slice("r1:p1"), slice("r1:p1"), 60000, 0));
    CHECK(!rl_guard_marker(&guard, slice(""), slice("r1:p1"), 0, 1 * RL_NS_PER_S));
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S));

    /* Probation: watched, then admitted by compare. */
    rl_guard_probed(&guard, slice("r1:p1/nonce"), 10 * RL_NS_PER_S);
    CHECK(!rl_guard_wants_admission(&guard, 71 * RL_NS_PER_S));
    CHECK(rl_guard_wants_admission(&guard, 72 * RL_NS_PER_S));
    rl_guard_admitted(&guard, false, 72 * RL_NS_PER_S);
    CHECK(!rl_guard_check_vote(&guard, 72 * RL_NS_PER_S));
    CHECK(!rl_guard_wants_admission(&guard, 200 * RL_NS_PER_S));
    rl_guard_probed(&guard, slice("r1:p1/other"), 200 * RL_NS_PER_S);
    CHECK(rl_guard_wants_admission(&guard, 262 * RL_NS_PER_S));
    rl_guard_admitted(&guard, true, 262 * RL_NS_PER_S);
    CHECK(rl_guard_marker(&guard, slice("r1:p1"), slice("r1:p1"), 60000, 263 * RL_NS_PER_S));
}

CASE(strict_sees_a_restart_behind_a_proxy,
     "G2: a marker restored by a snapshot does not hide a restart.")
{
    guard = guard_of(RL_GUARD_STRICT);
    strcpy(facts.marker, "r1:p1");
    rl_guard_judge(&guard, &facts, 0);
    CHECK(!rl_guard_marker(&guard, slice("r1:p1"), slice("r2:p2"), 60000, 1 * RL_NS_PER_S));
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S));
}

CASE(strict_remembers_a_set_clock,
     "G6: a set clock keeps a node out even when its marker cannot be removed.")
{
    guard = guard_of(RL_GUARD_STRICT);
    strcpy(facts.marker, "r1:p1");
    rl_guard_judge(&guard, &facts, 0);
    rl_guard_blame_clock(&guard, 10 * RL_NS_PER_S);
    rl_guard_connected(&guard);
    rl_guard_judge(&guard, &facts, 20 * RL_NS_PER_S);
    CHECK(!rl_guard_marker(&guard, slice("r1:p1"), slice("r1:p1"), 60000, 30 * RL_NS_PER_S));
    CHECK(!rl_guard_marker(&guard, slice(""), slice("r1:p1"), 60000, 31 * RL_NS_PER_S));
    CHECK(!rl_guard_check_vote(&guard, 71 * RL_NS_PER_S));
}

/* Strict, without a marker. */
static void begin_strict(void)
{
    guard = guard_of(RL_GUARD_STRICT);
    rl_guard_judge(&guard, &facts, RL_NS_PER_S);
}

CASE(probation_answers,
     "G2: a marker that another client set ends the probation, rubbish does not.")
{
    char rubbish[RL_PROBATION_MAX + 8];

    facts.marker_max_ttl_ms = -5;
    begin_strict();
    CHECK_INT(0, guard.node_max_ttl_ns); /* a negative limit is none */
    CHECK(!rl_guard_check_vote(&guard, RL_NS_PER_S));
    memset(rubbish, 'x', sizeof rubbish);
    rl_guard_probed(&guard, (struct rl_slice){rubbish, sizeof rubbish}, RL_NS_PER_S);
    CHECK_STR("", guard.probation);
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S));
    rl_guard_probed(&guard, slice("A"), RL_NS_PER_S);
    CHECK(rl_guard_check_vote(&guard, RL_NS_PER_S));
}

CASE(an_admission_changes_no_other_verdict,
     "G6: an admission does not make up for a wrong clock.")
{
    begin_strict();
    rl_guard_blame_clock(&guard, RL_NS_PER_S);
    rl_guard_probed(&guard, slice("A"), RL_NS_PER_S);
    CHECK(!rl_guard_check_vote(&guard, 2 * RL_NS_PER_S));
}

CASE(a_step_of_our_own_is_forgiven,
     "G6: a node goes on voting when the step was of our own clock.")
{
    begin_strict();
    rl_guard_probed(&guard, slice("A"), RL_NS_PER_S);
    rl_guard_sample(&guard, 1700000000000000, RL_NS_PER_S, RL_NS_PER_S + 1000);
    rl_guard_sample(&guard, 1700000009000000, 2 * RL_NS_PER_S, 2 * RL_NS_PER_S + 1000);
    CHECK(guard.step_ns > 0 && !rl_guard_check_vote(&guard, 2 * RL_NS_PER_S));
    guard.step_ns = 0;
    CHECK(rl_guard_check_vote(&guard, 2 * RL_NS_PER_S));
}

CASE(switched_off_all_nodes_vote, "With the guard off every node votes.")
{
    guard = guard_of(RL_GUARD_OFF);
    facts = healthy(0);
    rl_guard_judge(&guard, &facts, 0);
    CHECK(rl_guard_check_vote(&guard, 0));
}

CASE(an_attestation_of_a_cluster,
     "E5: where the server knows its term, its attestation must name it, too.")
{
    static const char identity[] = "run:replid";
    static const char admitted[] = "run:replid 12@id";
    static const char later[] = "run:replid 13@id";

    guard = (struct rl_guard){0};
    memcpy(guard.identity, identity, sizeof identity);
    memcpy(guard.admitted, admitted, sizeof admitted);
    CHECK(rl_guard_is_greeted(&guard, slice(identity)));
    guard.attestation_names_term = true;
    CHECK(!rl_guard_is_greeted(&guard, slice(identity)));
    CHECK(!rl_guard_is_greeted(&guard, slice(later)));
    CHECK(rl_guard_is_greeted(&guard, slice(admitted)));
}

/* A server of an elected vote: the term in which it speaks, and what it says. */
static void greet(const char *term, const char *run_id, const char *marker, int64_t now_s)
{
    snprintf(facts.run_id, sizeof facts.run_id, "%s", run_id);
    snprintf(facts.marker, sizeof facts.marker, "%s", marker);
    facts.marker_max_ttl_ms = 60000;
    rl_guard_connected(&guard);
    snprintf(guard.term, sizeof guard.term, "%s", term);
    rl_guard_judge(&guard, &facts, now_s * RL_NS_PER_S);
}

CASE(a_marker_names_both, "E7: only a marker that names term and incarnation admits.")
{
    guard = guard_of(RL_GUARD_STRICT);
    greet("5@A", "r1", "r1:p1 5@A", 0);
    CHECK(rl_guard_is_voting(&guard));
    greet("7@A", "r1", "r1:p1 5@A", 0); /* it has won back undemoted */
    CHECK(!rl_guard_is_voting(&guard));
    greet("5@A", "r2", "r1:p1 5@A", 0);
    CHECK(!rl_guard_is_voting(&guard));
    greet("5@A", "r1", "r1:p1", 0);
    CHECK(!rl_guard_is_voting(&guard));
}

CASE(the_quarantine_is_longer,
     "E6: the quarantine of a term lasts for L more than that of a node.")
{
    guard = guard_of(RL_GUARD_STRICT);
    CHECK_INT(62 * RL_NS_PER_S, rl_guard_time_ns(&guard));
    greet("5@A", "r1", "", 0);
    CHECK_INT(64 * RL_NS_PER_S, rl_guard_time_ns(&guard));
    CHECK(!rl_guard_check_vote(&guard, 1000 * RL_NS_PER_S)); /* not by itself */
}

CASE(a_stamp_admits,
     "E7: a stamp that is old enough admits, a younger one says how long it takes.")
{
    guard = guard_of(RL_GUARD_STRICT);
    greet("5@A", "r1", "", 10);
    CHECK(rl_guard_wants_stamp(&guard));
    /* No grant is refused before the first answer, which may be an error. */
    CHECK(rl_guard_awaits_stamp(&guard));
    CHECK(rl_guard_may_keep(&guard, slice("r1:p1")));
    CHECK(!rl_guard_may_keep(&guard, slice("r1:p2")));
    guard.stamp_answered = true;
    CHECK(!rl_guard_may_keep(&guard, slice("r1:p1")));
    CHECK(!rl_guard_awaits_stamp(&guard));
    rl_guard_stamped(&guard, 4000, 11 * RL_NS_PER_S);
    CHECK(!rl_guard_check_vote(&guard, 15 * RL_NS_PER_S));
    CHECK_INT(15 * RL_NS_PER_S, rl_guard_ends_ns(&guard));
    rl_guard_stamped(&guard, 0, 15 * RL_NS_PER_S);
    CHECK(rl_guard_check_vote(&guard, 15 * RL_NS_PER_S));
    /* The next connection requests again. */
    greet("5@A", "r2", "r1:p1 5@A", 20);
    CHECK(!rl_guard_check_vote(&guard, 20 * RL_NS_PER_S));
    CHECK(rl_guard_awaits_stamp(&guard));
}

CASE(an_attestation_of_another_incarnation,
     "E5, E6: an attestation that names another incarnation begins the quarantine anew.")
{
    guard = guard_of(RL_GUARD_STRICT);
    greet("5@A", "r1", "r1:p1 5@A", 0);
    CHECK(!rl_guard_is_greeted(&guard, slice("r1:p2")));
    CHECK(!rl_guard_marker(&guard, slice("r1:p1 5@A"), slice("r1:p2"), 60000, RL_NS_PER_S));
    CHECK(!rl_guard_is_voting(&guard));
}

CASE(a_promoted_replica_is_young,
     "G1: how long a promoted replica is up shows nothing of what had not reached it.")
{
    facts.was_promoted = true;
    rl_guard_judge(&guard, &facts, 0);
    CHECK_INT(REDLOCK_REASON_PROMOTED, guard.reason);
    CHECK(rl_guard_wants_stamp(&guard));
    CHECK(!rl_guard_check_vote(&guard, 61 * RL_NS_PER_S));
    CHECK(
        rl_guard_check_vote(&guard, 62 * RL_NS_PER_S)); /* watched for so long by this client */
}

/* Samples a node whose clock is `offset` ahead, asked at `at` and answered after `trip`. */
static void sample(int64_t at_ns, int64_t trip_ns, int64_t offset_ns)
{
    rl_guard_sample(&guard, (at_ns + trip_ns / 2 + offset_ns) / 1000, at_ns, at_ns + trip_ns);
}

CASE(a_set_clock_is_proven, "G6: clock steps of 50 ms and more are found, in both directions.")
{
    static const int64_t steps_ms[] = {50, -50, 60000, -120000};

    for (size_t i = 0; i < sizeof steps_ms / sizeof steps_ms[0]; i++) {
        begin();
        rl_guard_judge(&guard, &facts, 0);
        for (int64_t at = 0; at < 20; at++)
            sample(at * RL_NS_PER_S, RL_NS_PER_MS / 4, 5000 * RL_NS_PER_S);
        CHECK(rl_guard_check_vote(&guard, 20 * RL_NS_PER_S));
        sample(20 * RL_NS_PER_S, RL_NS_PER_MS / 4,
               5000 * RL_NS_PER_S + steps_ms[i] * RL_NS_PER_MS);
        CHECK(guard.step_ns != 0);
        CHECK_INT(steps_ms[i] > 0, guard.step_ns > 0);
        CHECK(!rl_guard_check_vote(&guard, 20 * RL_NS_PER_S));
        rl_guard_blame_clock(&guard, 20 * RL_NS_PER_S);
        CHECK(!rl_guard_check_vote(&guard, 81 * RL_NS_PER_S));
        CHECK(rl_guard_check_vote(&guard, 83 * RL_NS_PER_S));
    }
}

CASE(slow_answers_and_drift_are_no_steps,
     "G6: delay, pause and rate error are not taken for a clock step.")
{
    int64_t at_ns = 0;

    for (int i = 0; i < 600; i++) {
        int64_t trip_ns = i % 50 == 49 ? 5 * RL_NS_PER_S : (i % 7 + 1) * RL_NS_PER_MS;

        /* The node's clock runs half a per cent fast. */
        sample(at_ns, trip_ns, at_ns / 200);
        CHECK_INT(0, guard.step_ns);
        at_ns += trip_ns + RL_NS_PER_S;
    }
}

CASE(a_slow_sample_is_no_step,
     "G6: a process stopped between reply and reading takes no clock for set.")
{
    int64_t node_ns = 5000 * RL_NS_PER_S;

    rl_guard_sample(&guard, node_ns / 1000, 0, 3 * RL_NS_PER_S);
    /* One per cent faster than ours, as is allowed. */
    node_ns += 3 * RL_NS_PER_S / 100 * 101;
    rl_guard_sample(&guard, node_ns / 1000, 3 * RL_NS_PER_S, 3 * RL_NS_PER_S + RL_NS_PER_MS);
    CHECK_INT(0, guard.step_ns);
}

CASE(findings_are_about_what_is_known,
     "G7: the warnings follow from what the node reports, and from nothing else.")
{
    struct rl_facts of_nodes[3] = {healthy(100), healthy(100), healthy(100)};
    struct rl_clock_window windows[3] = {
        {true, 0, 0, 0}, {true, 0, 0, 0}, {true, 2 * RL_NS_PER_S, 2 * RL_NS_PER_S, 0}};
    struct rl_audit_node nodes[3];

    for (int i = 0; i < 3; i++) {
        sprintf(of_nodes[i].run_id, "r%d", i);
        nodes[i] = (struct rl_audit_node){true, &of_nodes[i], &windows[i], .max_ttl_ms = 60000};
    }
    CHECK_INT(0, rl_audit_findings(nodes, 3, 0));
    CHECK_INT(RL_FINDING(SKEW), rl_audit_findings(nodes, 3, 2));
    CHECK_INT(RL_FINDING(EVEN_NUMBER), rl_audit_findings(nodes, 2, 0));
    strcpy(of_nodes[1].run_id, "r0");
    CHECK_INT(RL_FINDING(SAME_SERVER), rl_audit_findings(nodes, 3, 1));
    of_nodes[0].has_memory = true;
    of_nodes[0].maxmemory_bytes = 1;
    strcpy(of_nodes[0].maxmemory_policy, "volatile-lru");
    of_nodes[0].master = false;
    CHECK_INT(RL_FINDING(SAME_SERVER) | RL_FINDING(EVICTION) | RL_FINDING(REPLICA),
              rl_audit_findings(nodes, 3, 0));
    of_nodes[0] = (struct rl_facts){0};
    CHECK_INT(0, rl_audit_findings(nodes, 3, 0));
    nodes[0].objection = REDLOCK_REASON_OTHER_NUMBER;
    CHECK_INT(RL_FINDING(OTHER_NUMBER), rl_audit_findings(nodes, 3, 0));
    nodes[0].objection = REDLOCK_REASON_NO_SET;
    CHECK_INT(RL_FINDING(NO_SET), rl_audit_findings(nodes, 3, 0));
    nodes[0].objection = REDLOCK_REASON_SET_UNREADABLE;
    CHECK_INT(RL_FINDING(SET_UNREADABLE), rl_audit_findings(nodes, 3, 0));
    of_nodes[0].cluster = true; /* why it cannot be read */
    CHECK_INT(RL_FINDING(CLUSTER), rl_audit_findings(nodes, 3, 0));
    of_nodes[0].cluster = false;
    nodes[0].objection = REDLOCK_REASON_NONE;
    of_nodes[0].marker_max_ttl_ms = 60000;
    CHECK_INT(0, rl_audit_findings(nodes, 3, 0));
    of_nodes[0].marker_max_ttl_ms = 30000;
    CHECK_INT(RL_FINDING(MAX_TTL), rl_audit_findings(nodes, 3, 0));
}
