/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/routes.h"

#include <string.h>

#include "access/access.h"
#include "redlock.h"

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

/* True: it is for leases, and answered, refused or under way. */
static bool begin_lock(struct routes *routes, struct http_exchange *exchange,
                       const struct http_request *request)
{
    char principal[ACCESS_PRINCIPAL_MAX + 1];
    struct rl_span name;

    if (!http_path_below(request->path, "/v1/locks/", &name))
        return false;
    if (access_allows(request->peer, principal))
        leases_begin(routes->leases, exchange, request, name, principal);
    else
        http_answer_problem(exchange, 403, "FORBIDDEN",
                            "only the daemon's own user may, through its unix socket", NULL);
    return true;
}

static void begin(void *context, struct http_exchange *exchange,
                  const struct http_request *request)
{
    struct routes *routes = context;
    bool is_livez = is_path(request, "/livez");

    if (begin_lock(routes, exchange, request))
        return;
    if (!is_livez && !is_path(request, "/version")) {
        http_answer_problem(exchange, 404, "NOT_FOUND", "there is nothing at this path", NULL);
        return;
    }
    if (!is_read(exchange, request))
        return;
    if (is_livez)
        answer_livez(exchange);
    else
        answer_version(routes, exchange);
}

/* Only leases are users of exchanges. */
static void ended(void *context, struct http_exchange *exchange, void *user,
                  enum http_ended how)
{
    struct routes *routes = context;

    (void)exchange;
    leases_ended(routes->leases, user, how);
}

int routes_init(struct routes *routes, struct leases *leases)
{
    routes->leases = leases;
    return http_body_init(&routes->body);
}

void routes_free(struct routes *routes)
{
    http_body_free(&routes->body);
}

struct http_handler routes_handler(struct routes *routes)
{
    return (struct http_handler){routes, begin, ended};
}
