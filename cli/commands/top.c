/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands/sample.h"
#include "report/node_view.h"
#include "report/report.h"
#include "settings/command.h"
#include "settings/duration.h"
#include "settings/open_client.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/kind.h"
#include "ui/message.h"
#include "ui/screen.h"
#include "ui/table.h"
#include "ui/text.h"

enum { OPTION_DELAY = OPTION_OWN, OPTION_FRAMES };

#define DELAY_MS 1000
#define DELAY_MIN_MS 100
#define DELAY_MAX_MS 3600000
#define LOCK_ROWS_KEPT 4 /* of a small window, for locks: nodes are summed up then */
#define NAME_MIN 16
#define NAME_COLUMNS_MAX 120
#define NAME_TEXT_MAX (4 * NAME_COLUMNS_MAX + 4) /* bytes of them */
#define OTHER_COLUMNS 54                         /* that stand behind the name of a lock */

struct top {
    struct settings settings;
    int64_t delay_ms;
    long count; /* frames; 0: until the user quits */
    int signal_fd;
    bool quit;
    bool redraw; /* the window has another size */
    int status;
    struct sample sample;
    struct screen screen;
    enum text_colour node_colour[REDLOCK_NODES_MAX];
};

/* ---- what is shown ---- */

/* "4 of 5 nodes answer, 3 needed", "6 of 6 nodes answer, 2 of 2 quorums" */
static int describe_nodes(const struct sample *s, char *out, size_t size)
{
    uint32_t nodes = 0, answered = 0;
    size_t available = 0;
    for (size_t quorum = 0; quorum < s->quorum_count; quorum++) {
        const redlock_report *ping = &s->pings[quorum];
        uint32_t here = 0;
        for (uint32_t i = 0; i < ping->node_count; i++)
            here += ping->node[i].vote == REDLOCK_VOTE_GRANTED;
        nodes += ping->node_count;
        answered += here;
        available += here >= ping->quorum;
    }
    if (s->quorum_count == 1)
        return snprintf(out, size, "%u of %u nodes answer, %u needed", answered, nodes,
                        s->pings[0].quorum);
    return snprintf(out, size, "%u of %u nodes answer, %zu of %zu quorums", answered, nodes,
                    available, s->quorum_count);
}

static void print_title(struct top *t)
{
    const struct sample *s = &t->sample;
    char line[SCREEN_LINE_MAX], nodes[80], clock[16] = "";
    uint64_t waiters = 0, held = 0;
    time_t now = time(NULL);
    struct tm local;
    for (size_t i = 0; i < s->count; i++) {
        held += s->locks[i].info.held;
        waiters += s->locks[i].info.waiters;
    }
    if (localtime_r(&now, &local))
        strftime(clock, sizeof clock, "%H:%M:%S", &local);
    describe_nodes(s, nodes, sizeof nodes);
    int used = snprintf(line, sizeof line, "redlock top %s  %s; %llu held, %llu waiting", clock,
                        nodes, (unsigned long long)held, (unsigned long long)waiters);
    if (s->unasked > 0 && used > 0)
        snprintf(line + used, sizeof line - (size_t)used, "; %zu not looked at", s->unasked);
    screen_line(&t->screen, TEXT_TITLE, line);
}

static void print_node(struct top *t, struct table *table, size_t quorum, uint32_t index)
{
    const redlock_report *ping = &t->sample.pings[quorum];
    char guard[NODE_VIEW_TEXT_MAX], rtt[TEXT_TIME_MAX];
    struct node_view v;
    node_view_look(&v, redlock_member(t->sample.client, quorum), ping, index);
    text_rtt(rtt, v.rtt_us);
    table_row(table);
    table_set(table, 0, TEXT_PLAIN, ping->quorum_name);
    table_set(table, 1, TEXT_PLAIN, v.ping->address);
    table_set(table, 2, TEXT_PLAIN, node_view_state(&v));
    table_set(table, 3, TEXT_PLAIN, node_view_guard(&v, &t->settings, guard));
    table_set(table, 4, TEXT_PLAIN, v.info.version[0] ? v.info.version : "-");
    table_set(table, 5, TEXT_PLAIN, rtt);
    table_set(table, 6, TEXT_PLAIN, v.why);
    t->node_colour[index] = !v.answered          ? TEXT_BAD
                            : v.info.quarantined ? TEXT_WAIT
                                                 : TEXT_PLAIN;
}

