/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which nodes decide together (G8): clients with different nodes never both hold a lock, once
 * `redlock init` has written on the nodes which set they are.
 */
#include "fixture.h"
#include "proxy.h"
#include "set_nodes.h"

#include <stdio.h>
#include <string.h>

enum { TTL_MS = 10000 };

CASE_NODES(overlapping_lists, "Of n1,n2,n3 and n3,n4,n5 only the initialised nodes decide.",
           .nodes = 5, .also = {REDLOCK_STRICT})
{
    redlock *stray;
    redlock_lock *lock;
    CHECK_OK(init_nodes(c, 0, 3));
    r = open_nodes(c, 0, 3, flags);
    stray = open_nodes(c, 2, 3, flags);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(stray, "x", TTL_MS));
    CHECK_HAS("belongs to no set of nodes", redlock_detail());
    CHECK_HAS("Give all clients the same nodes", redlock_detail());
    CHECK_HAS("redlock_admit()", redlock_detail());
    lock = client_lock(r, "x", TTL_MS);
    CHECK_NEVER(client_try(stray, "x", TTL_MS) == REDLOCK_OK);
    client_unlock(lock);
    CHECK_OK(client_try(r, "x", TTL_MS));
}

CASE_NODES(overlapping_lists_unguarded, "With the guard off nodes of any set are counted.",
           .nodes = 5)
{
    redlock *stray;
    CHECK_OK(init_nodes(c, 0, 3));
    r = open_nodes(c, 0, 3, REDLOCK_NO_GUARD);
    stray = open_nodes(c, 2, 3, REDLOCK_NO_GUARD);
    client_lock_on(r, c, 3, "x", TTL_MS);
    CHECK_OK(client_try(stray, "x", TTL_MS)); /* two of three */
}

CASE_NODES(never_initialised, "Nodes that were never initialised are counted by every client.",
           .nodes = 5)
{
    r = open_nodes(c, 0, 3, 0);
    other = open_nodes(c, 2, 3, 0);
    CHECK_OK(client_try(r, "x", TTL_MS));
    CHECK_OK(client_try(other, "x", TTL_MS));
}

CASE_NODES(three_of_five, "A client with three nodes of a set of five counts none of them.",
           .nodes = 5, .also = {REDLOCK_STRICT})
{
    redlock *part;
    redlock_node_info info;
    CHECK_OK(init_nodes(c, 0, 5));
    r = open_nodes(c, 0, 5, flags);
    part = open_nodes(c, 0, 3, flags);
    CHECK_OK(client_try(r, "x", TTL_MS));
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(part, "x", TTL_MS));
    CHECK_HAS("another number of nodes", redlock_detail());
    CHECK(report_votes(redlock_failure_report(), REDLOCK_VOTE_GUARDED) >= 2);
    info = client_node(part, 0);
    CHECK_INT(1, info.quarantined);
    CHECK_INT(1, info.misplaced);
    CHECK_INT(-1, info.quarantine_ms);
    CHECK_HAS("another number of nodes", info.text);
}

/* Each try is that of a new client, which sends it before any node has said its set. */
static void never_beside_a_set(const struct cluster *c, int tries, uint32_t flags)
{
    for (int i = 0; i < tries; i++) {
        redlock_options o = options_of(c, 2, 3);
        redlock *stray;
        o.flags = flags;
        stray = client_open_with(&o);
        CHECK_NEVER(client_try(stray, "x", TTL_MS) == REDLOCK_OK);
        client_close(stray);
        stray = client_open_with(&o);
        CHECK_ERR(REDLOCK_GUARDED, client_try(stray, "free", TTL_MS));
        client_close(stray);
    }
}

static void hurried(struct cluster *c, uint32_t flags, int tries, int delay_ms)
{
    struct proxy p;
    redlock *r;
    CHECK_OK(init_nodes(c, 0, 3));
    r = open_nodes(c, 0, 3, flags);
    client_lock_on(r, c, 3, "x", TTL_MS);
    proxy_before(&p, c, 2);
    atomic_store(&p.switches->down_delay_ms, delay_ms);
    never_beside_a_set(c, tries, flags);
}

CASE_OF_ON(a_late_set, "Nodes without a set do not decide before a late node has said its set.",
           hurried(c, 0, 5, 20), .nodes = 5, .clients = NO_CLIENT);

CASE_OF_ON(a_late_set_strict,
           "In strict mode nodes without a set await a late node that has one.",
           hurried(c, REDLOCK_STRICT, 3, 20), .nodes = 5, .clients = NO_CLIENT,
           .flags = REDLOCK_STRICT);

