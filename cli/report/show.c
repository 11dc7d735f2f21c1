/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/quote.h"
#include "base/time.h"
#include "report/report.h"
#include "ui/kind.h"
#include "ui/message.h"
#include "ui/record.h"

#define NAMES_SHOWN 3 /* of several holders or waiters in one line */
#define LINE_MAX_BYTES (2 * REDLOCK_NAME_MAX + 2 * SHOW_TEXT_MAX + 256)

/* Its last holder, on the node that keeps it longest. */
static int64_t longest_ms(const redlock_info *info, const redlock_report *report)
{
    int64_t longest = -1;
    if (!kind_words(info->kind)->holders || !report)
        return info->holder.remaining_ms;
    for (uint32_t i = 0; i < report->node_count; i++) {
        const redlock_node_report *n = &report->node[i];
        if (n->vote == REDLOCK_VOTE_TAKEN && n->key_remaining_ms > longest)
            longest = n->key_remaining_ms;
    }
    return longest;
}

struct snapshot snapshot_of(const char *name, const redlock_info *info,
                            const redlock_report *report)
{
    bool record = record_is(name, info);
    struct snapshot s = {
        .name = name,
        .report = report,
        .held = info->held,
        .disagree = info->disagree && !record,
        .record = record,
        .kind = info->kind,
        .votes = info->holder.votes,
        .holder_count = info->holder_count,
        .slots = info->slots,
        .waiter_count = info->waiter_count,
        .left_ms = longest_ms(info, report),
        .fence = info->fence,
        .holder = info->holders,
        .waiter = info->waiters,
        .shown_holders = info->holders_shown,
        .shown_waiters = info->waiters_shown,
    };
    memcpy(s.value, info->holder.value, sizeof s.value);
    memcpy(s.owner, info->owner, sizeof s.owner);
    return s;
}

struct snapshot snapshot_of_holder(const char *name, const redlock_holder *holder)
{
    return (struct snapshot){.name = name,
                             .held = true,
                             .kind = -1,
                             .left_ms = holder->remaining_ms,
                             .holder = holder,
                             .shown_holders = 1};
}

bool snapshot_copy(struct snapshot *out, const struct snapshot *s)
{
    size_t holders = s->shown_holders * sizeof *s->holder;
    size_t waiters = s->shown_waiters * sizeof *s->waiter;
    char *memory = malloc(holders + waiters + 1);
    if (!memory)
        return false;
    memcpy(memory, s->holder, holders);
    memcpy(memory + holders, s->waiter, waiters);
    *out = *s;
    out->detail = NULL;
    out->report = NULL;
    out->holder = (const redlock_holder *)memory;
    out->waiter = (const redlock_waiter *)(memory + holders);
    out->owned = memory;
    return true;
}

void snapshot_free(struct snapshot *s)
{
    free(s->owned);
    *s = (struct snapshot){0};
}

const redlock_holder *snapshot_longest(const struct snapshot *s)
{
    const redlock_holder *longest = NULL;
    for (uint32_t i = 0; i < s->shown_holders && s->held; i++) {
        if (!longest || s->holder[i].held_ms > longest->held_ms)
            longest = &s->holder[i];
    }
    return longest;
}

void show_name(char out[SHOW_NAME_MAX], const char *label, const char *value)
{
    if (label[0])
        rl_quote_safe(out, SHOW_NAME_MAX, label);
    else
        text_holder(out, value);
}

static void add_name(char out[SHOW_TEXT_MAX], const char *label, const char *value,
                     size_t columns)
{
    char name[SHOW_NAME_MAX], cut[4 * SHOW_NAME_MAX + 4];
    show_name(name, label, value);
    if (columns > 0 && text_width(name) > columns)
        text_fit(cut, sizeof cut, name, columns);
    else
        memcpy(cut, name, sizeof name);
    text_add(out, SHOW_TEXT_MAX, "%s", cut);
}