/* The nodes of one quorum, if there is room for all of them. */
static void print_quorum(struct top *t, size_t quorum)
{
    static const char *const heading[] = {"QUORUM",  "NODE", "STATE", "GUARD",
                                          "VERSION", "RTT",  "WHY",   NULL};
    uint32_t count = t->sample.pings[quorum].node_count;
    struct table table;
    char *text = NULL;
    size_t size;
    if (screen_left(&t->screen) < count + LOCK_ROWS_KEPT + 3)
        return;
    table_begin(&table, heading);
    for (uint32_t i = 0; i < count; i++)
        print_node(t, &table, quorum, i);
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    table_print(&table, "", memory);
    if (fclose(memory) == 0) {
        char *rest = text, *line;
        for (uint32_t row = 0; (line = strsep(&rest, "\n")) && rest; row++)
            screen_line(&t->screen, row == 0 ? TEXT_HEADING : t->node_colour[row - 1], line);
    }
    free(text);
    screen_line(&t->screen, TEXT_PLAIN, "");
}

static void print_nodes(struct top *t)
{
    for (size_t i = 0; i < t->sample.quorum_count; i++)
        print_quorum(t, i);
}

static void print_lock(struct top *t, const struct sample_lock *lock, size_t name_columns)
{
    const redlock_info *info = &lock->info;
    char line[SCREEN_LINE_MAX], name[NAME_TEXT_MAX], holders[24], left[TEXT_TIME_MAX];
    char rate[24] = "-";
    int64_t tenths = sample_rate_tenths(lock);
    text_fit(name, sizeof name, lock->name, name_columns);
    if (kind_words(info->kind)->has_slots)
        snprintf(holders, sizeof holders, "%u/%u", info->holder_count, info->slots);
    else
        snprintf(holders, sizeof holders, "%u", info->holder_count);
    text_time(left, info->held ? lock->left_ms : -1);
    if (tenths >= 0)
        snprintf(rate, sizeof rate, "%lld.%d", (long long)(tenths / 10), (int)(tenths % 10));
    snprintf(line, sizeof line, "%s %-9s %7s %7u %12s %9s%s", name,
             info->kind < 0 ? "free" : redlock_kind_text(info->kind), holders, info->waiters,
             left, rate, info->disagree ? " !" : "");
    screen_line(&t->screen,
                info->disagree      ? TEXT_BAD
                : info->waiters > 0 ? TEXT_WAIT
                                    : TEXT_PLAIN,
                line);
}

static void print_locks(struct top *t)
{
    const struct sample *s = &t->sample;
    char line[SCREEN_LINE_MAX], name[NAME_TEXT_MAX];
    size_t columns = t->screen.full ? t->screen.columns : 80;
    size_t name_columns =
        columns > OTHER_COLUMNS + NAME_MIN ? columns - OTHER_COLUMNS : NAME_MIN;
    if (s->error != REDLOCK_OK) {
        char safe[sizeof s->detail];
        text_safe(safe, sizeof safe, s->detail);
        screen_line(&t->screen, TEXT_BAD, safe);
        if (!sample_has_locks(s))
            return;
    }
    if (name_columns > NAME_COLUMNS_MAX)
        name_columns = NAME_COLUMNS_MAX;
    text_fit(name, sizeof name, "NAME", name_columns);
    snprintf(line, sizeof line, "%s %-9s %7s %7s %12s %9s", name, "KIND", "HOLDERS", "WAITERS",
             "LEFT", "CHANGES/S");
    screen_line(&t->screen, TEXT_HEADING, line);
    for (size_t i = 0; i < s->count; i++) {
        size_t left = screen_left(&t->screen);
        if (left == 1 && s->count - i > 1) {
            snprintf(line, sizeof line, "and %zu more", s->count - i);
            screen_line(&t->screen, TEXT_PLAIN, line);
            return;
        }
        if (s->locks[i].asked_ns)
            print_lock(t, &s->locks[i], name_columns);
    }
    if (s->count == 0)
        screen_line(&t->screen, TEXT_PLAIN, "no locks");
}

static void draw(struct top *t)
{
    screen_begin(&t->screen);
    print_title(t);
    print_nodes(t);
    print_locks(t);
    screen_end(&t->screen);
}

/* ---- going on ---- */

static void on_signals(struct top *t)
{
    for (int signal = signals_next(); signal; signal = signals_next()) {
        if (signal == SIGWINCH) {
            t->redraw = true;
        } else if (signals_is_stop(signal) && t->screen.full) {
            screen_close(&t->screen);
            signals_stop_self(signal);
            screen_open(&t->screen);
            t->redraw = true;
        } else if (signals_is_stop(signal)) {
            signals_stop_self(signal);
        } else if (signals_is_fatal(signal)) {
            t->quit = true;
            /* At a terminal it is the usual way to leave. */
            t->status = signal == SIGINT && t->screen.full ? 0 : EXIT_SIGNAL + signal;
        }
    }
}

