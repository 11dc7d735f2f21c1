/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which nodes decide together (G8): clients with different nodes never both hold a lock, once
 * `redlock init` has written on the nodes which set they are.
 */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <stdio.h>
#include <string.h>

enum { TTL_MS = 10000 };

static redlock_options options_of(const struct cluster *c, size_t first, size_t count)
{
    redlock_options o = client_options(c);
    o.nodes = c->urls + first;
    o.node_count = count;
    return o;
}

/* A client of nodes [first, first + count), all of them connected. */
static redlock *open_nodes(const struct cluster *c, size_t first, size_t count, uint32_t flags)
{
    redlock_options o = options_of(c, first, count);
    o.flags = flags;
    redlock *r = client_open_with(&o);
    client_warm(r);
    return r;
}

static int init_nodes(const struct cluster *c, size_t first, size_t count)
{
    redlock *r = open_nodes(c, first, count, 0);
    int error = redlock_admit(r, NULL);
    redlock_close(r);
    return error;
}

static const char *set_of(const struct cluster *c, size_t node)
{
    return server_cmd(&c->node[node], "HGET", "redlock.admit", "set", NULL);
}

static void write_set(const struct cluster *c, size_t node, const char *set)
{
    CHECK(server_int(&c->node[node], "HSET", "redlock.admit", "set", set, NULL) >= 0);
}

#define A3 "aaaaaaaaaaaaaaaa:0000000000000001/3"
#define B3 "bbbbbbbbbbbbbbbb:0000000000000001/3"

/* ---- two lists with a node in common ---- */

static void overlapping(uint32_t flags)
{
    struct cluster c;
    cluster_start(&c, 5);
    CHECK_OK(init_nodes(&c, 0, 3));
    redlock *r = open_nodes(&c, 0, 3, flags);
    redlock *stray = open_nodes(&c, 2, 3, flags);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(stray, "x", TTL_MS));
    CHECK_HAS("belongs to no set of nodes", redlock_detail());
    CHECK_HAS("redlock init", redlock_detail());
    CHECK_HAS("redlock doctor", redlock_detail());
    redlock_lock *lock = client_lock(r, "x", TTL_MS);
    CHECK_NEVER(client_try(stray, "x", TTL_MS) == REDLOCK_OK);
    client_unlock(lock);
    CHECK_OK(client_try(r, "x", TTL_MS));
    redlock_close(stray);
    redlock_close(r);
}

CASE(overlapping_lists, "Of n1,n2,n3 and n3,n4,n5 only the initialised nodes decide.")
{
    overlapping(0);
}

CASE(overlapping_lists_strict,
     "In strict mode only the initialised of n1,n2,n3 and n3,n4,n5 decide.")
{
    overlapping(REDLOCK_STRICT);
}

CASE(overlapping_lists_unguarded, "With the guard off nodes of any set are counted.")
{
    struct cluster c;
    cluster_start(&c, 5);
    CHECK_OK(init_nodes(&c, 0, 3));
    redlock *r = open_nodes(&c, 0, 3, REDLOCK_NO_GUARD);
    redlock *stray = open_nodes(&c, 2, 3, REDLOCK_NO_GUARD);
    redlock_lock *lock = client_lock_on(r, &c, 3, "x", TTL_MS);
    CHECK_OK(client_try(stray, "x", TTL_MS)); /* two of three */
    client_unlock(lock);
    redlock_close(stray);
    redlock_close(r);
}

CASE(never_initialised, "Nodes that were never initialised are counted by every client.")
{
    struct cluster c;
    cluster_start(&c, 5);
    redlock *r = open_nodes(&c, 0, 3, 0);
    redlock *other = open_nodes(&c, 2, 3, 0);
    CHECK_OK(client_try(r, "x", TTL_MS));
    CHECK_OK(client_try(other, "x", TTL_MS));
    redlock_close(other);
    redlock_close(r);
}

