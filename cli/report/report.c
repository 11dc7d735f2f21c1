/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/report.h"

#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/quote.h"
#include "report/advice.h"
#include "report/show.h"
#include "settings/open_client.h"
#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/kind.h"
#include "ui/message.h"
#include "ui/table.h"
#include "ui/text.h"
#include "ui/vote.h"

static enum text_colour vote_colour(int vote)
{
    switch (vote) {
    case REDLOCK_VOTE_GRANTED:
        return TEXT_GOOD;
    case REDLOCK_VOTE_NONE:
    case REDLOCK_VOTE_PENDING:
    case REDLOCK_VOTE_MISSING:
        return TEXT_PLAIN;
    case REDLOCK_VOTE_TAKEN:
    case REDLOCK_VOTE_GUARDED:
        return TEXT_WAIT;
    default:
        return TEXT_BAD;
    }
}

bool report_is_answer(int vote)
{
    switch (vote) {
    case REDLOCK_VOTE_NONE:
    case REDLOCK_VOTE_PENDING:
    case REDLOCK_VOTE_SILENT:
    case REDLOCK_VOTE_REFUSED:
    case REDLOCK_VOTE_UNREACHABLE:
        return false;
    default:
        return true;
    }
}

int32_t report_rtt_us(const redlock_node_report *n)
{
    return report_is_answer(n->vote) || n->vote == REDLOCK_VOTE_SILENT ? n->rtt_us : -1;
}

bool report_may_vote(int vote)
{
    switch (vote) {
    case REDLOCK_VOTE_NONE:
    case REDLOCK_VOTE_PENDING:
    case REDLOCK_VOTE_GRANTED:
    case REDLOCK_VOTE_TAKEN:
    case REDLOCK_VOTE_MISSING:
        return true;
    default:
        return false;
    }
}

bool report_has_vote(const redlock_report *report, int32_t vote)
{
    for (uint32_t i = 0; i < report->node_count; i++) {
        if (report->node[i].vote == vote)
            return true;
    }
    return false;
}

static bool was_not_waited_for(const redlock_node_report *n)
{
    return n->vote == REDLOCK_VOTE_NONE || n->vote == REDLOCK_VOTE_PENDING;
}

static bool is_refusal(const redlock_node_report *n)
{
    return n->vote == REDLOCK_VOTE_AUTH || n->vote == REDLOCK_VOTE_NOPERM;
}

bool report_is_refused(redlock *client, redlock_report *report)
{
    redlock *member = redlock_member(client, report->quorum_index);
    redlock_report now = {0};
    uint32_t refusals = 0;
    if (report_has_vote(report, REDLOCK_VOTE_NONE) ||
        report_has_vote(report, REDLOCK_VOTE_PENDING))
        client_ping(member, &now);
    for (uint32_t i = 0; i < report->node_count; i++) {
        if (i < now.node_count && was_not_waited_for(&report->node[i]) &&
            !report_may_vote(now.node[i].vote))
            report->node[i] = now.node[i];
        refusals += is_refusal(&report->node[i]);
    }
    return refusals > report->node_count - report->quorum;
}

void report_failed_nodes(const redlock_report *report, char *out, size_t size)
{
    out[0] = '\0';
    for (uint32_t i = 0; i < report->node_count; i++) {
        const redlock_node_report *n = &report->node[i];
        char address[REDLOCK_ADDRESS_MAX];
        rl_quote_safe(address, sizeof address, n->address);
        if (n->vote != REDLOCK_VOTE_GRANTED)
            text_add(out, size, "%s%s %s", *out ? ", " : "", address,
                     redlock_vote_text(n->vote));
    }
}

/* A node that was queried for what is there reports it held, by whichever holder. */
static const char *answer_text(const redlock_node_report *n)
{
    return n->vote == REDLOCK_VOTE_TAKEN && n->value[0] ? "held" : redlock_vote_text(n->vote);
}

/* The words of the server or the system, where they explain more than the answer does. */
static const char *report_why(const redlock_node_report *n)
{
    return strcasecmp(n->text, redlock_vote_text(n->vote)) == 0 ? "" : n->text;
}

