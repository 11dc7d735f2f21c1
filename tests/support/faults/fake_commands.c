/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_commands.h"

#include "clock.h"
#include "fake_store.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct context {
    struct fake_shared *shared;
    const struct fake_request *q;
    char *reply;
};

enum { SCRIPTS_MAX = 16 };

/* The scripts of a plain mutex, told apart by what they call. */
enum script {
    SCRIPT_DELETE,
    SCRIPT_RENEW,
    SCRIPT_TICKET,
    SCRIPT_WAIT,
    SCRIPT_PEEK,
    SCRIPT_GIVE_BACK,
    SCRIPT_NATIVE
};

static struct {
    char sha[41];
    enum script script;
} scripts[SCRIPTS_MAX];

static void say(struct context *c, const char *text)
{
    snprintf(c->reply, FAKE_REPLY_MAX, "%s\r\n", text);
}

static void say_int(struct context *c, long long value)
{
    snprintf(c->reply, FAKE_REPLY_MAX, ":%lld\r\n", value);
}

static void say_bulk(struct context *c, const char *text)
{
    snprintf(c->reply, FAKE_REPLY_MAX, "$%zu\r\n%s\r\n", strlen(text), text);
}

static const char *arg(const struct context *c, int index)
{
    return index < c->q->argc ? c->q->argv[index] : "";
}

static bool is(const struct context *c, int index, const char *word)
{
    return strcasecmp(arg(c, index), word) == 0;
}

static void unknown(struct context *c)
{
    snprintf(c->reply, FAKE_REPLY_MAX,
             "-ERR unknown command '%.64s', with args beginning with: \r\n", arg(c, 0));
}

/* True when the command may run; otherwise the refusal has been said. */
static bool able(struct context *c, int ability)
{
    if (ability == FAKE_ABSENT)
        unknown(c);
    else if (ability == FAKE_DENIED)
        say(c, "-NOPERM this user has no permissions to run this command");
    return ability == FAKE_PRESENT;
}

static bool holds(const char *key, const char *value)
{
    struct fake_key *k = fake_store_find(key);
    return k != NULL && strcmp(k->value, value) == 0;
}

static int compare_and_delete(const char *key, const char *value)
{
    if (!holds(key, value))
        return 0;
    fake_store_delete(fake_store_find(key));
    return 1;
}

static long long ttl_ms(const struct fake_key *k)
{
    return k->end_ns == 0 ? -1 : (k->end_ns - now_ns()) / 1000000;
}

static long long pttl_of(const char *key)
{
    struct fake_key *k = fake_store_find(key);
    return k == NULL ? -2 : ttl_ms(k);
}

static int compare_and_renew(const char *key, const char *value, const char *ttl)
{
    if (!holds(key, value))
        return 0;
    if (ttl_ms(fake_store_find(key)) < atoll(ttl))
        fake_store_set(key, value, atoll(ttl));
    return 1;
}

static void do_set(struct context *c)
{
    bool nx = false;
    const char *compare = NULL;
    long long ttl = 0;
    for (int i = 3; i < c->q->argc; i++) {
        if (is(c, i, "NX"))
            nx = true;
        else if (is(c, i, "PX"))
            ttl = atoll(arg(c, ++i));
        else if (is(c, i, "IFEQ") && c->shared->set_ifeq == FAKE_PRESENT)
            compare = arg(c, ++i);
        else {
            say(c, "-ERR syntax error");
            return;
        }
    }
    if ((nx && fake_store_find(arg(c, 1)) != NULL) ||
        (compare != NULL && !holds(arg(c, 1), compare))) {
        say(c, "$-1");
        return;
    }
    fake_store_set(arg(c, 1), arg(c, 2), ttl);
    say(c, "+OK");
}

static void do_get(struct context *c)
{
    struct fake_key *k = fake_store_find(arg(c, 1));
    if (k == NULL)
        say(c, "$-1");
    else
        say_bulk(c, k->value);
}

static void do_pttl(struct context *c)
{
    say_int(c, pttl_of(arg(c, 1)));
}

static void do_del(struct context *c)
{
    struct fake_key *k = fake_store_find(arg(c, 1));
    if (k != NULL)
        fake_store_delete(k);
    say_int(c, k != NULL);
}

