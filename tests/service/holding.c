/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams that hold a lock, on real servers: their events, their renewals, and their ends. */
#include "stream_rig.h"

#include "check.h"
#include "client.h"
#include "io/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- events ------------------------------------------------------------------------------ */

CASE(granted, "A stream is told the fence and the deadline, and is renewed while it lives.")
{
    const char *text;
    long long first_ns, fence;
    int fd;

    begin_one();
    fd = stream_open(&one, lease_stream_request(ID_A, NULL, "{\"ttl_ms\":20000}"));
    text = rig_read_until(&one.rig, fd, "}\n\n");
    CHECK_HAS("HTTP/1.1 200 ", text);
    CHECK_HAS("Content-Type: text/event-stream\r\n", text);
    text = stream_event(text, "granted");
    CHECK_STR("job", lease_member(text, "name"));
    CHECK_INT(20000, lease_number(text, "ttl_ms"));
    CHECK_BETWEEN(1000, 19799, lease_number(text, "remaining_ms"));
    CHECK_BETWEEN(0, 19000, lease_number(text, "after_ms"));
    fence = lease_number(text, "fence");
    CHECK(fence > 0);
    first_ns = lease_number(text, "deadline_boottime_ns");
    renew_now(&one);
    text = stream_event(rig_read_until(&one.rig, fd, "event: renewed"), "renewed");
    CHECK(lease_number(text, "deadline_boottime_ns") > first_ns);
    CHECK_INT(fence, lease_number(text, "fence"));
    CHECK_INT(1, one.leases.counts.streaming);
    close(fd);
    rig_settle(&one.rig);
    CHECK_INT(0, one.leases.counts.streaming);
    await_nodes(&one, 0);
    end_one();
}

CASE(by_itself, "A stream outlives its TTL without a word from its client.")
{
    int fd;

    begin_one();
    fd = stream_open(&one, lease_stream_request(ID_A, NULL, "{\"ttl_ms\":6000}"));
    replica_run(&one, 7000);
    CHECK_HAS("event: renewed", rig_read(&one.rig, fd, NULL));
    await_nodes(&one, 3);
    close(fd);
    end_one();
}

CASE(jeopardy,
     "A renewal that too few nodes confirm is jeopardy, and the next that works ends it.")
{
    const char *text;
    int fd;

    begin_one();
    fd = hold(ID_A);
    cluster_each(&cluster, 1, 2, server_freeze);
    renew_now(&one);
    text = stream_event(rig_read_until(&one.rig, fd, "event: jeopardy"), "jeopardy");
    CHECK_STR("NOQUORUM", lease_member(text, "code"));
    CHECK(lease_member(text, "detail")[0] != '\0');
    CHECK(lease_number(text, "remaining_ms") > 0);
    CHECK_INT(1, one.leases.counts.jeopardy);
    cluster_each(&cluster, 1, 2, server_thaw);
    /* The nodes may still be busy with the first try. */
    for (int i = 0; i < SOON_MS / 10 && one.leases.counts.jeopardy > 0; i++)
        renew_now(&one);
    text = stream_event(rig_read_until(&one.rig, fd, "event: recovered"), "recovered");
    CHECK(lease_number(text, "remaining_ms") > 0);
    CHECK_INT(0, one.leases.counts.jeopardy);
    close(fd);
    end_one();
}

CASE(lost, "A stream whose key is gone from the nodes is told so, and ends.")
{
    const char *text;
    int fd;

    begin_one();
    fd = hold(ID_A);
    cluster_del(&cluster, 0, 3, KEY);
    renew_now(&one);
    text = stream_event(rig_read_until(&one.rig, fd, "event: lost"), "lost");
    CHECK_INT(410, lease_number(text, "status"));
    CHECK_STR("LOST", lease_member(text, "code"));
    rig_read_end(&one.rig, fd);
    CHECK_INT(1, (int)one.journal.count[JOURNAL_LOST]);
    CHECK_INT(0, one.leases.counts.streaming);
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")));
    close(fd);
    end_one();
}

