/* SPDX-License-Identifier: BSD-2-Clause */
/* The audit of users that may not do all, and of servers that hide things. */
#include "findings.h"
#include "fixture.h"

#include <stdio.h>
#include <string.h>

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
        print_findings(&all);
        FAIL("expected \"%s\" in the text", word);
    }
    CHECK_HAS(remedy, find(&all, &c, 1, "rights")->remedy);
    CHECK_HAS("redlock-nodes(7)", find(&all, &c, 1, "rights")->remedy);
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
    CHECK(cluster_await_empty(&c));
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

CASE_NODES(silent_servers,
           "The audit of nodes without INFO, TIME and CONFIG says unknown, never ok.")
{
    static const char *const rights[] = {MUTEX_RIGHTS, NULL};
    static const char *const hidden[] = {"role", "identity", "eviction", "persistence",
                                         "clock"};
    struct findings all;
    for (int i = 0; i < 3; i++)
        add_user(c, i, rights);
    audit(c, &all);
    for (int i = 0; i < 3; i++) {
        for (size_t n = 0; n < sizeof hidden / sizeof hidden[0]; n++)
            expect(&all, c, i, hidden[n], REDLOCK_CHECK_UNKNOWN);
        expect(&all, c, i, "reachable", REDLOCK_CHECK_OK);
        expect(&all, c, i, "rights", REDLOCK_CHECK_OK);
        expect(&all, c, i, "guard", REDLOCK_CHECK_WARN); /* of unknown age: not trusted */
    }
    expect(&all, c, -1, "versions", REDLOCK_CHECK_UNKNOWN);
}

CASE_NODES(wrong_password,
           "The audit of a node that refuses the password fails as unreachable and says why.")
{
    static const char *const rights[] = {"+@all", NULL};
    struct findings all;
    add_user(c, 0, rights);
    snprintf(c->url[0], sizeof c->url[0], "redis://locker:wrong@127.0.0.1:%d",
             c->node[0].port.number);
    audit(c, &all);
    expect(&all, c, 0, "reachable", REDLOCK_CHECK_FAIL);
    CHECK_HAS("password", find(&all, c, 0, "reachable")->remedy);
    CHECK_LACKS("wrong@", find(&all, c, 0, "reachable")->text);
}
