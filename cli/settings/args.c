/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/slice.h"
#include "settings/command.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define NAME_MAX_BYTES 32 /* of a long option */
#define OPTIONS_MAX 64    /* of one subcommand */
#define TABLES 3          /* of its options: own, shared, general */

/* args_next(): the end of the command line, and the end of reading it. */
enum { ARGS_END = 0, ARGS_STOP = -1 };

static int stop(struct args *a, int status)
{
    a->status = status;
    return ARGS_STOP;
}

/* The tables in which the options of a subcommand stand. */
static const struct cli_option *table(const struct command *command, int index)
{
    switch (index) {
    case 0:
        return command->options;
    case 1:
        return command->local ? NULL : help_shared_options;
    case 2:
        return help_general_options;
    default:
        return NULL;
    }
}

static const struct cli_option *find(const struct command *command, const char *name,
                                     char letter)
{
    for (int i = 0; i < TABLES; i++) {
        const struct cli_option *o = table(command, i);
        for (; o && o->id; o++) {
            if (name ? strcmp(o->name, name) == 0 : o->letter == letter)
                return o;
        }
    }
    return NULL;
}

static const char *const *option_names(const struct command *command,
                                       const char *known[OPTIONS_MAX])
{
    size_t count = 0;
    for (int i = 0; i < TABLES; i++) {
        const struct cli_option *o = table(command, i);
        for (; o && o->id && count + 1 < OPTIONS_MAX; o++)
            known[count++] = o->name;
    }
    known[count] = NULL;
    return known;
}

static int unknown_name(struct args *a, const char *name)
{
    const char *known[OPTIONS_MAX];
    char shown[RL_QUOTE_MAX];
    const char *nearest = rl_nearest(rl_slice_of(name), option_names(a->command, known));
    rl_quote(shown, name);
    if (nearest)
        return stop(a,
                    message_usage("unknown option --%s; did you mean --%s?", shown, nearest));
    return stop(a, message_usage("unknown option --%s", shown));
}

static int store_time(const struct cli_option *o, const char *value, int64_t *out_ms)
{
    char shown[RL_QUOTE_MAX], low[TEXT_TIME_MAX], high[TEXT_TIME_MAX];
    int64_t time_ms;
    const char *problem = rl_duration_parse(value, &time_ms);
    text_time_option(low, o->low);
    text_time_option(high, o->high);
    rl_quote(shown, value);
    if (!problem && time_ms >= o->low && (!o->high || time_ms <= o->high)) {
        *out_ms = time_ms;
        return 0;
    }
    if (o->high && o->low > 1)
        return message_usage("--%s takes a time from %s to %s", o->name, low, high);
    if (o->high)
        return message_usage("--%s takes a time of at most %s", o->name, high);
    if (problem)
        return message_usage("--%s: '%s' %s", o->name, shown, problem);
    return message_usage("--%s: 0 is no limit; give a time, or leave it out", o->name);
}

/* Stores the value of an option. 0 or an exit status, after printing why. */
static int store(const struct args *a, const struct cli_option *o, const char *value)
{
    char option[NAME_MAX_BYTES + 2];
    void *at = (char *)a->data + o->offset;
    snprintf(option, sizeof option, "--%s", o->name);
    switch (o->id) {
    case OPTION_SWITCH:
        *(bool *)at = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)at = value;
        return 0;
    case OPTION_NUMBER:
        return args_number(option, value, (long)o->low, (long)o->high, at);
    default:
        return store_time(o, value, at);
    }
}

/* Hands a setting on, or the option to the subcommand. Returns its id, 0 to go on, or stops. */
static int deliver(struct args *a, const struct cli_option *o, const char *value)
{
    char shown[RL_QUOTE_MAX];
    const char *problem;
    if (o->id == OPTION_HELP) {
        int status;
        status = command_help(a->command);
        return stop(a, status ? status : ARGS_HELPED);
    }
    if (o->id >= OPTION_OWN)
        return o->id;
    if (o->id >= OPTION_SWITCH) {
        int status = store(a, o, value);
        return status ? stop(a, status) : 0;
    }
    problem = settings_set(a->settings, o->id, value);
    if (!problem)
        return 0;
    rl_quote(shown, value ? value : "");
    if (o->id == RL_SETTING_NODES)
        return stop(a, message_fail(EXIT_CONFIG, "--nodes %s", problem));
    return stop(a, message_usage("--%s: '%s' %s", o->name, shown, problem));
}

static int long_option(struct args *a, const char *text, const char **value)
{
    char name[NAME_MAX_BYTES];
    size_t length = strcspn(text, "=");
    const struct cli_option *o;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name),
             text);
    o = length < sizeof name ? find(a->command, name, 0) : NULL;
    if (!o)
        return unknown_name(a, name);
    *value = text[length] == '=' ? text + length + 1 : NULL;
    if (!o->argument && *value)
        return stop(a, message_usage("--%s takes no value", o->name));
    if (o->argument && !*value) {
        if (a->at == a->argc)
            return stop(a, message_usage("--%s needs a value: %s", o->name, o->argument));
        *value = a->argv[a->at++];
    }
    return deliver(a, o, *value);
}

