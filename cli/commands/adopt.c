/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/adopt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/report.h"
#include "settings/open_client.h"
#include "ui/exit.h"
#include "ui/message.h"

/* One line of standard input, up to a limit that a value never reaches. Returns its length. */
static size_t read_input(char *line, size_t size)
{
    size_t used = 0;
    while (used < size) {
        ssize_t got = read(STDIN_FILENO, line + used, size - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
        if (memchr(line, '\n', used))
            break;
    }
    char *end = memchr(line, '\n', used);
    size_t length = end ? (size_t)(end - line) : used;
    return length > 0 && line[length - 1] == '\r' ? length - 1 : length;
}

static int take_value(struct adopted_locks *h, const char *word)
{
    char line[2 * REDLOCK_VALUE_MAX];
    const char *value = word ? word : getenv("REDLOCK_VALUE");
    if (!value)
        return message_usage(
            "VALUE is missing: give it as a word, as - with standard input, or "
            "in REDLOCK_VALUE");
    size_t length = strlen(value);
    if (word && strcmp(word, "-") == 0) {
        value = line;
        length = read_input(line, sizeof line);
    }
    if (length == 0)
        return message_usage("the value is empty");
    if (length > REDLOCK_VALUE_MAX)
        return message_usage("the value is too long: a lock value has at most %d bytes",
                             REDLOCK_VALUE_MAX);
    if (memchr(value, '\0', length))
        return message_usage("the value contains a NUL byte");
    memcpy(h->value, value, length);
    h->value[length] = '\0';
    return 0;
}

/* Of several words the last is VALUE; a single one is NAME. */
static int read_options(struct adopted_locks *h, struct args *a)
{
    const char *word, *value = NULL;
    int id, status = 0;
    while ((id = args_next(a, &word)) != ARGS_END) {
        if (id == ARGS_STOP)
            return a->status;
        if (id != ARGS_WORD)
            continue;
        if (h->name_count == REDLOCK_NAMES_MAX && value)
            return message_usage("too many words: at most %d names and VALUE",
                                 REDLOCK_NAMES_MAX);
        if (value)
            h->name[h->name_count++] = value;
        value = word;
        if (h->name_count == 0) {
            h->name[h->name_count++] = value;
            value = NULL;
        }
    }
    if (h->name_count == 0)
        return message_usage("NAME is missing: which lock?");
    for (size_t i = 0; i < h->name_count && status == 0; i++)
        status = command_check_name(h->name[i]);
    return status ? status : take_value(h, value);
}

static int adopt(struct adopted_locks *h)
{
    for (size_t i = 0; i < h->name_count; i++) {
        int error = redlock_adopt(h->client, h->name[i], h->value, &h->lock[i]);
        if (error != REDLOCK_OK)
            return client_fail(error);
    }
    return 0;
}

static int begin(struct adopted_locks *h, const struct command *command, int argc, char **argv)
{
    struct args a;
    settings_init(&h->settings);
    args_begin(&a, command, &h->settings, argc, argv);
    int status = read_options(h, &a);
    h->stopped = a.stopped;
    if (status || a.stopped)
        return status;
    status = settings_complete(&h->settings);
    if (status == 0)
        status = settings_check_ttl(&h->settings);
    if (status == 0)
        status = client_open(&h->settings, &h->client);
    return status ? status : adopt(h);
}

int adopt_report_failure(const struct adopted_locks *h, size_t index, int error,
                         const char *text, const char *advice)
{
    redlock_report report = {.size = sizeof report};
    char detail[REDLOCK_TEXT_MAX * 2];
    snprintf(detail, sizeof detail, "%s", text ? text : redlock_detail());
    if (redlock_lock_report(h->lock[index], &report) != REDLOCK_OK)
        report.node_count = 0;
    struct failure f = {
        .name = h->name[index],
        .error = error,
        .status = exit_status_of(error),
        .text = detail,
        .advice = advice,
        .report = &report,
    };
    return report_failure(&h->settings, &f);
}

static void end(struct adopted_locks *h)
{
    settings_free(&h->settings);
    for (size_t i = 0; i < h->name_count; i++)
        redlock_lock_free(h->lock[i]);
    redlock_close(h->client);
    h->name_count = 0;
    h->client = NULL;
}

int adopt_each(const struct command *command, int argc, char **argv,
               const struct adopt_operation *operation)
{
    struct adopted_locks h = {0};
    int given = begin(&h, command, argc, argv), status = given;
    for (size_t i = 0; !given && !h.stopped && i < h.name_count; i++) {
        int error = operation->act(&h, i);
        int outcome = 0;
        if (error == REDLOCK_OK)
            operation->succeeded(&h, i);
        else
            outcome = operation->failed(&h, i, error);
        status = status ? status : outcome;
    }
    if (status == 0)
        status = message_flush();
    end(&h);
    return status;
}
