/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of leases, each on real servers, with replicas that can be stopped between two steps. */
#include "check.h"
#include "client.h"
#include "io/clock.h"
#include "lease_rig.h"
#include "leases/reply.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbb"
#define KEY "redlock:job"
#define SOON_MS 10000 /* bounds waits for what takes milliseconds */

static struct cluster cluster;
static struct replica one, two;

static void begin(void)
{
    cluster_start(&cluster, 3);
    replica_open(&one, "one", &cluster);
}

static void begin_two(void)
{
    begin();
    replica_open(&two, "two", &cluster);
}

static void end(void)
{
    replica_close(&one);
}

static void end_two(void)
{
    end();
    replica_close(&two);
}

/* The grant of ID for 30 s. */
static const char *take(struct replica *replica, const char *id)
{
    const char *answer = lease_ask(replica, lease_request("PUT", id, NULL, "{}"));

    CHECK_HAS("HTTP/1.1 201 ", answer);
    return lease_member(answer, "grant");
}

/* A client that has sent a PUT which waits. */
static int wait_for(struct replica *replica, const char *id)
{
    unsigned before = replica->leases.counts.waiting;
    int fd = rig_connect(&replica->rig);

    rig_send(&replica->rig, fd, lease_request("PUT", id, NULL, "{\"wait_ms\":40000}"));
    CHECK_INT(before + 1, replica->leases.counts.waiting);
    return fd;
}

/* Until `key` is on so many nodes, while the loop turns. */
static void await_nodes(struct replica *replica, int wanted)
{
    for (int i = 0; i < SOON_MS / 10 && cluster_count(&cluster, KEY) != wanted; i++)
        replica_run(replica, 10);
    CHECK_INT(wanted, cluster_count(&cluster, KEY));
}

/* ---- the way of a lease ------------------------------------------------------------------ */

CASE(cycle, "A lease is granted, renewed and released, and then it is gone.")
{
    const char *answer, *grant;
    struct lease_tag tag;

    begin();
    answer = lease_ask(&one, lease_request("PUT", ID_A, NULL, "{\"ttl_ms\":20000}"));
    CHECK_HAS("HTTP/1.1 201 ", answer);
    CHECK_STR("job", lease_member(answer, "name"));
    CHECK_INT(20000, lease_number(answer, "ttl_ms"));
    CHECK_BETWEEN(1000, 19599, lease_number(answer, "valid_ms"));
    CHECK(lease_number(answer, "fence") > 0);
    CHECK(lease_number(answer, "deadline_boottime_ns") > 0);
    grant = lease_member(answer, "grant");
    CHECK(lease_tag_of((struct rl_span){ID_A, strlen(ID_A)}, &tag));
    await_nodes(&one, 3);
    CHECK_HAS(tag.text, server_cmd(&cluster.node[0], "GET", KEY, NULL));
    answer = lease_ask(&one, lease_request("POST", ID_A, grant, "{\"ttl_ms\":50000}"));
    CHECK_HAS("HTTP/1.1 200 ", answer);
    CHECK_STR(grant, lease_member(answer, "grant"));
    CHECK(lease_number(answer, "valid_ms") > 30000);
    CHECK(server_int(&cluster.node[0], "PTTL", KEY, NULL) > 30000);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    await_nodes(&one, 0);
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("POST", ID_A, grant, NULL)));
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")));
    end();
}

CASE(every_replica, "Renewal and release work on a replica that did not grant the lease.")
{
    const char *answer, *grant;

    begin_two();
    grant = take(&one, ID_A);
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
        CHECK_HAS("HTTP/1.1 204 ", lease_ask(&two, lease_request("DELETE", id, NULL, NULL)));
        await_nodes(&two, 0);
        CHECK_HAS("HTTP/1.1 410 ", lease_ask(&two, lease_request("DELETE", id, NULL, NULL)));
    }
    end_two();
}

