/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/holders.h"

#include <stdio.h>

#include "base/quote.h"
#include "ui/kind.h"

#define NAMES_SHOWN 3 /* of several holders or waiters in one line */

void holders_name(char out[HOLDERS_NAME_MAX], const char *label, const char *value)
{
    if (label[0])
        rl_quote_safe(out, HOLDERS_NAME_MAX, label);
    else
        text_holder(out, value);
}

static void add_name(char out[HOLDERS_TEXT_MAX], const char *label, const char *value,
                     size_t columns)
{
    char name[HOLDERS_NAME_MAX], cut[4 * HOLDERS_NAME_MAX + 4];
    holders_name(name, label, value);
    if (columns == 0 || text_width(name) <= columns) {
        text_add(out, HOLDERS_TEXT_MAX, "%s", name);
        return;
    }
    text_fit(cut, sizeof cut, name, columns);
    text_add(out, HOLDERS_TEXT_MAX, "%s", cut);
}

/* "a, b, c and 4 more" */
static void add_holders(char out[HOLDERS_TEXT_MAX], const struct lock_brief *b, size_t columns)
{
    uint32_t shown = b->shown_holders < NAMES_SHOWN ? b->shown_holders : NAMES_SHOWN;
    for (uint32_t i = 0; i < shown; i++) {
        text_add(out, HOLDERS_TEXT_MAX, "%s", i ? ", " : "");
        add_name(out, b->holder[i].label, b->holder[i].value, columns);
    }
    if (b->holder_count > shown && shown > 0)
        text_add(out, HOLDERS_TEXT_MAX, " and %u more", b->holder_count - shown);
}

void holders_waiters(char out[HOLDERS_TEXT_MAX], const struct lock_brief *b)
{
    uint32_t shown = b->shown_waiters < NAMES_SHOWN ? b->shown_waiters : NAMES_SHOWN;
    out[0] = '\0';
    for (uint32_t i = 0; i < shown; i++) {
        text_add(out, HOLDERS_TEXT_MAX, "%s", i ? ", " : "");
        add_name(out, b->waiter[i].label, b->waiter[i].name, 0);
    }
    if (b->waiter_count > shown && shown > 0)
        text_add(out, HOLDERS_TEXT_MAX, " and %u more", b->waiter_count - shown);
}

static void add_one(char out[HOLDERS_TEXT_MAX], const struct lock_brief *b, size_t columns)
{
    if (b->shown_holders > 0)
        add_name(out, b->holder[0].label, b->holder[0].value, columns);
    else
        add_name(out, "", b->value, columns);
}

static void add_who(char out[HOLDERS_TEXT_MAX], const struct lock_brief *b, size_t columns)
{
    const struct kind_words *words = kind_words(b->kind);
    char owner[TEXT_OWNER_MAX];
    if (!words->holders) {
        text_add(out, HOLDERS_TEXT_MAX, "held by ");
        add_one(out, b, columns);
    } else {
        if (words->has_slots)
            text_add(out, HOLDERS_TEXT_MAX, "%u of %u slots taken", b->holder_count, b->slots);
        else
            text_add(out, HOLDERS_TEXT_MAX, "held by %u %s%s", b->holder_count, words->holders,
                     b->holder_count == 1 ? "" : "s");
        text_add(out, HOLDERS_TEXT_MAX, "%s", b->shown_holders > 0 ? " (" : "");
        add_holders(out, b, columns);
        text_add(out, HOLDERS_TEXT_MAX, "%s", b->shown_holders > 0 ? ")" : "");
    }
    /* With a label the owner, which is usually made up, says nothing more. */
    if (b->owner[0] && !(b->shown_holders > 0 && b->holder[0].label[0])) {
        text_owner(owner, b->owner);
        text_add(out, HOLDERS_TEXT_MAX, ", owner %s", owner);
    }
    if (b->owner[0] && b->holder_count > 1)
        text_add(out, HOLDERS_TEXT_MAX, ", %u times", b->holder_count);
}

/* "ran 20 min ago, by a; may run again in 22 h 40 min" */
static void add_run(char out[HOLDERS_TEXT_MAX], const struct lock_brief *b,
                    struct holders_style style)
{
    char time[TEXT_TIME_MAX];
    text_add(out, HOLDERS_TEXT_MAX, "ran");
    if (b->shown_holders > 0 && b->holder[0].held_ms >= 0 && !style.brief) {
        text_time(time, b->holder[0].held_ms);
        text_add(out, HOLDERS_TEXT_MAX, " %s%s ago",
                 b->holder[0].held_at_least ? "at least " : "", time);
    }
    text_add(out, HOLDERS_TEXT_MAX, ", by ");
    add_one(out, b, style.name_columns);
    if (b->left_ms >= 0) {
        text_time(time, b->left_ms);
        text_add(out, HOLDERS_TEXT_MAX, "; may run again in %s", time);
    }
}

void holders_text(char out[HOLDERS_TEXT_MAX], const struct lock_brief *b,
                  struct holders_style style)
{
    char time[TEXT_TIME_MAX];
    bool several = kind_words(b->kind)->holders && b->holder_count > 1;
    const redlock_holder *one = kind_words(b->kind)->holders ? lock_brief_longest(b)
                                : b->shown_holders > 0       ? &b->holder[0]
                                                             : NULL;
    out[0] = '\0';
    if (!b->held) {
        text_add(out, HOLDERS_TEXT_MAX, "free");
        return;
    }
    if (b->record) {
        add_run(out, b, style);
        return;
    }
    add_who(out, b, style.name_columns);
    if (one && one->held_ms >= 0 && !style.brief) {
        text_time(time, one->held_ms);
        text_add(out, HOLDERS_TEXT_MAX, ", %sfor %s%s", several ? "the first " : "",
                 one->held_at_least ? "at least " : "", time);
    }
    text_time(time, b->left_ms);
    if (b->left_ms >= 0)
        text_add(out, HOLDERS_TEXT_MAX, ", up to %s more", time);
    else if (!style.brief)
        text_add(out, HOLDERS_TEXT_MAX, ", without expiry");
}

void holders_cell(char out[HOLDERS_TEXT_MAX], const struct lock_brief *b)
{
    const struct kind_words *words = kind_words(b->kind);
    out[0] = '\0';
    if (!b->held) {
        text_add(out, HOLDERS_TEXT_MAX, "-");
    } else if (!words->holders) {
        add_one(out, b, 0);
    } else {
        if (words->has_slots)
            text_add(out, HOLDERS_TEXT_MAX, "%u of %u", b->holder_count, b->slots);
        else
            text_add(out, HOLDERS_TEXT_MAX, "%u %s%s", b->holder_count, words->holders,
                     b->holder_count == 1 ? "" : "s");
        text_add(out, HOLDERS_TEXT_MAX, "%s", b->shown_holders > 0 ? ": " : "");
        add_holders(out, b, 0);
    }
}

void holders_age(char out[HOLDERS_AGE_MAX], const struct lock_brief *b)
{
    const redlock_holder *longest = lock_brief_longest(b);
    char time[TEXT_TIME_MAX];
    text_time_short(time, longest ? longest->held_ms : -1);
    snprintf(out, HOLDERS_AGE_MAX, "%s%s", time,
             longest && longest->held_ms >= 0 && longest->held_at_least ? "+" : "");
}