static void part_of_five(uint32_t flags)
{
    struct cluster c;
    cluster_start(&c, 5);
    CHECK_OK(init_nodes(&c, 0, 5));
    redlock *r = open_nodes(&c, 0, 5, flags);
    redlock *part = open_nodes(&c, 0, 3, flags);
    CHECK_OK(client_try(r, "x", TTL_MS));
    redlock_report report = {.size = sizeof report};
    redlock_request q = {.size = sizeof q, .report = &report};
    redlock_lock *lock = NULL;
    CHECK_REFUSED(REDLOCK_GUARDED, redlock_acquire(part, "x", TTL_MS, &q, &lock));
    CHECK_HAS("another number of nodes", redlock_detail());
    CHECK(report_votes(&report, REDLOCK_VOTE_GUARDED) >= 2);
    redlock_node_info info = {.size = sizeof info};
    CHECK_OK(redlock_node(part, 0, &info));
    CHECK_INT(1, info.quarantined);
    CHECK_INT(-1, info.quarantine_ms);
    CHECK_HAS("another number of nodes", info.text);
    redlock_close(part);
    redlock_close(r);
}

CASE(three_of_five, "A client with three nodes of a set of five counts none of them.")
{
    part_of_five(0);
}

CASE(three_of_five_strict,
     "In strict mode a client with three nodes of a set of five counts none.")
{
    part_of_five(REDLOCK_STRICT);
}

/* ---- nodes that say different things ---- */

CASE(the_set_of_most, "Nodes of another set than most do not count, and the others do.")
{
    struct cluster c;
    cluster_start(&c, 3);
    write_set(&c, 0, A3);
    write_set(&c, 1, A3);
    write_set(&c, 2, B3);
    redlock *r = client_open_warm(&c, 0);
    redlock_lock *lock = client_lock(r, "x", TTL_MS);
    CHECK(cluster_await(&c, "redlock:x", 3, 2000));
    sleep_ms(20);
    CHECK(redlock_process(r, 0) >= 0);
    CHECK_INT(0, redlock_margin(lock)); /* two of three, none to spare */
    client_unlock(lock);
    server_stop(&c.node[1]);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
    redlock_close(r);
}

CASE(no_node_without_a_set, "A node without a set does not count beside nodes that have one.")
{
    struct cluster c;
    cluster_start(&c, 3);
    write_set(&c, 0, A3);
    write_set(&c, 1, A3);
    redlock *r = client_open_warm(&c, 0);
    CHECK_OK(client_try(r, "x", TTL_MS));
    server_stop(&c.node[0]);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
    redlock_close(r);
}

/* Tries until the outcome is this one; fails the case after 10 s. */
static void await_outcome(redlock *r, int expected)
{
    int64_t end_ms = now_ms() + 10000;
    int error;
    while ((error = client_try(r, "x", TTL_MS)) != expected) {
        if (now_ms() >= end_ms)
            FAIL("still %s: %s", redlock_strerror(error), redlock_detail());
        sleep_ms(10);
    }
}

CASE(a_change_is_noticed, "A connected client notices within seconds that the set has changed.")
{
    struct cluster c;
    cluster_start(&c, 5);
    CHECK_OK(init_nodes(&c, 0, 3));
    redlock *r = open_nodes(&c, 0, 3, 0);
    CHECK_OK(client_try(r, "x", TTL_MS));
    CHECK_OK(init_nodes(&c, 0, 5));
    await_outcome(r, REDLOCK_GUARDED);
    for (int i = 0; i < 5; i++)
        CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
    CHECK_OK(init_nodes(&c, 0, 3));
    await_outcome(r, REDLOCK_OK);
    redlock_close(r);
}

CASE(a_change_is_noticed_at_once_strict,
     "In strict mode no grant counts once its node is in another set.")
{
    struct cluster c;
    cluster_start(&c, 5);
    CHECK_OK(init_nodes(&c, 0, 3));
    redlock *r = open_nodes(&c, 0, 3, REDLOCK_STRICT);
    redlock_lock *lock = client_lock(r, "x", TTL_MS);
    client_unlock(lock);
    for (int i = 0; i < 3; i++)
        write_set(&c, (size_t)i, "aaaaaaaaaaaaaaaa:0000000000000001/5");
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
    /* The scripts that take other kinds read it as well. */
    redlock_request q = {.size = sizeof q, .kind = REDLOCK_SHARED};
    CHECK_REFUSED(REDLOCK_GUARDED, redlock_acquire(r, "y", TTL_MS, &q, &lock));
    redlock_close(r);
}

CASE(renewals_end_with_the_set, "A hold whose nodes are in another set now is not renewed.")
{
    struct cluster c;
    cluster_start(&c, 5);
    CHECK_OK(init_nodes(&c, 0, 3));
    redlock *r = open_nodes(&c, 0, 3, REDLOCK_THREAD);
    redlock_request q = {.size = sizeof q, .flags = REDLOCK_RENEW};
    struct result lost = {0};
    q.lost = result_note;
    q.data = &lost;
    redlock_lock *lock = NULL;
    CHECK_OK(client_acquire(r, "x", 3000, &q, &lock));
    CHECK_OK(init_nodes(&c, 0, 5));
    CHECK(wait_until(result_is_told, &lost, 10000));
    redlock_lock_free(lock);
    redlock_close(r);
}