CASE(delete_is_exact, "A DELETE without a grant leaves the locks of other leases alone.")
{
    begin();
    take(&one, ID_A);
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("DELETE", ID_B, NULL, NULL)));
    await_nodes(&one, 3);
    end();
}

CASE(busy, "A lock that is held is told as 423 with the label of its holder.")
{
    const char *answer;

    begin();
    CHECK_HAS("HTTP/1.1 201 ",
              lease_ask(&one, lease_request("PUT", ID_A, NULL, "{\"label\":\"web1\"}")));
    answer = lease_ask(&one, lease_request("PUT", ID_B, NULL, "{}"));
    CHECK_HAS("HTTP/1.1 423 ", answer);
    CHECK_STR("BUSY", lease_member(answer, "code"));
    CHECK_STR("web1", lease_member(answer, "label"));
    CHECK_BETWEEN(1, 30000, lease_number(answer, "remaining_ms"));
    end();
}

/* ---- one id, one acquisition ------------------------------------------------------------- */

CASE(yours_from_memory,
     "An id that was granted here is not granted again, also when the key is gone.")
{
    begin();
    take(&one, ID_A);
    CHECK_HAS("\"code\":\"yours\"", lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")));
    cluster_del(&cluster, 0, 3, KEY);
    CHECK_HAS("\"code\":\"yours\"", lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")));
    CHECK_INT(0, cluster_count(&cluster, KEY));
    CHECK_INT(2, one.leases.counts.yours);
    end();
}

CASE(yours_from_nodes, "An id that another replica granted is told as yours, not as busy.")
{
    const char *answer;

    begin_two();
    take(&one, ID_A);
    answer = lease_ask(&two, lease_request("PUT", ID_A, NULL, "{}"));
    CHECK_HAS("HTTP/1.1 409 ", answer);
    CHECK_STR("yours", lease_member(answer, "code"));
    end_two();
}

CASE(yours_of_every_kind,
     "An id that another replica granted is yours where others could hold, too.")
{
    static const char *const kinds[] = {"{\"kind\":\"shared\"}",
                                        "{\"kind\":\"semaphore\",\"slots\":2}",
                                        "{\"kind\":\"reentrant\",\"owner\":\"me\"}"};

    begin_two();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char id[64];

        snprintf(id, sizeof id, "some-lease-id-of-a-client-%zu", i);
        CHECK_HAS("HTTP/1.1 201 ", lease_ask(&one, lease_request("PUT", id, NULL, kinds[i])));
        await_nodes(&one, 3);
        CHECK_HAS("\"code\":\"yours\"",
                  lease_ask(&two, lease_request("PUT", id, NULL, kinds[i])));
        CHECK_HAS("HTTP/1.1 204 ", lease_ask(&two, lease_request("DELETE", id, NULL, NULL)));
        await_nodes(&two, 0);
    }
    end_two();
}

CASE(yours_while_waiting,
     "Of two replicas that wait with one id, one grants and the other says yours.")
{
    const char *grant;
    int first, second;
    int granted = 0, yours = 0;

    begin_two();
    grant = take(&one, ID_A);
    first = wait_for(&one, ID_B);
    replica_run(&one, 100);
    second = wait_for(&two, ID_B);
    replica_run(&two, 100);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    for (int i = 0; i < SOON_MS / 10 && granted + yours < 2; i++) {
        const char *answer = rig_read(&one.rig, first, NULL);

        granted += strstr(answer, "HTTP/1.1 201 ") != NULL;
        yours += strstr(answer, "\"yours\"") != NULL;
        answer = rig_read(&two.rig, second, NULL);
        granted += strstr(answer, "HTTP/1.1 201 ") != NULL;
        yours += strstr(answer, "\"yours\"") != NULL;
        replica_run(&one, 5);
        replica_run(&two, 5);
    }
    CHECK_INT(1, granted);
    CHECK_INT(1, yours);
    end_two();
}

CASE(leftovers_are_not_yours, "A value of the same id on a minority of the nodes is no grant.")
{
    struct lease_tag tag;
    char value[64];

    begin();
    CHECK(lease_tag_of((struct rl_span){ID_A, strlen(ID_A)}, &tag));
    for (size_t i = 0; i < 2; i++) {
        snprintf(value, sizeof value, "%s:%zu12345678901234567890123456789012345678", tag.text,
                 i);
        cluster_set(&cluster, i, 1, KEY, value, 60000);
    }
    /* Two attempts that were lost: neither has a majority, and the lock is busy with both. */
    CHECK_HAS("HTTP/1.1 423 ", lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")));
    cluster_del(&cluster, 1, 1, KEY);
    take(&one, ID_A);
    end();
}

CASE(superseded, "A repeated PUT takes the wait over and is answered by its own clock.")
{
    const char *answer, *grant;
    int64_t sent_ns;
    int first, second;

    begin();
    grant = take(&one, ID_A);
    first = wait_for(&one, ID_B);
    replica_run(&one, 500);
    second = rig_connect(&one.rig);
    sent_ns = rl_now_ns();
    rig_send(&one.rig, second, lease_request("PUT", ID_B, NULL, "{\"wait_ms\":40000}"));
    answer = rig_read_until(&one.rig, first, "}\n");
    CHECK_HAS("HTTP/1.1 409 ", answer);
    CHECK_STR("superseded", lease_member(answer, "code"));
    CHECK_INT(1, one.leases.counts.waiting);
    /* The older one has no right to anything: its end changes nothing. */
    close(first);
    rig_settle(&one.rig);
    CHECK_INT(1, one.leases.counts.waiting);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    answer = rig_read_until(&one.rig, second, "}\n");
    CHECK_HAS("HTTP/1.1 201 ", answer);
    /* Not from the first request's receipt: that would make the deadline half a second too late. */
    CHECK(lease_number(answer, "after_ms") <= (rl_now_ns() - sent_ns) / RL_NS_PER_MS);
    CHECK_INT(0, one.leases.counts.waiting);
    end();
}

CASE(another_name, "An id that waits for one lock is not used for another.")
{
    const char *answer;
    char text[512];

    begin();
    take(&one, ID_A);
    wait_for(&one, ID_B);
    snprintf(text, sizeof text,
             "PUT /v1/locks/other HTTP/1.1\r\nHost: h\r\nLease-Id: " ID_B
             "\r\nContent-Length: 0\r\n\r\n");
    answer = lease_ask(&one, text);
    CHECK_STR("yours", lease_member(answer, "code"));
    CHECK_INT(0, cluster_count(&cluster, "redlock:other"));
    end();
}

CASE(another_kind, "An id that waits for one kind of lock is not granted as another kind.")
{
    static const struct {
        const char *first, *again, *code;
    } rows[] = {
        {"\"kind\":\"shared\"", "\"kind\":\"mutex\"", "yours"},
        {"\"kind\":\"mutex\"", "\"kind\":\"shared\"", "yours"},
        {"\"kind\":\"semaphore\",\"slots\":2", "\"kind\":\"semaphore\",\"slots\":1", "yours"},
        {"\"kind\":\"reentrant\",\"owner\":\"x\"", "\"kind\":\"reentrant\",\"owner\":\"y\"",
         "yours"},
        {"\"fenced\":false", "\"fenced\":true", "yours"},
        /* What does not change what is held, or what the answer tells. */
        {"\"label\":\"x\"", "\"label\":\"y\",\"ttl_ms\":5000", "superseded"},
    };
    char body[128];

    begin();
    take(&one, ID_A);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int first = rig_connect(&one.rig), again = rig_connect(&one.rig);
        bool is_refused = strcmp(rows[i].code, "yours") == 0;
        const char *answer;

        snprintf(body, sizeof body, "{\"wait_ms\":40000,%s}", rows[i].first);
        rig_send(&one.rig, first, lease_request("PUT", ID_B, NULL, body));
        CHECK_INT(1, one.leases.counts.waiting);
        snprintf(body, sizeof body, "{\"wait_ms\":40000,%s}", rows[i].again);
        rig_send(&one.rig, again, lease_request("PUT", ID_B, NULL, body));
        answer = rig_read_until(&one.rig, is_refused ? again : first, "}\n");
        CHECK_STR(rows[i].code, lease_member(answer, "code"));
        close(first);
        close(again);
        rig_settle(&one.rig);
        CHECK_INT(0, one.leases.counts.waiting);
    }
    end();
}

/* ---- clients that go --------------------------------------------------------------------- */

CASE(gone_while_waiting, "A client that is gone while it waits is out of the queue at once.")
{
    const char *grant;
    int fd;

    begin();
    grant = take(&one, ID_A);
    fd = wait_for(&one, ID_B);
    replica_run(&one, 100);
    close(fd);
    rig_settle(&one.rig);
    CHECK_INT(0, one.leases.counts.waiting);
    CHECK_INT(1, one.leases.counts.disconnected_waiters);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    replica_run(&one, 200);
    CHECK_INT(0, cluster_count(&cluster, KEY));
    end();
}

CASE(half_closed_while_waiting,
     "A client that closes its sending side while it waits is cancelled.")
{
    int fd;

    begin();
    take(&one, ID_A);
    fd = wait_for(&one, ID_B);
    CHECK_INT(0, shutdown(fd, SHUT_WR));
    rig_settle(&one.rig);
    CHECK_INT(0, one.leases.counts.waiting);
    close(fd);
    end();
}

/* Granted, and the answer is queued; the loop has not turned since, so no byte of it is sent. */
static int granted_but_not_sent(void)
{
    int fd = rig_connect(&one.rig);
    const char *text = lease_request("PUT", ID_A, NULL, "{}");

    CHECK_INT((long long)strlen(text), send(fd, text, strlen(text), 0));
    /* The requests to the nodes leave; their answers are not read by the loop. */
    for (int i = 0; i < SOON_MS && one.leases.counts.waiting == 0; i++)
        loop_turn(&one.rig.loop, 0);
    while (one.leases.counts.waiting > 0)
        redlock_process(one.leases.client, 10);
    return fd;
}

CASE(gone_when_granted,
     "A grant of which no byte was sent is released when its client is gone.")
{
    int fd;

    begin();
    fd = granted_but_not_sent();
    CHECK(cluster_count(&cluster, KEY) >= 2);
    close(fd);
    rig_settle(&one.rig);
    await_nodes(&one, 0);
    CHECK_STR("ENDED",
              lease_member(lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")), "code"));
    end();
}

CASE(gone_when_told, "A grant of which a byte was sent stays when its client is gone.")
{
    int fd;

    begin();
    fd = granted_but_not_sent();
    loop_turn(&one.rig.loop, 0);
    rig_settle(&one.rig);
    close(fd);
    replica_run(&one, 200);
    CHECK_INT(3, cluster_count(&cluster, KEY));
    end();
}

CASE(eof_behind_put, "A PUT behind which the client has closed is not begun.")
{
    const char *text = lease_request("PUT", ID_A, NULL, "{}");
    int fd;

    begin();
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
    end();
}

CASE(delete_ends_a_wait, "DELETE ends the wait of its id on this replica, which gets 410.")
{
    int fd;

    begin();
    take(&one, ID_A);
    fd = wait_for(&one, ID_B);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_B, NULL, NULL)));
    CHECK_HAS("HTTP/1.1 410 ", rig_read_until(&one.rig, fd, "}\n"));
    CHECK_INT(0, one.leases.counts.waiting);
    await_nodes(&one, 3);
    end();
}

