/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a node compares and acts: by script, reloaded when it was forgotten, or by a
 * native command where the server has one. The native ones are tested on a fake server, since
 * the installed one may have none.
 */
#include "fake.h"
#include "fixture.h"

#include <stdio.h>
#include <string.h>

CASE_ON(flushed_scripts, "SCRIPT FLUSH between two steps does not show in the caller's result.",
        .flags = REDLOCK_THREAD)
{
    for (int i = 0; i < 5; i++) {
        redlock_lock *lock = client_lock_on(r, c, 3, "x", 20000);
        for (int n = 0; n < 3; n++)
            CHECK_STR("OK", server_cmd(&c->node[n], "SCRIPT", "FLUSH", NULL));
        CHECK_OK(redlock_extend(lock, 30000));
        /* Node 0 may be the straggler. */
        AWAIT(server_int(&c->node[0], "PTTL", "redlock:x", NULL) >= 25000);
        for (int n = 0; n < 3; n++)
            CHECK_STR("OK", server_cmd(&c->node[n], "SCRIPT", "FLUSH", NULL));
        client_unlock(lock);
        CHECK(cluster_await_empty(c));
    }
}

CASE_ON(flushed_before_rollback, "A rollback works on a node that forgot the script.",
        .nodes = 5, .flags = REDLOCK_THREAD)
{
    for (int i = 0; i < 5; i++) {
        cluster_set(c, 0, 3, "redlock:x", "another", 20000);
        for (int n = 0; n < 5; n++)
            server_cmd(&c->node[n], "SCRIPT", "FLUSH", NULL);
        CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 20000));
        CHECK(cluster_await(c, "redlock:x", 3));
        CHECK_INT(3, cluster_count_value(c, "redlock:x", "another"));
    }
}

/* Not running yet: a case says what they can do, and runs them. */
static struct bench {
    struct fake fake[3];
    const char *urls[3];
} b;

static void bench_init(void)
{
    for (int i = 0; i < 3; i++) {
        fake_init(&b.fake[i]);
        b.urls[i] = b.fake[i].url;
    }
}

CASES_BEGIN_WITH(bench_init);

static void bench_run(void)
{
    for (int i = 0; i < 3; i++)
        fake_run(&b.fake[i]);
}

static redlock *bench_open(uint32_t flags)
{
    redlock_options o = REDLOCK_OPTIONS(.nodes = b.urls, .node_count = 3, .flags = flags,
                                        .node_timeout_ms = PATIENT_MS);
    return client_open_with(&o);
}

/* Acquire, extend twice, release; and a failed attempt, whose rollback must not hurt. */
static void whole_life(uint32_t flags)
{
    redlock *r = bench_open(flags);
    client_warm(r);
    for (int i = 0; i < 3; i++) {
        redlock_lock *lock = client_lock(r, "x", 20000);
        CHECK_OK(redlock_extend(lock, 20000));
        CHECK_OK(redlock_extend(lock, 30000));
        CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 20000));
        CHECK_OK(redlock_extend(lock, 30000)); /* still ours after the rival's rollback */
        CHECK_OK(redlock_release(lock));
        redlock_lock_free(lock);
        CHECK_OK(client_try(r, "x", 20000));
    }
    client_warm(r); /* every reply is in */
    client_close(r);
}

/* How often records begin with `head` and name our keys (probes name other ones). */
static int uses(const struct fake *f, const char *head)
{
    int count = 0;
    for (int i = 0; (i = fake_find(f, i, head)) >= 0; i++)
        count += strstr(f->shared->record[i].text, "redlock:x") != NULL;
    return count;
}

static int uses_of_set_ifeq(const struct fake *f)
{
    int count = 0;
    for (int i = 0; (i = fake_find_with(f, i, "SET redlock:x ", " IFEQ ")) >= 0; i++)
        count++;
    return count;
}

/* A bare `DELEX key` deletes whatever is there. */
static void check_no_bare_delex(void)
{
    for (int n = 0; n < 3; n++)
        for (int i = 0; (i = fake_find(&b.fake[n], i, "DELEX")) >= 0; i++) {
            const struct fake_record *r = &b.fake[n].shared->record[i];
            CHECK_HAS(" IFEQ ", r->text);
            CHECK_INT(4, r->argc);
        }
}

static bool is_native(uint32_t flags)
{
    redlock *r = bench_open(flags);
    redlock_node_info info = REDLOCK_NODE_INFO();
    client_warm(r);
    CHECK_OK(redlock_node(r, 0, &info));
    client_close(r);
    return info.native == 1;
}

