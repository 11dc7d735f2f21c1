/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <redlock.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "settings/command.h"
#include "system/signals.h"
#include "system/title.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

static const struct command *const commands[] = {
    &command_run,    &command_lock, &command_extend, &command_unlock,
    &command_status, &command_list, &command_top,    &command_nodes,
    &command_doctor, &command_init, &command_bench,  &command_dev,
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
    printf("Usage: redlock SUBCOMMAND [OPTION...] [ARGUMENT...]\n\n"
           "Locks that a majority of independent Redis or Valkey servers agree on.\n\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
    printf("  %-8s %s\n", "help", "explain a subcommand: redlock help run");
    printf("\nExample, one of many machines makes the report:\n"
           "  redlock run -n nightly-report -- make report\n\n"
           "No servers at hand? Try it with five of your own:\n"
           "  redlock dev -- sh -c 'redlock run demo -- echo locked; redlock nodes'\n\n"
           "redlock --version prints the version; redlock(1) has the rest.\n");
    return message_flush();
}

static int unknown(const char *name)
{
    const char *known[COMMANDS + 2] = {"help"};
    char shown[TEXT_QUOTE_MAX];
    for (size_t i = 0; i < COMMANDS; i++)
        known[i + 1] = commands[i]->name;
    const char *nearest = text_nearest(name, known);
    text_quote(shown, name);
    const char *what = *name == '-' ? "option" : "subcommand";
    if (nearest)
        return message_usage("unknown %s '%s'; did you mean '%s'?", what, shown, nearest);
    return message_usage("unknown %s '%s'", what, shown);
}

static int help(int argc, char **argv)
{
    if (argc < 3)
        return overview();
    const struct command *command = find(argv[2]);
    return command ? command_help(command) : unknown(argv[2]);
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

/* A connection must never end up where a program expects standard input or output. */
static void open_standard_files(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv)
{
    title_keep(argc, argv);
    open_standard_files();
    signals_ignore_pipe();
    message_setup(NULL, wants_json(argc, argv));
    if (argc < 2)
        return message_usage("a subcommand is missing: run, lock, extend, unlock, status, top, "
                             "nodes, doctor, init, bench or dev");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return overview();
    if (strcmp(argv[1], "help") == 0)
        return help(argc, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("redlock %d.%d.%d (library %s)\n", REDLOCK_VERSION_MAJOR, REDLOCK_VERSION_MINOR,
               REDLOCK_VERSION_PATCH, redlock_version());
        return message_flush();
    }
    const struct command *command = find(argv[1]);
    if (!command)
        return unknown(argv[1]);
    message_setup(command->name, wants_json(argc, argv));
    int status = command->run(command, argc - 1, argv + 1);
    errors_drain();
    return signals_finish(status == ARGS_HELPED ? 0 : status);
}
