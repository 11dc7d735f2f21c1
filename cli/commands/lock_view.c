/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/lock_view.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/quote.h"
#include "report/holders.h"
#include "report/report.h"
#include "ui/exit.h"
#include "ui/kind.h"
#include "ui/message.h"
#include "ui/record.h"
#include "ui/table.h"
#include "ui/text.h"

#define LINE_MAX_BYTES (2 * REDLOCK_NAME_MAX + 2 * HOLDERS_TEXT_MAX + 256)

static bool all_answered(const redlock_report *report)
{
    for (uint32_t i = 0; i < report->node_count; i++) {
        int vote = report->node[i].vote;
        if (vote != REDLOCK_VOTE_TAKEN && vote != REDLOCK_VOTE_MISSING)
            return false;
    }
    return true;
}

/* ---- for people ---- */

/* On how many nodes there is a key; `exclusive`: one that keeps every other holder out. */
static uint32_t count_set(const redlock_report *report, bool exclusive)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->node_count; i++) {
        const redlock_node_report *n = &report->node[i];
        count += n->vote == REDLOCK_VOTE_TAKEN && !(exclusive && kind_words(n->kind)->holders);
    }
    return count;
}

/* Who holds it. Where each of several holders has too few nodes, it is not held, nor can
 * it be had. */
static void add_holders(char line[LINE_MAX_BYTES], const redlock_info *info,
                        const redlock_report *report, const struct lock_brief *brief)
{
    char holders[HOLDERS_TEXT_MAX];
    uint32_t taken = count_set(report, true);
    holders_text(holders, brief, (struct holders_style){0});
    if (!info->held && taken > 0 && report->node_count - taken < report->quorum)
        snprintf(holders, sizeof holders, "no holder has a majority");
    text_add(line, LINE_MAX_BYTES, ": %s", holders);
}

static void add_votes(char line[LINE_MAX_BYTES], const redlock_info *info,
                      const redlock_report *report, bool is_record)
{
    uint32_t set = info->held ? (uint32_t)info->holder.votes : count_set(report, false);
    if (set > 0 && (!info->held || set < report->node_count))
        text_add(line, LINE_MAX_BYTES, ", %son %u of %u nodes",
                 !info->held ? "though set "
                 : is_record ? "recorded "
                             : "",
                 set, report->node_count);
    if (report->quorum_name[0])
        text_add(line, LINE_MAX_BYTES, ", in quorum %s", report->quorum_name);
}

static void add_waiters(char line[LINE_MAX_BYTES], const struct lock_brief *brief)
{
    char names[HOLDERS_TEXT_MAX];
    if (brief->waiter_count == 0)
        return;
    holders_waiters(names, brief);
    text_add(line, LINE_MAX_BYTES, ", %u waiting%s%s%s", brief->waiter_count,
             *names ? " (" : "", names, *names ? ")" : "");
}

static void print_sentence(const char *name, const redlock_info *info,
                           const redlock_report *report)
{
    char line[LINE_MAX_BYTES];
    struct lock_brief brief = lock_brief_of(name, info, report_longest_ms(info, report));
    rl_quote_safe(line, 2 * REDLOCK_NAME_MAX, name);
    add_holders(line, info, report, &brief);
    add_votes(line, info, report, brief.record);
    if (info->fence > 0)
        text_add(line, LINE_MAX_BYTES, ", fence %lld", (long long)info->fence);
    add_waiters(line, &brief);
    bool coloured = text_colours(isatty(STDOUT_FILENO));
    if (brief.disagree)
        text_add(line, LINE_MAX_BYTES, ", %snodes disagree%s",
                 coloured ? text_colour_code(TEXT_BAD) : "",
                 coloured ? text_colour_code(TEXT_PLAIN) : "");
    text_wrap(stdout, line, 0, 2, text_line_columns(STDOUT_FILENO));
    putchar('\n');
}

