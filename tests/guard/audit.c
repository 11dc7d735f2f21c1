/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock_audit() must find each planted fault, name the node and say what to do; on healthy
 * nodes it must find nothing, and where a server does not tell it must say so.
 */
#include "check.h"
#include "client.h"
#include "nodeclock.h"
#include "proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKS_MAX = 128, TTL_MS = 10000 };

struct finding {
    char address[REDLOCK_ADDRESS_MAX];
    char name[32];
    int verdict;
    char text[256];
    char remedy[256];
};

struct findings {
    int count;
    struct finding each[CHECKS_MAX];
};

static const char *const verdicts[] = {"ok", "warn", "fail", "unknown"};

static void note(const redlock_check *check, void *data)
{
    struct findings *all = data;
    CHECK(all->count < CHECKS_MAX);
    CHECK_INT(sizeof *check, check->size);
    struct finding *f = &all->each[all->count++];
    snprintf(f->address, sizeof f->address, "%s", check->address);
    snprintf(f->name, sizeof f->name, "%s", check->name);
    snprintf(f->text, sizeof f->text, "%s", check->text);
    snprintf(f->remedy, sizeof f->remedy, "%s", check->remedy);
    f->verdict = check->verdict;
}

static void print(const struct findings *all)
{
    for (int i = 0; i < all->count; i++)
        printf("# %s %s %s: %s (%s)\n", all->each[i].address, all->each[i].name,
               verdicts[all->each[i].verdict], all->each[i].text, all->each[i].remedy);
}

static void audit_with(const redlock_options *o, int64_t ttl_ms, struct findings *all)
{
    memset(all, 0, sizeof *all);
    redlock *r = client_open_with(o);
    CHECK_OK(redlock_audit(r, ttl_ms, note, all));
    redlock_close(r);
}

static void audit(const struct cluster *c, struct findings *all)
{
    redlock_options o = client_options(c);
    audit_with(&o, TTL_MS, all);
}

/* The verdict on one check of one node, by its place; node -1: of all together. */
static const struct finding *find(const struct findings *all, const struct cluster *c, int node,
                                  const char *name)
{
    char address[REDLOCK_ADDRESS_MAX] = "";
    if (node >= 0) {
        const char *host = strstr(c->urls[node], "127.0.0.1");
        snprintf(address, sizeof address, "%s", host);
    }
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->each[i].address, address) == 0 && strcmp(all->each[i].name, name) == 0)
            return &all->each[i];
    print(all);
    FAIL("no check \"%s\" of \"%s\"", name, address);
}

static void expect(const struct findings *all, const struct cluster *c, int node,
                   const char *name, int verdict)
{
    const struct finding *f = find(all, c, node, name);
    if (f->verdict != verdict) {
        print(all);
        FAIL("%s of node %d: expected %s, got %s", name, node, verdicts[verdict],
             verdicts[f->verdict]);
    }
    CHECK(f->text[0] != '\0');
    if (verdict == REDLOCK_CHECK_WARN || verdict == REDLOCK_CHECK_FAIL)
        CHECK(f->remedy[0] != '\0');
}

/* Whatever is not named here is ok. */
static void expect_only(const struct findings *all, const char *const *suspects)
{
    for (int i = 0; i < all->count; i++) {
        bool named = false;
        for (size_t n = 0; suspects[n] != NULL; n++)
            named = named || strcmp(all->each[i].name, suspects[n]) == 0;
        /* The servers of the tests are admitted one by one: they belong to no set. */
        named = named || (strcmp(all->each[i].name, "membership") == 0 &&
                          all->each[i].verdict == REDLOCK_CHECK_WARN);
        if (!named && all->each[i].verdict != REDLOCK_CHECK_OK) {
            print(all);
            FAIL("%s: expected ok, got %s", all->each[i].name, verdicts[all->each[i].verdict]);
        }
    }
}