static int short_option(struct args *a, const char **value)
{
    char letter = *a->group++;
    const struct cli_option *o = find(a->command, NULL, letter);
    if (!o) {
        char text[] = {letter, '\0'}, shown[RL_QUOTE_MAX];
        rl_quote(shown, text);
        return stop(a, message_usage("unknown option -%s", shown));
    }
    *value = NULL;
    if (o->argument) {
        if (*a->group)
            *value = a->group;
        else if (a->at < a->argc)
            *value = a->argv[a->at++];
        else
            return stop(a, message_usage("-%c needs a value: %s", letter, o->argument));
        a->group = NULL;
    }
    return deliver(a, o, *value);
}

/* The next option of the subcommand's own, ARGS_WORD, ARGS_DASHES, ARGS_END or ARGS_STOP. */
static int args_next(struct args *a, const char **value)
{
    int id = 0;
    while (id == 0) {
        const char *word;
        if (a->group && *a->group) {
            id = short_option(a, value);
            continue;
        }
        if (a->at == a->argc)
            return ARGS_END;
        word = a->argv[a->at++];
        if (a->only_words || word[0] != '-' || word[1] == '\0') {
            *value = word;
            return ARGS_WORD;
        }
        if (word[1] != '-') {
            a->group = word + 1;
        } else if (word[2] != '\0') {
            id = long_option(a, word + 2, value);
        } else {
            a->only_words = true;
            return ARGS_DASHES;
        }
    }
    return id;
}

int args_read(const struct command *command, struct settings *s, int argc, char **argv,
              args_take_fn *take, void *data)
{
    struct args a = {
        .command = command, .settings = s, .data = data, .argc = argc, .argv = argv, .at = 1};
    const char *value = NULL;
    int id, status = 0;
    settings_init(s);
    for (const struct cli_option *o = command->options; o && o->id; o++)
        s->config.may_use_service = s->config.may_use_service || o->id == RL_SETTING_SERVICE;
    while (status == 0 && (id = args_next(&a, &value)) != ARGS_END)
        status = id == ARGS_STOP ? a.status
                 : take          ? take(data, &a, id, value)
                                 : message_usage("unexpected word; the nodes are named with "
                                                          "--nodes");
    return status;
}

/* The options that may stand in front of a subcommand: those of all of them. */
static const struct command no_command = {.name = ""};

static int unknown_leading(const char *word)
{
    char shown[RL_QUOTE_MAX];
    const char *known[OPTIONS_MAX];
    const char *nearest =
        word[1] == '-' ? rl_nearest(rl_slice_of(word + 2), option_names(&no_command, known))
                       : NULL;
    rl_quote(shown, word);
    if (nearest)
        return message_usage("unknown option %s; did you mean --%s?", shown, nearest);
    return message_usage("unknown option %s; options of a subcommand go behind it", shown);
}

/*
 * How many of the words are one shared option in front of a subcommand, with its value; 0: the
 * first is --help or --version. The negative of an exit status, after printing why, if it is
 * neither.
 */
static int take_leading(char **words, int count)
{
    const char *word = words[0];
    char name[NAME_MAX_BYTES] = "";
    size_t length = strcspn(word, "=");
    const struct cli_option *o;
    bool is_long;
    if (strcmp(word, "-h") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "--help") == 0 ||
        strcmp(word, "--version") == 0)
        return 0;
    is_long = word[1] == '-';
    if (is_long && length - 2 < sizeof name)
        snprintf(name, sizeof name, "%.*s", (int)(length - 2), word + 2);
    o = find(&no_command, is_long ? name : NULL, word[1] ? word[1] : '-');
    if (!o)
        return -unknown_leading(word);
    if (!o->argument || word[length] == '=')
        return 1;
    return count > 1 ? 2 : -message_usage("--%s needs a value: %s", o->name, o->argument);
}

int args_move_leading(int argc, char **argv)
{
    int words = 0;
    char *subcommand;
    while (1 + words < argc && argv[1 + words][0] == '-') {
        int taken = take_leading(argv + 1 + words, argc - 1 - words);
        if (taken < 0)
            return taken;
        if (taken == 0)
            break;
        words += taken;
    }
    if (words == 0 || 1 + words >= argc)
        return words;
    subcommand = argv[1 + words];
    memmove(argv + 2, argv + 1, (size_t)words * sizeof *argv);
    argv[1] = subcommand;
    return words;
}

int args_number(const char *option, const char *value, long low, long high, long *out)
{
    int64_t number = rl_number_read(rl_slice_of(value), high);
    if (number >= low) {
        *out = (long)number;
        return 0;
    }
    if (high == LONG_MAX)
        return message_usage("%s takes a number from %ld on", option, low);
    return message_usage("%s takes a number from %ld to %ld", option, low, high);
}

int command_check_name(const char *name)
{
    size_t length = strlen(name);
    if (length == 0)
        return message_usage("the lock name is empty");
    if (length > REDLOCK_NAME_MAX)
        return message_usage("the lock name has %zu bytes; at most %d are allowed", length,
                             REDLOCK_NAME_MAX);
    return 0;
}