/* "a, b, c and 4 more" */
static void add_names(char out[SHOW_TEXT_MAX], const struct snapshot *s, bool waiters,
                      size_t columns)
{
    uint32_t count = waiters ? s->waiter_count : s->holder_count;
    uint32_t there = waiters ? s->shown_waiters : s->shown_holders;
    uint32_t shown = there < NAMES_SHOWN ? there : NAMES_SHOWN;
    for (uint32_t i = 0; i < shown; i++) {
        text_add(out, SHOW_TEXT_MAX, "%s", i ? ", " : "");
        if (waiters)
            add_name(out, s->waiter[i].label, s->waiter[i].name, columns);
        else
            add_name(out, s->holder[i].label, s->holder[i].value, columns);
    }
    if (count > shown && shown > 0)
        text_add(out, SHOW_TEXT_MAX, " and %u more", count - shown);
}

void show_waiters(char out[SHOW_TEXT_MAX], const struct snapshot *s)
{
    out[0] = '\0';
    add_names(out, s, true, 0);
}

/* The only holder, or the owner's first hold. */
static void add_one(char out[SHOW_TEXT_MAX], const struct snapshot *s, size_t columns)
{
    if (s->shown_holders > 0)
        add_name(out, s->holder[0].label, s->holder[0].value, columns);
    else
        add_name(out, "", s->value, columns);
}

/* "held by 2 readers (a, b)", or for a cell "2 readers: a, b" */
static void add_several(char out[SHOW_TEXT_MAX], const struct snapshot *s, bool cell,
                        size_t columns)
{
    const struct kind_words *words = kind_words(s->kind);
    if (words->has_slots)
        text_add(out, SHOW_TEXT_MAX, "%u of %u%s", s->holder_count, s->slots,
                 cell ? "" : " slots taken");
    else
        text_add(out, SHOW_TEXT_MAX, "%s%u %s%s", cell ? "" : "held by ", s->holder_count,
                 words->holders, s->holder_count == 1 ? "" : "s");
    if (s->shown_holders == 0)
        return;
    text_add(out, SHOW_TEXT_MAX, "%s", cell ? ": " : " (");
    add_names(out, s, false, columns);
    text_add(out, SHOW_TEXT_MAX, "%s", cell ? "" : ")");
}

static void add_who(char out[SHOW_TEXT_MAX], const struct snapshot *s, size_t columns)
{
    char owner[TEXT_OWNER_MAX];
    if (kind_words(s->kind)->holders) {
        add_several(out, s, false, columns);
    } else {
        text_add(out, SHOW_TEXT_MAX, "held by ");
        add_one(out, s, columns);
    }
    /* With a label the owner, which is usually made up, adds nothing. */
    if (s->owner[0] && !(s->shown_holders > 0 && s->holder[0].label[0])) {
        text_owner(owner, s->owner);
        text_add(out, SHOW_TEXT_MAX, ", owner %s", owner);
    }
    if (s->owner[0] && s->holder_count > 1)
        text_add(out, SHOW_TEXT_MAX, ", %u times", s->holder_count);
}

/* "ran 20 min ago, by a; may run again in 22 h 40 min" */
static void add_run(char out[SHOW_TEXT_MAX], const struct snapshot *s, struct show_style style)
{
    char time[TEXT_TIME_MAX];
    text_add(out, SHOW_TEXT_MAX, "ran");
    if (s->shown_holders > 0 && s->holder[0].held_ms >= 0 && !style.brief) {
        text_time(time, s->holder[0].held_ms);
        text_add(out, SHOW_TEXT_MAX, " %s%s ago", s->holder[0].held_at_least ? "at least " : "",
                 time);
    }
    text_add(out, SHOW_TEXT_MAX, ", by ");
    add_one(out, s, style.name_columns);
    if (s->left_ms >= 0) {
        text_time(time, s->left_ms);
        text_add(out, SHOW_TEXT_MAX, "; may run again in %s", time);
    }
}

