/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams and their ids: repeated, deleted, drained, come back, and through proxies. */
#include "stream_rig.h"

#include "check.h"
#include "client.h"
#include "io/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- one id, one stream ----------------------------------------------------------------- */

CASE(yours, "An id that a stream holds is not granted again, as stream or as lease.")
{
    int fd;

    begin_two();
    fd = hold(ID_A);
    CHECK_HAS("\"code\":\"YOURS\"", lease_ask(&one, lease_stream_request(ID_A, NULL, "{}")));
    CHECK_HAS("\"code\":\"YOURS\"", lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")));
    CHECK_HAS("\"code\":\"YOURS\"", lease_ask(&two, lease_stream_request(ID_A, NULL, "{}")));
    close(fd);
    rig_settle(&one.rig);
    await_nodes(&one, 0);
    end_two();
}

CASE(superseded,
     "A repeated PUT takes the wait of a stream over, and the older one is told so.")
{
    const char *text;
    int holder, first, second;

    begin_one();
    holder = hold(ID_A);
    first = stream_open(&one, lease_stream_request(ID_B, NULL, "{\"wait_ms\":60000}"));
    rig_read_until(&one.rig, first, "\"place\":1}\n\n");
    second = stream_open(&one, lease_stream_request(ID_B, NULL, "{\"wait_ms\":60000}"));
    text = stream_event(rig_read_until(&one.rig, first, "event: lost"), "lost");
    CHECK_INT(409, lease_number(text, "status"));
    CHECK_STR("SUPERSEDED", lease_member(text, "code"));
    close(first);
    rig_read_until(&one.rig, second, "\"place\":1}\n\n");
    /* Another way to hold is another acquisition. */
    CHECK_HAS("\"code\":\"YOURS\"", lease_ask(&one, lease_request("PUT", ID_B, NULL, "{}")));
    close(holder);
    rig_read_until(&one.rig, second, "event: granted");
    close(second);
    rig_settle(&one.rig);
    await_nodes(&one, 0);
    end_one();
}

CASE(deleted_here, "DELETE on the same replica ends a stream at once.")
{
    const char *text;
    int fd;

    begin_one();
    fd = hold(ID_A);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, NULL, NULL)));
    text = stream_event(rig_read_until(&one.rig, fd, "event: lost"), "lost");
    CHECK_INT(410, lease_number(text, "status"));
    CHECK_STR("ENDED", lease_member(text, "code"));
    rig_read_end(&one.rig, fd);
    await_nodes(&one, 0);
    CHECK(!first_stream(&one));
    close(fd);
    end_one();
}

CASE(deleted_elsewhere, "DELETE on another replica ends a stream at its next renewal.")
{
    int fd;

    begin_two();
    fd = hold(ID_A);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&two, lease_request("DELETE", ID_A, NULL, NULL)));
    renew_now(&one);
    CHECK_STR("LOST",
              lease_member(stream_event(rig_read_until(&one.rig, fd, "event: lost"), "lost"),
                           "code"));
    close(fd);
    end_two();
}

/* ---- who is seen to live ----------------------------------------------------------------- */

CASE(unacknowledged_is_not_renewed,
     "A TCP stream is not renewed while anything that it was told is not acknowledged.")
{
    char grant[LEASE_GRANT_MAX + 1];
    int fd;

    begin_one();
    fd = hold_tcp(ID_A, grant);
    unacknowledged = 1;
    renew_now(&one);
    CHECK_LACKS("event: renewed", rig_read(&one.rig, fd, NULL));
    CHECK(!first_stream(&one)->lease.is_extending);
    CHECK_INT(0, redlock_margin(first_stream(&one)->lock) < 0);
    unacknowledged = 0;
    renew_now(&one);
    rig_read_until(&one.rig, fd, "event: renewed");
    /* Of a machine that vanished behind its last comment this event is the first
     * that is missed. */
    unacknowledged = 1;
    renew_now(&one);
    CHECK(!first_stream(&one)->lease.is_extending);
    CHECK_LACKS("event: renewed", rig_read(&one.rig, fd, NULL));
    unacknowledged = -1;
    close(fd);
    end_one();
}

