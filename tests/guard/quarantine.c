/* SPDX-License-Identifier: BSD-2-Clause */
/* Young nodes: the error that says so, the wait that ends it, and the operator's word (G5). */
#include "fixture.h"
#include "kinds.h"

enum { GUARD_MARGIN_MS = 2000, SHORT_TTL_MS = 2000 };

CASE_ON(young_is_guarded,
        "An acquire on nodes just started is GUARDED at once, with the wait and the remedy.",
        .young = true)
{
    int64_t start_ms = now_ms();
    CHECK_ERR(REDLOCK_GUARDED, client_try(r, "x", 10000));
    CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    CHECK_HAS("may have forgotten locks", redlock_detail());
    CHECK_HAS("redlock_admit(), or init of redlock(1)", redlock_detail());
    CHECK_HAS("62 s", redlock_detail()); /* max_ttl and two seconds */
    CHECK(report_votes(redlock_failure_report(), REDLOCK_VOTE_GUARDED) >= 2);
    CHECK(cluster_await_empty(c)); /* rolled back there too */
    for (size_t i = 0; i < 3; i++) {
        redlock_node_info info = client_node(r, i);
        CHECK_INT(1, info.quarantined);
        CHECK_INT(REDLOCK_REASON_YOUNG, info.reason);
        CHECK_BETWEEN(30000, 62000, info.quarantine_ms);
        CHECK_HAS("restarted", info.text);
    }
}

CASE_NODES(young_minority, "One young node of three is outvoted and delays no acquire.")
{
    redlock_lock *lock;
    server_restart(&c->node[1]);
    r = client_open_warm(c, 0);
    lock = client_lock(r, "x", 10000);
    sleep_ms(20);
    drain(r);
    CHECK_INT(0, redlock_margin(lock)); /* its key is there, and does not count */
}

static redlock_options short_options(const struct cluster *c, uint32_t flags)
{
    redlock_options o = client_options(c);
    o.max_ttl_ms = SHORT_TTL_MS;
    o.flags = flags;
    return o;
}

CASE_NODES(waits_it_out, "A waiter whose wait is longer than the quarantine gets the lock.",
           .young = true, .also = {REDLOCK_THREAD, REDLOCK_STRICT})
{
    int64_t start_ms = now_ms();
    redlock_options o;
    o = short_options(c, flags);
    r = client_open_with(&o);
    CHECK_ERR(REDLOCK_GUARDED, client_try(r, "x", SHORT_TTL_MS));
    CLIENT_LOCK(r, "x", SHORT_TTL_MS, .wait_ms = GIVE_UP_MS);
    CHECK(now_ms() - start_ms >= SHORT_TTL_MS + GUARD_MARGIN_MS - 1000);
}

CASE_NODES(unknown_age, "Nodes that do not report their age vote after they have been watched.",
           .young = true)
{
    redlock_options o;
    int64_t start_ms;
    for (int i = 0; i < 3; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "ACL", "SETUSER", "default", "-info", NULL));
    o = short_options(c, 0);
    start_ms = now_ms();
    r = client_open_with(&o);
    CHECK_ERR(REDLOCK_GUARDED, client_try(r, "x", SHORT_TTL_MS));
    CHECK_HAS("INFO", redlock_detail());
    CLIENT_LOCK(r, "x", SHORT_TTL_MS, .wait_ms = GIVE_UP_MS);
    CHECK(now_ms() - start_ms >= SHORT_TTL_MS);
}

