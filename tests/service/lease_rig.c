/* SPDX-License-Identifier: BSD-2-Clause */
#include "lease_rig.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "io/clock.h"
#include "ports.h"
#include "system/sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRIFT_PPM 10000

static void write_config(const char *path, const struct cluster *cluster)
{
    FILE *file = fopen(path, "we");

    CHECK(file);
    fprintf(file, "node-timeout = %dms\nnodes = ", PATIENT_MS);
    for (size_t i = 0; i < cluster->count; i++)
        fprintf(file, "%s%s", i ? "," : "", cluster->urls[i]);
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
    if (!request->peer->is_unix && http_path_below(request->path, "/v1/locks/", &encoded) &&
        !http_name_decode(encoded, false, routed.name, sizeof routed.name)) {
        routed.rule = access_rule_of(&replica->access, &routed.who, routed.name);
        leases_begin(&replica->leases, &routed);
        return;
    }
    routes.begin(routes.context, exchange, request);
}

void replica_open(struct replica *replica, const char *name, const struct cluster *cluster)
{
    struct http_handler handler = {replica, begin};
    char path[256], why[512];

    replica->access = (struct access){0};
    replica->audit = (struct audit){.sink = NULL};
    replica->classes = (struct classes){.list = NULL};
    replica->port = 0;
    unsetenv("REDLOCK_NODES");
    snprintf(path, sizeof path, "%s/nodes.conf", check_dir());
    write_config(path, cluster);
    CHECK_INT(0, journal_init(&replica->journal, &replica->access, &replica->audit,
                              &replica->classes));
    CHECK_INT(0, routes_init(&replica->routes, &replica->leases, &replica->access,
                             &replica->journal, false));
    rig_open_with(&replica->rig, name, &handler, NULL);
    if (leases_open(&replica->leases, &replica->rig.loop, &replica->access, &replica->journal,
                    path, DRIFT_PPM, why, sizeof why) < 0)
        FAIL("%s", why);
    routes_open(&replica->routes, replica->rig.server);
    CHECK_INT(0, library_open(&replica->library, &replica->leases, &replica->routes.view,
                              &replica->routes.once, NULL, NULL));
    client_warm(replica->leases.client);
}

void replica_close(struct replica *replica)
{
    http_server_free(replica->rig.server);
    library_close(&replica->library);
    leases_close(&replica->leases);
    routes_free(&replica->routes);
    journal_free(&replica->journal);
    loop_free(&replica->rig.loop);
}

void replica_run(struct replica *replica, int64_t ms)
{
    int64_t end_ns = rl_now_ns() + ms * RL_NS_PER_MS;

    while (rl_now_ns() < end_ns)
        loop_turn(&replica->rig.loop, 5);
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

int stream_open(struct replica *replica, const char *request)
{
    int fd = rig_connect(&replica->rig);

    rig_send(&replica->rig, fd, request);
    return fd;
}

static void listen_tcp(struct replica *replica)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    char why[256];
    int fd = sockets_open("127.0.0.1:0", 0600, NULL, why, sizeof why);

    if (fd < 0)
        FAIL("%s", why);
    CHECK_INT(0, getsockname(fd, (struct sockaddr *)&address, &size));
    replica->port = ntohs(address.sin_port);
    CHECK_INT(0, http_server_listen(replica->rig.server, fd, RIG_LISTENER_TCP, NULL, false));
}

int stream_open_tcp(struct replica *replica, const char *request)
{
    int fd;

    if (replica->port == 0)
        listen_tcp(replica);
    fd = port_connect(replica->port);
    CHECK(fd >= 0);
    CHECK_INT(0, fcntl(fd, F_SETFL, O_NONBLOCK));
    rig_send(&replica->rig, fd, request);
    return fd;
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

const char *lease_ask(struct replica *replica, const char *request)
{
    int fd = rig_connect(&replica->rig);
    const char *answer;

    rig_send(&replica->rig, fd, request);
    answer = rig_read_until(&replica->rig, fd, "\r\n\r\n");
    if (!strstr(answer, "204 No Content"))
        CHECK_HAS("}\n", answer);
    close(fd);
    rig_settle(&replica->rig);
    return answer;
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
