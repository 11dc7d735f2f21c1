/* SPDX-License-Identifier: BSD-2-Clause */
/* Users, passwords and rights; and that secrets stay secret. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#define PASSWORD "s3cr3t-p@ss/w:rd"
#define ENCODED "s3cr3t-p%40ss%2Fw%3Ard"

static void start_protected(struct cluster *c, size_t count)
{
    static const char *const arguments[] = {"--requirepass", PASSWORD, NULL};
    cluster_start_as(c, count,
                     &(struct cluster_form){.extra = arguments, .password = PASSWORD});
}

/* Looks for the secret wherever the library says something. */
static void check_silence(const redlock_report *report, redlock *r)
{
    CHECK_LACKS("s3cr3t", redlock_detail());
    CHECK_LACKS("s3cr3t", report_text(report));
    for (size_t i = 0; i < report->node_count; i++) {
        redlock_node_info info = client_node(r, i);
        CHECK_LACKS("s3cr3t", info.address);
        CHECK_LACKS("s3cr3t", info.text);
        CHECK_LACKS("s3cr3t", report->node[i].address);
    }
}

/* Two nodes at least refused the last attempt, for this reason. */
static void check_refused(int reason)
{
    const redlock_report *report = redlock_failure_report();
    int refusals = 0;

    for (uint32_t i = 0; i < report->node_count; i++)
        refusals += report->node[i].vote == REDLOCK_VOTE_AUTH &&
                    report->node[i].reason == reason && report->node[i].text[0];
    CHECK(refusals >= 2);
}

static int try_with(const redlock_options *o, int *refusals)
{
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 1000);
    redlock_lock *lock = NULL;
    redlock *r = client_open_with(o);
    int error = redlock_acquire(r, "x", 10000, &q, &lock);
    const redlock_report *report = error ? redlock_failure_report() : redlock_lock_report(lock);
    check_silence(report, r);
    if (lock != NULL)
        client_unlock(lock);
    if (refusals != NULL)
        *refusals =
            report_votes(report, REDLOCK_VOTE_AUTH) + report_votes(report, REDLOCK_VOTE_NOPERM);
    client_close(r);
    return error;
}

CASE_NODES(password_in_url, "A password in the URL, percent-encoded, is used and never shown.",
           .start = start_protected)
{
    redlock_options o = client_options(c);
    for (int i = 0; i < 3; i++)
        snprintf(c->url[i], sizeof c->url[i], "redis://:%s@127.0.0.1:%d", ENCODED,
                 c->node[i].port.number);
    CHECK_OK(try_with(&o, NULL));
}

CASE_NODES(password_in_options, "A password in the options is used where the URL has none.",
           .start = start_protected)
{
    redlock_options o = client_options(c);
    o.password = PASSWORD;
    CHECK_OK(try_with(&o, NULL));
    /* The URL's own password has precedence: this one is wrong. */
    for (int i = 0; i < 3; i++)
        snprintf(c->url[i], sizeof c->url[i], "redis://:s3cr3t-wrong@127.0.0.1:%d",
                 c->node[i].port.number);
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, NULL));
}

CASE_NODES(password_in_file, "The first line of the password file is the password.",
           .start = start_protected)
{
    char path[128];
    redlock_options o = client_options(c);
    static const char *const contents[] = {PASSWORD, PASSWORD "\n", PASSWORD "\nsecond line\n",
                                           PASSWORD "\r\n"};
    snprintf(path, sizeof path, "%s/password", check_dir());
    o.password_file = path;
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        FILE *f = fopen(path, "w");
        fputs(contents[i], f);
        fclose(f);
        CHECK_OK(try_with(&o, NULL));
    }
}

CASE_NODES(wrong_password, "A wrong password on a majority is AUTH at once, without waiting.",
           .start = start_protected)
{
    redlock_options o = client_options(c);
    int64_t start_ms;
    o.password = "s3cr3t-wrong";
    o.node_timeout_ms = FAR_MS;
    start_ms = now_ms();
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, NULL));
    CHECK_BETWEEN(0, SOON_MS, now_ms() - start_ms);
    check_refused(REDLOCK_REASON_WRONG_PASSWORD);
}

CASE_NODES(no_password, "No password where one is needed is AUTH.", .start = start_protected)
{
    redlock_options o = client_options(c);
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, NULL));
    check_refused(REDLOCK_REASON_PASSWORD_NEEDED);
    CHECK_INT(0, server_keys(&c->node[0]));
}

CASE_NODES(wrong_password_on_a_minority, "One node that refuses the password is outvoted.",
           .start = start_protected)
{
    redlock_options o = client_options(c);
    o.password = PASSWORD;
    snprintf(c->url[1], sizeof c->url[1], "redis://:s3cr3t-wrong@127.0.0.1:%d",
             c->node[1].port.number);
    CHECK_OK(try_with(&o, NULL));
}

/* The default user of these servers may do anything: only our own care keeps us from it. */
CASE_NODES(wrong_login_runs_nothing,
           "A node where the login fails gets no SET and no script as another user.")
{
    redlock_options o = client_options(c);
    o.password = PASSWORD; /* these servers have none */
    for (int i = 0; i < 3; i++)
        server_forget_commands(&c->node[i]);
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, NULL));
    o.username = "nobody";
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, NULL));
    for (int i = 0; i < 3; i++) {
        CHECK_LACKS("set ", server_commands(&c->node[i]));
        CHECK_LACKS("eval", server_commands(&c->node[i]));
    }
}

CASE_NODES(password_changed,
           "A client keeps its connection after a change of password, and is AUTH "
           "after a reconnect.",
           .start = start_protected, .nodes = 1)
{
    r = CLIENT_OPEN(c, .password = PASSWORD);
    client_unlock(client_lock(r, "x", 10000));
    CHECK_STR("OK", server_cmd(&c->node[0], "CONFIG", "SET", "requirepass", "new", NULL));
    c->node[0].password = "new";
    CHECK_HAS(
        "", server_cmd(&c->node[0], "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL));
    CHECK_ERR(REDLOCK_AUTH, CLIENT_TRY(r, "x", 10000, .wait_ms = 3000));
}

static void add_user(const struct cluster *c, const char *user)
{
    for (size_t i = 0; i < c->count; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "ACL", "SETUSER", user, "reset", "on",
                                   ">" PASSWORD, "~redlock*", "&redlock*", "+@all", NULL));
}

static void use_user(struct cluster *c, const char *user)
{
    for (size_t i = 0; i < c->count; i++)
        snprintf(c->url[i], sizeof c->url[i], "redis://%s:%s@127.0.0.1:%d", user, ENCODED,
                 c->node[i].port.number);
}

CASE_NODES(username_in_options,
           "User and password of the options are used where the URL has none.")
{
    redlock_options o;
    add_user(c, "locker");
    o = client_options(c);
    o.username = "locker";
    o.password = PASSWORD;
    CHECK_OK(try_with(&o, NULL));
    CHECK_HAS("locker", server_cmd(&c->node[0], "ACL", "LIST", NULL));
    o.username = "nobody";
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, NULL));
}

CASE_NODES(foreign_prefix, "A key outside of the user's rights is AUTH, in the server's words.")
{
    redlock_options o;
    int votes = 0;
    add_user(c, "locker");
    use_user(c, "locker");
    o = client_options(c);
    o.prefix = "other:";
    CHECK_ERR(REDLOCK_AUTH, try_with(&o, &votes));
    CHECK(votes >= 2);
}