CASE(comments, "A stream is told a comment now and then, while it waits and while it holds.")
{
    int holder, waiter;

    begin_one();
    one.leases.comment_ns = 20 * RL_NS_PER_MS;
    holder = hold(ID_A);
    rig_read_until(&one.rig, holder, ": alive\n\n: alive\n\n");
    waiter = stream_open(&one, lease_stream_request(ID_B, NULL, "{\"wait_ms\":60000}"));
    rig_read_until(&one.rig, waiter, ": alive\n\n");
    close(holder);
    rig_read_until(&one.rig, waiter, "event: granted");
    close(waiter);
    end_one();
}

CASE(refused_before_it_begins, "A stream that is refused at once gets the status of a lease.")
{
    const char *text;
    int fd;

    begin_one();
    fd = hold(ID_A);
    text = lease_ask(&one, lease_stream_request(ID_B, NULL, "{}"));
    CHECK_HAS("HTTP/1.1 423 ", text);
    CHECK_STR("BUSY", lease_member(text, "code"));
    CHECK_HAS("HTTP/1.1 422 ",
              lease_ask(&one, lease_request("PUT", ID_B, NULL, "{\"wait_ms\":60000}")));
    close(fd);
    end_one();
}

CASE(refused_later,
     "A wait that ends after the stream has begun is told as lost, with its status.")
{
    const char *text;
    int fd, waiter;

    begin_one();
    fd = hold(ID_A);
    one.leases.comment_ns = 20 * RL_NS_PER_MS;
    waiter = stream_open(&one, lease_stream_request(ID_B, NULL, "{\"wait_ms\":2000}"));
    text = stream_event(rig_read_until(&one.rig, waiter, "event: lost"), "lost");
    CHECK_INT(423, lease_number(text, "status"));
    CHECK_STR("TIMEOUT", lease_member(text, "code"));
    rig_read_end(&one.rig, waiter);
    close(waiter);
    close(fd);
    end_one();
}

CASE(queued, "A stream that waits is told its place, and its next one when that changes.")
{
    const char *text;
    int holder, first, second;

    begin_one();
    holder = hold(ID_A);
    first = stream_open(&one, lease_stream_request(ID_B, NULL, "{\"wait_ms\":60000}"));
    text = rig_read_until(&one.rig, first, "}\n\n");
    CHECK_HAS("HTTP/1.1 200 ", text);
    CHECK_INT(1, lease_number(stream_event(text, "queued"), "place"));
    second = stream_open(
        &one, lease_stream_request("cccccccccccccccccccccccccc", NULL, "{\"wait_ms\":60000}"));
    text = rig_read_until(&one.rig, second, "}\n\n");
    CHECK_INT(2, lease_number(stream_event(text, "queued"), "place"));
    close(first);
    text = rig_read_until(&one.rig, second, "\"place\":1}\n\n");
    close(holder);
    rig_read_until(&one.rig, second, "event: granted");
    close(second);
    end_one();
}

/* ---- closing ----------------------------------------------------------------------------- */

CASE(close_releases, "The close of a stream on the local socket releases, and its id is spent.")
{
    int fd;

    begin_one();
    fd = hold(ID_A);
    close(fd);
    rig_settle(&one.rig);
    await_nodes(&one, 0);
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_stream_request(ID_A, NULL, "{}")));
    end_one();
}

CASE(held_by_each, "A stream lives until every process that has its socket has closed it.")
{
    int fd, copy;

    begin_one();
    fd = hold(ID_A);
    copy = dup(fd);
    close(fd);
    renew_now(&one);
    rig_read_until(&one.rig, copy, "event: renewed");
    CHECK_INT(3, cluster_count(&cluster, KEY));
    close(copy);
    rig_settle(&one.rig);
    await_nodes(&one, 0);
    end_one();
}

CASE(close_while_renewing, "A close in the middle of a renewal releases behind it.")
{
    int fd;

    begin_one();
    fd = hold(ID_A);
    cluster_each(&cluster, 1, 2, server_freeze);
    renew_now(&one);
    CHECK(first_stream(&one)->lease.is_extending);
    close(fd);
    rig_settle(&one.rig);
    CHECK(first_stream(&one)->lease.is_extending);
    cluster_each(&cluster, 1, 2, server_thaw);
    await_nodes(&one, 0);
    CHECK(!first_stream(&one));
    end_one();
}

