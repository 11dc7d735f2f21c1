/* SPDX-License-Identifier: BSD-2-Clause */
/* `redlock init` makes nodes a set, and what clients and the audit report of sets (G8). */
#include "fixture.h"
#include "proxy.h"
#include "set_nodes.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { TTL_MS = 10000 };

CASE_NODES(init_again_keeps_the_set, "Running init again on the same nodes keeps their set.")
{
    char first[96];
    CHECK_OK(init_nodes(c, 0, 3));
    snprintf(first, sizeof first, "%s", set_of(c, 0));
    CHECK_INT(37, strlen(first));
    CHECK_STR("/3;1", first + 33); /* their number, and the version of the protocol */
    CHECK_STR(first, set_of(c, 1));
    CHECK_STR(first, set_of(c, 2));
    CHECK_OK(init_nodes(c, 0, 3));
    for (size_t i = 0; i < 3; i++)
        CHECK_STR(first, set_of(c, i));
    /* Also while one of them is down: it says the same when it comes back. */
    server_freeze(&c->node[2]);
    r = CLIENT_OPEN(c, .node_timeout_ms = 300);
    client_warm_nodes(r, 2);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_admit(r, NULL));
    CHECK_HAS("2 of 3", redlock_detail());
    client_close(r);
    server_thaw(&c->node[2]);
    for (size_t i = 0; i < 3; i++)
        CHECK_STR(first, set_of(c, i));
}

CASE_NODES(init_splits_no_set, "init takes no node from a set whose majority stays behind.",
           .nodes = 5)
{
    char first[96];
    CHECK_OK(init_nodes(c, 0, 3));
    snprintf(first, sizeof first, "%s", set_of(c, 2));
    CHECK_ERR(REDLOCK_GUARDED, init_nodes(c, 2, 3));
    CHECK_HAS("belongs to another set, of 3 nodes", redlock_detail());
    CHECK_HAS("Nothing was changed", redlock_detail());
    CHECK_HAS("redlock.admit", redlock_detail());
    CHECK_STR(first, set_of(c, 2));
    CHECK_STR("(nil)", set_of(c, 3));
    /* What the message says helps. */
    CHECK_INT(1, server_int(&c->node[2], "DEL", "redlock.admit", NULL));
    CHECK_OK(init_nodes(c, 2, 3));
    CHECK_STR(set_of(c, 2), set_of(c, 4));
    CHECK(strcmp(first, set_of(c, 2)) != 0);
}

CASE_NODES(init_needs_all_of_a_new_set, "A new set is written on all its nodes or on none.")
{
    server_freeze(&c->node[2]);
    r = CLIENT_OPEN(c, .node_timeout_ms = 300);
    client_warm_nodes(r, 2);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_admit(r, NULL));
    CHECK_HAS("Nothing was changed", redlock_detail());
    CHECK_STR("(nil)", set_of(c, 0));
    server_thaw(&c->node[2]);
    client_warm(r);
    CHECK_OK(redlock_admit(r, NULL));
    CHECK_STR(set_of(c, 0), set_of(c, 2));
}

static int init_with_a_stranger(struct cluster *c, char why[512])
{
    redlock *r = open_nodes(c, 0, 3, 0);
    int error = redlock_admit(r, NULL);
    snprintf(why, 512, "%s", redlock_detail());
    CHECK_INT(1, report_votes(redlock_failure_report(), REDLOCK_VOTE_ERROR));
    CHECK_INT(0, report_votes(redlock_failure_report(), REDLOCK_VOTE_GRANTED));
    client_close(r);
    for (size_t i = 0; i < 3; i++)
        CHECK_STR("(nil)", set_of(c, i));
    return error;
}

