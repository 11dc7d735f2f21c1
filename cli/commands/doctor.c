/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings/command.h"
#include "settings/open_client.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/text.h"

#define WORDS_MAX 320 /* of a finding or a remedy */
#define NAME_MAX_BYTES 24
#define WORDS_COLUMN 24 /* where a finding stands in its line */

/* One finding of the audit, kept until all are there. */
struct finding {
    char quorum[REDLOCK_QUORUM_MAX + 1];
    char address[REDLOCK_ADDRESS_MAX];
    char name[NAME_MAX_BYTES];
    int32_t verdict;
    char text[WORDS_MAX];
    char remedy[WORDS_MAX];
};

struct doctor {
    struct settings settings;
    struct finding *findings;
    size_t count;
    bool out_of_memory;
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

static void on_check(const redlock_check *check, void *data)
{
    struct doctor *d = data;
    struct finding *more = reallocarray(d->findings, d->count + 1, sizeof *more);
    if (!more) {
        d->out_of_memory = true;
        return;
    }
    d->findings = more;
    struct finding *f = &d->findings[d->count++];
    bool known = check->verdict >= 0 && check->verdict <= REDLOCK_CHECK_UNKNOWN;
    f->verdict = known ? check->verdict : REDLOCK_CHECK_UNKNOWN;
    text_safe(f->quorum, sizeof f->quorum, check->quorum);
    text_safe(f->address, sizeof f->address, check->address);
    text_safe(f->name, sizeof f->name, check->name);
    text_safe(f->text, sizeof f->text, check->text);
    text_safe(f->remedy, sizeof f->remedy, check->remedy);
    d->verdicts[f->verdict]++;
    d->nodes += strcmp(f->name, "reachable") == 0;
    /* It fails for one reason: too few of a quorum's nodes answer. */
    if (strcmp(f->name, "number") == 0 && f->verdict == REDLOCK_CHECK_FAIL)
        d->unavailable = true;
}

/* ---- for people ---- */

static bool is_shown(const struct doctor *d, const struct finding *f)
{
    return d->settings.verbose || f->verdict != REDLOCK_CHECK_OK;
}

static void print_finding(const struct finding *f)
{
    static const enum text_colour colours[] = {
        [REDLOCK_CHECK_OK] = TEXT_GOOD,
        [REDLOCK_CHECK_WARN] = TEXT_WAIT,
        [REDLOCK_CHECK_FAIL] = TEXT_BAD,
        [REDLOCK_CHECK_UNKNOWN] = TEXT_UNKNOWN,
    };
    bool coloured = text_colours(isatty(STDOUT_FILENO));
    size_t columns = text_line_columns(STDOUT_FILENO);
    printf("  %s%-7s%s  %-11s  ", coloured ? text_colour_code(colours[f->verdict]) : "",
           verdict_words[f->verdict], coloured ? text_colour_code(TEXT_PLAIN) : "", f->name);
    text_wrap(stdout, f->text, WORDS_COLUMN, WORDS_COLUMN, columns);
    putchar('\n');
    if (!f->remedy[0])
        return;
    printf("  %-7s  %-11s  -> ", "", "");
    text_wrap(stdout, f->remedy, WORDS_COLUMN + 3, WORDS_COLUMN + 3, columns);
    putchar('\n');
}

/* "10.0.0.1:6379", "all nodes together", both perhaps with "quorum east: " before. */
static void print_group(const struct finding *f)
{
    printf("%s%s%s%s\n", f->quorum[0] ? "quorum " : "", f->quorum, f->quorum[0] ? ": " : "",
           f->address[0] ? f->address : "all nodes together");
}

static void print_text(const struct doctor *d)
{
    const struct finding *group = NULL;
    char sum[160];
    for (size_t i = 0; i < d->count; i++) {
        const struct finding *f = &d->findings[i];
        if (!is_shown(d, f))
            continue;
        if (!group || strcmp(group->address, f->address) != 0 ||
            strcmp(group->quorum, f->quorum) != 0)
            print_group(f);
        group = f;
        print_finding(f);
    }
    snprintf(sum, sizeof sum,
             "%zu node%s, %zu checks: %zu ok, %zu warn, %zu fail, %zu unknown%s", d->nodes,
             d->nodes == 1 ? "" : "s", d->count, d->verdicts[REDLOCK_CHECK_OK],
             d->verdicts[REDLOCK_CHECK_WARN], d->verdicts[REDLOCK_CHECK_FAIL],
             d->verdicts[REDLOCK_CHECK_UNKNOWN], d->settings.verbose ? "" : " (-v shows all)");
    text_wrap(stdout, sum, 0, 2, text_line_columns(STDOUT_FILENO));
    putchar('\n');
}

/* ---- for programs ---- */

static void print_json(const struct doctor *d, int status)
{
    struct json j = {.out = stdout};
    char text[80];
    snprintf(text, sizeof text, "%zu of %zu checks failed", d->verdicts[REDLOCK_CHECK_FAIL],
             d->count);
    if (status == 0)
        message_json_success(&j);
    else
        message_json_failure(&j, status == EXIT_UNHEALTHY ? "UNHEALTHY" : "NOQUORUM", text,
                             status);
    json_object(&j, "summary");
    for (int i = 0; i <= REDLOCK_CHECK_UNKNOWN; i++)
        json_integer(&j, verdict_words[i], (int64_t)d->verdicts[i]);
    json_end_object(&j);
    json_array(&j, "checks");
    for (size_t i = 0; i < d->count; i++) {
        const struct finding *f = &d->findings[i];
        json_object(&j, NULL);
        if (f->quorum[0])
            json_string(&j, "quorum_name", f->quorum);
        json_string(&j, "node", f->address[0] ? f->address : NULL);
        json_string(&j, "check", f->name);
        json_string(&j, "verdict", verdict_words[f->verdict]);
        json_string(&j, "text", f->text);
        json_string(&j, "remedy", f->remedy[0] ? f->remedy : NULL);
        json_end_object(&j);
    }
    json_end_array(&j);
    json_finish(&j);
}

/* ---- */

static int verdict_of(const struct doctor *d)
{
    if (d->unavailable)
        return EXIT_UNAVAILABLE;
    return d->verdicts[REDLOCK_CHECK_FAIL] > 0 ? EXIT_UNHEALTHY : 0;
}

static int examine(struct doctor *d)
{
    redlock *client = NULL;
    int status = client_open(&d->settings, &client);
    if (status)
        return status;
    int error = redlock_audit(client, d->settings.ttl_ms, on_check, d);
    if (d->out_of_memory) {
        status = message_fail(EXIT_INTERNAL, "out of memory");
    } else if (error != REDLOCK_OK) {
        status = client_fail(error);
    } else {
        status = verdict_of(d);
        if (d->settings.json)
            print_json(d, status);
        else if (!d->settings.quiet)
            print_text(d);
        int unwritten = message_flush();
        status = status ? status : unwritten;
    }
    redlock_close(client);
    return status;
}

static int take(void *data, struct args *a, int id, const char *value)
{
    (void)data;
    (void)a;
    (void)value;
    return id == ARGS_WORD ? message_usage("no word is needed; nodes are named with --nodes")
                           : 0;
}

static int doctor_main(const struct command *command, int argc, char **argv)
{
    struct doctor d = {0};
    int status = args_read(command, &d.settings, argc, argv, take, NULL);
    d.settings.no_node_warnings = true; /* the findings say more */
    if (status == 0)
        status = settings_complete(&d.settings);
    if (status == 0)
        status = settings_check_ttl(&d.settings);
    if (status == 0)
        status = examine(&d);
    free(d.findings);
    settings_free(&d.settings);
    return status;
}

static const struct cli_option options[] = {
    {SETTING_TTL, 't', "ttl", "TTL", "the TTL that the nodes must be fast enough for (10s)"},
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "examine the nodes: can a lock on them be trusted?",
    .usage = "[OPTION...]",
    .about = "Examines what a lock rests on: are the nodes reachable, masters, different "
             "servers; can they evict locks; do their clocks agree; are they fast enough "
             "for the TTL; has the user the rights it needs; may they vote; is their "
             "number odd? Each answer is ok, warn (an assumption is at risk), fail (locks "
             "are unsafe or impossible) or unknown (the server does not tell), with what "
             "to do about it. Shows what is not ok; all with -v. Several quorums are "
             "judged one by one, and whether a lock is in one where it does not live: then "
             "another client has a different set of quorums. Takes and releases locks "
             "of random names.\n\n"
             "Exits with 0 when nothing fails, 1 when something does, 69 when no majority "
             "(of some quorum) answers.\n",
    .examples = "redlock doctor -t 2s --nodes redis1,redis2,redis3",
    .options = options,
    .run = doctor_main,
};