static void on_keys(struct top *t)
{
    char key;
    ssize_t got;
    while ((got = read(STDIN_FILENO, &key, 1)) == 1)
        t->quit = t->quit || key == 'q' || key == 'Q';
    if (got < 0 && errno != EAGAIN && errno != EINTR)
        t->quit = true; /* the terminal has gone */
}

/* Waits for keys and signals, until `end_ns`. */
static void wait_until(struct top *t, int64_t end_ns)
{
    struct pollfd watched[] = {
        {.fd = t->signal_fd, .events = POLLIN},
        {.fd = t->screen.keys ? STDIN_FILENO : -1, .events = POLLIN},
    };
    do {
        int64_t left_ms = (end_ns - timer_now_ns() + NS_PER_MS - 1) / NS_PER_MS;
        if (poll(watched, 2, left_ms > 0 ? (int)left_ms : 0) < 0 && errno != EINTR)
            t->quit = true;
        if (watched[0].revents)
            on_signals(t);
        if (watched[1].revents)
            on_keys(t);
        if (t->redraw && t->screen.full && !t->quit)
            draw(t);
        t->redraw = false;
    } while (!t->quit && timer_now_ns() < end_ns);
}

/* Between two questions to the nodes. */
static bool has_quit(void *data)
{
    struct top *t = data;
    wait_until(t, 0);
    return t->quit;
}

static int show_frames(struct top *t)
{
    int64_t budget_ms = t->delay_ms > DELAY_MS ? t->delay_ms : DELAY_MS;
    for (long frame = 0; !t->quit; frame++) {
        int64_t started_ns = timer_now_ns();
        sample_take(&t->sample, budget_ms, has_quit, t);
        if (t->quit)
            break;
        if (t->settings.json)
            sample_json(&t->sample);
        else
            draw(t);
        int unwritten = message_flush();
        if (unwritten)
            return unwritten;
        t->status = exit_status_of(t->sample.error);
        if (t->count > 0 && frame + 1 == t->count)
            break;
        t->status = 0;
        wait_until(t, started_ns + t->delay_ms * NS_PER_MS);
    }
    return t->status;
}

static int take(void *data, struct args *a, int id, const char *value)
{
    struct top *t = data;
    (void)a;
    switch (id) {
    case ARGS_WORD:
        return message_usage("unexpected word; top shows all locks");
    case OPTION_DELAY:
        if (duration_parse(value, &t->delay_ms) || t->delay_ms < DELAY_MIN_MS ||
            t->delay_ms > DELAY_MAX_MS)
            return message_usage("--delay takes a time from 100ms to 1h");
        return 0;
    case OPTION_FRAMES:
        if (!args_number(value, 1, LONG_MAX, &t->count))
            return message_usage("--count takes a number of frames, from 1 on");
        return 0;
    }
    return 0;
}

static int show(struct top *t)
{
    t->signal_fd = signals_take();
    if (t->signal_fd < 0)
        return message_fail(EXIT_INTERNAL, "cannot wait for signals: %s", strerror(errno));
    if (!t->settings.json)
        screen_open(&t->screen);
    int status = show_frames(t);
    screen_close(&t->screen);
    return status;
}

static int top_main(const struct command *command, int argc, char **argv)
{
    struct top t = {.delay_ms = DELAY_MS, .signal_fd = -1};
    int status = args_read(command, &t.settings, argc, argv, take, &t);
    t.settings.no_node_warnings = true; /* the nodes are on the screen */
    if (status == 0)
        status = settings_complete(&t.settings);
    if (status == 0)
        status = client_open(&t.settings, &t.sample.client);
    if (status == 0)
        status = show(&t);
    sample_free(&t.sample);
    redlock_close(t.sample.client);
    settings_free(&t.settings);
    return status;
}

static const struct cli_option options[] = {
    {OPTION_DELAY, 'd', "delay", "TIME", "look again after this time (1s)"},
    {OPTION_FRAMES, 'n', "count", "N", "stop after N frames"},
    {0},
};

const struct command command_top = {
    .name = "top",
    .summary = "watch the nodes and the busiest locks",
    .usage = "[OPTION...]",
    .about =
        "Shows the nodes and the locks on them, again every second: how many hold each, how "
        "many wait, how long the last holder has left, and how often the holder changes. The "
        "locks for which most wait come first. On a terminal, q or Ctrl-C ends it; elsewhere "
        "one frame is printed after another.\n\n"
        "Exits with 0, or after --count frames with 69 or 77 when too few nodes answered for "
        "the last one.\n",
    .examples = "redlock top\n"
                "redlock top -n 1 --json | jq '.locks[] | select(.waiters > 0)'",
    .options = options,
    .run = top_main,
};