CASE_NODES(init_looks_at_all_nodes_first,
           "init writes on no node while one of them is a replica, or hides its marker.")
{
    char port[16], why[512];
    snprintf(port, sizeof port, "%d", c->node[0].port.number);
    CHECK_STR("OK", server_cmd(&c->node[2], "REPLICAOF", "127.0.0.1", port, NULL));
    CHECK_ERR(REDLOCK_NOQUORUM, init_with_a_stranger(c, why));
    CHECK_HAS("a replica, not a master. Nothing was changed", why);
    CHECK_STR("OK", server_cmd(&c->node[2], "REPLICAOF", "NO", "ONE", NULL));
    CHECK_STR("OK", server_cmd(&c->node[1], "ACL", "SETUSER", "default", "resetkeys",
                               "~redlock:*", NULL));
    r = open_nodes(c, 0, 3, 0);
    CHECK_ERR(REDLOCK_NOQUORUM, redlock_admit(r, NULL));
    CHECK_HAS("NOPERM", redlock_detail());
    CHECK_HAS("Nothing was changed", redlock_detail());
    client_close(r);
    CHECK_STR("(nil)", set_of(c, 0));
    CHECK_STR("(nil)", set_of(c, 2));
}

static redlock_admission look(const struct cluster *c, int64_t max_ttl_ms)
{
    redlock_answer *answer = NULL;
    redlock_options o = options_of(c, 0, 3);
    redlock *r;
    redlock_admission admission;
    o.max_ttl_ms = max_ttl_ms;
    r = client_open_with(&o);
    client_warm(r);
    CHECK_OK(redlock_look_at_admission(r, &answer));
    admission = *answer->admission;
    redlock_answer_free(answer);
    client_close(r);
    return admission;
}

CASE_NODES(looking_changes_nothing, "What init would do is reported, and nothing is written.",
           .young = true)
{
    redlock_admission found = look(c, 60000);
    CHECK_INT(1, found.writes);
    CHECK_INT(3, found.newcomers);
    CHECK_INT(62000, found.guard_ms);
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(0, server_int(&c->node[i], "EXISTS", "redlock.admit", NULL));
    CHECK_OK(init_nodes(c, 0, 3));
    found = look(c, 60000);
    CHECK_INT(0, found.writes);
    CHECK_INT(0, found.newcomers);
    CHECK_INT(1, look(c, 30000).writes); /* it would write another max_ttl */
    CHECK_INT(62000, look(c, 30000).guard_ms);
    server_restart(&c->node[1]);
    found = look(c, 60000);
    CHECK_INT(1, found.writes);
    CHECK_INT(1, found.newcomers);
}

CASE_NODES(half_an_init, "What a failed init has left does not count until init is done again.")
{
    write_set(c, 0, A3);
    write_set(c, 1, B3 "?" A3);
    write_set(c, 2, B3 "?" A3);
    r = client_open_warm(c, 0);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
    CHECK_HAS("has not finished", redlock_detail());
    CHECK_OK(init_nodes(c, 0, 3));
    await_outcome(r, TTL_MS, REDLOCK_OK);
}

struct init {
    const struct cluster *cluster;
    size_t first;
    pthread_barrier_t *start;
    struct proxy *slow; /* before one of its nodes, once it is connected */
    int error;
    char detail[512];
};

static void *run_init(void *data)
{
    struct init *i = data;
    redlock *r = open_nodes(i->cluster, i->first, 3, 0);
    if (i->start)
        pthread_barrier_wait(i->start);
    if (i->slow)
        atomic_store(&i->slow->switches->up_delay_ms, 1000);
    i->error = redlock_admit(r, NULL);
    snprintf(i->detail, sizeof i->detail, "%s", redlock_detail());
    client_close(r);
    return NULL;
}

CASE(an_init_in_between,
     "An init whose node another has made part of its set does not succeed.")
{
    struct cluster c, slow;
    struct proxy p;
    struct init late = {.cluster = &slow, .first = 2, .slow = &p};
    pthread_t thread;
    redlock *r;
    cluster_start(&c, 5);
    slow = c;
    proxy_before(&p, &slow, 2);
    CHECK_INT(0, pthread_create(&thread, NULL, run_init, &late));
    AWAIT(strcmp("(nil)", set_of(&c, 3)) != 0); /* on n4; what n3 is to write is on its way */
    CHECK_OK(init_nodes(&c, 0, 3));
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK_ERR(REDLOCK_BUSY, late.error);
    CHECK_HAS("another init", late.detail);
    CHECK_HAS("see which set the nodes are in", late.detail);
    for (size_t i = 1; i < 3; i++)
        CHECK_STR(set_of(&c, 0), set_of(&c, i));
    CHECK_HAS("?", set_of(&c, 3)); /* does not count */
    r = open_nodes(&c, 2, 3, 0);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
}

