/* SPDX-License-Identifier: BSD-2-Clause */
/* Node URLs by table: the meaning of each form, the message for each mistake. */
#include "check.h"

#include "protocol/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *text, bool tls, const char *host, const char *port,
                   const char *path, unsigned db, const char *printable)
{
    struct rl_url u;
    char why[256] = "";
    if (rl_url_parse(text, &u, why, sizeof why) != 0)
        FAIL("%s: %s", text, why);
    CHECK_INT(tls, u.tls);
    CHECK_STR(host, u.host);
    CHECK_STR(port, u.port);
    CHECK_STR(path, u.path);
    CHECK_INT(path[0] != '\0', u.is_unix);
    CHECK_INT(db, u.db);
    CHECK_STR(printable, u.printable);
    rl_url_wipe(&u);
}

CASE(clusters, "The URL of a cluster is as many nodes as it has votes, each with its tag.")
{
    struct rl_url u;
    char why[256] = "";
    CHECK_INT(0, rl_url_parse("cluster://u:p@a+b:7+[::1]:8", &u, why, sizeof why));
    CHECK_INT(3, u.vote_count);
    CHECK_INT(3, u.sentinel_count);
    CHECK_STR("um@a:6379+b:7+[::1]:8", u.printable);
    CHECK_STR("u", u.user);
    rl_url_choose_vote(&u, 2);
    CHECK_STR("pm@a:6379+b:7+[::1]:8", u.printable);
    CHECK_INT(0, rl_url_parse("clusters://a+b+c/5", &u, why, sizeof why));
    CHECK_INT(5, u.vote_count);
    CHECK(u.tls && u.sentinel_tls);
    CHECK_INT(-1, rl_url_parse("cluster://a+b", &u, why, sizeof why));
    CHECK_INT(-1, rl_url_parse("cluster://a+b+c/2", &u, why, sizeof why));
    CHECK_INT(-1, rl_url_parse("cluster://a+b+c/33", &u, why, sizeof why));
    CHECK_INT(-1, rl_url_parse("cluster://a+b+c?db=1", &u, why, sizeof why));
    CHECK_INT(-1, rl_url_parse("cluster://a+b+c/3?db=1", &u, why, sizeof why));
}

CASE(forms, "Every documented form of a node URL is understood.")
{
    expect("redis://h", false, "h", "6379", "", 0, "h:6379");
    expect("h", false, "h", "6379", "", 0, "h:6379");
    expect("h:1", false, "h", "1", "", 0, "h:1");
    expect("127.0.0.1", false, "127.0.0.1", "6379", "", 0, "127.0.0.1:6379");
    expect("redis://h:65535/3", false, "h", "65535", "", 3, "h:65535");
    expect("redis://h/", false, "h", "6379", "", 0, "h:6379");
    expect("rediss://Example.COM", true, "example.com", "6379", "", 0, "example.com:6379");
    expect("REDIS://h", false, "h", "6379", "", 0, "h:6379");
    expect("redis://[::1]", false, "::1", "6379", "", 0, "[::1]:6379");
    expect("redis://[fe80::1]:7/2", false, "fe80::1", "7", "", 2, "[fe80::1]:7");
    expect("[::1]:7", false, "::1", "7", "", 0, "[::1]:7");
    expect("unix:///tmp/s", false, "", "", "/tmp/s", 0, "/tmp/s");
    expect("unix:///tmp/s?db=4", false, "", "", "/tmp/s", 4, "/tmp/s");
    expect("unix:///tmp/a%20b", false, "", "", "/tmp/a b", 0, "/tmp/a b");
    expect("redis://u:p@h:1", false, "h", "1", "", 0, "h:1");
}

static void expect_login(const char *text, const char *user, const char *password)
{
    struct rl_url u;
    char why[256] = "";
    if (rl_url_parse(text, &u, why, sizeof why) != 0)
        FAIL("%s: %s", text, why);
    CHECK_INT(user != NULL, u.has_user);
    CHECK_INT(password != NULL, u.has_password);
    CHECK_STR(user != NULL ? user : "", u.user);
    CHECK_STR(password != NULL ? password : "", u.password);
    rl_url_wipe(&u);
    CHECK_STR("", u.password);
}

