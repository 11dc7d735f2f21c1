/* SPDX-License-Identifier: BSD-2-Clause */
/* What was ended stays ended, and is told so: while renewals are under way, and
 * with nodes down. */
#include "check.h"
#include "client.h"
#include "proxy.h"
#include "stream_rig.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- two renewals under way -------------------------------------------------------------- */

static struct replica three;
static struct proxy to_third, to_first; /* of the first replica, and of the second */

/* Three replicas; of the first two each has one node behind a proxy. */
static void begin_three(void)
{
    cluster_start(&cluster, 3);
    proxy_start(&to_third, cluster.node[2].port.number);
    proxy_start(&to_first, cluster.node[0].port.number);
    cluster.urls[2] = to_third.url;
    replica_open(&one, "one", &cluster);
    cluster.urls[2] = cluster.url[2];
    cluster.urls[0] = to_first.url;
    replica_open(&two, "two", &cluster);
    cluster.urls[0] = cluster.url[0];
    replica_open(&three, "three", &cluster);
}

static void end_three(void)
{
    end_two();
    replica_close(&three);
    proxy_stop(&to_third);
    proxy_stop(&to_first);
}

/* The lease, renewed by both replicas on different majorities: what they ask the third
 * is held back. */
static const char *renew_twice(const char *id)
{
    const char *grant = take_lease(&three, id);

    await_nodes(&three, 3);
    to_third.switches->hold_up = to_first.switches->hold_up = 1;
    CHECK_HAS("HTTP/1.1 200 ", lease_ask(&one, lease_request("POST", id, grant, "{}")));
    CHECK_HAS("HTTP/1.1 200 ", lease_ask(&two, lease_request("POST", id, grant, "{}")));
    return grant;
}

/* What was held back arrives, and what follows from its answers has been carried out. */
static void let_go(void)
{
    to_third.switches->hold_up = to_first.switches->hold_up = 0;
    for (int i = 0; i < 2; i++) {
        client_warm(one.leases.client);
        client_warm(two.leases.client);
    }
}

CASE(released_stays_released,
     "A DELETE is not undone by renewals that two replicas have begun.")
{
    const char *grant;

    begin_three();
    grant = renew_twice(ID_A);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&three, lease_request("DELETE", ID_A, grant, NULL)));
    CHECK_INT(0, cluster_count(&cluster, KEY));
    let_go();
    CHECK_INT(0, cluster_count(&cluster, KEY));
    renew_twice(ID_B);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&three, lease_request("DELETE", ID_B, NULL, NULL)));
    let_go();
    CHECK_INT(0, cluster_count(&cluster, KEY));
    end_three();
}

/* An operator evicts the holder. */
static void break_lock(void)
{
    char request[256], body[64];
    const char *answer =
        lease_ask(&three, "GET /v1/locks/job HTTP/1.1\r\nHost: localhost\r\n\r\n");

    snprintf(body, sizeof body, "{\"fingerprint\":\"%s\"}",
             lease_member(answer, "fingerprint"));
    snprintf(request, sizeof request,
             "POST /v1/breaks/job HTTP/1.1\r\nHost: localhost\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    CHECK_HAS("HTTP/1.1 200 ", lease_ask(&three, request));
}

CASE(broken_stays_broken, "A break is not undone by renewals that two replicas have begun.")
{
    const char *grant;

    begin_three();
    grant = renew_twice(ID_A);
    break_lock();
    let_go();
    CHECK_INT(0, cluster_count(&cluster, KEY));
    CHECK_HAS("\"code\":\"LOST\"", lease_ask(&one, lease_request("POST", ID_A, grant, "{}")));
    end_three();
}

/* A stream that came back to the second replica while the first still has it: both renew it. */
static void renew_two_streams(const char *id)
{
    char grant[LEASE_GRANT_MAX + 1];
    int first, second;

    first = hold_tcp(id, grant);
    come_back(&two, id, grant, &second);
    to_third.switches->hold_up = to_first.switches->hold_up = 1;
    renew_now(&one);
    rig_read_until(&one.rig, first, "event: renewed");
    renew_now(&two);
    rig_read_until(&two.rig, second, "event: renewed");
}

CASE(streams_stay_ended,
     "Neither a DELETE nor a break is undone by a stream that two replicas renew.")
{
    begin_three();
    renew_two_streams(ID_A);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&three, lease_request("DELETE", ID_A, NULL, NULL)));
    let_go();
    CHECK_INT(0, cluster_count(&cluster, KEY));
    end_three();
    begin_three();
    renew_two_streams(ID_A);
    break_lock();
    let_go();
    CHECK_INT(0, cluster_count(&cluster, KEY));
    end_three();
}

/* ---- nodes are down ---------------------------------------------------------------------- */

/* Five nodes of which so many are down, and a lease that another client has ended. */
static const char *lose_lease(size_t down)
{
    const char *grant;

    cluster_start(&cluster, 5);
    replica_open(&one, "one", &cluster);
    grant = take_lease(&one, ID_A);
    await_nodes(&one, 5);
    cluster_each(&cluster, 5 - down, down, server_kill);
    cluster_del(&cluster, 0, 5 - down, KEY);
    return grant;
}

CASE(gone_with_nodes_down,
     "With one or two of five nodes down, a lease that the others miss is 410, not 503.")
{
    for (size_t down = 0; down <= 2; down++) {
        const char *grant = lose_lease(down);
        const char *answer = lease_ask(&one, lease_request("POST", ID_A, grant, "{}"));

        CHECK_HAS("HTTP/1.1 410 ", answer);
        CHECK_STR("LOST", lease_member(answer, "code"));
        CHECK_HAS("gone from", lease_member(answer, "detail"));
        end_one();
    }
}

CASE(too_few_nodes, "With three of five nodes down, a renewal is 503: nothing is proven.")
{
    const char *grant = lose_lease(3);
    const char *answer = lease_ask(&one, lease_request("POST", ID_A, grant, "{}"));

    CHECK_HAS("HTTP/1.1 503 ", answer);
    CHECK_STR("NOQUORUM", lease_member(answer, "code"));
    end_one();
}

CASE(stream_is_told_with_a_node_down,
     "With one of three nodes down, a stream whose key is gone is told `lost` at its renewal.")
{
    const char *text;
    int fd;

    begin_one();
    fd = hold(ID_A);
    await_nodes(&one, 3);
    server_kill(&cluster.node[2]);
    cluster_del(&cluster, 0, 2, KEY);
    renew_now(&one);
    text = rig_read_until(&one.rig, fd, "event: lost");
    CHECK_STR("LOST", lease_member(stream_event(text, "lost"), "code"));
    CHECK_LACKS("event: jeopardy", text);
    close(fd);
    end_one();
}

CASE(come_back_with_a_node_down,
     "With one of three nodes down, a stream that comes back to a lock that is gone is 410.")
{
    char grant[LEASE_GRANT_MAX + 1];
    const char *answer;
    int fd;

    begin_two();
    fd = hold_tcp(ID_A, grant);
    await_nodes(&one, 3);
    server_kill(&cluster.node[0]);
    cluster_del(&cluster, 1, 2, KEY);
    answer = lease_ask(&two, lease_stream_request(ID_A, grant, "{}"));
    CHECK_HAS("HTTP/1.1 410 ", answer);
    CHECK_STR("LOST", lease_member(answer, "code"));
    close(fd);
    end_two();
}
