/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/quote.h"
#include "commands/run.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

enum { OPTION_SKIP_OK = OPTION_OWN, OPTION_ON_LOST };

#define GRACE_DEFAULT (-1)

#define GRACE_OPTION                                                                           \
    TIME(0, "grace", "TERM this long before the end (TTL/3, at most 5s)", struct run,          \
         supervision.grace_ms, 0, 0)
#define NO_ENV_OPTION                                                                          \
    SWITCH(0, "no-env", "hide from it where locks are, and passwords", struct run,             \
           hide_settings)

const struct cli_option run_options[] = {
    NO_WAIT_OPTION,
    WAIT_OPTION,
    TTL_OPTION,
    TERMS_OPTIONS,
    SERVICE_OPTIONS,
    NUMBER('E', "busy-status", "exit status when it is held by another (75)", struct run,
           busy_status, 0, 255),
    OPTION(OPTION_SKIP_OK, 0, "skip-ok", NULL, "exit with 0 when it is held by another"),
    TIME(0, "every", "start it at most once in this time, 1s to 1d", struct run,
         period.period_ms, 1, 0),
    TIME(0, "min-hold", "keep the lock at least this long", struct run, min_hold_ms, 0, 0),
    TIME(0, "max-hold", "stop the command after this time, with 76", struct run, max_hold_ms, 1,
         0),
    OPTION(OPTION_ON_LOST, 0, "on-lost", "WHAT",
           "term, kill, ignore or a signal, if not renewed"),
    GRACE_OPTION,
    NO_ENV_OPTION,
    {0},
};

/* A term has a token and one leader: what would give it none, or several, is not offered. */
const struct cli_option lead_options[] = {
    WAIT_OPTION,
    TTL_OPTION,
    OPTION(OPTION_FAIR, 0, "fair", NULL, "never before a candidate that came earlier"),
    OPTION(OPTION_LABEL, 0, "label", "TEXT",
           "what `redlock leader` shows (user@host:pid, command)"),
    SERVICE_OPTIONS,
    TIME(0, "max-hold", "resign after this time, and stand again", struct run, max_hold_ms, 1,
         0),
    OPTION(OPTION_ON_LOST, 0, "on-lost", "WHAT", "term, kill or a signal, if not renewed"),
    GRACE_OPTION,
    NO_ENV_OPTION,
    {0},
};

/* Signals that a command may want instead of TERM. */
static int signal_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {
        {"TERM", SIGTERM}, {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},
        {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"ABRT", SIGABRT},
    };
    if (strncasecmp(name, "SIG", 3) == 0)
        name += 3;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcasecmp(name, known[i].name) == 0)
            return known[i].number;
    }
    return 0;
}

static int read_on_lost(struct run *r, const char *value)
{
    struct supervision *w = &r->supervision;
    int signal = signal_of(value);
    char shown[RL_QUOTE_MAX];
    if (signal) {
        w->on_lost = ON_LOST_SIGNAL;
        w->signal = signal;
        return 0;
    }
    if (strcasecmp(value, "kill") == 0 || strcasecmp(value, "sigkill") == 0) {
        w->on_lost = ON_LOST_KILL;
        return 0;
    }
    if (strcmp(value, "ignore") == 0) {
        w->on_lost = ON_LOST_IGNORE;
        return 0;
    }
    rl_quote(shown, value);
    return message_usage("--on-lost: '%s' is neither term, kill, ignore nor one of the signals "
                         "HUP, INT, QUIT, USR1, USR2, ALRM, ABRT",
                         shown);
}

/* Where the next -- is, from `at` on; argc: there is none. */
static int find_dashes(const struct args *a, int at)
{
    while (at < a->argc && strcmp(a->argv[at], "--") != 0)
        at++;
    return at;
}

/* `-- NAME... -- COMMAND` is for names that start with a dash. */
static int take_dashed_names(struct run *r, struct args *a)
{
    int dashes = find_dashes(a, a->at), status = 0;
    if (dashes == a->argc || dashes == a->at)
        return message_usage("NAME is missing in front of --");
    for (int i = a->at; i < dashes && status == 0; i++)
        status = terms_add_name(&r->terms, a->argv[i]);
    a->at = dashes + 1;
    return status;
}

