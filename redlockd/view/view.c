/* SPDX-License-Identifier: BSD-2-Clause */
#include "view/view.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/target.h"
#include "io/clock.h"
#include "leases/holdings.h"
#include "ui/guarantee.h"
#include "ui/record.h"
#include "ui/vote.h"

#define JSON "application/json"
#define PROBLEM "application/problem+json"
#define AGAIN "Retry-After: 1\r\n"

/* A question that the nodes have not answered yet. */
struct question {
    enum asked asked_for; /* first: the data of its job */
    struct http_completion completion;
    struct http_exchange *exchange;   /* NULL: the client is gone, and the answer is dropped */
    struct question *previous, *next; /* in view->questions */
    struct access_who who;            /* of a list or break */
    unsigned limit;                   /* list, as what follows */
    char prefix[REDLOCK_NAME_MAX + 1];
    char after[REDLOCK_NAME_MAX + 1];
    char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1]; /* break */
};

/* ---- questions --------------------------------------------------------------------------- */

static void on_gone(struct http_completion *completion, enum http_ended how)
{
    (void)how;
    ((struct question *)(void *)((char *)completion - offsetof(struct question, completion)))
        ->exchange = NULL;
}

static struct question *question_new(struct view *view, const struct routed *routed,
                                     enum asked asked_for)
{
    struct http_exchange *exchange = routed->exchange;
    struct question *question = calloc(1, sizeof *question);

    if (!question) {
        http_answer_problem(exchange, 503, "NOMEM", "out of memory", AGAIN);
        return NULL;
    }
    question->asked_for = asked_for;
    question->who = routed->who;
    question->next = view->questions;
    if (question->next)
        question->next->previous = question;
    view->questions = question;
    question->completion.ended = on_gone;
    question->exchange = exchange;
    exchange->completion = &question->completion;
    return question;
}

/* The exchange to answer; NULL: gone. The question is freed. */
static struct http_exchange *question_end(struct view *view, struct question *question)
{
    struct http_exchange *exchange = question->exchange;

    if (exchange)
        exchange->completion = NULL;
    *(question->previous ? &question->previous->next : &view->questions) = question->next;
    if (question->next)
        question->next->previous = question->previous;
    free(question);
    return exchange;
}

int view_init(struct view *view, struct leases *leases)
{
    *view = (struct view){.leases = leases, .leaders.view = view, .began_ns = rl_now_ns()};
    survey_init(&view->survey, leases);
    if (http_body_init(&view->body) < 0) {
        view_free(view);
        return -1;
    }
    return 0;
}

void view_free(struct view *view)
{
    while (view->questions)
        question_end(view, view->questions);
    leaders_free(&view->leaders);
    survey_free(&view->survey);
    http_body_free(&view->body);
}

void view_answer_error(struct view *view, struct http_exchange *exchange, int error,
                       const char *detail)
{
    bool is_refused = error == REDLOCK_AUTH || error == REDLOCK_PROTO;
    int status = error == REDLOCK_INVAL ? 422 : is_refused ? 502 : 503;

    http_body_begin(&view->body);
    rl_json_string(&view->body.json, "code", redlock_error_name(error));
    rl_json_string(&view->body.json, "detail", detail);
    http_body_answer(&view->body, exchange, status, PROBLEM, status == 503 ? AGAIN : NULL);
}

/* What redlock_start_...() has answered. */
static void asked(struct view *view, struct question *question, int error)
{
    if (error)
        view_answer_error(view, question_end(view, question), error, redlock_detail());
    else
        loop_wake(&view->leases->library);
}

/* ---- one lock ---------------------------------------------------------------------------- */

static void write_holders(struct rl_json *json, const redlock_info *info)
{
    rl_json_array(json, "holders");
    for (uint32_t i = 0; i < info->holders_shown; i++) {
        const redlock_holder *holder = &info->holders[i];

        rl_json_object(json, NULL);
        rl_json_string(json, "label", holder->label[0] ? holder->label : NULL);
        rl_json_string(json, "fingerprint", holder->fingerprint);
        rl_json_known(json, "held_ms", holder->held_ms);
        rl_json_known(json, "remaining_ms", holder->remaining_ms);
        rl_json_integer(json, "votes", holder->votes);
        rl_json_end_object(json);
    }
    rl_json_end_array(json);
    rl_json_array(json, "queue");
    for (uint32_t i = 0; i < info->waiters_shown; i++) {
        const redlock_waiter *waiter = &info->waiters[i];

        rl_json_object(json, NULL);
        rl_json_string(json, "label", waiter->label[0] ? waiter->label : NULL);
        rl_json_known(json, "waited_ms", waiter->waited_ms);
        rl_json_end_object(json);
    }
    rl_json_end_array(json);
}

