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

/* A request that the nodes have not answered yet. */
struct view_request {
    enum job_type job_type; /* first: the data of its job */
    struct http_completion completion;
    struct http_exchange *exchange; /* NULL: the client is gone, and the answer is dropped */
    struct view_request *previous, *next; /* in view->requests */
    struct access_who who;                /* of a list or break */
    unsigned limit;                       /* list, as what follows */
    char prefix[REDLOCK_NAME_MAX + 1];
    char after[REDLOCK_NAME_MAX + 1];
    char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1]; /* break */
};

/* ---- requests --------------------------------------------------------------------------- */

static void on_gone(struct http_completion *completion, enum http_ended how)
{
    (void)how;
    ((struct view_request *)(void *)((char *)completion -
                                     offsetof(struct view_request, completion)))
        ->exchange = NULL;
}

static struct view_request *request_new(struct view *view, const struct routed *routed,
                                        enum job_type job_type)
{
    struct http_exchange *exchange = routed->exchange;
    struct view_request *request = calloc(1, sizeof *request);

    if (!request) {
        http_answer_problem(exchange, 503, "NOMEM", "out of memory", NULL);
        return NULL;
    }
    request->job_type = job_type;
    request->who = routed->who;
    request->next = view->requests;
    if (request->next)
        request->next->previous = request;
    view->requests = request;
    request->completion.ended = on_gone;
    request->exchange = exchange;
    exchange->completion = &request->completion;
    return request;
}

/* The exchange to answer; NULL: gone. The request is freed. */
static struct http_exchange *request_end(struct view *view, struct view_request *request)
{
    struct http_exchange *exchange = request->exchange;

    if (exchange)
        exchange->completion = NULL;
    *(request->previous ? &request->previous->next : &view->requests) = request->next;
    if (request->next)
        request->next->previous = request->previous;
    free(request);
    return exchange;
}

int view_init(struct view *view, struct leases *leases)
{
    *view = (struct view){.leases = leases, .leaders.view = view, .began_ns = rl_now_ns()};
    overview_init(&view->overview, leases);
    if (http_body_init(&view->body) < 0) {
        view_free(view);
        return -1;
    }
    return 0;
}

void view_free(struct view *view)
{
    while (view->requests)
        request_end(view, view->requests);
    leaders_free(&view->leaders);
    overview_free(&view->overview);
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
    http_body_answer(&view->body, exchange, status);
}

/* What redlock_start_...() has answered. */
static void started(struct view *view, struct view_request *request, int error)
{
    if (error)
        view_answer_error(view, request_end(view, request), error, redlock_detail());
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
    struct http_exchange *exchange = request_end(view, event->data);
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
    http_body_answer(&view->body, exchange, 200);
}

void view_begin_lock(struct view *view, const struct routed *routed)
{
    struct view_request *request = request_new(view, routed, JOB_LOCK);
    redlock_job job;

    if (request)
        started(view, request,
                redlock_start_query(view->leases->client, routed->name, request, &job));
}

/* ---- break ------------------------------------------------------------------------------- */

/* The value of a holder begins with the tag, by which this replica may know the lease. */
static void note_broken(struct view *view, const struct view_request *request, const char *name,
                        const redlock_holder *holder)
{
    struct lease_tag tag = {{0}};
    struct holding holding = {.tag = &tag,
                              .who = &request->who,
                              .name = name,
                              .label = holder->label,
                              .peer = request->exchange ? request->exchange->peer : NULL};

    memcpy(tag.text, holder->value, LEASE_TAG_SIZE);
    holdings_ended(view->leases, &holding, JOURNAL_BROKEN, NULL);
}

void view_answer_break(struct view *view, const redlock_event *event)
{
    const redlock_answer *answer = event->answer;
    struct view_request *request = event->data;
    char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1];
    struct http_exchange *exchange;

    /* Also if the operator is gone: the holder is. */
    if (!event->error)
        note_broken(view, request, answer->name, &answer->report->holder);
    strcpy(fingerprint, request->fingerprint);
    exchange = request_end(view, request);
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
        /* The holder gets no message: for so long it may still believe in the lock. */
        rl_json_known(&view->body.json, "remaining_ms", answer->report->holder.remaining_ms);
        rl_json_bool(&view->body.json, "final", answer->report->final_ms == 0);
        rl_json_integer(&view->body.json, "final_ms", answer->report->final_ms);
        http_body_answer(&view->body, exchange, 200);
    }
}

