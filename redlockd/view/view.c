/* SPDX-License-Identifier: BSD-2-Clause */
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

#include "http/target.h"
#include "http/user.h"
#include "io/clock.h"

#define JSON "application/json"
#define PROBLEM "application/problem+json"
#define NO_STORE "Cache-Control: no-store\r\n"
#define AGAIN "Retry-After: 1\r\n"

/* A question that the nodes have not answered yet. */
struct question {
    struct http_user user;
    struct view *view;
    struct http_exchange *exchange; /* NULL: the client is gone, and the answer is dropped */
    unsigned limit;                 /* list, as what follows */
    struct access_who who;
    char prefix[REDLOCK_NAME_MAX + 1];
    char after[REDLOCK_NAME_MAX + 1];
};

int view_init(struct view *view)
{
    *view = (struct view){.began_ns = rl_now_ns()};
    survey_init(&view->survey);
    if (trouble_init(&view->trouble) < 0 || http_body_init(&view->body) < 0) {
        view_free(view);
        return -1;
    }
    return 0;
}

void view_free(struct view *view)
{
    survey_free(&view->survey);
    trouble_free(&view->trouble);
    http_body_free(&view->body);
}

/* ---- questions --------------------------------------------------------------------------- */

static void on_gone(struct http_user *user, enum http_ended how)
{
    (void)how;
    ((struct question *)(void *)user)->exchange = NULL;
}

static struct question *question_new(struct view *view, struct http_exchange *exchange)
{
    struct question *question = calloc(1, sizeof *question);

    if (!question) {
        http_answer_problem(exchange, 503, "NOMEM", "out of memory", AGAIN);
        return NULL;
    }
    question->user.ended = on_gone;
    question->view = view;
    question->exchange = exchange;
    http_set_user(exchange, &question->user);
    return question;
}

/* The exchange to answer; NULL: gone. The question is freed. */
static struct http_exchange *question_end(struct question *question)
{
    struct http_exchange *exchange = question->exchange;

    if (exchange)
        http_set_user(exchange, NULL);
    free(question);
    return exchange;
}

static void answer_error(struct view *view, struct http_exchange *exchange, int error)
{
    bool is_refused = error == REDLOCK_AUTH || error == REDLOCK_PROTO;
    int status = error == REDLOCK_INVAL ? 422 : is_refused ? 502 : 503;

    http_body_begin(&view->body);
    json_string(&view->body.json, "code", redlock_error_name(error));
    json_string(&view->body.json, "detail", redlock_detail());
    http_body_answer(&view->body, exchange, status, PROBLEM, status == 503 ? AGAIN : NULL);
}

/* What redlock_start_...() has answered. */
static void asked(struct question *question, int error)
{
    struct view *view = question->view;

    if (error)
        answer_error(view, question_end(question), error);
    else
        view->wake(view->wake_context);
}

/* False: answered. */
static bool read_name(const struct view *view, struct http_exchange *exchange,
                      struct rl_span encoded, char *name)
{
    const char *why = http_name_decode(encoded, view->utf8_names, name, REDLOCK_NAME_MAX + 1);

    if (why)
        http_answer_problem(exchange, 400, "NAME", why, NULL);
    return !why;
}

/* ---- one lock ---------------------------------------------------------------------------- */

