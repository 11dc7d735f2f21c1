/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of this process: to people on standard error, or with --json as one object on
 * standard output. Which of the two, and for which subcommand, is set once.
 */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <stdbool.h>

struct rl_json;

/* `command` names the subcommand in front of messages; NULL: none yet. */
void message_setup(const char *command, bool json);

/* What the parsed command line sets for --json, which is better than the first guess. */
void message_use_json(bool json);

/* Silences message_warn(). */
void message_be_quiet(void);

/* Prints what is wrong and returns `status`, so that a caller can return it in turn. */
int message_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a command line that is wrong: points at --help and returns EXIT_USAGE. */
int message_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A remark on standard error that changes nothing. */
void message_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same about a node, in words of the library. */
void message_node_warning(const char *address, const char *text);

/* A line of text on standard error, with the name of the command in front. */
void message_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Starts the object every failure is reported in: ok, command, error, message, exit_status. */
void message_json_failure(struct rl_json *j, const char *error, const char *text, int status);
/* And every success: ok, command. */
void message_json_success(struct rl_json *j);
/* Either of them, for an enum redlock_error of a lock operation. */
void message_json(struct rl_json *j, int error, const char *text);

/*
 * Flushes standard output. Returns 0, or the status for output that could not be written; a
 * reader that went away (`| head`) needs no message.
 */
int message_flush(void);

/*
 * A question to the operator before something that cannot be taken back: on standard error,
 * with a line from standard input. Returns 0 for y or yes, else an exit status after printing
 * that nothing was changed.
 */
int message_confirm(const char *question);

#endif
