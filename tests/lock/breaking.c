/* SPDX-License-Identifier: BSD-2-Clause */
/* redlock_break(): exactly the holder that was found, whatever came after it. */
#include "fixture.h"
#include "fleet.h"
#include "kinds.h"
#include "proxy.h"

enum { TTL_MS = LONG_TTL_MS };
#define LABEL "the holder"

static redlock_holder first_holder(redlock *r)
{
    redlock_info info = client_query(r, "x");
    CHECK(info.holders_shown > 0);
    return info.holders[0];
}

CASE_ON(every_kind,
        "A holder of every kind is evicted, and the report says who and how long it may act.",
        .clients = 2)
{
    for (int kind = 0; redlock_kind_traits(kind); kind++) {
        redlock_request q = REDLOCK_REQUEST(.kind = kind, .label = LABEL);
        redlock_lock *lock;
        redlock_answer *answer = NULL;
        const redlock_report *report;
        redlock_holder holder;
        q.slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? 3 : 0;
        lock = client_lock_as(r, "x", TTL_MS, q);
        holder = first_holder(other);
        CHECK(redlock_remaining_ms(lock) > 0);
        CHECK_OK(redlock_break(other, "x", holder.fingerprint, &answer));
        report = answer->report;
        CHECK_STR(LABEL, report->holder.label);
        CHECK_STR(redlock_value(lock), report->holder.value);
        CHECK_INT(3, report->holder.votes);
        CHECK(report->holder.remaining_ms >= redlock_remaining_ms(lock));
        CHECK_BETWEEN(1, TTL_MS, report->holder.remaining_ms);
        CHECK_BETWEEN(0, 60000, report->holder.held_ms);
        CHECK_INT(3, report_votes(report, REDLOCK_VOTE_GRANTED));
        redlock_answer_free(answer);
        CHECK_INT(0, cluster_count(c, "redlock:x"));
        CHECK_ERR(REDLOCK_EXPIRED, redlock_break(other, "x", holder.fingerprint, NULL));
        CHECK_HAS("gone already", redlock_detail());
        CHECK_INT(3, report_votes(redlock_failure_report(), REDLOCK_VOTE_MISSING));
        CHECK_STR("", redlock_failure_report()->holder.value);
        CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS)); /* that is how it finds out */
        CHECK_INT(REDLOCK_STATE_LOST, redlock_state(lock));
        redlock_lock_free(lock);
    }
}

CASE_ON(never_the_next, "A fingerprint evicts no holder that came after, of any kind.")
{
    for (int kind = 0; redlock_kind_traits(kind); kind++) {
        redlock_request q = REDLOCK_REQUEST(.kind = kind, .label = LABEL, .owner = NULL);
        redlock_lock *lock, *next;
        redlock_holder holder;
        q.slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? 1 : 0;
        lock = client_lock_as(r, "x", TTL_MS, q);
        holder = first_holder(r);
        client_unlock(lock);
        next = client_lock_as(r, "x", TTL_MS, q);
        CHECK_ERR(REDLOCK_EXPIRED, redlock_break(r, "x", holder.fingerprint, NULL));
        CHECK_HAS("another is there now", redlock_detail());
        CHECK_INT(3, report_votes(redlock_failure_report(), REDLOCK_VOTE_TAKEN));
        CHECK_OK(redlock_extend(next, TTL_MS));
        CHECK_INT(3, cluster_count(c, "redlock:x"));
        client_unlock(next);
    }
}

CASE_ON(beside_others,
        "Of readers and slots only the one with the fingerprint goes, of an owner all.")
{
    for (int kind = 0; redlock_kind_traits(kind); kind++) {
        redlock_request q;
        redlock_lock *lock, *beside;
        redlock_holder holder;
        if (!(redlock_kind_traits(kind) & (REDLOCK_KIND_SEVERAL | REDLOCK_KIND_OWNER)))
            continue;
        q = (redlock_request)REDLOCK_REQUEST(.kind = kind, .label = LABEL);
        q.slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? 3 : 0;
        lock = client_lock_as(r, "x", TTL_MS, q);
        holder = first_holder(r);
        q.label = "beside it";
        beside = client_lock_as(r, "x", TTL_MS, q);
        CHECK_OK(redlock_break(r, "x", holder.fingerprint, NULL));
        CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS));
        CHECK_ERR(redlock_kind_traits(kind) & REDLOCK_KIND_OWNER ? REDLOCK_LOST : REDLOCK_OK,
                  redlock_extend(beside, TTL_MS));
        redlock_lock_free(lock);
        redlock_lock_free(beside);
        client_warm(r); /* what was freed is released by now */
        CHECK(cluster_await(c, "redlock:x", 0));
    }
}

CASE_ON(several_names,
        "Of several names the one that is broken goes, and the holder has lost them all.")
{
    redlock_lock *lock =
        CLIENT_LOCK(r, "x", TTL_MS, .more_names = (const char *[]){"y"}, .more_name_count = 1);
    CHECK_OK(redlock_break(r, "x", first_holder(r).fingerprint, NULL));
    CHECK_INT(0, cluster_count(c, "redlock:x"));
    CHECK_INT(3, cluster_count(c, "redlock:y"));
    CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS));
}

