/* SPDX-License-Identifier: BSD-2-Clause */
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

#include "http/target.h"
#include "http/user.h"
#include "view/quorums.h"

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
    *view = (struct view){0};
    return http_body_init(&view->body);
}

void view_free(struct view *view)
{
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

/* 0, or -1: not a number from 1 to VIEW_LIST_MAX. */
static int read_limit(struct rl_span query, unsigned *limit)
{
    char text[8], *end;
    int size = http_query_get(query, "limit", text, sizeof text);
    unsigned long number;

    *limit = VIEW_LIST_DEFAULT;
    if (size == HTTP_QUERY_ABSENT)
        return 0;
    if (size <= 0 || !rl_is_digit(text[0]))
        return -1;
    number = strtoul(text, &end, 10);
    *limit = (unsigned)number;
    return *end == '\0' && number >= 1 && number <= VIEW_LIST_MAX ? 0 : -1;
}

void view_begin_list(struct view *view, struct http_exchange *exchange,
                     const struct http_request *request, const struct access_who *who)
{
    static const char *const names[] = {"prefix", "limit", "after", NULL};
    struct question *question = question_new(view, exchange);
    struct rl_span query = request->query;

    if (!question)
        return;
    question->who = *who;
    if (!http_query_only(query, names) || read_limit(query, &question->limit) < 0 ||
        http_query_get(query, "prefix", question->prefix, sizeof question->prefix) ==
            HTTP_QUERY_BAD ||
        http_query_get(query, "after", question->after, sizeof question->after) ==
            HTTP_QUERY_BAD) {
        http_answer_problem(question_end(question), 400, "QUERY",
                            "prefix and after are names, limit is 1 to 1000, and that is all",
                            NULL);
        return;
    }
    asked(question, redlock_start_list(view->client, on_list, question));
}

/* ---- nodes ------------------------------------------------------------------------------- */

static void write_nodes(struct view *view)
{
    struct json *json = &view->body.json;
    redlock_node_info node = {.size = sizeof node};

    json_array(json, "nodes");
    for (size_t i = 0; redlock_node(view->client, i, &node) == REDLOCK_OK; i++) {
        bool has_clock = node.clock_error_us >= 0;

        json_object(json, NULL);
        json_string(json, "address", node.address);
        json_string(json, "quorum", node.quorum_name[0] ? node.quorum_name : NULL);
        json_bool(json, "up", node.state == REDLOCK_NODE_UP);
        json_bool(json, "votes", quorums_node_votes(&node));
        json_bool(json, "quarantined", node.quarantined);
        json_known(json, "quarantine_ms", node.quarantine_ms);
        json_known(json, "rtt_us", node.rtt_us);
        if (has_clock)
            json_integer(json, "clock_offset_us", node.clock_offset_us);
        else
            json_string(json, "clock_offset_us", NULL);
        json_string(json, "version", node.version[0] ? node.version : NULL);
        json_string(json, "text", node.text);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_quorums(struct view *view)
{
    struct quorum_view quorums[REDLOCK_QUORUMS_MAX];
    unsigned count = quorums_look(view->client, quorums);
    struct json *json = &view->body.json;

    json_array(json, "quorums");
    for (unsigned i = 0; i < count; i++) {
        json_object(json, NULL);
        json_string(json, "name", quorums[i].name[0] ? quorums[i].name : NULL);
        json_integer(json, "nodes", quorums[i].nodes);
        json_integer(json, "needed", quorums[i].needed);
        json_integer(json, "voting", quorums[i].voting);
        json_end_object(json);
    }
    json_end_array(json);
}

void view_begin_nodes(struct view *view, struct http_exchange *exchange)
{
    http_body_begin(&view->body);
    write_nodes(view);
    http_body_answer(&view->body, exchange, 200, JSON, NO_STORE);
}

void view_begin_status(struct view *view, struct http_exchange *exchange)
{
    struct json *json = &view->body.json;
    redlock_stats stats = {.size = sizeof stats};

    redlock_stats_get(view->client, &stats);
    http_body_begin(&view->body);
    json_string(json, "version", redlock_version());
    json_bool(json, "ready", !view->is_draining && quorums_are_ready(view->client));
    json_bool(json, "draining", view->is_draining);
    json_integer(json, "waiting", (int64_t)stats.waiting);
    json_integer(json, "granted", (int64_t)stats.acquired);
    json_integer(json, "renewed", (int64_t)stats.renewed);
    write_quorums(view);
    write_nodes(view);
    http_body_answer(&view->body, exchange, 200, JSON, NO_STORE);
}

void view_begin_ready(struct view *view, struct http_exchange *exchange,
                      const struct http_request *request)
{
    static const char *const names[] = {"verbose", NULL};
    bool is_ready = !view->is_draining && quorums_are_ready(view->client);
    struct json *json = &view->body.json;
    bool is_guarded;
    char verbose[8];

    if (!http_query_only(request->query, names)) {
        http_answer_problem(exchange, 400, "QUERY", "there is no parameter but verbose", NULL);
        return;
    }
    http_body_begin(&view->body);
    is_guarded = !is_ready && !view->is_draining && quorums_are_of_another_set(view->client);
    if (!is_ready)
        json_string(json, "code",
                    view->is_draining ? "DRAINING"
                    : is_guarded      ? "GUARDED"
                                      : "NOQUORUM");
    json_string(json, is_ready ? "status" : "detail",
                is_ready            ? "ready"
                : view->is_draining ? "this replica is about to end"
                : is_guarded
                    ? "nodes belong to another set than this replica is configured with"
                    : "too few nodes vote");
    if (http_query_get(request->query, "verbose", verbose, sizeof verbose) >= 0)
        write_quorums(view);
    http_body_answer(&view->body, exchange, is_ready ? 200 : 503, is_ready ? JSON : PROBLEM,
                     is_ready ? NO_STORE : AGAIN NO_STORE);
}
