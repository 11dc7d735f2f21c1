/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/message.h"

#include <errno.h>
#include <poll.h>
#include <redlock.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/json.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/text.h"

#define MESSAGE_MAX 1024
#define ANSWER_MAX 64      /* of the operator */
#define CONTINUED_INDENT 2 /* of a sentence that goes on in the next line */

static struct {
    const char *command;
    bool json;
    bool quiet;
} state;

void message_setup(const char *command, bool json)
{
    state.command = command;
    state.json = json;
}

void message_use_json(bool json)
{
    state.json = json;
}

void message_be_quiet(void)
{
    state.quiet = true;
}

/* A terminal would break long lines within words. */
static void print_wrapped(const char *before, const char *text)
{
    FILE *out = errors_stream();
    errors_erase(); /* a warning may come while the live line of a wait is drawn */
    fputs(before, out);
    text_wrap(out, text, text_width(before), CONTINUED_INDENT, errors_line_columns());
    putc('\n', out);
}

static void print_line(const char *text)
{
    char before[64];
    snprintf(before, sizeof before, "redlock%s%s: ", state.command ? " " : "",
             state.command ? state.command : "");
    print_wrapped(before, text);
}

static void fail(int status, const char *text)
{
    if (state.json) {
        struct rl_json j = {.out = stdout};
        message_json_failure(&j, exit_status_word(status), text, status);
        rl_json_finish(&j);
        fflush(stdout);
    } else {
        print_line(text);
    }
}

int message_fail(int status, const char *format, ...)
{
    char text[MESSAGE_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fail(status, text);
    return status;
}

int message_usage(const char *format, ...)
{
    char text[MESSAGE_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fail(EXIT_USAGE, text);
    if (!state.json)
        fprintf(errors_stream(), "Try: redlock %s%s--help\n",
                state.command ? state.command : "", state.command ? " " : "");
    return EXIT_USAGE;
}

void message_warn(const char *format, ...)
{
    char text[MESSAGE_MAX];
    va_list list;
    if (state.quiet)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    print_line(text);
}

void message_node_warning(const char *address, const char *text)
{
    char before[REDLOCK_ADDRESS_MAX + 32];
    snprintf(before, sizeof before, "redlock: warning: %s: ", address);
    print_wrapped(before, text);
}

void message_line(const char *format, ...)
{
    char text[MESSAGE_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    print_line(text);
}

void message_json_failure(struct rl_json *j, const char *error, const char *text, int status)
{
    rl_json_object(j, NULL);
    rl_json_bool(j, "ok", false);
    rl_json_string(j, "command", state.command);
    rl_json_string(j, "error", error);
    rl_json_string(j, "message", text);
    rl_json_integer(j, "exit_status", status);
}

void message_json_success(struct rl_json *j)
{
    rl_json_object(j, NULL);
    rl_json_bool(j, "ok", true);
    rl_json_string(j, "command", state.command);
}

void message_json(struct rl_json *j, int error, const char *text)
{
    if (error == REDLOCK_OK)
        message_json_success(j);
    else
        message_json_failure(j, redlock_error_name(error), text, exit_status_of(error));
}

/* An earlier write may have failed, and its errno is lost. */
static bool reader_is_gone(void)
{
    struct pollfd watched = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&watched, 1, 0) == 1 && (watched.revents & POLLERR);
}

int message_flush(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno == EPIPE || (errno == 0 && reader_is_gone()))
        return EXIT_SIGNAL + SIGPIPE;
    print_line(errno ? strerror(errno) : "standard output cannot be written");
    return EXIT_INTERNAL;
}

int message_confirm(const char *question)
{
    char answer[ANSWER_MAX];
    fprintf(errors_stream(), "%s [y/N] ", question);
    fflush(errors_stream());
    if (fgets(answer, sizeof answer, stdin)) {
        answer[strcspn(answer, "\n")] = '\0';
        if (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0)
            return 0;
    } else {
        fputc('\n', errors_stream());
    }
    return message_fail(EXIT_DECLINED, "nothing was changed");
}