void show_holders(char out[SHOW_TEXT_MAX], const struct snapshot *s, struct show_style style)
{
    char time[TEXT_TIME_MAX];
    bool several = kind_words(s->kind)->holders && s->holder_count > 1;
    const redlock_holder *one = kind_words(s->kind)->holders ? snapshot_longest(s)
                                : s->shown_holders > 0       ? &s->holder[0]
                                                             : NULL;
    snprintf(out, SHOW_TEXT_MAX, "%s", s->held ? "" : "free");
    if (s->held && s->record)
        add_run(out, s, style);
    if (!s->held || s->record)
        return;
    add_who(out, s, style.name_columns);
    if (one && one->held_ms >= 0 && !style.brief) {
        text_time(time, one->held_ms);
        text_add(out, SHOW_TEXT_MAX, ", %sfor %s%s", several ? "the first " : "",
                 one->held_at_least ? "at least " : "", time);
    }
    text_time(time, s->left_ms);
    if (s->left_ms >= 0)
        text_add(out, SHOW_TEXT_MAX, ", up to %s more", time);
    else if (!style.brief)
        text_add(out, SHOW_TEXT_MAX, ", without expiry");
}

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

/* Where each of several holders has too few nodes, it is not held, nor can it be had. */
static void add_state(char line[LINE_MAX_BYTES], const struct snapshot *s)
{
    char holders[SHOW_TEXT_MAX];
    uint32_t taken = count_set(s->report, true);
    show_holders(holders, s, (struct show_style){0});
    if (!s->held && taken > 0 && s->report->node_count - taken < s->report->quorum)
        snprintf(holders, sizeof holders, "no holder has a majority");
    text_add(line, LINE_MAX_BYTES, ": %s", holders);
}

static void add_votes(char line[LINE_MAX_BYTES], const struct snapshot *s)
{
    uint32_t set = s->held ? (uint32_t)s->votes : count_set(s->report, false);
    if (set > 0 && (!s->held || set < s->report->node_count))
        text_add(line, LINE_MAX_BYTES, ", %son %u of %u nodes",
                 !s->held    ? "though set "
                 : s->record ? "recorded "
                             : "",
                 set, s->report->node_count);
    if (s->report->quorum_name[0])
        text_add(line, LINE_MAX_BYTES, ", in quorum %s", s->report->quorum_name);
}

static void print_sentence(const struct snapshot *s)
{
    char line[LINE_MAX_BYTES], names[SHOW_TEXT_MAX];
    bool coloured = text_colours(isatty(STDOUT_FILENO));
    rl_quote_safe(line, 2 * REDLOCK_NAME_MAX, s->name);
    add_state(line, s);
    add_votes(line, s);
    if (s->fence > 0)
        text_add(line, LINE_MAX_BYTES, ", fence %lld", (long long)s->fence);
    show_waiters(names, s);
    if (s->waiter_count > 0)
        text_add(line, LINE_MAX_BYTES, ", %u waiting%s%s%s", s->waiter_count,
                 *names ? " (" : "", names, *names ? ")" : "");
    if (s->disagree)
        text_add(line, LINE_MAX_BYTES, ", %snodes disagree%s",
                 coloured ? text_colour_code(TEXT_BAD) : "",
                 coloured ? text_colour_code(TEXT_PLAIN) : "");
    text_wrap(stdout, line, 0, 2, text_line_columns(STDOUT_FILENO));
    putchar('\n');
}

/* Of a kind that several processes hold at a time. */
static void print_holders(const struct snapshot *s)
{
    static const char *const heading[] = {"HOLDER", "HELD FOR", "LEFT", NULL};
    struct table t;
    table_begin(&t, heading);
    for (uint32_t i = 0; i < s->shown_holders; i++) {
        const redlock_holder *h = &s->holder[i];
        char name[SHOW_NAME_MAX], held[TEXT_TIME_MAX], left[TEXT_TIME_MAX];
        char shown[TEXT_TIME_MAX + 16];
        show_name(name, h->label, h->value);
        text_time(held, h->held_ms);
        text_time(left, h->remaining_ms);
        snprintf(shown, sizeof shown, "%s%s",
                 h->held_ms >= 0 && h->held_at_least ? "at least " : "", held);
        table_row(&t, TEXT_PLAIN, (const char *[]){name, shown, left});
    }
    table_print(&t, "  ", stdout);
    if (s->holder_count > s->shown_holders)
        printf("  and %u more\n", s->holder_count - s->shown_holders);
}

