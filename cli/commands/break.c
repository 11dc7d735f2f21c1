/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/quote.h"
#include "commands/settle.h"
#include "report/look.h"
#include "report/report.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/kind.h"
#include "ui/message.h"
#include "ui/table.h"
#include "ui/text.h"

#define SHOWN 8 /* characters of a fingerprint: enough to tell a few holders apart */

struct breaking {
    struct look look;
    const char
        *holder; /* --holder: a label, or the start of a fingerprint; NULL: the only one */
    bool yes, all, wait, waited;
    struct snapshot lock; /* as it was looked at; owned */
    bool is_known;
    const redlock_holder *chosen[REDLOCK_SHOWN_MAX]; /* of the lock */
    size_t chosen_count;
};

/* All holds of a re-entrant lock are its owner's, and go together. */
static uint32_t count_holders(const struct snapshot *lock)
{
    bool several = kind_words(lock->kind)->holders;
    return several || lock->shown_holders == 0 ? lock->shown_holders : 1;
}

static void print_holders(const struct snapshot *lock)
{
    static const char *const heading[] = {"HOLDER", "LEFT", "WHO", NULL};
    struct table t;
    table_begin(&t, heading);
    for (uint32_t i = 0; i < count_holders(lock); i++) {
        const redlock_holder *h = &lock->holder[i];
        char shown[SHOWN + 1], left[TEXT_TIME_MAX], who[SHOW_NAME_MAX];
        snprintf(shown, sizeof shown, "%.*s", SHOWN, h->fingerprint);
        text_time(left, h->remaining_ms);
        show_name(who, h->label, h->value);
        table_row(&t, TEXT_PLAIN, (const char *[]){shown, left, who});
    }
    table_print(&t, "  ", errors_stream());
    if (lock->holder_count > lock->shown_holders)
        fprintf(errors_stream(), "  and %u more\n", lock->holder_count - lock->shown_holders);
}

static bool is_meant(const struct breaking *b, const redlock_holder *h)
{
    return b->all || !b->holder || strcmp(h->label, b->holder) == 0 ||
           strncmp(h->fingerprint, b->holder, strlen(b->holder)) == 0;
}

/* Returns 0 or an exit status, after printing why. */
static int choose(struct breaking *b)
{
    const struct snapshot *lock = &b->lock;
    char shown[RL_QUOTE_MAX];
    int status;
    rl_quote(shown, b->lock.name);
    for (uint32_t i = 0; i < count_holders(lock); i++) {
        if (is_meant(b, &lock->holder[i]))
            b->chosen[b->chosen_count++] = &lock->holder[i];
    }
    if (b->chosen_count == 1 || (b->chosen_count > 1 && b->all))
        return 0;
    if (b->chosen_count == 0 && !b->holder)
        return message_fail(EXIT_INTERNAL, "%s: the nodes do not report its holder", shown);
    status = b->chosen_count == 0
                 ? message_fail(EXIT_USAGE, "%s: --holder names none of its holders", shown)
                 : message_fail(EXIT_USAGE,
                                "%s has several holders: name one with --holder, as HOLDER "
                                "or WHO, or all with --all",
                                shown);
    if (!b->look.settings.json)
        print_holders(lock);
    return status;
}

static int confirm(const struct breaking *b)
{
    char question[64], shown[RL_QUOTE_MAX], holders[SHOW_TEXT_MAX];
    const struct snapshot *lock = &b->lock;
    rl_quote(shown, lock->name);
    show_holders(holders, lock, (struct show_style){0});
    message_line("%s: %s", shown, holders);
    if (count_holders(lock) > 1)
        print_holders(lock);
    if (lock->record) {
        message_line(
            "it is the record of a run, which nothing holds: once it is gone, the job may "
            "run again, and one that is running goes on");
        return message_confirm("Forget the run?");
    }
    message_line("the holder has no say: until its next renewal, or until its time is over, it "
                 "may go on as if it had the lock, beside the next holder");
    if (b->chosen_count > 1)
        snprintf(question, sizeof question, "Evict all %zu of them?", b->chosen_count);
    else
        snprintf(question, sizeof question, "Evict it?");
    return message_confirm(question);
}

static void print_json(const struct breaking *b, const redlock_holder *h,
                       const redlock_report *report)
{
    struct rl_json j = {.out = stdout};
    char value[TEXT_HOLDER_MAX];
    text_holder(value, h->value);
    message_json_success(&j);
    rl_json_string(&j, "name", b->lock.name);
    rl_json_string(&j, "label", h->label[0] ? h->label : NULL);
    rl_json_string(&j, "holder", value);
    rl_json_string(&j, "fingerprint", h->fingerprint);
    rl_json_known(&j, "remaining_ms", b->lock.record ? 0 : report->holder.remaining_ms);
    rl_json_bool(&j, "final", report->final_ms == 0);
    rl_json_integer(&j, "final_ms", report->final_ms);
    report_json(report, &j, false);
    rl_json_finish(&j);
}

static void print_provisional(const char *shown, int64_t final_ms)
{
    char left[TEXT_TIME_MAX];
    text_time_up(left, final_ms);
    printf("%s: done, and final in %s: a failover before that can bring it back, which "
           "`redlock status` shows then; a break with --wait stays until it is final, and "
           "deletes it again\n",
           shown, left);
}

