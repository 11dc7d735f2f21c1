/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/quote.h"
#include "report/advice.h"
#include "report/nodes.h"
#include "settings/command.h"
#include "settings/open_client.h"
#include "ui/exit.h"
#include "ui/guarantee.h"
#include "ui/message.h"
#include "ui/text.h"

#define WORDS_MAX 320   /* of a finding or a remedy */
#define WORDS_COLUMN 24 /* where a finding stands in its line */

struct doctor {
    struct settings settings;
    const redlock_check *checks;
    size_t count;
    size_t verdicts[REDLOCK_CHECK_UNKNOWN + 1];
    size_t nodes;
    bool unavailable; /* some quorum has no majority */
};

static const char *const verdict_words[] = {
    [REDLOCK_CHECK_OK] = "ok",
    [REDLOCK_CHECK_WARN] = "warn",
    [REDLOCK_CHECK_FAIL] = "fail",
    [REDLOCK_CHECK_UNKNOWN] = "unknown",
};

static int verdict_of(const redlock_check *check)
{
    bool known = check->verdict >= 0 && check->verdict <= REDLOCK_CHECK_UNKNOWN;
    return known ? check->verdict : REDLOCK_CHECK_UNKNOWN;
}

static void count_checks(struct doctor *d, const redlock_answer *answer)
{
    d->checks = answer->checks;
    d->count = answer->check_count;
    for (size_t i = 0; i < d->count; i++) {
        const redlock_check *c = &d->checks[i];
        d->verdicts[verdict_of(c)]++;
        d->nodes += strcmp(c->name, "reachable") == 0;
        /* It fails for one reason: too few of a quorum's nodes answer. */
        if (strcmp(c->name, "number") == 0 && c->verdict == REDLOCK_CHECK_FAIL)
            d->unavailable = true;
    }
}

static void print_check(const redlock_check *c)
{
    static const enum text_colour colours[] = {
        [REDLOCK_CHECK_OK] = TEXT_GOOD,
        [REDLOCK_CHECK_WARN] = TEXT_WAIT,
        [REDLOCK_CHECK_FAIL] = TEXT_BAD,
        [REDLOCK_CHECK_UNKNOWN] = TEXT_UNKNOWN,
    };
    bool coloured = text_colours(isatty(STDOUT_FILENO));
    size_t columns = text_line_columns(STDOUT_FILENO);
    char room[ADVICE_MAX], safe[WORDS_MAX];
    const char *remedy = advice_for_check(c, room);
    int verdict = verdict_of(c);
    printf("  %s%-7s%s  %-11s  ", coloured ? text_colour_code(colours[verdict]) : "",
           verdict_words[verdict], coloured ? text_colour_code(TEXT_PLAIN) : "", c->name);
    rl_quote_safe(safe, sizeof safe, c->text);
    text_wrap(stdout, safe, WORDS_COLUMN, WORDS_COLUMN, columns);
    putchar('\n');
    if (!*remedy)
        return;
    printf("  %-7s  %-11s  -> ", "", "");
    rl_quote_safe(safe, sizeof safe, remedy);
    text_wrap(stdout, safe, WORDS_COLUMN + 3, WORDS_COLUMN + 3, columns);
    putchar('\n');
}

/* "10.0.0.1:6379", "all nodes together", both perhaps with "quorum east: " before. */
static void print_group(const redlock_check *c)
{
    char address[REDLOCK_ADDRESS_MAX];
    rl_quote_safe(address, sizeof address, c->address);
    printf("%s%s%s%s\n", c->quorum[0] ? "quorum " : "", c->quorum, c->quorum[0] ? ": " : "",
           address[0] ? address : "all nodes together");
}

static void print_text(const struct doctor *d, redlock *client)
{
    redlock *member;
    const redlock_check *group = NULL;
    char sum[160];
    for (size_t i = 0; (member = redlock_member(client, i)); i++)
        guarantee_print(&d->settings, member, stdout);
    for (size_t i = 0; i < d->count; i++) {
        const redlock_check *c = &d->checks[i];
        if (c->verdict == REDLOCK_CHECK_OK && !d->settings.verbose)
            continue;
        if (!group || strcmp(group->address, c->address) != 0 ||
            strcmp(group->quorum, c->quorum) != 0)
            print_group(c);
        group = c;
        print_check(c);
    }
    snprintf(sum, sizeof sum,
             "%zu node%s, %zu checks: %zu ok, %zu warn, %zu fail, %zu unknown%s", d->nodes,
             d->nodes == 1 ? "" : "s", d->count, d->verdicts[REDLOCK_CHECK_OK],
             d->verdicts[REDLOCK_CHECK_WARN], d->verdicts[REDLOCK_CHECK_FAIL],
             d->verdicts[REDLOCK_CHECK_UNKNOWN], d->settings.verbose ? "" : " (-v shows all)");
    text_wrap(stdout, sum, 0, 2, text_line_columns(STDOUT_FILENO));
    putchar('\n');
}