/* From the head of the queue on. */
static void print_waiters(const struct snapshot *s)
{
    static const char *const heading[] = {"WAITER", "WAITS FOR", NULL};
    struct table t;
    table_begin(&t, heading);
    for (uint32_t i = 0; i < s->shown_waiters; i++) {
        const redlock_waiter *w = &s->waiter[i];
        char name[SHOW_NAME_MAX], waited[TEXT_TIME_MAX];
        show_name(name, w->label, w->name);
        text_time(waited, w->waited_ms);
        table_row(&t, TEXT_PLAIN, (const char *[]){name, waited});
    }
    table_print(&t, "  ", stdout);
    if (s->waiter_count > s->shown_waiters)
        printf("  and %u more\n", s->waiter_count - s->shown_waiters);
}

static bool all_answered(const redlock_report *report)
{
    for (uint32_t i = 0; i < report->node_count; i++) {
        int vote = report->node[i].vote;
        if (vote != REDLOCK_VOTE_TAKEN && vote != REDLOCK_VOTE_MISSING)
            return false;
    }
    return true;
}

void show_lock(const struct settings *settings, const struct snapshot *s)
{
    print_sentence(s);
    if (settings->verbose || s->disagree || !all_answered(s->report))
        report_table(s->report, stdout);
    if (settings->verbose && s->held && kind_words(s->kind)->holders)
        print_holders(s);
    if (settings->verbose && s->shown_waiters > 0)
        print_waiters(s);
}

enum { NAME, HOLDER, KIND, AGE, LEFT, WAITERS, CHANGES, MARK };

void show_rows_begin(struct table *t)
{
    static const char *const heading[] = {"NAME", "HOLDER", "KIND", "FOR", "LEFT",
                                          "WAIT", "CHG/S",  "",     NULL};
    table_begin(t, heading);
    table_style(t, NAME, TABLE_FLEXIBLE, 8);
    table_style(t, HOLDER, TABLE_FLEXIBLE, 12);
    table_style(t, KIND, TABLE_LEFT, 9);
    table_style(t, AGE, TABLE_RIGHT, 6);
    table_style(t, LEFT, TABLE_RIGHT, 6);
    table_style(t, WAITERS, TABLE_RIGHT, 4);
    table_style(t, CHANGES, TABLE_RIGHT, 5);
    table_spare(t, CHANGES);
    table_spare(t, KIND);
    table_spare(t, AGE);
    table_spare(t, WAITERS);
}

enum text_colour show_colour(const struct snapshot *s)
{
    return s->disagree ? TEXT_BAD : s->waiter_count > 0 ? TEXT_WAIT : TEXT_PLAIN;
}

void show_row(struct table *t, const struct snapshot *s, const char *changes)
{
    const redlock_holder *longest = snapshot_longest(s);
    char holder[SHOW_TEXT_MAX] = "", age[TEXT_TIME_MAX], left[TEXT_TIME_MAX], waiters[16];
    if (!s->held)
        text_add(holder, sizeof holder, "-");
    else if (kind_words(s->kind)->holders)
        add_several(holder, s, true, 0);
    else
        add_one(holder, s, 0);
    text_time_short(age, longest ? longest->held_ms : -1);
    if (longest && longest->held_ms >= 0 && longest->held_at_least)
        text_add(age, sizeof age, "+");
    text_time_short(left, s->held ? s->left_ms : -1);
    snprintf(waiters, sizeof waiters, "%u", s->waiter_count);
    table_row(t, show_colour(s),
              (const char *[]){[NAME] = s->name,
                               [HOLDER] = holder,
                               [KIND] = !s->held    ? "free"
                                        : s->record ? "ran"
                                                    : kind_words(s->kind)->shown,
                               [AGE] = age,
                               [LEFT] = left,
                               [WAITERS] = waiters,
                               [CHANGES] = changes,
                               [MARK] = s->disagree ? "!" : ""});
}

