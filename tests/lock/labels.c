/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels and times of holders and waiters, from the request to queries and refusals. */
#include "fixture.h"
#include "kinds.h"

#include <stdio.h>
#include <string.h>

enum { TTL_MS = LONG_TTL_MS };
#define LABEL "deploy@web3:4711 (make) #7"
#define TAG "AZaz09_-AZaz09_-AZaz09"
#define HEX_DIGITS "0123456789abcdef"

static redlock_info query(redlock *r)
{
    return client_query(r, "x");
}

static void check_holder(const redlock_info *info, const char *value, const char *label)
{
    CHECK_STR(value, info->holder.value);
    CHECK_STR(label, info->holder.label);
    CHECK_INT(1, info->held);
    CHECK_BETWEEN(1, REDLOCK_SHOWN_MAX, info->holders_shown);
    CHECK_STR(value, info->holders[0].value);
    CHECK_STR(label, info->holders[0].label);
    CHECK_INT(REDLOCK_FINGERPRINT_SIZE, strspn(info->holders[0].fingerprint, HEX_DIGITS));
}

CASE_ON(every_kind, "A lock of every kind has its label, taken natively or by scripts.",
        .also = {REDLOCK_NO_NATIVE, REDLOCK_STRICT})
{
    const redlock_request kinds[] = {
        REDLOCK_REQUEST(.label = LABEL),
        REDLOCK_REQUEST(.label = LABEL, .flags = REDLOCK_FENCED | REDLOCK_FAIR),
        REDLOCK_REQUEST(.label = LABEL, .kind = REDLOCK_SHARED),
        REDLOCK_REQUEST(.label = LABEL, .kind = REDLOCK_REENTRANT, .owner = "me"),
        REDLOCK_REQUEST(.label = LABEL, .kind = REDLOCK_SEMAPHORE, .slots = 5),
        REDLOCK_REQUEST(.label = LABEL, .more_names = (const char *[]){"y"},
                        .more_name_count = 1),
        REDLOCK_REQUEST(.label = LABEL, .idempotency_key = TAG),
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        redlock_lock *lock = client_lock_as(r, "x", TTL_MS, kinds[i]);
        redlock_info info = query(r);
        check_holder(&info, redlock_value(lock), LABEL);
        CHECK_BETWEEN(0, 60000, info.holder.held_ms);
        CHECK_INT(kinds[i].kind == REDLOCK_REENTRANT, info.holder.held_at_least);
        CHECK_OK(redlock_extend(lock, TTL_MS));
        client_unlock(lock);
        CHECK(cluster_await(c, "redlock:x", 0));
    }
}

CASE_ON(value_forms,
        "Without label and tag a value is as ever; with them it begins and ends with them.")
{
    redlock_lock *lock = client_lock(r, "x", TTL_MS);
    redlock_info info;
    redlock_request q = REDLOCK_REQUEST(.idempotency_key = TAG, .label = "");
    CHECK_INT(40, strlen(redlock_value(lock)));
    CHECK_INT(40, strspn(redlock_value(lock), HEX_DIGITS));
    info = query(r);
    CHECK_STR("", info.holder.label);
    CHECK_INT(-1, info.holder.held_ms); /* no stamp, so it is not known */
    CHECK_INT(0, info.holder.held_at_least);
    client_unlock(lock);

    lock = client_lock_as(r, "x", TTL_MS, q);
    CHECK_INT(0, strncmp(TAG ":", redlock_value(lock), strlen(TAG) + 1));
    CHECK_INT(strlen(TAG) + 41, strlen(redlock_value(lock)));
    CHECK_INT(3, cluster_count_value(c, "redlock:x", redlock_value(lock)));
    client_unlock(lock);

    q = (redlock_request)REDLOCK_REQUEST(.label = "a b");
    lock = client_lock_as(r, "x", TTL_MS, q);
    CHECK_STR(" a b", redlock_value(lock) + strlen(redlock_value(lock)) - 4);
    CHECK_INT(3, cluster_count_value(c, "redlock:x", redlock_value(lock)));
    client_unlock(lock);
    CHECK(cluster_await_empty(c));
}

CASE_ON(longest, "The longest tag, slot, label and name fit, for every kind and while waiting.",
        .clients = 2)
{
    char label[REDLOCK_LABEL_MAX + 1], name[REDLOCK_NAME_MAX + 1];
    memset(label, 'l', REDLOCK_LABEL_MAX);
    memset(name, 'n', REDLOCK_NAME_MAX);
    label[REDLOCK_LABEL_MAX] = name[REDLOCK_NAME_MAX] = '\0';
    for (int kind = 0; redlock_kind_traits(kind); kind++) {
        redlock_request q =
            REDLOCK_REQUEST(.kind = kind, .label = label, .idempotency_key = TAG);
        redlock_lock *lock = NULL, *refused = NULL;
        redlock_request wait;
        redlock_info info;
        q.slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? REDLOCK_SLOTS_MAX : 0;
        CHECK_OK(redlock_acquire(r, name, TTL_MS, &q, &lock));
        wait = (redlock_request)REDLOCK_REQUEST(.label = label, .wait_ms = 1000);
        CHECK_ERR(REDLOCK_TIMEOUT, redlock_acquire(other, name, TTL_MS, &wait, &refused));
        CHECK_HAS(label, redlock_detail());
        info = client_query(r, name);
        CHECK_STR(redlock_value(lock), info.holder.value);
        CHECK_STR(label, info.holder.label);
        client_unlock(lock);
    }
}

