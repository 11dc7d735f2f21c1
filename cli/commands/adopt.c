/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `extend` and `unlock`: locks that another process took and whose value this one was given,
 * one, or those of several names that were taken together.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "lock/value_word.h"
#include "report/report.h"
#include "report/show.h"
#include "settings/command.h"
#include "settings/open_client.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"

/* What a failed operation means for the user. A table of them ends with error 0. */
struct adopt_words {
    int error;          /* enum redlock_error */
    const char *text;   /* NULL: the library's */
    const char *held;   /* instead, if there is a holder, who is named; NULL: not requested */
    const char *advice; /* NULL: the usual for this error */
};

struct adopted_locks {
    struct settings settings;
    const char *name[REDLOCK_NAMES_MAX];
    size_t name_count;
    const char *last_word; /* VALUE, unless another word follows; NULL: only NAME so far */
    char value[REDLOCK_VALUE_MAX + 2]; /* one more to find out that it is too long */
    redlock *client;
    redlock_lock *lock[REDLOCK_NAMES_MAX]; /* of each name */
};

/* One line of standard input, up to a limit that a value never reaches. Returns its length. */
static size_t read_input(char *line, size_t size)
{
    size_t used = 0;
    char *end;
    size_t length;
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
    end = memchr(line, '\n', used);
    length = end ? (size_t)(end - line) : used;
    return length > 0 && line[length - 1] == '\r' ? length - 1 : length;
}

static int take_value(struct adopted_locks *h, const char *word)
{
    char line[2 * VALUE_WORD_MAX];
    const char *value = word ? word : getenv("REDLOCK_VALUE");
    size_t size, length;
    const char *space;
    if (!value)
        return message_usage(
            "VALUE is missing: give it as a word, as - with standard input, or "
            "in REDLOCK_VALUE");
    length = strlen(value);
    if (word && strcmp(word, "-") == 0) {
        value = line;
        length = read_input(line, sizeof line);
    }
    if (memchr(value, '\0', length))
        return message_usage("the value contains a NUL byte");
    /* Behind a space the token that `redlock lock` prints with it. */
    space = memchr(value, ' ', length);
    if (space)
        length = (size_t)(space - value);
    if (length == 0)
        return message_usage("the value is empty");
    size = value_word_read(value, length, h->value);
    if (size > REDLOCK_VALUE_MAX)
        return message_usage("the value is too long: a lock value has at most %d bytes",
                             REDLOCK_VALUE_MAX);
    if (memchr(h->value, '\0', size))
        return message_usage("the value contains a NUL byte, as %%00");
    return 0;
}

#define TOKEN_DIGITS 16 /* below 2^52 */

/*
 * The token of a line of `redlock lock` that a shell has split; no value is so short a number.
 */
static bool is_token(const char *word)
{
    size_t digits = strspn(word, "0123456789");
    return digits > 0 && digits <= TOKEN_DIGITS && word[digits] == '\0';
}

/* Of several words the last is VALUE, but for its token; a single one is NAME. */
static int take(void *data, struct args *a, int id, const char *word)
{
    struct adopted_locks *h = data;
    if (id != ARGS_WORD)
        return 0;
    if (h->name_count == 0) {
        h->name[h->name_count++] = word;
        return 0;
    }
    if (h->last_word && a->at == a->argc && is_token(word))
        return 0;
    if (h->name_count == REDLOCK_NAMES_MAX && h->last_word)
        return message_usage("too many words: at most %d names and VALUE", REDLOCK_NAMES_MAX);
    if (h->last_word)
        h->name[h->name_count++] = h->last_word;
    h->last_word = word;
    return 0;
}

static int check_words(struct adopted_locks *h)
{
    int status = 0;
    if (h->name_count == 0)
        return message_usage("NAME is missing: which lock?");
    for (size_t i = 0; i < h->name_count && status == 0; i++)
        status = command_check_name(h->name[i]);
    return status ? status : take_value(h, h->last_word);
}

static int adopt(struct adopted_locks *h)
{
    for (size_t i = 0; i < h->name_count; i++) {
        int error = redlock_adopt(h->client, h->name[i], h->value, NULL, &h->lock[i]);
        if (error != REDLOCK_OK)
            return client_fail(error);
    }
    return 0;
}

static int begin(struct adopted_locks *h, const struct command *command, int argc, char **argv)
{
    int status = args_read(command, &h->settings, argc, argv, take, h);
    if (status == 0)
        status = check_words(h);
    if (status == 0)
        status = settings_complete(&h->settings);
    if (status == 0)
        status = settings_check_ttl(&h->settings);
    if (status == 0)
        status = client_open(&h->settings, &h->client);
    return status ? status : adopt(h);
}

static void report_success(const struct adopted_locks *h, size_t index, bool renewed)
{
    const redlock_report *report = redlock_lock_report(h->lock[index]);
    if (h->settings.json) {
        struct rl_json j = {.out = stdout};
        message_json_success(&j);
        rl_json_string(&j, "name", h->name[index]);
        if (renewed) {
            rl_json_integer(&j, "ttl_ms", h->settings.ttl_ms);
            rl_json_integer(&j, "remaining_ms", redlock_remaining_ms(h->lock[index]));
        } else if (report) {
            rl_json_bool(&j, "final", report->final_ms == 0);
            rl_json_integer(&j, "final_ms", report->final_ms);
        }
        if (report)
            report_json(report, &j, false);
        rl_json_finish(&j);
    } else if (h->settings.verbose && report) {
        report_table(report, errors_stream());
    }
}