CASE_NODES(admit_lets_them_vote, "After redlock_admit() the nodes vote, for every client.",
           .young = true, .also = {REDLOCK_STRICT})
{
    redlock *waiting, *fresh;
    redlock_lock *lock;
    redlock_answer *answer = NULL;
    waiting = client_open_warm(c, flags);
    CHECK_ERR(REDLOCK_GUARDED, client_try(waiting, "x", 10000));
    r = client_open_warm(c, flags);
    CHECK_OK(redlock_admit(r, &answer));
    CHECK_INT(3, report_votes(answer->report, REDLOCK_VOTE_GRANTED));
    redlock_answer_free(answer);
    CHECK_OK(client_try(r, "x", 10000));
    /* Others: those that come now, and those that were already there. */
    fresh = client_open(c, flags);
    CHECK_OK(client_try(fresh, "x", 10000));
    lock = CLIENT_LOCK(waiting, "x", 10000, .wait_ms = 5000);
    client_unlock(lock);
    for (int i = 0; i < 3; i++) {
        CHECK_STR("hash", server_cmd(&c->node[i], "TYPE", "redlock.admit", NULL));
        CHECK_STR("60000", server_cmd(&c->node[i], "HGET", "redlock.admit", "max_ttl", NULL));
        CHECK_INT(-1, server_int(&c->node[i], "PTTL", "redlock.admit", NULL));
    }
}

CASE(admit_is_per_incarnation, "The marker of a former incarnation admits no node.")
{
    static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "always",
                                          NULL};
    struct cluster c;
    redlock *r;
    cluster_start_as(&c, 1, &(struct cluster_form){.extra = durable, .young = true});
    r = client_open_warm(&c, 0);
    CHECK_OK(redlock_admit(r, NULL));
    CHECK_OK(client_try(r, "x", 10000));
    server_restart(&c.node[0]);
    CHECK_INT(1, server_int(&c.node[0], "EXISTS", "redlock.admit", NULL)); /* it survived */
    CHECK_ERR(REDLOCK_GUARDED, CLIENT_TRY(r, "x", 10000, .wait_ms = 1500));
}

CASE_NODES(admit_says_who_did_not,
           "redlock_admit() with a node away is NOQUORUM, and the report names the node.",
           .young = true)
{
    for (int i = 0; i < 3; i++) /* that they are a set is known */
        CHECK_INT(1, server_int(&c->node[i], "HSET", "redlock.admit", "set",
                                "0123456789abcdef:0000000000000000/3", NULL));
    server_kill(&c->node[1]);
    r = CLIENT_OPEN(c, .node_timeout_ms = 500);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_admit(r, NULL));
    CHECK_INT(REDLOCK_VOTE_REFUSED, redlock_failure_report()->node[1].vote);
    CHECK_INT(2, report_votes(redlock_failure_report(), REDLOCK_VOTE_GRANTED));
    CHECK_OK(client_try(r, "x", 10000)); /* those that took it do vote */
}

CASE_NODES(strict_enforces_max_ttl,
           "In strict mode the nodes refuse a TTL beyond their max_ttl.", .max_ttl_ms = "2000")
{
    r = client_open_warm(c, REDLOCK_STRICT); /* its own max_ttl is a minute */
    CHECK_OK(client_try(r, "x", 2000));
    CHECK_ERR(REDLOCK_INVAL, client_try(r, "x", 2001)); /* waiting would not help */
    CHECK_HAS("max_ttl", redlock_detail());
    CHECK(cluster_await_empty(c));
}

CASE(every_mode_enforces_max_ttl,
     "In every mode, fenced or not, a TTL beyond the nodes' max_ttl is refused for every kind.")
{
    static const uint32_t modes[] = {0, REDLOCK_NO_GUARD, REDLOCK_STRICT};
    struct cluster c;
    cluster_start_as(&c, 3, &(struct cluster_form){.max_ttl_ms = "2000"});
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        redlock *r = client_open_warm(&c, modes[m]);
        FOR_SHAPES(shape)
        {
            CHECK_OK(client_try_as(r, "x", 2000, shape_request(shape)));
            CHECK_REFUSED(REDLOCK_INVAL, client_try_as(r, "x", 2001, shape_request(shape)));
            CHECK_HAS("max_ttl", redlock_detail());
        }
        CHECK(kind_await_clean(&c));
        client_close(r);
    }
}

CASE_ON(no_guard_trusts,
        "With REDLOCK_NO_GUARD young nodes vote, and no node is in quarantine.", .young = true,
        .flags = REDLOCK_NO_GUARD)
{
    CHECK_OK(client_try(r, "x", 10000));
    CHECK_INT(0, client_node(r, 0).quarantined);
}
