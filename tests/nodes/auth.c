/* SPDX-License-Identifier: BSD-2-Clause */
/* Users, passwords and rights; and that secrets stay secret. */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASSWORD "s3cr3t-p@ss/w:rd"
#define ENCODED "s3cr3t-p%40ss%2Fw%3Ard"

static void start_protected(struct cluster *c, size_t count)
{
    static const char *const arguments[] = {"--requirepass", PASSWORD, NULL};
    memset(c, 0, sizeof *c);
    c->count = count;
    for (size_t i = 0; i < count; i++) {
        server_init(&c->node[i], arguments, PASSWORD);
        server_launch(&c->node[i]);
        snprintf(c->url[i], sizeof c->url[i], "redis://127.0.0.1:%d", c->node[i].port.number);
        c->urls[i] = c->url[i];
    }
    for (size_t i = 0; i < count; i++) {
        server_ready(&c->node[i]);
        server_admit(&c->node[i]);
    }
}

/* Looks for the secret wherever the library says something. */
static void check_silence(const redlock_report *report, redlock *r)
{
    CHECK_LACKS("s3cr3t", redlock_detail());
    CHECK_LACKS("s3cr3t", report_text(report));
    for (size_t i = 0; i < report->node_count; i++) {
        redlock_node_info info = {.size = sizeof info};
        CHECK_OK(redlock_node(r, i, &info));
        CHECK_LACKS("s3cr3t", info.address);
        CHECK_LACKS("s3cr3t", info.text);
        CHECK_LACKS("s3cr3t", report->node[i].address);
    }
}

static int try_with(const redlock_options *o, int *auth_votes)
{
    redlock_report report = {.size = sizeof report};
    redlock_request q = {.size = sizeof q, .report = &report, .wait_ms = 1000};
    redlock_lock *lock = NULL;
    redlock *r = client_open_with(o);
    int error = redlock_acquire(r, "x", 10000, &q, &lock);
    check_silence(&report, r);
    if (lock != NULL)
        client_unlock(lock);
    if (auth_votes != NULL)
        *auth_votes = report_votes(&report, REDLOCK_VOTE_AUTH);
    redlock_close(r);
    return error;
}

CASE(password_in_url, "A password in the URL, percent-encoded, is used and never shown.")
{
    struct cluster c;
    start_protected(&c, 3);
    for (int i = 0; i < 3; i++)
        snprintf(c.url[i], sizeof c.url[i], "redis://:%s@127.0.0.1:%d", ENCODED,
                 c.node[i].port.number);
    redlock_options o = client_options(&c);
    CHECK_OK(try_with(&o, NULL));
}

CASE(password_in_options, "A password in the options is used where the URL has none.")
{
    struct cluster c;
    start_protected(&c, 3);
    redlock_options o = client_options(&c);
    o.password = PASSWORD;
    CHECK_OK(try_with(&o, NULL));
    /* The URL's own password has precedence: this one is wrong. */
    for (int i = 0; i < 3; i++)
        snprintf(c.url[i], sizeof c.url[i], "redis://:s3cr3t-wrong@127.0.0.1:%d",
                 c.node[i].port.number);
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, NULL));
}

CASE(password_in_file, "The first line of the password file is the password.")
{
    struct cluster c;
    char path[128];
    start_protected(&c, 3);
    snprintf(path, sizeof path, "%s/password", check_dir());
    redlock_options o = client_options(&c);
    o.password_file = path;
    static const char *const contents[] = {PASSWORD, PASSWORD "\n", PASSWORD "\nsecond line\n",
                                           PASSWORD "\r\n"};
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        FILE *f = fopen(path, "w");
        fputs(contents[i], f);
        fclose(f);
        CHECK_OK(try_with(&o, NULL));
    }
}