CASE_ON(several_quorums, "A holder is found and evicted in the quorum where its name lives.",
        .quorums = 3, .nodes = 1)
{
    for (size_t i = 0; i < 3; i++) {
        const char *name = fleet_name(fleet, i, 0);
        redlock_answer *answer = NULL;
        redlock_lock *lock = CLIENT_LOCK(r, name, TTL_MS, .label = LABEL);
        redlock_info info;
        CHECK_ERR(REDLOCK_BUSY, client_try(r, name, TTL_MS));
        CHECK_HAS("held by " LABEL, redlock_detail());
        info = client_query(r, name);
        CHECK_STR(LABEL, info.holder.label);
        CHECK_OK(redlock_break(r, name, info.holders[0].fingerprint, &answer));
        CHECK_INT(i, answer->report->quorum_index);
        CHECK_STR(LABEL, answer->report->holder.label);
        redlock_answer_free(answer);
        CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS));
        redlock_lock_free(lock);
    }
}

CASE_ON(renewed_holder, "A holder that is renewed gets its loss at the next renewal.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *lock;
    other = client_open_warm(c, 0);
    lock = CLIENT_LOCK(r, "x", RENEWED_TTL_MS, .flags = REDLOCK_RENEW);
    CHECK_OK(redlock_break(other, "x", first_holder(other).fingerprint, NULL));
    EXPECT(r, LOST, REDLOCK_LOST, lock); /* by a renewal, and not at the end of the TTL */
}

CASE_NODES(stays_broken,
           "A renewal under way does not put back what a break deletes on its way.")
{
    struct proxy late[3]; /* the operator's way to two nodes, the holder's to the third */
    redlock_job job = 0;
    redlock *holder, *evictor;
    redlock_lock *lock;
    redlock_holder found;
    proxy_before(&late[2], c, 2);
    holder = client_open_warm(c, REDLOCK_THREAD);
    c->urls[2] = c->url[2];
    proxies_start(late, c, 2);
    evictor = client_open_hasty(c, REDLOCK_THREAD, 30000);
    client_warm(evictor);
    lock = client_lock(holder, "x", TTL_MS);
    CHECK(cluster_await(c, "redlock:x", 3));
    found = first_holder(evictor);

    late[2].switches->hold_up = 1;
    CHECK_OK(redlock_extend(lock, TTL_MS)); /* by the first two */
    late[0].switches->hold_up = late[1].switches->hold_up = 1;
    CHECK_OK(redlock_start_break(evictor, "x", found.fingerprint, NULL, &job));
    CHECK(cluster_await(c, "redlock:x", 2));
    late[2].switches->hold_up = 0; /* the third says that the key is missing ... */
    client_warm(holder);
    client_warm(holder); /* ... and has read what follows */
    late[0].switches->hold_up = 0;
    proxy_stop(&late[1]); /* the break never comes to the second */
    EXPECT_ANSWER(evictor, REDLOCK_OK, job);
    CHECK_INT(1, cluster_count(c, "redlock:x"));
    CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS));
    redlock_lock_free(lock);
    client_close(evictor);
    client_close(holder);
    proxy_stop(&late[0]);
    proxy_stop(&late[2]);
}

CASE_ON(wakes_waiters, "Breaking wakes the waiter, as a release does.")
{
    redlock_lock *held, *lock;
    other = client_open_warm(c, REDLOCK_THREAD);
    held = client_lock(r, "x", TTL_MS);
    lock = CLIENT_START(other, "x", TTL_MS, .label = "next", .wait_ms = REDLOCK_WAIT_FOREVER);
    CHECK(cluster_await(c, "redlock.queue:x", 3));
    CHECK_OK(redlock_break(r, "x", first_holder(r).fingerprint, NULL));
    EXPECT(other, ACQUIRED, REDLOCK_OK, lock); /* long before the TTL */
    CHECK_STR("next", first_holder(r).label);
    redlock_lock_free(held);
}

CASE_ON(no_majority,
        "Without a majority it is NOQUORUM, and the report says where it was evicted.",
        .node_timeout_ms = STEADY_MS)
{
    redlock_lock *lock = client_lock(r, "x", TTL_MS);
    redlock_holder holder = first_holder(r);
    const redlock_report *report;
    cluster_each(c, 1, 2, server_freeze);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_break(r, "x", holder.fingerprint, NULL));
    report = redlock_failure_report();
    CHECK_INT(REDLOCK_VOTE_GRANTED, report->node[0].vote);
    CHECK_INT(1, report_votes(report, REDLOCK_VOTE_GRANTED));
    CHECK_INT(2, report_votes(report, REDLOCK_VOTE_SILENT));
    CHECK_STR(redlock_value(lock), report->holder.value);
    cluster_each(c, 1, 2, server_thaw);
    redlock_lock_free(lock);
}

CASE_ON(bad_fingerprints, "What is no fingerprint is INVAL, and says where they come from.",
        .nodes = 1)
{
    const char *const bad[] = {NULL, "", "0123", "0123456789012345678901234567890123456789a",
                               "012345678901234567890123456789012345678G"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_ERR(REDLOCK_INVAL, redlock_break(r, "x", bad[i], NULL));
        CHECK_HAS("redlock_query()", redlock_detail());
    }
    CHECK_ERR(REDLOCK_INVAL,
              redlock_break(r, "", "0123456789012345678901234567890123456789", NULL));
}