/* ---- redlock_admit() ---- */

CASE(init_again_keeps_the_set, "Running init again on the same nodes keeps their set.")
{
    struct cluster c;
    char first[96];
    cluster_start(&c, 3);
    CHECK_OK(init_nodes(&c, 0, 3));
    snprintf(first, sizeof first, "%s", set_of(&c, 0));
    CHECK_INT(35, strlen(first));
    CHECK_STR("/3", first + 33);
    CHECK_STR(first, set_of(&c, 1));
    CHECK_STR(first, set_of(&c, 2));
    CHECK_OK(init_nodes(&c, 0, 3));
    for (size_t i = 0; i < 3; i++)
        CHECK_STR(first, set_of(&c, i));
    /* Also while one of them is down: it says the same when it comes back. */
    server_freeze(&c.node[2]);
    redlock_options o = client_options(&c);
    o.node_timeout_ms = 300;
    redlock *r = client_open_with(&o);
    client_warm_nodes(r, 2);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_admit(r, NULL));
    CHECK_HAS("2 of 3", redlock_detail());
    redlock_close(r);
    server_thaw(&c.node[2]);
    for (size_t i = 0; i < 3; i++)
        CHECK_STR(first, set_of(&c, i));
}

CASE(init_splits_no_set, "init takes no node from a set whose majority stays behind.")
{
    struct cluster c;
    char first[96];
    cluster_start(&c, 5);
    CHECK_OK(init_nodes(&c, 0, 3));
    snprintf(first, sizeof first, "%s", set_of(&c, 2));
    CHECK_ERR(REDLOCK_GUARDED, init_nodes(&c, 2, 3));
    CHECK_HAS("belongs to another set, of 3 nodes", redlock_detail());
    CHECK_HAS("Nothing was changed", redlock_detail());
    CHECK_HAS("redlock.admit", redlock_detail());
    CHECK_STR(first, set_of(&c, 2));
    CHECK_STR("(nil)", set_of(&c, 3));
    /* What the message says helps. */
    CHECK_INT(1, server_int(&c.node[2], "DEL", "redlock.admit", NULL));
    CHECK_OK(init_nodes(&c, 2, 3));
    CHECK_STR(set_of(&c, 2), set_of(&c, 4));
    CHECK(strcmp(first, set_of(&c, 2)) != 0);
}

CASE(init_needs_all_of_a_new_set, "A new set is written on all its nodes or on none.")
{
    struct cluster c;
    cluster_start(&c, 3);
    server_freeze(&c.node[2]);
    redlock_options o = client_options(&c);
    o.node_timeout_ms = 300;
    redlock *r = client_open_with(&o);
    client_warm_nodes(r, 2);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_admit(r, NULL));
    CHECK_HAS("Nothing was changed", redlock_detail());
    CHECK_STR("(nil)", set_of(&c, 0));
    server_thaw(&c.node[2]);
    client_warm(r);
    CHECK_OK(redlock_admit(r, NULL));
    CHECK_STR(set_of(&c, 0), set_of(&c, 2));
    redlock_close(r);
}

CASE(half_an_init, "What a failed init has left does not count until init is done again.")
{
    struct cluster c;
    cluster_start(&c, 3);
    write_set(&c, 0, A3);
    write_set(&c, 1, B3 "?" A3);
    write_set(&c, 2, B3 "?" A3);
    redlock *r = client_open_warm(&c, 0);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
    CHECK_HAS("has not finished", redlock_detail());
    CHECK_OK(init_nodes(&c, 0, 3));
    await_outcome(r, REDLOCK_OK);
    redlock_close(r);
}

/* ---- forgotten sets ---- */

/* What a client tells a node that has forgotten the set of node 0. */
static void restored_set(const struct cluster *c, char out[96])
{
    snprintf(out, 96, "%s", set_of(c, 0));
    CHECK_INT(':', out[16]);
    out[16] = '~';
}

