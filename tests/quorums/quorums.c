/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several quorums behind one client: every lock lives in exactly one, a quorum that is down
 * takes only its own locks along, and questions are about all of them.
 */
#include "fixture.h"
#include "fleet.h"

#include <stdio.h>
#include <string.h>

static const char *key_of(const char *name)
{
    static char keys[8][64];
    static int next;
    char *key = keys[next++ % 8];
    snprintf(key, sizeof keys[0], "redlock:%s", name);
    return key;
}

CASE_ON(names_land_where_they_should, "A lock is on the nodes of its quorum and on no others.",
        .quorums = 3)
{
    for (size_t q = 0; q < 3; q++) {
        for (int i = 0; i < 4; i++) {
            const char *name = fleet_name(fleet, q, i);
            redlock_lock *lock;
            const redlock_report *report;
            CHECK_INT(q, redlock_quorum_of(r, name));
            lock = client_lock(r, name, 20000);
            fleet_check_only(fleet, q, key_of(name), 3);
            report = redlock_lock_report(lock);
            CHECK_INT(q, report->quorum_index);
            CHECK_STR(fleet->quorum[q].name, report->quorum_name);
            CHECK_INT(3, report->node_count);
            CHECK_OK(redlock_extend(lock, 20000));
            client_unlock(lock);
        }
        CHECK(cluster_await_empty(&fleet->cluster[q]));
    }
}

CASE_ON(order_means_nothing,
        "Clients that list the quorums in different orders exclude each other.", .quorums = 3,
        .nodes = 1)
{
    redlock_quorum turned[3];
    redlock_options o;
    redlock *s;
    o = fleet_options(fleet);
    for (int i = 0; i < 3; i++)
        turned[i] = fleet->quorum[(i + 2) % 3];
    o.quorums = turned;
    s = client_open_with(&o);
    for (int i = 0; i < 20; i++) {
        char name[32];
        redlock_lock *lock;
        snprintf(name, sizeof name, "name-%d", i);
        lock = client_lock(r, name, 20000);
        CHECK_ERR(REDLOCK_BUSY, client_try(s, name, 20000));
        client_unlock(lock);
        CHECK_OK(client_try(s, name, 20000));
    }
}

CASE_ON(prefix_or_name, "Two splits of one key into prefix and name are one lock.",
        .quorums = 3, .nodes = 1)
{
    redlock_options o;
    redlock *s;
    o = fleet_options(fleet);
    o.prefix = "";
    s = client_open_with(&o);
    for (size_t q = 0; q < 3; q++) {
        const char *name = fleet_name(fleet, q, 0);
        redlock_lock *lock = client_lock(r, name, 20000);
        CHECK_INT(q, redlock_quorum_of(s, key_of(name)));
        CHECK_ERR(REDLOCK_BUSY, client_try(s, key_of(name), 20000));
        client_unlock(lock);
    }
}

CASE_ON(several_names,
        "Names of one request are in one quorum, or the refusal says how to make them.",
        .quorums = 2)
{
    const char *second;
    redlock_request q;
    redlock_lock *lock = NULL;
    second = fleet_name(fleet, 1, 0);
    q = (redlock_request)REDLOCK_REQUEST(.more_names = &second, .more_name_count = 1);
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(r, fleet_name(fleet, 0, 0), 20000, &q, &lock));
    CHECK_HAS("quorum 'a'", redlock_detail());
    CHECK_HAS("quorum 'b'", redlock_detail());
    CHECK_HAS("braces", redlock_detail());
    CHECK(lock == NULL);
    for (size_t i = 0; i < 2; i++)
        CHECK(cluster_await_empty(&fleet->cluster[i]));

    second = fleet_name(fleet, 0, 1);
    CHECK_OK(redlock_acquire(r, fleet_name(fleet, 0, 0), 20000, &q, &lock));
    fleet_check_only(fleet, 0, key_of(fleet_name(fleet, 0, 1)), 3);
    client_unlock(lock);

    for (int i = 0; i < 8; i++) {
        char one[32], two[32];
        snprintf(one, sizeof one, "{user%d}.cart", i);
        snprintf(two, sizeof two, "{user%d}.mail", i);
        second = two;
        CHECK_OK(redlock_acquire(r, one, 20000, &q, &lock));
        fleet_check_only(fleet, (size_t)redlock_quorum_of(r, one), key_of(two), 3);
        client_unlock(lock);
    }
}

