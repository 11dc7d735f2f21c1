/* SPDX-License-Identifier: BSD-2-Clause */
/* What a subcommand is, and how its command line is read. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>

#include "settings/settings.h"

/* Ids of a subcommand's own options start here; below are the settings. */
#define OPTION_OWN 100

struct cli_option {
    int id;               /* enum setting, or OPTION_OWN and up; 0 ends a table */
    char letter;          /* 0: long form only */
    const char *name;     /* without its dashes */
    const char *argument; /* what it takes, as the help names it; NULL: a switch */
    const char *help;
};

struct command {
    const char *name;
    const char *alias;                /* another name for it; NULL: none */
    const char *summary;              /* for the list of subcommands */
    const char *usage;                /* what follows `redlock NAME` */
    const char *about;                /* what it does: paragraphs, each ends with a newline */
    const char *examples;             /* one per line */
    const struct cli_option *options; /* its own */
    bool local; /* does not talk to nodes: takes no shared options but --json */
    int (*run)(const struct command *command, int argc, char **argv);
};

extern const struct command command_run, command_hold, command_lock, command_extend,
    command_unlock, command_status, command_list, command_break, command_top, command_nodes,
    command_init, command_doctor, command_bench, command_dev, command_watch, command_wait,
    command_fence, command_lead, command_leader;

/* Options that several subcommands have. */
#define TTL_OPTION                                                                             \
    {                                                                                          \
        SETTING_TTL, 't', "ttl", "TTL", "expire after this time unless renewed (30s)"          \
    }
#define WAIT_OPTION                                                                            \
    {                                                                                          \
        SETTING_WAIT, 'w', "wait", "TIME", "wait at most this long for the lock (forever)"     \
    }
#define SERVICE_OPTIONS                                                                        \
    {SETTING_SERVICE, 0, "service", "URL", "ask this redlockd instead of the nodes"},          \
        {SETTING_TOKEN_FILE, 0, "token-file", "FILE",                                          \
         "its first line is the service's token"},                                             \
    {                                                                                          \
        SETTING_INSECURE, 0, "insecure", NULL,                                                 \
            "send token and leases to another machine without TLS"                             \
    }
#define NO_WAIT_OPTION                                                                         \
    {                                                                                          \
        SETTING_NO_WAIT, 'n', "no-wait", NULL, "do not wait: try once"                         \
    }

/* A command line while it is read. */
struct args {
    const struct command *command;
    struct settings *settings;
    char **argv; /* argv[0] is the subcommand */
    int argc;
    int at;            /* next to be looked at */
    const char *group; /* rest of a cluster of letters like -nq */
    bool only_words;   /* behind -- */
    int status;        /* why reading stopped: an exit status, or ARGS_HELPED */
};

/* Instead of an option's id: a plain word, the first --. */
enum { ARGS_WORD = -2, ARGS_DASHES = -3 };

/* Instead of an exit status: --help was asked for and printed, nothing is left to do. */
#define ARGS_HELPED (-1)

/*
 * Takes an option of the subcommand's own with its argument, ARGS_WORD with the word, or
 * ARGS_DASHES. Returns 0 or an exit status, after saying why.
 */
typedef int args_take_fn(void *data, struct args *a, int id, const char *value);

/*
 * Reads a whole command line: settings go into `s`, which it initialises, anything else to
 * `take`. Returns 0, an exit status after saying why, or ARGS_HELPED.
 */
int args_read(const struct command *command, struct settings *s, int argc, char **argv,
              args_take_fn *take, void *data);

/*
 * How many of the words are one shared option in front of a subcommand, with its value; 0: the
 * first is --help or --version. The negative of an exit status, after saying why, if it is
 * neither.
 */
int args_leading(char **words, int count);

/* Reads a decimal number from low to high; false: it is none. */
bool args_number(const char *value, long low, long high, long *out);

/* Reads a number from 1 to `most` for `option`; 0 or an exit status, after saying why. */
int args_count(const char *option, const char *value, long most, long *out);

/* Prints the help of a subcommand to standard output; returns the exit status. */
int command_help(const struct command *command);

/* Checks a lock name. Returns 0 or an exit status, after saying why. */
int command_check_name(const char *name);

#endif