CASE(forbidden_is_not_renewed,
     "A stream whose client has lost its right to the name is not renewed.")
{
    char why[256];
    int fd;

    begin_one();
    fd = hold(ID_A);
    CHECK_INT(0,
              access_rules_add(&one.access.rules, "uid:4294967294 * acquire", why, sizeof why));
    renew_now(&one);
    CHECK_LACKS("event: ", rig_read(&one.rig, fd, NULL));
    CHECK(!first_stream(&one)->lease.is_extending);
    close(fd);
    end_one();
}

CASE(silence_ends, "A TCP stream that is not renewed is told lost when its time is over.")
{
    const char *text;
    int fd;

    begin_one();
    unacknowledged = 1 << 20;
    fd = stream_open_tcp(&one, lease_stream_request(ID_A, NULL, "{\"ttl_ms\":2000}"));
    text = stream_event(rig_read_until(&one.rig, fd, "event: lost"), "lost");
    CHECK_INT(410, lease_number(text, "status"));
    await_nodes(&one, 0);
    unacknowledged = -1;
    close(fd);
    end_one();
}

/* ---- reconnect --------------------------------------------------------------------------- */

/* What a stream was told with `reconnect`; it has ended. */
static const char *read_reconnect(struct replica *replica, int fd)
{
    const char *text =
        stream_event(rig_read_until(&replica->rig, fd, "event: reconnect"), "reconnect");

    rig_read_end(&replica->rig, fd);
    return text;
}

CASE(drained, "A drained stream is renewed once and left, and only then told its grant.")
{
    const char *text;
    char grant[LEASE_GRANT_MAX + 1];
    long long fence;
    int fd, back;

    begin_two();
    fd = stream_open(&one, lease_stream_request(ID_A, NULL, "{\"ttl_ms\":20000}"));
    text = stream_event(rig_read_until(&one.rig, fd, "}\n\n"), "granted");
    /* Where closing releases, no client may be able to renew. */
    CHECK_LACKS("grant\":", text);
    fence = lease_number(text, "fence");
    await_nodes(&one, 3);
    for (size_t i = 0; i < cluster.count; i++)
        server_int(&cluster.node[i], "PEXPIRE", KEY, "10000", NULL);
    leases_drain(&one.leases);
    text = read_reconnect(&one, fd);
    CHECK(lease_number(text, "remaining_ms") > 10000);
    CHECK_INT(fence, lease_number(text, "fence"));
    snprintf(grant, sizeof grant, "%s", lease_member(text, "grant"));
    CHECK(!first_stream(&one));
    close(fd);
    replica_run(&one, 200);
    CHECK_INT(3, cluster_count(&cluster, KEY));
    CHECK(server_int(&cluster.node[0], "PTTL", KEY, NULL) > 10000);
    /* It comes back to the other replica, with the fence that it had. */
    text = come_back(&two, ID_A, grant, &back);
    CHECK_INT(fence, lease_number(text, "fence"));
    CHECK_STR(grant, lease_member(text, "grant"));
    CHECK_INT(30000, lease_number(text, "ttl_ms"));
    renew_now(&two);
    rig_read_until(&two.rig, back, "event: renewed");
    CHECK_HAS("DRAINING", lease_ask(&one, lease_stream_request(ID_A, grant, "{}")));
    CHECK_HAS("DRAINING", lease_ask(&one, lease_stream_request(ID_B, NULL, "{}")));
    close(back);
    end_two();
}

