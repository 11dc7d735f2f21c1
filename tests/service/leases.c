/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of leases, each on real servers, with replicas that can be stopped
 * between two steps. */
#include "base/slice.h"
#include "check.h"
#include "client.h"
#include "io/clock.h"
#include "leases/reply.h"
#include "two_replicas.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the way of a lease ------------------------------------------------------------------ */

CASE(cycle, "A lease is granted, renewed and released, and then it is gone.")
{
    const char *answer, *grant;
    struct lease_tag tag;

    begin_one();
    answer = lease_ask(&one, lease_request("PUT", ID_A, NULL, "{\"ttl_ms\":20000}"));
    CHECK_HAS("HTTP/1.1 201 ", answer);
    CHECK_STR("job", lease_member(answer, "name"));
    CHECK_INT(20000, lease_number(answer, "ttl_ms"));
    CHECK_BETWEEN(1000, 19599, lease_number(answer, "remaining_ms"));
    CHECK(lease_number(answer, "fence") > 0);
    CHECK(lease_number(answer, "deadline_boottime_ns") > 0);
    grant = lease_member(answer, "grant");
    CHECK(lease_tag_of(rl_slice_of(ID_A), &tag));
    await_nodes(&one, 3);
    CHECK_HAS(tag.text, server_cmd(&cluster.node[0], "GET", KEY, NULL));
    answer = lease_ask(&one, lease_request("POST", ID_A, grant, "{\"ttl_ms\":50000}"));
    CHECK_HAS("HTTP/1.1 200 ", answer);
    CHECK_STR(grant, lease_member(answer, "grant"));
    CHECK(lease_number(answer, "remaining_ms") > 30000);
    CHECK(server_int(&cluster.node[0], "PTTL", KEY, NULL) > 30000);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    await_nodes(&one, 0);
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("POST", ID_A, grant, NULL)));
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")));
    end_one();
}

CASE(every_replica, "Renewal and release work on a replica that did not grant the lease.")
{
    const char *answer, *grant;

    begin_two();
    grant = take_lease(&one, ID_A);
    await_nodes(&one, 3); /* no node is late: the other replica has connections of its own */
    answer = lease_ask(&two, lease_request("POST", ID_A, grant, "{}"));
    CHECK_HAS("HTTP/1.1 200 ", answer);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&two, lease_request("DELETE", ID_A, grant, NULL)));
    await_nodes(&two, 0);
    end_two();
}

CASE(delete_by_tag, "A lost answer to PUT costs one DELETE without a grant, on any replica.")
{
    static const char *const kinds[] = {"{}", "{\"kind\":\"shared\"}",
                                        "{\"kind\":\"semaphore\",\"slots\":2}",
                                        "{\"kind\":\"reentrant\",\"owner\":\"me\"}"};

    begin_two();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char id[64];

        snprintf(id, sizeof id, "some-lease-id-of-a-client-%zu", i);
        CHECK_HAS("HTTP/1.1 201 ", lease_ask(&one, lease_request("PUT", id, NULL, kinds[i])));
        await_nodes(&one, 3);
        CHECK_HAS("HTTP/1.1 204 ", lease_ask(&two, lease_request("DELETE", id, NULL, NULL)));
        await_nodes(&two, 0);
        CHECK_HAS("HTTP/1.1 410 ", lease_ask(&two, lease_request("DELETE", id, NULL, NULL)));
    }
    end_two();
}

CASE(delete_is_exact, "A DELETE without a grant leaves the locks of other leases alone.")
{
    begin_one();
    take_lease(&one, ID_A);
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("DELETE", ID_B, NULL, NULL)));
    await_nodes(&one, 3);
    end_one();
}

CASE(two_grants, "A request with two grants is refused, also if they are the same.")
{
    char twice[2 * LEASE_GRANT_MAX + 16];
    const char *grant;

    begin_one();
    grant = take_lease(&one, ID_A);
    snprintf(twice, sizeof twice, "%s\r\nGrant: %s", grant, grant);
    CHECK_HAS("HTTP/1.1 400 ", lease_ask(&one, lease_request("POST", ID_A, twice, "{}")));
    CHECK_HAS("HTTP/1.1 400 ", lease_ask(&one, lease_request("DELETE", ID_A, twice, NULL)));
    await_nodes(&one, 3);
    end_one();
}

CASE(busy, "A lock that is held is told as 423 with the label of its holder.")
{
    const char *answer;

    begin_one();
    CHECK_HAS("HTTP/1.1 201 ",
              lease_ask(&one, lease_request("PUT", ID_A, NULL, "{\"label\":\"web1\"}")));
    answer = lease_ask(&one, lease_request("PUT", ID_B, NULL, "{}"));
    CHECK_HAS("HTTP/1.1 423 ", answer);
    CHECK_STR("BUSY", lease_member(answer, "code"));
    CHECK_STR("web1", lease_member(answer, "label"));
    CHECK_BETWEEN(1, 30000, lease_number(answer, "remaining_ms"));
    end_one();
}