CASE(healthy, "The audit of three good nodes finds nothing and leaves nothing on them.")
{
    struct cluster c;
    struct findings all;
    static const char *const node_checks[] = {"reachable",   "role",    "identity", "eviction",
                                              "persistence", "clock",   "latency",  "rights",
                                              "fencing",     "waiting", "kinds",    "guard"};
    cluster_start(&c, 3);
    audit(&c, &all);
    expect_only(&all, (const char *const[]){NULL});
    for (int node = 0; node < 3; node++)
        for (size_t i = 0; i < sizeof node_checks / sizeof node_checks[0]; i++)
            expect(&all, &c, node, node_checks[i], REDLOCK_CHECK_OK);
    expect(&all, &c, -1, "number", REDLOCK_CHECK_OK);
    expect(&all, &c, -1, "versions", REDLOCK_CHECK_OK);
    CHECK(cluster_await_empty(&c, 1000));
}

CASE(same_server_twice, "The audit of two addresses of one server fails the identity of both.")
{
    struct cluster c;
    struct findings all;
    struct proxy p;
    cluster_start(&c, 3);
    proxy_start(&p, c.node[0].port.number);
    c.urls[1] = p.url;
    audit(&c, &all);
    expect(&all, &c, 0, "identity", REDLOCK_CHECK_FAIL);
    expect(&all, &c, 1, "identity", REDLOCK_CHECK_FAIL);
    expect(&all, &c, 2, "identity", REDLOCK_CHECK_OK);
    expect_only(&all, (const char *const[]){"identity", "guard", "rights", "fencing", NULL});
}

CASE(replica, "The audit of a replica fails its role and its rights.")
{
    struct cluster c;
    struct findings all;
    struct server outside;
    char port[16];
    cluster_start(&c, 3);
    server_start(&outside, NULL);
    snprintf(port, sizeof port, "%d", outside.port.number);
    CHECK_STR("OK", server_cmd(&c.node[2], "REPLICAOF", "127.0.0.1", port, NULL));
    audit(&c, &all);
    expect(&all, &c, 2, "role", REDLOCK_CHECK_FAIL);
    expect(&all, &c, 0, "role", REDLOCK_CHECK_OK);
    CHECK_HAS("master", find(&all, &c, 2, "role")->remedy);
    CHECK_LACKS("init", find(&all, &c, 2, "guard")->remedy);
    expect_only(&all, (const char *const[]){"role", "rights", "fencing", "guard", NULL});
}

CASE(evicting, "The audit fails the eviction of a node with volatile-lru and a memory limit.")
{
    struct cluster c;
    struct findings all;
    cluster_start(&c, 3);
    const struct server *s = &c.node[1];
    CHECK_STR("OK", server_cmd(s, "CONFIG", "SET", "maxmemory-policy", "volatile-lru", NULL));
    audit(&c, &all); /* without a limit nothing is ever evicted */
    expect(&all, &c, 1, "eviction", REDLOCK_CHECK_OK);
    CHECK_STR("OK", server_cmd(s, "CONFIG", "SET", "maxmemory", "100mb", NULL));
    audit(&c, &all);
    expect(&all, &c, 1, "eviction", REDLOCK_CHECK_FAIL);
    CHECK_HAS("volatile-lru", find(&all, &c, 1, "eviction")->text);
    CHECK_HAS("noeviction", find(&all, &c, 1, "eviction")->remedy);
    expect_only(&all, (const char *const[]){"eviction", NULL});
    CHECK_STR("OK", server_cmd(s, "CONFIG", "SET", "maxmemory-policy", "noeviction", NULL));
    audit(&c, &all);
    expect(&all, &c, 1, "eviction", REDLOCK_CHECK_OK);
}

CASE(skewed_clock, "The audit warns about a clock that is a minute off, and says by how much.")
{
    struct cluster c;
    struct findings all;
    nodeclock_cluster(&c, 3);
    nodeclock_step(&c.node[2], 60000);
    audit(&c, &all);
    expect(&all, &c, 2, "clock", REDLOCK_CHECK_WARN);
    expect(&all, &c, 0, "clock", REDLOCK_CHECK_OK);
    expect(&all, &c, 1, "clock", REDLOCK_CHECK_OK);
    /* Where within the round trip the node read its clock is not known: a little less is right too. */
    double off = strtod(find(&all, &c, 2, "clock")->text, NULL);
    CHECK(off > 59 && off < 61);
    expect_only(&all, (const char *const[]){"clock", NULL});
}

