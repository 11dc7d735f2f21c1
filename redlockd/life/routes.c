/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/routes.h"

#include <string.h>

#include "io/clock.h"
#include "leases/holdings.h"
#include "metrics/ops.h"
#include "page/page.h"
#include "redlock.h"
#include "view/replica.h"

#define READ_ONLY "Allow: GET, HEAD\r\n"
#define LOCKS "/v1/locks/"
#define LEADERS "/v1/leaders/"
#define BREAKS "/v1/breaks/" /* beside the locks: NAME/break would be a name, too */

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
                const struct http_request *request, const struct access_who *who,
                enum access_right right, const char *name)
{
    if (access_may(routes->access, who, right, name)) {
        http_set_known(exchange);
        return true;
    }
    holdings_denied(routes->leases, exchange, &request->path, who, name, "FORBIDDEN");
    http_answer_problem(exchange, 403, "FORBIDDEN", "no rule allows that", NULL);
    return false;
}

/* What shows names shows those that may be read: some, at least, or the nodes. Else 403. */
static bool may_look(struct routes *routes, struct http_exchange *exchange,
                     const struct http_request *request, const struct access_who *who)
{
    if (!access_still_reads(routes->access, who, exchange))
        return may(routes, exchange, request, who, ACCESS_ADMIN, NULL);
    http_set_known(exchange);
    return true;
}

/* 429 if its rule has had as many requests as it may; name: NULL for what is about no lock. */
static bool is_within_quota(struct routes *routes, struct http_exchange *exchange,
                            const struct http_request *request, const struct access_who *who,
                            const char *name)
{
    struct access *access = routes->access;
    struct access_rule *rule =
        name ? access_rule_of(access, who, name)
             : access_rules_any(&access->rules, who->principal, &who->groups);

    if (!rule && access_is_stranger(access, who))
        rule = &access->strangers;
    if (!rule || access_rule_take(rule, rl_now_ns()))
        return true;
    leases_refuse_quota(routes->leases, exchange, &request->path, who, name);
    return false;
}

static void begin_lock(struct routes *routes, struct http_exchange *exchange,
                       const struct http_request *request, struct rl_span encoded,
                       bool is_break, const struct access_who *who)
{
    bool is_look = !is_break && (request->method == HTTP_GET || request->method == HTTP_HEAD);
    char name[REDLOCK_NAME_MAX + 1];
    const char *why = http_name_decode(encoded, routes->utf8_names, name, sizeof name);

    if (is_break && request->method != HTTP_POST)
        http_answer_problem(exchange, 405, "METHOD_NOT_ALLOWED", "a break is a POST",
                            "Allow: POST\r\n");
    else if (why)
        http_answer_problem(exchange, 400, "NAME", why, NULL);
    else if (is_look && may(routes, exchange, request, who, ACCESS_READ, name) &&
             is_within_quota(routes, exchange, request, who, name))
        view_begin_lock(&routes->view, exchange, name, who);
    else if (is_break && may(routes, exchange, request, who, ACCESS_BREAK, name))
        view_begin_break(&routes->view, exchange, request, name, who);
    else if (!is_look && !is_break && may(routes, exchange, request, who, ACCESS_ACQUIRE, name))
        leases_begin(routes->leases, exchange, request, name, who,
                     access_rule_of(routes->access, who, name));
}

/* With a Lease-Id it is a candidate's question: may it lead, and does it? */
static void begin_leader(struct routes *routes, struct http_exchange *exchange,
                         const struct http_request *request, struct rl_span encoded,
                         const struct access_who *who)
{
    char name[REDLOCK_NAME_MAX + 1];
    const char *why = http_name_decode(encoded, routes->utf8_names, name, sizeof name);
    struct rl_span id;
    enum access_right right =
        http_request_field(request, "lease-id", &id) > 0 ? ACCESS_ACQUIRE : ACCESS_READ;

    if (why)
        http_answer_problem(exchange, 400, "NAME", why, NULL);
    else if (is_read(exchange, request) && may(routes, exchange, request, who, right, name) &&
             is_within_quota(routes, exchange, request, who, name))
        leaders_begin(&routes->view.leaders, exchange, request, name, who);
}

/* What needs a right, and exists. */
static void begin_allowed(struct routes *routes, struct http_exchange *exchange,
                          const struct http_request *request, const struct access_who *who)
{
    bool is_for_admins = is_path(request, "/v1/nodes") || is_path(request, "/metrics");
    struct rl_span name;
    bool is_break = http_path_below(request->path, BREAKS, &name);
    bool is_leader = http_path_below(request->path, LEADERS, &name);
    bool is_lock = is_break || is_leader || http_path_below(request->path, LOCKS, &name);

    /* What is about one lock has caps of its own, if there is a rule. */
    if ((!is_lock || access_is_stranger(routes->access, who)) &&
        !is_within_quota(routes, exchange, request, who, NULL))
        return;
    if (is_leader)
        begin_leader(routes, exchange, request, name, who);
    else if (is_lock)
        begin_lock(routes, exchange, request, name, is_break, who);
    else if (!is_read(exchange, request))
        return;
    else if (is_for_admins ? !may(routes, exchange, request, who, ACCESS_ADMIN, NULL)
                           : !may_look(routes, exchange, request, who))
        return;
    else if (is_path(request, "/v1/locks"))
        view_begin_list(&routes->view, exchange, request, who);
    else if (is_path(request, "/v1/events"))
        feeds_begin(&routes->journal->feeds, exchange, request, who);
    else if (is_path(request, "/v1/status"))
        view_begin_status(&routes->view, exchange, request, who);
    else if (is_path(request, "/v1/nodes"))
        view_begin_nodes(&routes->view, exchange);
    else
        metrics_answer(&routes->metrics, exchange, routes->leases, routes->server,
                       routes->listeners);
}

