/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/live.h"

#include <stdio.h>

#include "lock/held_lock.h"
#include "report/advice.h"
#include "report/report.h"
#include "report/show.h"
#include "settings/settings.h"
#include "system/timer.h"
#include "ui/errors.h"
#include "ui/text.h"

#define QUERY_EVERY_NS RL_NS_PER_S
/* A query takes as long as the slowest node may; the end of the wait does not
 * wait for it. */
#define LAST_QUESTION_NS 250000000LL
#define NAME_LEAST 8 /* columns of a holder, in however narrow a window */

void live_begin(struct live *l, const struct terms *terms, redlock *client,
                const redlock_lock *lock, const struct settings *s, int64_t deadline_ns)
{
    bool wanted = !s->quiet && s->wait_ms != 0;
    *l = (struct live){
        .terms = terms,
        .client = client,
        .lock = lock,
        .wanted = wanted,
        .on = wanted && !s->json && errors_can_draw(),
        .started_ns = timer_now_ns(),
        .quiet_ns = deadline_ns == TIMER_NEVER ? TIMER_NEVER : deadline_ns - LAST_QUESTION_NS,
    };
}

/*
 * Is one of the names held? The first that is, with what is known of it in *info, or the first.
 */
static bool find_held(redlock *client, const struct terms *terms, const char **name, int *error,
                      redlock_info *info)
{
    bool held = false;
    *name = terms->name[0];
    for (size_t i = 0; i < terms->name_count && !held; i++) {
        redlock_answer *answer = NULL;
        *error = redlock_query(client, terms->name[i], &answer);
        held = *error == REDLOCK_OK && answer->info->held;
        if (held) {
            *name = terms->name[i];
            *info = *answer->info;
        }
        redlock_answer_free(answer);
    }
    return held;
}

static void query_holder(struct live *l, int64_t now_ns)
{
    const char *name;
    if ((l->queried && now_ns - l->queried_ns < QUERY_EVERY_NS) || now_ns >= l->quiet_ns)
        return;
    l->known = find_held(l->client, l->terms, &name, &l->error, &l->info);
    l->queried = true;
    l->queried_ns = timer_now_ns();
}

static const char *ordinal(int number)
{
    int last = number % 100 >= 11 && number % 100 <= 13 ? 0 : number % 10;
    return last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
}

/* The nodes that answer are too young to vote: what is waited for is the end of that. */
static bool add_quarantine(const struct live *l, char line[LIVE_LINE_MAX])
{
    redlock_report report = *redlock_lock_report(l->lock);
    char left[TEXT_TIME_MAX];
    int64_t wait_ms;
    if (!quarantine_blocks(l->client, &report, &wait_ms))
        return false;
    text_add(line, LIVE_LINE_MAX, ": the nodes are in quarantine");
    text_time_up(left, wait_ms);
    if (wait_ms >= 0)
        text_add(line, LIVE_LINE_MAX, ", %s more", left);
    return true;
}

static void add_holders(const struct live *l, char line[LIVE_LINE_MAX], int64_t now_ns,
                        struct show_style style)
{
    char text[SHOW_TEXT_MAX];
    struct snapshot s = snapshot_of(l->terms->name[0], &l->info, NULL);
    int64_t since_ms = (now_ns - l->queried_ns) / RL_NS_PER_MS;
    if (s.left_ms >= 0)
        s.left_ms = s.left_ms > since_ms ? s.left_ms - since_ms : 0;
    show_holders(text, &s, style);
    text_add(line, LIVE_LINE_MAX, "%s", text);
}

/* What the nodes replied when they refused us: less than a query returns, and free. */
static void add_blocker(const struct live *l, char line[LIVE_LINE_MAX], const char *before,
                        struct show_style style)
{
    const redlock_holder *holder = &redlock_lock_report(l->lock)->holder;
    struct snapshot s = snapshot_of_holder(l->terms->name[0], holder);
    char text[SHOW_TEXT_MAX];
    if (!holder->value[0])
        return;
    style.brief = true;
    show_holders(text, &s, style);
    text_add(line, LIVE_LINE_MAX, "%s%s", before, text);
}