/* Of a kind that several processes hold at a time. */
static void print_holders(const redlock_info *info)
{
    static const char *const heading[] = {"HOLDER", "HELD FOR", "LEFT", NULL};
    struct table t;
    table_begin(&t, heading);
    for (uint32_t i = 0; i < info->holders_shown; i++) {
        const redlock_holder *h = &info->holders[i];
        char name[HOLDERS_NAME_MAX], held[TEXT_TIME_MAX], left[TEXT_TIME_MAX];
        char shown[TEXT_TIME_MAX + 16];
        holders_name(name, h->label, h->value);
        text_time(held, h->held_ms);
        text_time(left, h->remaining_ms);
        snprintf(shown, sizeof shown, "%s%s",
                 h->held_ms >= 0 && h->held_at_least ? "at least " : "", held);
        table_row(&t);
        table_set(&t, 0, TEXT_PLAIN, name);
        table_set(&t, 1, TEXT_PLAIN, shown);
        table_set(&t, 2, TEXT_PLAIN, left);
    }
    table_print(&t, "  ", stdout);
    if (info->holder_count > info->holders_shown)
        printf("  and %u more\n", info->holder_count - info->holders_shown);
}

/* From the head of the queue on. */
static void print_waiters(const redlock_info *info)
{
    static const char *const heading[] = {"WAITER", "WAITS FOR", NULL};
    struct table t;
    table_begin(&t, heading);
    for (uint32_t i = 0; i < info->waiters_shown; i++) {
        const redlock_waiter *w = &info->waiters[i];
        char name[HOLDERS_NAME_MAX], waited[TEXT_TIME_MAX];
        holders_name(name, w->label, w->name);
        text_time(waited, w->waited_ms);
        table_row(&t);
        table_set(&t, 0, TEXT_PLAIN, name);
        table_set(&t, 1, TEXT_PLAIN, waited);
    }
    table_print(&t, "  ", stdout);
    if (info->waiter_count > info->waiters_shown)
        printf("  and %u more\n", info->waiter_count - info->waiters_shown);
}

void lock_view_text(const struct settings *s, const char *name, const redlock_info *info,
                    const redlock_report *report)
{
    print_sentence(name, info, report);
    bool differs = info->disagree && !record_is(name, info);
    if (s->verbose || differs || !all_answered(report))
        report_table(report, stdout);
    if (s->verbose && info->held && kind_words(info->kind)->holders)
        print_holders(info);
    if (s->verbose && info->waiters_shown > 0)
        print_waiters(info);
}

int lock_view_failure(const struct settings *s, const struct inquiry_answer *answer)
{
    struct failure f = {
        .name = answer->name,
        .error = answer->error,
        .status = exit_status_of(answer->error),
        .text = answer->detail,
        .report = answer->report,
    };
    return report_failure(s, &f);
}

/* The next node from *at on that is in quarantine; false when there is none left. */
static bool next_quarantined(redlock *client, size_t *at, redlock_node_info *info)
{
    while (client && redlock_node(client, (*at)++, info) == REDLOCK_OK)
        if (info->quarantined)
            return true;
    return false;
}

void lock_view_quarantine(redlock *client)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    char address[REDLOCK_ADDRESS_MAX], line[REDLOCK_ADDRESS_MAX + REDLOCK_TEXT_MAX + 32];
    for (size_t i = 0; next_quarantined(client, &i, &info);) {
        rl_quote_safe(address, sizeof address, info.address);
        snprintf(line, sizeof line, "in quarantine: %s (%s)", address, info.text);
        text_wrap(stdout, line, 0, 2, text_line_columns(STDOUT_FILENO));
        putchar('\n');
    }
}

/* ---- for programs ---- */

static void json_quarantine(redlock *client, struct rl_json *j)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    rl_json_array(j, "quarantine");
    for (size_t i = 0; next_quarantined(client, &i, &info);) {
        rl_json_object(j, NULL);
        rl_json_string(j, "address", info.address);
        rl_json_string(j, "text", info.text);
        rl_json_known(j, "quarantine_ms", info.quarantine_ms);
        rl_json_end_object(j);
    }
    rl_json_end_array(j);
}

void lock_view_json(redlock *client, const char *name, const redlock_info *info,
                    const redlock_report *report)
{
    struct rl_json j = {.out = stdout};
    struct lock_brief brief = lock_brief_of(name, info, report_longest_ms(info, report));
    message_json_success(&j);
    rl_json_string(&j, "name", name);
    lock_brief_json(&brief, &j);
    report_json_found(report, &j);
    json_quarantine(client, &j);
    rl_json_finish(&j);
}
