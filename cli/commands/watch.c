/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks that are looked at again and again: `watch` prints what changes, `wait` ends when all
 * of them are free. The library wakes waiters in the queue when a lock is given back, and only
 * them; these are none, so they poll, and look when what is known must have expired.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/quote.h"
#include "report/advice.h"
#include "report/look.h"
#include "report/report.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"

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
    struct look look;
    int64_t delay_ms;
    long line_limit; /* 0: none */
    long line_count;
    size_t at;         /* the name whose answer is next */
    bool hurry;        /* too few answers: look again before the delay is over */
    struct seen *seen; /* owned; of each name */
    int unwritten;     /* exit status for output that could not be written; 0: it could */
};

static struct seen seen_of(const struct snapshot *s)
{
    struct seen seen = {.known = true, .error = s->error, .kind = -1};
    if (s->error)
        return seen;
    seen.held = s->held;
    seen.waiter_count = s->waiter_count;
    if (!seen.held)
        return seen;
    seen.kind = s->kind;
    seen.holder_count = s->holder_count;
    /* Of the holds of an owner, and of several readers, the one that is named first changes. */
    snprintf(seen.who, sizeof seen.who, "%s",
             s->owner[0]           ? s->owner
             : s->holder_count > 1 ? ""
                                   : s->value);
    return seen;
}

static bool is_same(const struct seen *a, const struct seen *b)
{
    return a->known == b->known && a->error == b->error && a->held == b->held &&
           a->kind == b->kind && a->holder_count == b->holder_count &&
           a->waiter_count == b->waiter_count && strcmp(a->who, b->who) == 0;
}

static void print_json(const struct snapshot *s)
{
    struct rl_json j = {.out = stdout};
    show_time_json(s, &j);
    rl_json_string(&j, "state", s->error ? "unknown" : s->held ? "held" : "free");
    if (!s->error)
        show_members_json(s, &j);
    rl_json_finish(&j);
}

static void print_text(const struct snapshot *s, bool from_service)
{
    char safe[SHOW_TEXT_MAX], name[2 * REDLOCK_NAME_MAX], clock[32] = "", late[ADVICE_MAX];
    struct snapshot shown = *s;
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &local);
    rl_quote_safe(name, sizeof name, s->name);
    if (s->error) {
        const char *advice = advice_for_late_nodes(s->report, late);
        rl_quote_safe(safe, sizeof safe, from_service ? s->detail : redlock_strerror(s->error));
        printf("%s %s: unknown: %s\n", clock, name, advice ? advice : safe);
        return;
    }
    shown.left_ms = -1; /* it changes with every look */
    show_holders(safe, &shown, (struct show_style){.brief = true});
    printf("%s %s: %s", clock, name, safe);
    if (s->waiter_count > 0)
        printf(", %u waiting", s->waiter_count);
    putchar('\n');
}

static bool on_watched(const struct snapshot *s, void *data)
{
    struct watch *w = data;
    struct seen *before = &w->seen[w->at++], now = seen_of(s);
    bool is_doubtful = s->error && !before->error && !before->doubtful;
    before->doubtful = is_doubtful;
    w->hurry = w->hurry || is_doubtful;
    if (is_doubtful || is_same(before, &now))
        return true;
    *before = now;
    if (w->look.settings.json)
        print_json(s);
    else
        print_text(s, !w->look.client);
    w->line_count++;
    w->unwritten = message_flush();
    return w->unwritten == 0 && w->line_count != w->line_limit;
}

/* A signal is the usual end. */
static int watch(void *data)
{
    struct watch *w = data;
    struct look *l = &w->look;
    w->seen = calloc(l->count, sizeof *w->seen);
    if (!w->seen)
        return message_fail(EXIT_INTERNAL, "out of memory");
    do {
        int status;
        w->at = 0;
        w->hurry = false;
        status = look_at(l, l->name, l->count, on_watched, w);
        if (status)
            return status;
        if (w->unwritten || (w->line_limit > 0 && w->line_count >= w->line_limit))
            return w->unwritten;
    } while (look_sleep(l, w->hurry ? DELAY_MIN_MS : w->delay_ms, TIMER_NEVER));
    return l->signal == SIGPIPE ? EXIT_SIGNAL + SIGPIPE : 0;
}

static int watch_main(const struct command *command, int argc, char **argv)
{
    static const struct look_command own = {.needs_name = true, .signals = true, .run = watch};
    struct watch w = {.delay_ms = DELAY_MS, .look = {.needs_reader = true}};
    int status = look_main(&w.look, command, argc, argv, &own);
    free(w.seen);
    return status;
}

/* The longer the wait so far, the rarer the looks: a tenth of it lies between them. */
#define PAUSE_PART 10
#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 1000

struct wait {
    struct look look;
    const char *held;            /* the first that the last look found held; NULL: none */
    char holders[SHOW_TEXT_MAX]; /* of it */
};

static bool on_awaited(const struct snapshot *s, void *data)
{
    struct wait *w = data;
    if (s->error || !s->held || w->held)
        return true;
    w->held = s->name;
    show_holders(w->holders, s, (struct show_style){0});
    return true;
}

static int report_held(const struct wait *w)
{
    const struct settings *s = &w->look.settings;
    struct failure f = {
        .name = w->held,
        .error = s->wait_ms ? REDLOCK_TIMEOUT : REDLOCK_BUSY,
        .status = EXIT_BUSY,
        .text = w->holders,
        .advice = "wait longer with -w TIME",
    };
    return report_failure(s, &f);
}