CASE(close_leaves_tcp, "The close of a stream behind TCP leaves the lock to its TTL.")
{
    char grant[LEASE_GRANT_MAX + 1];
    int fd;

    begin_one();
    fd = hold_tcp(ID_A, grant);
    close(fd);
    replica_run(&one, 200);
    CHECK(!first_stream(&one));
    CHECK_INT(3, cluster_count(&cluster, KEY));
    end_one();
}

CASE(close_leaves_asked,
     "A local stream that asks to be left is, and comes back with its grant.")
{
    char grant[LEASE_GRANT_MAX + 1];
    const char *text;
    int fd, back;

    begin_one();
    fd = stream_open(&one, lease_stream_request(ID_A, NULL, "{\"leave\":true}"));
    text = stream_event(rig_read_until(&one.rig, fd, "}\n\n"), "granted");
    snprintf(grant, sizeof grant, "%s", lease_member(text, "grant"));
    CHECK_HAS("\"code\":\"YOURS\"", lease_ask(&one, lease_stream_request(ID_A, NULL, "{}")));
    close(fd);
    replica_run(&one, 200);
    CHECK(!first_stream(&one));
    CHECK_INT(3, cluster_count(&cluster, KEY));
    come_back(&one, ID_A, grant, &back);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, NULL, NULL)));
    await_nodes(&one, 0);
    CHECK_HAS("leave is true or false",
              lease_ask(&one, lease_stream_request(ID_B, NULL, "{\"leave\":1}")));
    close(back);
    end_one();
}

CASE(cut_leaves, "A local client that does not read is given up, and its lock left to the TTL.")
{
    static char noise[4096];
    int fd;

    begin_one();
    fd = hold(ID_A);
    memset(noise, ':', sizeof noise);
    for (int i = 0; i < 1000 && first_stream(&one); i++) {
        http_stream_send(first_stream(&one)->exchange, noise, sizeof noise);
        loop_turn(&one.rig.loop, 0);
    }
    CHECK(!first_stream(&one));
    /* It may be alive, and believe in the last deadline that it has read. */
    replica_run(&one, 200);
    CHECK_INT(3, cluster_count(&cluster, KEY));
    close(fd);
    end_one();
}

/* Granted, and the event is queued; the loop has not turned since. */
static int granted_but_not_sent(void)
{
    const char *text = lease_stream_request(ID_A, NULL, "{}");
    int fd = stream_open_tcp(&one, "");

    CHECK_INT((long long)strlen(text), send(fd, text, strlen(text), 0));
    for (int i = 0; i < SOON_MS && one.leases.counts.waiting == 0; i++)
        loop_turn(&one.rig.loop, 0);
    while (one.leases.counts.waiting > 0)
        library_drain(&one.library, 10);
    return fd;
}

CASE(gone_when_granted, "A grant of which no byte was sent is released, also behind TCP.")
{
    struct linger hard = {.l_onoff = 1};
    int fd;

    begin_one();
    fd = granted_but_not_sent();
    CHECK(cluster_count(&cluster, KEY) >= 2);
    /* Reset: the first byte of the event cannot be sent. */
    CHECK_INT(0, setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard));
    close(fd);
    rig_settle(&one.rig);
    await_nodes(&one, 0);
    end_one();
}

CASE(gone_while_waiting, "A stream that is closed while it waits is out of the queue at once.")
{
    int holder, waiter;

    begin_one();
    holder = hold(ID_A);
    waiter = stream_open(&one, lease_stream_request(ID_B, NULL, "{\"wait_ms\":60000}"));
    CHECK_INT(1, one.leases.counts.waiting);
    replica_run(&one, 50);
    close(waiter);
    rig_settle(&one.rig);
    CHECK_INT(0, one.leases.counts.waiting);
    CHECK_INT(1, one.journal.count[JOURNAL_DISCONNECTED]);
    close(holder);
    rig_settle(&one.rig);
    await_nodes(&one, 0);
    replica_run(&one, 200);
    CHECK_INT(0, cluster_count(&cluster, KEY));
    end_one();
}