CASE(closed_when_told,
     "A close between the drain and `reconnect` is told apart by what was left.")
{
    int fd;

    begin_one();
    fd = hold(ID_A);
    /* The renewal of the drain gets no majority for a while: the stream is not told yet. */
    cluster_each(&cluster, 1, 2, server_freeze);
    leases_drain(&one.leases);
    replica_run(&one, 5);
    CHECK_LACKS("reconnect", rig_read(&one.rig, fd, NULL));
    close(fd);
    rig_settle(&one.rig);
    cluster_each(&cluster, 1, 2, server_thaw);
    await_nodes(&one, 0);
    end_one();
}

CASE(drained_unseen, "A stream whose client is not seen to live is not renewed by the drain.")
{
    const char *text;
    char grant[LEASE_GRANT_MAX + 1];
    int fd;

    begin_one();
    fd = hold_tcp(ID_A, grant);
    for (size_t i = 0; i < cluster.count; i++)
        server_int(&cluster.node[i], "PEXPIRE", KEY, "10000", NULL);
    unacknowledged = 1 << 20;
    leases_drain(&one.leases);
    text = read_reconnect(&one, fd);
    CHECK_STR(grant, lease_member(text, "grant"));
    CHECK_BETWEEN(1, 10000, server_int(&cluster.node[0], "PTTL", KEY, NULL));
    unacknowledged = -1;
    close(fd);
    end_one();
}

CASE(returned_is_left, "A stream that came back is left on close, also on the local socket.")
{
    char grant[LEASE_GRANT_MAX + 1];
    int fd, back;

    begin_two();
    fd = hold(ID_A);
    leases_drain(&one.leases);
    snprintf(grant, sizeof grant, "%s", lease_member(read_reconnect(&one, fd), "grant"));
    come_back(&two, ID_A, grant, &back);
    close(back);
    replica_run(&two, 200);
    CHECK(!first_stream(&two));
    CHECK_INT(3, cluster_count(&cluster, KEY));
    /* So it may come back once more, and a copy of that takes it over. */
    come_back(&two, ID_A, grant, &back);
    come_back(&two, ID_A, grant, &fd);
    CHECK_STR("SUPERSEDED",
              lease_member(stream_event(rig_read_until(&two.rig, back, "event: lost"), "lost"),
                           "code"));
    CHECK_INT(3, cluster_count(&cluster, KEY));
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&two, lease_request("DELETE", ID_A, NULL, NULL)));
    rig_read_until(&two.rig, fd, "event: lost");
    await_nodes(&two, 0);
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&two, lease_stream_request(ID_A, grant, "{}")));
    close(back);
    end_two();
}

CASE(returned_to_nothing, "A stream that comes back after its end is 410, and sets nothing.")
{
    char grant[LEASE_GRANT_MAX + 1];
    int fd;

    begin_two();
    fd = hold_tcp(ID_A, grant);
    close(fd);
    rig_settle(&one.rig);
    cluster_del(&cluster, 0, 3, KEY);
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&two, lease_stream_request(ID_A, grant, "{}")));
    CHECK_INT(0, cluster_count(&cluster, KEY));
    end_two();
}

CASE(returned_too_early, "A failed return is 503, rolls nothing back, and can be repeated.")
{
    char grant[LEASE_GRANT_MAX + 1];
    int fd;

    begin_one();
    fd = hold_tcp(ID_A, grant);
    close(fd);
    rig_settle(&one.rig);
    cluster_each(&cluster, 1, 2, server_freeze);
    CHECK_HAS("HTTP/1.1 503 ", lease_ask(&one, lease_stream_request(ID_A, grant, "{}")));
    cluster_each(&cluster, 1, 2, server_thaw);
    await_nodes(&one, 3);
    come_back(&one, ID_A, grant, &fd);
    close(fd);
    end_one();
}

