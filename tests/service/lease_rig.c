/* SPDX-License-Identifier: BSD-2-Clause */
#include "lease_rig.h"

#include "check.h"
#include "client.h"
#include "clock.h"
#include "io/clock.h"

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

void replica_open(struct replica *replica, const char *name, const struct cluster *cluster)
{
    struct http_handler handler = routes_handler(&replica->routes);
    char path[256], why[512];

    replica->access = (struct access){0};
    unsetenv("REDLOCK_NODES");
    snprintf(path, sizeof path, "%s/nodes.conf", check_dir());
    write_config(path, cluster);
    CHECK_INT(0, routes_init(&replica->routes, &replica->leases, &replica->access, false));
    rig_open_with(&replica->rig, name, &handler, NULL);
    if (leases_open(&replica->leases, &replica->rig.loop, &replica->access, path, DRIFT_PPM,
                    why, sizeof why) < 0)
        FAIL("%s", why);
    routes_open(&replica->routes, replica->rig.server);
    client_warm(replica->leases.client);
}

void replica_close(struct replica *replica)
{
    http_server_free(replica->rig.server);
    leases_close(&replica->leases);
    routes_free(&replica->routes);
    loop_free(&replica->rig.loop);
}

void replica_run(struct replica *replica, int64_t ms)
{
    int64_t end_ns = rl_now_ns() + ms * RL_NS_PER_MS;

    while (rl_now_ns() < end_ns)
        loop_turn(&replica->rig.loop, 5);
}

const char *lease_request(const char *method, const char *id, const char *grant,
                          const char *body)
{
    static char texts[8][1024];
    static unsigned next;
    char *text = texts[next++ % 8];

    snprintf(text, sizeof texts[0],
             "%s /v1/locks/job HTTP/1.1\r\nHost: h\r\nLease-Id: %s\r\n%s%s%s"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             method, id, grant ? "Grant: " : "", grant ? grant : "", grant ? "\r\n" : "",
             body ? strlen(body) : 0, body ? body : "");
    return text;
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