/* A NAME, or the start of COMMAND; `dashes` when it is a -- that was read. */
static int take_word(struct run *r, struct args *a, const char *word, bool dashes)
{
    bool named = r->terms.name_count > 0;
    int status = 0;
    if (!dashes && (!named || find_dashes(a, a->at) < a->argc))
        return terms_add_name(&r->terms, word);
    if (!dashes)
        a->at--; /* without -- the second word is the command */
    else if (!named)
        status = take_dashed_names(r, a);
    r->command = a->argv + a->at;
    a->at = a->argc; /* the rest is not ours to read */
    return status;
}

static int take(void *data, struct args *a, int id, const char *value)
{
    struct run *r = data;
    switch (id) {
    case ARGS_WORD:
    case ARGS_DASHES:
        return take_word(r, a, value, id == ARGS_DASHES);
    case OPTION_SKIP_OK:
        r->skip_ok = true;
        r->settings.no_node_warnings = true; /* cron would mail them from every machine */
        return 0;
    case OPTION_ON_LOST:
        return read_on_lost(r, value);
    default:
        return terms_option(&r->terms, id, value);
    }
}

/* What the options that set when the command runs, and for how long, mean together. */
static int check_times(const struct run *r)
{
    const struct terms *t = &r->terms;
    int64_t period_ms = r->period.period_ms;
    const char *several = terms_several(t);
    if (period_ms && (period_ms < PERIOD_MIN_MS || period_ms > PERIOD_MAX_MS))
        return message_usage("--every takes a time from 1s to 1d");
    if (period_ms && (several || t->name_count > 1))
        return message_usage("--every goes with one exclusive lock: leave out %s",
                             several ? several : "all names but one");
    if (r->max_hold_ms && r->max_hold_ms < r->min_hold_ms)
        return message_usage("--max-hold is shorter than --min-hold");
    if (r->leads && r->supervision.on_lost == ON_LOST_IGNORE)
        return message_usage(
            "--on-lost ignore would let a leader act after the end of its term");
    if (r->supervision.on_lost == ON_LOST_IGNORE && r->max_hold_ms)
        return message_usage(
            "--on-lost ignore lets the command run on, and --max-hold ends it; "
            "leave one of them out");
    if (r->leads && t->name_count > 1)
        return message_usage("there is one leader of one NAME; leave the others out");
    if (r->leads && r->settings.wait_ms == 0)
        return message_usage("a candidate waits until it is elected: wait for a while (-w)");
    return 0;
}

/* What a service does not do. */
static int check_service(const struct run *r)
{
    if (r->terms.name_count > 1)
        return message_usage(
            "a service locks one name at a time: leave out all others, or nest "
            "one `redlock run` in another, always in one order");
    if (r->settings.config.guard || r->settings.config.profile)
        return message_usage("the service decides about its nodes: leave out --profile and "
                             "--guard");
    return 0;
}

static int check_options(struct run *r)
{
    int status = 0;
    int64_t ttl_ms;
    if (r->terms.name_count == 0)
        return message_usage(r->leads ? "NAME is missing: leader of what?"
                                      : "NAME is missing: which lock?");
    if (!r->command || !r->command[0])
        return message_usage(r->leads ? "COMMAND is missing: what should the leader run?"
                                      : "COMMAND is missing: what should run under the lock?");
    status = settings_complete(&r->settings);
    if (status == 0)
        status = settings_check_ttl(&r->settings);
    if (status == 0)
        status = terms_complete(&r->terms, true);
    terms_label(&r->terms, getpid(), r->command[0]);
    if (status)
        return status;
    status = check_times(r);
    if (status == 0 && r->settings.service)
        status = check_service(r);
    if (status)
        return status;
    ttl_ms = r->settings.ttl_ms;
    /* Renewal begins when two thirds are left: a longer grace would end a healthy lock. */
    if (r->supervision.grace_ms > ttl_ms / 2)
        return message_usage("--grace may be at most half of the TTL");
    if (r->supervision.grace_ms == GRACE_DEFAULT)
        r->supervision.grace_ms = supervise_grace_ms(ttl_ms);
    r->supervision.kill_margin_ms = supervise_kill_margin_ms(ttl_ms);
    return 0;
}

int run_read(struct run *r, const struct command *command, int argc, char **argv)
{
    int status;
    r->busy_status = EXIT_BUSY;
    r->leads = command == &command_lead;
    r->terms.fence = r->leads;
    r->supervision.signal = SIGTERM;
    r->supervision.grace_ms = GRACE_DEFAULT;
    status = args_read(command, &r->settings, argc, argv, take, r);
    return status ? status : check_options(r);
}