static bool has_looked(const redlock_node_report *n)
{
    return n->vote == REDLOCK_VOTE_TAKEN || n->vote == REDLOCK_VOTE_MISSING;
}

static bool found_same(const redlock_node_report *a, const redlock_node_report *b)
{
    return has_looked(a) && has_looked(b) && a->vote == b->vote && a->kind == b->kind &&
           a->holder_count == b->holder_count && strcmp(a->value, b->value) == 0;
}

/* The node that found what most others found; NULL: no node looked. */
static const redlock_node_report *typical(const redlock_report *report)
{
    const redlock_node_report *best = NULL;
    uint32_t best_count = 0;
    for (uint32_t i = 0; i < report->node_count; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < report->node_count; k++)
            count += found_same(&report->node[i], &report->node[k]);
        if (count > best_count) {
            best_count = count;
            best = &report->node[i];
        }
    }
    return best;
}

/* Only what was found by looking is compared: an answer to a request has no kind. */
static bool differs(const redlock_report *report, const redlock_node_report *n)
{
    const redlock_node_report *usual = typical(report);
    bool looked = false;
    for (uint32_t i = 0; i < report->node_count; i++)
        looked = looked || report->node[i].kind >= 0;
    return looked && has_looked(n) && usual && !found_same(n, usual);
}

bool report_agrees(const redlock_report *report)
{
    for (uint32_t i = 0; i < report->node_count; i++) {
        if (!found_same(&report->node[0], &report->node[i]))
            return false;
    }
    return true;
}

enum { NODE, ANSWER, HOLDER, KIND, HOLDERS, WAITERS, LEFT, RTT, WHY };

static void add_row(struct table *t, const redlock_report *report, const redlock_node_report *n)
{
    char holder[TEXT_HOLDER_MAX] = "", left[TEXT_TIME_MAX] = "", rtt[TEXT_TIME_MAX] = "";
    char holders[16] = "", waiters[16] = "";
    bool different = differs(report, n);
    if (n->value[0])
        text_holder(holder, n->value);
    if (n->key_remaining_ms >= 0)
        text_time(left, n->key_remaining_ms);
    if (report_rtt_us(n) >= 0)
        text_rtt(rtt, n->rtt_us);
    if (n->holder_count > 0)
        snprintf(holders, sizeof holders, "%u", n->holder_count);
    if (n->waiter_count > 0)
        snprintf(waiters, sizeof waiters, "%u", n->waiter_count);
    table_row(t, different ? TEXT_BAD : TEXT_PLAIN,
              (const char *[]){[NODE] = n->address,
                               [ANSWER] = answer_text(n),
                               [HOLDER] = holder,
                               [KIND] = n->kind < 0 ? "" : kind_words(n->kind)->shown,
                               [HOLDERS] = holders,
                               [WAITERS] = waiters,
                               [LEFT] = left,
                               [RTT] = rtt,
                               [WHY] = different ? "differs" : report_why(n)});
    if (!different)
        table_colour(t, ANSWER, vote_colour(n->vote));
}

void report_table(const redlock_report *report, FILE *out)
{
    static const char *const heading[] = {"NODE",    "ANSWER", "HOLDER", "KIND", "HOLDERS",
                                          "WAITERS", "LEFT",   "RTT",    "WHY",  NULL};
    struct table t;
    table_begin(&t, heading);
    table_spare(&t, RTT);
    for (size_t column = WAITERS; column >= HOLDER; column--)
        table_spare(&t, column);
    for (uint32_t i = 0; i < report->node_count && i < REDLOCK_NODES_MAX; i++)
        add_row(&t, report, &report->node[i]);
    table_print(&t, "  ", out);
}

