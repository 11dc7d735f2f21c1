/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/routes.h"

#include <stdio.h>
#include <string.h>

#include "base/target.h"
#include "io/clock.h"
#include "leases/holdings.h"
#include "metrics/ops.h"
#include "page/page.h"
#include "redlock.h"
#include "view/replica.h"

#define GET (1u << HTTP_GET)
#define READ (1u << HTTP_GET | 1u << HTTP_HEAD)
#define PUT (1u << HTTP_PUT)
#define POST (1u << HTTP_POST)
#define DELETE (1u << HTTP_DELETE)

_Static_assert(ACCESS_PRINCIPAL_MAX <= LEASE_PRINCIPAL_MAX,
               "an owner has room for a principal");

/* ---- handlers ---------------------------------------------------------------------------- */

static void begin_lease(struct routes *routes, const struct routed *routed)
{
    leases_begin(routes->leases, routed);
}

static void begin_lock(struct routes *routes, const struct routed *routed)
{
    view_begin_lock(&routes->view, routed);
}

static void begin_leader(struct routes *routes, const struct routed *routed)
{
    leaders_begin(&routes->view.leaders, routed);
}

static void begin_break(struct routes *routes, const struct routed *routed)
{
    view_begin_break(&routes->view, routed);
}

static void begin_once(struct routes *routes, const struct routed *routed)
{
    once_begin(&routes->once, routed);
}

static void begin_list(struct routes *routes, const struct routed *routed)
{
    view_begin_list(&routes->view, routed);
}

static void begin_feed(struct routes *routes, const struct routed *routed)
{
    feeds_begin(&routes->journal->feeds, routed);
}

static void begin_status(struct routes *routes, const struct routed *routed)
{
    view_begin_status(&routes->view, routed);
}

static void begin_nodes(struct routes *routes, const struct routed *routed)
{
    view_begin_nodes(&routes->view, routed);
}

static void begin_metrics(struct routes *routes, const struct routed *routed)
{
    metrics_answer(&routes->metrics, routed->exchange, routes->leases, routes->server,
                   routes->listeners);
}

/* How many nodes vote in which quorum is for those that may look; others get yes or no. */
static void begin_ready(struct routes *routes, const struct routed *routed)
{
    const struct access *access = routes->access;
    struct access_who who;

    view_begin_ready(&routes->view, routed,
                     access_identify(access, routed->request, &who) == ACCESS_PROVEN &&
                         (access_still_reads(access, &who, routed->exchange) ||
                          access_may(access, &who, ACCESS_ADMIN, NULL)));
}

static void begin_livez(struct routes *routes, const struct routed *routed)
{
    static const char text[] = "{\"status\":\"alive\"}\n";

    (void)routes;
    http_answer(routed->exchange, &(struct http_answer){.status = 200,
                                                        .type = HTTP_JSON,
                                                        .body = text,
                                                        .body_size = sizeof text - 1});
}

static void begin_version(struct routes *routes, const struct routed *routed)
{
    http_body_begin(&routes->body);
    rl_json_string(&routes->body.json, "name", "redlockd");
    rl_json_string(&routes->body.json, "version", redlock_version());
    http_body_answer(&routes->body, routed->exchange, 200);
}

static void begin_page(struct routes *routes, const struct routed *routed)
{
    (void)routes;
    page_answer(routed->exchange, routed->request->path);
}

/* ---- the table --------------------------------------------------------------------------- */

/* What follows is the name of a lock. Breaks stand beside the locks: NAME/break would be a
 * name, too. */
#define LOCKS "/v1/locks/"
#define LEADERS "/v1/leaders/"
#define ONCE "/v1/once/"
#define BREAKS "/v1/breaks/"

/* A path may have several rows, of different methods. */
static const struct route {
    unsigned methods;
    const char *path;
    unsigned
        right; /* that it needs, of the name; without a name READ is that of any; 0: none */
    bool has_name;
    bool
        is_counted; /* by the rule of the name, before it begins: leases count for themselves */
    enum op op;
    void (*begin)(struct routes *routes, const struct routed *routed);
} table[] = {
    {PUT, LOCKS, ACCESS_ACQUIRE, true, false, OP_ACQUIRE, begin_lease},
    {POST, LOCKS, ACCESS_ACQUIRE, true, false, OP_RENEW, begin_lease},
    {DELETE, LOCKS, ACCESS_ACQUIRE, true, false, OP_RELEASE, begin_lease},
    {READ, LOCKS, ACCESS_READ, true, true, OP_LOOK, begin_lock},
    {READ, LEADERS, ACCESS_READ, true, true, OP_LEADER, begin_leader},
    {PUT | DELETE, ONCE, ACCESS_ACQUIRE, true, true, OP_ONCE, begin_once},
    {POST, BREAKS, ACCESS_BREAK, true, false, OP_BREAK, begin_break},
    {READ, "/v1/locks", ACCESS_READ, false, false, OP_LIST, begin_list},
    {GET, "/v1/events", ACCESS_READ, false, false, OP_EVENTS, begin_feed},
    {READ, "/v1/status", ACCESS_READ, false, false, OP_STATUS, begin_status},
    {READ, "/v1/nodes", ACCESS_ADMIN, false, false, OP_NODES, begin_nodes},
    {READ, "/metrics", ACCESS_ADMIN, false, false, OP_METRICS, begin_metrics},
    {READ, "/readyz", 0, false, false, OP_READY, begin_ready},
    {READ, "/livez", 0, false, false, OP_LIVE, begin_livez},
    {READ, "/version", 0, false, false, OP_FILE, begin_version},
    {READ, "/openapi.json", 0, false, false, OP_FILE, begin_page},
    {READ, "/", 0, false, false, OP_FILE, begin_page},
};

