/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/quote.h"
#include "commands/inquiry.h"
#include "commands/observer.h"
#include "report/advice.h"
#include "report/holders.h"
#include "report/lock_brief.h"
#include "report/report.h"
#include "settings/command.h"
#include "settings/duration.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

enum { OPTION_DELAY = OPTION_OWN, OPTION_LINES };

#define DELAY_MS 1000
#define DELAY_MIN_MS 50
#define DELAY_MAX_MS 3600000

/* What a line was printed for. */
struct seen {
    bool known;
    bool doubtful; /* the look after it had too few answers: once is no news */
    int error;
    bool held;
    int32_t kind;
    uint32_t holder_count, waiter_count;
    char who[REDLOCK_VALUE_MAX + 1]; /* owner or value */
};
_Static_assert(REDLOCK_OWNER_MAX <= REDLOCK_VALUE_MAX, "room for an owner");

struct watch {
    struct observer observer;
    int64_t delay_ms;
    long line_limit; /* 0: none */
    long line_count;
    size_t at;         /* the name whose answer is next */
    bool hurry;        /* too few answers: look again before the delay is over */
    struct seen *seen; /* owned; of each name */
    int unwritten;     /* exit status for output that could not be written; 0: it could */
};

static struct seen seen_of(int error, const redlock_info *info)
{
    struct seen s = {.known = true, .error = error, .kind = -1};
    if (error != REDLOCK_OK)
        return s;
    s.held = info->held;
    s.waiter_count = info->waiter_count;
    if (!s.held)
        return s;
    s.kind = info->kind;
    s.holder_count = info->holder_count;
    /* Of the holds of an owner, and of several readers, the one that is named first changes. */
    const char *who = info->owner[0]           ? info->owner
                      : info->holder_count > 1 ? ""
                                               : info->holder.value;
    snprintf(s.who, sizeof s.who, "%s", who);
    return s;
}

static bool is_same(const struct seen *a, const struct seen *b)
{
    return a->known == b->known && a->error == b->error && a->held == b->held &&
           a->kind == b->kind && a->holder_count == b->holder_count &&
           a->waiter_count == b->waiter_count && strcmp(a->who, b->who) == 0;
}

static void print_json(const struct inquiry_answer *a)
{
    int error = a->error;
    const redlock_info *info = a->info;
    struct rl_json j = {.out = stdout};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (error)
        message_json_failure(&j, redlock_error_name(error), redlock_strerror(error),
                             exit_status_of(error));
    else
        message_json_success(&j);
    rl_json_string(&j, "name", a->name);
    rl_json_integer(&j, "time_ms", (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    rl_json_string(&j, "state", error ? "unknown" : info->held ? "held" : "free");
    if (!error) {
        struct lock_brief brief =
            lock_brief_of(a->name, info, report_longest_ms(info, a->report));
        lock_brief_json(&brief, &j);
    }
    rl_json_finish(&j);
}

static void print_text(const struct inquiry_answer *a, bool from_service)
{
    char why[HOLDERS_TEXT_MAX], shown[2 * REDLOCK_NAME_MAX], text[HOLDERS_TEXT_MAX],
        clock[32] = "";
    char late[ADVICE_MAX];
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &local);
    rl_quote_safe(shown, sizeof shown, a->name);
    if (a->error) {
        const char *advice = advice_for_late_nodes(a->report, late);
        rl_quote_safe(why, sizeof why, from_service ? a->detail : redlock_strerror(a->error));
        printf("%s %s: unknown: %s\n", clock, shown, advice ? advice : why);
        return;
    }
    struct lock_brief brief = lock_brief_of(a->name, a->info, -1);
    holders_text(text, &brief, (struct holders_style){.brief = true});
    printf("%s %s: %s", clock, shown, text);
    if (a->info->waiter_count > 0)
        printf(", %u waiting", a->info->waiter_count);
    putchar('\n');
}

static bool on_answer(const struct inquiry_answer *a, void *data)
{
    struct watch *w = data;
    struct seen *before = &w->seen[w->at++], now = seen_of(a->error, a->info);
    if (!a->error)
        observer_note(&w->observer, a->info, a->report);
    bool is_doubtful = a->error && !before->error && !before->doubtful;
    before->doubtful = is_doubtful;
    if (is_doubtful) {
        w->hurry = true;
        return true;
    }
    if (is_same(before, &now))
        return true;
    *before = now;
    if (w->observer.settings.json)
        print_json(a);
    else
        print_text(a, !w->observer.source.client);
    w->line_count++;
    w->unwritten = message_flush();
    return w->unwritten == 0 && w->line_count != w->line_limit;
}

/* A signal is the usual end. */
static int watch_names(struct watch *w)
{
    struct observer *o = &w->observer;
    w->seen = calloc(o->count, sizeof *w->seen);
    if (!w->seen)
        return message_fail(EXIT_INTERNAL, "out of memory");
    do {
        w->at = 0;
        w->hurry = false;
        int status = inquire(&o->source, &o->settings, o->names, o->count, on_answer, w);
        if (status)
            return status;
        if (w->unwritten || (w->line_limit > 0 && w->line_count >= w->line_limit))
            return w->unwritten;
    } while (observer_sleep(o, w->hurry ? DELAY_MIN_MS : w->delay_ms, TIMER_NEVER));
    return o->signal == SIGPIPE ? EXIT_SIGNAL + SIGPIPE : 0;
}

static int take(void *data, struct args *a, int id, const char *value)
{
    struct watch *w = data;
    switch (id) {
    case ARGS_WORD:
        return observer_take_name(&w->observer, a, value);
    case OPTION_DELAY:
        if (duration_parse(value, &w->delay_ms) || w->delay_ms < DELAY_MIN_MS ||
            w->delay_ms > DELAY_MAX_MS)
            return message_usage("--delay takes a time from 50ms to 1h");
        return 0;
    case OPTION_LINES:
        if (!args_number(value, 1, LONG_MAX, &w->line_limit))
            return message_usage("--count takes a number of lines, from 1 on");
        return 0;
    }
    return 0;
}

static int watch_main(const struct command *command, int argc, char **argv)
{
    struct watch w = {.delay_ms = DELAY_MS,
                      .observer = {.signal_fd = -1, .needs_reader = true}};
    int status = args_read(command, &w.observer.settings, argc, argv, take, &w);
    if (status == 0)
        status = observer_open(&w.observer);
    if (status == 0)
        status = watch_names(&w);
    free(w.seen);
    observer_close(&w.observer);
    return status;
}

static const struct cli_option options[] = {
    {OPTION_DELAY, 'd', "delay", "TIME", "look again after this time (1s)"},
    SERVICE_OPTIONS,
    {OPTION_LINES, 'c', "count", "N", "stop after N lines"},
    {0},
};

const struct command command_watch = {
    .name = "watch",
    .summary = "print a line whenever the holder of a lock changes",
    .usage = "[OPTION...] NAME...",
    .about =
        "Prints what is known of each NAME, and a further line whenever its holder, its state "
        "or "
        "the number of its waiters has changed: with the time of day, the holder and how many "
        "wait. Takes nothing. It polls, every second (--delay) and when a lock must have "
        "expired; "
        "what comes and goes between two looks is not seen. Ctrl-C ends it.\n\n"
        "Exits with 0 when a signal or --count ended it.\n",
    .examples = "redlock watch leader\n"
                "redlock watch --json leader | jq -r 'select(.ok) | .label // \"none\"'\n"
                "redlock watch -d 200ms -c 1 deploy backup",
    .options = options,
    .run = watch_main,
};