CASE_ON(bad_labels,
        "Labels and tags that are not what they should be are INVAL, with the reason.",
        .nodes = 1)
{
    char long_label[REDLOCK_LABEL_MAX + 2];
    const char *const tags[] = {"", "short", TAG "x", "AZaz09_-AZaz09_-AZaz0:"};
    const char *const bad[] = {long_label, "a\nb", "\x1b[31m", "\xff",
                               "\xe2\x80\xae"
                               "exe"};
    memset(long_label, 'x', sizeof long_label - 1);
    long_label[sizeof long_label - 1] = '\0';
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        redlock_request q = REDLOCK_REQUEST(.label = bad[i]);
        CHECK_ERR(REDLOCK_INVAL, client_try_as(r, "x", TTL_MS, q));
        CHECK_HAS(i == 0 ? "64 bytes" : "printable UTF-8", redlock_detail());
    }
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        redlock_request q = REDLOCK_REQUEST(.idempotency_key = tags[i]);
        CHECK_ERR(REDLOCK_INVAL, client_try_as(r, "x", TTL_MS, q));
        CHECK_HAS("22 characters", redlock_detail());
    }
}

CASE_ON(refusals_name_the_holder,
        "BUSY and TIMEOUT name the holder and how long it has held, and may.", .clients = 2)
{
    redlock_request q = REDLOCK_REQUEST(.label = LABEL);
    redlock_lock *held = client_lock_as(r, "x", TTL_MS, q), *lock = NULL;
    const redlock_request refused[] = {
        REDLOCK_REQUEST(),
        REDLOCK_REQUEST(.flags = REDLOCK_FENCED),
        REDLOCK_REQUEST(.flags = REDLOCK_FAIR),
        REDLOCK_REQUEST(.kind = REDLOCK_SHARED),
        REDLOCK_REQUEST(.kind = REDLOCK_REENTRANT),
        REDLOCK_REQUEST(.kind = REDLOCK_SEMAPHORE, .slots = 2),
        REDLOCK_REQUEST(.more_names = (const char *[]){"a"}, .more_name_count = 1),
        REDLOCK_REQUEST(.wait_ms = 1000),
        REDLOCK_REQUEST(.wait_ms = 1000, .kind = REDLOCK_SHARED),
    };
    const redlock_report *report;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        redlock_request request = refused[i];
        int named = 0;
        CHECK_ERR(request.wait_ms ? REDLOCK_TIMEOUT : REDLOCK_BUSY,
                  redlock_acquire(other, "x", TTL_MS, &request, &lock));
        CHECK_HAS("held by " LABEL " on ", redlock_detail());
        CHECK_HAS(" s, up to ", redlock_detail());
        report = redlock_failure_report();
        CHECK_STR(LABEL, report->holder.label);
        CHECK_STR(redlock_value(held), report->holder.value);
        CHECK_BETWEEN(2, 3, report->holder.votes);
        CHECK_BETWEEN(0, 60000, report->holder.held_ms);
        CHECK_INT(0, report->holder.held_at_least);
        CHECK_BETWEEN(1, TTL_MS, report->holder.remaining_ms);
        for (int n = 0; n < 3; n++)
            named += strcmp(redlock_value(held), report->node[n].value) == 0;
        CHECK_INT(report->holder.votes, named);
    }
    client_unlock(held);

    /* Another program's value is shown as it is; how long is known from the wait only. */
    cluster_set(c, 0, 3, "redlock:x", "7f6c-theirs", TTL_MS);
    q = (redlock_request)REDLOCK_REQUEST(.wait_ms = 2000);
    CHECK_ERR(REDLOCK_TIMEOUT, redlock_acquire(other, "x", TTL_MS, &q, &lock));
    CHECK_HAS("held by another", redlock_detail());
    report = redlock_failure_report();
    CHECK_STR("7f6c-theirs", report->holder.value);
    CHECK_STR("", report->holder.label);
    CHECK_INT(1, report->holder.held_at_least);
    CHECK_BETWEEN(200, 60000, report->holder.held_ms);
}