/* ---- what stays -------------------------------------------------------------------------- */

CASE(no_sweep, "The replica that granted does not delete at its deadline what another renewed.")
{
    const char *answer, *grant;

    begin_two();
    answer = lease_ask(&one, lease_request("PUT", ID_A, NULL, "{\"ttl_ms\":3000}"));
    CHECK_HAS("HTTP/1.1 201 ", answer);
    grant = lease_member(answer, "grant");
    await_nodes(&one, 3);
    answer = lease_ask(&two, lease_request("POST", ID_A, grant, "{\"ttl_ms\":50000}"));
    CHECK_HAS("HTTP/1.1 200 ", answer);
    replica_run(&one, 3500);
    CHECK_INT(3, cluster_count(&cluster, KEY));
    end_two();
}

CASE(never_from_memory, "A renewal of a lock that an operator has deleted is 410, not 200.")
{
    const char *grant;

    begin();
    grant = take(&one, ID_A);
    cluster_del(&cluster, 0, 3, KEY);
    CHECK_HAS("HTTP/1.1 410 ", lease_ask(&one, lease_request("POST", ID_A, grant, "{}")));
    CHECK_INT(0, cluster_count(&cluster, KEY));
    end();
}

CASE(no_rollback, "A renewal that too few nodes confirmed is 503 and deletes nothing.")
{
    const char *grant, *answer;

    begin();
    grant = take(&one, ID_A);
    await_nodes(&one, 3);
    cluster_each(&cluster, 1, 2, server_kill);
    answer = lease_ask(&one, lease_request("POST", ID_A, grant, "{\"ttl_ms\":50000}"));
    CHECK_HAS("HTTP/1.1 503 ", answer);
    CHECK_HAS("Retry-After: ", answer);
    replica_run(&one, 200);
    CHECK_INT(1, server_int(&cluster.node[0], "EXISTS", KEY, NULL));
    end();
}

