/* SPDX-License-Identifier: BSD-2-Clause */
#include "lease_rig.h"

#include "check.h"
#include "client.h"
#include "io/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRIFT_PPM 10000

struct cluster cluster;
struct replica one;

static void write_config(const char *path)
{
    FILE *file = fopen(path, "we");

    CHECK(file);
    fprintf(file, "node-timeout = %dms\nnodes = ", PATIENT_MS);
    for (size_t i = 0; i < cluster.count; i++)
        fprintf(file, "%s%s", i ? "," : "", cluster.urls[i]);
    fprintf(file, "\n");
    CHECK_INT(0, fclose(file));
}

/* A request through TCP needs a token: here it goes straight to the leases. */
static void begin(void *context, struct http_exchange *exchange,
                  const struct http_request *request)
{
    struct replica *replica = context;
    struct http_handler routes = routes_handler(&replica->routes);
    struct routed routed = {.exchange = exchange, .request = request, .right = ACCESS_ACQUIRE};
    struct rl_slice encoded;

    snprintf(routed.who.principal, sizeof routed.who.principal, "uid:%u", (unsigned)geteuid());
    if (!request->peer->is_unix && rl_target_below(request->path, "/v1/locks/", &encoded) &&
        !rl_target_name(encoded, false, routed.name, sizeof routed.name)) {
        routed.rule = access_rule_of(&replica->access, &routed.who, routed.name);
        leases_begin(&replica->leases, &routed);
        return;
    }
    routes.begin(routes.context, exchange, request);
}

static void end(void)
{
    http_server_free(one.rig->server);
    library_close(&one.library);
    leases_close(&one.leases);
    routes_free(&one.routes);
    journal_free(&one.journal);
}

void replica_begin(void)
{
    struct http_handler handler = {&one, begin};
    char path[256], why[512];

    cluster_start(&cluster, 3);
    unsetenv("REDLOCK_NODES");
    snprintf(path, sizeof path, "%s/nodes.conf", check_dir());
    write_config(path);
    CHECK_INT(0, journal_init(&one.journal, &one.access, &one.audit, &one.classes));
    CHECK_INT(0, routes_init(&one.routes, &one.leases, &one.access, &one.journal, false));
    one.rig = rig_begin_with(&handler, &(struct http_options){0}, end);
    if (leases_open(&one.leases, &one.rig->loop, &one.access, &one.journal, path, DRIFT_PPM,
                    why, sizeof why) < 0)
        FAIL("%s", why);
    routes_open(&one.routes, one.rig->server);
    CHECK_INT(0, library_open(&one.library, &one.leases, &one.routes.view, &one.routes.once,
                              NULL, NULL));
    one.port = rig_listen_tcp(one.rig, NULL);
    client_warm(one.leases.client);
}

void replica_run(int64_t ms)
{
    int64_t end_ns = rl_now_ns() + ms * RL_NS_PER_MS;

    while (rl_now_ns() < end_ns)
        loop_turn(&one.rig->loop, 5);
}

void await_nodes(int wanted)
{
    for (int i = 0; i < SOON_MS / 10 && cluster_count(&cluster, KEY) != wanted; i++)
        replica_run(10);
    CHECK_INT(wanted, cluster_count(&cluster, KEY));
}

static const char *write_request(const char *method, const char *accept, const char *id,
                                 const char *grant, const char *body)
{
    static char texts[8][1024];
    static unsigned next;
    char *text = texts[next++ % 8];

    snprintf(text, sizeof texts[0],
             "%s /v1/locks/job HTTP/1.1\r\nHost: h\r\n%sLease-Id: %s\r\n%s%s%s"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             method, accept, id, grant ? "Grant: " : "", grant ? grant : "",
             grant ? "\r\n" : "", body ? strlen(body) : 0, body ? body : "");
    return text;
}

const char *lease_request(const char *method, const char *id, const char *grant,
                          const char *body)
{
    return write_request(method, "", id, grant, body);
}

const char *lease_stream_request(const char *id, const char *grant, const char *body)
{
    return write_request("PUT", "Accept: text/event-stream\r\n", id, grant, body);
}

const char *lease_ask(const char *request)
{
    int fd = rig_request(one.rig, request);
    const char *answer = rig_read_until(one.rig, fd, "\r\n\r\n");

    if (!strstr(answer, "204 No Content"))
        CHECK_HAS("}\n", answer);
    rig_disconnect(one.rig, fd);
    return answer;
}

int stream_open_tcp(const char *request)
{
    int fd = rig_connect_tcp(one.port, "127.0.0.1");

    rig_send(one.rig, fd, request);
    return fd;
}

int hold(void)
{
    int fd = rig_request(one.rig, lease_stream_request(ID_A, NULL, "{}"));

    rig_read_until(one.rig, fd, "event: granted");
    await_nodes(3);
    return fd;
}

int hold_tcp(char grant[LEASE_GRANT_MAX + 1])
{
    int fd = stream_open_tcp(lease_stream_request(ID_A, NULL, "{}"));
    const char *text = rig_read_until(one.rig, fd, "}\n\n");

    snprintf(grant, LEASE_GRANT_MAX + 1, "%s",
             lease_member(stream_event(text, "granted"), "grant"));
    CHECK(grant[0] != '\0');
    await_nodes(3);
    return fd;
}

struct lease_request *first_stream(void)
{
    struct lease_request *request = one.leases.all;

    while (request && !request->lease.is_stream)
        request = request->next;
    return request;
}

void renew_now(void)
{
    struct lease_request *stream = first_stream();

    CHECK(stream);
    stream->lease.renew_ns = 0;
    lease_table_plan(&one.leases.table,
                     lease_table_find(&one.leases.table, &stream->tag, rl_now_ns()));
    replica_run(5);
}

const char *stream_event(const char *text, const char *name)
{
    char needle[64];
    const char *found = NULL;

    snprintf(needle, sizeof needle, "event: %s\ndata: {", name);
    for (const char *at = strstr(text, needle); at; at = strstr(at + 1, needle))
        found = at;
    if (!found)
        FAIL("no event %s in %s", name, text);
    return found;
}

/* What stands behind "key": in the answer; NULL: nothing. */
static const char *member_at(const char *answer, const char *key)
{
    char needle[64];
    const char *at;

    snprintf(needle, sizeof needle, "\"%s\":", key);
    at = strstr(answer, needle);
    return at ? at + strlen(needle) : NULL;
}

const char *lease_member(const char *answer, const char *key)
{
    static char texts[8][512];
    static unsigned next;
    char *text = texts[next++ % 8];
    const char *at = member_at(answer, key);

    text[0] = '\0';
    if (at && *at == '"')
        snprintf(text, sizeof texts[0], "%.*s", (int)strcspn(at + 1, "\""), at + 1);
    return text;
}

long long lease_number(const char *answer, const char *key)
{
    const char *at = member_at(answer, key);

    if (!at)
        FAIL("there is no \"%s\" in %s", key, answer);
    return strtoll(at, NULL, 10);
}