CASE_ON(one_quorum_down,
        "With one quorum down the locks of the others work, and the error names the quorum.",
        .quorums = 2, .node_timeout_ms = STEADY_MS)
{
    const redlock_report *report;
    redlock_answer *answer = NULL;
    redlock_lock *held;
    held = client_lock(r, fleet_name(fleet, 0, 0), 20000);
    for (int i = 0; i < 2; i++)
        server_kill(&fleet->cluster[1].node[i]);
    CHECK_ERR(REDLOCK_NOQUORUM, client_try(r, fleet_name(fleet, 1, 0), 20000));
    CHECK_HAS("quorum 'b'", redlock_detail());
    CHECK_LACKS("quorum 'a'", redlock_detail());
    CHECK_OK(redlock_extend(held, 20000));
    client_unlock(held);
    CHECK_OK(client_try(r, fleet_name(fleet, 0, 1), 20000));

    CHECK_ERR(REDLOCK_NOQUORUM, redlock_ping(r, NULL));
    report = redlock_failure_report();
    CHECK_STR("b", report->quorum_name);
    CHECK_INT(1, report_votes(report, REDLOCK_VOTE_GRANTED));
    CHECK_OK(redlock_ping(redlock_member(r, 0), &answer));
    CHECK_STR("a", answer->report->quorum_name);
    redlock_answer_free(answer);
}

CASE_ON(closing_takes_one_timeout,
        "Closing with several silent quorums takes one node timeout.", .quorums = 3, .nodes = 1,
        .node_timeout_ms = 5000)
{
    int64_t start_ms;
    redlock_lock *lock[3];
    for (size_t i = 0; i < 3; i++)
        lock[i] = client_lock(r, fleet_name(fleet, i, 0), 20000);
    for (size_t i = 0; i < 3; i++)
        server_freeze(&fleet->cluster[i].node[0]);
    start_ms = now_ms();
    client_close(r);
    CHECK_BETWEEN(4900, SOON_MS, now_ms() - start_ms);
    for (size_t i = 0; i < 3; i++) {
        CHECK_ERR(REDLOCK_INVAL, redlock_extend(lock[i], 2000));
        redlock_lock_free(lock[i]);
        server_thaw(&fleet->cluster[i].node[0]);
    }
}

CASE_ON(blocking_wait,
        "A waiter in one quorum is served when another client releases the lock.", .quorums = 2,
        .clients = 2)
{
    for (size_t i = 0; i < 2; i++) {
        const char *name = fleet_name(fleet, i, 0);
        redlock_request q = REDLOCK_REQUEST(.wait_ms = GIVE_UP_MS);
        redlock_lock *first = client_lock(other, name, 2000), *second = NULL;
        CHECK_OK(redlock_acquire(r, name, 20000, &q, &second)); /* by expiry */
        redlock_lock_free(first);
        client_unlock(second);
    }
}

