/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock/busy.h"

#include <stdio.h>

#include "report/holders.h"
#include "report/report.h"
#include "ui/text.h"

/* Of several names, the first that is held at this moment. */
static const char *find_held(struct held_lock *h, const struct terms *terms)
{
    for (size_t i = 0; i < terms->name_count && terms->name_count > 1; i++) {
        redlock_answer *answer = NULL;
        bool held = redlock_query(h->client, terms->name[i], &answer) == REDLOCK_OK &&
                    answer->info->held;
        redlock_answer_free(answer);
        if (held)
            return terms->name[i];
    }
    return terms->name[0];
}

/* Who holds it, for how long, and how many wait: one line, unless the nodes
 * found different things. */
static void describe_busy(const struct lock_brief *lock, const struct settings *s,
                          const struct terms *terms, int error, char out[REPORT_TEXT_MAX])
{
    char holders[HOLDERS_TEXT_MAX], waited[TEXT_TIME_MAX];
    if (lock->held)
        holders_text(holders, lock, (struct holders_style){0});
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
    redlock_answer *answer = NULL;
    struct lock_brief lock;
    struct failure f = {
        .name = terms->name[0],
        .error = error,
        .status = status,
        .text = h->detail,
        .report = &h->report,
    };
    if (s->quiet)
        return report_failure(s, &f);
    if (!h->client) {
        /* What the service told of the holder with its refusal. */
        const redlock_holder *holder = &h->report.holder;
        lock = (struct lock_brief){.held = holder->label[0] || holder->remaining_ms >= 0,
                                   .kind = -1,
                                   .left_ms = holder->remaining_ms,
                                   .waiter_count = h->report.waiter_count,
                                   .holder = holder,
                                   .shown_holders = 1};
        describe_busy(&lock, s, terms, error, text);
        f.text = text;
        f.lock = &lock;
        f.brief = true;
        return report_failure(s, &f);
    }
    f.name = find_held(h, terms);
    if (report_complete(h->client, f.name, &h->report, &answer) == REDLOCK_OK) {
        const redlock_info *info = answer->info;
        lock = lock_brief_of(f.name, info, report_longest_ms(info, &h->report));
        describe_busy(&lock, s, terms, error, text);
        f.text = text;
        f.lock = &lock;
        f.brief = !info->held || report_agrees(&h->report);
    }
    report_failure(s, &f);
    redlock_answer_free(answer);
    return status;
}