CASE(wrong_password, "A wrong password on a majority is AUTH at once, without waiting.")
{
    struct cluster c;
    int votes = 0;
    start_protected(&c, 3);
    redlock_options o = client_options(&c);
    o.password = "s3cr3t-wrong";
    int64_t start_ms = now_ms();
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, &votes));
    CHECK_BETWEEN(0, 500 + SLACK_MS, now_ms() - start_ms);
    CHECK(votes >= 2);
}

CASE(no_password, "No password where one is needed is AUTH.")
{
    struct cluster c;
    int votes = 0;
    start_protected(&c, 3);
    redlock_options o = client_options(&c);
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, &votes));
    CHECK(votes >= 2);
    CHECK_INT(0, server_keys(&c.node[0]));
}

CASE(wrong_password_on_a_minority, "One node that refuses the password is outvoted.")
{
    struct cluster c;
    start_protected(&c, 3);
    redlock_options o = client_options(&c);
    o.password = PASSWORD;
    snprintf(c.url[1], sizeof c.url[1], "redis://:s3cr3t-wrong@127.0.0.1:%d",
             c.node[1].port.number);
    CHECK_OK(try_with(&o, NULL));
}

/* The default user of these servers may do anything: only our own care keeps us from it. */
CASE(wrong_login_runs_nothing,
     "A node where the login fails gets no SET and no script as another user.")
{
    struct cluster c;
    cluster_start(&c, 3);
    redlock_options o = client_options(&c);
    o.password = PASSWORD; /* these servers have none */
    for (int i = 0; i < 3; i++)
        server_forget_commands(&c.node[i]);
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, NULL));
    o.username = "nobody";
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, NULL));
    for (int i = 0; i < 3; i++) {
        CHECK_LACKS("set ", server_commands(&c.node[i]));
        CHECK_LACKS("eval", server_commands(&c.node[i]));
    }
}