CASE_ON(blocking_wait_renews_all,
        "While a caller waits in one quorum, locks of the others are renewed.", .quorums = 3,
        .clients = 2)
{
    enum { TTL_MS = RENEWED_TTL_MS };
    redlock_lock *kept[3], *got = NULL;
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 3 * TTL_MS / 2);
    CHECK(redlock_fd(r) >= 0); /* else a lock that is to be renewed is refused */
    client_lock(other, fleet_name(fleet, 0, 1), 20000);
    for (size_t i = 0; i < 3; i++) {
        kept[i] = CLIENT_LOCK(r, fleet_name(fleet, i, 0), TTL_MS, .flags = REDLOCK_RENEW);
    }
    CHECK_ERR(REDLOCK_TIMEOUT, redlock_acquire(r, fleet_name(fleet, 0, 1), 20000, &q, &got));
    NO_EVENT(r);
    for (size_t i = 0; i < 3; i++) {
        CHECK_INT(REDLOCK_STATE_HELD, redlock_state(kept[i]));
        client_unlock(kept[i]);
    }
}

CASE_ON(adopted_by_another, "A lock is adopted by its value, in whichever quorum it lives.",
        .quorums = 2, .clients = 2)
{
    for (size_t i = 0; i < 2; i++) {
        const char *name = fleet_name(fleet, i, 0);
        redlock_lock *lock = client_lock(r, name, 20000), *adopted = NULL;
        CHECK_OK(redlock_adopt(other, name, redlock_value(lock), NULL, &adopted));
        CHECK_OK(redlock_release(adopted));
        redlock_lock_free(adopted);
        redlock_lock_leave(lock);
        CHECK(cluster_await_empty(&fleet->cluster[i]));
    }
}

CASE_ON(leases_of_each,
        "A lease is kept, adopted, YOURS and ended by its key in the quorum of its name.",
        .quorums = 2, .clients = 2)
{
    static const char lease[] = "AZaz09_-AZaz09_-AZaz09";
    redlock_request q;
    q = (redlock_request)REDLOCK_REQUEST(.flags = REDLOCK_KEEP, .idempotency_key = lease);
    for (size_t i = 0; i < 2; i++) {
        const char *name = fleet_name(fleet, i, 0);
        redlock_lock *lock = NULL, *adopted = NULL;
        char key[REDLOCK_NAME_MAX + 16], value[REDLOCK_VALUE_MAX + 1];
        redlock_job job = 0;
        snprintf(key, sizeof key, "redlock:%s", name);
        CHECK_OK(redlock_acquire(r, name, 20000, &q, &lock));
        snprintf(value, sizeof value, "%s", redlock_value(lock));
        CHECK(cluster_await(&fleet->cluster[i], key, 3));
        redlock_lock_free(lock);
        CHECK_ERR(REDLOCK_YOURS, redlock_acquire(other, name, 20000, &q, &lock));
        CHECK_OK(redlock_adopt(other, name, value, NULL, &adopted));
        CHECK_OK(redlock_extend(adopted, 20000));
        CHECK_INT(3, cluster_count_value(&fleet->cluster[i], key, value));
        redlock_lock_free(adopted);
        CHECK_OK(redlock_release_by_key(other, name, lease, NULL));
        CHECK_OK(redlock_start_release_by_key(other, name, lease, NULL, &job));
        CHECK(EXPECT_ANSWER(other, REDLOCK_EXPIRED, job)->answer->report != NULL);
        CHECK(cluster_await_empty(&fleet->cluster[i]));
    }
}

/* In order, each once. */
static void check_list(redlock *r, size_t count)
{
    redlock_answer *answer = NULL;
    CHECK_OK(redlock_list(r, &answer));
    CHECK_INT(count, answer->name_count);
    for (size_t i = 1; i < count; i++)
        CHECK(strcmp(answer->names[i - 1], answer->names[i]) < 0);
    redlock_answer_free(answer);
}