CASE(no_native_commands, "A server without native commands gets scripts and nothing else.")
{
    bench_run();
    whole_life(0);
    for (int n = 0; n < 3; n++) {
        CHECK(uses(&b.fake[n], "EVALSHA") >= 9);
        CHECK_INT(0, uses(&b.fake[n], "DELIFEQ"));
        CHECK_INT(0, uses(&b.fake[n], "DELEX"));
        CHECK_INT(0, uses_of_set_ifeq(&b.fake[n]));
        CHECK_INT(0, uses(&b.fake[n], "DEL "));
    }
    check_no_bare_delex();
    CHECK(!is_native(0));
}

CASE(native_delifeq, "DELIFEQ and SET IFEQ are used where they exist (Valkey 9).")
{
    for (int n = 0; n < 3; n++) {
        b.fake[n].shared->delifeq = FAKE_PRESENT;
        b.fake[n].shared->set_ifeq = FAKE_PRESENT;
        snprintf(b.fake[n].shared->version_line, 64, "valkey_version:9.0.0");
    }
    bench_run();
    whole_life(0);
    for (int n = 0; n < 3; n++) {
        CHECK(uses(&b.fake[n], "DELIFEQ redlock:x ") >= 6);
        CHECK(uses_of_set_ifeq(&b.fake[n]) >= 6);
        CHECK_INT(0, uses(&b.fake[n], "DELEX"));
    }
    CHECK(is_native(0));
}

CASE(native_delex, "DELEX IFEQ is used where it exists (Redis 8.4), never without IFEQ.")
{
    for (int n = 0; n < 3; n++) {
        b.fake[n].shared->delex = FAKE_PRESENT;
        b.fake[n].shared->set_ifeq = FAKE_PRESENT;
        snprintf(b.fake[n].shared->version_line, 64, "redis_version:8.4.0");
    }
    bench_run();
    whole_life(0);
    for (int n = 0; n < 3; n++) {
        CHECK(uses(&b.fake[n], "DELEX redlock:x IFEQ ") >= 6);
        CHECK(uses_of_set_ifeq(&b.fake[n]) >= 6);
        CHECK_INT(0, uses(&b.fake[n], "DELIFEQ"));
    }
    check_no_bare_delex();
    CHECK(is_native(0));
}

CASE(native_renewal_only, "SET IFEQ alone (Valkey 8.1) renews; the delete is by script.")
{
    for (int n = 0; n < 3; n++)
        b.fake[n].shared->set_ifeq = FAKE_PRESENT;
    bench_run();
    whole_life(0);
    for (int n = 0; n < 3; n++) {
        CHECK(uses_of_set_ifeq(&b.fake[n]) >= 6);
        CHECK(uses(&b.fake[n], "EVALSHA") >= 6);
    }
}

/* SET IFEQ PX replaces the expiry: a shorter extension must go another way. */
static void check_key_times(const redlock_report *report)
{
    for (int n = 0; n < 3; n++)
        if (report->node[n].vote == REDLOCK_VOTE_TAKEN && report->node[n].key_remaining_ms >= 0)
            CHECK_BETWEEN(25000, 30000, report->node[n].key_remaining_ms);
}

CASE(native_never_shortens, "With native commands a shorter extension shortens nothing.")
{
    redlock *r;
    redlock_lock *lock, *rival = NULL, *adopted = NULL;
    int64_t deadline_ns;
    for (int n = 0; n < 3; n++) {
        b.fake[n].shared->delifeq = FAKE_PRESENT;
        b.fake[n].shared->set_ifeq = FAKE_PRESENT;
    }
    bench_run();
    r = bench_open(0);
    client_warm(r);
    lock = client_lock(r, "x", 30000);
    deadline_ns = redlock_deadline_ns(lock);
    CHECK_OK(redlock_extend(lock, 2000));
    CHECK(redlock_deadline_ns(lock) >= deadline_ns);
    /* A rival gets how long the key still lives. */
    CHECK_ERR(REDLOCK_BUSY, redlock_acquire(r, "x", 10000, NULL, &rival));
    check_key_times(redlock_failure_report());
    client_unlock(lock);

    /* An adopted lock may have any TTL already: nothing is known that it may not shorten. */
    lock = client_lock(r, "x", 30000);
    CHECK_OK(redlock_adopt(r, "x", redlock_value(lock), NULL, &adopted));
    CHECK_OK(redlock_extend(adopted, 2000));
    CHECK_ERR(REDLOCK_BUSY, redlock_acquire(r, "x", 10000, NULL, &rival));
    check_key_times(redlock_failure_report());
    redlock_lock_free(adopted);
    redlock_lock_free(lock);
}

