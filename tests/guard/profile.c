/* SPDX-License-Identifier: BSD-2-Clause */
/* The profile `correctness`: strict, with tokens, and only nodes that pass
 * the safety checks. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

/* Nodes of one set, as `redlock init` makes them. */
static void start(struct cluster *c, size_t count)
{
    redlock *r;
    cluster_start(c, count);
    r = client_open(c, 0);
    CHECK_OK(redlock_admit(r, NULL));
    client_close(r);
}

static redlock *open_correct(const struct cluster *c)
{
    redlock *r = CLIENT_OPEN(c, .profile = REDLOCK_PROFILE_CORRECTNESS);
    client_warm(r);
    return r;
}

/* The reply to an acquire that would wait for long: what waiting does not mend is
 * reported at once. */
static int acquire(redlock *r, int32_t kind)
{
    return CLIENT_TRY(r, "x", 10000, .kind = kind, .wait_ms = GIVE_UP_MS,
                      .slots = kind == REDLOCK_SEMAPHORE);
}

CASE_NODES(every_lock_has_a_token, "With correctness a lock that requests no token has one.",
           .start = start)
{
    redlock_node_info info;
    redlock_lock *lock;
    r = open_correct(c);
    lock = client_lock(r, "x", 10000);
    CHECK(redlock_fence(lock) > 0);
    client_unlock(lock);
    info = client_node(r, 0);
    CHECK_INT(REDLOCK_PROFILE_CORRECTNESS, info.profile);
    CHECK_INT(REDLOCK_REASON_NONE, info.unsafe_reason);
}

CASE_NODES(kinds_without_tokens,
           "With correctness kinds that have no token are refused, with why.", .start = start)
{
    r = open_correct(c);
    CHECK_ERR(REDLOCK_INVAL, acquire(r, REDLOCK_SHARED));
    CHECK_HAS("a shared lock has no fencing token: use a mutex", redlock_detail());
    CHECK_ERR(REDLOCK_INVAL, acquire(r, REDLOCK_SEMAPHORE));
    CHECK_OK(acquire(r, REDLOCK_REENTRANT));
}

CASE_NODES(flushed_nodes, "With correctness FLUSHALL on an open connection is noticed.",
           .start = start)
{
    r = open_correct(c);
    CHECK_OK(acquire(r, REDLOCK_MUTEX));
    for (size_t i = 0; i < 3; i++)
        server_cmd(&c->node[i], "FLUSHALL", NULL);
    CHECK_ERR(REDLOCK_GUARDED, client_try(r, "x", 10000));
}

/* Nodes that would evict locks: `count` of three. */
static void allow_eviction(struct cluster *c, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        server_cmd(&c->node[i], "CONFIG", "SET", "maxmemory-policy", "allkeys-lru", NULL);
        server_cmd(&c->node[i], "CONFIG", "SET", "maxmemory", "100mb", NULL);
    }
}

CASE_NODES(majority_is_unsafe, "With correctness a majority of unsafe nodes grants nothing.",
           .start = start)
{
    int64_t start_ms;
    allow_eviction(c, 2);
    r = open_correct(c);
    start_ms = now_ms();
    CHECK_ERR(REDLOCK_GUARDED, acquire(r, REDLOCK_MUTEX));
    CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    CHECK_INT(REDLOCK_REASON_EVICTION, redlock_failure_report()->node[0].reason);
    CHECK_HAS("safety check eviction", redlock_failure_report()->node[0].text);
    CHECK_HAS("safety check", redlock_detail());
    CHECK_INT(0, cluster_count(c, "redlock:x"));
    client_close(r);
    /* Efficiency goes on, with the warning that it always had. */
    r = client_open(c, 0);
    CHECK_OK(acquire(r, REDLOCK_MUTEX));
}

CASE_NODES(minority_is_unsafe_or_down, "With correctness a majority that passes is enough.",
           .nodes = 5, .start = start)
{
    allow_eviction(c, 1);
    server_kill(&c->node[4]);
    r = CLIENT_OPEN(c, .profile = REDLOCK_PROFILE_CORRECTNESS);
    client_warm_nodes(r, 4);
    CHECK_OK(acquire(r, REDLOCK_MUTEX));
    server_kill(&c->node[3]);
    CHECK_ERR(REDLOCK_GUARDED, client_try(r, "x", 10000));
    CHECK_HAS("1 of 5 nodes do not pass the safety checks", redlock_detail());
}

CASE_NODES(nodes_of_no_set, "With correctness nodes that were never initialised grant nothing.")
{
    r = open_correct(c);
    CHECK_ERR(REDLOCK_GUARDED, acquire(r, REDLOCK_MUTEX));
    /* Two of three decide: which node has not answered by then is open. */
    CHECK_HAS("safety check membership", redlock_detail());
}

CASE_NODES(replica_can_take_over, "With correctness a server with a replica does not count.",
           .nodes = 1)
{
    char port[16];
    struct server replica;
    server_init(&replica, NULL, NULL);
    server_launch(&replica);
    server_ready(&replica);
    snprintf(port, sizeof port, "%d", c->node[0].port.number);
    CHECK_STR("OK", server_cmd(&replica, "REPLICAOF", "127.0.0.1", port, NULL));
    while (strstr(server_cmd(&c->node[0], "INFO", "replication", NULL), "state=online") == NULL)
        sleep_ms(10);
    r = client_open(c, 0);
    CHECK_OK(redlock_admit(r, NULL));
    client_close(r);
    r = open_correct(c);
    CHECK_ERR(REDLOCK_GUARDED, acquire(r, REDLOCK_MUTEX));
    CHECK_INT(REDLOCK_REASON_FAILOVER, redlock_failure_report()->node[0].reason);
}

CASE_NODES(audit_tells_the_profile, "An audit fails for the profile if too few nodes pass.",
           .start = start)
{
    redlock_answer *answer = NULL;
    bool found = false;
    allow_eviction(c, 2);
    r = open_correct(c);
    CHECK_OK(redlock_audit(r, 10000, &answer));
    for (size_t i = 0; i < answer->check_count; i++) {
        const redlock_check *check = &answer->checks[i];
        if (strcmp(check->name, "profile") != 0)
            continue;
        found = true;
        CHECK_INT(REDLOCK_CHECK_FAIL, check->verdict);
        CHECK_HAS("correctness; 1 of 3 nodes pass the safety checks", check->text);
    }
    CHECK(found);
    redlock_answer_free(answer);
}

CASE(profiles_refused, "A profile that is none, and correctness without a guard, are INVAL.")
{
    const char *node = "127.0.0.1:1";
    redlock_options o = REDLOCK_OPTIONS(.nodes = &node, .node_count = 1, .profile = 3);
    redlock *r = NULL;
    CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
    o.profile = REDLOCK_PROFILE_CORRECTNESS;
    o.flags = REDLOCK_NO_GUARD;
    CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
    CHECK_HAS("exclude each other", redlock_detail());
    CHECK_INT(REDLOCK_PROFILE_CORRECTNESS, redlock_profile_number("correctness"));
    CHECK_INT(-1, redlock_profile_number("speed"));
    CHECK_INT(-1, redlock_profile_number(NULL));
    CHECK_STR("efficiency", redlock_profile_text(0));
}
