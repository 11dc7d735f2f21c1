/* SPDX-License-Identifier: BSD-2-Clause */
/* redlock_break(): exactly the holder that was found, whatever came after it. */
#include "check.h"
#include "client.h"
#include "clock.h"
#include "fleet.h"
#include "kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_MS = 20000 };
#define LABEL "the holder"

static redlock_holder first_holder(redlock *r)
{
    redlock_info info = {.size = sizeof info};
    CHECK_OK(redlock_query(r, "x", &info, NULL));
    CHECK(info.shown_holder_count > 0);
    return info.shown_holder[0];
}

CASE(every_kind,
     "A holder of every kind is evicted, and the report says who and how long it may act.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, 0);
    redlock *other = client_open_warm(&c, 0);
    for (int kind = 0; redlock_kind_traits(kind); kind++) {
        redlock_request q = {.size = sizeof q, .kind = kind, .label = LABEL};
        redlock_report report = {.size = sizeof report};
        q.slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? 3 : 0;
        redlock_lock *lock = kind_lock(r, "x", TTL_MS, q);
        redlock_holder holder = first_holder(other);
        CHECK(redlock_remaining_ms(lock) > 0);
        CHECK_OK(redlock_break(other, "x", holder.mark, &report));
        CHECK_STR(LABEL, report.holder.label);
        CHECK_STR(redlock_value(lock), report.holder.value);
        CHECK_INT(3, report.holder.votes);
        CHECK(report.holder.ttl_ms >= redlock_remaining_ms(lock));
        CHECK_BETWEEN(1, TTL_MS, report.holder.ttl_ms);
        CHECK_BETWEEN(0, 60000, report.holder.held_ms);
        CHECK_INT(3, report_votes(&report, REDLOCK_VOTE_GRANTED));
        CHECK_INT(0, cluster_count(&c, "redlock:x"));
        CHECK_ERR(REDLOCK_EXPIRED, redlock_break(other, "x", holder.mark, &report));
        CHECK_HAS("gone already", redlock_detail());
        CHECK_INT(3, report_votes(&report, REDLOCK_VOTE_MISSING));
        CHECK_STR("", report.holder.value);
        CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS)); /* that is how it finds out */
        CHECK_INT(REDLOCK_STATE_LOST, redlock_state(lock));
        redlock_lock_free(lock);
    }
    redlock_close(other);
    redlock_close(r);
}

CASE(never_the_next, "A mark evicts no holder that came after, of any kind.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, 0);
    for (int kind = 0; redlock_kind_traits(kind); kind++) {
        redlock_request q = {.size = sizeof q, .kind = kind, .label = LABEL, .owner = NULL};
        redlock_report report = {.size = sizeof report};
        q.slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? 1 : 0;
        redlock_lock *lock = kind_lock(r, "x", TTL_MS, q);
        redlock_holder holder = first_holder(r);
        client_unlock(lock);
        redlock_lock *next = kind_lock(r, "x", TTL_MS, q);
        CHECK_ERR(REDLOCK_EXPIRED, redlock_break(r, "x", holder.mark, &report));
        CHECK_HAS("another is there now", redlock_detail());
        CHECK_INT(3, report_votes(&report, REDLOCK_VOTE_TAKEN));
        CHECK_OK(redlock_extend(next, TTL_MS));
        CHECK_INT(3, cluster_count(&c, "redlock:x"));
        client_unlock(next);
    }
    redlock_close(r);
}

CASE(beside_others,
     "Of readers and slots only the one with the mark goes, of an owner all holds.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, 0);
    for (int kind = 0; redlock_kind_traits(kind); kind++) {
        if (!(redlock_kind_traits(kind) & (REDLOCK_KIND_SEVERAL | REDLOCK_KIND_OWNER)))
            continue;
        redlock_request q = {.size = sizeof q, .kind = kind, .label = LABEL};
        q.slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? 3 : 0;
        redlock_lock *lock = kind_lock(r, "x", TTL_MS, q);
        redlock_holder holder = first_holder(r);
        q.label = "beside it";
        redlock_lock *beside = kind_lock(r, "x", TTL_MS, q);
        CHECK_OK(redlock_break(r, "x", holder.mark, NULL));
        CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS));
        CHECK_ERR(redlock_kind_traits(kind) & REDLOCK_KIND_OWNER ? REDLOCK_LOST : REDLOCK_OK,
                  redlock_extend(beside, TTL_MS));
        redlock_lock_free(lock);
        redlock_lock_free(beside);
        client_warm(r); /* what was freed is released by now */
        CHECK(cluster_await(&c, "redlock:x", 0, 10000));
    }
    redlock_close(r);
}

CASE(several_names,
     "Of several names the one that is broken goes, and the holder has lost them all.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, 0);
    redlock_request q = {
        .size = sizeof q, .more_names = (const char *[]){"y"}, .more_name_count = 1};
    redlock_lock *lock = kind_lock(r, "x", TTL_MS, q);
    CHECK_OK(redlock_break(r, "x", first_holder(r).mark, NULL));
    CHECK_INT(0, cluster_count(&c, "redlock:x"));
    CHECK_INT(3, cluster_count(&c, "redlock:y"));
    CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS));
    redlock_lock_free(lock);
    redlock_close(r);
}

