/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/lock_view.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "report/holders.h"
#include "report/report.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/kind.h"
#include "ui/message.h"
#include "ui/text.h"

static bool all_answered(const redlock_report *report)
{
    for (uint32_t i = 0; i < report->node_count; i++) {
        int vote = report->node[i].vote;
        if (vote != REDLOCK_VOTE_HELD && vote != REDLOCK_VOTE_MISSING)
            return false;
    }
    return true;
}

/* ---- for people ---- */

static void print_votes(const redlock_info *info, const redlock_report *report)
{
    if (info->votes > 0 && (uint32_t)info->votes < report->node_count)
        printf(", %son %d of %u nodes", info->held ? "" : "though set ", info->votes,
               report->node_count);
    if (report->quorum_name[0])
        printf(", in quorum %s", report->quorum_name);
}

static void print_sentence(const char *name, const redlock_info *info,
                           const redlock_report *report)
{
    char shown[2 * REDLOCK_NAME_MAX], holders[HOLDERS_TEXT_MAX];
    text_safe(shown, sizeof shown, name);
    holders_text(holders, info, report_longest_ms(info, report), (struct holders_style){0});
    printf("%s: %s", shown, holders);
    print_votes(info, report);
    if (info->fence > 0)
        printf(", fence %lld", (long long)info->fence);
    if (info->waiters > 0) {
        holders_name(holders, info->head, 0);
        printf(", %u waiting (first: %s)", info->waiters, holders);
    }
    bool coloured = text_colours(isatty(STDOUT_FILENO));
    if (info->disagree)
        printf(", %snodes disagree%s", coloured ? text_colour_code(TEXT_BAD) : "",
               coloured ? text_colour_code(TEXT_PLAIN) : "");
    putchar('\n');
}

void lock_view_text(const struct settings *s, const char *name, const redlock_info *info,
                    const redlock_report *report)
{
    print_sentence(name, info, report);
    if (s->verbose || info->disagree || !all_answered(report))
        report_table(report, stdout);
}

int lock_view_failure(const struct settings *s, const char *name, int error,
                      const redlock_report *report)
{
    char detail[512];
    snprintf(detail, sizeof detail, "%s", redlock_detail());
    struct failure f = {
        .name = name,
        .error = error,
        .status = exit_status_of(error),
        .text = detail,
        .report = report,
    };
    return report_failure(s, &f);
}

/* The next node from *at on that is in quarantine; false when there is none left. */
static bool next_quarantined(redlock *client, size_t *at, redlock_node_info *info)
{
    while (redlock_node(client, (*at)++, info) == REDLOCK_OK)
        if (info->quarantined)
            return true;
    return false;
}

void lock_view_quarantine(redlock *client)
{
    redlock_node_info info = {.size = sizeof info};
    char address[REDLOCK_ADDRESS_MAX], line[REDLOCK_ADDRESS_MAX + REDLOCK_TEXT_MAX + 32];
    size_t columns = isatty(STDOUT_FILENO) ? text_columns(STDOUT_FILENO) : SIZE_MAX;
    for (size_t i = 0; next_quarantined(client, &i, &info);) {
        text_safe(address, sizeof address, info.address);
        snprintf(line, sizeof line, "in quarantine: %s (%s)", address, info.text);
        text_wrap(stdout, line, 0, 2, columns);
        putchar('\n');
    }
}

/* ---- for programs ---- */

static void json_quarantine(redlock *client, struct json *j)
{
    redlock_node_info info = {.size = sizeof info};
    json_array(j, "quarantine");
    for (size_t i = 0; next_quarantined(client, &i, &info);) {
        json_object(j, NULL);
        json_string(j, "address", info.address);
        json_string(j, "text", info.text);
        json_known(j, "left_ms", info.quarantine_ms);
        json_end_object(j);
    }
    json_end_array(j);
}

void lock_view_json(redlock *client, const char *name, const redlock_info *info,
                    const redlock_report *report)
{
    struct json j = {.out = stdout};
    char holder[TEXT_HOLDER_MAX], head[TEXT_HOLDER_MAX], owner[TEXT_OWNER_MAX];
    text_holder(holder, info->holder);
    text_holder(head, info->head);
    text_owner(owner, info->owner);
    message_json_success(&j);
    json_string(&j, "name", name);
    json_bool(&j, "held", info->held);
    json_string(&j, "kind", info->kind < 0 ? NULL : redlock_kind_text(info->kind));
    json_integer(&j, "votes", info->votes);
    json_string(&j, "holder", info->holder[0] ? holder : NULL);
    json_integer(&j, "holders", info->holder_count);
    json_string(&j, "owner", info->owner[0] ? owner : NULL);
    json_known(&j, "slots", kind_words(info->kind)->has_slots ? (int64_t)info->slots : -1);
    json_known(&j, "ttl_ms", report_longest_ms(info, report));
    json_known(&j, "fence", info->fence > 0 ? info->fence : -1);
    json_integer(&j, "waiters", info->waiters);
    json_string(&j, "head", info->head[0] ? head : NULL);
    json_bool(&j, "disagree", info->disagree);
    report_json_found(report, &j);
    json_quarantine(client, &j);
    json_finish(&j);
}
