/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/routes.h"

#include <string.h>

#include "io/clock.h"
#include "leases/acquire.h"
#include "leases/holdings.h"
#include "metrics/ops.h"
#include "page/page.h"
#include "redlock.h"
#include "view/replica.h"

#define READ_ONLY "Allow: GET, HEAD\r\n"

static bool is_path(const struct http_request *request, const char *path)
{
    return request->path.length == strlen(path) &&
           memcmp(request->path.at, path, request->path.length) == 0;
}

/* False: answered with what is allowed. */
static bool is_read(struct http_exchange *exchange, const struct http_request *request)
{
    if (request->method == HTTP_GET || request->method == HTTP_HEAD)
        return true;
    http_answer_problem(exchange, 405, "METHOD_NOT_ALLOWED", "this can only be read",
                        READ_ONLY);
    return false;
}

static void answer_livez(struct http_exchange *exchange)
{
    static const char text[] = "{\"status\":\"alive\"}\n";

    http_answer(exchange, &(struct http_answer){.status = 200,
                                                .type = "application/json",
                                                .body = text,
                                                .body_size = sizeof text - 1});
}

static void answer_version(struct routes *routes, struct http_exchange *exchange)
{
    http_body_begin(&routes->body);
    json_string(&routes->body.json, "name", "redlockd");
    json_string(&routes->body.json, "version", redlock_version());
    http_body_answer(&routes->body, exchange, 200, "application/json", NULL);
}

_Static_assert(ACCESS_PRINCIPAL_MAX <= LEASE_PRINCIPAL_MAX,
               "an owner has room for a principal");

/* 403 unless the principal has the right. */
static bool may(struct routes *routes, struct http_exchange *exchange,
                const struct access_who *who, enum access_right right, const char *name)
{
    if (access_may(routes->access, who, right, name))
        return true;
    holdings_denied(routes->leases, who, name, "FORBIDDEN");
    http_answer_problem(exchange, 403, "FORBIDDEN", "no rule allows that", NULL);
    return false;
}

/* 429 if its rule has had as many requests as it may; name: NULL for what is about no lock. */
static bool is_within_quota(struct routes *routes, struct http_exchange *exchange,
                            const struct access_who *who, const char *name)
{
    struct access_rule *rule =
        name ? access_rule_of(routes->access, who, name)
             : access_rules_any(&routes->access->rules, who->principal, who->gid);

    if (!rule || access_rule_take(rule, rl_now_ns()))
        return true;
    lease_refuse_quota(routes->leases, exchange, who, name);
    return false;
}

static void begin_lock(struct routes *routes, struct http_exchange *exchange,
                       const struct http_request *request, struct rl_span encoded,
                       const struct access_who *who)
{
    bool is_look = request->method == HTTP_GET || request->method == HTTP_HEAD;
    bool is_break = request->method == HTTP_DELETE && request->query.length > 0;
    char name[REDLOCK_NAME_MAX + 1];
    const char *why = http_name_decode(encoded, routes->utf8_names, name, sizeof name);

    if (why)
        http_answer_problem(exchange, 400, "NAME", why, NULL);
    else if (is_look && may(routes, exchange, who, ACCESS_READ, name) &&
             is_within_quota(routes, exchange, who, name))
        view_begin_lock(&routes->view, exchange, encoded);
    else if (is_break && may(routes, exchange, who, ACCESS_BREAK, name))
        view_begin_break(&routes->view, exchange, request, encoded, who);
    else if (!is_look && !is_break && may(routes, exchange, who, ACCESS_ACQUIRE, name))
        leases_begin(routes->leases, exchange, request, name, who);
}

static void count_leases(struct leases *leases, struct metrics_counts *counts)
{
    struct leases_view view = leases_look(leases);

    counts->lease_waiting = view.lease_waiting;
    counts->lease_held = view.lease_held;
    counts->stream_waiting = view.stream_waiting;
    counts->stream_held = view.stream_held;
    counts->stream_jeopardy = view.stream_jeopardy;
}

