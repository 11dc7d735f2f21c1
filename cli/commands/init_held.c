/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/init_held.h"

#include <stdio.h>

#include "base/json.h"
#include "base/quote.h"
#include "commands/inquiry.h"
#include "report/holders.h"
#include "report/lock_brief.h"
#include "report/report.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"
#include "ui/record.h"
#include "ui/text.h"

#define SHOWN_MAX 20

#define ADVICE                                                                                 \
    "wait until they are released, or stop their holders; to put a new server in the place "   \
    "of one that is gone, which may be done while locks are held: --replace OLD; if you know " \
    "that no node has forgotten a lock: --force"

static void show(const struct settings *s, struct rl_json *j, const char *name,
                 const struct lock_brief *b)
{
    char holders[HOLDERS_TEXT_MAX], shown[2 * REDLOCK_NAME_MAX];
    if (s->json) {
        rl_json_object(j, NULL);
        rl_json_string(j, "name", name);
        lock_brief_json(b, j);
        rl_json_end_object(j);
    } else if (!s->quiet) {
        rl_quote_safe(shown, sizeof shown, name);
        if (b->held)
            holders_text(holders, b, (struct holders_style){0});
        else /* what init is about: a lock that too few nodes remember */
            snprintf(holders, sizeof holders,
                     "on %d node%s only; the others may have forgotten it", b->votes,
                     b->votes == 1 ? "" : "s");
        fprintf(errors_stream(), "  %s: %s\n", shown, holders);
    }
}

static void begin(const struct settings *s, struct rl_json *j)
{
    static const char text[] = "locks are held on these nodes. Nothing was changed";
    if (s->json) {
        message_json_failure(j, "HELD", text, EXIT_IN_USE);
        rl_json_string(j, "advice", ADVICE);
        rl_json_array(j, "held");
    } else if (!s->quiet) {
        message_line("%s", text);
    }
}

static int end(const struct settings *s, struct rl_json *j, size_t more)
{
    if (s->json) {
        rl_json_end_array(j);
        rl_json_integer(j, "more", (int64_t)more);
        rl_json_finish(j);
        fflush(stdout);
    } else if (!s->quiet) {
        if (more > 0)
            fprintf(errors_stream(), "  and %zu more\n", more);
        message_line("next: " ADVICE);
    }
    return EXIT_IN_USE;
}

/* A lock that is listed and cannot be looked at may be held. */
static int fail_to_look(const struct settings *s, const char *name, int error,
                        const struct source *source, const redlock_report *report)
{
    struct failure f = {
        .name = name,
        .error = error,
        .status = exit_status_of(error),
        .text = source->detail,
        .report = report,
    };
    return report_failure(s, &f);
}

int init_refuse_held(const struct settings *s, redlock *member)
{
    struct source source = {.client = member};
    struct rl_json j = {.out = stdout};
    struct names names;
    size_t shown = 0, i;
    int status = names_list(&names, &source, s, NULL, NULL);
    for (i = 0; status == 0 && i < names.count && shown < SHOWN_MAX; i++) {
        redlock_info info;
        redlock_report report;
        int error = source_query(&source, names.name[i], &info, &report);
        if (error != REDLOCK_OK && shown == 0)
            status = fail_to_look(s, names.name[i], error, &source, &report);
        if (error != REDLOCK_OK || info.holder.votes == 0 || record_is(names.name[i], &info))
            continue; /* gone by now, or of --every, for which nothing is at work */
        if (shown++ == 0)
            begin(s, &j);
        struct lock_brief b =
            lock_brief_of(names.name[i], &info, report_longest_ms(&info, &report));
        show(s, &j, names.name[i], &b);
    }
    if (shown > 0)
        status = end(s, &j, names.count - i);
    names_free(&names);
    return status;
}