static void json_holders(const struct snapshot *s, struct rl_json *j)
{
    rl_json_array(j, "held_by");
    for (uint32_t i = 0; i < s->shown_holders; i++) {
        const redlock_holder *h = &s->holder[i];
        char value[TEXT_HOLDER_MAX];
        text_holder(value, h->value);
        rl_json_object(j, NULL);
        rl_json_string(j, "label", h->label[0] ? h->label : NULL);
        rl_json_string(j, "value", value);
        rl_json_string(j, "fingerprint", h->fingerprint);
        rl_json_known(j, "held_ms", h->held_ms);
        rl_json_bool(j, "held_at_least", h->held_at_least);
        rl_json_known(j, "remaining_ms", h->remaining_ms);
        rl_json_integer(j, "votes", h->votes);
        rl_json_end_object(j);
    }
    rl_json_end_array(j);
}

static void json_waiters(const struct snapshot *s, struct rl_json *j)
{
    rl_json_array(j, "waiting");
    for (uint32_t i = 0; i < s->shown_waiters; i++) {
        const redlock_waiter *w = &s->waiter[i];
        char name[TEXT_HOLDER_MAX];
        text_holder(name, w->name);
        rl_json_object(j, NULL);
        rl_json_string(j, "label", w->label[0] ? w->label : NULL);
        rl_json_string(j, "waiter", name);
        rl_json_known(j, "waited_ms", w->waited_ms);
        rl_json_end_object(j);
    }
    rl_json_end_array(j);
}

void show_members_json(const struct snapshot *s, struct rl_json *j)
{
    char value[TEXT_HOLDER_MAX], owner[TEXT_OWNER_MAX];
    const redlock_holder *first = s->held && s->shown_holders > 0 ? &s->holder[0] : NULL;
    text_holder(value, s->value);
    text_owner(owner, s->owner);
    rl_json_bool(j, "held", s->held);
    rl_json_string(j, "kind", s->kind < 0 ? NULL : redlock_kind_text(s->kind));
    rl_json_integer(j, "votes", s->votes);
    rl_json_string(j, "label", first && first->label[0] ? first->label : NULL);
    rl_json_string(j, "holder", s->value[0] ? value : NULL);
    rl_json_integer(j, "holders", s->holder_count);
    rl_json_string(j, "owner", s->owner[0] ? owner : NULL);
    rl_json_known(j, "slots", kind_words(s->kind)->has_slots ? (int64_t)s->slots : -1);
    rl_json_known(j, "held_ms", first ? first->held_ms : -1);
    rl_json_bool(j, "held_at_least", first && first->held_at_least);
    rl_json_known(j, "remaining_ms", s->held ? s->left_ms : -1);
    rl_json_known(j, "fence", s->fence > 0 ? s->fence : -1);
    rl_json_integer(j, "waiters", s->waiter_count);
    rl_json_bool(j, "disagree", s->disagree);
    rl_json_bool(j, "record", s->record);
    json_holders(s, j);
    json_waiters(s, j);
}

void show_time_json(const struct snapshot *s, struct rl_json *j)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    message_json(j, s->error, redlock_strerror(s->error));
    rl_json_string(j, "name", s->name);
    rl_json_integer(j, "time_ms", (int64_t)now.tv_sec * 1000 + now.tv_nsec / RL_NS_PER_MS);
}

/* The next node from *at on that is in quarantine; false when there is none left. */
static bool next_quarantined(redlock *client, size_t *at, redlock_node_info *info)
{
    while (client && redlock_node(client, (*at)++, info) == REDLOCK_OK) {
        if (info->quarantined)
            return true;
    }
    return false;
}

void show_quarantine(redlock *client)
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

void show_lock_json(redlock *client, const struct snapshot *s)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    struct rl_json j = {.out = stdout};
    message_json(&j, 0, NULL);
    rl_json_string(&j, "name", s->name);
    show_members_json(s, &j);
    report_json(s->report, &j, true);
    rl_json_array(&j, "quarantine");
    for (size_t i = 0; next_quarantined(client, &i, &info);) {
        rl_json_object(&j, NULL);
        rl_json_string(&j, "address", info.address);
        rl_json_string(&j, "text", info.text);
        rl_json_known(&j, "quarantine_ms", info.quarantine_ms);
        rl_json_end_object(&j);
    }
    rl_json_end_array(&j);
    rl_json_finish(&j);
}