/* ---- clients that go --------------------------------------------------------------------- */

CASE(gone_while_waiting, "A client that is gone while it waits is out of the queue at once.")
{
    const char *grant;
    int fd;

    begin_one();
    grant = take_lease(&one, ID_A);
    fd = wait_for_lease(&one, ID_B);
    replica_run(&one, 100);
    close(fd);
    rig_settle(&one.rig);
    CHECK_INT(0, one.leases.counts.waiting);
    CHECK_INT(1, one.journal.count[JOURNAL_DISCONNECTED]);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    replica_run(&one, 200);
    CHECK_INT(0, cluster_count(&cluster, KEY));
    end_one();
}

CASE(half_closed_while_waiting,
     "A client that closes its sending side while it waits is cancelled.")
{
    int fd;

    begin_one();
    take_lease(&one, ID_A);
    fd = wait_for_lease(&one, ID_B);
    CHECK_INT(0, shutdown(fd, SHUT_WR));
    rig_settle(&one.rig);
    CHECK_INT(0, one.leases.counts.waiting);
    close(fd);
    end_one();
}

/* Granted, and the answer is queued; the loop has not turned since, so no byte of
 * it is sent. */
static int granted_but_not_sent(void)
{
    int fd = rig_connect(&one.rig);
    const char *text = lease_request("PUT", ID_A, NULL, "{}");

    CHECK_INT((long long)strlen(text), send(fd, text, strlen(text), 0));
    /* The requests to the nodes leave; their answers are not read by the loop. */
    for (int i = 0; i < SOON_MS && one.leases.counts.waiting == 0; i++)
        loop_turn(&one.rig.loop, 0);
    while (one.leases.counts.waiting > 0)
        library_drain(&one.library, 10);
    return fd;
}

CASE(gone_when_granted,
     "A grant of which no byte was sent is released when its client is gone.")
{
    int fd;

    begin_one();
    fd = granted_but_not_sent();
    CHECK(cluster_count(&cluster, KEY) >= 2);
    close(fd);
    rig_settle(&one.rig);
    await_nodes(&one, 0);
    CHECK_STR("ENDED",
              lease_member(lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")), "code"));
    end_one();
}

CASE(gone_when_told, "A grant of which a byte was sent stays when its client is gone.")
{
    int fd;

    begin_one();
    fd = granted_but_not_sent();
    loop_turn(&one.rig.loop, 0);
    rig_settle(&one.rig);
    close(fd);
    replica_run(&one, 200);
    CHECK_INT(3, cluster_count(&cluster, KEY));
    end_one();
}

CASE(eof_behind_put, "A PUT behind which the client has closed is not begun.")
{
    const char *text = lease_request("PUT", ID_A, NULL, "{}");
    int fd;

    begin_one();
    server_forget_commands(&cluster.node[0]);
    fd = rig_connect(&one.rig);
    CHECK_INT((long long)strlen(text), send(fd, text, strlen(text), 0));
    CHECK_INT(0, shutdown(fd, SHUT_WR));
    rig_read_end(&one.rig, fd);
    replica_run(&one, 100);
    /* No node was asked: a script is what acquires with a fence. */
    CHECK_LACKS("eval", server_commands(&cluster.node[0]));
    CHECK_INT(0, cluster_count(&cluster, KEY));
    CHECK_INT(0, one.leases.counts.waiting);
    close(fd);
    end_one();
}

CASE(delete_ends_a_wait, "DELETE ends the wait of its id on this replica, which gets 410.")
{
    int fd;

    begin_one();
    take_lease(&one, ID_A);
    fd = wait_for_lease(&one, ID_B);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_B, NULL, NULL)));
    CHECK_HAS("HTTP/1.1 410 ", rig_read_until(&one.rig, fd, "}\n"));
    CHECK_INT(0, one.leases.counts.waiting);
    await_nodes(&one, 3);
    end_one();
}

/* ---- what stays -------------------------------------------------------------------------- */

CASE(no_sweep, "The replica that granted does not delete at its deadline what another renewed.")
{
    const char *answer, *grant;

    begin_two();
    answer = lease_ask(&one, lease_request("PUT", ID_A, NULL, "{\"ttl_ms\":9000}"));
    CHECK_HAS("HTTP/1.1 201 ", answer);
    grant = lease_member(answer, "grant");
    await_nodes(&one, 3);
    answer = lease_ask(&two, lease_request("POST", ID_A, grant, "{\"ttl_ms\":50000}"));
    CHECK_HAS("HTTP/1.1 200 ", answer);
    replica_run(&one, 9500);
    CHECK_INT(3, cluster_count(&cluster, KEY));
    end_two();
}

CASE(never_from_memory, "A renewal of a lock that an operator has deleted is 410, not 200.")
{
    const char *grant;

    begin_one();
    grant = take_lease(&one, ID_A);
    cluster_del(&cluster, 0, 3, KEY);
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("POST", ID_A, grant, "{}")));
    CHECK_INT(0, cluster_count(&cluster, KEY));
    end_one();
}

