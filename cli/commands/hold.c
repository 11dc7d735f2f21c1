/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "io/sink.h"
#include "lock/held_lock.h"
#include "lock/value_word.h"
#include "report/report.h"
#include "settings/command.h"
#include "system/input.h"
#include "system/signals.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

/* A reader of the last lines that takes longer than this does not read them. */
#define LAST_LINES_MS 1000
#define OUT_BYTES 65536 /* of lines that wait for the reader */

struct hold {
    struct settings settings;
    struct terms terms;
    struct held_lock held;
    int signal_fd;
    int64_t reported_ns; /* the end of the validity, as last reported */
    size_t first_size;   /* bytes of the line that reports it held */
    int signal;          /* that ended it; 0: none */
};

/* Threads use them until the process ends. */
static struct rl_sink *out;
static struct input input;

/* Nothing waits for the reader: a line for which there is no room is dropped. The first one,
 * which may have many names, always finds room. */
static void put_line(FILE *line, char **text, size_t *size)
{
    if (fclose(line) == 0)
        rl_sink_put(out, *text, *size);
    free(*text);
}

/* Could the line that reports it held not be written? Then no program works under the
 * lock. A later line is not worth the lock: a program that reads only the first one works under
 * it. */
static bool is_unreported(const struct hold *h)
{
    struct rl_sink_counts counts;
    rl_sink_count(out, &counts);
    return counts.error && counts.written < h->first_size;
}

/* A line about the lock; `lost` has the reason of a loss, `text` more about the event. */
static void report_event(struct hold *h, const char *event, int lost, const char *text)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *line = open_memstream(&bytes, &size);
    bool held = strcmp(event, "held") == 0;
    if (!line)
        return;
    if (h->settings.json) {
        struct rl_json j = {.out = line};
        if (lost)
            message_json_failure(&j, redlock_error_name(lost), text, EXIT_LOST);
        else
            message_json_success(&j);
        rl_json_string(&j, "event", event);
        rl_json_string(&j, "name", h->terms.name[0]);
        if (text && !lost)
            rl_json_string(&j, "message", text);
        if (held)
            held_lock_json(&h->held, &h->terms, &j);
        else if (!lost && strcmp(event, "released") != 0)
            rl_json_integer(&j, "remaining_ms", redlock_remaining_ms(h->held.lock));
        if (!lost && strcmp(event, "released") != 0)
            rl_json_integer(&j, "deadline_ns", redlock_deadline_ns(h->held.lock));
        rl_json_finish(&j);
    } else {
        char value[VALUE_WORD_MAX];
        value_word_write(value, redlock_value(h->held.lock));
        fprintf(line, "%s", event);
        if (held)
            fprintf(line, " %s", value);
        if (held && redlock_fence(h->held.lock) > 0)
            fprintf(line, " %lld", (long long)redlock_fence(h->held.lock));
        fputc('\n', line);
    }
    fflush(line);
    if (held)
        h->first_size = size;
    put_line(line, &bytes, &size);
}

static void report_changes(struct hold *h, int before)
{
    char nodes[512];
    int state = h->held.state;
    int64_t deadline_ns = redlock_deadline_ns(h->held.lock);
    if (state == REDLOCK_STATE_JEOPARDY && state != before) {
        report_failed_nodes(&h->held.failed_renewal, nodes, sizeof nodes);
        report_event(h, "jeopardy", 0, nodes);
    } else if (state == REDLOCK_STATE_HELD && state != before) {
        report_event(h, "recovered", 0, NULL);
    } else if (h->settings.verbose && deadline_ns > h->reported_ns) {
        report_event(h, "renewed", 0, NULL);
    }
    if (deadline_ns > h->reported_ns)
        h->reported_ns = deadline_ns;
}

static bool has_ended(void *data)
{
    return input_is_over(data);
}

/* Renews the lock until the program that wants it, a signal or the loss of
 * it ends that. */
static void keep(struct hold *h)
{
    struct pollfd watched[] = {
        {.fd = redlock_fd(h->held.client), .events = POLLIN},
        {.fd = h->signal_fd, .events = POLLIN},
        {.fd = input.over_fd, .events = POLLIN},
        {.fd = rl_sink_failed_fd(out), .events = POLLIN},
    };
    while (h->held.state != REDLOCK_STATE_LOST && !h->signal && !input_is_over(&input) &&
           !is_unreported(h)) {
        int before = h->held.state;
        if (poll(watched, 4, -1) < 0 && errno != EINTR)
            return;
        if (watched[1].revents)
            h->signal = signals_next_fatal();
        if (watched[3].revents)
            watched[3].fd = -1; /* it is reported once */
        held_lock_process(&h->held, 0);
        report_changes(h, before);
    }
}

