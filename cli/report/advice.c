/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "ui/subcommand.h"
#include "ui/text.h"

#define RIGHTS                                                                                 \
    "give this user the missing right on the servers (ACL SETUSER), or on the sentinels if "   \
    "these refuse it; redlock-nodes(7) lists all rights, and `redlock doctor` names what is "  \
    "missing"
#define ADDRESSES                                                                              \
    "write the addresses as the table shows: rediss:// is with TLS, redis:// without; for a "  \
    "Sentinel group sentinels:// and sentinel://, for a cluster clusters:// and cluster://"
#define OTHER_NODES                                                                            \
    "give this client the nodes that the others have; `redlock doctor` shows which node "      \
    "belongs where"
#define PROTECTED                                                                              \
    "set requirepass or an ACL user on the servers, then give the password here: "             \
    "--password-file FILE"
#define PASSWORD                                                                               \
    "check the user (--user or URL) and the password (--password-file, REDLOCK_PASSWORD or "   \
    "URL)"
#define AUTHORITY                                                                              \
    "check the certificates of the nodes, and which authority is trusted (--tls-ca)"
#define NAME                                                                                   \
    "check the certificates of the nodes, and the name to verify (--tls-name, or the URL's)"
#define SENTINELS                                                                              \
    "start the sentinels, or the nodes of the cluster, and check their addresses in the URL: " \
    "`redlock nodes -v` shows what each of them replies"
#define SENTINEL_LOGIN                                                                         \
    "give user and password of the sentinels, which are not those of the servers: "            \
    "--sentinel-user, --sentinel-password-file FILE or REDLOCK_SENTINEL_PASSWORD"
#define CERTIFICATE "check the certificates of the nodes: they are expired, or of no use here"
#define OWN_CERTIFICATE                                                                        \
    "check the certificate of this client and its key (--tls-cert, --tls-key)"

/*
 * What to do about a node, by the library's reason for which it does not vote: when an
 * operation failed for it, NULL if time alone removes it, or the node is away; and when an
 * audit found it, NULL where the library's remedy is enough. Of several nodes the first of
 * these rows that one has counts.
 */