static void restores(uint32_t flags)
{
    struct cluster c;
    char set[96];
    cluster_start_limited(&c, 3, "500");
    redlock_options o = client_options(&c);
    o.max_ttl_ms = 500;
    o.flags = flags | REDLOCK_THREAD;
    redlock *r = client_open_with(&o);
    client_warm(r);
    CHECK_OK(redlock_admit(r, NULL));
    restored_set(&c, set);
    server_restart(&c.node[1]); /* forgets everything */
    CHECK_STR("(nil)", set_of(&c, 1));
    int64_t end_ms = now_ms() + 20000;
    while (strcmp(set, set_of(&c, 1)) != 0) {
        if (now_ms() >= end_ms)
            FAIL("the set of the restarted node is %s", set_of(&c, 1));
        client_try(r, "x", 400);
        sleep_ms(20);
    }
    /* Now it counts again. */
    server_stop(&c.node[0]);
    redlock_request q = {.size = sizeof q, .wait_ms = 10000};
    redlock_lock *lock = NULL;
    CHECK_OK(redlock_acquire(r, "x", 400, &q, &lock));
    redlock_lock_free(lock);
    redlock_close(r);
}

CASE(a_client_restores_the_set, "A client tells a restarted node the set it was in before.")
{
    restores(0);
}

CASE(a_strict_client_restores_the_set,
     "A strict client tells a restarted node the set it was in before.")
{
    restores(REDLOCK_STRICT);
}

static void forget_set(const struct cluster *c, size_t node)
{
    CHECK(server_int(&c->node[node], "HDEL", "redlock.admit", "set", NULL) >= 0);
}

/* Each try is that of a new client, as `redlock run -n` is. */
static void try_once(const struct cluster *c, int number)
{
    redlock_options o = client_options(c);
    redlock_request q = {.size = sizeof q, .flags = REDLOCK_FENCED};
    redlock_lock *lock = NULL;
    char name[16];
    snprintf(name, sizeof name, "x%d",
             number); /* counters that begin differ: they are aligned */
    redlock *r = client_open_with(&o);
    CHECK_OK(redlock_acquire(r, name, TTL_MS, &q, &lock));
    redlock_lock_free(lock);
    redlock_close(r);
}

CASE(a_forgetful_node_is_needed, "A node that is told its set in the middle of a try counts.")
{
    struct cluster c;
    cluster_start(&c, 3);
    CHECK_OK(init_nodes(&c, 0, 3));
    server_stop(&c.node[1]); /* the other two are all there is */
    for (int i = 0; i < 10; i++) {
        forget_set(&c, 2);
        try_once(&c, i);
    }
}

/* ---- telling ---- */

struct findings {
    int membership[4], max_ttl[4]; /* by verdict */
    char text[512];                /* of the last that is not OK, with its remedy */
};

static void on_check(const redlock_check *check, void *data)
{
    struct findings *found = data;
    bool membership = strcmp(check->name, "membership") == 0;
    if (!membership && strcmp(check->name, "max_ttl") != 0)
        return;
    (membership ? found->membership : found->max_ttl)[check->verdict]++;
    if (check->verdict != REDLOCK_CHECK_OK)
        snprintf(found->text, sizeof found->text, "%s: %s", check->text, check->remedy);
}

static struct findings audit(redlock *r)
{
    struct findings found = {0};
    CHECK_OK(redlock_audit(r, TTL_MS, on_check, &found));
    printf("# %s\n", found.text);
    return found;
}

CASE(the_audit_tells, "The audit fails for nodes of another set, and warns of none at all.")
{
    struct cluster c;
    cluster_start(&c, 5);
    redlock *r = open_nodes(&c, 0, 3, 0);
    struct findings found = audit(r);
    CHECK_INT(3, found.membership[REDLOCK_CHECK_WARN]);
    CHECK_HAS("redlock init", found.text);
    CHECK_OK(redlock_admit(r, NULL));
    found = audit(r);
    CHECK_INT(3, found.membership[REDLOCK_CHECK_OK]);
    redlock_close(r);
    r = open_nodes(&c, 2, 3, 0);
    found = audit(r);
    CHECK_INT(1, found.membership[REDLOCK_CHECK_OK]);
    CHECK_INT(2, found.membership[REDLOCK_CHECK_FAIL]);
    CHECK_HAS("do not count", found.text);
    redlock_close(r);
    r = open_nodes(&c, 0, 2, 0);
    found = audit(r);
    CHECK_INT(2, found.membership[REDLOCK_CHECK_FAIL]);
    CHECK_HAS("of 3 nodes: it belongs to a set of another number", found.text);
    redlock_close(r);
    r = open_nodes(&c, 0, 2, REDLOCK_NO_GUARD); /* fails, and does not say that it helps */
    found = audit(r);
    CHECK_INT(2, found.membership[REDLOCK_CHECK_FAIL]);
    CHECK_LACKS("do not count", found.text);
    redlock_close(r);
}