static int report_lost(struct hold *h, int error, const char *text)
{
    struct failure f;
    report_event(h, "lost", error, text);
    if (!h->settings.json)
        held_lock_find_successor(&h->held, &h->terms);
    f = (struct failure){
        .name = h->terms.name[0],
        .error = error,
        .status = EXIT_LOST,
        .text = text,
        .report = &h->held.report,
    };
    return h->settings.json ? EXIT_LOST : report_failure(&h->settings, &f);
}

static int give_back(struct hold *h)
{
    int error = held_lock_release(&h->held);
    if (h->held.state == REDLOCK_STATE_LOST)
        return report_lost(h, h->held.lost_error, "the lock was lost");
    if (error == REDLOCK_LOST || error == REDLOCK_EXPIRED)
        return report_lost(h, error, "the lock was gone before it was given back");
    if (error != REDLOCK_OK)
        held_lock_warn_unreleased(&h->held, "");
    report_event(h, "released", 0, NULL);
    return h->signal ? EXIT_SIGNAL + h->signal : 0;
}

static int hold_it(struct hold *h)
{
    struct held_lock_watch watch = {.fd = input.over_fd, .is_over = has_ended, .data = &input};
    struct rl_sink_counts written;
    int status, error;
    h->held.watch = &watch;
    error = held_lock_acquire(&h->held, &h->settings, &h->terms, REDLOCK_RENEW, h->signal_fd,
                              &h->signal);
    if (h->signal)
        return EXIT_SIGNAL + h->signal;
    if (error == REDLOCK_CANCELED)
        return EXIT_BUSY; /* the program that wanted it is gone, or no longer wants it */
    if (error != REDLOCK_OK)
        return held_lock_report_failure(&h->held, &h->settings, &h->terms, error, EXIT_BUSY);
    out = rl_sink_open(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDOUT_FILENO), RL_SINK_TEXT,
                       OUT_BYTES);
    if (!out) {
        error = errno;
        held_lock_release(&h->held);
        return message_fail(EXIT_INTERNAL, "%s", strerror(error));
    }
    h->reported_ns = redlock_deadline_ns(h->held.lock);
    report_event(h, "held", 0, NULL);
    if (h->settings.verbose)
        report_table(&h->held.report, errors_stream());
    keep(h);
    status = give_back(h);
    rl_sink_wait(out, LAST_LINES_MS);
    rl_sink_count(out, &written);
    if (status == 0 && is_unreported(h)) {
        message_line("%s: standard output: %s; the lock was given back", h->terms.name[0],
                     strerror(written.error));
        status = EXIT_INTERNAL;
    }
    return status;
}

static int begin(struct hold *h)
{
    int error;
    if (input_is_at_end())
        return message_usage(
            "standard input is at its end, and the lock would be given back at once: hold it "
            "open, with a pipe, for as long as the lock is needed");
    h->signal_fd = signals_take();
    if (h->signal_fd < 0)
        return EXIT_INTERNAL;
    error = input_watch(&input);
    if (error)
        return message_fail(EXIT_INTERNAL, "cannot wait for input: %s", strerror(error));
    return held_lock_open(&h->held, &h->settings);
}

static int hold_main(const struct command *command, int argc, char **argv)
{
    struct hold h = {.signal_fd = -1};
    int status = terms_read(&h.terms, &h.settings, command, argc, argv);
    if (status == 0)
        status = begin(&h);
    if (status == 0)
        status = hold_it(&h);
    held_lock_close(&h.held);
    settings_free(&h.settings);
    return status;
}

static const struct cli_option options[] = {
    NO_WAIT_OPTION, WAIT_OPTION, TTL_OPTION, TERMS_OPTIONS, {0}};

const struct command command_hold = {
    .name = "hold",
    .summary = "hold a lock for a program at the other end of a pipe",
    .usage = "[OPTION...] NAME...",
    .about =
        "Waits for the lock NAME, for ever unless the wait is limited, and prints a line when "
        "it has it: `held`, the value and the fencing token. It renews the lock and gives it "
        "back when its standard input ends or the process that started it does, in whatever "
        "way; then the last line is `released`. `jeopardy` means that a renewal failed, "
        "`recovered` that a later one worked, and `lost` that the lock is no longer held: that "
        "is the last line, and the exit status is 76. The end of the output without a last "
        "line means that this process was killed: the lock is not renewed any more.\n\n"
        "For programs in languages that have no library: they start it, read a line, work, and "
        "close its input. What they write there means nothing. A reader that does not read "
        "does not keep the lock from being renewed. With --json each line is an object that "
        "also has the deadline; -v adds `renewed` with every new one.\n\n"
        "Exits with 0 when the lock was given back, 76 when it was lost, 75 when it is held by "
        "another or the input ended during the wait, 69 when too few nodes could vote, 70 when "
        "the first line could not be written: the lock is given back.\n",
    .examples = "redlock hold --json -w 10s report\n"
                "coproc redlock hold deploy; read -r held value token <&\"${COPROC[0]}\"",
    .options = options,
    .run = hold_main,
};