static void print_json(const struct doctor *d, redlock *client, int status)
{
    redlock *member;
    struct rl_json j = {.out = stdout};
    char text[80];
    snprintf(text, sizeof text, "%zu of %zu checks failed", d->verdicts[REDLOCK_CHECK_FAIL],
             d->count);
    if (status == 0)
        message_json_success(&j);
    else
        message_json_failure(&j, status == EXIT_UNHEALTHY ? "UNHEALTHY" : "NOQUORUM", text,
                             status);
    rl_json_object(&j, "summary");
    for (int i = 0; i <= REDLOCK_CHECK_UNKNOWN; i++)
        rl_json_integer(&j, verdict_words[i], (int64_t)d->verdicts[i]);
    rl_json_end_object(&j);
    rl_json_array(&j, "checks");
    for (size_t i = 0; i < d->count; i++) {
        const redlock_check *c = &d->checks[i];
        char room[ADVICE_MAX];
        const char *remedy = advice_for_check(c, room);
        rl_json_object(&j, NULL);
        if (c->quorum[0])
            rl_json_string(&j, "quorum_name", c->quorum);
        rl_json_string(&j, "node", c->address[0] ? c->address : NULL);
        rl_json_string(&j, "check", c->name);
        rl_json_string(&j, "verdict", verdict_words[verdict_of(c)]);
        rl_json_string(&j, "text", c->text);
        rl_json_string(&j, "remedy", *remedy ? remedy : NULL);
        rl_json_end_object(&j);
    }
    rl_json_end_array(&j);
    rl_json_array(&j, "quorums");
    for (size_t i = 0; (member = redlock_member(client, i)); i++) {
        struct guarantee g = guarantee_of(member);
        rl_json_object(&j, NULL);
        guarantee_json(&g, d->settings.config.guard != REDLOCK_NO_GUARD, &j);
        rl_json_end_object(&j);
    }
    rl_json_end_array(&j);
    rl_json_finish(&j);
}

/* ---- */

static int examine(struct doctor *d)
{
    redlock *client = NULL;
    redlock_answer *answer = NULL;
    int status = client_open(&d->settings, &client);
    int error;
    if (status)
        return status;
    error = redlock_audit(client, d->settings.ttl_ms, &answer);
    if (error != REDLOCK_OK) {
        status = client_fail(error);
    } else {
        int unwritten;
        count_checks(d, answer);
        status = d->unavailable                        ? EXIT_UNAVAILABLE
                 : d->verdicts[REDLOCK_CHECK_FAIL] > 0 ? EXIT_UNHEALTHY
                                                       : 0;
        if (d->settings.json)
            print_json(d, client, status);
        else if (!d->settings.quiet)
            print_text(d, client);
        unwritten = message_flush();
        status = status ? status : unwritten;
        redlock_answer_free(answer);
    }
    redlock_close(client);
    return status;
}

static int doctor_main(const struct command *command, int argc, char **argv)
{
    struct doctor d = {0};
    int status = args_read(command, &d.settings, argc, argv, NULL, NULL);
    d.settings.no_node_warnings = true; /* the findings have more */
    if (status == 0)
        status = settings_complete(&d.settings);
    if (status == 0)
        status = settings_check_ttl(&d.settings);
    if (status == 0)
        status = examine(&d);
    settings_free(&d.settings);
    return status;
}

static const struct cli_option options[] = {
    OPTION(RL_SETTING_TTL, 't', "ttl", "TTL",
           "the TTL that the nodes must be fast enough for (30s)"),
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .elsewhere = "check",
    .summary = "examine the nodes: can a lock on them be trusted?",
    .usage = "[OPTION...]",
    .about =
        "Examines what a lock rests on: are the nodes reachable, masters, different "
        "servers; can they evict locks; do their clocks agree; are they fast enough for "
        "the TTL; has the user the rights it needs; may they vote; is their number odd? "
        "Each answer is ok, warn (an assumption is at risk), fail (locks are unsafe or "
        "impossible) or unknown (the server does not report it), with what to do about it. "
        "Shows what is not ok; all with -v. Several quorums are judged one by one, and "
        "whether a lock is in one where it does not live: then another client has a "
        "different set of quorums. Takes and releases locks of random names.\n\n"
        "Exits with 0 when nothing fails, 1 when something does, 69 when no majority (of "
        "some quorum) answers.\n",
    .examples = "redlock doctor -t 2s --nodes redis1,redis2,redis3",
    .options = options,
    .run = doctor_main,
};