CASE(even_number, "The audit warns about an even number of nodes.")
{
    struct cluster c;
    struct findings all;
    cluster_start(&c, 4);
    audit(&c, &all);
    expect(&all, &c, -1, "number", REDLOCK_CHECK_WARN);
    CHECK_HAS("odd", find(&all, &c, -1, "number")->remedy);
    expect_only(&all, (const char *const[]){"number", NULL});
}

CASE(slow_node, "The audit fails the latency of a node that is slower than the TTL allows.")
{
    struct cluster c;
    struct findings all;
    struct proxy p;
    cluster_start(&c, 3);
    proxy_start(&p, c.node[1].port.number);
    p.switches->down_delay_ms = 150;
    c.urls[1] = p.url;
    redlock_options o = client_options(&c);
    audit_with(&o, 400, &all); /* a quarter of it is allowed */
    expect(&all, &c, 1, "latency", REDLOCK_CHECK_FAIL);
    expect(&all, &c, 0, "latency", REDLOCK_CHECK_OK);
    audit_with(&o, 10000, &all);
    expect(&all, &c, 1, "latency", REDLOCK_CHECK_OK);
    expect_only(&all, (const char *const[]){NULL});
}

CASE(dead_nodes,
     "The audit fails dead nodes as unreachable, and the number when too many are dead.")
{
    struct cluster c;
    struct findings all;
    cluster_start(&c, 3);
    redlock_options o = client_options(&c);
    o.node_timeout_ms = 500;
    server_kill(&c.node[0]);
    audit_with(&o, TTL_MS, &all);
    expect(&all, &c, 0, "reachable", REDLOCK_CHECK_FAIL);
    expect(&all, &c, -1, "number", REDLOCK_CHECK_OK);
    server_freeze(&c.node[1]);
    audit_with(&o, TTL_MS, &all);
    expect(&all, &c, 1, "reachable", REDLOCK_CHECK_FAIL);
    expect(&all, &c, 2, "reachable", REDLOCK_CHECK_OK);
    expect(&all, &c, -1, "number", REDLOCK_CHECK_FAIL);
    server_thaw(&c.node[1]);
}

CASE(young_nodes, "The audit warns about nodes that may not vote yet, and names init.")
{
    struct cluster c;
    struct findings all;
    cluster_start_young(&c, 3, NULL);
    audit(&c, &all);
    for (int i = 0; i < 3; i++) {
        expect(&all, &c, i, "guard", REDLOCK_CHECK_WARN);
        CHECK_HAS("init", find(&all, &c, i, "guard")->remedy);
        expect(&all, &c, i, "rights", REDLOCK_CHECK_OK);
    }
}