static void write_holders(struct json *json, const redlock_info *info)
{
    json_array(json, "holders");
    for (uint32_t i = 0; i < info->shown_holder_count; i++) {
        const redlock_holder *holder = &info->shown_holder[i];

        json_object(json, NULL);
        json_string(json, "label", holder->label[0] ? holder->label : NULL);
        json_string(json, "mark", holder->mark);
        json_known(json, "held_ms", holder->held_ms);
        json_known(json, "remaining_ms", holder->ttl_ms);
        json_integer(json, "votes", holder->votes);
        json_end_object(json);
    }
    json_end_array(json);
    json_array(json, "queue");
    for (uint32_t i = 0; i < info->shown_waiter_count; i++) {
        const redlock_waiter *waiter = &info->shown_waiter[i];

        json_object(json, NULL);
        json_string(json, "label", waiter->label[0] ? waiter->label : NULL);
        json_known(json, "waited_ms", waiter->waited_ms);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_report(struct json *json, const redlock_report *report)
{
    json_array(json, "nodes");
    for (uint32_t i = 0; report && i < report->node_count; i++) {
        const redlock_node_report *node = &report->node[i];

        json_object(json, NULL);
        json_string(json, "address", node->address);
        json_string(json, "vote", redlock_vote_text(node->vote));
        json_known(json, "rtt_us", node->rtt_us);
        json_known(json, "remaining_ms", node->key_ttl_ms);
        json_integer(json, "holder_count", node->holder_count);
        json_integer(json, "waiters", node->waiters);
        json_string(json, "text", node->text);
        json_end_object(json);
    }
    json_end_array(json);
}

static void on_lock(int error, const redlock_answer *answer, void *data)
{
    struct view *view = ((struct question *)data)->view;
    struct http_exchange *exchange = question_end(data);
    const redlock_info *info = answer->info;
    struct json *json = &view->body.json;

    if (!exchange)
        return;
    if (error) {
        answer_error(view, exchange, error);
        return;
    }
    http_body_begin(&view->body);
    json_string(json, "name", answer->name);
    json_bool(json, "held", info->held);
    json_string(json, "kind", info->kind >= 0 ? redlock_kind_text(info->kind) : NULL);
    json_known(json, "fence", info->fence ? info->fence : -1);
    json_integer(json, "holder_count", info->holder_count);
    json_integer(json, "slots", info->slots);
    json_integer(json, "waiters", info->waiters);
    json_bool(json, "disagree", info->disagree);
    write_holders(json, info);
    write_report(json, answer->report);
    http_body_answer(&view->body, exchange, 200, JSON, NO_STORE);
}

void view_begin_lock(struct view *view, struct http_exchange *exchange, struct rl_span name)
{
    char decoded[REDLOCK_NAME_MAX + 1];
    struct question *question;

    if (!read_name(view, exchange, name, decoded))
        return;
    question = question_new(view, exchange);
    if (question)
        asked(question, redlock_start_query(view->client, decoded, on_lock, question));
}

/* ---- break ------------------------------------------------------------------------------- */

static void on_broken(int error, const redlock_answer *answer, void *data)
{
    struct question *question = data;
    struct view *view = question->view;
    struct http_exchange *exchange;

    /* Also if the operator is gone: the holder is. */
    if (!error)
        view->on_broken(view->broken_context, &question->who, answer->name,
                        &answer->report->holder);
    exchange = question_end(question);
    if (!exchange)
        return;
    if (error == REDLOCK_EXPIRED) {
        http_answer_problem(exchange, 412, "EXPIRED", "the holder of that mark is gone already",
                            NULL);
    } else if (error) {
        answer_error(view, exchange, error);
    } else {
        http_body_begin(&view->body);
        json_string(&view->body.json, "name", answer->name);
        json_string(&view->body.json, "label",
                    answer->report->holder.label[0] ? answer->report->holder.label : NULL);
        /* It is not asked: how long it may still believe in the lock. */
        json_known(&view->body.json, "may_act_ms", answer->report->holder.ttl_ms);
        http_body_answer(&view->body, exchange, 200, JSON, NO_STORE);
    }
}

void view_begin_break(struct view *view, struct http_exchange *exchange,
                      const struct http_request *request, struct rl_span name,
                      const struct access_who *who)
{
    static const char *const names[] = {"break", NULL};
    char decoded[REDLOCK_NAME_MAX + 1], mark[REDLOCK_MARK_SIZE + 1];
    struct question *question;

    if (!read_name(view, exchange, name, decoded))
        return;
    if (!http_query_only(request->query, names) ||
        http_query_get(request->query, "break", mark, sizeof mark) < 0) {
        http_answer_problem(exchange, 400, "QUERY",
                            "break needs a mark of GET, and nothing else", NULL);
        return;
    }
    question = question_new(view, exchange);
    if (!question)
        return;
    question->who = *who;
    asked(question, redlock_start_break(view->client, decoded, mark, on_broken, question));
}

/* ---- which locks there are --------------------------------------------------------------- */

static void on_list(int error, const redlock_answer *answer, void *data)
{
    struct question *question = data;
    struct view *view = question->view;
    struct json *json = &view->body.json;
    size_t prefix_size = strlen(question->prefix);
    unsigned count = 0;
    bool more = false;

    view->lists--;
    if (!question->exchange || error) {
        struct http_exchange *exchange = question_end(question);

        if (exchange)
            answer_error(view, exchange, error);
        return;
    }
    http_body_begin(&view->body);
    json_array(json, "names");
    for (size_t i = 0; i < answer->name_count && !more; i++) {
        const char *name = answer->names[i];

        if (strncmp(name, question->prefix, prefix_size) != 0 ||
            (question->after[0] && strcmp(name, question->after) <= 0) ||
            !access_may(view->access, &question->who, ACCESS_READ, name))
            continue;
        more = count == question->limit;
        if (!more)
            json_string(json, NULL, name);
        count++;
    }
    json_end_array(json);
    json_bool(json, "more", more);
    http_body_answer(&view->body, question_end(question), 200, JSON, NO_STORE);
}

void view_begin_list(struct view *view, struct http_exchange *exchange,
                     const struct http_request *request, const struct access_who *who)
{
    static const char *const names[] = {"prefix", "limit", "after", NULL};
    struct rl_span query = request->query;
    struct question *question;
    int error;

    /* A client that asks and goes costs itself nothing, and the nodes a walk that holders wait behind. */
    if (view->lists >= VIEW_LISTS_MAX) {
        http_answer_problem(exchange, 503, "LISTS", "too many lists are under way already",
                            AGAIN);
        return;
    }
    question = question_new(view, exchange);
    if (!question)
        return;
    question->who = *who;
    question->limit = VIEW_LIST_DEFAULT;
    if (!http_query_only(query, names) ||
        http_query_number(query, "limit", 1, VIEW_LIST_MAX, &question->limit) ==
            HTTP_QUERY_BAD ||
        http_query_get(query, "prefix", question->prefix, sizeof question->prefix) ==
            HTTP_QUERY_BAD ||
        http_query_get(query, "after", question->after, sizeof question->after) ==
            HTTP_QUERY_BAD) {
        http_answer_problem(question_end(question), 400, "QUERY",
                            "prefix and after are names, limit is 1 to 1000, and that is all",
                            NULL);
        return;
    }
    error = redlock_start_list(view->client, on_list, question);
    view->lists += !error;
    asked(question, error);
}