static bool needs_right(const struct http_request *request)
{
    struct rl_span name;

    return http_path_below(request->path, LOCKS, &name) ||
           http_path_below(request->path, BREAKS, &name) ||
           http_path_below(request->path, LEADERS, &name) || is_path(request, "/v1/locks") ||
           is_path(request, "/v1/events") || is_path(request, "/v1/nodes") ||
           is_path(request, "/v1/status") || is_path(request, "/metrics");
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

    if (http_path_below(request->path, BREAKS, &name))
        return OP_BREAK;
    if (http_path_below(request->path, LEADERS, &name))
        return OP_LEADER;
    if (http_path_below(request->path, LOCKS, &name))
        switch (request->method) {
        case HTTP_PUT:
            return OP_ACQUIRE;
        case HTTP_POST:
            return OP_RENEW;
        case HTTP_DELETE:
            return OP_RELEASE;
        default:
            return OP_LOOK;
        }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (is_path(request, paths[i].path))
            return paths[i].op;
    return page_is_at(request->path) ? OP_FILE : OP_NONE;
}

static void refuse_unproven(struct routes *routes, struct http_exchange *exchange,
                            const struct http_request *request, enum access_proof proof)
{
    holdings_denied(routes->leases, exchange, &request->path, NULL, NULL, "UNAUTHORIZED");
    http_answer_problem(exchange, 401, "UNAUTHORIZED",
                        proof == ACCESS_WRONG_TOKEN
                            ? "this token is not known here, or its day is over"
                            : "send a bearer token, or use the unix socket",
                        "WWW-Authenticate: Bearer\r\n");
}

/* How many nodes vote in which quorum is for those that may look; others are told yes or no. */
static void begin_ready(struct routes *routes, struct http_exchange *exchange,
                        const struct http_request *request)
{
    struct access_who who;
    bool is_proven = access_identify(routes->access, request, &who) == ACCESS_PROVEN;

    view_begin_ready(&routes->view, exchange, request,
                     is_proven && (access_still_reads(routes->access, &who, exchange) ||
                                   access_may(routes->access, &who, ACCESS_ADMIN, NULL)));
}

static void begin(void *context, struct http_exchange *exchange,
                  const struct http_request *request)
{
    struct routes *routes = context;
    enum access_proof proof;
    struct access_who who;

    http_set_op(exchange, op_of(request));
    if (!access_host_is_ours(routes->access, request)) {
        holdings_denied(routes->leases, exchange, &request->path, NULL, NULL, "HOST");
        http_answer_problem(exchange, 400, "HOST",
                            "this port serves localhost, and names that host = NAME allows",
                            NULL);
        return;
    }
    if (needs_right(request)) {
        proof = access_identify(routes->access, request, &who);
        if (proof == ACCESS_PROVEN)
            begin_allowed(routes, exchange, request, &who);
        else
            refuse_unproven(routes, exchange, request, proof);
        return;
    }
    if (is_path(request, "/livez")) {
        if (is_read(exchange, request))
            answer_livez(exchange);
    } else if (is_path(request, "/readyz")) {
        if (is_read(exchange, request))
            begin_ready(routes, exchange, request);
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

int routes_init(struct routes *routes, struct leases *leases, struct access *access,
                struct journal *journal, bool utf8_names)
{
    *routes = (struct routes){
        .leases = leases, .access = access, .journal = journal, .utf8_names = utf8_names};
    if (http_body_init(&routes->body) < 0 || view_init(&routes->view, leases) < 0 ||
        metrics_init(&routes->metrics) < 0) {
        routes_free(routes);
        return -1;
    }
    return 0;
}

void routes_open(struct routes *routes, struct http_server *server)
{
    routes->server = server;
    routes->metrics.leaders = &routes->view.leaders;
    routes->changes = (struct changes){.client = routes->leases->client,
                                       .context = &routes->journal->feeds,
                                       .on_node = feeds_note_node};
    routes->journal->feeds.changes = &routes->changes;
    routes->journal->audit->listeners = routes->listeners;
    routes->journal->context = &routes->view.leaders;
    routes->journal->on_change = leaders_note;
}

void routes_free(struct routes *routes)
{
    http_body_free(&routes->body);
    view_free(&routes->view);
    metrics_free(&routes->metrics);
}

struct http_handler routes_handler(struct routes *routes)
{
    return (struct http_handler){routes, begin};
}
