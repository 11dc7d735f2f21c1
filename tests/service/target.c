/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of locks in paths, and parameters: by table. */
#include "check.h"

#include "base/slice.h"
#include "base/target.h"

#include <string.h>

static struct rl_slice span(const char *text)
{
    return rl_slice_of(text);
}

static void expect_name(const char *encoded, bool utf8, const char *expected)
{
    char name[64];
    const char *why = rl_target_name(span(encoded), utf8, name, sizeof name);

    if (why)
        FAIL("%s: %s", encoded, why);
    CHECK_STR(expected, name);
}

static void expect_refused(const char *encoded, bool utf8, const char *expected)
{
    char name[64];
    const char *why = rl_target_name(span(encoded), utf8, name, sizeof name);

    CHECK_HAS(expected, why ? why : "taken");
}

CASE(names, "Names are decoded exactly once and otherwise taken as they are.")
{
    expect_name("a", false, "a");
    expect_name("billing/nightly", false, "billing/nightly");
    expect_name("billing%2Fnightly", false, "billing/nightly");
    expect_name("a%20b", false, "a b");
    expect_name("a+b", false, "a+b");
    expect_name("a%3fb%23c", false, "a?b#c");
    expect_name("...", false, "...");
    expect_name(".a/a.", false, ".a/a.");
    expect_name("A~!$&'()*,;=:@", false, "A~!$&'()*,;=:@");
    expect_name("%C3%A9", true, "\xc3\xa9");
    expect_name("%F0%9F%94%92", true, "\xf0\x9f\x94\x92");
}

CASE(names_that_proxies_rewrite, "Names that a proxy could rewrite are refused.")
{
    const char *slash = "no slash at either end";

    expect_refused("", false, "missing");
    expect_refused("/a", false, slash);
    expect_refused("a/", false, slash);
    expect_refused("a//b", false, slash);
    expect_refused("a%2F", false, slash);
    expect_refused("%2Fa", false, slash);
    expect_refused(".", false, "segment");
    expect_refused("..", false, "segment");
    expect_refused("a/../b", false, "segment");
    expect_refused("a/%2e%2E/b", false, "segment");
    expect_refused("a/.", false, "segment");
    expect_refused("a%5Cb", false, "backslash");
    expect_refused("a%252Fb", false, "percent");
    expect_refused("a%25", false, "percent");
}

CASE(names_with_controls, "Names with controls or broken escapes are refused.")
{
    expect_refused("a%00b", false, "control");
    expect_refused("a%0Ab", false, "control");
    expect_refused("a%7F", false, "control");
    expect_refused("a%C2%9B", true, "control");
    expect_refused("a%", false, "hexadecimal");
    expect_refused("a%4", false, "hexadecimal");
    expect_refused("a%4g", false, "hexadecimal");
    expect_refused("a%%41", false, "hexadecimal");
    expect_refused("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                   false, "too long");
}

CASE(names_in_utf8, "Other scripts are taken only where they are allowed and well-formed.")
{
    expect_refused("%C3%A9", false, "ASCII");
    expect_refused("%C3", true, "UTF-8");
    expect_refused("%C0%AF", true, "UTF-8");
    expect_refused("%E0%80%AF", true, "UTF-8");
    expect_refused("%ED%A0%80", true, "UTF-8");
    expect_refused("%F4%90%80%80", true, "UTF-8");
    expect_refused("%A9", true, "UTF-8");
}

CASE(splitting, "A target is split at its first question mark.")
{
    struct rl_slice path, query, rest = {"untouched", 9};

    rl_target_split(span("/v1/locks/a?x=1?2"), &path, &query);
    CHECK_INT(11, path.size);
    CHECK(query.size == 5 && memcmp(query.data, "x=1?2", 5) == 0);
    rl_target_split(span("/v1/locks"), &path, &query);
    CHECK_INT(9, path.size);
    CHECK_INT(0, query.size);
    CHECK(!rl_target_below(path, "/v1/locks/", &rest));
    CHECK_INT(9, rest.size);
    rl_target_split(span("/v1/locks/"), &path, &query);
    CHECK(rl_target_below(path, "/v1/locks/", &rest));
    CHECK_INT(0, rest.size);
}

CASE(parameters, "Parameters are found, decoded once, and refused where they are unclear.")
{
    struct rl_slice query = span("prefix=a%2Fb&limit=10&verbose&empty=&x=1&x=2&p=a+b&c=%01");
    static const char *const some[] = {"prefix", "limit", NULL};
    char value[16];

    CHECK_INT(3, rl_target_query_get(query, "prefix", value, sizeof value));
    CHECK_STR("a/b", value);
    CHECK_INT(2, rl_target_query_get(query, "limit", value, sizeof value));
    CHECK_INT(0, rl_target_query_get(query, "verbose", value, sizeof value));
    CHECK_INT(0, rl_target_query_get(query, "empty", value, sizeof value));
    CHECK_INT(RL_TARGET_ABSENT, rl_target_query_get(query, "pre", value, sizeof value));
    CHECK_INT(RL_TARGET_BAD, rl_target_query_get(query, "x", value, sizeof value));
    CHECK_INT(RL_TARGET_BAD, rl_target_query_get(query, "p", value, sizeof value));
    CHECK_INT(RL_TARGET_BAD, rl_target_query_get(query, "c", value, sizeof value));
    CHECK_INT(RL_TARGET_BAD, rl_target_query_get(query, "prefix", value, 3));
    CHECK(!rl_target_query_only(query, some));
    CHECK(rl_target_query_only(span("limit=1&prefix=&limit="), some));
    CHECK(rl_target_query_only(span(""), some));
    CHECK(!rl_target_query_only(span("&"), some));
}
