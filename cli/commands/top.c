/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "commands/top.h"
#include "system/signals.h"
#include "system/timer.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/screen.h"

enum { OPTION_SORT = OPTION_OWN, OPTION_BY };

#define DELAY_MS 1000
#define DELAY_MIN_MS 100
#define DELAY_MAX_MS 3600000

struct top {
    struct look look;
    int64_t delay_ms;
    long count; /* frames; 0: until the user quits */
    bool quit;
    bool redraw; /* the window has another size */
    int status;
    bool by_class; /* classes of a service, instead of nodes and locks */
    struct sample sample;
    struct top_classes classes;
    struct screen screen;
};

static void draw(struct top *t)
{
    if (t->by_class)
        top_classes_draw(&t->screen, &t->classes);
    else
        top_view_draw(&t->screen, &t->sample);
}

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
    while ((got = read(STDIN_FILENO, &key, 1)) == 1) {
        t->quit = t->quit || key == 'q' || key == 'Q';
        if (key == 's' || key == 'S') {
            sample_sort(&t->sample, (t->sample.order + 1) % SAMPLE_ORDERS);
            t->redraw = true;
        }
    }
    if (got < 0 && errno != EAGAIN && errno != EINTR)
        t->quit = true; /* the terminal has gone */
}

/* Waits for keys and signals, until `end_ns`. */
static void wait_until(struct top *t, int64_t end_ns)
{
    struct pollfd watched[] = {
        {.fd = t->look.signal_fd, .events = POLLIN},
        {.fd = t->screen.keys ? STDIN_FILENO : -1, .events = POLLIN},
    };
    do {
        int64_t left_ms = (end_ns - timer_now_ns() + RL_NS_PER_MS - 1) / RL_NS_PER_MS;
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

/* Between two queries of the nodes. */
static bool has_quit(void *data)
{
    struct top *t = data;
    wait_until(t, 0);
    return t->quit;
}

/* Looks anew: OK, or an enum redlock_error. */
static int take_sample(struct top *t)
{
    int error;
    if (!t->by_class) {
        sample_take(&t->sample, t->delay_ms > DELAY_MS ? t->delay_ms : DELAY_MS, has_quit, t);
        return t->sample.error;
    }
    error = top_classes_take(&t->classes, &t->look);
    wait_until(t, 0);
    return error;
}

static int show_frames(struct top *t)
{
    for (long frame = 0; !t->quit; frame++) {
        int64_t started_ns = timer_now_ns();
        int error = take_sample(t);
        int unwritten;
        if (t->quit)
            break;
        if (!t->look.settings.json)
            draw(t);
        else if (t->by_class)
            top_classes_json(&t->classes);
        else
            top_view_json(&t->sample);
        unwritten = message_flush();
        if (unwritten)
            return unwritten;
        t->status = exit_status_of(error);
        if (t->count > 0 && frame + 1 == t->count)
            break;
        t->status = 0;
        wait_until(t, started_ns + t->delay_ms * RL_NS_PER_MS);
    }
    return t->status;
}

static int read_order(struct top *t, const char *value)
{
    for (int order = 0; order < SAMPLE_ORDERS; order++) {
        if (strcmp(value, sample_order_word(order)) == 0) {
            t->sample.order = order;
            return 0;
        }
    }
    return message_usage("--sort takes busy, name, age or left");
}

static int take_option(void *data, int id, const char *value)
{
    struct top *t = data;
    switch (id) {
    case OPTION_SORT:
        return read_order(t, value);
    case OPTION_BY:
        t->by_class = strcmp(value, "class") == 0;
        return t->by_class ? 0 : message_usage("--by takes class");
    }
    return 0;
}

static int check(void *data)
{
    struct top *t = data;
    struct settings *s = &t->look.settings;
    if (!t->by_class && settings_is_given(s, RL_SETTING_SERVICE))
        return message_usage("top queries a service with --by class only");
    if (t->by_class && t->look.count > 0)
        return message_usage("--by class shows all classes, and takes no PATTERN");
    s->config.may_use_service = t->by_class;
    s->no_node_warnings = true; /* the nodes are on the screen */
    return 0;
}

static int show(void *data)
{
    struct top *t = data;
    int status;
    if (t->by_class && t->look.client)
        return message_usage("--by class shows what a redlockd has counted: name it with "
                             "--service or REDLOCK_SERVICE");
    if (!t->look.settings.json)
        screen_open(&t->screen);
    status = show_frames(t);
    screen_close(&t->screen);
    return status;
}

static int top_main(const struct command *command, int argc, char **argv)
{
    static const struct look_command own = {
        .patterns = true, .signals = true, .option = take_option, .check = check, .run = show};
    struct top t = {.delay_ms = DELAY_MS};
    int status;
    t.sample.look = &t.look;
    status = look_main(&t.look, command, argc, argv, &own);
    top_classes_free(&t.classes);
    sample_free(&t.sample);
    return status;
}

static const struct cli_option options[] = {
    TIME('d', "delay", "look again after this time (1s)", struct top, delay_ms, DELAY_MIN_MS,
         DELAY_MAX_MS),
    NUMBER('c', "count", "stop after N frames", struct top, count, 1, LONG_MAX),
    OPTION(OPTION_SORT, 0, "sort", "ORDER", "by name, age, left, or busy first (the default)"),
    OPTION(OPTION_BY, 0, "by", "class", "show what a redlockd has counted by class"),
    SERVICE_OPTIONS,
    {0},
};

const struct command command_top = {
    .name = "top",
    .summary = "watch the nodes and the busiest locks",
    .usage = "[OPTION...] [PATTERN...]",
    .about =
        "Shows the nodes and the locks on them, again every second: who holds each, of which "
        "kind, for how long (FOR), what the last holder has left (LEFT), how many wait and "
        "who, and how often the holder changes in a second (CHG/S). With PATTERN, as for "
        "`redlock list`, only locks of such names. Locks about which the nodes disagree (!) "
        "come first, then those for which most wait, then those held for longest, as on the "
        "page of redlockd. On a terminal, q or Ctrl-C ends it and s changes the order; "
        "elsewhere one frame is printed after another.\n\n"
        "With --by class it shows what a redlockd has counted since it started "
        "of each class of locks in its settings: grants, mean times until the grant (WAIT) and "
        "from it to the end (HOLD), waits that ended without the lock, losses, and what has "
        "expired without a release.\n\n"
        "Exits with 0, or after --count frames with 69 or 77 when too few nodes answered for "
        "the last one.\n",
    .examples = "redlock top\n"
                "redlock top --sort age 'deploy-*'\n"
                "redlock top --by class --service unix:/run/redlockd/redlockd.sock\n"
                "redlock top -c 1 --json | jq '.locks[] | select(.waiters > 0)'",
    .options = options,
    .run = top_main,
};
