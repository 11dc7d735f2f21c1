/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bad input to an open client: each mistake is INVAL with a sentence of its own, out-parameters
 * stay untouched, and nothing is sent.
 */
#include "fixture.h"
#include "invalid.h"

#include <stdlib.h>
#include <string.h>

static redlock_lock *const untouched_lock = (redlock_lock *)(uintptr_t)0x5a5a;
static redlock_answer *const untouched_answer = (redlock_answer *)(uintptr_t)0x5a5a;

/* Every case has a warm client, and servers that have forgotten what they saw of it. */
static struct cluster c;
static redlock *r;

static void begin(void)
{
    r = client_start(&c, 3, 0);
    for (int i = 0; i < 3; i++)
        server_forget_commands(&c.node[i]);
}

CASES_BEGIN_WITH(begin);

static void check_nothing_sent(void)
{
    CHECK(next_event(r, 20) == NULL);
    for (size_t i = 0; i < c.count; i++)
        CHECK_STR("", server_commands(&c.node[i]));
}

/* The keys that stand beside locks, cut into prefix and name in every way. */
CASE(reserved_keys, "A prefix and a name that together begin with \"redlock.\" are refused.")
{
    static const char *const keys[] = {"redlock.admit", "redlock.queue:x", "redlock.fence:x",
                                       "redlock.anything", "redlock."};
    redlock *other;
    redlock_options o = client_options(&c);
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        for (size_t cut = 0; cut < strlen("redlock."); cut++) {
            char prefix[16] = "";
            const char *name = keys[k] + cut;
            const char *more[] = {name};
            redlock_lock *lock = untouched_lock;
            redlock_request q = REDLOCK_REQUEST(.more_names = more, .more_name_count = 1);
            memcpy(prefix, keys[k], cut);
            o.prefix = prefix;
            other = client_open_with(&o);
            INVALID(redlock_acquire(other, name, 1000, NULL, &lock));
            INVALID_TOO(redlock_acquire(other, "fine", 1000, &q, &lock));
            INVALID_TOO(redlock_adopt(other, name, "value", NULL, &lock));
            INVALID_TOO(redlock_query(other, name, NULL));
            CHECK_INT(REDLOCK_INVAL, redlock_quorum_of(other, name));
            CHECK(lock == untouched_lock);
            CHECK_HAS("redlock.*", redlock_detail());
            client_close(other);
        }
    }
    for (int i = 0; i < 3; i++)
        CHECK_INT(0, server_keys(&c.node[i]));
    /* What only resembles them is a name like any other. */
    o.prefix = "";
    other = client_open_with(&o);
    CHECK_OK(client_try(other, "redlock", 10000));
    CHECK_OK(client_try(other, "redlock:x", 10000));
    CHECK_OK(client_try(other, "redlockx.admit", 10000));
}

CASE(bad_names, "Names that are missing, empty or too long are refused.")
{
    redlock_lock *lock = untouched_lock;
    redlock_answer *answer = untouched_answer;
    char *too_long = calloc(1, REDLOCK_NAME_MAX + 2);
    memset(too_long, 'n', REDLOCK_NAME_MAX + 1);
    INVALID(redlock_acquire(r, NULL, 1000, NULL, &lock));
    INVALID(redlock_acquire(r, "", 1000, NULL, &lock));
    INVALID(redlock_acquire(r, too_long, 1000, NULL, &lock));
    INVALID_TOO(redlock_start_acquire(r, too_long, 1000, NULL, &lock));
    INVALID_TOO(redlock_query(r, "", &answer));
    INVALID_TOO(redlock_query(r, NULL, &answer));
    INVALID_TOO(redlock_query(r, too_long, &answer));
    free(too_long);
    CHECK(lock == untouched_lock && answer == untouched_answer);
    check_nothing_sent();
}

CASE(bad_ttls, "TTLs of zero, negative, too short, too long and absurd are refused.")
{
    static const int64_t ttls_ms[] = {
        0,         -1,        REDLOCK_TTL_MIN_MS - 1, 60001, 86400001,
        INT64_MAX, INT64_MIN, INT64_MAX / 1000000 + 1};
    redlock_lock *lock = untouched_lock;
    for (size_t i = 0; i < sizeof ttls_ms / sizeof ttls_ms[0]; i++) {
        CHECK_ERR(REDLOCK_INVAL, redlock_acquire(r, "x", ttls_ms[i], NULL, &lock));
        invalid_expect_new_detail("ttl");
    }
    CHECK(lock == untouched_lock);
    check_nothing_sent();
}

CASE(shortest_ttl, "The shortest and the longest allowed TTL are accepted.")
{
    redlock_lock *lock = NULL;
    /* 10 ms may well be over before the votes are in. */
    int error = redlock_acquire(r, "x", REDLOCK_TTL_MIN_MS, NULL, &lock);
    CHECK(error == REDLOCK_OK || error == REDLOCK_NOQUORUM);
    redlock_lock_free(lock);
    client_unlock(client_lock(r, "y", 60000));
}

