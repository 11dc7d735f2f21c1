/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/live.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lock/terms.h"
#include "system/timer.h"
#include "ui/errors.h"
#include "ui/kind.h"
#include "ui/text.h"

#define ASK_EVERY_NS 1000000000LL
/* A question takes as long as the slowest node may; the end of the wait does not wait for it. */
#define LAST_QUESTION_NS 250000000LL

void live_begin(struct live *l, const struct terms *terms, redlock *client,
                const redlock_lock *lock, bool wanted, int64_t deadline_ns)
{
    *l = (struct live){
        .terms = terms,
        .client = client,
        .lock = lock,
        .on = wanted && errors_are_on_terminal(),
        .started_ns = timer_now_ns(),
        .quiet_ns = deadline_ns == TIMER_NEVER ? TIMER_NEVER : deadline_ns - LAST_QUESTION_NS,
    };
}

/* Asks for the holder; of several names, for that of the first that is held. */
static void ask(struct live *l, int64_t now_ns)
{
    if ((l->asked && now_ns - l->asked_ns < ASK_EVERY_NS) || now_ns >= l->quiet_ns)
        return;
    l->known = false;
    for (size_t i = 0; i < l->terms->name_count && !l->known; i++) {
        redlock_info info = {.size = sizeof info};
        l->error = redlock_query(l->client, l->terms->name[i], &info, NULL);
        l->known = l->error == REDLOCK_OK && info.holder[0];
        l->info = info;
    }
    l->asked = true;
    l->asked_ns = timer_now_ns();
}

static void add(char line[LIVE_LINE_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(char line[LIVE_LINE_MAX], const char *format, ...)
{
    size_t used = strlen(line);
    va_list list;
    va_start(list, format);
    vsnprintf(line + used, LIVE_LINE_MAX - used, format, list);
    va_end(list);
}

static const char *ordinal(int number)
{
    int last = number % 100 >= 11 && number % 100 <= 13 ? 0 : number % 10;
    return last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
}

static void add_holders(const struct live *l, char line[LIVE_LINE_MAX], int64_t now_ns)
{
    const redlock_info *info = &l->info;
    char holder[TEXT_HOLDER_MAX], left[TEXT_TIME_MAX];
    int64_t left_ms = info->ttl_ms - (now_ns - l->asked_ns) / NS_PER_MS;
    if (kind_words(info->kind)->has_slots) {
        add(line, "%u of %u slots taken", info->holder_count, info->slots);
        return;
    }
    if (kind_words(info->kind)->holders && info->holder_count > 1) {
        add(line, "held by %u %ss", info->holder_count, kind_words(info->kind)->holders);
        return;
    }
    text_holder(holder, info->holder);
    add(line, "held by %s", holder);
    if (info->ttl_ms < 0)
        return;
    text_time(left, left_ms > 0 ? left_ms : 0);
    add(line, " for up to %s more", left);
}

void live_describe(struct live *l, char line[LIVE_LINE_MAX])
{
    char names[TERMS_TEXT_MAX];
    ask(l, timer_now_ns());
    int64_t now_ns = timer_now_ns();
    int place = redlock_position(l->lock);
    terms_text(l->terms, names);
    snprintf(line, LIVE_LINE_MAX, "waiting for %s", names);
    const char *before = ": ";
    if (place > 0) {
        add(line, "%s%d%s in line", before, place, ordinal(place));
        before = ", ";
    }
    if (l->error) {
        add(line, "%s%s", before, redlock_strerror(l->error));
        before = ", ";
    } else if (l->known) {
        add(line, "%s", before);
        add_holders(l, line, now_ns);
    }
}

/* How long it has been, where there is room for it. */
static void add_waited(const struct live *l, char line[LIVE_LINE_MAX], size_t columns)
{
    char waited[TEXT_TIME_MAX], note[TEXT_TIME_MAX + 16];
    text_time(waited, (timer_now_ns() - l->started_ns) / NS_PER_MS);
    snprintf(note, sizeof note, " (%s so far)", waited);
    if (text_width(line) + text_width(note) < columns)
        add(line, "%s", note);
}

void live_draw(struct live *l)
{
    char line[LIVE_LINE_MAX];
    if (!l->on)
        return;
    size_t columns = errors_columns();
    live_describe(l, line);
    add_waited(l, line, columns);
    errors_draw(line);
}
