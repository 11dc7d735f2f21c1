/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <unistd.h>

#include "base/json.h"
#include "lock/held_lock.h"
#include "lock/value_word.h"
#include "report/report.h"
#include "settings/command.h"
#include "system/signals.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"

static void print_json(const struct held_lock *h, const struct terms *t)
{
    struct rl_json j = {.out = stdout};
    message_json_success(&j);
    rl_json_string(&j, "name", t->name[0]);
    held_lock_json(h, t, &j);
    report_json(&h->report, &j, false);
    rl_json_finish(&j);
}

/* The reader of standard output took longer than the lock lives. */
static int report_late(struct held_lock *h, const struct settings *s, const struct terms *t)
{
    struct failure f;
    held_lock_release(h);
    f = (struct failure){.name = t->name[0],
                         .error = REDLOCK_EXPIRED,
                         .status = EXIT_LOST,
                         .text = "the lock ended before its value was read",
                         .advice = "read it at once, or ask for a longer TTL (-t)"};
    return report_failure(s, &f);
}

/* Hands the value over. Returns 0 or an exit status; then the lock has been given back. */
static int hand_over(struct held_lock *h, const struct settings *s, const struct terms *t)
{
    char value[VALUE_WORD_MAX];
    int status;
    value_word_write(value, redlock_value(h->lock));
    if (s->json)
        print_json(h, t);
    else if (redlock_fence(h->lock) > 0)
        printf("%s %lld\n", value, (long long)redlock_fence(h->lock));
    else
        printf("%s\n", value);
    status = message_flush();
    if (status == 0) {
        if (s->verbose)
            report_table(&h->report, errors_stream());
        if (redlock_remaining_ms(h->lock) <= 0)
            return report_late(h, s, t);
        held_lock_leave(h);
        return 0;
    }
    /* No process has the value, so none could unlock it. */
    held_lock_release(h);
    message_line("the value could not be written; the lock was released again");
    return EXIT_INTERNAL;
}

static int acquire(struct held_lock *h, struct settings *s, const struct terms *t)
{
    int signal = 0;
    int signal_fd = signals_take();
    int error, status;
    if (signal_fd < 0)
        return EXIT_INTERNAL;
    status = held_lock_open(h, s);
    if (status)
        return status;
    error = held_lock_acquire(h, s, t, 0, signal_fd, &signal);
    if (signal)
        return EXIT_SIGNAL + signal;
    return error == REDLOCK_OK ? hand_over(h, s, t)
                               : held_lock_report_failure(h, s, t, error, EXIT_BUSY);
}

static int lock_main(const struct command *command, int argc, char **argv)
{
    struct settings s;
    struct held_lock h = {0};
    struct terms t = {0};
    int status = terms_read(&t, &s, command, argc, argv);
    /* It gives a handle, and the wait is its caller's to request. */
    if (!(s.config.given & (1u << RL_SETTING_WAIT)))
        s.wait_ms = 0;
    if (status == 0)
        status = acquire(&h, &s, &t);
    held_lock_close(&h);
    settings_free(&s);
    return status;
}

static const struct cli_option options[] = {
    OPTION(SETTING_NO_WAIT, 'n', "no-wait", NULL, "do not wait: try once (the default)"),
    OPTION(RL_SETTING_WAIT, 'w', "wait", "TIME", "wait at most this long for the lock (0)"),
    TTL_OPTION,
    TERMS_OPTIONS,
    {0},
};

const struct command command_lock = {
    .name = "lock",
    .elsewhere = "acquire",
    .summary = "take a lock for a script and print its value",
    .usage = "[OPTION...] NAME...",
    .about =
        "Takes the lock NAME, without waiting unless -w is given, and prints its value, which "
        "`redlock extend` and `redlock unlock` need, and behind a space its fencing token. It "
        "is not renewed: it expires after its TTL. Any process that knows the value can "
        "unlock, so treat it as a secret.\n\n"
        "Several NAMEs are locked together, all or none, and have one value. With --shared, "
        "others may hold NAME with --shared at the same time; with --slots K, K may. With "
        "--owner, or REDLOCK_OWNER, a request with the same owner may take it again.\n\n"
        "Exits with 75 when the lock is held by another, 69 when too few nodes could vote.\n",
    .examples = "value=$(redlock lock -w 10s -t 30s deploy) || exit\n"
                "./deploy.sh; redlock unlock deploy \"$value\"\n"
                "read -r value token < <(redlock lock ledger)",
    .options = options,
    .run = lock_main,
};
