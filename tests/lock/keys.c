/* SPDX-License-Identifier: BSD-2-Clause */
/* What other programs see: the plain string key of the specification, with a PX expiry. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

CASE_ON(plain_string_key, "The key is a string of 40 hex digits that expires with the TTL.",
        .nodes = 5)
{
    redlock_lock *lock = client_lock(r, "nightly report", 30000);
    CHECK(cluster_await(c, "redlock:nightly report", 5));
    for (int i = 0; i < 5; i++) {
        const struct server *s = &c->node[i];
        const char *value;
        CHECK_STR("string", server_cmd(s, "TYPE", "redlock:nightly report", NULL));
        value = server_cmd(s, "GET", "redlock:nightly report", NULL);
        CHECK_STR(redlock_value(lock), value);
        CHECK_INT(40, strlen(value));
        CHECK_INT(40, strspn(value, "0123456789abcdef"));
        CHECK_BETWEEN(30000 - SOON_MS, 30000,
                      server_int(s, "PTTL", "redlock:nightly report", NULL));
        CHECK_INT(1, server_keys(s)); /* nothing beside it */
    }
    CHECK_STR("nightly report", redlock_name(lock));
    client_unlock(lock);
    CHECK(cluster_await_empty(c));
}

CASE_ON(validity_is_ttl_less_drift,
        "The validity is the TTL less drift, and ends before every key expires.")
{
    redlock_lock *lock = client_lock(r, "x", LONG_TTL_MS);
    int64_t most_ms = LONG_TTL_MS - LONG_TTL_MS / 100 - 2;
    int64_t left_ms, told_ms, later_ms;
    CHECK_BETWEEN(most_ms - SOON_MS, most_ms, redlock_remaining_ms(lock));
    CHECK(cluster_await(c, "redlock:x", 3));
    for (int i = 0; i < 3; i++) {
        int64_t key_ms = server_int(&c->node[i], "PTTL", "redlock:x", NULL);
        CHECK(key_ms > redlock_remaining_ms(lock));
    }
    left_ms = (redlock_deadline_ns(lock) - now_ns()) / RL_NS_PER_MS;
    told_ms = redlock_remaining_ms(lock);
    later_ms = (redlock_deadline_ns(lock) - now_ns()) / RL_NS_PER_MS;
    CHECK_BETWEEN(later_ms - 1, left_ms + 1, told_ms);
}

CASE_NODES(empty_prefix, "With an empty prefix the key is the name, as other clients write it.")
{
    redlock_lock *lock;
    r = CLIENT_OPEN(c, .prefix = "");
    client_warm(r);
    lock = client_lock(r, "resource", 10000);
    CHECK(cluster_await(c, "resource", 3));
    CHECK_INT(3, cluster_count_value(c, "resource", redlock_value(lock)));
}

CASE_NODES(own_prefix, "Two applications with different prefixes do not share a lock.")
{
    redlock_options o = client_options(c);
    redlock *a, *b;
    o.prefix = "app1:";
    a = client_open_with(&o);
    o.prefix = "app2:";
    b = client_open_with(&o);
    client_warm(a);
    client_warm(b);
    client_lock(a, "x", 10000);
    client_lock(b, "x", 10000);
    CHECK(cluster_await(c, "app1:x", 3));
    CHECK(cluster_await(c, "app2:x", 3));
}

CASE_ON(key_set_by_hand_is_respected,
        "A key that another program set with SET NX is a lock held by another.", .nodes = 5)
{
    const redlock_report *report;
    for (int i = 0; i < 3; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "SET", "redlock:x", "by hand", "NX", "PX",
                                   "15000", NULL));
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
    report = redlock_failure_report();
    CHECK_INT(3, report_votes(report, REDLOCK_VOTE_TAKEN));
    for (int i = 0; i < 3; i++) {
        CHECK_INT(REDLOCK_VOTE_TAKEN, report->node[i].vote);
        CHECK_BETWEEN(10000, 15000, report->node[i].key_remaining_ms);
    }
    CHECK_INT(3, cluster_count_value(c, "redlock:x", "by hand"));
    CHECK(cluster_await(c, "redlock:x", 3)); /* ours are gone from the other two */
}

CASE_ON(key_without_expiry, "A key without expiry is respected; its remaining time is unknown.")
{
    for (int i = 0; i < 3; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "SET", "redlock:x", "for ever", NULL));
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
    CHECK(report_votes(redlock_failure_report(), REDLOCK_VOTE_TAKEN) >= 2);
    CHECK_INT(-1, redlock_failure_report()->node[0].key_remaining_ms);
}

CASE_ON(key_of_another_type, "A key of another type is respected and survives.")
{
    for (int i = 0; i < 3; i++)
        server_cmd(&c->node[i], "HSET", "redlock:x", "f", "v", NULL);
    CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
    for (int i = 0; i < 3; i++)
        CHECK_STR("hash", server_cmd(&c->node[i], "TYPE", "redlock:x", NULL));
}

