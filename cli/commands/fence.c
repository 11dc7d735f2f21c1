/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/quote.h"
#include "run/child.h"
#include "settings/command.h"
#include "system/fence_file.h"
#include "system/signals.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/text.h"

#define TOKEN_LIMIT (INT64_C(1) << 52) /* no lock has a token that large (RL_COUNTER_LIMIT) */

struct fence {
    struct settings settings;
    const char *file;
    char **command;
};

static int take(void *data, struct args *a, int id, const char *value)
{
    struct fence *f = data;
    switch (id) {
    case ARGS_WORD:
        if (!f->file) {
            f->file = value;
            return 0;
        }
        a->at--; /* without -- the second word is the command */
        break;
    case ARGS_DASHES:
        if (!f->file)
            return message_usage("FILE is missing in front of --");
        break;
    }
    f->command = a->argv + a->at;
    a->at = a->argc; /* the rest is not ours to read */
    return 0;
}

/* The token that `redlock run` gave its command. Returns 0 or an exit status,
 * after printing why. */
static int read_token(int64_t *out)
{
    char shown[RL_QUOTE_MAX];
    const char *text = getenv("REDLOCK_FENCE");
    if (!text)
        return message_usage(
            "REDLOCK_FENCE is not set: run this under `redlock run`, and with neither "
            "--no-fence, --shared nor --slots");
    *out = rl_number_read(rl_slice_of(text), TOKEN_LIMIT - 1);
    if (*out > 0)
        return 0;
    rl_quote(shown, text);
    return message_usage("REDLOCK_FENCE: '%s' is not a fencing token", shown);
}

static int refuse(const struct fence *f, const char *path, enum fence_file_verdict verdict,
                  int error, int64_t token, int64_t last)
{
    char shown[RL_QUOTE_MAX], kept[RL_QUOTE_MAX];
    rl_quote(shown, f->file);
    rl_quote(kept, path);
    switch (verdict) {
    case FENCE_FILE_REFUSED:
        return message_fail(EXIT_LOST,
                            "'%s': a later holder has written it: its token is %" PRId64
                            ", ours %" PRId64 "; the command was not started",
                            shown, last, token);
    case FENCE_FILE_OCCUPIED:
        return message_fail(EXIT_BUSY, "'%s': another writer is still at work", shown);
    case FENCE_FILE_DAMAGED:
        return message_fail(EXIT_CONFIG,
                            "'%s' is damaged or no token file; when no holder is at work, "
                            "remove it: the next token is then taken for the first",
                            kept);
    default:
        return message_fail(EXIT_CONFIG, "'%s': %s", kept, strerror(error));
    }
}

static int fence_main(const struct command *command, int argc, char **argv)
{
    struct fence f = {0};
    char path[PATH_MAX];
    int64_t token = 0, last = 0;
    int fd;
    int status = args_read(command, &f.settings, argc, argv, take, &f);
    enum fence_file_verdict verdict;
    bool waits;
    if (status == 0)
        message_use_json(f.settings.json);
    if (status == 0 && !f.file)
        status = message_usage("FILE is missing: what does the command write?");
    if (status == 0 && (!f.command || !f.command[0]))
        status = message_usage("COMMAND is missing: what writes FILE?");
    if (status == 0 &&
        (size_t)snprintf(path, sizeof path, "%s" FENCE_FILE_SUFFIX, f.file) >= sizeof path)
        status = message_usage("FILE is too long");
    if (status == 0)
        status = read_token(&token);
    waits = !settings_is_given(&f.settings, SETTING_NO_WAIT);
    settings_free(&f.settings);
    if (status)
        return status;
    verdict = fence_file_admit(path, token, waits, &fd, &last);
    if (verdict != FENCE_FILE_ADMITTED)
        return refuse(&f, path, verdict, errno, token, last);
    /* The command takes the place of this process and keeps the turn, whatever
     * becomes of others. */
    signals_give_back();
    execvp(f.command[0], f.command);
    return child_explain(f.command[0], errno);
}

static const struct cli_option options[] = {
    OPTION(SETTING_NO_WAIT, 'n', "no-wait", NULL, "do not wait for a writer that is at work"),
    {0},
};

const struct command command_fence = {
    .name = "fence",
    .summary = "run a command that writes a file, unless a later holder has",
    .usage = "[OPTION...] FILE -- COMMAND [ARGUMENT...]",
    .about =
        "Inside `redlock run`: executes COMMAND, which reads or writes FILE, if no holder with "
        "a larger fencing token has come to FILE before. A holder that was stopped beyond the "
        "end of its lock and goes on is refused so. FILE is what the name stands for: it may "
        "be a directory, or not exist.\n\n"
        "The largest token is kept in FILE.fence, on the disk before COMMAND starts. Writers "
        "take turns: the next one waits until COMMAND, and what it has started, has ended. All "
        "that touches FILE has to come this way, what it reads before it writes as well, on "
        "one machine or on a file system with flock(2) among machines.\n\n"
        "If the nodes lose the counter of a lock, it starts again from their clocks, above all "
        "tokens before. If these clocks were set back, every holder is refused: remove "
        "FILE.fence when none is at work.\n\n"
        "Exits with COMMAND's own status, or with 76 when a later holder has come, 75 when "
        "another writer is at work (-n), 64 without a token (REDLOCK_FENCE), 78 when "
        "FILE.fence cannot be kept, 126 or 127 when COMMAND cannot be run.\n",
    .examples = "redlock run report -- redlock fence report.html -- ./make-report",
    .options = options,
    .local = true,
    .run = fence_main,
};