CASE_OF_ON(short_lived_clients,
           "Of 100 clients that begin with a try none decides beside a set.",
           hurried(c, 0, 100, 0), .nodes = 5, .clients = NO_CLIENT);

CASE_NODES(a_silent_node_delays_once,
           "Nodes without a set await a silent node once, and not longer.")
{
    enum { NODE_TIMEOUT_MS = 2000 };
    int64_t start_ms;
    redlock_lock *lock;
    server_freeze(&c->node[2]);
    r = CLIENT_OPEN(c, .node_timeout_ms = NODE_TIMEOUT_MS);
    start_ms = now_ms();
    lock = client_lock(r, "x", TTL_MS);
    CHECK(now_ms() - start_ms >= NODE_TIMEOUT_MS - 50);
    client_unlock(lock);
    start_ms = now_ms();
    for (int i = 0; i < 10; i++) {
        CHECK_OK(redlock_acquire(r, "x", TTL_MS, NULL, &lock));
        client_unlock(lock);
    }
    CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms); /* ten timeouts are longer */
}

CASE_NODES(the_set_of_most, "Nodes of another set than most do not count, and the others do.")
{
    redlock_lock *lock;
    write_set(c, 0, A3);
    write_set(c, 1, A3);
    write_set(c, 2, B3);
    r = client_open_warm(c, 0);
    lock = client_lock(r, "x", TTL_MS);
    CHECK(cluster_await(c, "redlock:x", 3));
    sleep_ms(20);
    drain(r);
    CHECK_INT(0, redlock_margin(lock)); /* two of three, none to spare */
    client_unlock(lock);
    server_stop(&c->node[1]);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
}

CASE_NODES(no_node_without_a_set,
           "A node without a set does not count beside nodes that have one.")
{
    write_set(c, 0, A3);
    write_set(c, 1, A3);
    r = client_open_warm(c, 0);
    CHECK_OK(client_try(r, "x", TTL_MS));
    server_stop(&c->node[0]);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
}

CASE_NODES(a_change_is_noticed,
           "A connected client notices within seconds that the set has changed.", .nodes = 5)
{
    CHECK_OK(init_nodes(c, 0, 3));
    r = open_nodes(c, 0, 3, 0);
    CHECK_OK(client_try(r, "x", TTL_MS));
    CHECK_OK(init_nodes(c, 0, 5));
    await_outcome(r, TTL_MS, REDLOCK_GUARDED);
    for (int i = 0; i < 5; i++)
        CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
    CHECK_OK(init_nodes(c, 0, 3));
    await_outcome(r, TTL_MS, REDLOCK_OK);
}

CASE_NODES(a_change_is_noticed_at_once_strict,
           "In strict mode no grant counts once its node is in another set.", .nodes = 5)
{
    redlock_lock *lock;
    redlock_request q = REDLOCK_REQUEST(.kind = REDLOCK_SHARED);
    CHECK_OK(init_nodes(c, 0, 3));
    r = open_nodes(c, 0, 3, REDLOCK_STRICT);
    lock = client_lock(r, "x", TTL_MS);
    client_unlock(lock);
    for (int i = 0; i < 3; i++)
        write_set(c, (size_t)i, "aaaaaaaaaaaaaaaa:0000000000000001/5");
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
    /* The scripts that take other kinds read it as well. */
    CHECK_REFUSED(REDLOCK_GUARDED, redlock_acquire(r, "y", TTL_MS, &q, &lock));
}

CASE_NODES(renewals_end_with_the_set,
           "A hold whose nodes are in another set now is not renewed.", .nodes = 5)
{
    redlock_lock *lock;
    CHECK_OK(init_nodes(c, 0, 3));
    r = open_nodes(c, 0, 3, REDLOCK_THREAD);
    lock = CLIENT_LOCK(r, "x", RENEWED_TTL_MS, .flags = REDLOCK_RENEW);
    CHECK_OK(init_nodes(c, 0, 5));
    EXPECT(r, JEOPARDY, REDLOCK_GUARDED, lock);
    EXPECT(r, LOST, REDLOCK_LOST, lock);
}

CASE_NODES(a_client_restores_the_set,
           "A client sends a restarted node the set it was in before.", .max_ttl_ms = "2000",
           .also = {REDLOCK_STRICT})
{
    char set[96];
    int64_t end_ms;
    redlock_lock *lock;
    r = CLIENT_OPEN(c, .max_ttl_ms = 2000, .flags = flags | REDLOCK_THREAD);
    client_warm(r);
    CHECK_OK(redlock_admit(r, NULL));
    restored_set(c, set);
    server_restart(&c->node[1]); /* forgets everything */
    CHECK_STR("(nil)", set_of(c, 1));
    end_ms = now_ms() + GIVE_UP_MS;
    while (strcmp(set, set_of(c, 1)) != 0) {
        if (now_ms() >= end_ms)
            FAIL("the set of the restarted node is %s", set_of(c, 1));
        client_try(r, "x", 2000);
        sleep_ms(20);
    }
    /* Now it counts again. */
    server_stop(&c->node[0]);
    lock = CLIENT_LOCK(r, "x", 2000, .wait_ms = GIVE_UP_MS);
    redlock_lock_free(lock);
}