static void answer_metrics(struct routes *routes, struct http_exchange *exchange)
{
    struct metrics_counts counts = {
        .yours = routes->leases->counts.yours,
        .disconnected_waiters = routes->leases->counts.disconnected_waiters,
        .waiting = routes->leases->counts.waiting,
        .audit = routes->leases->audit,
        .rules = &routes->access->rules,
    };

    http_server_counts(routes->server, &counts.http);
    counts.tally = http_server_tally(routes->server);
    memcpy(counts.listeners, routes->listeners, sizeof counts.listeners);
    count_leases(routes->leases, &counts);
    metrics_answer(&routes->metrics, exchange, routes->leases->client, &counts);
}

/* What needs a right, and exists. */
static void begin_allowed(struct routes *routes, struct http_exchange *exchange,
                          const struct http_request *request, const struct access_who *who)
{
    struct rl_span name;

    if (http_path_below(request->path, "/v1/locks/", &name))
        begin_lock(routes, exchange, request, name, who);
    else if (!is_read(exchange, request))
        return;
    else if (!is_within_quota(routes, exchange, who, NULL))
        return;
    else if (is_path(request, "/v1/locks"))
        view_begin_list(&routes->view, exchange, request, who);
    else if (is_path(request, "/v1/events"))
        events_begin(&routes->events, exchange, request, who);
    else if (is_path(request, "/v1/status") &&
             access_still_reads(routes->access, who, exchange))
        view_begin_status(&routes->view, exchange, request, who);
    else if (!may(routes, exchange, who, ACCESS_ADMIN, NULL))
        return;
    else if (is_path(request, "/v1/status"))
        view_begin_status(&routes->view, exchange, request, who);
    else if (is_path(request, "/v1/nodes"))
        view_begin_nodes(&routes->view, exchange);
    else
        answer_metrics(routes, exchange);
}

static bool needs_right(const struct http_request *request)
{
    struct rl_span name;

    return http_path_below(request->path, "/v1/locks/", &name) ||
           is_path(request, "/v1/locks") || is_path(request, "/v1/events") ||
           is_path(request, "/v1/nodes") || is_path(request, "/v1/status") ||
           is_path(request, "/metrics");
}

static enum op op_of(const struct http_request *request)
{
    static const struct {
        const char *path;
        enum op op;
    } paths[] = {{"/v1/locks", OP_LIST},    {"/v1/events", OP_EVENTS}, {"/v1/nodes", OP_NODES},
                 {"/v1/status", OP_STATUS}, {"/metrics", OP_METRICS},  {"/readyz", OP_READY},
                 {"/livez", OP_LIVE},       {"/version", OP_FILE}};
    struct rl_span name;

    if (http_path_below(request->path, "/v1/locks/", &name))
        switch (request->method) {
        case HTTP_PUT:
            return OP_ACQUIRE;
        case HTTP_POST:
            return OP_RENEW;
        case HTTP_DELETE:
            return request->query.length > 0 ? OP_BREAK : OP_RELEASE;
        default:
            return OP_LOOK;
        }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (is_path(request, paths[i].path))
            return paths[i].op;
    return page_is_at(request->path) ? OP_FILE : OP_NONE;
}

static void refuse_unknown(struct routes *routes, struct http_exchange *exchange)
{
    holdings_denied(routes->leases, NULL, NULL, "UNAUTHORIZED");
    http_answer_problem(exchange, 401, "UNAUTHORIZED",
                        "send a bearer token, or use the unix socket",
                        "WWW-Authenticate: Bearer\r\n");
}

static void begin(void *context, struct http_exchange *exchange,
                  const struct http_request *request)
{
    struct routes *routes = context;
    struct access_who who;

    http_set_op(exchange, op_of(request));
    if (!access_host_is_ours(routes->access, request)) {
        http_answer_problem(exchange, 400, "HOST",
                            "this port serves localhost, and names that host = NAME allows",
                            NULL);
        return;
    }
    if (needs_right(request)) {
        if (access_identify(routes->access, request, &who))
            begin_allowed(routes, exchange, request, &who);
        else
            refuse_unknown(routes, exchange);
        return;
    }
    if (is_path(request, "/livez")) {
        if (is_read(exchange, request))
            answer_livez(exchange);
    } else if (is_path(request, "/readyz")) {
        if (is_read(exchange, request))
            view_begin_ready(&routes->view, exchange, request);
    } else if (is_path(request, "/version")) {
        if (is_read(exchange, request))
            answer_version(routes, exchange);
    } else if (page_is_at(request->path)) {
        if (is_read(exchange, request))
            page_answer(exchange, request->path);
    } else {
        http_answer_problem(exchange, 404, "NOT_FOUND", "there is nothing at this path", NULL);
    }
}