CASE(logins, "User and password of a URL are decoded; an empty password is a password.")
{
    expect_login("redis://h", NULL, NULL);
    expect_login("redis://u@h", "u", NULL);
    expect_login("redis://u:p@h", "u", "p");
    expect_login("redis://:p@h", NULL, "p");
    expect_login("redis://u:@h", "u", "");
    expect_login("redis://u%40x:p%3a%2F%40@h", "u@x", "p:/@");
    expect_login("rediss://u:p@[::1]:1/2", "u", "p");
    expect_login("unix://u:p@/tmp/s", "u", "p");
}

CASE(mistakes, "Each mistake in a URL has its own message; the result stays untouched.")
{
    static const char *const urls[] = {
        "",
        " ",
        "redis://",
        "redis://:1",
        "redis:///0",
        "redis:/h",
        "redis:h",
        "http://h",
        "reds://h",
        "redis://h:",
        "redis://h:0",
        "redis://h:65536",
        "redis://h:-1",
        "redis://h:1x",
        "redis://h/x",
        "redis://h/-1",
        "redis://h/1/2",
        "redis://h/4294967296",
        "redis://[::1",
        "redis://::1",
        "redis://[]:1",
        "redis://[g::1]",
        "redis://h h",
        "redis://h\n",
        "redis://u%@h",
        "redis://u%zz@h",
        "redis://u%00@h",
        "redis://h?x",
        "redis://h#x",
        "unix://",
        "unix://tmp/s",
        "unix:///tmp/s?x=1",
        "unix:///tmp/s?db=",
        "unix:///tmp/s?db=x",
        "unix:///%00",
    };
    struct rl_url before, u;
    memset(&before, 0x5a, sizeof before);
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        char why[256] = "";
        memcpy(&u, &before, sizeof u);
        if (rl_url_parse(urls[i], &u, why, sizeof why) != -1)
            FAIL("\"%s\" was accepted", urls[i]);
        if (why[0] == '\0')
            FAIL("\"%s\": no sentence", urls[i]);
        CHECK_INT(0, memcmp(&before, &u, sizeof u));
    }
}

CASE(lengths,
     "Parts of a URL that are too long are refused, the longest that fit are accepted.")
{
    char text[2048], part[1024], why[256];
    struct rl_url u;
    int fits;
    memset(part, 'a', sizeof part);
    snprintf(text, sizeof text, "redis://%.255s", part);
    fits = rl_url_parse(text, &u, why, sizeof why);
    CHECK(fits == 0 || why[0] != '\0');
    snprintf(text, sizeof text, "redis://%.256s", part);
    CHECK_INT(-1, rl_url_parse(text, &u, why, sizeof why));
    snprintf(text, sizeof text, "unix:///%.106s", part);
    CHECK_INT(0, rl_url_parse(text, &u, why, sizeof why));
    CHECK_INT(107, strlen(u.path));
    snprintf(text, sizeof text, "unix:///%.107s", part);
    CHECK_INT(-1, rl_url_parse(text, &u, why, sizeof why));
    snprintf(text, sizeof text, "redis://u:%.512s@h", part);
    CHECK_INT(-1, rl_url_parse(text, &u, why, sizeof why));
    CHECK_LACKS("aaaa", why);
}

CASE(long_groups,
     "A group whose sentinels do not fit into its name has whole ones, and a number for all.")
{
#define HOSTS(last)                                                                            \
    "sentinel://sentinel-0.redis.production.svc:26379+sentinel-1.redis.production.svc:26379+"  \
    "sentinel-2.redis.production.svc:26379+" last ":26379/mymaster"
    char why[128];
    struct rl_url a, b;

    CHECK_INT(0, rl_url_parse(HOSTS("sentinel-3"), &a, why, sizeof why));
    CHECK_INT(0, rl_url_parse(HOSTS("sentinel-4"), &b, why, sizeof why));
    CHECK(strncmp(a.printable, "mymaster@sentinel-0.redis.production.svc:26379+sentinel-1.",
                  57) == 0);
    CHECK(strcmp(a.printable, b.printable) != 0);
    CHECK_INT(':', a.printable[strlen(a.printable) - sizeof "26379+0123"]);
    CHECK_INT(0, rl_url_parse("sentinel://a+b+c/g", &a, why, sizeof why));
    CHECK_STR("g@a:26379+b:26379+c:26379", a.printable);
#undef HOSTS
}

CASE(short_answers, "A small buffer for the message is filled and terminated.")
{
    struct rl_url u;
    for (size_t size = 1; size < 40; size++) {
        char *why = malloc(size);
        CHECK_INT(-1, rl_url_parse("http://h", &u, why, size));
        CHECK(strlen(why) < size);
        free(why);
    }
}