static void do_delifeq(struct context *c)
{
    if (!able(c, c->shared->delifeq))
        return;
    if (c->q->argc != 3)
        say(c, "-ERR wrong number of arguments for 'delifeq' command");
    else
        say_int(c, compare_and_delete(arg(c, 1), arg(c, 2)));
}

static void do_delex(struct context *c)
{
    if (!able(c, c->shared->delex))
        return;
    if (c->q->argc == 2)
        do_del(c); /* the trap: no condition, no mercy */
    else if (c->q->argc == 4 && is(c, 2, "IFEQ"))
        say_int(c, compare_and_delete(arg(c, 1), arg(c, 3)));
    else
        say(c, "-ERR syntax error");
}

static void hash(const char *text, char hex[41])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    EVP_Digest(text, strlen(text), digest, NULL, EVP_sha1(), NULL);
    for (int i = 0; i < 20; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static enum script script_of(const char *text)
{
    if (strstr(text, "acl_check_cmd"))
        return SCRIPT_NATIVE;
    if (strstr(text, "local is_first"))
        return SCRIPT_WAIT;
    if (strstr(text, "call('ZCARD', KEYS[2])}"))
        return SCRIPT_PEEK;
    if (strstr(text, "return {ticket, left}"))
        return SCRIPT_TICKET;
    if (strstr(text, "give_back"))
        return SCRIPT_GIVE_BACK;
    return strstr(text, "PEXPIRE") ? SCRIPT_RENEW : SCRIPT_DELETE;
}

static void remember(const char *text, char sha[41])
{
    size_t i = 0;
    hash(text, sha);
    while (i < SCRIPTS_MAX - 1 && scripts[i].sha[0] != '\0' && strcmp(scripts[i].sha, sha) != 0)
        i++;
    memcpy(scripts[i].sha, sha, 41);
    scripts[i].script = script_of(text);
}

static void do_script(struct context *c)
{
    if (is(c, 1, "LOAD")) {
        char sha[41];
        if (!able(c, c->shared->script_load))
            return;
        remember(arg(c, 2), sha);
        say_bulk(c, sha);
    } else if (is(c, 1, "FLUSH")) {
        memset(scripts, 0, sizeof scripts);
        say(c, "+OK");
    } else {
        unknown(c);
    }
}

static long long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* It has no queue: the first request that finds the key free gets it. */
static void wait_for(struct context *c)
{
    long long left = pttl_of(arg(c, 3));
    if (left == -2) {
        fake_store_set(arg(c, 3), arg(c, 6), atoll(arg(c, 7)));
        say_int(c, 1);
        return;
    }
    snprintf(c->reply, FAKE_REPLY_MAX, "*6\r\n:0\r\n:%lld\r\n:%lld\r\n:1\r\n:0\r\n$0\r\n\r\n",
             left, now_us());
}

static void run_script(struct context *c, enum script script)
{
    switch (script) {
    case SCRIPT_RENEW:
        say_int(c, compare_and_renew(arg(c, 3), arg(c, 4), arg(c, 5)));
        return;
    case SCRIPT_DELETE:
        say_int(c, compare_and_delete(arg(c, 3), arg(c, 6)));
        return;
    case SCRIPT_GIVE_BACK:
        say_int(c, compare_and_delete(arg(c, 3), arg(c, 6)));
        return;
    case SCRIPT_WAIT:
        wait_for(c);
        return;
    case SCRIPT_PEEK:
        snprintf(c->reply, FAKE_REPLY_MAX, "*3\r\n:%lld\r\n$0\r\n\r\n:0\r\n",
                 pttl_of(arg(c, 3)));
        return;
    case SCRIPT_NATIVE:
        say_int(c, (c->shared->delifeq == FAKE_PRESENT ? 1 : 0) +
                       (c->shared->delex == FAKE_PRESENT ? 2 : 0) +
                       (c->shared->set_ifeq == FAKE_PRESENT ? 4 : 0));
        return;
    case SCRIPT_TICKET:
        snprintf(c->reply, FAKE_REPLY_MAX, "*2\r\n:%lld\r\n:%lld\r\n", now_us(),
                 pttl_of(arg(c, 3)));
        return;
    }
}

static void do_eval(struct context *c)
{
    char sha[41];
    if (!able(c, c->shared->eval))
        return;
    remember(arg(c, 1), sha);
    run_script(c, script_of(arg(c, 1)));
}

static void do_evalsha(struct context *c)
{
    if (!able(c, c->shared->eval))
        return;
    for (size_t i = 0; i < SCRIPTS_MAX && !c->shared->forgetful; i++) {
        if (strcasecmp(scripts[i].sha, arg(c, 1)) == 0) {
            run_script(c, scripts[i].script);
            return;
        }
    }
    /* Those of the queue it knows without being told, by the shape of their calls. */
    if (!c->shared->forgetful && is(c, 2, "3") && c->q->argc == 11) {
        run_script(c, SCRIPT_WAIT);
    } else if (!c->shared->forgetful && is(c, 2, "3") && c->q->argc == 10) {
        run_script(c, SCRIPT_GIVE_BACK);
    } else if (!c->shared->forgetful && is(c, 2, "2") && c->q->argc == 5) {
        run_script(c, SCRIPT_TICKET);
    } else {
        say(c, "-NOSCRIPT No matching script. Please use EVAL.");
    }
}

static void do_info(struct context *c)
{
    char text[512];
    snprintf(text, sizeof text,
             "# Server\r\n%s\r\nrun_id:%040d\r\nuptime_in_seconds:999999\r\n"
             "role:master\r\nmaster_replid:%040d\r\nloading:0\r\naof_enabled:0\r\n"
             "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n",
             c->shared->version_line, c->shared->identity, c->shared->identity);
    say_bulk(c, text);
}

/* It has no hashes: no marker, and none needed at that age. */
static void do_hmget(struct context *c)
{
    size_t used = (size_t)snprintf(c->reply, FAKE_REPLY_MAX, "*%d\r\n", c->q->argc - 2);
    for (int i = 2; i < c->q->argc; i++)
        used += (size_t)snprintf(c->reply + used, FAKE_REPLY_MAX - used, "$-1\r\n");
}

static void do_time(struct context *c)
{
    char seconds[32], microseconds[32];
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(seconds, sizeof seconds, "%lld", (long long)t.tv_sec);
    snprintf(microseconds, sizeof microseconds, "%ld", t.tv_nsec / 1000);
    snprintf(c->reply, FAKE_REPLY_MAX, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(seconds),
             seconds, strlen(microseconds), microseconds);
}

static void do_hello(struct context *c)
{
    if (c->q->argc > 1 && !is(c, 1, "2"))
        say(c, "-NOPROTO unsupported protocol version");
    else
        say(c, "*6\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n"
               "$5\r\nproto\r\n:2");
}

static void do_ping(struct context *c)
{
    say(c, "+PONG");
}

static void do_ok(struct context *c)
{
    say(c, "+OK");
}

static void do_subscribe(struct context *c)
{
    snprintf(c->reply, FAKE_REPLY_MAX, "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n",
             strlen(arg(c, 1)), arg(c, 1));
}

static void do_dbsize(struct context *c)
{
    say_int(c, fake_store_size());
}

static void do_exists(struct context *c)
{
    say_int(c, fake_store_find(arg(c, 1)) != NULL);
}

void fake_execute(struct fake_shared *shared, const struct fake_request *q, char *reply)
{
    static const struct {
        const char *name;
        void (*run)(struct context *);
    } table[] = {
        {"SET", do_set},       {"GET", do_get},         {"PTTL", do_pttl},
        {"DEL", do_del},       {"DELIFEQ", do_delifeq}, {"DELEX", do_delex},
        {"SCRIPT", do_script}, {"EVAL", do_eval},       {"EVALSHA", do_evalsha},
        {"INFO", do_info},     {"HELLO", do_hello},     {"PING", do_ping},
        {"CLIENT", do_ok},     {"AUTH", do_ok},         {"SELECT", do_ok},
        {"DBSIZE", do_dbsize}, {"EXISTS", do_exists},   {"HMGET", do_hmget},
        {"HSET", do_ok},       {"TIME", do_time},       {"SUBSCRIBE", do_subscribe},
    };
    struct context c = {shared, q, reply};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (is(&c, 0, table[i].name)) {
            table[i].run(&c);
            return;
        }
    }
    unknown(&c);
}