CASE(bad_requests, "Requests with impossible fields are refused one by one.")
{
    redlock_lock *lock = untouched_lock;
    redlock_request q = REDLOCK_REQUEST();
    INVALID(redlock_acquire(NULL, "x", 1000, NULL, &lock));
    INVALID(redlock_acquire(r, "x", 1000, NULL, NULL));
    q.size = 0;
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request)REDLOCK_REQUEST(.kind = 7);
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request)REDLOCK_REQUEST(.flags = 0x40);
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request)REDLOCK_REQUEST(.wait_ms = -2);
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request)REDLOCK_REQUEST(.wait_ms = REDLOCK_WAIT_MAX_MS + 1);
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request)REDLOCK_REQUEST(.wait_ms = INT64_MAX);
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request)REDLOCK_REQUEST(.wait_ms = INT64_MIN);
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request)REDLOCK_REQUEST(.max_hold_ms = -1);
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    INVALID_TOO(redlock_start_acquire(r, "x", 1000, &q, &lock));
    INVALID_TOO(redlock_start_acquire(r, "x", 1000, NULL, NULL));
    CHECK(lock == untouched_lock);
    check_nothing_sent();
}

CASE(bad_handles, "NULL handles, bad values and missing out-parameters are refused.")
{
    redlock_lock *lock = untouched_lock;
    redlock_answer *answer = untouched_answer;
    const redlock_event *event = NULL;
    char long_value[REDLOCK_VALUE_MAX + 2];
    redlock_node_info info = REDLOCK_NODE_INFO();
    memset(long_value, 'v', sizeof long_value - 1);
    long_value[sizeof long_value - 1] = '\0';
    INVALID_TOO(redlock_release(NULL));
    INVALID_TOO(redlock_extend(NULL, 1000));
    INVALID_TOO(redlock_cancel(NULL));
    INVALID_TOO(redlock_start_release(NULL));
    INVALID_TOO(redlock_start_extend(NULL, 1000));
    CHECK(redlock_lock_report(NULL) == NULL);
    INVALID_TOO(redlock_next(NULL, &event, 0));
    INVALID_TOO(redlock_next(r, NULL, 0));
    INVALID_TOO(redlock_fd(NULL));
    INVALID_TOO(redlock_ping(NULL, &answer));
    INVALID_TOO(redlock_node(NULL, 0, NULL));
    CHECK_INT(0, redlock_remaining_ms(NULL));
    CHECK_INT(0, redlock_deadline_ns(NULL));
    INVALID_TOO(redlock_state(NULL));
    CHECK_INT(0, redlock_fence(NULL));
    INVALID_TOO(redlock_admit(NULL, &answer));
    INVALID_TOO(redlock_audit(NULL, 1000, &answer));
    INVALID_TOO(redlock_audit(r, 0, &answer));
    INVALID_TOO(redlock_audit(r, 60001, &answer));
    INVALID_TOO(redlock_audit(r, INT64_MIN, &answer));
    INVALID_TOO(redlock_cancel_job(NULL, 1));
    INVALID_TOO(redlock_cancel_job(r, 0));
    INVALID_TOO(redlock_cancel_job(r, 1));
    INVALID_TOO(redlock_adopt(r, "x", NULL, NULL, &lock));
    INVALID_TOO(redlock_adopt(r, "x", "", NULL, &lock));
    INVALID_TOO(redlock_adopt(r, "x", long_value, NULL, &lock));
    INVALID_TOO(redlock_adopt(r, "", "v", NULL, &lock));
    INVALID_TOO(redlock_adopt(r, "x", "v", NULL, NULL));
    CHECK(lock == untouched_lock);
    INVALID_TOO(redlock_node(r, 3, &info));
    info.size = 1;
    INVALID_TOO(redlock_node(r, 0, &info));
    CHECK(answer == untouched_answer && event == NULL);
    check_nothing_sent();
}

CASE(bad_extensions, "Extending by an impossible TTL is refused and changes nothing.")
{
    redlock_lock *lock = client_lock_on(r, &c, 3, "x", 20000);
    for (int i = 0; i < 3; i++)
        server_forget_commands(&c.node[i]);
    INVALID(redlock_extend(lock, 0));
    INVALID(redlock_extend(lock, -1));
    INVALID(redlock_extend(lock, 60001));
    INVALID_TOO(redlock_extend(lock, INT64_MAX));
    INVALID_TOO(redlock_start_extend(lock, 0));
    CHECK(next_event(r, 20) == NULL);
    for (int i = 0; i < 3; i++)
        CHECK_STR("", server_commands(&c.node[i]));
    CHECK(redlock_remaining_ms(lock) > 0);
}
