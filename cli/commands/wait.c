/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/quote.h"
#include "commands/inquiry.h"
#include "commands/lock_view.h"
#include "commands/observer.h"
#include "report/advice.h"
#include "report/holders.h"
#include "report/report.h"
#include "settings/command.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

/* The longer the wait so far, the rarer the looks: a tenth of it lies between them. */
#define DELAY_PART 10
#define DELAY_MIN_MS 20
#define DELAY_MAX_MS 1000

/* What the last look at all names found. */
struct look {
    struct observer *observer;
    const char *held; /* the first that is held; NULL: none */
    int error;        /* of the first that could not be asked for */
    const char *failed;
    redlock_report report; /* of that */
    char detail[512];
    char holders[HOLDERS_TEXT_MAX]; /* of the first that is held */
};

static bool on_answer(const struct inquiry_answer *a, void *data)
{
    struct look *l = data;
    if (a->error != REDLOCK_OK && !l->error) {
        l->error = a->error;
        l->failed = a->name;
        l->report = *a->report;
        snprintf(l->detail, sizeof l->detail, "%s", a->detail);
    }
    if (a->error != REDLOCK_OK)
        return true;
    observer_note(l->observer, a->info, a->report);
    if (a->info->held && !l->held) {
        struct lock_brief brief =
            lock_brief_of(a->name, a->info, report_longest_ms(a->info, a->report));
        l->held = a->name;
        holders_text(l->holders, &brief, (struct holders_style){0});
    }
    return true;
}

static int report_failed(const struct look *l)
{
    struct failure f = {
        .name = l->failed,
        .error = l->error,
        .status = exit_status_of(l->error),
        .text = l->detail,
        .report = &l->report,
    };
    return report_failure(&l->observer->settings, &f);
}

static int report_held(const struct look *l)
{
    struct failure f = {
        .name = l->held,
        .error = l->observer->settings.wait_ms ? REDLOCK_TIMEOUT : REDLOCK_BUSY,
        .status = EXIT_BUSY,
        .text = l->holders,
        .advice = "wait longer with -w TIME",
    };
    return report_failure(&l->observer->settings, &f);
}

static int report_free(const struct observer *o, int64_t waited_ms)
{
    if (!o->settings.json)
        return 0;
    struct rl_json j = {.out = stdout};
    message_json_success(&j);
    rl_json_string(&j, "name", o->names[0]);
    rl_json_array(&j, "names");
    for (size_t i = 0; i < o->count; i++)
        rl_json_string(&j, NULL, o->names[i]);
    rl_json_end_array(&j);
    rl_json_integer(&j, "waited_ms", waited_ms);
    rl_json_finish(&j);
    return message_flush();
}

static int64_t delay_ms(int64_t waited_ms)
{
    int64_t part_ms = waited_ms / DELAY_PART;
    return part_ms < DELAY_MIN_MS   ? DELAY_MIN_MS
           : part_ms > DELAY_MAX_MS ? DELAY_MAX_MS
                                    : part_ms;
}

/* Nodes that refuse us or are none will go on doing so; those that are silent may come back. */
static bool is_final(int error)
{
    return error && error != REDLOCK_NOQUORUM && error != REDLOCK_GUARDED;
}

static void warn_of_silence(const struct look *l)
{
    char advice[ADVICE_MAX], safe[sizeof l->detail];
    if (!l->observer->source.client) {
        rl_quote_safe(safe, sizeof safe, l->detail);
        message_warn("%s; asking until it can (-w TIME would limit that)", safe);
        return;
    }
    message_warn("too few nodes answer; asking until they do (-w TIME would limit that)");
    message_warn("next: %s", advice_for(REDLOCK_NOQUORUM, &l->report, false, advice));
}

static int wait_until_free(struct observer *o)
{
    int64_t start_ns = timer_now_ns(), wait_ms = o->settings.wait_ms;
    int64_t end_ns =
        wait_ms == REDLOCK_WAIT_FOREVER ? TIMER_NEVER : start_ns + wait_ms * NS_PER_MS;
    bool warned = o->settings.quiet || wait_ms != REDLOCK_WAIT_FOREVER;
    for (;;) {
        struct look l = {.observer = o};
        int status = inquire(&o->source, &o->settings, o->names, o->count, on_answer, &l);
        if (status)
            return status;
        int64_t now_ns = timer_now_ns();
        if (!l.held && !l.error)
            return report_free(o, (now_ns - start_ns) / NS_PER_MS);
        if (is_final(l.error) || (l.error && now_ns >= end_ns))
            return report_failed(&l);
        if (now_ns >= end_ns)
            return report_held(&l);
        if (l.error && !warned) {
            warn_of_silence(&l);
            warned = true;
        }
        if (!observer_sleep(o, delay_ms((now_ns - start_ns) / NS_PER_MS), end_ns))
            return EXIT_SIGNAL + o->signal;
    }
}

static int take(void *data, struct args *a, int id, const char *value)
{
    return id == ARGS_WORD ? observer_take_name(data, a, value) : 0;
}

static int wait_main(const struct command *command, int argc, char **argv)
{
    struct observer o = {.signal_fd = -1};
    int status = args_read(command, &o.settings, argc, argv, take, &o);
    if (status == 0)
        status = observer_open(&o);
    if (status == 0)
        status = wait_until_free(&o);
    observer_close(&o);
    return status;
}

static const struct cli_option options[] = {
    {SETTING_NO_WAIT, 'n', "no-wait", NULL, "do not wait: look once"},
    {SETTING_WAIT, 'w', "wait", "TIME", "wait at most this long (forever)"},
    SERVICE_OPTIONS,
    {0},
};

const struct command command_wait = {
    .name = "wait",
    .summary = "wait until a lock is free, without taking it",
    .usage = "[OPTION...] NAME...",
    .about =
        "Ends when NAME is free: when no process holds it, of whatever kind it is. Of several "
        "NAMEs all have to be free at the same look. Nothing is taken, no place in the queue "
        "either, so the next process to ask may have the lock already when this one ends: to "
        "act "
        "alone, `redlock run`. It polls: the next look follows when the lock must have "
        "expired, or "
        "after a tenth of the time waited so far, from 20 ms to a second.\n\n"
        "Exits with 0 when it is free, 75 when it is still held after -w TIME, 69 when too few "
        "nodes answer by then, 77 when they refuse the credentials.\n",
    .examples = "redlock wait -w 10m deploy && ./announce\n"
                "redlock wait -n deploy || echo 'a deployment is running'",
    .options = options,
    .run = wait_main,
};