static void describe(struct live *l, char line[LIVE_LINE_MAX], int64_t now_ns,
                     struct show_style style)
{
    char names[TERMS_TEXT_MAX];
    int place = redlock_position(l->lock);
    const char *before = ": ";
    terms_text(l->terms, names);
    snprintf(line, LIVE_LINE_MAX, "waiting for %s", names);
    if (place > 0) {
        text_add(line, LIVE_LINE_MAX, "%s%d%s in line", before, place, ordinal(place));
        before = ", ";
    } else if (add_quarantine(l, line)) {
        return;
    }
    if (l->error) {
        text_add(line, LIVE_LINE_MAX, "%s%s", before, redlock_strerror(l->error));
    } else if (l->known) {
        text_add(line, LIVE_LINE_MAX, "%s", before);
        add_holders(l, line, now_ns, style);
    } else if (!l->queried) {
        add_blocker(l, line, before, style);
    }
}

void live_describe(struct live *l, char line[LIVE_LINE_MAX], size_t columns)
{
    size_t width, room;
    int64_t now_ns;
    query_holder(l, timer_now_ns());
    now_ns = timer_now_ns();
    describe(l, line, now_ns, (struct show_style){0});
    if (text_width(line) < columns)
        return;
    describe(l, line, now_ns, (struct show_style){.brief = true});
    if (text_width(line) < columns)
        return;
    /* What the rest leaves for the name of the holder. */
    describe(l, line, now_ns, (struct show_style){.brief = true, .name_columns = 1});
    width = text_width(line);
    room = width < columns ? columns - width : 0;
    describe(l, line, now_ns,
             (struct show_style){.brief = true,
                                 .name_columns = room < NAME_LEAST ? NAME_LEAST : room});
}

/* How long it has been, where there is room for it. */
static void add_waited(const struct live *l, char line[LIVE_LINE_MAX], size_t columns)
{
    char waited[TEXT_TIME_MAX], note[TEXT_TIME_MAX + 16];
    text_time(waited, (timer_now_ns() - l->started_ns) / RL_NS_PER_MS);
    snprintf(note, sizeof note, " (%s so far)", waited);
    if (text_width(line) + text_width(note) < columns)
        text_add(line, LIVE_LINE_MAX, "%s", note);
}

void live_draw(struct live *l)
{
    char line[LIVE_LINE_MAX];
    size_t columns;
    if (!l->on)
        return;
    columns = errors_columns();
    live_describe(l, line, columns);
    add_waited(l, line, columns);
    errors_draw(line);
}

/* Who holds it, for how long, and how many wait: one line, unless the nodes
 * found different things. */
static void describe_busy(const struct snapshot *lock, const struct settings *s,
                          const struct terms *terms, int error, char out[REPORT_TEXT_MAX])
{
    char holders[SHOW_TEXT_MAX], waited[TEXT_TIME_MAX];
    if (lock->held)
        show_holders(holders, lock, (struct show_style){0});
    else
        snprintf(holders, sizeof holders,
                 lock->waiter_count > 0 ? "others wait for it" : "held by another; free now");
    snprintf(out, REPORT_TEXT_MAX, "%s", holders);
    if (lock->waiter_count > 0)
        text_add(out, REPORT_TEXT_MAX, "; %u waiting", lock->waiter_count);
    text_time(waited, s->wait_ms);
    if (error == REDLOCK_TIMEOUT)
        text_add(out, REPORT_TEXT_MAX, "; gave up after %s", waited);
    if (terms->name_count > 1)
        text_add(out, REPORT_TEXT_MAX, "; none of the %zu names was locked", terms->name_count);
}

int busy_report(struct held_lock *h, const struct settings *s, const struct terms *terms,
                int error, int status)
{
    char text[REPORT_TEXT_MAX];
    const redlock_holder *holder = &h->report.holder;
    struct snapshot lock = snapshot_of_holder(terms->name[0], holder);
    redlock_answer *answer = NULL;
    redlock_info info;
    int ignored;
    struct failure f = {.name = terms->name[0],
                        .error = error,
                        .status = status,
                        .text = h->detail,
                        .report = &h->report};
    if (s->quiet)
        return report_failure(s, &f);
    if (!h->client) {
        /* What the service reported of the holder with its refusal. */
        lock.held = holder->label[0] || holder->remaining_ms >= 0;
        lock.waiter_count = h->report.waiter_count;
        f.lock = &lock;
        f.brief = true;
    } else {
        if (terms->name_count > 1)
            find_held(h->client, terms, &f.name, &ignored, &info);
        if (report_complete(h->client, f.name, &h->report, &answer) == REDLOCK_OK) {
            lock = snapshot_of(f.name, answer->info, &h->report);
            f.lock = &lock;
            f.brief = !lock.held || report_agrees(&h->report);
        }
    }
    if (f.lock) {
        describe_busy(&lock, s, terms, error, text);
        f.text = text;
    }
    report_failure(s, &f);
    redlock_answer_free(answer);
    return status;
}
