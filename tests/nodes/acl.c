/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access control lists: the rights that the manual pages print are enough, word for word, and a
 * client that has them makes no server note a refusal.
 */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#define PASSWORD "s3cr3t-p@ss/w:rd"
#define ENCODED "s3cr3t-p%40ss%2Fw%3Ard"

enum { WORDS_MAX = 96, TEXT_SIZE = 4096 };

/* The words of a rule, as ACL SETUSER takes them. */
struct rights {
    int count;
    const char *word[WORDS_MAX];
    char text[TEXT_SIZE];
};

/* The manual page from `head` on, up to `end`; what is printed there is what is tested. */
static void read_manual(const char *path, const char *head, const char *end, char *out)
{
    static char page[256 * 1024];
    FILE *f = fopen(path, "r");
    const char *from, *to;
    CHECK(f != NULL);
    page[fread(page, 1, sizeof page - 1, f)] = '\0';
    fclose(f);
    from = strstr(page, head);
    CHECK(from != NULL);
    to = strstr(from, end);
    CHECK(to != NULL && to - from < TEXT_SIZE);
    memcpy(out, from, (size_t)(to - from));
    out[to - from] = '\0';
}

/* Keys, channels and commands of such a text; the macros and other words are left out. */
static void collect_rights(struct rights *r)
{
    char *save;
    r->count = 0;
    for (char *word = strtok_r(r->text, " \n", &save); word != NULL;
         word = strtok_r(NULL, " \n", &save)) {
        CHECK(r->count < WORDS_MAX);
        if (strchr("~&+-", word[0]) != NULL)
            r->word[r->count++] = word;
    }
    CHECK(r->count > 5);
}

/* "An ACL user with the rights for everything but listing", of
 * libredlock(3) or redlock-nodes(7). */
static void documented_rights(struct rights *r, const char *path)
{
    read_manual(path, "ACL SETUSER locker", ".Ed", r->text);
    CHECK(strstr(r->text, "resetkeys resetchannels -@all") != NULL);
    collect_rights(r);
}

static void mutex_rights(struct rights *r)
{
    read_manual(MAN_DIR "/libredlock.3", "plain mutexes and never waits needs", ".Pq", r->text);
    collect_rights(r);
}

static void set_user(const struct cluster *c, const char *user, const char *rule)
{
    for (size_t i = 0; i < c->count; i++) {
        const char *reply = server_cmd(&c->node[i], "ACL", "SETUSER", user, rule, NULL);
        if (rule[0] == '&' && strcmp(reply, "OK") != 0)
            check_skip("this server has no rights for channels (before 6.2): %s", reply);
        CHECK_STR("OK", reply);
    }
}

static void add_user(const struct cluster *c, const char *user, const struct rights *r)
{
    static const char *const first[] = {"reset", "on", ">" PASSWORD};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        set_user(c, user, first[i]);
    for (int i = 0; i < r->count; i++)
        set_user(c, user, r->word[i]);
}

static void add_documented(const struct cluster *c, const char *user)
{
    struct rights r;
    documented_rights(&r, MAN_DIR "/libredlock.3");
    add_user(c, user, &r);
}

/* Nothing was refused, and so noted, since the servers were started. */
static void check_acl_log_empty(const struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        CHECK_STR("", server_cmd(&c->node[i], "ACL", "LOG", NULL));
}

static void use_user(struct cluster *c, const char *user)
{
    for (size_t i = 0; i < c->count; i++)
        snprintf(c->url[i], sizeof c->url[i], "redis://%s:%s@127.0.0.1:%d", user, ENCODED,
                 c->node[i].port.number);
}

static void check_mutex(const struct cluster *c, uint32_t flags)
{
    redlock *r = CLIENT_OPEN(c, .flags = flags);
    client_warm(r);
    for (int i = 0; i < 3; i++) {
        redlock_lock *lock = client_lock(r, "x", 10000);
        CHECK_OK(redlock_extend(lock, 20000));
        CHECK_ERR(REDLOCK_BUSY, client_try(r, "x", 10000));
        client_unlock(lock);
    }
    CHECK(cluster_await_empty(c));
    client_close(r);
}

/* One of a kind: held, renewed, seen, listed if that is allowed, and given back. */
static void check_kind(redlock *r, const redlock_request *q, bool lists)
{
    redlock_lock *lock = NULL, *adopted = NULL;
    CHECK_OK(redlock_acquire(r, "kind", 10000, q, &lock));
    CHECK_OK(redlock_extend(lock, 20000));
    CHECK_INT(q->kind, client_query(r, "kind").kind);
    if (q->more_name_count == 0) {
        redlock_answer *answer = NULL;
        if (lists) {
            CHECK_OK(redlock_list(r, &answer));
            CHECK_INT(1, answer->name_count);
            CHECK_STR("kind", answer->names[0]);
            redlock_answer_free(answer);
        }
        CHECK_OK(redlock_adopt(r, "kind", redlock_value(lock), NULL, &adopted));
        CHECK_OK(redlock_extend(adopted, 30000));
        redlock_lock_free(adopted);
    }
    client_unlock(lock);
}

static void check_kinds(const struct cluster *c, uint32_t flags, bool lists)
{
    static const char *const more[] = {"other"};
    const redlock_request requests[] = {
        REDLOCK_REQUEST(.kind = REDLOCK_MUTEX, .flags = REDLOCK_FENCED),
        REDLOCK_REQUEST(.kind = REDLOCK_SHARED, .flags = REDLOCK_FAIR),
        REDLOCK_REQUEST(.kind = REDLOCK_REENTRANT, .flags = REDLOCK_FENCED),
        REDLOCK_REQUEST(.kind = REDLOCK_SEMAPHORE, .slots = 2),
        REDLOCK_REQUEST(.more_names = more, .more_name_count = 1),
    };
    redlock *r = CLIENT_OPEN(c, .flags = flags);
    client_warm(r);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        check_kind(r, &requests[i], lists);
    client_close(r);
}