static int report_error(const struct adopted_locks *h, size_t index, int error,
                        const struct adopt_words *words)
{
    const redlock_report *last = redlock_lock_report(h->lock[index]);
    redlock_report report = {0};
    redlock_answer *answer = NULL;
    struct snapshot lock;
    char detail[REDLOCK_TEXT_MAX * 2], holders[SHOW_TEXT_MAX], text[REPORT_TEXT_MAX];
    struct failure f;
    snprintf(detail, sizeof detail, "%s", redlock_detail());
    while (words->error && words->error != error)
        words++;
    if (last)
        report = *last;
    f = (struct failure){
        .name = h->name[index],
        .error = error,
        .text = words->text ? words->text : detail,
        .advice = words->advice,
        .report = &report,
    };
    /*
     * Who holds it now? Nodes that compared our value with theirs only reported that ours is
     * not there.
     */
    if (words->held || report_has_vote(&report, REDLOCK_VOTE_MISSING))
        report_complete(h->client, h->name[index], &report, &answer);
    if (words->held && answer && answer->info->held) {
        lock = snapshot_of(h->name[index], answer->info, &report);
        show_holders(holders, &lock, (struct show_style){0});
        snprintf(text, sizeof text, "%s: %s", words->held, holders);
        f.text = text;
        f.lock = &lock;
    }
    f.brief = words->held && report_agrees(&report);
    f.status = report_failure(&h->settings, &f);
    redlock_answer_free(answer);
    return f.status;
}

/*
 * Renews the lock of every name, or releases it. The exit status is that of what failed first.
 */
static int adopt_each(const struct command *command, int argc, char **argv, bool renew,
                      const struct adopt_words *words)
{
    struct adopted_locks h = {.name_count = 0};
    int status = begin(&h, command, argc, argv);
    size_t count = status ? 0 : h.name_count;
    for (size_t i = 0; i < count; i++) {
        int error =
            renew ? redlock_extend(h.lock[i], h.settings.ttl_ms) : redlock_release(h.lock[i]);
        int failed = error ? report_error(&h, i, error, words) : 0;
        if (!error)
            report_success(&h, i, renew);
        status = status ? status : failed;
    }
    if (status == 0)
        status = message_flush();
    for (size_t i = 0; i < h.name_count; i++)
        redlock_lock_free(h.lock[i]);
    client_close(&h.settings, h.client);
    settings_free(&h.settings);
    return status;
}

static int extend_main(const struct command *command, int argc, char **argv)
{
    static const struct adopt_words words[] = {
        {REDLOCK_LOST, "not renewed: it has expired", "not renewed, it has another value",
         "stop what it protects, and take it again with `redlock lock`"},
        {REDLOCK_NOQUORUM, NULL, NULL,
         "try again before it expires; `redlock nodes` shows the state of the nodes, and slow "
         "ones need a longer --node-timeout"},
        {0},
    };
    return adopt_each(command, argc, argv, true, words);
}

static const struct cli_option extend_options[] = {TTL_OPTION, {0}};

const struct command command_extend = {
    .name = "extend",
    .elsewhere = "renew",
    .summary = "renew a lock that `redlock lock` took",
    .usage = "[OPTION...] NAME... [VALUE]",
    .about =
        "Renews the lock NAME for TTL from now, if it still has VALUE, which `redlock lock` "
        "printed; the token behind it may follow. Never shortens it and never takes it anew. "
        "VALUE may be - to read it from standard input, or be left out when REDLOCK_VALUE has "
        "it: a word on the command line can be seen by others with ps. Several NAMEs that were "
        "locked together need VALUE or - behind them.\n\n"
        "Exits with 76 when the lock is no longer ours, 69 when too few nodes confirmed.\n",
    .examples = "echo \"$value\" | redlock extend -t 1m deploy -",
    .options = extend_options,
    .run = extend_main,
};

static int unlock_main(const struct command *command, int argc, char **argv)
{
    static const struct adopt_words words[] = {
        {REDLOCK_LOST, "not released: another holds it now",
         "not released, it has another value", NULL},
        {REDLOCK_EXPIRED, "not released: it had already expired, or was never held",
         "not released, it has another value", NULL},
        {REDLOCK_NOQUORUM, NULL, NULL,
         "what is left of it expires with its TTL; `redlock nodes` shows the state of "
         "the nodes, and slow ones need a longer --node-timeout"},
        {0},
    };
    return adopt_each(command, argc, argv, false, words);
}

static const struct cli_option unlock_options[] = {{0}};

const struct command command_unlock = {
    .name = "unlock",
    .elsewhere = "release",
    .summary = "give back a lock that `redlock lock` took",
    .usage = "[OPTION...] NAME... [VALUE]",
    .about =
        "Gives the lock NAME back, if it still has VALUE, which `redlock lock` printed; the "
        "token behind it may follow. VALUE may be - to read it from standard input, or be left "
        "out when REDLOCK_VALUE has it: a word on the command line can be seen by others with "
        "ps. Several NAMEs that were locked together need VALUE or - behind them.\n\n"
        "Exits with 0 when it was released, 76 when it had expired before or another holds it "
        "now, 69 when too few nodes confirmed.\n",
    .examples = "redlock unlock deploy \"$value\"",
    .options = unlock_options,
    .run = unlock_main,
};