CASE(returned_and_gone,
     "A PUT with a grant behind which the client has closed extends nothing.")
{
    char grant[LEASE_GRANT_MAX + 1];
    const char *text;
    int fd;

    begin_one();
    fd = hold_tcp(ID_A, grant);
    close(fd);
    rig_settle(&one.rig);
    server_int(&cluster.node[0], "PEXPIRE", KEY, "10000", NULL);
    fd = rig_connect(&one.rig);
    text = lease_stream_request(ID_A, grant, "{}");
    CHECK_INT((long long)strlen(text), send(fd, text, strlen(text), 0));
    CHECK_INT(0, shutdown(fd, SHUT_WR));
    rig_read_end(&one.rig, fd);
    replica_run(&one, 50);
    CHECK_BETWEEN(1, 10000, server_int(&cluster.node[0], "PTTL", KEY, NULL));
    close(fd);
    end_one();
}

CASE(grants_of_two_ways,
     "The grant of a stream renews no lease, and that of a lease no stream.")
{
    char stream[LEASE_GRANT_MAX + 1];
    const char *text;
    int fd;

    begin_one();
    fd = hold_tcp(ID_A, stream);
    text = lease_ask(&one, lease_request("POST", ID_A, stream, "{}"));
    CHECK_HAS("HTTP/1.1 400 ", text);
    CHECK_STR("GRANT", lease_member(text, "code"));
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, stream, NULL)));
    text = lease_ask(&one, lease_request("PUT", ID_B, NULL, "{}"));
    CHECK_HAS("HTTP/1.1 201 ", text);
    text = lease_ask(&one, lease_stream_request(ID_B, lease_member(text, "grant"), "{}"));
    CHECK_HAS("HTTP/1.1 400 ", text);
    close(fd);
    end_one();
}

CASE(old_age, "A TCP stream comes back before the drift of its clock has eaten the deadline.")
{
    char grant[LEASE_GRANT_MAX + 1];
    const char *text;
    int fd;

    begin_one();
    fd = hold_tcp(ID_A, grant);
    first_stream(&one)->lease.received_ns -= 1001 * RL_NS_PER_S; /* 1 % of it: 10 s */
    renew_now(&one);
    text = read_reconnect(&one, fd);
    CHECK_STR(grant, lease_member(text, "grant"));
    CHECK_BETWEEN(1, 20000, lease_number(text, "remaining_ms"));
    CHECK(lease_number(stream_event(text, "reconnect"), "after_ms") >= 1001000);
    close(fd);
    text = come_back(&one, ID_A, grant, &fd);
    CHECK(lease_number(text, "remaining_ms") > 20000);
    CHECK(lease_number(text, "after_ms") < 30000);
    close(fd);
    end_one();
}

/* ---- proxies ----------------------------------------------------------------------------- */

CASE(proxies, "A stream that came through a proxy is refused.")
{
    static const char *const fields[] = {"Via: 1.1 a", "Forwarded: for=1.2.3.4",
                                         "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Proto: http"};
    char text[512];
    int fd;

    begin_one();
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        snprintf(text, sizeof text,
                 "PUT /v1/locks/job HTTP/1.1\r\nHost: h\r\nLease-Id: " ID_A
                 "\r\n%s\r\nAccept: text/event-stream\r\nContent-Length: 0\r\n\r\n",
                 fields[i]);
        CHECK_HAS("\"code\":\"PROXIED\"", lease_ask(&one, text));
    }
    /* The listener of a proxy: what it says about its clients does not matter. */
    fd = stream_open_tcp(&one, "");
    one.access.proxies = 1u << RIG_LISTENER_TCP;
    rig_send(&one.rig, fd, lease_stream_request(ID_A, NULL, "{}"));
    rig_read_until(&one.rig, fd, "\"code\":\"PROXIED\"");
    CHECK_INT(0, cluster_count(&cluster, KEY));
    rig_send(&one.rig, fd, lease_request("PUT", ID_A, NULL, "{}"));
    rig_read_until(&one.rig, fd, "HTTP/1.1 201 ");
    close(fd);
    end_one();
}
