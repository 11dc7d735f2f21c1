/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bad input: each mistake is INVAL with a sentence of its own, out-parameters stay untouched,
 * and nothing is sent.
 */
#include "check.h"
#include "client.h"
#include "clock.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sentences seen so far in this case: no two mistakes share one. */
static char seen[64][512];
static size_t seen_count;

static void expect_new_detail(const char *what)
{
    const char *detail = redlock_detail();
    if (detail[0] == '\0')
        FAIL("%s: no detail", what);
    for (size_t i = 0; i < seen_count; i++)
        if (strcmp(seen[i], detail) == 0)
            FAIL("%s: the same detail as before: %s", what, detail);
    CHECK(seen_count < 64);
    snprintf(seen[seen_count++], sizeof seen[0], "%s", detail);
}

#define INVALID(call)                                                                          \
    do {                                                                                       \
        CHECK_ERR(REDLOCK_INVAL, call);                                                        \
        expect_new_detail(#call);                                                              \
    } while (0)

/* Also INVAL, where it does not matter whether the sentence was seen before. */
#define INVALID_TOO(call)                                                                      \
    do {                                                                                       \
        CHECK_ERR(REDLOCK_INVAL, call);                                                        \
        CHECK(redlock_detail()[0] != '\0');                                                    \
    } while (0)

static redlock *const untouched = (redlock *)(uintptr_t)0x5a5a;
static redlock_lock *const untouched_lock = (redlock_lock *)(uintptr_t)0x5a5a;

static redlock_options one_node(const char *const *nodes)
{
    return (redlock_options){.size = sizeof(redlock_options), .nodes = nodes, .node_count = 1};
}

/* ---- opening ------------------------------------------------------------------------------ */

CASE(bad_options, "Options that make no sense are refused one by one.")
{
    static const char *const nodes[] = {"redis://127.0.0.1:1"};
    redlock *r = untouched;
    redlock_options o = one_node(nodes);
    char long_text[2000];
    memset(long_text, 'p', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';

    INVALID(redlock_open(NULL, &r));
    INVALID(redlock_open(&o, NULL));
    o.size = 0;
    INVALID(redlock_open(&o, &r));
    o.size = 3;
    INVALID(redlock_open(&o, &r));
    o = one_node(nodes);
    o.node_count = 0;
    INVALID(redlock_open(&o, &r));
    o = one_node(nodes);
    o.flags = 0x80;
    INVALID(redlock_open(&o, &r));
    o = one_node(nodes);
    o.max_ttl_ms = REDLOCK_TTL_LIMIT_MS + 1;
    INVALID(redlock_open(&o, &r));
    o = one_node(nodes);
    o.max_ttl_ms = REDLOCK_TTL_MIN_MS - 1;
    INVALID(redlock_open(&o, &r));
    o = one_node(nodes);
    o.retry_min_ms = 100;
    o.retry_max_ms = 50;
    INVALID(redlock_open(&o, &r));
    o = one_node(nodes);
    o.drift_ppm = 2000000;
    INVALID(redlock_open(&o, &r));
    o = one_node(nodes);
    o.prefix = long_text;
    INVALID(redlock_open(&o, &r));
    o = one_node(nodes);
    o.client_name = "two words";
    INVALID(redlock_open(&o, &r));
    o = one_node(nodes);
    o.password = "p";
    o.password_file = "/dev/null";
    INVALID(redlock_open(&o, &r));
    CHECK(r == untouched);
}

CASE(newer_struct, "A larger struct is accepted while what this library ignores is zero.")
{
    static const char *const nodes[] = {"redis://127.0.0.1:1"};
    struct {
        redlock_options options;
        char tail[64];
    } newer = {.options = one_node(nodes)};
    redlock *r = NULL;
    newer.options.size = sizeof newer;
    CHECK_OK(redlock_open(&newer.options, &r));
    redlock_close(r);
    newer.tail[63] = 1;
    r = untouched;
    INVALID(redlock_open(&newer.options, &r));
    CHECK(r == untouched);
}

CASE(node_counts, "No node and sixteen nodes are refused, fifteen are taken.")
{
    char text[16][64];
    const char *urls[16];
    redlock *r = untouched;
    for (int i = 0; i < 16; i++) {
        snprintf(text[i], sizeof text[i], "redis://127.0.0.1:%d", i + 1);
        urls[i] = text[i];
    }
    redlock_options o = one_node(urls);
    o.node_count = 16;
    INVALID(redlock_open(&o, &r));
    o.node_count = 0;
    INVALID(redlock_open(&o, &r));
    o.nodes = NULL;
    INVALID_TOO(redlock_open(&o, &r));
    o.node_count = 3;
    INVALID_TOO(redlock_open(&o, &r));
    urls[1] = NULL;
    o.nodes = urls;
    INVALID(redlock_open(&o, &r));
    CHECK(r == untouched);
    urls[1] = text[1];
    o.node_count = 15;
    CHECK_OK(redlock_open(&o, &r));
    redlock_close(r);
}

CASE(bad_urls, "A URL with a typo is refused with words about that typo.")
{
    static const char *const urls[] = {
        "",
        "redis:/127.0.0.1",
        "http://127.0.0.1",
        "redis://",
        "redis://:6379",
        "redis://127.0.0.1:0",
        "redis://127.0.0.1:65536",
        "redis://127.0.0.1:port",
        "redis://127.0.0.1:",
        "redis://127.0.0.1/db",
        "redis://127.0.0.1/-1",
        "redis://127.0.0.1/99999999999",
        "redis://[::1",
        "redis://[::zz]:1",
        "redis://::1:6379",
        "redis://us%er@127.0.0.1",
        "redis://127.0.0.1?x=1",
        "redis://127.0.0.1#frag",
        "redis://ho st",
        "unix://",
        "unix://relative/path",
        "unix:///tmp/s?db=x",
        "unix:///tmp/s?nonsense",
    };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        redlock *r = untouched;
        redlock_options o = one_node(&urls[i]);
        int error = redlock_open(&o, &r);
        if (error != REDLOCK_INVAL)
            FAIL("\"%s\" was %s", urls[i], redlock_error_name(error));
        if (redlock_detail()[0] == '\0')
            FAIL("\"%s\": no detail", urls[i]);
        CHECK(r == untouched);
    }
}

CASE(bad_url_keeps_secrets, "The words about a bad URL never repeat its password.")
{
    static const char *const urls[] = {
        "redis://user:s3cr3t@127.0.0.1:port",
        "redis://user:s3cr3t@",
        "redis://user:s3cr3t@[::1",
        "http://user:s3cr3t@127.0.0.1",
        "redis:/user:s3cr3t@127.0.0.1",
        "redis://:s3cr3t%zz@127.0.0.1",
        "redis://127.0.0.1:s3cr3t",
        "redis://user:s3cr3t",
        "user:s3cr3t@host:1:2",
        "unix://u:s3cr3t@relative",
    };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        redlock *r = untouched;
        redlock_options o = one_node(&urls[i]);
        int error = redlock_open(&o, &r);
        if (error != REDLOCK_INVAL)
            FAIL("\"%s\" was %s", urls[i], redlock_error_name(error));
        CHECK_LACKS("s3cr3t", redlock_detail());
    }
}

