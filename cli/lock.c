/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "command.h"
#include "exit.h"
#include "hold.h"
#include "json.h"
#include "message.h"
#include "report.h"
#include "signals.h"

static int read_options(struct args *a, const char **name)
{
    const char *value;
    int id;
    while ((id = args_next(a, &value)) != ARGS_END) {
        if (id == ARGS_STOP)
            return a->status;
        if (id == ARGS_WORD && *name)
            return message_usage("one NAME is enough; to run a command use `redlock run`");
        if (id == ARGS_WORD)
            *name = value;
    }
    return *name ? command_check_name(*name) : message_usage("NAME is missing: which lock?");
}

static void print_json(const struct hold *h, const struct settings *s, const char *name)
{
    struct json j = {.out = stdout};
    message_json_success(&j);
    json_string(&j, "name", name);
    json_string(&j, "value", redlock_value(h->lock));
    json_integer(&j, "ttl_ms", s->ttl_ms);
    json_integer(&j, "validity_ms", redlock_remaining_ms(h->lock));
    report_json(&h->report, &j);
    json_end_object(&j);
    json_finish(&j);
}

/* Hands the value over. Returns 0 or an exit status; then the lock has been given back. */
static int hand_over(struct hold *h, const struct settings *s, const char *name)
{
    if (s->json)
        print_json(h, s, name);
    else
        printf("%s\n", redlock_value(h->lock));
    int status = message_flush();
    if (status == 0) {
        if (s->verbose)
            report_table(&h->report, stderr);
        hold_leave(h);
        return 0;
    }
    /* Nobody knows the value: nobody could unlock it. */
    hold_release(h);
    message_line("the value could not be written; the lock was released again");
    return EXIT_INTERNAL;
}

static int acquire(struct hold *h, const struct settings *s, const char *name)
{
    int signal = 0;
    int signal_fd = signals_take();
    if (signal_fd < 0)
        return message_fail(EXIT_INTERNAL, "cannot wait for signals: %s", strerror(errno));
    int status = client_open(s, &h->client);
    if (status)
        return status;
    int error = hold_acquire(h, s, name, 0, signal_fd, &signal);
    if (signal)
        return EXIT_SIGNAL + signal;
    if (error == REDLOCK_OK)
        return hand_over(h, s, name);
    bool busy = error == REDLOCK_BUSY || error == REDLOCK_TIMEOUT;
    if (busy)
        report_complete(h->client, name, &h->report);
    char advice[REPORT_ADVICE_MAX];
    struct failure f = {
        .name = name,
        .error = error,
        .status = exit_status_of(error),
        .text = h->detail,
        .report = &h->report,
    };
    if (!busy && report_quarantine(h->client, &h->report, advice))
        f.advice = advice;
    return report_failure(s, &f);
}

static int lock_main(const struct command *command, int argc, char **argv)
{
    struct settings s;
    struct args a;
    struct hold h = {0};
    const char *name = NULL;
    settings_init(&s);
    args_begin(&a, command, &s, argc, argv);
    int status = read_options(&a, &name);
    if (status || a.stopped)
        goto cleanup;
    status = settings_complete(&s);
    if (status == 0)
        status = settings_check_ttl(&s);
    if (status == 0)
        status = acquire(&h, &s, name);
cleanup:
    hold_close(&h);
    settings_free(&s);
    return status;
}

static const struct option options[] = {OPTION_NO_WAIT, OPTION_WAIT, OPTION_TTL, {0}};

const struct command command_lock = {
    .name = "lock",
    .summary = "take a lock for a script and print its value",
    .usage = "[OPTION...] NAME",
    .about =
        "Waits for the lock NAME, for ever unless told otherwise, and prints its value, "
        "which `redlock extend` and `redlock unlock` want to see. Nobody renews it: it "
        "expires after its TTL. Whoever knows the value can unlock, so treat it as a "
        "secret.\n\n"
        "Exits with 75 when the lock is held by another, 69 when too few nodes could vote.\n",
    .examples = "value=$(redlock lock -w 10s -t 30s deploy) || exit\n"
                "./deploy.sh; redlock unlock deploy \"$value\"",
    .options = options,
    .run = lock_main,
};
