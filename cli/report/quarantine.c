/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/quarantine.h"

#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "ui/text.h"

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

static bool report_has_reason(const redlock_report *report, int reason)
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
    if (wait_ms < 0 && report_has_reason(report, REDLOCK_REASON_NEW_TERM)) {
        snprintf(
            advice, ADVICE_MAX,
            "wait (-w TIME does; `redlock nodes` says how long): nothing that the old master "
            "granted may be held any more");
        return;
    }
    if (wait_ms < 0) {
        snprintf(
            advice, ADVICE_MAX,
            "mend what the table says, or, if nothing can be held on these nodes, let them "
            "vote now: `redlock init`");
        return;
    }
    text_time(left, (wait_ms + 999) / 1000 * 1000);
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