void report_json(const redlock_report *report, struct rl_json *j, bool found)
{
    rl_json_integer(j, "quorum", report->quorum);
    if (report->quorum_name[0])
        rl_json_string(j, "quorum_name", report->quorum_name);
    rl_json_array(j, "nodes");
    for (uint32_t i = 0; i < report->node_count && i < REDLOCK_NODES_MAX; i++) {
        const redlock_node_report *n = &report->node[i];
        char holder[TEXT_HOLDER_MAX];
        rl_json_object(j, NULL);
        rl_json_string(j, "address", n->address);
        rl_json_string(j, "vote", vote_name(n->vote));
        rl_json_string(j, "answer", answer_text(n));
        if (n->value[0]) {
            text_holder(holder, n->value);
            rl_json_string(j, "holder", holder);
        }
        rl_json_known(j, "remaining_ms", n->key_remaining_ms);
        rl_json_known(j, "rtt_us", report_rtt_us(n));
        if (found) {
            rl_json_string(j, "kind", n->kind < 0 ? NULL : redlock_kind_text(n->kind));
            rl_json_integer(j, "holders", n->holder_count);
            rl_json_integer(j, "waiters", n->waiter_count);
            rl_json_bool(j, "differs", differs(report, n));
        }
        rl_json_string(j, "reason", n->reason ? redlock_reason_name(n->reason) : NULL);
        rl_json_string(j, "text", n->text);
        rl_json_end_object(j);
    }
    rl_json_end_array(j);
}

int report_failure(const struct settings *s, const struct failure *f)
{
    char room[ADVICE_MAX];
    const char *text = f->text && *f->text ? f->text : redlock_strerror(f->error);
    int status = f->status ? f->status : exit_status_of(f->error);
    const char *advice =
        f->advice ? f->advice : advice_for(f->error, f->report, s->service, room);
    if (s->json) {
        struct rl_json j = {.out = stdout};
        message_json_failure(&j, redlock_error_name(f->error), text, status);
        if (f->name)
            rl_json_string(&j, "name", f->name);
        rl_json_string(&j, "advice", advice);
        if (f->lock) {
            rl_json_object(&j, "lock");
            show_members_json(f->lock, &j);
            rl_json_end_object(&j);
        }
        if (f->report)
            report_json(f->report, &j, false);
        rl_json_finish(&j);
        fflush(stdout);
    } else if (!s->quiet) {
        char name[RL_QUOTE_MAX] = "", safe[REPORT_TEXT_MAX], quoted[REDLOCK_NAME_MAX + 3];
        bool brief, named;
        /* The library names the lock itself where its name matters. */
        snprintf(quoted, sizeof quoted, "'%s'", f->name ? f->name : "");
        named = !f->name || strstr(text, quoted);
        if (!named)
            rl_quote(name, f->name);
        rl_quote_safe(safe, sizeof safe, text);
        message_line("%s%s%s", name, named ? "" : ": ", safe);
        brief = f->brief && !s->verbose;
        if (f->report && f->report->node_count > 0 && !brief)
            report_table(f->report, errors_stream());
        if (advice && !brief)
            message_line("next: %s", advice);
    }
    return status;
}

static bool is_incomplete(const redlock_node_report *n)
{
    return was_not_waited_for(n) || (n->vote == REDLOCK_VOTE_TAKEN && n->key_remaining_ms < 0);
}

int report_complete(redlock *client, const char *name, redlock_report *report,
                    redlock_answer **out)
{
    int error = redlock_query(client, name, out);
    const redlock_report *now = error == REDLOCK_OK ? (*out)->report : redlock_failure_report();
    for (uint32_t i = 0; now && i < report->node_count && i < now->node_count; i++) {
        redlock_node_report *then = &report->node[i];
        const redlock_node_report *found = &now->node[i];
        bool held = found->vote == REDLOCK_VOTE_TAKEN;
        if ((is_incomplete(then) && found->vote != REDLOCK_VOTE_MISSING) ||
            (then->vote == REDLOCK_VOTE_MISSING && held))
            *then = *found;
        else if (then->vote == REDLOCK_VOTE_TAKEN && held)
            memcpy(then->value, found->value, sizeof then->value);
        then->kind = found->kind;
        then->holder_count = found->holder_count;
        then->waiter_count = found->waiter_count;
    }
    return error;
}
