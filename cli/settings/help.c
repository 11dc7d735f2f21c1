/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings/command.h"

#include <stdio.h>
#include <string.h>

#include "ui/message.h"

#define OPTION_COLUMN 28
#define TEXT_COLUMNS 79

const struct cli_option help_shared_options[] = {
    OPTION(RL_SETTING_NODES, 0, "nodes", "URL,...",
           "the nodes, or QUORUM=URL,...;QUORUM=URL,..."),
    OPTION(SETTING_CONFIG, 0, "config", "FILE", "read this configuration file and no other"),
    OPTION(RL_SETTING_PREFIX, 0, "prefix", "TEXT",
           "goes before NAME to make the key (redlock:)"),
    OPTION(RL_SETTING_USER, 0, "user", "NAME", "user for nodes whose URL names none"),
    OPTION(RL_SETTING_PASSWORD_FILE, 0, "password-file", "FILE",
           "its first line is the password"),
    OPTION(RL_SETTING_PASSWORD_COMMAND, 0, "password-command", "COMMAND",
           "or the first line that it prints"),
    OPTION(RL_SETTING_PASSWORD_MAX_AGE, 0, "password-max-age", "TIME",
           "log in again so often, with the newest (5m)"),
    OPTION(RL_SETTING_SENTINEL_USER, 0, "sentinel-user", "NAME",
           "user for the sentinels of sentinel://"),
    OPTION(RL_SETTING_SENTINEL_PASSWORD_FILE, 0, "sentinel-password-file", "FILE",
           "the sentinels' password"),
    OPTION(RL_SETTING_SENTINEL_PASSWORD_COMMAND, 0, "sentinel-password-command", "COMMAND",
           "or the first line that it prints"),
    OPTION(RL_SETTING_TLS_CA, 0, "tls-ca", "FILE", "trust these certificates (the system's)"),
    OPTION(RL_SETTING_TLS_CERT, 0, "tls-cert", "FILE", "client certificate"),
    OPTION(RL_SETTING_TLS_KEY, 0, "tls-key", "FILE", "its private key (inside --tls-cert)"),
    OPTION(RL_SETTING_TLS_NAME, 0, "tls-name", "NAME",
           "name to verify instead of the URL's host"),
    OPTION(RL_SETTING_NODE_TIMEOUT, 0, "node-timeout", "TIME",
           "a node votes within this time (50ms)"),
    OPTION(RL_SETTING_CONNECT_TIMEOUT, 0, "connect-timeout", "TIME",
           "limit to set up a connection (1s)"),
    OPTION(RL_SETTING_MAX_TTL, 0, "max-ttl", "TTL",
           "the longest TTL any client may ask for (60s)"),
    OPTION(RL_SETTING_NO_NATIVE, 0, "no-native", NULL,
           "use scripts even where the server needs none"),
    OPTION(RL_SETTING_PROFILE, 0, "profile", "PROFILE",
           "efficiency or correctness (efficiency)"),
    OPTION(RL_SETTING_GUARD, 0, "guard", "MODE", "on, off or strict: for experts (on)"),
    OPTION(SETTING_VERBOSE, 'v', "verbose", NULL, "show what each node did, also on success"),
    OPTION(SETTING_QUIET, 'q', "quiet", NULL,
           "no report when a lock operation fails, no warnings"),
    {0},
};

const struct cli_option help_general_options[] = {
    OPTION(SETTING_JSON, 0, "json", NULL, "answers and failures as JSON on standard output"),
    OPTION(OPTION_HELP, 'h', "help", NULL, "this text"),
    {0},
};

static void print_options(const struct cli_option *o)
{
    for (; o && o->id; o++) {
        char letter[] = {'-', o->letter, ',', ' ', '\0'};
        int used = printf("  %s--%s%s%s", o->letter ? letter : "    ", o->name,
                          o->argument ? " " : "", o->argument ? o->argument : "");
        printf("%*s%s\n", used < OPTION_COLUMN ? OPTION_COLUMN - used : 2, "", o->help);
    }
}

/* Prints paragraphs, which end with a newline each, in lines that fit any terminal. */
static void print_paragraphs(const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (column > 0 && column + 1 + length > TEXT_COLUMNS) {
            putchar('\n');
            column = 0;
        }
        if (column > 0 && length > 0) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)length, text);
        column += length;
        text += length;
        if (*text == '\n') {
            putchar('\n');
            column = 0;
        }
        text += *text != '\0';
    }
}

int command_help(const struct command *command)
{
    const char *line;
    printf("Usage: redlock %s %s\n\n", command->name, command->usage);
    print_paragraphs(command->about);
    if (command->options && command->options->id) {
        printf("\nOptions:\n");
        print_options(command->options);
        if (command->local)
            print_options(help_general_options);
    }
    if (!command->local) {
        printf("\nShared options:\n");
        print_options(help_shared_options);
        print_options(help_general_options);
        printf(
            "\nNodes come from --nodes, else REDLOCK_NODES, else the configuration file, see\n"
            "redlock.conf(5). A URL is [redis://][user[:password]@]host[:port][/db], the same\n"
            "with rediss:// for TLS, or unix:///path; valkey:// and valkeys:// are as good.\n"
            "A Sentinel group is sentinel://host1+host2+host3/group, sentinels:// with TLS;\n"
            "a cluster is cluster://host1+host2+host3[/VOTES], clusters:// with TLS.\n"
            "--service, or REDLOCK_SERVICE, names a redlockd(8) to use instead of them.\n");
        printf("\nTIME and TTL are seconds (2.5) or carry a unit: 250ms, 30s, 5m, 2h.\n");
    }
    line = command->examples;
    printf("\n%s\n", strchr(line, '\n') ? "Examples:" : "Example:");
    while (*line) {
        int length = (int)strcspn(line, "\n");
        printf("  %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
    printf("\nredlock(1) has the rest, with all exit statuses.\n");
    return message_flush();
}