/*
 * The row of the request; of a method that its path does not have, another row of the path.
 * NULL: there is nothing at this path. *allowed: then the methods of the path.
 */
static const struct route *find(const struct http_request *request, struct rl_slice *name,
                                unsigned *allowed)
{
    const struct route *found = NULL;

    *allowed = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct route *route = &table[i];
        struct rl_slice rest;

        if (!rl_target_below(request->path, route->path, &rest) ||
            (!route->has_name && rest.size > 0))
            continue;
        found = route;
        *name = rest;
        *allowed |= route->methods;
        if (route->methods & 1u << request->method)
            break;
    }
    return found;
}

/* ---- on the way -------------------------------------------------------------------------- */

static void deny(struct routes *routes, const struct routed *routed, const char *reason)
{
    holdings_denied(routes->leases, routed->exchange, &routed->request->path,
                    routed->who.principal[0] ? &routed->who : NULL,
                    routed->name[0] ? routed->name : NULL, reason);
}

static void refuse_method(struct http_exchange *exchange, unsigned allowed)
{
    static const char *const names[] = {"GET", "HEAD", "PUT", "POST", "DELETE"};
    char header[64] = "Allow: ";

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(allowed & 1u << i))
            continue;
        allowed &= ~(1u << i);
        strcat(strcat(header, names[i]), allowed ? ", " : "\r\n");
    }
    http_answer_problem(exchange, 405, "METHOD_NOT_ALLOWED",
                        "this path has other methods: Allow names them", header);
}

static void refuse_proof(struct http_exchange *exchange, bool is_wrong_token)
{
    http_answer_problem(exchange, 401, "UNAUTHORIZED",
                        is_wrong_token ? "this token is not known here, or its day is over"
                                       : "send a bearer token, or use the unix socket",
                        "WWW-Authenticate: Bearer\r\n");
}

/* With a Lease-Id it is a candidate's: may it lead, and does it? */
static enum access_right right_of(const struct route *route, const struct http_request *request)
{
    struct rl_slice id;

    return route->op == OP_LEADER && http_request_field(request, HTTP_FIELD_LEASE_ID, &id) > 0
               ? ACCESS_ACQUIRE
               : route->right;
}

/* True: answered, with the first thing that is in the way. why: the name is none. */
static bool is_refused(struct routes *routes, const struct route *route, unsigned allowed,
                       struct routed *routed, enum access_verdict verdict, const char *why)
{
    struct http_exchange *exchange = routed->exchange;

    if (verdict == ACCESS_NO_PRINCIPAL || verdict == ACCESS_REFUSED_TOKEN) {
        routed->name[0] = '\0';
        deny(routes, routed, "UNAUTHORIZED");
        refuse_proof(exchange, verdict == ACCESS_REFUSED_TOKEN);
    } else if (verdict == ACCESS_OVER_QUOTA) {
        leases_refuse_quota(routes->leases, routed);
    } else if (!(route->methods & 1u << routed->request->method)) {
        refuse_method(exchange, allowed);
    } else if (why) {
        http_answer_problem(exchange, 400, "NAME", why, NULL);
    } else if (verdict == ACCESS_FORBIDDEN) {
        deny(routes, routed, "FORBIDDEN");
        http_answer_problem(exchange, 403, "FORBIDDEN", "no rule allows that", NULL);
    } else {
        return false;
    }
    return true;
}

static void begin(void *context, struct http_exchange *exchange,
                  const struct http_request *request)
{
    struct routes *routes = context;
    struct rl_slice name;
    unsigned allowed;
    const struct route *route = find(request, &name, &allowed);
    enum access_verdict verdict;
    const char *why = NULL;
    struct routed routed;

    routed.exchange = exchange;
    routed.request = request;
    routed.right = route ? right_of(route, request) : 0;
    routed.name[0] = '\0';
    exchange->op = route ? route->op : OP_NONE;
    if (route && route->has_name)
        why = rl_target_name(name, routes->utf8_names, routed.name, sizeof routed.name);
    if (why)
        routed.name[0] = '\0';
    verdict = access_admit(routes->access, &routed, route && route->has_name);
    if (verdict == ACCESS_OTHER_HOST) {
        routed.name[0] = '\0';
        deny(routes, &routed, "HOST");
        http_answer_problem(exchange, 400, "HOST",
                            "this port serves localhost, and names that host = NAME allows",
                            NULL);
    } else if (!route) {
        http_answer_problem(exchange, 404, "NOT_FOUND", "there is nothing at this path", NULL);
    } else if (!is_refused(routes, route, allowed, &routed, verdict, why)) {
        exchange->is_known = routed.right != 0;
        if (route->is_counted && routed.rule && !access_rule_take(routed.rule, rl_now_ns()))
            leases_refuse_quota(routes->leases, &routed);
        else
            route->begin(routes, &routed);
    }
}

int routes_init(struct routes *routes, struct leases *leases, struct access *access,
                struct journal *journal, bool utf8_names)
{
    *routes = (struct routes){
        .leases = leases, .access = access, .journal = journal, .utf8_names = utf8_names};
    routes->once.leases = leases;
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
}

void routes_free(struct routes *routes)
{
    http_body_free(&routes->body);
    view_free(&routes->view);
    once_free(&routes->once);
    metrics_free(&routes->metrics);
}

struct http_handler routes_handler(struct routes *routes)
{
    return (struct http_handler){routes, begin};
}
