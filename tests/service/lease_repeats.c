/* SPDX-License-Identifier: BSD-2-Clause */
/* One id, one acquisition: requests that are repeated, here or on another replica. */
#include "base/slice.h"
#include "check.h"
#include "client.h"
#include "io/clock.h"
#include "leases/reply.h"
#include "two_replicas.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

CASE(yours_from_memory,
     "An id that was granted here is not granted again, also when the key is gone.")
{
    begin_one();
    take_lease(&one, ID_A);
    CHECK_HAS("\"code\":\"YOURS\"", lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")));
    cluster_del(&cluster, 0, 3, KEY);
    CHECK_HAS("\"code\":\"YOURS\"", lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")));
    CHECK_INT(0, cluster_count(&cluster, KEY));
    CHECK_INT(2, one.journal.count[JOURNAL_YOURS]);
    end_one();
}

CASE(yours_from_nodes, "An id that another replica granted is told as YOURS, not as busy.")
{
    const char *answer;

    begin_two();
    take_lease(&one, ID_A);
    answer = lease_ask(&two, lease_request("PUT", ID_A, NULL, "{}"));
    CHECK_HAS("HTTP/1.1 409 ", answer);
    CHECK_STR("YOURS", lease_member(answer, "code"));
    end_two();
}

CASE(yours_of_every_kind,
     "An id that another replica granted is YOURS where others could hold, too.")
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
        CHECK_HAS("\"code\":\"YOURS\"",
                  lease_ask(&two, lease_request("PUT", id, NULL, kinds[i])));
        CHECK_HAS("HTTP/1.1 204 ", lease_ask(&two, lease_request("DELETE", id, NULL, NULL)));
        await_nodes(&two, 0);
    }
    end_two();
}