CASE(bad_counters,
     "The audit warns about fence counters that no clock can have reached, and names one.")
{
    static const char *const numbers[] = {"9007199254740993", "1e300", "nan", "-1", "1.5",
                                          "4503599627370495"};
    struct cluster c;
    struct findings all;
    cluster_start(&c, 3);
    for (int i = 0; i < 200; i++) {
        char key[64];
        snprintf(key, sizeof key, "redlock.fence:fine-%d", i);
        server_cmd(&c.node[i % 3], "HSET", key, "i", "1700000000000000", NULL);
        snprintf(key, sizeof key, "redlock:other-%d", i);
        server_cmd(&c.node[i % 3], "SET", key, "v", "PX", "60000", NULL);
    }
    audit(&c, &all);
    expect_only(&all, (const char *const[]){NULL});
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        server_cmd(&c.node[1], "HSET", "redlock.fence:job", "i", numbers[i], NULL);
        audit(&c, &all);
        expect(&all, &c, 1, "fencing", REDLOCK_CHECK_WARN);
        expect(&all, &c, 0, "fencing", REDLOCK_CHECK_OK);
        expect_only(&all, (const char *const[]){"fencing", NULL});
        CHECK_HAS("1 counter", find(&all, &c, 1, "fencing")->text);
        CHECK_HAS("redlock.fence:job", find(&all, &c, 1, "fencing")->text);
        CHECK_HAS("DEL", find(&all, &c, 1, "fencing")->remedy);
    }
    /* What is no counter at all, and the counter of a key of another prefix. */
    server_cmd(&c.node[2], "SET", "redlock.fence@other", "7", NULL);
    server_cmd(&c.node[2], "HSET", "redlock.fence:two", "a", "1", "b", "2", NULL);
    audit(&c, &all);
    CHECK_HAS("2 counters", find(&all, &c, 2, "fencing")->text);
    /* A fenced lock of the name mends it. */
    redlock *r = client_open_warm(&c, 0);
    redlock_request q = {.size = sizeof q, .flags = REDLOCK_FENCED};
    redlock_lock *lock = NULL;
    CHECK_OK(redlock_acquire(r, "job", TTL_MS, &q, &lock));
    client_unlock(lock);
    redlock_close(r);
    audit(&c, &all);
    expect(&all, &c, 1, "fencing", REDLOCK_CHECK_OK);
}

/* ---- rights and silence ------------------------------------------------------------------ */

static void add_user(struct cluster *c, int node, const char *const *rights)
{
    const struct server *s = &c->node[node];
    CHECK_STR("OK", server_cmd(s, "ACL", "SETUSER", "locker", "reset", "on", ">secret",
                               "~redlock*", "-@all", NULL));
    for (size_t i = 0; rights[i] != NULL; i++)
        CHECK_STR("OK", server_cmd(s, "ACL", "SETUSER", "locker", rights[i], NULL));
    snprintf(c->url[node], sizeof c->url[node], "redis://locker:secret@127.0.0.1:%d",
             s->port.number);
}

/* `word` is in what was found, `remedy` in what to do about it. */
static void lacks_right(const char *const *rights, const char *word, const char *remedy)
{
    struct cluster c;
    struct findings all;
    cluster_start(&c, 3);
    add_user(&c, 1, rights);
    audit(&c, &all);
    expect(&all, &c, 1, "rights", REDLOCK_CHECK_FAIL);
    expect(&all, &c, 0, "rights", REDLOCK_CHECK_OK);
    if (strstr(find(&all, &c, 1, "rights")->text, word) == NULL) {
        print(&all);
        FAIL("expected \"%s\" in the text", word);
    }
    CHECK_HAS(remedy, find(&all, &c, 1, "rights")->remedy);
    CHECK_HAS("redlock(1)", find(&all, &c, 1, "rights")->remedy);
    expect_only(&all, (const char *const[]){"rights", "fencing", "waiting", "kinds", NULL});
}

CASE(no_right_to_set,
     "The audit fails the rights of a user without SET, and says that no acquire works.")
{
    static const char *const rights[] = {"+get",   "+pttl",    "+del",  "+pexpire",
                                         "+eval",  "+ping",    "+info", "+time",
                                         "+hmget", "+evalsha", NULL};
    lacks_right(rights, "acquire", "ACL SETUSER locker +set");
}

CASE(no_right_to_scripts, "The audit fails the rights of a user without EVAL and EVALSHA.")
{
    static const char *const rights[] = {"+get",  "+set",  "+pttl", "+del",   "+pexpire",
                                         "+ping", "+info", "+time", "+hmget", NULL};
    lacks_right(rights, "extend", "ACL SETUSER locker +eval");
}

CASE(no_right_inside_scripts,
     "The audit fails the rights of a user without DEL, which the release script calls.")
{
    static const char *const rights[] = {"+get",   "+set",     "+pttl", "+pexpire",
                                         "+eval",  "+evalsha", "+ping", "+info",
                                         "+hmget", "+time",    NULL};
    lacks_right(rights, "release", "rights");
}