/* Another client has it and lets it go: then we have it. */
static void wait_for_turn(const struct cluster *c, int kind)
{
    redlock *holder = client_open_warm(c, 0), *waiter = client_open_warm(c, 0);
    redlock_lock *held = client_lock(holder, "turn", 20000), *lock = NULL;
    lock = CLIENT_START(waiter, "turn", 20000, .kind = kind, .wait_ms = GIVE_UP_MS,
                        .slots = redlock_kind_traits(kind) & REDLOCK_KIND_SLOTS ? 1 : 0);
    AWAIT_DOING(redlock_position(lock) == 1, next_event(waiter, 20));
    /* Long enough for a connection that listens, where that is allowed. */
    for (int64_t end_ms = now_ms() + 300; now_ms() < end_ms; sleep_ms(5))
        NO_EVENT(waiter);
    client_unlock(held);
    EXPECT(waiter, ACQUIRED, REDLOCK_OK, lock);
    client_unlock(lock);
    client_close(waiter);
    client_close(holder);
}

static void check_documented(struct cluster *c, const char *path)
{
    struct rights r;
    documented_rights(&r, path);
    add_user(c, "locker", &r);
    use_user(c, "locker");
    check_mutex(c, 0);
    check_kinds(c, 0, false);
    check_kinds(c, REDLOCK_STRICT, false);
    for (int kind = 0; redlock_kind_traits(kind); kind++)
        wait_for_turn(c, kind);
    check_acl_log_empty(c);
    set_user(c, "locker", "+scan");
    check_kinds(c, 0, true);
    check_acl_log_empty(c);
}

CASE_OF_ON(rights_of_libredlock,
           "With the rights that libredlock(3) prints "
           "all works but listing, and nothing is refused.",
           check_documented(c, MAN_DIR "/libredlock.3"), .clients = NO_CLIENT);

CASE_OF_ON(rights_of_redlock, "The rights that redlock-nodes(7) prints are enough as well.",
           check_documented(c, MAN_DIR "/redlock-nodes.7"), .clients = NO_CLIENT);

CASE_NODES(listing_needs_scan,
           "Without the right to SCAN nothing can be listed, and the server says so.")
{
    add_documented(c, "locker");
    use_user(c, "locker");
    r = client_open_warm(c, 0);
    CHECK_ERR(REDLOCK_AUTH, redlock_list(r, NULL));
}

CASE_NODES(rights_of_a_mutex,
           "A mutex without waiters needs only the short list of libredlock(3).")
{
    struct rights rights;
    mutex_rights(&rights);
    add_user(c, "locker", &rights);
    set_user(c, "locker", "~redlock*");
    use_user(c, "locker");
    check_mutex(c, 0);
    check_acl_log_empty(c);
}

CASE_NODES(rights_of_an_operator,
           "A user that only admits nodes needs what libredlock(3) says.")
{
    struct rights rights;
    redlock *client;
    read_manual(MAN_DIR "/libredlock.3", ".Li ~redlock.admit", ",\n", rights.text);
    collect_rights(&rights);
    add_user(c, "operator", &rights);
    use_user(c, "operator");
    client = CLIENT_OPEN(c, .flags = REDLOCK_NO_NATIVE);
    CHECK_OK(redlock_admit(client, NULL));
    client_close(client);
    check_acl_log_empty(c);
}

CASE_NODES(native_is_asked_for_once,
           "A client without the right to scripts asks a node for native commands once.",
           .nodes = 1)
{
    struct rights rights;
    redlock *client;
    read_manual(MAN_DIR "/libredlock.3", ".Li ~redlock.admit", ",\n", rights.text);
    collect_rights(&rights);
    add_user(c, "operator", &rights);
    set_user(c, "operator", "-eval");
    use_user(c, "operator");
    client = client_open_warm(c, 0);
    CHECK_HAS("count",
              server_cmd(&c->node[0], "ACL", "LOG", NULL)); /* the script was refused */
    CHECK_STR("OK", server_cmd(&c->node[0], "ACL", "LOG", "RESET", NULL));
    for (int i = 0; i < 3; i++) {
        CHECK_HAS("", server_cmd(&c->node[0], "CLIENT", "KILL", "TYPE", "normal", "SKIPME",
                                 "yes", NULL));
        client_warm(client);
    }
    check_acl_log_empty(c);
}

CASE_NODES(native_without_the_right,
           "A server that could delete by itself, and may not, notes nothing.")
{
    add_documented(c, "locker"); /* neither +delifeq nor +delex */
    use_user(c, "locker");
    check_mutex(c, 0);
    check_acl_log_empty(c);
}

CASE_NODES(bare_rights,
           "Locks work without the rights to CLIENT and INFO when the guard is off.")
{
    static const char *const missing[] = {"-info", "-time", "-hmget", "-client|setname"};
    struct rights rights;
    mutex_rights(&rights);
    add_user(c, "locker", &rights);
    set_user(c, "locker", "~redlock*");
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        set_user(c, "locker", missing[i]);
    use_user(c, "locker");
    check_mutex(c, REDLOCK_NO_GUARD); /* their age cannot be known */
}