static const struct {
    int reason;
    const char *advice, *remedy;
} rows[] = {
    {REDLOCK_REASON_CLUSTER,
     "these are nodes of a Redis Cluster: name it as a whole, cluster://host1+host2+host3, or "
     "run three or five independent servers (cluster-enabled no) and name those",
     NULL},
    {REDLOCK_REASON_SENTINEL,
     "name the group instead, by all its sentinels: sentinel://host1+host2+host3/group", NULL},
    {REDLOCK_REASON_NO_GROUP,
     "check the name of the group in the URL: it is the one of `sentinel monitor` in "
     "sentinel.conf",
     NULL},
    {REDLOCK_REASON_NO_SENTINEL,
     "name the sentinels in the URL, not the servers; their port is 26379 by default", NULL},
    {REDLOCK_REASON_SENTINEL_LOGIN, SENTINEL_LOGIN, SENTINEL_LOGIN},
    {REDLOCK_REASON_SENTINEL_TWICE,
     "name each sentinel once, and each node of a cluster; those that were copied with their "
     "file need an id of their own: remove `sentinel myid` from the copy and restart it",
     NULL},
    {REDLOCK_REASON_ELECTORS,
     "start all sentinels, or nodes of the cluster, of the URL, and give all clients the same "
     "URL; after a change of these, when nothing is held: `redlock init`",
     NULL},
    {REDLOCK_REASON_NO_TERM, SENTINELS, SENTINELS},
    {REDLOCK_REASON_NOT_VOUCHED, SENTINELS, SENTINELS},
    {REDLOCK_REASON_VERSION,
     "run one version of redlock everywhere; after an upgrade of all clients, when nothing is "
     "held: `redlock init`",
     NULL},
    {REDLOCK_REASON_NO_CLUSTER,
     "name nodes of the cluster themselves, masters or replicas, and no proxy; give the user "
     "+cluster|nodes, +cluster|info and +cluster|myid",
     NULL},
    {REDLOCK_REASON_SLOT,
     "wait until the slot has been moved, or its master replaced; let the others go on "
     "meanwhile: cluster-require-full-coverage no",
     NULL},
    {REDLOCK_REASON_SET_UNREADABLE, RIGHTS, NULL},
    {REDLOCK_REASON_SAME_SERVER,
     "give every node a server of its own: one server counts once, however often it is named",
     NULL},
    {REDLOCK_REASON_INFO,
     "allow +info for this user on the nodes, which `redlock init` needs as well; without it "
     "every process has to watch them for so long before its first lock (-w TIME)",
     NULL},
    {REDLOCK_REASON_PROTECTED_MODE, PROTECTED, PROTECTED},
    {REDLOCK_REASON_RIGHTS, RIGHTS, NULL},
    /* On nodes of another set, init would take them from the clients that are right. */
    {REDLOCK_REASON_OTHER_SET, OTHER_NODES, NULL},
    {REDLOCK_REASON_OTHER_NUMBER, OTHER_NODES, NULL},
    {REDLOCK_REASON_OTHER_QUORUM, OTHER_NODES, NULL},
    {REDLOCK_REASON_NO_SET, "after a change of the nodes, `redlock init`; else " OTHER_NODES,
     NULL},
    {REDLOCK_REASON_NO_SETS,
     "when nothing that was granted before can be held any more: `redlock init`", NULL},
    {REDLOCK_REASON_SET_PENDING, "do the `redlock init` again that has not finished on them",
     NULL},
    {REDLOCK_REASON_MAX_TTL,
     "ask for a shorter TTL (-t), or, when nothing is held, let the nodes allow a longer one: "
     "`redlock init --max-ttl TTL`",
     "give all clients the same --max-ttl, or after a change, when nothing is held: redlock "
     "init"},
    /* As votes these are of the profile correctness alone. */
    {REDLOCK_REASON_EVICTION, "on the servers: CONFIG SET maxmemory-policy noeviction", NULL},
    {REDLOCK_REASON_FAILOVER,
     "use servers without replicas, or name the Sentinel group: "
     "sentinel://host1+host2+host3/group",
     NULL},
    {REDLOCK_REASON_NO_SETS, "when nothing is held on these nodes: `redlock init`", NULL},
    {REDLOCK_REASON_SET_BY_NAME, "when nothing is held on it: `redlock init`", NULL},
    {REDLOCK_REASON_SKEW, "run NTP on the nodes: `redlock nodes` shows their clocks", NULL},
    {REDLOCK_REASON_COUNTER, "`redlock doctor` has more of it, under fencing", NULL},
    {REDLOCK_REASON_TLS_PORT, ADDRESSES, NULL},
    {REDLOCK_REASON_PLAIN_PORT, ADDRESSES, NULL},
    {REDLOCK_REASON_AUTHORITY, AUTHORITY, AUTHORITY},
    {REDLOCK_REASON_SERVER_NAME, NAME, NAME},
    {REDLOCK_REASON_CERTIFICATE, CERTIFICATE, CERTIFICATE},
    {REDLOCK_REASON_CLIENT_CERTIFICATE, OWN_CERTIFICATE, OWN_CERTIFICATE},
    {REDLOCK_REASON_REPLICA,
     "a replica grants nothing: name its master, or make it one (REPLICAOF NO ONE)", NULL},
    {REDLOCK_REASON_UNRESOLVED,
     "check the names of the nodes, and how this machine looks them up", NULL},
    {REDLOCK_REASON_PASSWORD_NEEDED, NULL, PASSWORD},
    {REDLOCK_REASON_WRONG_PASSWORD, NULL, PASSWORD},
    {REDLOCK_REASON_LATE, NULL,
     "raise --node-timeout, and the TTL (-t) to four times that or more, or use a server that "
     "is "
     "nearer"},
    {REDLOCK_REASON_SILENT, NULL,
     "start the server, check its address and the network, or if it is only slow raise "
     "--node-timeout"},
};
#define ROWS (sizeof rows / sizeof rows[0])

const char *advice_by_reason(const redlock_report *report, bool answered)
{
    for (size_t k = 0; k < ROWS; k++) {
        for (uint32_t i = 0; i < report->node_count && rows[k].advice; i++) {
            const redlock_node_report *n = &report->node[i];
            if (n->reason == rows[k].reason && (!answered || report_is_answer(n->vote)))
                return rows[k].advice;
        }
    }
    return NULL;
}