CASE(native_refused_by_rights, "Native commands that the user has no right to are not used.")
{
    for (int n = 0; n < 3; n++) {
        b.fake[n].shared->delifeq = FAKE_DENIED;
        b.fake[n].shared->delex = FAKE_DENIED;
    }
    bench_run();
    whole_life(0);
    for (int n = 0; n < 3; n++) {
        /* Not even to find out: a server notes in its ACL log what it refuses. */
        CHECK_INT(-1, fake_find(&b.fake[n], 0, "DELIFEQ"));
        CHECK_INT(-1, fake_find(&b.fake[n], 0, "DELEX"));
    }
}

CASE(no_native_flag, "REDLOCK_NO_NATIVE uses scripts where the server has native commands.")
{
    for (int n = 0; n < 3; n++) {
        b.fake[n].shared->delifeq = FAKE_PRESENT;
        b.fake[n].shared->delex = FAKE_PRESENT;
        b.fake[n].shared->set_ifeq = FAKE_PRESENT;
    }
    bench_run();
    whole_life(REDLOCK_NO_NATIVE);
    for (int n = 0; n < 3; n++) {
        CHECK_INT(-1, fake_find(&b.fake[n], 0, "DELIFEQ"));
        CHECK_INT(-1, fake_find(&b.fake[n], 0, "DELEX"));
        CHECK_INT(-1, fake_find_with(&b.fake[n], 0, " IFEQ ", ""));
        CHECK(uses(&b.fake[n], "EVALSHA") >= 9);
    }
    CHECK(!is_native(REDLOCK_NO_NATIVE));
}

CASE(mixed_servers, "Nodes with and without native commands each get the commands they have.")
{
    b.fake[0].shared->delifeq = FAKE_PRESENT;
    b.fake[1].shared->delex = FAKE_PRESENT;
    b.fake[1].shared->set_ifeq = FAKE_PRESENT;
    bench_run();
    whole_life(0);
    CHECK(uses(&b.fake[0], "DELIFEQ redlock:x ") >= 6);
    CHECK(uses(&b.fake[1], "DELEX redlock:x IFEQ ") >= 6);
    CHECK(uses(&b.fake[2], "EVALSHA") >= 9);
    check_no_bare_delex();
}

CASE(probed_per_connection, "A server that was replaced by an older one is probed anew.")
{
    redlock *r;
    redlock_lock *lock;
    for (int n = 0; n < 3; n++)
        b.fake[n].shared->delifeq = FAKE_PRESENT;
    bench_run();
    r = bench_open(0);
    client_unlock(client_lock(r, "x", 20000));
    for (int n = 0; n < 3; n++) {
        fake_stop(&b.fake[n]);
        b.fake[n].shared->delifeq = FAKE_ABSENT;
        fake_run(&b.fake[n]);
    }
    lock = CLIENT_LOCK(r, "x", 20000, .wait_ms = 5000);
    CHECK_OK(redlock_release(lock));
    redlock_lock_free(lock);
    CHECK_OK(client_try(r, "x", 20000));
}

CASE(scripts_never_kept, "A server that answers NOSCRIPT for ever gets EVAL instead.")
{
    for (int n = 0; n < 3; n++) {
        b.fake[n].shared->forgetful = 1;
        b.fake[n].shared->script_load = FAKE_DENIED;
    }
    bench_run();
    whole_life(0);
    for (int n = 0; n < 3; n++)
        CHECK(fake_find(&b.fake[n], 0, "EVAL ") >= 0);
}

CASE(scripts_forbidden, "A node that allows neither scripts nor native commands is reported.")
{
    redlock *r;
    const redlock_report *report;
    redlock_lock *lock;
    for (int n = 0; n < 3; n++) {
        b.fake[n].shared->eval = FAKE_DENIED;
        b.fake[n].shared->script_load = FAKE_DENIED;
    }
    bench_run();
    r = bench_open(0);
    lock = client_lock(r, "x", 20000);
    CHECK_ERR(REDLOCK_AUTH, redlock_release(lock));
    report = redlock_lock_report(lock);
    CHECK(report_votes(report, REDLOCK_VOTE_NOPERM) >= 2);
    CHECK_HAS("NOPERM", report->node[0].text);
}