CASE(password_changed,
     "A client keeps its connection after a change of password, and is AUTH after a reconnect.")
{
    struct cluster c;
    start_protected(&c, 1);
    redlock_options o = client_options(&c);
    o.password = PASSWORD;
    redlock *r = client_open_with(&o);
    client_unlock(client_lock(r, "x", 10000));
    CHECK_STR("OK", server_cmd(&c.node[0], "CONFIG", "SET", "requirepass", "new", NULL));
    c.node[0].password = "new";
    CHECK_HAS(
        "", server_cmd(&c.node[0], "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL));
    redlock_request q = {.size = sizeof q, .wait_ms = 3000};
    redlock_lock *lock = NULL;
    CHECK_ERR(REDLOCK_AUTH, redlock_acquire(r, "x", 10000, &q, &lock));
    redlock_close(r);
}

/* ---- access control lists ---------------------------------------------------------------- */

/* A plain mutex works without waiters, and a request that would wait is refused in words. */
#define MUTEX_RIGHTS                                                                           \
    "+set", "+get", "+pttl", "+pexpire", "+del", "+exists", "+zrange", "+zscore", "+publish",  \
        "+eval", "+evalsha", "+ping"
/* To be sure of the nodes. */
#define GUARD_RIGHTS "+info", "+time", "+hmget"
/* The queue, every kind, several names, tokens, strict mode, looking and listing. */
#define OTHER_RIGHTS                                                                           \
    "+type", "+getrange", "+hincrby", "+pexpireat", "+scan", "+hget", "+hset", "+hdel",        \
        "+hlen", "+hgetall", "+hexists", "+zadd", "+zrem", "+zrank", "+zcard", "+zcount",      \
        "+zrevrange", "+zrangebyscore", "+zremrangebyscore"
/* Conveniences: scripts are sent once, waiters are woken, connections have a name. */
#define USEFUL_RIGHTS "+script|load", "+subscribe", "+client|setname"

static void add_user(const struct cluster *c, const char *user, const char *const *rights)
{
    for (size_t i = 0; i < c->count; i++) {
        CHECK_STR("OK", server_cmd(&c->node[i], "ACL", "SETUSER", user, "reset", "on",
                                   ">" PASSWORD, "resetkeys", "resetchannels", "-@all",
                                   "~redlock*", "&redlock*", NULL));
        for (size_t k = 0; rights[k] != NULL; k++)
            CHECK_STR("OK", server_cmd(&c->node[i], "ACL", "SETUSER", user, rights[k], NULL));
    }
}

static const char *const all_rights[] = {MUTEX_RIGHTS, GUARD_RIGHTS, OTHER_RIGHTS,
                                         USEFUL_RIGHTS, NULL};

static void use_user(struct cluster *c, const char *user)
{
    for (size_t i = 0; i < c->count; i++)
        snprintf(c->url[i], sizeof c->url[i], "redis://%s:%s@127.0.0.1:%d", user, ENCODED,
                 c->node[i].port.number);
}

static void check_mutex(const struct cluster *c, uint32_t flags)
{
    redlock_options o = client_options(c);
    o.flags = flags;
    redlock *r = client_open_with(&o);
    client_warm(r);
    for (int i = 0; i < 3; i++) {
        redlock_lock *lock = client_lock(r, "x", 10000);
        CHECK_OK(redlock_extend(lock, 20000));
        CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
        client_unlock(lock);
    }
    CHECK(cluster_await_empty(c, 1000));
    redlock_close(r);
}

static void note_name(const char *name, void *data)
{
    CHECK_STR("kind", name);
    ++*(int *)data;
}

/* One of a kind: held, renewed, seen, listed and given back. */
static void check_kind(redlock *r, const redlock_request *q)
{
    redlock_info info = {.size = sizeof info};
    redlock_lock *lock = NULL, *adopted = NULL;
    int listed = 0;
    CHECK_OK(redlock_acquire(r, "kind", 10000, q, &lock));
    CHECK_OK(redlock_extend(lock, 20000));
    CHECK_OK(redlock_query(r, "kind", &info, NULL));
    CHECK_INT(q->kind, info.kind);
    if (q->more_name_count == 0) {
        CHECK_OK(redlock_list(r, note_name, &listed));
        CHECK_INT(1, listed);
        CHECK_OK(redlock_adopt(r, "kind", redlock_value(lock), &adopted));
        CHECK_OK(redlock_extend(adopted, 30000));
        redlock_lock_free(adopted);
    }
    client_unlock(lock);
}

static void check_kinds(const struct cluster *c, uint32_t flags)
{
    static const char *const more[] = {"other"};
    const redlock_request requests[] = {
        {.size = sizeof requests[0], .kind = REDLOCK_MUTEX, .flags = REDLOCK_FENCED},
        {.size = sizeof requests[0], .kind = REDLOCK_SHARED, .flags = REDLOCK_FAIR},
        {.size = sizeof requests[0], .kind = REDLOCK_REENTRANT, .flags = REDLOCK_FENCED},
        {.size = sizeof requests[0], .kind = REDLOCK_SEMAPHORE, .slots = 2},
        {.size = sizeof requests[0], .more_names = more, .more_name_count = 1},
    };
    redlock_options o = client_options(c);
    o.flags = flags;
    redlock *r = client_open_with(&o);
    client_warm(r);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        check_kind(r, &requests[i]);
    redlock_close(r);
}

/* Another client has it and lets it go: how long until we have it? */
static int64_t wait_for_turn(const struct cluster *c, int kind)
{
    redlock *holder = client_open_warm(c, 0), *waiter = client_open_warm(c, 0);
    redlock_lock *held = client_lock(holder, "turn", 20000), *lock = NULL;
    struct result result = {0};
    redlock_request q = {.size = sizeof q,
                         .kind = kind,
                         .wait_ms = 10000,
                         .slots = kind == REDLOCK_SEMAPHORE ? 1 : 0,
                         .done = result_note,
                         .data = &result};
    CHECK_OK(redlock_start(waiter, "turn", 20000, &q, &lock));
    /* Long enough for a connection that listens, where that is allowed. */
    for (int64_t end_ms = now_ms() + 300; now_ms() < end_ms;)
        CHECK(redlock_process(waiter, 20) >= 0);
    CHECK_INT(0, result.calls);
    CHECK_INT(1, redlock_position(lock));
    client_unlock(held);
    int64_t start_ms = now_ms();
    while (!result.calls)
        CHECK(redlock_process(waiter, 1000) >= 0);
    int64_t took_ms = now_ms() - start_ms;
    CHECK_OK(result.error);
    client_unlock(lock);
    redlock_close(waiter);
    redlock_close(holder);
    return took_ms;
}

CASE(minimal_rights, "A user with the documented rights can run every operation.")
{
    struct cluster c;
    cluster_start(&c, 3);
    add_user(&c, "locker", all_rights);
    use_user(&c, "locker");
    check_mutex(&c, 0);
    check_kinds(&c, 0);
    check_kinds(&c, REDLOCK_STRICT);
    for (int kind = REDLOCK_MUTEX; kind <= REDLOCK_SEMAPHORE; kind++)
        CHECK_BETWEEN(0, 200 + SLACK_MS, wait_for_turn(&c, kind));
}

CASE(rights_of_a_mutex,
     "A mutex without waiters needs only the few rights that are documented for it.")
{
    static const char *const rights[] = {MUTEX_RIGHTS, GUARD_RIGHTS, NULL};
    struct cluster c;
    cluster_start(&c, 3);
    add_user(&c, "locker", rights);
    use_user(&c, "locker");
    check_mutex(&c, 0);
}

CASE(no_right_to_load_scripts, "EVAL serves a user without the right to SCRIPT LOAD.")
{
    static const char *const rights[] = {MUTEX_RIGHTS, GUARD_RIGHTS, OTHER_RIGHTS, NULL};
    struct cluster c;
    cluster_start(&c, 3);
    add_user(&c, "locker", rights);
    use_user(&c, "locker");
    check_mutex(&c, 0);
    check_kinds(&c, 0);
}

CASE(no_right_to_subscribe,
     "A waiter without the right to SUBSCRIBE is served by its own timer.")
{
    static const char *const rights[] = {MUTEX_RIGHTS, GUARD_RIGHTS, OTHER_RIGHTS, NULL};
    struct cluster c;
    cluster_start(&c, 3);
    add_user(&c, "locker", rights);
    use_user(&c, "locker");
    CHECK_BETWEEN(0, 2000 + SLACK_MS, wait_for_turn(&c, REDLOCK_MUTEX));
    CHECK_BETWEEN(0, 2000 + SLACK_MS, wait_for_turn(&c, REDLOCK_SHARED));
}

CASE(bare_rights, "Locks work without the rights to CLIENT and INFO when the guard is off.")
{
    static const char *const rights[] = {MUTEX_RIGHTS, NULL};
    struct cluster c;
    cluster_start(&c, 3);
    add_user(&c, "locker", rights);
    use_user(&c, "locker");
    check_mutex(&c, REDLOCK_NO_GUARD); /* their age cannot be known */
}

CASE(username_in_options, "User and password of the options are used where the URL has none.")
{
    struct cluster c;
    cluster_start(&c, 3);
    add_user(&c, "locker", all_rights);
    redlock_options o = client_options(&c);
    o.username = "locker";
    o.password = PASSWORD;
    CHECK_OK(try_with(&o, NULL));
    CHECK_HAS("locker", server_cmd(&c.node[0], "ACL", "LIST", NULL));
    o.username = "nobody";
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, NULL));
}

CASE(foreign_prefix, "A key outside of the user's rights is AUTH, in the server's words.")
{
    struct cluster c;
    cluster_start(&c, 3);
    add_user(&c, "locker", all_rights);
    use_user(&c, "locker");
    redlock_options o = client_options(&c);
    o.prefix = "other:";
    int votes = 0;
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, &votes));
    CHECK(votes >= 2);
}