#define MUTEX_RIGHTS                                                                           \
    "+get", "+set", "+pttl", "+del", "+pexpire", "+exists", "+zrange", "+zscore", "+publish",  \
        "+eval", "+evalsha", "+ping"

/* One node of three has a user with these rights: warnings of these names, and no others. */
static void expect_warnings(const char *const *rights, const char *const *names)
{
    struct cluster c;
    struct findings all;
    cluster_start(&c, 3);
    add_user(&c, 1, rights);
    audit(&c, &all);
    for (size_t i = 0; names[i] != NULL; i++) {
        expect(&all, &c, 1, names[i], REDLOCK_CHECK_WARN);
        expect(&all, &c, 0, names[i], REDLOCK_CHECK_OK);
    }
    expect_only(&all, names);
    CHECK(cluster_await_empty(&c, 1000));
}

CASE(no_right_to_tokens,
     "The audit warns about fencing alone when the user may not touch the counters.")
{
    static const char *const rights[] = {
        "+@all", "resetkeys", "~redlock:*", "~redlock.q*", "~redlock.a*", "&*", NULL};
    expect_warnings(rights, (const char *const[]){"fencing", "waiting", "kinds", NULL});
}

CASE(no_right_to_queue,
     "The audit of a user with rights for a mutex alone warns about tokens, waiting and kinds.")
{
    static const char *const rights[] = {MUTEX_RIGHTS, "+info", "+time", "+hmget", NULL};
    expect_warnings(rights, (const char *const[]){"fencing", "waiting", "kinds", NULL});
}

CASE(no_right_to_subscribe, "The audit of a user without SUBSCRIBE warns about waiting alone.")
{
    static const char *const rights[] = {"+@all", "-subscribe", "&*", NULL};
    expect_warnings(rights, (const char *const[]){"waiting", NULL});
}

CASE(no_right_to_kinds,
     "The audit of a user without HGET names re-entrant locks and semaphores.")
{
    static const char *const rights[] = {"+@all", "-hget", "&*", NULL};
    expect_warnings(rights, (const char *const[]){"kinds", NULL});
}

CASE(silent_servers, "The audit of nodes without INFO, TIME and CONFIG says unknown, never ok.")
{
    static const char *const rights[] = {MUTEX_RIGHTS, NULL};
    static const char *const untold[] = {"role", "identity", "eviction", "persistence",
                                         "clock"};
    struct cluster c;
    struct findings all;
    cluster_start(&c, 3);
    for (int i = 0; i < 3; i++)
        add_user(&c, i, rights);
    audit(&c, &all);
    for (int i = 0; i < 3; i++) {
        for (size_t n = 0; n < sizeof untold / sizeof untold[0]; n++)
            expect(&all, &c, i, untold[n], REDLOCK_CHECK_UNKNOWN);
        expect(&all, &c, i, "reachable", REDLOCK_CHECK_OK);
        expect(&all, &c, i, "rights", REDLOCK_CHECK_OK);
        expect(&all, &c, i, "guard", REDLOCK_CHECK_WARN); /* of unknown age: not trusted */
    }
    expect(&all, &c, -1, "versions", REDLOCK_CHECK_UNKNOWN);
}

CASE(wrong_password,
     "The audit of a node that refuses the password fails as unreachable and says why.")
{
    static const char *const rights[] = {"+@all", NULL};
    struct cluster c;
    struct findings all;
    cluster_start(&c, 3);
    add_user(&c, 0, rights);
    snprintf(c.url[0], sizeof c.url[0], "redis://locker:wrong@127.0.0.1:%d",
             c.node[0].port.number);
    audit(&c, &all);
    expect(&all, &c, 0, "reachable", REDLOCK_CHECK_FAIL);
    CHECK_HAS("password", find(&all, &c, 0, "reachable")->remedy);
    CHECK_LACKS("wrong@", find(&all, &c, 0, "reachable")->text);
}