/* By what a client that has broken the lock knows whether a failover can undo it (E13). */
static void write_tenure(redlock *client, const char *address, struct rl_json *json)
{
    redlock_node_info node = REDLOCK_NODE_INFO();
    char text[17];

    for (size_t i = 0; redlock_node(client, i, &node) == REDLOCK_OK; i++) {
        if (!guarantee_is_elected(&node) || strcmp(node.address, address))
            continue;
        snprintf(text, sizeof text, "%016" PRIx64, node.tenure);
        rl_json_string(json, "tenure", node.tenure ? text : NULL);
        return;
    }
}

static void write_report(redlock *client, struct rl_json *json, const redlock_report *report)
{
    rl_json_array(json, "nodes");
    for (uint32_t i = 0; report && i < report->node_count; i++) {
        const redlock_node_report *node = &report->node[i];

        rl_json_object(json, NULL);
        rl_json_string(json, "address", node->address);
        rl_json_string(json, "vote", vote_name(node->vote));
        rl_json_string(json, "reason", node->reason ? redlock_reason_name(node->reason) : NULL);
        rl_json_known(json, "rtt_us", node->rtt_us);
        rl_json_known(json, "remaining_ms", node->key_remaining_ms);
        rl_json_integer(json, "holder_count", node->holder_count);
        rl_json_integer(json, "waiters", node->waiter_count);
        rl_json_string(json, "text", node->text);
        write_tenure(client, node->address, json);
        rl_json_end_object(json);
    }
    rl_json_end_array(json);
}

void view_answer_lock(struct view *view, const redlock_event *event)
{
    struct http_exchange *exchange = question_end(view, event->data);
    const redlock_answer *answer = event->answer;
    const redlock_info *info = answer->info;
    struct rl_json *json = &view->body.json;
    bool is_record;

    if (!exchange)
        return;
    if (event->error) {
        view_answer_error(view, exchange, event->error, event->detail);
        return;
    }
    is_record = record_is(answer->name, info);
    http_body_begin(&view->body);
    rl_json_string(json, "name", answer->name);
    rl_json_bool(json, "held", info->held);
    rl_json_string(json, "kind", info->kind >= 0 ? redlock_kind_text(info->kind) : NULL);
    rl_json_known(json, "fence", info->fence ? info->fence : -1);
    rl_json_integer(json, "holder_count", info->holder_count);
    rl_json_integer(json, "slots", info->slots);
    rl_json_integer(json, "waiters", info->waiter_count);
    rl_json_bool(json, "disagree", info->disagree && !is_record);
    rl_json_bool(json, "record", is_record);
    write_holders(json, info);
    write_report(view->leases->client, json, answer->report);
    http_body_answer(&view->body, exchange, 200, JSON, NULL);
}

void view_begin_lock(struct view *view, const struct routed *routed)
{
    struct question *question = question_new(view, routed, ASKED_LOCK);
    redlock_job job;

    if (question)
        asked(view, question,
              redlock_start_query(view->leases->client, routed->name, question, &job));
}

/* ---- break ------------------------------------------------------------------------------- */

/* The value of a holder begins with the tag, by which this replica may know the lease. */
static void note_broken(struct view *view, const struct question *question, const char *name,
                        const redlock_holder *holder)
{
    struct lease_tag tag = {{0}};
    struct holding holding = {.tag = &tag,
                              .who = &question->who,
                              .name = name,
                              .label = holder->label,
                              .peer = question->exchange ? question->exchange->peer : NULL};

    memcpy(tag.text, holder->value, LEASE_TAG_SIZE);
    holdings_ended(view->leases, &holding, JOURNAL_BROKEN, NULL);
}