CASE(yours_while_waiting,
     "Of two replicas that wait with one id, one grants and the other says YOURS.")
{
    const char *grant;
    int first, second;
    int granted = 0, yours = 0;

    begin_two();
    grant = take_lease(&one, ID_A);
    first = wait_for_lease(&one, ID_B);
    replica_run(&one, 100);
    second = wait_for_lease(&two, ID_B);
    replica_run(&two, 100);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    for (int i = 0; i < SOON_MS / 10 && granted + yours < 2; i++) {
        const char *answer = rig_read(&one.rig, first, NULL);

        granted += strstr(answer, "HTTP/1.1 201 ") != NULL;
        yours += strstr(answer, "\"YOURS\"") != NULL;
        answer = rig_read(&two.rig, second, NULL);
        granted += strstr(answer, "HTTP/1.1 201 ") != NULL;
        yours += strstr(answer, "\"YOURS\"") != NULL;
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

    begin_one();
    CHECK(lease_tag_of(rl_slice_of(ID_A), &tag));
    for (size_t i = 0; i < 2; i++) {
        snprintf(value, sizeof value, "%s:%zu12345678901234567890123456789012345678", tag.text,
                 i);
        cluster_set(&cluster, i, 1, KEY, value, 60000);
    }
    /* Two attempts that were lost: neither has a majority, and the lock is busy with both. */
    CHECK_HAS("HTTP/1.1 423 ", lease_ask(&one, lease_request("PUT", ID_A, NULL, "{}")));
    cluster_del(&cluster, 1, 1, KEY);
    take_lease(&one, ID_A);
    end_one();
}

CASE(superseded, "A repeated PUT takes the wait over and is answered by its own clock.")
{
    const char *answer, *grant;
    int64_t sent_ns;
    int first, second;

    begin_one();
    grant = take_lease(&one, ID_A);
    first = wait_for_lease(&one, ID_B);
    replica_run(&one, 500);
    second = rig_connect(&one.rig);
    sent_ns = rl_now_ns();
    rig_send(&one.rig, second, lease_request("PUT", ID_B, NULL, "{\"wait_ms\":40000}"));
    answer = rig_read_until(&one.rig, first, "}\n");
    CHECK_HAS("HTTP/1.1 409 ", answer);
    CHECK_STR("SUPERSEDED", lease_member(answer, "code"));
    CHECK_INT(1, one.leases.counts.waiting);
    /* The older one has no right to anything: its end changes nothing. */
    close(first);
    rig_settle(&one.rig);
    CHECK_INT(1, one.leases.counts.waiting);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    answer = rig_read_until(&one.rig, second, "}\n");
    CHECK_HAS("HTTP/1.1 201 ", answer);
    /* Not from the first request's receipt: that would make the deadline half a
     * second too late. */
    CHECK(lease_number(answer, "after_ms") <= (rl_now_ns() - sent_ns) / RL_NS_PER_MS);
    CHECK_INT(0, one.leases.counts.waiting);
    end_one();
}

CASE(another_name, "An id that waits for one lock is not used for another.")
{
    const char *answer;
    char text[512];

    begin_one();
    take_lease(&one, ID_A);
    wait_for_lease(&one, ID_B);
    snprintf(text, sizeof text,
             "PUT /v1/locks/other HTTP/1.1\r\nHost: h\r\nLease-Id: " ID_B
             "\r\nContent-Length: 0\r\n\r\n");
    answer = lease_ask(&one, text);
    CHECK_STR("YOURS", lease_member(answer, "code"));
    CHECK_INT(0, cluster_count(&cluster, "redlock:other"));
    end_one();
}

CASE(another_kind, "An id that waits for one kind of lock is not granted as another kind.")
{
    static const struct {
        const char *first, *again, *code;
    } rows[] = {
        {"\"kind\":\"shared\"", "\"kind\":\"mutex\"", "YOURS"},
        {"\"kind\":\"mutex\"", "\"kind\":\"shared\"", "YOURS"},
        {"\"kind\":\"semaphore\",\"slots\":2", "\"kind\":\"semaphore\",\"slots\":1", "YOURS"},
        {"\"kind\":\"reentrant\",\"owner\":\"x\"", "\"kind\":\"reentrant\",\"owner\":\"y\"",
         "YOURS"},
        {"\"fenced\":false", "\"fenced\":true", "YOURS"},
        /* What does not change what is held, or what the answer tells. */
        {"\"label\":\"x\"", "\"label\":\"y\",\"ttl_ms\":5000", "SUPERSEDED"},
    };
    char body[128];

    begin_one();
    take_lease(&one, ID_A);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int first = rig_connect(&one.rig), again = rig_connect(&one.rig);
        bool is_refused = strcmp(rows[i].code, "YOURS") == 0;
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
    end_one();
}

/* ---- another name ------------------------------------------------------------------------ */

/* The same request for the lock "bob", which has as many letters. */
static const char *for_another_name(const char *request)
{
    static char text[2048];
    char *name;

    snprintf(text, sizeof text, "%s", request);
    name = strstr(text, "/v1/locks/job");
    CHECK(name);
    memcpy(name + strlen("/v1/locks/"), "bob", 3);
    return text;
}

CASE(another_name_ends_nothing,
     "DELETE of an id under another name ends neither its wait nor its lease.")
{
    const char *grant, *answer;
    int waiter;

    begin_one();
    grant = take_lease(&one, ID_A);
    waiter = wait_for_lease(&one, ID_B);
    replica_run(&one, 100);
    CHECK_HAS("HTTP/1.1 410 ",
              lease_ask(&one, for_another_name(lease_request("DELETE", ID_B, NULL, NULL))));
    CHECK_HAS("HTTP/1.1 410 ",
              lease_ask(&one, for_another_name(lease_request("DELETE", ID_A, NULL, NULL))));
    CHECK_INT(1, one.leases.counts.waiting);
    CHECK_INT(1, one.leases.table.held_count);
    /* Neither was ended: the first is renewed and released, the second granted. */
    CHECK_HAS("HTTP/1.1 200 ", lease_ask(&one, lease_request("POST", ID_A, grant, "{}")));
    CHECK_HAS("HTTP/1.1 410 ",
              lease_ask(&one, for_another_name(lease_request("POST", ID_A, grant, "{}"))));
    CHECK_INT(0, one.journal.count[JOURNAL_LOST]);
    CHECK_INT(1, one.journal.count[JOURNAL_UNKNOWN]);
    CHECK_HAS("HTTP/1.1 204 ", lease_ask(&one, lease_request("DELETE", ID_A, grant, NULL)));
    answer = rig_read_until(&one.rig, waiter, "\r\n\r\n{");
    CHECK_HAS("HTTP/1.1 201 ", answer);
    close(waiter);
    end_one();
}

/* ---- rights that end --------------------------------------------------------------------- */

CASE(right_gone_while_waiting,
     "A request that may not acquire any more when its turn comes gets 403, and no lock.")
{
    const char *grant;
    char why[256];
    int waiter;

    begin_one();
    grant = take_lease(&one, ID_A);
    waiter = wait_for_lease(&one, ID_B);
    replica_run(&one, 100);
    /* As a certificate that ends: no reload looks at those that wait. */
    CHECK_INT(0,
              access_rules_add(&one.access.rules, "uid:4294967294 * acquire", why, sizeof why));
    cluster_del(&cluster, 0, 3, KEY);
    CHECK(grant);
    CHECK_HAS("HTTP/1.1 403 ", rig_read_until(&one.rig, waiter, "\r\n\r\n{"));
    await_nodes(&one, 0);
    CHECK_INT(1, one.journal.count[JOURNAL_DENIED]);
    CHECK_INT(1, one.journal.count[JOURNAL_GRANTED]);
    close(waiter);
    end_one();
}