static bool is_in_force(const struct cluster *c, size_t first)
{
    char set[256];
    snprintf(set, sizeof set, "%s", set_of(c, first));
    for (size_t i = first; i < first + 3; i++)
        if (strcmp(set, set_of(c, i)) != 0 || strchr(set, '?') || strcmp(set, "(nil)") == 0)
            return false;
    return true;
}

CASE_NODES(inits_at_once,
           "Of two inits at once of lists that share a node at most one succeeds.", .nodes = 5)
{
    enum { ROUNDS = 15 };
    int success_count = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_t start;
        struct init init[2];
        pthread_t thread[2];
        for (size_t k = 0; k < 5; k++)
            CHECK(server_int(&c->node[k], "DEL", "redlock.admit", NULL) >= 0);
        CHECK_INT(0, pthread_barrier_init(&start, NULL, 2));
        for (size_t k = 0; k < 2; k++) {
            init[k] = (struct init){.cluster = c, .first = 2 * k, .start = &start};
            CHECK_INT(0, pthread_create(&thread[k], NULL, run_init, &init[k]));
        }
        for (size_t k = 0; k < 2; k++)
            CHECK_INT(0, pthread_join(thread[k], NULL));
        pthread_barrier_destroy(&start);
        CHECK_NEVER(init[0].error == REDLOCK_OK && init[1].error == REDLOCK_OK);
        for (size_t k = 0; k < 2; k++) {
            success_count += init[k].error == REDLOCK_OK;
            CHECK(init[k].error == REDLOCK_OK || init[k].error == REDLOCK_BUSY ||
                  init[k].error == REDLOCK_GUARDED);
            if (init[k].error == REDLOCK_OK)
                CHECK(is_in_force(c, 2 * k));
        }
    }
    printf("# %d of %d rounds had a set\n", success_count, ROUNDS);
    CHECK(success_count > 0);
}

struct findings {
    int membership[4], max_ttl[4]; /* by verdict */
    char text[512];                /* of the last that is not OK, with its remedy */
};

static void note(const redlock_check *check, struct findings *found)
{
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
    redlock_answer *answer = NULL;
    CHECK_OK(redlock_audit(r, TTL_MS, &answer));
    for (size_t i = 0; i < answer->check_count; i++)
        note(&answer->checks[i], &found);
    redlock_answer_free(answer);
    printf("# %s\n", found.text);
    return found;
}

CASE_NODES(the_audit_tells,
           "The audit fails for nodes of another set, and warns of none at all.", .nodes = 5)
{
    struct findings found;
    r = open_nodes(c, 0, 3, 0);
    found = audit(r);
    CHECK_INT(3, found.membership[REDLOCK_CHECK_WARN]);
    CHECK_HAS("admit the nodes", found.text);
    CHECK_OK(redlock_admit(r, NULL));
    found = audit(r);
    CHECK_INT(3, found.membership[REDLOCK_CHECK_OK]);
    client_close(r);
    r = open_nodes(c, 2, 3, 0);
    found = audit(r);
    CHECK_INT(1, found.membership[REDLOCK_CHECK_OK]);
    CHECK_INT(2, found.membership[REDLOCK_CHECK_FAIL]);
    CHECK_HAS("do not count", found.text);
    client_close(r);
    r = open_nodes(c, 0, 2, 0);
    found = audit(r);
    CHECK_INT(2, found.membership[REDLOCK_CHECK_FAIL]);
    CHECK_HAS("of 3 nodes: it belongs to a set of another number", found.text);
    client_close(r);
    r = open_nodes(c, 0, 2, REDLOCK_NO_GUARD); /* fails, and does not say that it helps */
    found = audit(r);
    CHECK_INT(2, found.membership[REDLOCK_CHECK_FAIL]);
    CHECK_LACKS("do not count", found.text);
}