CASE_ON(asking_all, "Nodes, names, holders and pings cover all quorums.", .quorums = 2)
{
    redlock_node_info info = REDLOCK_NODE_INFO();
    redlock_lock *lock[8];
    uint32_t nodes = 0;
    for (size_t i = 0; i < 6; i++) {
        info = client_node(r, i);
        CHECK_INT(i / 3, info.quorum_index);
        CHECK_STR(fleet->quorum[i / 3].name, info.quorum_name);
        CHECK_HAS(info.address, fleet->cluster[i / 3].urls[i % 3]);
        CHECK_INT(REDLOCK_NODE_UP, info.state);
    }
    CHECK_ERR(REDLOCK_INVAL, redlock_node(r, 6, &info));
    CHECK(redlock_member(r, 2) == NULL);
    CHECK(redlock_member(redlock_member(r, 1), 0) == redlock_member(r, 1));

    for (int i = 0; i < 8; i++) {
        const char *name = fleet_name(fleet, (size_t)i % 2, i / 2);
        redlock_info held;
        lock[i] = client_lock(r, name, 20000);
        held = client_query(r, name);
        CHECK_INT(1, held.held);
        CHECK_STR(redlock_value(lock[i]), held.holder.value);
    }
    check_list(r, 8);
    check_list(redlock_member(r, 1), 4);
    for (int i = 0; i < 8; i++)
        client_unlock(lock[i]);
    CHECK_INT(3, client_ping(r, &nodes));
    CHECK_INT(3, nodes);
    CHECK_OK(redlock_admit(r, NULL));
}

CASE_ON(members_take_no_locks,
        "The client of one quorum answers queries and refuses to take locks.", .quorums = 2,
        .nodes = 1)
{
    redlock *member;
    const char *name;
    const redlock_event *event;
    redlock_lock *lock = NULL;
    member = redlock_member(r, 0);
    name = fleet_name(fleet, 0, 0);
    CHECK_ERR(REDLOCK_INVAL, redlock_acquire(member, name, 20000, NULL, &lock));
    CHECK_ERR(REDLOCK_INVAL, redlock_start_acquire(member, name, 20000, NULL, &lock));
    CHECK_ERR(REDLOCK_INVAL, redlock_adopt(member, name, "value", NULL, &lock));
    CHECK(lock == NULL);
    CHECK_ERR(REDLOCK_INVAL, redlock_next(member, &event, 0));
    CHECK_ERR(REDLOCK_INVAL, redlock_fd(member));
    CHECK_INT(0, client_query(member, name).held);
    client_close(member); /* belongs to the client: no effect */
    CHECK_OK(client_try(r, name, 20000));
}

struct findings {
    int failed;
    char quorums[8], text[256];
};

static void note(const redlock_check *check, struct findings *found)
{
    if (check->verdict == REDLOCK_CHECK_FAIL) {
        found->failed++;
        snprintf(found->text, sizeof found->text, "%s: %s", check->quorum, check->text);
    }
    if (strcmp(check->name, "placement") == 0)
        strncat(found->quorums, check->quorum, 2);
}

static struct findings audit(redlock *r)
{
    struct findings found = {0};
    redlock_answer *answer = NULL;
    CHECK_OK(redlock_audit(r, 10000, &answer));
    for (size_t i = 0; i < answer->check_count; i++)
        note(&answer->checks[i], &found);
    redlock_answer_free(answer);
    return found;
}

CASE_ON(audit_of_all, "The audit examines every quorum and finds a lock in the wrong one.",
        .quorums = 2)
{
    redlock *stray;
    redlock_lock *lock;
    struct findings found;
    lock = client_lock(r, fleet_name(fleet, 0, 0), 20000);
    found = audit(r);
    if (found.failed)
        FAIL("%s", found.text);
    CHECK_STR("ab", found.quorums);
    client_unlock(lock);

    /* A client that knows one of the quorums only: what the page of capacity warns of. */
    stray = client_open(&fleet->cluster[1], 0);
    lock = client_lock(stray, fleet_name(fleet, 0, 0), 20000);
    CHECK_OK(client_try(r, fleet_name(fleet, 0, 0), 20000)); /* two holders: nothing can help */
    found = audit(r);
    CHECK_INT(1, found.failed);
    CHECK_HAS("b: 1 lock", found.text);
    CHECK_HAS(fleet_name(fleet, 0, 0), found.text);
}
