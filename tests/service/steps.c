/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the daemon does between two steps of its loop, and by what it sees of sockets, clocks
 * and rules: a grant before a byte of it is sent, a machine that acknowledges nothing, a right
 * that ends without a reload.
 */
#include "lease_rig.h"

#include "check.h"
#include "client.h"
#include "io/clock.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* So long that only a release ends it in the time of a case. */
#define LONG "\"ttl_ms\":60000"

CASES_BEGIN_WITH(replica_begin);

/* What SIOCOUTQ says, instead of the kernel; -1: what the kernel says. */
static int unacknowledged = -1;

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);

int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
    int result = __real_ioctl(fd, request, argument);

    if (request == TIOCOUTQ && unacknowledged >= 0)
        *(int *)argument = unacknowledged;
    return result;
}

/* Its requests to the nodes leave; their answers are not read by the loop. */
static void begin_unanswered(int fd, const char *request)
{
    CHECK_INT((long long)strlen(request), send(fd, request, strlen(request), 0));
    for (int i = 0; i < SOON_MS && !one.leases.all; i++)
        loop_turn(&one.rig->loop, 0);
    CHECK(one.leases.all);
}

/* Granted, and the answer is queued; the loop has not turned since, so no byte of
 * it is sent. */
static void await_grant(void)
{
    while (one.leases.counts.waiting > 0)
        library_drain(&one.library, 10);
    CHECK(cluster_count(&cluster, KEY) >= 2);
}

static void grant_unsent(int fd, const char *request)
{
    begin_unanswered(fd, request);
    await_grant();
}

CASE(gone_when_granted,
     "A grant of which no byte was sent is released when its client is gone.")
{
    int fd = rig_connect(one.rig);

    grant_unsent(fd, lease_request("PUT", ID_A, NULL, "{" LONG "}"));
    rig_disconnect(one.rig, fd);
    await_nodes(0);
    CHECK_STR("ENDED", lease_member(lease_ask(lease_request("PUT", ID_A, NULL, "{}")), "code"));
}

/* Reset: the first byte of the event cannot be sent. */
static void reset(int fd)
{
    struct linger hard = {.l_onoff = 1};

    CHECK_INT(0, setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard));
    rig_disconnect(one.rig, fd);
}

CASE(stream_gone_when_granted,
     "A stream whose grant was not sent is released, also behind TCP.")
{
    int fd = stream_open_tcp("");

    grant_unsent(fd, lease_stream_request(ID_A, NULL, "{" LONG "}"));
    reset(fd);
    await_nodes(0);
}

CASE(stream_gone_behind_its_place,
     "A stream that was sent all but its grant is released, as one that was sent nothing.")
{
    int fd;

    CHECK_HAS("HTTP/1.1 201 ", lease_ask(lease_request("PUT", ID_B, NULL, "{}")));
    fd = stream_open_tcp(lease_stream_request(ID_A, NULL, "{\"wait_ms\":40000," LONG "}"));
    rig_read_until(one.rig, fd, "\"place\":1}\n\n");
    cluster_del(&cluster, 0, 3, KEY);
    await_grant();
    reset(fd);
    await_nodes(0);
}

CASE(gone_when_sent, "A grant of which a byte was sent stays when its client is gone.")
{
    int fd = rig_connect(one.rig);

    grant_unsent(fd, lease_request("PUT", ID_A, NULL, "{}"));
    rig_settle(one.rig);
    rig_disconnect(one.rig, fd);
    replica_run(200);
    CHECK_INT(3, cluster_count(&cluster, KEY));
}

CASE(cut_leaves, "A local client that does not read is given up, and its lock left to the TTL.")
{
    static char noise[4096];

    hold();
    memset(noise, ':', sizeof noise);
    for (int i = 0; i < 1000 && first_stream(); i++) {
        http_stream_send(first_stream()->exchange, noise, sizeof noise);
        loop_turn(&one.rig->loop, 0);
    }
    CHECK(!first_stream());
    /* It may be alive, and believe in the last deadline that it has read. */
    replica_run(200);
    CHECK_INT(3, cluster_count(&cluster, KEY));
}

static void check_not_renewed(int fd)
{
    renew_now();
    CHECK_LACKS("event: renewed", rig_read(one.rig, fd, NULL));
    CHECK(!first_stream()->lease.is_extending);
}

CASE(unacknowledged_is_not_renewed,
     "A TCP stream is not renewed while anything that it was sent is not acknowledged.")
{
    char grant[LEASE_GRANT_MAX + 1];
    int fd = hold_tcp(grant);

    unacknowledged = 1;
    check_not_renewed(fd);
    CHECK_INT(0, redlock_margin(first_stream()->lock) < 0);
    unacknowledged = 0;
    renew_now();
    rig_read_until(one.rig, fd, "event: renewed");
    /* Of a machine that vanished behind its last comment this event is the first
     * that is missed. */
    unacknowledged = 1;
    check_not_renewed(fd);
}