static int report_free(const struct look *l, int64_t waited_ms)
{
    struct rl_json j = {.out = stdout};
    if (!l->settings.json)
        return 0;
    message_json_success(&j);
    rl_json_string(&j, "name", l->name[0]);
    rl_json_array(&j, "names");
    for (size_t i = 0; i < l->count; i++)
        rl_json_string(&j, NULL, l->name[i]);
    rl_json_end_array(&j);
    rl_json_integer(&j, "waited_ms", waited_ms);
    rl_json_finish(&j);
    return message_flush();
}

static int64_t pause_ms(int64_t waited_ms)
{
    int64_t part_ms = waited_ms / PAUSE_PART;
    return part_ms < PAUSE_MIN_MS   ? PAUSE_MIN_MS
           : part_ms > PAUSE_MAX_MS ? PAUSE_MAX_MS
                                    : part_ms;
}

/* Nodes that refuse us or are none will go on doing so; those that are silent may come back. */
static bool is_final(int error)
{
    return error && error != REDLOCK_NOQUORUM && error != REDLOCK_GUARDED;
}

static void warn_of_silence(const struct look *l)
{
    char advice[ADVICE_MAX], safe[sizeof l->failed_detail];
    if (!l->client) {
        rl_quote_safe(safe, sizeof safe, l->failed_detail);
        message_warn("%s; asking until it can (-w TIME would limit that)", safe);
        return;
    }
    message_warn("too few nodes answer; asking until they do (-w TIME would limit that)");
    message_warn("next: %s", advice_for(REDLOCK_NOQUORUM, &l->failed_report, false, advice));
}

static int wait_until_free(void *data)
{
    struct wait *w = data;
    struct look *l = &w->look;
    int64_t start_ns = timer_now_ns(), wait_ms = l->settings.wait_ms;
    int64_t end_ns =
        wait_ms == REDLOCK_WAIT_FOREVER ? TIMER_NEVER : start_ns + wait_ms * RL_NS_PER_MS;
    bool warned = l->settings.quiet || wait_ms != REDLOCK_WAIT_FOREVER;
    int64_t now_ns;
    do {
        int status, error;
        w->held = NULL;
        status = look_at(l, l->name, l->count, on_awaited, w);
        if (status)
            return status;
        now_ns = timer_now_ns();
        error = l->failed.error;
        if (!w->held && !error)
            return report_free(l, (now_ns - start_ns) / RL_NS_PER_MS);
        if (is_final(error) || (error && now_ns >= end_ns))
            return look_fail(l, &l->failed);
        if (now_ns >= end_ns)
            return report_held(w);
        if (error && !warned)
            warn_of_silence(l);
        warned = warned || error;
    } while (look_sleep(l, pause_ms((now_ns - start_ns) / RL_NS_PER_MS), end_ns));
    return EXIT_SIGNAL + l->signal;
}

static int wait_main(const struct command *command, int argc, char **argv)
{
    static const struct look_command own = {
        .needs_name = true, .signals = true, .run = wait_until_free};
    struct wait w = {.held = NULL};
    return look_main(&w.look, command, argc, argv, &own);
}

static const struct cli_option watch_options[] = {
    TIME('d', "delay", "look again after this time (1s)", struct watch, delay_ms, DELAY_MIN_MS,
         DELAY_MAX_MS),
    SERVICE_OPTIONS,
    NUMBER('c', "count", "stop after N lines", struct watch, line_limit, 1, LONG_MAX),
    {0},
};

static const struct cli_option wait_options[] = {
    OPTION(SETTING_NO_WAIT, 'n', "no-wait", NULL, "do not wait: look once"),
    OPTION(RL_SETTING_WAIT, 'w', "wait", "TIME", "wait at most this long (forever)"),
    SERVICE_OPTIONS,
    {0},
};

const struct command command_watch = {
    .name = "watch",
    .summary = "print a line whenever the holder of a lock changes",
    .usage = "[OPTION...] NAME...",
    .about =
        "Prints what is known of each NAME, and a further line whenever its holder, its state "
        "or the number of its waiters has changed: with the time of day, the holder and how "
        "many wait. Takes nothing. It polls, every second (--delay) and when a lock must have "
        "expired; what comes and goes between two looks is not seen. Ctrl-C ends it.\n\n"
        "Exits with 0 when a signal or --count ended it.\n",
    .examples = "redlock watch leader\n"
                "redlock watch --json leader | jq -r 'select(.ok) | .label // \"none\"'\n"
                "redlock watch -d 200ms -c 1 deploy backup",
    .options = watch_options,
    .run = watch_main,
};

const struct command command_wait = {
    .name = "wait",
    .summary = "wait until a lock is free, without taking it",
    .usage = "[OPTION...] NAME...",
    .about =
        "Ends when NAME is free: when no process holds it, of whatever kind it is. Of several "
        "NAMEs all have to be free at the same look. Nothing is taken, no place in the queue "
        "either, so the next process to come may have the lock already when this one ends: to "
        "act alone, `redlock run`. It polls: the next look follows when the lock must have "
        "expired, or after a tenth of the time waited so far, from 20 ms to a second.\n\n"
        "Exits with 0 when it is free, 75 when it is still held after -w TIME, 69 when too few "
        "nodes answer by then, 77 when they refuse the credentials.\n",
    .examples = "redlock wait -w 10m deploy && ./announce\n"
                "redlock wait -n deploy || echo 'a deployment is running'",
    .options = wait_options,
    .run = wait_main,
};