void view_begin_break(struct view *view, const struct routed *routed)
{
    char fingerprint[REDLOCK_FINGERPRINT_SIZE + 1];
    struct lease_refusal refusal;
    struct view_request *request;
    redlock_job job;

    if (!break_terms_read(routed->request, fingerprint, &refusal)) {
        http_answer_problem(routed->exchange, refusal.status, refusal.code, refusal.detail,
                            NULL);
        return;
    }
    request = request_new(view, routed, JOB_BREAK);
    if (!request)
        return;
    strcpy(request->fingerprint, fingerprint);
    started(
        view, request,
        redlock_start_break(view->leases->client, routed->name, fingerprint, request, &job));
}

/* ---- which locks there are --------------------------------------------------------------- */

/* Lists under way of this principal; NULL: of all. */
static unsigned lists_of(const struct view *view, const char *principal)
{
    unsigned count = 0;

    for (const struct view_request *request = view->requests; request; request = request->next)
        count += request->job_type == JOB_LIST &&
                 (!principal || strcmp(request->who.principal, principal) == 0);
    return count;
}

void view_answer_list(struct view *view, const redlock_event *event)
{
    struct view_request *request = event->data;
    const redlock_answer *answer = event->answer;
    struct rl_json *json = &view->body.json;
    size_t prefix_size = strlen(request->prefix);
    unsigned count = 0;
    bool more = false;

    if (!request->exchange || event->error) {
        struct http_exchange *exchange = request_end(view, request);

        if (exchange)
            view_answer_error(view, exchange, event->error, event->detail);
        return;
    }
    http_body_begin(&view->body);
    rl_json_array(json, "names");
    for (size_t i = 0; i < answer->name_count && !more; i++) {
        const char *name = answer->names[i];

        if (strncmp(name, request->prefix, prefix_size) != 0 ||
            (request->after[0] && strcmp(name, request->after) <= 0) ||
            !access_may(view->leases->access, &request->who, ACCESS_READ, name))
            continue;
        more = count == request->limit;
        if (!more)
            rl_json_string(json, NULL, name);
        count++;
    }
    rl_json_end_array(json);
    rl_json_bool(json, "more", more);
    http_body_answer(&view->body, request_end(view, request), 200);
}

void view_begin_list(struct view *view, const struct routed *routed)
{
    static const char *const names[] = {"prefix", "limit", "after", NULL};
    struct http_exchange *exchange = routed->exchange;
    struct rl_slice query = routed->request->query;
    struct view_request *request;
    redlock_job job;

    if (lists_of(view, routed->who.principal) >= VIEW_LISTS_OF_ONE_MAX) {
        http_answer_problem(exchange, 429, "LISTS",
                            "too many lists of this principal are under way already", NULL);
        return;
    }
    /* A client that requests one and goes costs itself nothing, and the nodes a walk
     * that holders wait behind. */
    if (lists_of(view, NULL) >= VIEW_LISTS_MAX) {
        http_answer_problem(exchange, 503, "LISTS", "too many lists are under way already",
                            NULL);
        return;
    }
    request = request_new(view, routed, JOB_LIST);
    if (!request)
        return;
    request->limit = VIEW_LIST_DEFAULT;
    if (!rl_target_query_only(query, names) ||
        rl_target_query_number(query, "limit", 1, VIEW_LIST_MAX, &request->limit) ==
            RL_TARGET_BAD ||
        rl_target_query_get(query, "prefix", request->prefix, sizeof request->prefix) ==
            RL_TARGET_BAD ||
        rl_target_query_get(query, "after", request->after, sizeof request->after) ==
            RL_TARGET_BAD) {
        http_answer_problem(request_end(view, request), 400, "QUERY",
                            "prefix and after are names, limit is 1 to 1000, and that is all",
                            NULL);
        return;
    }
    started(view, request, redlock_start_list(view->leases->client, request, &job));
}