CASE(silence_ends, "A TCP stream that is not renewed is sent `lost` when its time is over.")
{
    const char *text;
    int fd;

    unacknowledged = 1 << 20;
    fd = stream_open_tcp(lease_stream_request(ID_A, NULL, "{\"ttl_ms\":2000}"));
    text = stream_event(rig_read_until(one.rig, fd, "event: lost"), "lost");
    CHECK_INT(410, lease_number(text, "status"));
    await_nodes(0);
}

/* What a stream was sent with `reconnect`; it has ended. */
static const char *read_reconnect(int fd)
{
    const char *text =
        stream_event(rig_read_until(one.rig, fd, "event: reconnect"), "reconnect");

    rig_read_end(one.rig, fd);
    return text;
}

CASE(drained_unseen, "A stream whose client is not seen to live is not renewed by the drain.")
{
    char grant[LEASE_GRANT_MAX + 1];
    int fd = hold_tcp(grant);

    for (size_t i = 0; i < cluster.count; i++)
        server_int(&cluster.node[i], "PEXPIRE", KEY, "10000", NULL);
    unacknowledged = 1 << 20;
    leases_drain(&one.leases);
    CHECK_STR(grant, lease_member(read_reconnect(fd), "grant"));
    CHECK_BETWEEN(1, 10000, server_int(&cluster.node[0], "PTTL", KEY, NULL));
}

CASE(drained_on_return,
     "A stream that is coming back when the drain begins is refused, and its lock stays.")
{
    char grant[LEASE_GRANT_MAX + 1];
    int fd;

    rig_disconnect(one.rig, hold_tcp(grant));
    fd = rig_connect(one.rig);
    begin_unanswered(fd, lease_stream_request(ID_A, grant, "{}"));
    leases_drain(&one.leases);
    CHECK_STR("DRAINING", lease_member(rig_read_until(one.rig, fd, "}\n"), "code"));
    CHECK_INT(3, cluster_count(&cluster, KEY));
}

CASE(old_age, "A TCP stream comes back before the drift of its clock has eaten the deadline.")
{
    char grant[LEASE_GRANT_MAX + 1];
    const char *text;
    int fd = hold_tcp(grant);

    first_stream()->lease.received_ns -= 1001 * RL_NS_PER_S; /* 1 % of it: 10 s */
    renew_now();
    text = read_reconnect(fd);
    CHECK_STR(grant, lease_member(text, "grant"));
    CHECK_BETWEEN(1, 20000, lease_number(text, "remaining_ms"));
    CHECK(lease_number(text, "after_ms") >= 1001000);
    fd = rig_request(one.rig, lease_stream_request(ID_A, grant, "{}"));
    text = stream_event(rig_read_until(one.rig, fd, "}\n\n"), "granted");
    CHECK(lease_number(text, "remaining_ms") > 20000);
    CHECK(lease_number(text, "after_ms") < 30000);
}

/* As a certificate that ends: no reload looks at streams and waits. */
static void end_right(void)
{
    char why[256];

    CHECK_INT(0,
              access_rules_add(&one.access.rules, "uid:4294967294 * acquire", why, sizeof why));
}

CASE(renewed_after_its_end,
     "A renewal that finds nothing after the time of its lease reports that it expired.")
{
    char grant[LEASE_GRANT_MAX + 1];

    snprintf(grant, sizeof grant, "%s",
             lease_member(lease_ask(lease_request("PUT", ID_A, NULL, "{}")), "grant"));
    await_nodes(3);
    cluster_del(&cluster, 0, 3, KEY);
    one.leases.table.held->expires_ns = rl_now_ns();
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(lease_request("POST", ID_A, grant, "{}")));
    CHECK_INT(1, one.journal.count[JOURNAL_EXPIRED]);
    CHECK_INT(0, one.journal.count[JOURNAL_LOST]);
}

CASE(forbidden_is_not_renewed,
     "A stream whose client has lost its right to the name is not renewed.")
{
    int fd = hold();

    end_right();
    check_not_renewed(fd);
}

CASE(right_gone_while_waiting,
     "A request that may not acquire any more when its turn comes gets 403, and no lock.")
{
    int waiter;

    CHECK_HAS("HTTP/1.1 201 ", lease_ask(lease_request("PUT", ID_A, NULL, "{}")));
    waiter =
        rig_request(one.rig, lease_request("PUT", ID_B, NULL, "{\"wait_ms\":40000," LONG "}"));
    CHECK_INT(1, one.leases.counts.waiting);
    replica_run(100);
    end_right();
    cluster_del(&cluster, 0, 3, KEY);
    CHECK_HAS("HTTP/1.1 403 ", rig_read_until(one.rig, waiter, "\r\n\r\n{"));
    await_nodes(0);
    CHECK_INT(1, one.journal.count[JOURNAL_DENIED]);
    CHECK_INT(1, one.journal.count[JOURNAL_GRANTED]);
}