static void print_text(const struct breaking *b, const redlock_holder *h,
                       const redlock_report *report)
{
    char shown[RL_QUOTE_MAX], who[SHOW_NAME_MAX], left[TEXT_TIME_MAX];
    rl_quote(shown, b->lock.name);
    show_name(who, h->label, h->value);
    text_time(left, report->holder.remaining_ms);
    if (b->lock.record)
        printf("%s: the run by %s is forgotten; --every allows the next one now\n", shown, who);
    else if (report->holder.remaining_ms >= 0)
        printf("%s: evicted %s; it may still act for up to %s\n", shown, who, left);
    else
        printf("%s: evicted %s; for how long it may still act is not known\n", shown, who);
    if (b->wait && b->waited)
        printf("%s: it is final: no failover can bring it back\n", shown);
    else if (report->final_ms > 0)
        print_provisional(shown, report->final_ms);
    if (b->look.settings.verbose)
        report_table(report, stdout);
}

static int evict(struct breaking *b, const redlock_holder *h)
{
    static struct settle settle;
    redlock_report report;
    bool direct = b->look.client != NULL;
    bool gone;
    struct failure f;
    int error;
    if (b->wait && direct)
        settle_begin(&settle, b->look.client, b->lock.name);
    error = look_break(&b->look, b->lock.name, h->fingerprint, &report);
    if (error == REDLOCK_OK && b->wait) {
        if (direct)
            settle_note(&settle, &report);
        if (report.final_ms > 0 && direct)
            settle_wait(&settle, &b->look, b->lock.name, h->fingerprint, report.final_ms);
        else if (report.final_ms > 0)
            settle_wait_service(&b->look, b->lock.name, h->fingerprint, report.final_ms);
        b->waited = report.final_ms > 0;
        report.final_ms = 0;
    }
    if (error == REDLOCK_OK) {
        if (b->look.settings.json)
            print_json(b, h, &report);
        else if (!b->look.settings.quiet)
            print_text(b, h, &report);
        return 0;
    }
    gone = error == REDLOCK_EXPIRED;
    f = (struct failure){
        .name = b->lock.name,
        .error = error,
        .status = gone ? EXIT_DECLINED : 0,
        .text = gone ? "not evicted: it had given the lock back, or its time was over"
                     : b->look.detail,
        .advice =
            error == REDLOCK_NOQUORUM
                ? "do it again when more nodes answer; on the others the lock stays until "
                  "its holder fails to renew it there"
                : NULL,
        .report = &report,
        .brief = gone,
    };
    return report_failure(&b->look.settings, &f);
}

static bool on_found(const struct snapshot *s, void *data)
{
    struct breaking *b = data;
    b->is_known = !s->error && snapshot_copy(&b->lock, s);
    return true;
}

static int break_lock(void *data)
{
    struct breaking *b = data;
    int unwritten, status = look_at(&b->look, b->look.name, 1, on_found, b);
    if (status)
        return status;
    if (b->look.failed.error)
        return look_fail(&b->look, &b->look.failed);
    if (!b->is_known)
        return message_fail(EXIT_INTERNAL, "out of memory");
    if (!b->lock.held) {
        char shown[RL_QUOTE_MAX];
        rl_quote(shown, b->lock.name);
        return message_fail(EXIT_DECLINED, "%s is free: there is nothing to break", shown);
    }
    status = choose(b);
    if (status == 0 && !b->yes)
        status = confirm(b);
    for (size_t i = 0; status == 0 && i < b->chosen_count; i++)
        status = evict(b, b->chosen[i]);
    unwritten = message_flush();
    return status ? status : unwritten;
}

static int check(void *data)
{
    const struct breaking *b = data;
    if (b->look.count > 1)
        return message_usage("one NAME at a time");
    if (b->holder && !*b->holder)
        return message_usage("--holder is empty");
    if (b->all && b->holder)
        return message_usage("--all and --holder contradict each other");
    if (!b->yes &&
        (b->look.settings.json || !isatty(STDIN_FILENO) || !errors_are_on_terminal()))
        return message_usage("there is no terminal to ask on; --yes does it without asking");
    return 0;
}

static int break_main(const struct command *command, int argc, char **argv)
{
    static const struct look_command own = {
        .needs_name = true, .check = check, .run = break_lock};
    static struct breaking b; /* large, and there is one */
    int status = look_main(&b.look, command, argc, argv, &own);
    snapshot_free(&b.lock);
    return status;
}

static const struct cli_option options[] = {
    TEXT(0, "holder", "WHICH", "of several this one: its label or fingerprint", struct breaking,
         holder),
    SWITCH(0, "all", "of several holders all", struct breaking, all),
    SWITCH(0, "wait", "stay until it is final, see below", struct breaking, wait),
    SWITCH('y', "yes", "do not ask", struct breaking, yes),
    SERVICE_OPTIONS,
    {0},
};

const struct command command_break = {
    .name = "break",
    .summary = "take a lock away from its holder",
    .usage = "[OPTION...] NAME",
    .about =
        "Shows who holds the lock NAME, asks, and evicts that holder: its key is deleted on "
        "every node where it still has this holder's value, so a holder that came after it "
        "stays. Waiters are woken. Several readers or slots are listed, and --holder or --all "
        "lists which.\n\n"
        "The holder has no say. A `redlock run` notices at its next renewal, at a third of "
        "its TTL, ends its command and exits with 76; any other may act on until its time is "
        "over, which is reported. Only a resource that checks fencing tokens is safe from it "
        "meanwhile.\n\n"
        "On independent servers that is final. On a Sentinel group it is done at once, and "
        "final when the same server has been the master for the longest TTL and four seconds "
        "more: a failover before that can lose the deletion, and the holder goes on with what "
        "it finds. A line reports which; with --wait the command stays until it is final, and "
        "deletes it again after a failover.\n\n"
        "Asks on a terminal, and needs --yes elsewhere. Exits with 0 when it was evicted, 1 "
        "when you said no or there was nothing to evict, 69 or 77 when no majority answered: "
        "then the report shows what is left.\n",
    .examples = "redlock break deploy\n"
                "redlock break --yes --holder alice@web1:17 gpu",
    .options = options,
    .run = break_main,
};