void view_answer_break(struct view *view, const redlock_event *event)
{
    const redlock_answer *answer = event->answer;
    struct question *question = event->data;
    char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1];
    struct http_exchange *exchange;

    /* Also if the operator is gone: the holder is. */
    if (!event->error)
        note_broken(view, question, answer->name, &answer->report->holder);
    strcpy(fingerprint, question->fingerprint);
    exchange = question_end(view, question);
    if (!exchange)
        return;
    if (event->error == REDLOCK_EXPIRED) {
        http_answer_problem(exchange, 412, "EXPIRED",
                            "the holder of that fingerprint is gone already", NULL);
    } else if (event->error) {
        view_answer_error(view, exchange, event->error, event->detail);
    } else {
        http_body_begin(&view->body);
        rl_json_string(&view->body.json, "name", answer->name);
        rl_json_string(&view->body.json, "label",
                       answer->report->holder.label[0] ? answer->report->holder.label : NULL);
        rl_json_string(&view->body.json, "fingerprint", fingerprint);
        /* It is not asked: how long it may still believe in the lock. */
        rl_json_known(&view->body.json, "remaining_ms", answer->report->holder.remaining_ms);
        rl_json_bool(&view->body.json, "final", answer->report->final_ms == 0);
        rl_json_integer(&view->body.json, "final_ms", answer->report->final_ms);
        http_body_answer(&view->body, exchange, 200, JSON, NULL);
    }
}

void view_begin_break(struct view *view, const struct routed *routed)
{
    char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1];
    struct lease_refusal refusal;
    struct question *question;
    redlock_job job;

    if (!break_terms_read(routed->request, fingerprint, &refusal)) {
        http_answer_problem(routed->exchange, refusal.status, refusal.code, refusal.detail,
                            NULL);
        return;
    }
    question = question_new(view, routed, ASKED_BREAK);
    if (!question)
        return;
    strcpy(question->fingerprint, fingerprint);
    asked(view, question,
          redlock_start_break(view->leases->client, routed->name, fingerprint, question, &job));
}

/* ---- which locks there are --------------------------------------------------------------- */

/* Lists under way of this principal; NULL: of all. */
static unsigned lists_of(const struct view *view, const char *principal)
{
    unsigned count = 0;

    for (const struct question *question = view->questions; question; question = question->next)
        count += question->asked_for == ASKED_LIST &&
                 (!principal || strcmp(question->who.principal, principal) == 0);
    return count;
}

void view_answer_list(struct view *view, const redlock_event *event)
{
    struct question *question = event->data;
    const redlock_answer *answer = event->answer;
    struct rl_json *json = &view->body.json;
    size_t prefix_size = strlen(question->prefix);
    unsigned count = 0;
    bool more = false;

    if (!question->exchange || event->error) {
        struct http_exchange *exchange = question_end(view, question);

        if (exchange)
            view_answer_error(view, exchange, event->error, event->detail);
        return;
    }
    http_body_begin(&view->body);
    rl_json_array(json, "names");
    for (size_t i = 0; i < answer->name_count && !more; i++) {
        const char *name = answer->names[i];

        if (strncmp(name, question->prefix, prefix_size) != 0 ||
            (question->after[0] && strcmp(name, question->after) <= 0) ||
            !access_may(view->leases->access, &question->who, ACCESS_READ, name))
            continue;
        more = count == question->limit;
        if (!more)
            rl_json_string(json, NULL, name);
        count++;
    }
    rl_json_end_array(json);
    rl_json_bool(json, "more", more);
    http_body_answer(&view->body, question_end(view, question), 200, JSON, NULL);
}

void view_begin_list(struct view *view, const struct routed *routed)
{
    static const char *const names[] = {"prefix", "limit", "after", NULL};
    struct http_exchange *exchange = routed->exchange;
    struct rl_slice query = routed->request->query;
    struct question *question;
    redlock_job job;

    if (lists_of(view, routed->who.principal) >= VIEW_LISTS_OF_ONE_MAX) {
        http_answer_problem(exchange, 429, "LISTS",
                            "too many lists of this principal are under way already", AGAIN);
        return;
    }
    /* A client that asks and goes costs itself nothing, and the nodes a walk that
     * holders wait behind. */
    if (lists_of(view, NULL) >= VIEW_LISTS_MAX) {
        http_answer_problem(exchange, 503, "LISTS", "too many lists are under way already",
                            AGAIN);
        return;
    }
    question = question_new(view, routed, ASKED_LIST);
    if (!question)
        return;
    question->limit = VIEW_LIST_DEFAULT;
    if (!rl_target_query_only(query, names) ||
        rl_target_query_number(query, "limit", 1, VIEW_LIST_MAX, &question->limit) ==
            RL_TARGET_BAD ||
        rl_target_query_get(query, "prefix", question->prefix, sizeof question->prefix) ==
            RL_TARGET_BAD ||
        rl_target_query_get(query, "after", question->after, sizeof question->after) ==
            RL_TARGET_BAD) {
        http_answer_problem(question_end(view, question), 400, "QUERY",
                            "prefix and after are names, limit is 1 to 1000, and that is all",
                            NULL);
        return;
    }
    asked(view, question, redlock_start_list(view->leases->client, question, &job));
}