CASE_ON(waiters,
        "A waiter knows whom it waits for, and a query reports who waits and how long.")
{
    other = client_open_warm(c, REDLOCK_THREAD);
    for (int kind = 0; redlock_kind_traits(kind); kind++) {
        redlock_request q = REDLOCK_REQUEST(.label = LABEL);
        redlock_lock *held = client_lock_as(r, "x", TTL_MS, q), *first = NULL, *second = NULL;
        redlock_info info;
        q = (redlock_request)
            REDLOCK_REQUEST(.kind = kind,
                            .slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? 1 : 0,
                            .label = "the waiter #3", .wait_ms = REDLOCK_WAIT_FOREVER);
        CHECK_OK(redlock_start_acquire(other, "x", TTL_MS, &q, &first));
        AWAIT(redlock_lock_report(first)->holder.label[0] != '\0');
        AWAIT(query(r).waiters_shown > 0);
        q.label = "the second";
        CHECK_OK(redlock_start_acquire(other, "x", TTL_MS, &q, &second));
        AWAIT(redlock_lock_report(second)->holder.label[0] !=
              '\0'); /* behind the first, in its client */
        info = query(r);
        CHECK_STR("the waiter #3", info.waiters[0].label);
        CHECK_STR(info.head, info.waiters[0].name);
        CHECK_HAS(" the waiter #3", info.head);
        CHECK_BETWEEN(0, 60000, info.waiters[0].waited_ms);
        client_unlock(held);
        EXPECT(other, ACQUIRED, REDLOCK_OK, first);
        CHECK_OK(redlock_release(first));
        EXPECT(other, ACQUIRED, REDLOCK_OK, second);
        info = query(r);
        CHECK_STR("the second", info.holder.label);
        redlock_lock_free(first);
        client_unlock(second);
        CHECK(cluster_await_empty(c)); /* no place was left behind */
    }
}

CASE_ON(leaving_with_a_label,
        "A waiter with a label leaves no place behind, canceled or too late.", .clients = 2)
{
    client_lock(r, "x", TTL_MS);
    for (int kind = 0; redlock_kind_traits(kind); kind++) {
        redlock_request q = REDLOCK_REQUEST(.kind = kind, .wait_ms = 1000, .label = LABEL);
        q.slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? 2 : 0;
        CHECK_ERR(REDLOCK_TIMEOUT, client_try_as(other, "x", TTL_MS, q));
        CHECK(cluster_await(c, "redlock.queue:x", 0));
    }
}

CASE_ON(hostile_values, "Hostile values are shown harmless: escaped, without label, and cut.")
{
    char evil[] = "0123456789012345678901234567890123456789@01a0c44f7b1 \x1b[2Jgone\n";
    redlock_info info;
    char huge[400];
    cluster_set(c, 0, 3, "redlock:x", evil, TTL_MS);
    info = query(r);
    CHECK_STR("0123456789012345678901234567890123456789@01a0c44f7b1 \\x1b[2Jgone\\x0a",
              info.holder.value);
    CHECK_STR("", info.holder.label);
    CHECK_INT(-1, info.holder.held_ms);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS));
    CHECK_HAS("held by another", redlock_detail());
    CHECK_STR(info.holder.value, redlock_failure_report()->holder.value);

    memset(huge, '\x01', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    cluster_set(c, 0, 3, "redlock:x", huge, TTL_MS);
    info = query(r);
    CHECK_INT(REDLOCK_VALUE_MAX, strlen(info.holder.value));
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", TTL_MS));
    CHECK_STR(info.holder.value, redlock_failure_report()->holder.value);

    /* A stamp of the future: its clock is ahead of ours, and at least nothing has passed. */
    cluster_set(c, 0, 3, "redlock:x", "0123456789012345678901234567890123456789@fffffffffff me",
                TTL_MS);
    info = query(r);
    CHECK_STR("me", info.holder.label);
    CHECK_INT(0, info.holder.held_ms);
    CHECK_INT(1, info.holder.held_at_least);
    /* And one of the past. */
    cluster_set(c, 0, 3, "redlock:x", "0123456789012345678901234567890123456789@00000000001 me",
                TTL_MS);
    CHECK(query(r).holder.held_ms > 1700000000000);
}

CASE_ON(many_holders,
        "A query reports the holders on most nodes first, and of these the oldest.")
{
    redlock_info info;
    for (int i = 0; i < REDLOCK_SHOWN_MAX + 4; i++) {
        char label[32];
        redlock_request q;
        snprintf(label, sizeof label, "reader %d", i);
        q = (redlock_request)REDLOCK_REQUEST(.kind = REDLOCK_SHARED, .label = label);
        client_lock_as(r, "x", TTL_MS, q);
        sleep_ms(2);
    }
    info = query(r);
    CHECK_INT(REDLOCK_SHOWN_MAX + 4, info.holder_count);
    CHECK_INT(REDLOCK_SHOWN_MAX, info.holders_shown);
    for (int i = 1; i < REDLOCK_SHOWN_MAX; i++) {
        CHECK(info.holders[i].votes <= info.holders[i - 1].votes);
        CHECK(info.holders[i].votes < info.holders[i - 1].votes ||
              info.holders[i].held_ms <= info.holders[i - 1].held_ms);
        CHECK_HAS("reader ", info.holders[i].label);
    }
}