CASE(several_quorums, "A holder is found and evicted in the quorum where its name lives.")
{
    struct fleet f;
    fleet_start(&f, 3, 1);
    redlock *r = fleet_open_warm(&f, 0);
    for (size_t i = 0; i < 3; i++) {
        const char *name = fleet_name(&f, i, 0);
        redlock_request q = {.size = sizeof q, .label = LABEL};
        redlock_info info = {.size = sizeof info};
        redlock_report report = {.size = sizeof report};
        redlock_lock *lock = NULL;
        CHECK_OK(client_acquire(r, name, TTL_MS, &q, &lock));
        CHECK_ERR(REDLOCK_BUSY, client_try(r, name, TTL_MS));
        CHECK_HAS("held by " LABEL, redlock_detail());
        CHECK_OK(redlock_query(r, name, &info, NULL));
        CHECK_STR(LABEL, info.label);
        CHECK_OK(redlock_break(r, name, info.shown_holder[0].mark, &report));
        CHECK_INT(i, report.quorum_index);
        CHECK_STR(LABEL, report.holder.label);
        CHECK_ERR(REDLOCK_LOST, redlock_extend(lock, TTL_MS));
        redlock_lock_free(lock);
    }
    redlock_close(r);
}

CASE(renewed_holder, "A holder that is renewed is told of its loss at the next renewal.")
{
    struct cluster c;
    cluster_start(&c, 3);
    redlock *r = client_open_warm(&c, REDLOCK_THREAD);
    redlock *other = client_open_warm(&c, 0);
    struct result lost = {0};
    redlock_request q = {
        .size = sizeof q, .flags = REDLOCK_RENEW, .lost = result_note, .data = &lost};
    redlock_lock *lock = NULL;
    CHECK_OK(client_acquire(r, "x", 3000, &q, &lock));
    int64_t begun_ms = now_ms();
    CHECK_OK(redlock_break(other, "x", first_holder(other).mark, NULL));
    CHECK(wait_until(result_is_told, &lost, 10000));
    CHECK_INT(REDLOCK_LOST, lost.error);
    CHECK_BETWEEN(0, 1500 + SLACK_MS, now_ms() - begun_ms); /* a third of the TTL, not all */
    redlock_lock_free(lock);
    redlock_close(other);
    redlock_close(r);
}

CASE(wakes_waiters, "Breaking wakes the waiter, as a release does.")
{
    struct cluster c;
    redlock *r = client_start(&c, 3, 0);
    redlock *other = client_open_warm(&c, REDLOCK_THREAD);
    redlock_lock *held = client_lock(r, "x", TTL_MS), *lock = NULL;
    struct result result = {0};
    redlock_request q = {.size = sizeof q,
                         .label = "next",
                         .wait_ms = REDLOCK_WAIT_FOREVER,
                         .done = result_note,
                         .data = &result};
    CHECK_OK(redlock_start(other, "x", TTL_MS, &q, &lock));
    CHECK(cluster_await(&c, "redlock.queue:x", 3, 10000));
    CHECK_OK(redlock_break(r, "x", first_holder(r).mark, NULL));
    CHECK(wait_until(result_is_told, &result, 10000)); /* long before the TTL */
    CHECK_OK(result.error);
    CHECK_STR("next", first_holder(r).label);
    client_unlock(lock);
    redlock_lock_free(held);
    redlock_close(other);
    redlock_close(r);
}

CASE(no_majority,
     "Without a majority it is NOQUORUM, and the report says where it was evicted.")
{
    struct cluster c;
    redlock *r = client_start_hasty(&c, 3, 0, STEADY_MS);
    redlock_lock *lock = client_lock(r, "x", TTL_MS);
    redlock_holder holder = first_holder(r);
    redlock_report report = {.size = sizeof report};
    cluster_each(&c, 1, 2, server_freeze);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_break(r, "x", holder.mark, &report));
    CHECK_INT(REDLOCK_VOTE_GRANTED, report.node[0].vote);
    CHECK_INT(1, report_votes(&report, REDLOCK_VOTE_GRANTED));
    CHECK_INT(2, report_votes(&report, REDLOCK_VOTE_TIMEDOUT));
    CHECK_STR(redlock_value(lock), report.holder.value);
    cluster_each(&c, 1, 2, server_thaw);
    redlock_lock_free(lock);
    redlock_close(r);
}

CASE(bad_marks, "What is no mark is INVAL, and says where marks come from.")
{
    struct cluster c;
    redlock *r = client_start(&c, 1, 0);
    const char *const bad[] = {NULL, "", "0123", "0123456789012345678901234567890123456789a",
                               "012345678901234567890123456789012345678G"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_ERR(REDLOCK_INVAL, redlock_break(r, "x", bad[i], NULL));
        CHECK_HAS("redlock_query()", redlock_detail());
    }
    CHECK_ERR(REDLOCK_INVAL,
              redlock_break(r, "", "0123456789012345678901234567890123456789", NULL));
    redlock_close(r);
}