CASE(heals, "A renewal puts the key back on a node that has lost it.")
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
        await_nodes(&two, 3);
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

    begin();
    given = take(&one, ID_A);
    CHECK(lease_tag_of((struct rl_span){ID_A, strlen(ID_A)}, &tag));
    CHECK(lease_grant_read((struct rl_span){given, strlen(given)}, &tag, &grant));
    grant.fence = (INT64_C(1) << 52) - 8;
    CHECK(lease_grant_write(&grant, text));
    CHECK_HAS("HTTP/1.1 400 ", lease_ask(&one, lease_request("POST", ID_A, text, "{}")));
    /* A release raises nothing, and is always allowed. */
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, text, NULL)));
    end();
}

CASE(drain, "At the end of the process waits end with 503, and renewals go on.")
{
    const char *grant;
    int fd;

    begin();
    grant = take(&one, ID_A);
    fd = wait_for(&one, ID_B);
    leases_drain(&one.leases);
    CHECK_HAS("HTTP/1.1 503 ", rig_read_until(&one.rig, fd, "}\n"));
    CHECK_HAS("DRAINING", lease_ask(&one, lease_request("PUT", ID_B, NULL, "{}")));
    CHECK_HAS("HTTP/1.1 200 ", lease_ask(&one, lease_request("POST", ID_A, grant, "{}")));
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    end();
}

/* ---- the deadline ------------------------------------------------------------------------ */

CASE(deadline,
     "after_ms and valid_ms together end before the library's deadline, less the drift.")
{
    const int64_t ms = 1000000;
    struct lease_deadline d = lease_deadline_of(1000 * ms, 1012 * ms, 31000 * ms, 10000);

    CHECK_INT(12, d.after_ms);
    CHECK_INT(29988 - 300 - 1, d.valid_ms);
    d = lease_deadline_of(1000 * ms, 1012 * ms + 999999, 31000 * ms, 0);
    CHECK_INT(12, d.after_ms);
    CHECK_INT(29987 - 1, d.valid_ms);
    CHECK_INT(31000 * ms, d.deadline_ns);
    CHECK_INT(0, lease_deadline_of(1000 * ms, 1012 * ms, 1012 * ms, 0).valid_ms);
    CHECK_INT(0, lease_deadline_of(1000 * ms, 9000 * ms, 1012 * ms, 0).valid_ms);
}
