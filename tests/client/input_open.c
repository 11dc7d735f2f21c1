/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bad input at the door: options, URLs, files. Each mistake is INVAL with a sentence of its
 * own, and the out-parameter stays untouched.
 */
#include "check.h"
#include "client.h"
#include "invalid.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static redlock *const untouched = (redlock *)(uintptr_t)0x5a5a;

static redlock_options one_node(const char *const *nodes)
{
    return (redlock_options)REDLOCK_OPTIONS(.nodes = nodes, .node_count = 1);
}

CASE(bad_options, "Options that make no sense are refused one by one.")
{
    static const char *const nodes[] = {"redis://127.0.0.1:1"};
    redlock *r = untouched;
    redlock_options o = one_node(nodes);
    char long_text[2000];
#define REFUSED(...)                                                                           \
    INVALID(redlock_open(                                                                      \
        &(redlock_options)REDLOCK_OPTIONS(.nodes = nodes, .node_count = 1, __VA_ARGS__), &r))
    memset(long_text, 'p', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    INVALID(redlock_open(&o, NULL));
    o.size = 0;
    INVALID(redlock_open(&o, &r));
    o.size = 3;
    INVALID(redlock_open(&o, &r));
    o = one_node(nodes);
    o.node_count = 0;
    INVALID(redlock_open(&o, &r));
    REFUSED(.config_file = "/dev/null");
    REFUSED(.flags = 0x80);
    REFUSED(.flags = REDLOCK_STRICT | REDLOCK_NO_GUARD);
    REFUSED(.max_ttl_ms = REDLOCK_TTL_LIMIT_MS + 1);
    REFUSED(.max_ttl_ms = REDLOCK_TTL_MIN_MS - 1);
    REFUSED(.retry_min_ms = 100, .retry_max_ms = 50);
    REFUSED(.drift_ppm = 2000000);
    REFUSED(.prefix = long_text);
    REFUSED(.client_name = "two words");
    REFUSED(.password = "p", .password_file = "/dev/null");
    CHECK(r == untouched);
}

CASE(newer_struct, "A larger options struct is accepted while the unknown part is zero.")
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

CASE(node_counts, "No node and sixteen nodes are refused, fifteen are accepted.")
{
    char text[16][64];
    const char *urls[16];
    redlock *r = untouched;
    redlock_options o;
    for (int i = 0; i < 16; i++) {
        snprintf(text[i], sizeof text[i], "redis://127.0.0.1:%d", i + 1);
        urls[i] = text[i];
    }
    o = one_node(urls);
    o.node_count = 16;
    INVALID(redlock_open(&o, &r));
    o.node_count = 0;
    INVALID(redlock_open(&o, &r));
    o.nodes = NULL;
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

/* These nodes are refused, with words about it. */
static void refuse(const char *const *nodes, size_t count)
{
    redlock *r = untouched;
    redlock_options o = REDLOCK_OPTIONS(.nodes = nodes, .node_count = count);
    int error = redlock_open(&o, &r);
    if (error != REDLOCK_INVAL || redlock_detail()[0] == '\0')
        FAIL("\"%s\" was %s: %s", nodes[count - 1], redlock_error_name(error),
             redlock_detail());
    CHECK(r == untouched);
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
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++)
        refuse(&urls[i], 1);
}

CASE(bad_url_keeps_secrets, "The message about a bad URL never repeats its password.")
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
        refuse(&urls[i], 1);
        CHECK_LACKS("s3cr3t", redlock_detail());
    }
}

CASE(duplicate_addresses, "One address given twice is refused, however it is written.")
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
        refuse(pairs[i], 2);
        if (strcasestr(redlock_detail(), "twice") == NULL &&
            strcasestr(redlock_detail(), "same") == NULL &&
            strcasestr(redlock_detail(), "duplicate") == NULL)
            FAIL("not reported as a duplicate: %s", redlock_detail());
    }
}

CASE(bad_password_files, "A password file that is missing, unreadable or empty is refused.")
{
    static const char *const nodes[] = {"redis://127.0.0.1:1"};
    char path[128];
    redlock *r = untouched;
    redlock_options o = one_node(nodes);
    FILE *f;
    o.password_file = "/nonexistent/password";
    INVALID(redlock_open(&o, &r));
    CHECK_HAS("/nonexistent/password", redlock_detail());
    o.password_file = check_dir(); /* a directory */
    INVALID(redlock_open(&o, &r));
    snprintf(path, sizeof path, "%s/empty", check_dir());
    f = fopen(path, "w");
    fclose(f);
    o.password_file = path;
    INVALID(redlock_open(&o, &r));
    if (geteuid() != 0) { /* nothing is unreadable for root */
        chmod(path, 0);
        INVALID(redlock_open(&o, &r));
    }
    CHECK(r == untouched);
}

CASE(exposed_password_file, "A password file that another user can change is refused.")
{
    static const char *const nodes[] = {"redis://127.0.0.1:1"};
    static const mode_t bad[] = {0620, 0602, 0666, 0660};
    static const mode_t good[] = {0600, 0400, 0640, 0644};
    char path[128];
    redlock *r = untouched;
    redlock_options o = one_node(nodes);
    FILE *f;
    snprintf(path, sizeof path, "%s/password", check_dir());
    f = fopen(path, "w");
    fputs("secret\n", f);
    fclose(f);
    o.password_file = path;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_INT(0, chmod(path, bad[i]));
        CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
        CHECK_HAS("others can write to the password file", redlock_detail());
        CHECK_HAS(path, redlock_detail());
        CHECK(r == untouched);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        CHECK_INT(0, chmod(path, good[i]));
        CHECK_OK(redlock_open(&o, &r));
        redlock_close(r);
    }
    r = untouched;
    if (geteuid() == 0) { /* others cannot give files away */
        CHECK_INT(0, chown(path, 65534, (gid_t)-1));
        CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
        CHECK(r == untouched);
    }
}

CASE(words_for_everything, "Every error and vote has a name and a text, unknown numbers too.")
{
    char version[32];
    CHECK_STR("BUSY", redlock_error_name(REDLOCK_BUSY));
    CHECK_STR("OK", redlock_error_name(0));
    CHECK_STR("UNKNOWN", redlock_error_name(-999));
    CHECK_STR("UNKNOWN", redlock_error_name(1));
    CHECK_STR("unknown error", redlock_strerror(INT_MIN));
    CHECK_STR("success", redlock_strerror(REDLOCK_OK));
    CHECK_STR("granted", redlock_vote_text(REDLOCK_VOTE_GRANTED));
    CHECK_STR("unknown", redlock_vote_text(-1));
    CHECK_STR("unknown", redlock_vote_text(INT_MAX));
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

CASE(details_are_per_thread,
     "redlock_detail() has nothing for a thread about the failures of another thread.")
{
    pthread_t thread;
    redlock *r = NULL;
    CHECK_ERR(REDLOCK_INVAL, redlock_open(NULL, &r));
    CHECK(redlock_detail()[0] != '\0');
    CHECK_INT(0, pthread_create(&thread, NULL, other_thread, NULL));
    pthread_join(thread, NULL);
}
