/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes that may not vote: which, why, for how long, and what can be done about it. */
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

static bool has_text(const redlock_report *report, const char *part)
{
    for (uint32_t i = 0; i < report->node_count; i++)
        if (strstr(report->node[i].text, part))
            return true;
    return false;
}

/* `redlock init` on nodes of another set would take them from the clients that are right. */
static bool has_other_set(const redlock_report *report)
{
    return has_text(report, "belongs to another") ||
           has_text(report, "belongs to a set of another");
}

void report_quarantine_advice(const redlock_report *report, int64_t wait_ms,
                              char advice[REPORT_ADVICE_MAX])
{
    char left[TEXT_TIME_MAX];
    if (has_other_set(report)) {
        snprintf(
            advice, REPORT_ADVICE_MAX,
            "give this client the nodes that the others have; `redlock doctor` shows which "
            "node belongs where");
        return;
    }
    if (has_text(report, "the same server")) {
        snprintf(advice, REPORT_ADVICE_MAX,
                 "give every node its own server; `redlock doctor` shows which are the same");
        return;
    }
    if (wait_ms < 0) {
        snprintf(
            advice, REPORT_ADVICE_MAX,
            "mend what the table says, or, if nothing can be held on these nodes, let them "
            "vote now: `redlock init`");
        return;
    }
    text_time(left, (wait_ms + 999) / 1000 * 1000);
    snprintf(advice, REPORT_ADVICE_MAX,
             "wait %s (-w TIME does), or, if nothing can be held on these nodes, let them vote "
             "now: `redlock init`",
             left);
}

bool report_quarantine(redlock *client, redlock_report *report, int64_t *wait_ms)
{
    int64_t waits_ms[REDLOCK_NODES_MAX];
    uint32_t guarded = 0, silent = 0;
    redlock *member = redlock_member(client, report->quorum_index);
    for (uint32_t i = 0; i < report->node_count; i++) {
        redlock_node_report *n = &report->node[i];
        redlock_node_info info = {.size = sizeof info};
        waits_ms[i] = report_may_vote(n->vote) ? 0 : INT64_MAX;
        if (redlock_node(member, i, &info) == REDLOCK_OK && info.quarantined &&
            (n->vote == REDLOCK_VOTE_GUARDED || n->vote == REDLOCK_VOTE_PENDING ||
             n->vote == REDLOCK_VOTE_NONE)) {
            n->vote = REDLOCK_VOTE_GUARDED;
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