CASE(duplicate_addresses, "The same address twice is refused, however it is written.")
{
    static const char *const pairs[][2] = {
        {"redis://localhost:6379", "redis://localhost:6379"},
        {"redis://localhost", "localhost:6379"},
        {"redis://127.0.0.1", "127.0.0.1:6379"},
        {"redis://LOCALHOST:1", "redis://localhost:1"},
        {"redis://a:b@localhost:1", "redis://c:d@localhost:1"},
        {"redis://localhost:1/0", "redis://localhost:1/1"},
        {"redis://[::1]:1", "[::1]:1"},
        {"unix:///tmp/s", "unix:///tmp/s?db=1"},
        {"redis://localhost:1", "rediss://localhost:1"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        redlock *r = untouched;
        redlock_options o = one_node(pairs[i]);
        o.node_count = 2;
        int error = redlock_open(&o, &r);
        if (error != REDLOCK_INVAL)
            FAIL("\"%s\" and \"%s\" were %s", pairs[i][0], pairs[i][1],
                 redlock_error_name(error));
        if (strcasestr(redlock_detail(), "twice") == NULL &&
            strcasestr(redlock_detail(), "same") == NULL &&
            strcasestr(redlock_detail(), "duplicate") == NULL)
            FAIL("not told to be a duplicate: %s", redlock_detail());
        CHECK(r == untouched);
    }
}

CASE(bad_password_files, "A password file that is missing, unreadable or empty is refused.")
{
    static const char *const nodes[] = {"redis://127.0.0.1:1"};
    char path[128];
    redlock *r = untouched;
    redlock_options o = one_node(nodes);
    o.password_file = "/nonexistent/password";
    INVALID(redlock_open(&o, &r));
    CHECK_HAS("/nonexistent/password", redlock_detail());
    o.password_file = check_dir(); /* a directory */
    INVALID(redlock_open(&o, &r));
    snprintf(path, sizeof path, "%s/empty", check_dir());
    FILE *f = fopen(path, "w");
    fclose(f);
    o.password_file = path;
    INVALID(redlock_open(&o, &r));
    if (geteuid() != 0) { /* nothing is unreadable for root */
        chmod(path, 0);
        INVALID(redlock_open(&o, &r));
    }
    CHECK(r == untouched);
}

/* ---- locking ------------------------------------------------------------------------------ */

static void some_done(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    (void)error;
    (void)data;
}

/* A warm client whose servers have forgotten what they saw. */
static redlock *quiet_client(struct cluster *c)
{
    cluster_start(c, 3);
    redlock *r = client_open_warm(c, 0);
    for (int i = 0; i < 3; i++)
        server_forget_commands(&c->node[i]);
    return r;
}

static void check_nothing_sent(struct cluster *c, redlock *r)
{
    CHECK(redlock_process(r, 20) >= 0);
    for (size_t i = 0; i < c->count; i++)
        CHECK_STR("", server_commands(&c->node[i]));
    redlock_close(r);
}

CASE(bad_names, "Names that are empty, too long or contain NUL are refused.")
{
    struct cluster c;
    redlock *r = quiet_client(&c);
    redlock_lock *lock = untouched_lock;
    redlock_request q = {.size = sizeof q};
    char *too_long = calloc(1, REDLOCK_NAME_MAX + 2);
    memset(too_long, 'n', REDLOCK_NAME_MAX + 1);
    INVALID(redlock_acquire(r, NULL, 1000, NULL, &lock));
    INVALID(redlock_acquire(r, "", 1000, NULL, &lock));
    INVALID(redlock_acquire(r, too_long, 1000, NULL, &lock));
    q.name_length = REDLOCK_NAME_MAX + 1;
    INVALID_TOO(redlock_acquire(r, too_long, 1000, &q, &lock));
    q.name_length = 3;
    INVALID(redlock_acquire(r, "a\0b", 1000, &q, &lock));
    q.name_length = 1;
    INVALID_TOO(redlock_acquire(r, "", 1000, &q, &lock));
    redlock_info info = {.size = sizeof info};
    INVALID_TOO(redlock_query(r, "", &info, NULL));
    INVALID_TOO(redlock_query(r, NULL, &info, NULL));
    INVALID_TOO(redlock_query(r, too_long, &info, NULL));
    free(too_long);
    CHECK(lock == untouched_lock);
    check_nothing_sent(&c, r);
}

CASE(bad_ttls, "TTLs of zero, negative, too short, too long and absurd are refused.")
{
    static const int64_t ttls_ms[] = {
        0,         -1,        REDLOCK_TTL_MIN_MS - 1, 60001, 86400001,
        INT64_MAX, INT64_MIN, INT64_MAX / 1000000 + 1};
    struct cluster c;
    redlock *r = quiet_client(&c);
    redlock_lock *lock = untouched_lock;
    for (size_t i = 0; i < sizeof ttls_ms / sizeof ttls_ms[0]; i++) {
        CHECK_ERR(REDLOCK_INVAL, redlock_acquire(r, "x", ttls_ms[i], NULL, &lock));
        expect_new_detail("ttl");
    }
    CHECK(lock == untouched_lock);
    check_nothing_sent(&c, r);
}

CASE(shortest_ttl, "The shortest and the longest TTL are not refused.")
{
    struct cluster c;
    redlock *r = quiet_client(&c);
    redlock_lock *lock = NULL;
    /* 10 ms may well be over before the votes are in. */
    int error = redlock_acquire(r, "x", REDLOCK_TTL_MIN_MS, NULL, &lock);
    CHECK(error == REDLOCK_OK || error == REDLOCK_NOQUORUM);
    redlock_lock_free(lock);
    client_unlock(client_lock(r, "y", 60000));
    redlock_close(r);
}

CASE(bad_requests, "Requests with impossible fields are refused one by one.")
{
    struct cluster c;
    redlock *r = quiet_client(&c);
    redlock_lock *lock = untouched_lock;
    redlock_report report = {.size = 12};
    redlock_request q = {.size = sizeof q};
    INVALID(redlock_acquire(NULL, "x", 1000, NULL, &lock));
    INVALID(redlock_acquire(r, "x", 1000, NULL, NULL));
    q.size = 0;
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request){.size = sizeof q, .kind = 7};
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request){.size = sizeof q, .flags = 0x40};
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request){.size = sizeof q, .wait_ms = -2};
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request){.size = sizeof q, .wait_ms = REDLOCK_WAIT_MAX_MS + 1};
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request){.size = sizeof q, .wait_ms = INT64_MAX};
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request){.size = sizeof q, .wait_ms = INT64_MIN};
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request){.size = sizeof q, .max_hold_ms = -1};
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request){.size = sizeof q, .report = &report};
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request){.size = sizeof q, .done = some_done};
    INVALID(redlock_acquire(r, "x", 1000, &q, &lock));
    q = (redlock_request){.size = sizeof q};
    INVALID(redlock_start(r, "x", 1000, &q, &lock)); /* no done */
    INVALID_TOO(redlock_start(r, "x", 1000, NULL, &lock));
    CHECK(lock == untouched_lock);
    check_nothing_sent(&c, r);
}