CASE(no_rollback, "A renewal that too few nodes confirmed is 503 and deletes nothing.")
{
    const char *grant, *answer;

    begin_one();
    grant = take_lease(&one, ID_A);
    await_nodes(&one, 3);
    cluster_each(&cluster, 1, 2, server_kill);
    answer = lease_ask(&one, lease_request("POST", ID_A, grant, "{\"ttl_ms\":50000}"));
    CHECK_HAS("HTTP/1.1 503 ", answer);
    CHECK_HAS("Retry-After: ", answer);
    replica_run(&one, 200);
    CHECK_INT(1, server_int(&cluster.node[0], "EXISTS", KEY, NULL));
    end_one();
}

CASE(heals_none, "A renewal puts the key back on no node: another replica may be deleting it.")
{
    static const char *const kinds[] = {"{}", "{\"kind\":\"shared\"}",
                                        "{\"kind\":\"semaphore\",\"slots\":2}",
                                        "{\"kind\":\"reentrant\",\"owner\":\"me\"}"};

    begin_two();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *grant;
        char id[64];

        snprintf(id, sizeof id, "some-lease-id-of-a-client-%zu", i);
        grant =
            lease_member(lease_ask(&one, lease_request("PUT", id, NULL, kinds[i])), "grant");
        await_nodes(&one, 3);
        cluster_del(&cluster, i % 3, 1, KEY);
        CHECK_HAS("HTTP/1.1 200 ", lease_ask(&two, lease_request("POST", id, grant, "{}")));
        client_warm(two.leases.client);
        CHECK_INT(2, cluster_count(&cluster, KEY));
        CHECK_HAS("HTTP/1.1 204 ", lease_ask(&two, lease_request("DELETE", id, NULL, NULL)));
        await_nodes(&two, 0);
    }
    end_two();
}

CASE(made_up_fence, "A renewal cannot raise the fences of a name beyond the nodes' clocks.")
{
    struct lease_grant grant;
    struct lease_tag tag;
    char text[LEASE_GRANT_MAX + 1];
    const char *given;

    begin_one();
    given = take_lease(&one, ID_A);
    CHECK(lease_tag_of(rl_slice_of(ID_A), &tag));
    CHECK(lease_grant_read(rl_slice_of(given), &tag, &grant));
    grant.fence = (INT64_C(1) << 52) - 8;
    CHECK(lease_grant_write(&grant, text));
    CHECK_HAS("HTTP/1.1 400 ", lease_ask(&one, lease_request("POST", ID_A, text, "{}")));
    /* A release raises nothing, and is always allowed. */
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, text, NULL)));
    end_one();
}

CASE(draining, "At the end of the process waits end with 503, and renewals go on.")
{
    const char *grant;
    int fd;

    begin_one();
    grant = take_lease(&one, ID_A);
    fd = wait_for_lease(&one, ID_B);
    leases_drain(&one.leases);
    CHECK_HAS("HTTP/1.1 503 ", rig_read_until(&one.rig, fd, "}\n"));
    CHECK_HAS("DRAINING", lease_ask(&one, lease_request("PUT", ID_B, NULL, "{}")));
    CHECK_HAS("HTTP/1.1 200 ", lease_ask(&one, lease_request("POST", ID_A, grant, "{}")));
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    end_one();
}

CASE(closed_while_asked, "Requests that wait for the nodes when the process ends are freed.")
{
    const char *text = rig_get("/v1/locks/job");
    int fd;

    begin_one();
    fd = rig_connect(&one.rig);
    CHECK_INT((long long)strlen(text), send(fd, text, strlen(text), 0));
    for (int i = 0; i < SOON_MS && !one.routes.view.questions; i++)
        loop_turn(&one.rig.loop, 0);
    CHECK(one.routes.view.questions);
    close(fd);
    end_one();
    CHECK(!one.routes.view.questions);
}

/* ---- the deadline ------------------------------------------------------------------------ */

CASE(deadline,
     "after_ms and remaining_ms together end before the library's deadline, less the drift.")
{
    const int64_t ms = 1000000;
    struct lease_deadline d = lease_deadline_of(1000 * ms, 1012 * ms, 31000 * ms, 10000);

    CHECK_INT(12, d.after_ms);
    CHECK_INT(29988 - 300 - 1, d.remaining_ms);
    d = lease_deadline_of(1000 * ms, 1012 * ms + 999999, 31000 * ms, 0);
    CHECK_INT(12, d.after_ms);
    CHECK_INT(29987 - 1, d.remaining_ms);
    CHECK_INT(31000 * ms, d.deadline_ns);
    CHECK_INT(0, lease_deadline_of(1000 * ms, 1012 * ms, 1012 * ms, 0).remaining_ms);
    CHECK_INT(0, lease_deadline_of(1000 * ms, 9000 * ms, 1012 * ms, 0).remaining_ms);
}
