/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/advice.h"

#include <stdio.h>

#include "report/report.h"

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
        return "wait as long as the table says, or, if nothing can be held on these nodes, let "
               "them vote now: `redlock init`";
    case REDLOCK_AUTH:
        return "check the user (--user or URL), the password (--password-file, REDLOCK_PASSWORD "
               "or URL) and the user's rights on the servers";
    case REDLOCK_PROTO:
        return "check that these addresses are Redis or Valkey servers, and use rediss:// where "
               "they speak TLS";
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

/* Where a redlockd was asked: what is different then. NULL: nothing is. */
static const char *of_service(int error)
{
    switch (error) {
    case REDLOCK_NOQUORUM:
    case REDLOCK_GUARDED:
    case REDLOCK_PROTO:
        return "is redlockd running, and are its nodes? Its /readyz?verbose says";
    case REDLOCK_AUTH:
        return "check the token (--token-file, REDLOCK_TOKEN_FILE), and the rules of the service";
    default:
        return NULL;
    }
}

const char *advice_usual(int error, bool service)
{
    const char *advice = service ? of_service(error) : NULL;
    return advice ? advice : of_nodes(error);
}

const char *advice_for_late_nodes(const redlock_report *report, char out[ADVICE_MAX])
{
    int32_t latest_us = -1;
    for (uint32_t i = 0; i < report->node_count; i++) {
        const redlock_node_report *n = &report->node[i];
        if (n->vote == REDLOCK_VOTE_TIMEDOUT && n->rtt_us > latest_us)
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

const char *advice_without_quorum(const redlock_report *report, char late[ADVICE_MAX])
{
    if (advice_for_late_nodes(report, late))
        return late;
    if (report_has_word(report, "rediss://") || report_has_word(report, "redis://"))
        return "write the addresses as the table says: rediss:// is with TLS, redis:// without";
    if (report_has_word(report, "certificate"))
        return "check the certificates of the nodes, and which authority is trusted (--tls-ca)";
    if (report_has_vote(report, REDLOCK_VOTE_READONLY))
        return "a replica grants nothing: name its master, or make it one (REPLICAOF NO ONE)";
    if (report_has_vote(report, REDLOCK_VOTE_TIMEDOUT))
        return "bring back enough nodes for a majority, or, if they are only slow, which `redlock "
               "nodes` shows, give them longer with --node-timeout";
    return of_nodes(REDLOCK_NOQUORUM);
}