static void ended(void *context, struct http_exchange *exchange, void *user,
                  enum http_ended how)
{
    struct http_user *kept = user;

    (void)context, (void)exchange;
    kept->ended(kept, how);
}

/* Its value begins with the tag, by which this replica may know the lease. */
static void on_broken(void *context, const struct access_who *who, const char *name,
                      const redlock_holder *holder)
{
    struct lease_tag tag = {{0}};

    memcpy(tag.text, holder->value, REDLOCK_TAG_SIZE);
    holdings_ended(
        context,
        &(struct holding){.tag = &tag, .who = who, .name = name, .label = holder->label},
        AUDIT_BROKEN, NULL);
}

/* audit_observer_fn: what happens to locks, for the counters and the feeds. */
static void observe(void *context, const struct audit_line *line)
{
    struct routes *routes = context;

    metrics_note(&routes->metrics, line);
    trouble_note(&routes->view.trouble, line);
    if (line->event != AUDIT_DENIED && line->name)
        events_tell(&routes->events, &(struct event){.word = audit_word(line->event),
                                                     .name = line->name,
                                                     .label = line->label,
                                                     .reason = line->reason,
                                                     .fence = line->fence});
}

static void count_for_view(void *context, struct view_counts *counts)
{
    struct routes *routes = context;
    struct leases_view leases = leases_look(routes->leases);

    *counts = (struct view_counts){
        .leases = leases.lease_held + leases.stream_held + leases.stream_jeopardy,
        .streams = leases.stream_held + leases.stream_jeopardy,
        .jeopardy = leases.stream_jeopardy,
        .lost = routes->leases->audit->count[AUDIT_LOST],
    };
}

static void count_wait(void *wait, void *survey)
{
    survey_count_wait(survey, redlock_name(((struct lease *)wait)->lock));
}

static void count_waits(void *context, struct survey *survey)
{
    ids_each_wait(&((struct leases *)context)->ids, count_wait, survey);
}

static void wake(void *context)
{
    leases_wake(context);
}

int routes_init(struct routes *routes, struct leases *leases, struct access *access,
                bool utf8_names)
{
    *routes = (struct routes){.leases = leases, .access = access, .utf8_names = utf8_names};
    if (http_body_init(&routes->body) < 0 || view_init(&routes->view) < 0 ||
        metrics_init(&routes->metrics) < 0 || events_init(&routes->events, access) < 0) {
        routes_free(routes);
        return -1;
    }
    routes->view.wake = wake;
    routes->view.wake_context = leases;
    routes->view.survey.wake = wake;
    routes->view.survey.count_waits = count_waits;
    routes->view.survey.owner_context = leases;
    routes->view.count = count_for_view;
    routes->view.count_context = routes;
    routes->view.access = access;
    routes->view.on_broken = on_broken;
    routes->view.broken_context = leases;
    routes->view.utf8_names = utf8_names;
    return 0;
}

void routes_open(struct routes *routes, struct http_server *server)
{
    routes->server = server;
    routes->view.client = routes->view.survey.client = routes->leases->client;
    routes->events.client = routes->leases->client;
    routes->leases->audit->observer = observe;
    routes->leases->audit->observer_context = routes;
}

void routes_free(struct routes *routes)
{
    http_body_free(&routes->body);
    view_free(&routes->view);
    metrics_free(&routes->metrics);
    events_free(&routes->events);
}

struct http_handler routes_handler(struct routes *routes)
{
    return (struct http_handler){routes, begin, ended};
}