static void on_warn(const char *address, const char *text, void *data)
{
    char *all = data;
    (void)address;
    strncat(all, text, 2000 - strlen(all));
}

CASE(told_by_a_client, "A set that a client has told is doubted until init draws a new one.")
{
    struct cluster c;
    char old[96], told[96], warnings[2048] = "";
    cluster_start(&c, 4);
    CHECK_OK(init_nodes(&c, 0, 3));
    snprintf(old, sizeof old, "%s", set_of(&c, 0));
    restored_set(&c, told);
    write_set(&c, 2, told);
    write_set(&c, 3, told); /* what a client elsewhere takes for node 2 */
    redlock_options o = options_of(&c, 0, 3);
    o.warn = on_warn;
    o.warn_data = warnings;
    redlock *r = client_open_with(&o);
    client_warm(r);
    CHECK_OK(client_try(r, "x", TTL_MS));
    struct findings found = audit(r);
    CHECK_INT(2, found.membership[REDLOCK_CHECK_OK]);
    CHECK_INT(1, found.membership[REDLOCK_CHECK_WARN]);
    CHECK_HAS("a client has told it", found.text);
    CHECK_HAS("redlock init", found.text);
    redlock_process(r, 0);
    CHECK_HAS("a client has told it", warnings);
    CHECK_OK(redlock_admit(r, NULL));
    CHECK_INT(3, audit(r).membership[REDLOCK_CHECK_OK]);
    redlock_close(r);
    CHECK(strcmp(old, set_of(&c, 0)) != 0);
    CHECK_STR(set_of(&c, 0), set_of(&c, 2));
    /* Nodes 0 and 1 carry the new id, and the server too many does not. */
    const char *const urls[] = {c.urls[0], c.urls[1], c.urls[3]};
    o.nodes = urls;
    r = client_open_with(&o);
    client_warm(r);
    CHECK_OK(client_try(r, "x", TTL_MS));
    found = audit(r);
    CHECK_INT(2, found.membership[REDLOCK_CHECK_OK]);
    CHECK_INT(1, found.membership[REDLOCK_CHECK_FAIL]);
    server_stop(&c.node[0]);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
    redlock_close(r);
}

CASE(init_is_silent, "Making nodes a set warns of none of the sets that they are in meanwhile.")
{
    struct cluster c;
    char warnings[2048] = "";
    cluster_start(&c, 3);
    for (int i = 0; i < 10; i++) {
        for (size_t k = 0; k < 3; k++)
            CHECK(server_int(&c.node[k], "DEL", "redlock.admit", NULL) >= 0);
        redlock_options o = client_options(&c);
        o.warn = on_warn;
        o.warn_data = warnings;
        redlock *r = client_open_with(&o);
        CHECK_OK(redlock_admit(r, NULL));
        CHECK_OK(redlock_ping(r, NULL));
        redlock_process(r, 0);
        redlock_close(r);
        CHECK_LACKS("set of nodes", warnings);
    }
}

CASE(max_ttl_is_told, "A max_ttl other than the nodes' is warned of and found by the audit.")
{
    struct cluster c;
    char warnings[2048] = "";
    cluster_start(&c, 3);
    CHECK_OK(init_nodes(&c, 0, 3));
    redlock_options o = client_options(&c);
    o.warn = on_warn;
    o.warn_data = warnings;
    redlock *r = client_open_with(&o);
    client_warm(r);
    CHECK_OK(client_try(r, "x", TTL_MS));
    CHECK_INT(3, audit(r).max_ttl[REDLOCK_CHECK_OK]);
    redlock_process(r, 0);
    CHECK_STR("", warnings);
    redlock_close(r);
    o.max_ttl_ms = 300000;
    r = client_open_with(&o);
    client_warm(r);
    CHECK_OK(client_try(r, "x", TTL_MS));
    struct findings found = audit(r);
    CHECK_INT(3, found.max_ttl[REDLOCK_CHECK_WARN]);
    CHECK_HAS("60.000 s, this client has 300.000 s", found.text);
    redlock_process(r, 0);
    CHECK_HAS("max_ttl", warnings);
    redlock_close(r);
}