CASE(bad_handles, "NULL handles, bad values and missing callbacks are refused.")
{
    struct cluster c;
    redlock *r = quiet_client(&c);
    redlock_lock *lock = untouched_lock;
    redlock_report report = {.size = sizeof report};
    char long_value[REDLOCK_VALUE_MAX + 2];
    memset(long_value, 'v', sizeof long_value - 1);
    long_value[sizeof long_value - 1] = '\0';
    INVALID_TOO(redlock_release(NULL));
    INVALID_TOO(redlock_extend(NULL, 1000));
    INVALID_TOO(redlock_cancel(NULL));
    INVALID_TOO(redlock_start_release(NULL, some_done, NULL));
    INVALID_TOO(redlock_start_extend(NULL, 1000, some_done, NULL));
    INVALID_TOO(redlock_lock_report(NULL, &report));
    INVALID_TOO(redlock_process(NULL, 0));
    INVALID_TOO(redlock_fd(NULL));
    INVALID_TOO(redlock_ping(NULL, &report));
    INVALID_TOO(redlock_node(NULL, 0, NULL));
    CHECK_INT(0, redlock_remaining_ms(NULL));
    CHECK_INT(0, redlock_deadline_ns(NULL));
    INVALID_TOO(redlock_adopt(r, "x", NULL, &lock));
    INVALID_TOO(redlock_adopt(r, "x", "", &lock));
    INVALID_TOO(redlock_adopt(r, "x", long_value, &lock));
    INVALID_TOO(redlock_adopt(r, "", "v", &lock));
    INVALID_TOO(redlock_adopt(r, "x", "v", NULL));
    CHECK(lock == untouched_lock);
    redlock_node_info info = {.size = sizeof info};
    INVALID_TOO(redlock_node(r, 3, &info));
    info.size = 1;
    INVALID_TOO(redlock_node(r, 0, &info));
    redlock_info about = {.size = 1};
    INVALID_TOO(redlock_query(r, "x", &about, NULL));
    report.size = 1;
    INVALID_TOO(redlock_ping(r, &report));
    check_nothing_sent(&c, r);
}