CASE_NODES(told_by_a_client,
           "A set that a client has written is warned of until init draws a new one.",
           .nodes = 4)
{
    char old[96], restored[96], warnings[2048] = "";
    redlock_options o;
    struct findings found;
    CHECK_OK(init_nodes(c, 0, 3));
    snprintf(old, sizeof old, "%s", set_of(c, 0));
    restored_set(c, restored);
    write_set(c, 2, restored);
    write_set(c, 3, restored); /* what a client elsewhere takes for node 2 */
    o = options_of(c, 0, 3);
    r = client_open_with(&o);
    client_warm(r);
    CHECK_OK(client_try(r, "x", TTL_MS));
    found = audit(r);
    CHECK_INT(2, found.membership[REDLOCK_CHECK_OK]);
    CHECK_INT(1, found.membership[REDLOCK_CHECK_WARN]);
    CHECK_HAS("a client has restored it", found.text);
    CHECK_HAS("admit the nodes", found.text);
    read_warnings(r, warnings, sizeof warnings);
    CHECK_HAS("by its name alone", warnings);
    CHECK_OK(redlock_admit(r, NULL));
    CHECK_INT(3, audit(r).membership[REDLOCK_CHECK_OK]);
    client_close(r);
    CHECK(strcmp(old, set_of(c, 0)) != 0);
    CHECK_STR(set_of(c, 0), set_of(c, 2));
    /* Nodes 0 and 1 carry the new id, and the server too many does not. */
    c->urls[2] = c->urls[3];
    o.nodes = c->urls;
    r = client_open_with(&o);
    client_warm(r);
    CHECK_OK(client_try(r, "x", TTL_MS));
    found = audit(r);
    CHECK_INT(2, found.membership[REDLOCK_CHECK_OK]);
    CHECK_INT(1, found.membership[REDLOCK_CHECK_FAIL]);
    server_stop(&c->node[0]);
    CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, "x", TTL_MS));
}

CASE_NODES(init_is_silent,
           "Making nodes a set warns of none of the sets that they are in meanwhile.")
{
    char warnings[2048] = "";
    for (int i = 0; i < 10; i++) {
        for (size_t k = 0; k < 3; k++)
            CHECK(server_int(&c->node[k], "DEL", "redlock.admit", NULL) >= 0);
        r = client_open(c, 0);
        CHECK_OK(redlock_admit(r, NULL));
        CHECK_OK(redlock_ping(r, NULL));
        read_warnings(r, warnings, sizeof warnings);
        client_close(r);
        CHECK_LACKS("set of nodes", warnings);
    }
}

CASE_NODES(max_ttl_is_reported,
           "A max_ttl other than the nodes' is warned of and found by the audit.")
{
    char warnings[2048] = "";
    redlock_options o;
    struct findings found;
    CHECK_OK(init_nodes(c, 0, 3));
    o = client_options(c);
    r = client_open_with(&o);
    client_warm(r);
    CHECK_OK(client_try(r, "x", TTL_MS));
    CHECK_INT(3, audit(r).max_ttl[REDLOCK_CHECK_OK]);
    CHECK_INT(0, read_warnings(r, warnings, sizeof warnings));
    client_close(r);
    o.max_ttl_ms = 300000;
    r = client_open_with(&o);
    client_warm(r);
    CHECK_OK(client_try(r, "x", TTL_MS));
    found = audit(r);
    CHECK_INT(3, found.max_ttl[REDLOCK_CHECK_WARN]);
    CHECK_HAS("60.000 s, this client has 300.000 s", found.text);
    read_warnings(r, warnings, sizeof warnings);
    CHECK_HAS("max_ttl", warnings);
}