CASE_ON(minority_by_hand_is_outvoted,
        "Keys of another on two of five nodes do not stop an acquire.", .nodes = 5)
{
    redlock_lock *lock;
    cluster_set(c, 0, 2, "redlock:x", "another", 15000);
    lock = client_lock_on(r, c, 5, "x", 10000);
    CHECK_INT(3, cluster_count_value(c, "redlock:x", redlock_value(lock)));
    CHECK_INT(0, redlock_margin(lock));
    client_unlock(lock);
    CHECK(cluster_await(c, "redlock:x", 2));
    CHECK_INT(2, cluster_count_value(c, "redlock:x", "another"));
}

CASE_ON(deleted_by_hand_is_expired,
        "Releasing a lock whose key was deleted on a majority is EXPIRED.", .nodes = 5)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 20000);
    const redlock_report *report;
    cluster_del(c, 1, 3, "redlock:x");
    CHECK_ERR(REDLOCK_EXPIRED, redlock_release(lock));
    report = redlock_lock_report(lock);
    CHECK(report_votes(report, REDLOCK_VOTE_MISSING) >= 3);
    redlock_lock_free(lock);
    CHECK(cluster_await_empty(c));
}

CASE_ON(deleted_on_a_minority, "Releasing a lock whose key was deleted on a minority is OK.",
        .nodes = 5)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 20000);
    cluster_del(c, 0, 2, "redlock:x");
    CHECK_OK(redlock_release(lock));
    redlock_lock_free(lock);
    CHECK(cluster_await_empty(c));
}

CASE_ON(replaced_by_hand_is_lost,
        "Releasing a lock whose key was replaced on a majority is LOST and deletes nothing.",
        .nodes = 5)
{
    redlock_lock *lock = client_lock_on(r, c, 5, "x", 20000);
    cluster_set(c, 2, 3, "redlock:x", "another", 15000);
    CHECK_ERR(REDLOCK_LOST, redlock_release(lock));
    redlock_lock_free(lock);
    CHECK(cluster_await(c, "redlock:x", 3));
    CHECK_INT(3, cluster_count_value(c, "redlock:x", "another"));
}

CASE_ON(replaced_by_another_type,
        "A release does not delete a key of another type under its name.")
{
    redlock_lock *lock = client_lock_on(r, c, 3, "x", 20000);
    cluster_del(c, 0, 3, "redlock:x");
    for (int i = 0; i < 3; i++)
        server_cmd(&c->node[i], "HSET", "redlock:x", "f", "v", NULL);
    CHECK(redlock_extend(lock, 20000) != REDLOCK_OK);
    CHECK(redlock_release(lock) != REDLOCK_OK);
    redlock_lock_free(lock);
    for (int i = 0; i < 3; i++)
        CHECK_STR("hash", server_cmd(&c->node[i], "TYPE", "redlock:x", NULL));
}

CASE_ON(names_are_bytes,
        "Names with spaces, quotes, line ends and bytes above 127 become keys unchanged.")
{
    static const char *const names[] = {"a b", "\"q\"'",  "line\r\nend", "\xc3\xa4\xff",
                                        "*1",  "$-1\r\n", "%s%n",        "{tag}x"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char key[64];
        redlock_lock *lock;
        snprintf(key, sizeof key, "redlock:%s", names[i]);
        lock = client_lock(r, names[i], 10000);
        CHECK(cluster_await(c, key, 3));
        CHECK_STR(names[i], redlock_name(lock));
        client_unlock(lock);
        CHECK(cluster_await_empty(c));
    }
}

CASE_ON(longest_name, "The longest name becomes its key exactly.")
{
    char name[REDLOCK_NAME_MAX + 1] = "", key[REDLOCK_NAME_MAX + 16] = "redlock:";
    redlock_lock *lock;
    memset(name, 'n', REDLOCK_NAME_MAX);
    memset(key + 8, 'n', REDLOCK_NAME_MAX);
    key[8 + REDLOCK_NAME_MAX] = '\0';
    lock = client_lock(r, name, 10000);
    CHECK(cluster_await(c, key, 3));
    CHECK_INT(REDLOCK_NAME_MAX, strlen(redlock_name(lock)));
}

CASE_ON(query_tells_the_holder, "redlock_query finds the holder, its votes and remaining time.",
        .nodes = 5)
{
    redlock_answer *answer = NULL;
    redlock_info info = client_query(r, "x");
    redlock_lock *lock;
    CHECK_INT(0, info.held);
    CHECK_INT(0, info.holder.votes);
    CHECK_STR("", info.holder.value);
    lock = client_lock_on(r, c, 5, "x", 20000);
    cluster_set(c, 4, 1, "redlock:x", "another", 3000);
    CHECK_OK(redlock_query(r, "x", &answer));
    info = *answer->info;
    CHECK_INT(1, info.held);
    CHECK_STR(redlock_value(lock), info.holder.value);
    CHECK_BETWEEN(3, 4, info.holder.votes);
    CHECK_BETWEEN(15000, 20000, info.holder.remaining_ms);
    for (int i = 0; i < 5; i++) {
        const redlock_node_report *node = &answer->report->node[i];
        if (node->vote == REDLOCK_VOTE_TAKEN)
            CHECK_STR(i == 4 ? "another" : redlock_value(lock), node->value);
    }
    redlock_answer_free(answer);
    client_unlock(lock);
    CHECK(cluster_await(c, "redlock:x", 1));
    CHECK_INT(0, client_query(r, "x").held);
}
