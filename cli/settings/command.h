/* SPDX-License-Identifier: BSD-2-Clause */
/* What a subcommand is, and how its command line is read. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings/settings.h"

/*
 * Ids of options: below are the settings, these are stored where the table sets, and those of a
 * subcommand that takes them itself start behind.
 */
enum {
    OPTION_HELP = 90,
    OPTION_SWITCH, /* a bool becomes true */
    OPTION_TEXT,   /* a const char * */
    OPTION_NUMBER, /* a long */
    OPTION_TIME,   /* an int64_t, in ms */
    OPTION_OWN = 100,
};

struct cli_option {
    int id;               /* a setting, or one of the above; 0 ends a table */
    char letter;          /* 0: long form only */
    const char *name;     /* without its dashes */
    const char *argument; /* what it takes, as the help names it; NULL: a switch */
    const char *help;
    size_t offset;     /* where it is stored in the data of the subcommand */
    int64_t low, high; /* of a number or a time; a time without `high` has no limit */
};

/* Rows of a table: an option that is set or taken elsewhere, and those that are stored. */
#define OPTION(id, letter, name, argument, help)                                               \
    {                                                                                          \
        id, letter, name, argument, help, 0, 0, 0                                              \
    }
#define STORED(id, letter, name, argument, help, type, member, low, high)                      \
    {                                                                                          \
        id, letter, name, argument, help, offsetof(type, member), low, high                    \
    }
#define SWITCH(letter, name, help, type, member)                                               \
    STORED(OPTION_SWITCH, letter, name, NULL, help, type, member, 0, 0)
#define TEXT(letter, name, argument, help, type, member)                                       \
    STORED(OPTION_TEXT, letter, name, argument, help, type, member, 0, 0)
#define NUMBER(letter, name, help, type, member, low, high)                                    \
    STORED(OPTION_NUMBER, letter, name, "N", help, type, member, low, high)
#define TIME(letter, name, help, type, member, low, high)                                      \
    STORED(OPTION_TIME, letter, name, "TIME", help, type, member, low, high)

struct command {
    const char *name;
    const char *alias;                /* another name for it; NULL: none */
    const char *elsewhere;            /* what other lock programs call it; NULL: the same */
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
    OPTION(RL_SETTING_TTL, 't', "ttl", "TTL", "expire after this time unless renewed (30s)")
#define WAIT_OPTION                                                                            \
    OPTION(RL_SETTING_WAIT, 'w', "wait", "TIME",                                               \
           "wait at most this long for the lock (forever)")
#define SERVICE_OPTIONS                                                                        \
    OPTION(RL_SETTING_SERVICE, 0, "service", "URL", "use this redlockd instead of the nodes"), \
        OPTION(RL_SETTING_TOKEN_FILE, 0, "token-file", "FILE",                                 \
               "its first line is the service's token"),                                       \
        OPTION(RL_SETTING_INSECURE, 0, "insecure", NULL,                                       \
               "send token and leases to another machine without TLS")
#define NO_WAIT_OPTION OPTION(SETTING_NO_WAIT, 'n', "no-wait", NULL, "do not wait: try once")

/* A command line while it is read. */
struct args {
    const struct command *command;
    struct settings *settings;
    void *data;  /* of the subcommand */
    char **argv; /* argv[0] is the subcommand */
    int argc;
    int at;            /* next to be looked at */
    const char *group; /* rest of a cluster of letters like -nq */
    bool only_words;   /* behind -- */
    int status;        /* why reading stopped: an exit status, or ARGS_HELPED */
};

/* Instead of an option's id: a plain word, the first --. */
enum { ARGS_WORD = -2, ARGS_DASHES = -3 };

/* Instead of an exit status: --help was given and printed, nothing is left to do. */
#define ARGS_HELPED (-1)

/*
 * Takes an option from OPTION_OWN on with its argument, ARGS_WORD with the word, or
 * ARGS_DASHES. Returns 0 or an exit status, after printing why.
 */
typedef int args_take_fn(void *data, struct args *a, int id, const char *value);

/*
 * Reads a whole command line: settings go into `s`, which it initialises, anything else to
 * `take`; without one no word is allowed. Returns 0, an exit status after printing why, or
 * ARGS_HELPED.
 */
int args_read(const struct command *command, struct settings *s, int argc, char **argv,
              args_take_fn *take, void *data);

/*
 * Moves options in front of the subcommand behind it, where its own are read. Returns how many
 * words of argv they are, or the negative of an exit status, after printing why.
 */
int args_move_leading(int argc, char **argv);

/* Reads a number for `option`; 0 or an exit status, after printing why. */
int args_number(const char *option, const char *value, long low, long high, long *out);

/* The options that all subcommands have, and those of all that talk to nodes. */
extern const struct cli_option help_general_options[], help_shared_options[];

/* Prints the help of a subcommand to standard output; returns the exit status. */
int command_help(const struct command *command);

/* Checks a lock name. Returns 0 or an exit status, after printing why. */
int command_check_name(const char *name);

#endif