const char *advice_for_check(const redlock_check *check, char out[ADVICE_MAX])
{
    bool points_elsewhere =
        strcmp(check->name, "guard") == 0 && check->reason != REDLOCK_REASON_YOUNG &&
        check->reason != REDLOCK_REASON_PROMOTED && check->reason != REDLOCK_REASON_NEW_TERM &&
        check->reason != REDLOCK_REASON_NOT_ADMITTED;
    for (size_t k = 0; k < ROWS; k++) {
        if (rows[k].reason == check->reason && rows[k].remedy)
            return rows[k].remedy;
    }
    if (points_elsewhere || check->reason == REDLOCK_REASON_SET_UNREADABLE)
        return check->remedy;
    snprintf(out, ADVICE_MAX, "%s%s", check->remedy, subcommand_for(check->reason));
    return out;
}

static const char *of_nodes(int error)
{
    switch (error) {
    case REDLOCK_BUSY:
        return "wait for it with -w TIME, or see who holds it with `redlock status NAME`";
    case REDLOCK_TIMEOUT:
        return "wait longer with -w TIME, or see who holds it with `redlock status NAME`";
    case REDLOCK_NOQUORUM:
        return "bring back enough nodes for a majority; `redlock nodes` shows their state";
    case REDLOCK_GUARDED:
        return "wait as long as the table has it, or, if nothing is held on these nodes, let "
               "them vote now: `redlock init`";
    case REDLOCK_AUTH:
        return PASSWORD;
    case REDLOCK_PROTO:
        return "check that these addresses are Redis or Valkey servers, and use rediss:// "
               "where they speak TLS";
    case REDLOCK_LOST:
        return "check what it protected: another may have been at work meanwhile";
    case REDLOCK_EXPIRED:
        return "ask for a longer time with -t TTL, or renew it earlier";
    case REDLOCK_NOMEM:
    case REDLOCK_SYSTEM:
        return "free some memory or raise the limit that the message names";
    default:
        return NULL;
    }
}

/* Where a redlockd was used: what is different then. NULL: nothing is. */
static const char *of_service(int error)
{
    switch (error) {
    case REDLOCK_NOQUORUM:
    case REDLOCK_GUARDED:
    case REDLOCK_PROTO:
        return "is redlockd running, and are its nodes? Its /readyz?verbose has the reason";
    case REDLOCK_AUTH:
        return "check the token (--token-file, REDLOCK_TOKEN_FILE), and the rules of the "
               "service";
    default:
        return NULL;
    }
}

const char *advice_for_late_nodes(const redlock_report *report, char out[ADVICE_MAX])
{
    int32_t latest_us = -1;
    for (uint32_t i = 0; i < report->node_count; i++) {
        const redlock_node_report *n = &report->node[i];
        if (n->vote == REDLOCK_VOTE_SILENT && n->rtt_us > latest_us)
            latest_us = n->rtt_us;
    }
    if (latest_us < 0)
        return NULL;
    /* Room for jitter, and a round number. */
    snprintf(out, ADVICE_MAX,
             "the nodes answer, but too late: give them longer, as with --node-timeout %dms",
             (latest_us / 1000 * 2 / 50 + 1) * 50);
    return out;
}

/*
 * A node that was sent no password, beside one that did not refuse: it is in the other's URL.
 */
static const char *for_refusal(const redlock_report *report)
{
    bool on_some = false, lacking = false;
    for (uint32_t i = 0; report && i < report->node_count; i++) {
        on_some = on_some || report->node[i].vote != REDLOCK_VOTE_AUTH;
        lacking = lacking || report->node[i].reason == REDLOCK_REASON_PASSWORD_NEEDED;
    }
    return on_some && lacking
               ? "give the password for every node: a password in one URL is for that node "
                 "alone, --password-file FILE is for all"
               : of_nodes(REDLOCK_AUTH);
}

/* Bringing them back helps only if they are away. */
static const char *for_silence(const redlock_report *report)
{
    return report_has_vote(report, REDLOCK_VOTE_SILENT)
               ? "bring back enough nodes for a majority, or, if they are only slow, which "
                 "`redlock nodes` shows, give them longer with --node-timeout"
               : of_nodes(REDLOCK_NOQUORUM);
}

