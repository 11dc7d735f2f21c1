/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/init.h"

#include <stdio.h>

#include "base/json.h"
#include "base/quote.h"
#include "report/look.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"

#define SHOWN_MAX 20

#define ADVICE                                                                                 \
    "wait until they are released, or stop their holders; to put a new server in the place "   \
    "of one that is gone, which may be done while locks are held: --replace OLD; if you know " \
    "that no node has forgotten a lock: --force"

struct held {
    struct look look;
    struct rl_json j;
    size_t seen, shown; /* of the names that are listed; of them, that may be held */
};

static void begin(struct held *h)
{
    static const char text[] = "locks are held on these nodes. Nothing was changed";
    if (h->look.settings.json) {
        message_json_failure(&h->j, "HELD", text, EXIT_IN_USE);
        rl_json_string(&h->j, "advice", ADVICE);
        rl_json_array(&h->j, "held");
    } else if (!h->look.settings.quiet) {
        message_line("%s", text);
    }
}

static int end(struct held *h, size_t more)
{
    if (h->look.settings.json) {
        rl_json_end_array(&h->j);
        rl_json_integer(&h->j, "more", (int64_t)more);
        rl_json_finish(&h->j);
        fflush(stdout);
    } else if (!h->look.settings.quiet) {
        if (more > 0)
            fprintf(errors_stream(), "  and %zu more\n", more);
        message_line("next: " ADVICE);
    }
    return EXIT_IN_USE;
}

static bool on_listed(const struct snapshot *s, void *data)
{
    struct held *h = data;
    char holders[SHOW_TEXT_MAX], name[2 * REDLOCK_NAME_MAX];
    h->seen++;
    if (s->error)
        return h->shown > 0; /* a lock that is listed and cannot be looked at may be held */
    if (s->votes == 0 || s->record)
        return true; /* gone by now, or of --every, for which nothing is at work */
    if (h->shown++ == 0)
        begin(h);
    if (h->look.settings.json) {
        rl_json_object(&h->j, NULL);
        rl_json_string(&h->j, "name", s->name);
        show_members_json(s, &h->j);
        rl_json_end_object(&h->j);
    } else if (!h->look.settings.quiet) {
        rl_quote_safe(name, sizeof name, s->name);
        show_holders(holders, s, (struct show_style){0});
        if (!s->held) /* what init is about: a lock that too few nodes remember */
            snprintf(holders, sizeof holders,
                     "on %d node%s only; the others may have forgotten it", s->votes,
                     s->votes == 1 ? "" : "s");
        fprintf(errors_stream(), "  %s: %s\n", name, holders);
    }
    return h->shown < SHOWN_MAX;
}

int init_refuse_held(const struct settings *s, redlock *client, redlock *member)
{
    struct held h = {.look = {.settings = *s, .client = client, .member = member},
                     .j = {.out = stdout}};
    struct names names;
    int status = look_names(&h.look, &names);
    if (status == 0)
        status = look_at(&h.look, names.name, names.count, on_listed, &h);
    if (h.shown > 0)
        status = end(&h, names.count - h.seen);
    else if (status == 0 && h.look.failed.error)
        status = look_fail(&h.look, &h.look.failed);
    names_free(&names);
    return status;
}
