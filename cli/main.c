/* SPDX-License-Identifier: BSD-2-Clause */
#include <redlock.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/nearest.h"
#include "base/quote.h"
#include "base/slice.h"
#include "settings/command.h"
#include "system/lookup.h"
#include "system/process.h"
#include "system/signals.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

static const struct command *const commands[] = {
    &command_run,    &command_lead,   &command_leader, &command_hold, &command_lock,
    &command_extend, &command_unlock, &command_status, &command_list, &command_watch,
    &command_wait,   &command_fence,  &command_break,  &command_top,  &command_nodes,
    &command_doctor, &command_init,   &command_bench,  &command_dev,
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        const char *alias = commands[i]->alias;
        if (strcmp(commands[i]->name, name) == 0 || (alias && strcmp(alias, name) == 0))
            return commands[i];
    }
    return NULL;
}

static int overview(void)
{
    printf("Usage: redlock [OPTION...] SUBCOMMAND [OPTION...] [ARGUMENT...]\n\n"
           "Locks that a majority of independent Redis or Valkey servers agree on.\n\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
    printf("  %-8s %s\n", "help", "explain a subcommand: redlock help run");
    printf("  %-8s %s\n", "version", "print the version");
    printf("\nExample, from cron on many machines, one of them makes the report:\n"
           "  redlock run -n --skip-ok --every 23h nightly -- make report\n\n"
           "No servers at hand? Try it with five of your own:\n"
           "  redlock dev -- sh -c 'redlock run demo -- echo locked; redlock nodes'\n\n"
           "Options that all subcommands share, --nodes or --json for instance, may stand\n"
           "before it. redlock(1) has the rest.\n");
    return message_flush();
}

static int version(bool json)
{
    if (json) {
        struct rl_json j = {.out = stdout};
        message_json_success(&j);
        rl_json_string(&j, "version", redlock_version());
        rl_json_finish(&j);
    } else {
        printf("redlock %d.%d.%d (library %s)\n", REDLOCK_VERSION_MAJOR, REDLOCK_VERSION_MINOR,
               REDLOCK_VERSION_PATCH, redlock_version());
    }
    return message_flush();
}

static int unknown(const char *name)
{
    const char *known[COMMANDS + 3] = {"help", "version"}, *nearest = NULL;
    char shown[RL_QUOTE_MAX];
    for (size_t i = 0; i < COMMANDS; i++) {
        known[i + 2] = commands[i]->name;
        if (commands[i]->elsewhere && strcmp(commands[i]->elsewhere, name) == 0)
            nearest = commands[i]->name;
    }
    if (!nearest)
        nearest = rl_nearest(rl_slice_of(name), known);
    rl_quote(shown, name);
    if (nearest)
        return message_usage("unknown subcommand '%s'; did you mean '%s'?", shown, nearest);
    return message_usage("unknown subcommand '%s'", shown);
}

static int help(int argc, char **argv)
{
    const struct command *command;
    if (argc < 2)
        return overview();
    command = find(argv[1]);
    return command ? command_help(command) : unknown(argv[1]);
}

/* Mistakes must be reported in JSON too, also those found before --json has been reached. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    int status, leading;
    const char *name;
    const struct command *command;
    process_begin(argc, argv);
    lookup_without_modules();
    signals_ignore_pipe();
    message_setup(NULL, wants_json(argc, argv));
    leading = args_move_leading(argc, argv);
    if (leading < 0)
        return -leading;
    if (argc - leading < 2)
        return message_usage("a subcommand is missing; `redlock help` lists them");
    name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return overview();
    if (strcmp(name, "help") == 0)
        return help(argc - leading - 1, argv + leading + 1);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 ||
        strcmp(name, "version") == 0) {
        message_setup("version", wants_json(argc, argv));
        return version(wants_json(argc, argv));
    }
    command = find(name);
    if (!command)
        return unknown(name);
    message_setup(command->name, wants_json(argc, argv));
    status = command->run(command, argc - 1, argv + 1);
    errors_drain();
    return signals_finish(status == ARGS_HELPED ? 0 : status);
}