static void forget_set(const struct cluster *c, size_t node)
{
    CHECK(server_int(&c->node[node], "HDEL", "redlock.admit", "set", NULL) >= 0);
}

/* Each try is that of a new client, as `redlock run -n` is. */
static void try_once(const struct cluster *c, int number)
{
    redlock_lock *lock = NULL;
    char name[16];
    redlock *r;
    snprintf(name, sizeof name, "x%d",
             number); /* counters that begin differ: they are aligned */
    r = CLIENT_OPEN(c, .flags = 0);
    lock = CLIENT_LOCK(r, name, TTL_MS, .flags = REDLOCK_FENCED);
    redlock_lock_free(lock);
    client_close(r);
}

CASE_NODES(a_forgetful_node_is_needed,
           "A node that is sent its set in the middle of a try counts.")
{
    CHECK_OK(init_nodes(c, 0, 3));
    server_stop(&c->node[1]); /* the other two are all there is */
    for (int i = 0; i < 10; i++) {
        forget_set(c, 2);
        try_once(c, i);
    }
}

/* A user that may do everything, but look at the marker only if `marker` is its key. */
static void use_blind_user_on(struct cluster *c, size_t first, size_t count, const char *marker)
{
    for (size_t i = first; i < first + count; i++) {
        CHECK_STR("OK", server_cmd(&c->node[i], "ACL", "SETUSER", "blind", "on", "nopass",
                                   "resetkeys", "~redlock:*", "~redlock.[^a]*", "~redlock.al*",
                                   marker, "&*", "+@all", NULL));
        snprintf(c->url[i], sizeof c->url[i], "redis://blind@127.0.0.1:%d",
                 c->node[i].port.number);
    }
}

static void use_blind_user(struct cluster *c, const char *marker)
{
    use_blind_user_on(c, 0, c->count, marker);
}

CASE_NODES(an_error_is_not_no_set,
           "A node that refuses to report its set is not taken for one without: "
           "one list decides.")
{
    redlock *stray;
    CHECK_OK(init_nodes(c, 0, 3));
    r = open_nodes(c, 0, 3, 0);
    client_lock_on(r, c, 3, "x", TTL_MS);
    cluster_del(c, 2, 1, "redlock:x");
    use_blind_user(c, "~no-marker");
    stray = open_nodes(c, 2, 1, 0); /* a majority of one, where the set is of three */
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(stray, "x", TTL_MS));
    CHECK_HAS("redlock.admit cannot be read", redlock_detail());
    CHECK_NEVER(client_try(stray, "x", TTL_MS) == REDLOCK_OK);
}

CASE_NODES(no_set_beside_one_untold,
           "Nodes without a set decide nothing beside a node that refuses to report its own.",
           .nodes = 5)
{
    redlock *stray;
    CHECK_OK(init_nodes(c, 0, 3));
    r = open_nodes(c, 0, 3, 0);
    client_lock_on(r, c, 3, "x", TTL_MS);
    cluster_del(c, 2, 1, "redlock:x");
    use_blind_user_on(c, 2, 1, "~no-marker");
    stray =
        open_nodes(c, 2, 3, 0); /* the last two are in no set, and their grants a majority */
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(stray, "x", TTL_MS));
    CHECK_HAS("too few nodes count", redlock_detail()); /* whichever node answered first */
    CHECK_NEVER(client_try(stray, "x", TTL_MS) == REDLOCK_OK);
}

CASE_NODES(a_right_taken_away,
           "A connected node that ceases to report its set stops voting until it does.")
{
    CHECK_OK(init_nodes(c, 0, 3));
    use_blind_user(c, "~redlock.admit");
    r = open_nodes(c, 0, 3, 0);
    CHECK_OK(client_try(r, "x", TTL_MS));
    use_blind_user(c, "~no-marker");
    AWAIT(client_try(r, "x", TTL_MS) == REDLOCK_GUARDED);
    CHECK_NEVER(client_try(r, "x", TTL_MS) == REDLOCK_OK);
    use_blind_user(c, "~redlock.admit");
    AWAIT(client_try(r, "x", TTL_MS) == REDLOCK_OK);
}