CASE(bad_extensions, "Extending by an impossible TTL is refused and changes nothing.")
{
    struct cluster c;
    redlock *r = quiet_client(&c);
    redlock_lock *lock = client_lock(r, "x", 20000);
    CHECK(cluster_await(&c, "redlock:x", 3, 1000));
    for (int i = 0; i < 3; i++)
        server_forget_commands(&c.node[i]);
    INVALID(redlock_extend(lock, 0));
    INVALID(redlock_extend(lock, -1));
    INVALID(redlock_extend(lock, 60001));
    INVALID_TOO(redlock_extend(lock, INT64_MAX));
    INVALID_TOO(redlock_start_extend(lock, 1000, NULL, NULL));
    INVALID_TOO(redlock_start_release(lock, NULL, NULL));
    CHECK(redlock_process(r, 20) >= 0);
    for (int i = 0; i < 3; i++)
        CHECK_STR("", server_commands(&c.node[i]));
    CHECK(redlock_remaining_ms(lock) > 0);
    client_unlock(lock);
    redlock_close(r);
}

CASE(words_for_everything, "Every error and vote has a name and a text; others have one too.")
{
    CHECK_STR("BUSY", redlock_error_name(REDLOCK_BUSY));
    CHECK_STR("OK", redlock_error_name(0));
    CHECK_STR("UNKNOWN", redlock_error_name(-999));
    CHECK_STR("UNKNOWN", redlock_error_name(1));
    CHECK_STR("unknown error", redlock_strerror(INT_MIN));
    CHECK_STR("success", redlock_strerror(REDLOCK_OK));
    CHECK_STR("granted", redlock_vote_text(REDLOCK_VOTE_GRANTED));
    CHECK_STR("unknown", redlock_vote_text(-1));
    CHECK_STR("unknown", redlock_vote_text(INT_MAX));
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", REDLOCK_VERSION_MAJOR, REDLOCK_VERSION_MINOR,
             REDLOCK_VERSION_PATCH);
    CHECK_STR(version, redlock_version());
    CHECK_STR("", redlock_detail()); /* nothing has failed in this process yet */
}

static void *other_thread(void *data)
{
    (void)data;
    CHECK_STR("", redlock_detail());
    return NULL;
}

CASE(details_are_per_thread, "What failed in one thread is not told in another.")
{
    pthread_t thread;
    redlock *r = NULL;
    CHECK_ERR(REDLOCK_INVAL, redlock_open(NULL, &r));
    CHECK(redlock_detail()[0] != '\0');
    CHECK_INT(0, pthread_create(&thread, NULL, other_thread, NULL));
    pthread_join(thread, NULL);
}