const char *advice_for(int error, const redlock_report *report, bool service,
                       char out[ADVICE_MAX])
{
    const char *advice = service ? of_service(error) : NULL;
    bool of_a_node = report && !service &&
                     (error == REDLOCK_NOQUORUM || error == REDLOCK_AUTH ||
                      error == REDLOCK_PROTO || error == REDLOCK_INVAL);
    if (of_a_node && error == REDLOCK_NOQUORUM)
        advice = advice_for_late_nodes(report, out);
    if (of_a_node && !advice)
        advice = advice_by_reason(report, false);
    if (advice)
        return advice;
    if (error == REDLOCK_AUTH && !service)
        return for_refusal(report);
    return of_a_node && error == REDLOCK_NOQUORUM ? for_silence(report) : of_nodes(error);
}

static int compare_ms(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Until that many nodes may vote; -1 when waiting alone does not bring them. */
static int64_t quorum_wait_ms(int64_t *waits_ms, size_t count, size_t quorum)
{
    qsort(waits_ms, count, sizeof *waits_ms, compare_ms);
    if (quorum == 0 || quorum > count || waits_ms[quorum - 1] == INT64_MAX)
        return -1;
    return waits_ms[quorum - 1];
}

static bool has_reason(const redlock_report *report, int reason)
{
    for (uint32_t i = 0; i < report->node_count; i++) {
        if (report->node[i].reason == reason)
            return true;
    }
    return false;
}

void quarantine_advice(const redlock_report *report, int64_t wait_ms, char advice[ADVICE_MAX])
{
    char left[TEXT_TIME_MAX];
    const char *remedy = advice_by_reason(report, true);
    if (remedy) {
        snprintf(advice, ADVICE_MAX, "%s", remedy);
        return;
    }
    if (wait_ms < 0 && has_reason(report, REDLOCK_REASON_NEW_TERM)) {
        snprintf(
            advice, ADVICE_MAX,
            "wait (-w TIME does; `redlock nodes` shows how long): nothing that the old master "
            "granted may be held any more");
        return;
    }
    if (wait_ms < 0) {
        snprintf(
            advice, ADVICE_MAX,
            "mend what the table shows, or, if nothing can be held on these nodes, let them "
            "vote now: `redlock init`");
        return;
    }
    text_time_up(left, wait_ms);
    snprintf(advice, ADVICE_MAX,
             "wait %s (-w TIME does): a server that has just started may have forgotten locks "
             "that are still held. New servers, with nothing held on them, vote at once after "
             "`redlock init --yes`",
             left);
}

bool quarantine_blocks(redlock *client, redlock_report *report, int64_t *wait_ms)
{
    int64_t waits_ms[REDLOCK_NODES_MAX];
    uint32_t guarded = 0, silent = 0;
    redlock *member = redlock_member(client, report->quorum_index);
    for (uint32_t i = 0; i < report->node_count; i++) {
        redlock_node_report *n = &report->node[i];
        redlock_node_info info = REDLOCK_NODE_INFO();
        waits_ms[i] = report_may_vote(n->vote) ? 0 : INT64_MAX;
        if (redlock_node(member, i, &info) == REDLOCK_OK && info.quarantined &&
            (n->vote == REDLOCK_VOTE_GUARDED || n->vote == REDLOCK_VOTE_PENDING ||
             n->vote == REDLOCK_VOTE_NONE)) {
            n->vote = REDLOCK_VOTE_GUARDED;
            n->reason = info.reason;
            memcpy(n->text, info.text, sizeof n->text);
            waits_ms[i] = info.quarantine_ms >= 0 ? info.quarantine_ms : INT64_MAX;
        }
        guarded += n->vote == REDLOCK_VOTE_GUARDED;
        silent += !report_may_vote(n->vote) && n->vote != REDLOCK_VOTE_GUARDED;
    }
    if (guarded == 0 || report->node_count - guarded - silent >= report->quorum)
        return false;
    *wait_ms = quorum_wait_ms(waits_ms, report->node_count, report->quorum);
    return true;
}
