/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules and quotas by themselves, with time as an argument; and memory that is short. */
#include "access/rules.h"
#include "base/time.h"
#include "check.h"
#include "inject_shim.h"
#include "life/inputs.h"
#include "settings/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILURES_MAX 200

static struct access_rules rules;

static void allow(const char *text)
{
    char why[256];

    if (access_rules_add(&rules, text, why, sizeof why) < 0)
        FAIL("%s: %s", text, why);
}

static void refuse(const char *text)
{
    char why[256];

    CHECK_INT(-1, access_rules_add(&rules, text, why, sizeof why));
    CHECK_HAS("allow: ", why);
}

/* The number of the rule, from 0; -1: none. */
static int found(const char *principal, int64_t gid, const char *name)
{
    struct access_groups groups = {.list = {5, (gid_t)gid}, .count = gid < 0 ? 1 : 2};
    struct access_rule *rule = access_rules_find(&rules, principal, &groups, name);

    return rule ? (int)(rule - rules.rule) : -1;
}

CASE(first_rule, "The first rule that fits principal and name decides.")
{
    allow("uid:1 a/b acquire");
    allow("uid:1 a/ read");
    allow("gid:7 * acquire,read");
    allow("uid:1 * break,admin  leases=1\twaiters=2 ttl=1m requests=4");
    CHECK_INT(0, found("uid:1", -1, "a/b"));
    CHECK_INT(1, found("uid:1", -1, "a/bc"));
    CHECK_INT(3, found("uid:1", -1, "a"));
    CHECK_INT(2, found("uid:1", 7, "a"));
    CHECK_INT(3, found("uid:1", -1, NULL));
    CHECK_INT(-1, found("uid:11", -1, "a"));
    CHECK_INT(-1, found("gid:7", -1, "a")); /* a principal of that name is not the group */
    CHECK_INT(60000, rules.rule[3].ttl_max_ms);
    CHECK_INT(4, rules.rule[3].leases_max + rules.rule[3].waiters_max + 1);
    refuse("");
    refuse("uid:-1 a read");
    refuse("uid:1x a read");
    refuse("token: a read");
    refuse("uid:1 a* read");
    refuse("uid:1 a read,");
    refuse("uid:1 a read leases=1000001");
    refuse("uid:1 a read 1 2 3 4 5 6 7");
    CHECK_INT(4, rules.count);
}

CASE(groups, "Rules name at most sixteen groups, each as often as they like.")
{
    char text[64];

    for (unsigned i = 0; i < ACCESS_GROUPS_MAX; i++) {
        snprintf(text, sizeof text, "gid:%u a/%u read", i, i);
        allow(text);
    }
    allow("gid:3 b/ read");
    refuse("gid:99 b/ read");
    CHECK_INT(ACCESS_GROUPS_MAX, rules.groups.count);
}

CASE(hidden,
     "A rule is hidden by an earlier one of its principal that covers all of its names.")
{
    allow("uid:1 a/ read");
    allow("uid:1 a/b read");
    allow("uid:1 b read");
    allow("uid:2 a/b read");
    allow("uid:1 * read");
    allow("uid:1 c/ read");
    CHECK(access_rule_hides(&rules.rule[0], &rules.rule[1]));
    CHECK(!access_rule_hides(&rules.rule[0], &rules.rule[2]));
    CHECK(!access_rule_hides(&rules.rule[0], &rules.rule[3]));
    CHECK(!access_rule_hides(&rules.rule[0], &rules.rule[4]));
    CHECK(access_rule_hides(&rules.rule[4], &rules.rule[5]));
}

CASE(quota, "A rule lets as many requests in as its cap says, by the second.")
{
    struct access_rule *rule = rules.rule;
    int64_t now_ns = 5 * RL_NS_PER_S;
    unsigned taken = 0;

    allow("uid:1 * read requests=10");
    for (int i = 0; i < 100; i++)
        taken += access_rule_take(rule, now_ns);
    CHECK_INT(10, taken);
    CHECK_INT(90, rule->rejected);
    /* A tenth of a second brings one; an hour not more than there is room for. */
    for (int i = 0; i < 10; i++)
        taken += access_rule_take(rule, now_ns + RL_NS_PER_S / 10);
    CHECK_INT(11, taken);
    for (int i = 0; i < 100; i++)
        taken += access_rule_take(rule, now_ns + 3600 * RL_NS_PER_S);
    CHECK_INT(21, taken);
}

CASE(quota_is_kept, "A rule that a reload keeps goes on counting where it was.")
{
    static struct access_rules old;

    allow("uid:1 * read requests=1");
    CHECK(access_rule_take(rules.rule, 1));
    CHECK(!access_rule_take(rules.rule, 1));
    rules.rule->leases = 3;
    old = rules;
    rules = (struct access_rules){.count = 0};
    allow("uid:2 * read");
    allow("uid:1 * read requests=1");
    access_rules_inherit(&rules, &old);
    CHECK(!access_rule_take(&rules.rule[1], 1));
    CHECK_INT(2, rules.rule[1].rejected);
    CHECK_INT(0, rules.rule[1].leases); /* counted anew */
}

CASE(misses, "Leases that are not there are charged afterwards, and refused beyond the cap.")
{
    struct access_rule *rule = rules.rule;
    int64_t now_ns = 5 * RL_NS_PER_S;

    allow("uid:1 * acquire requests=10");
    allow("uid:2 * acquire");
    /* However many honest ones come: none is charged. */
    for (int i = 0; i < 100; i++)
        CHECK(access_rule_may_miss(rule, now_ns));
    CHECK(access_rule_take(rule, now_ns));
    for (int i = 0; i < 30; i++)
        access_rule_missed(rule, now_ns);
    CHECK(!access_rule_may_miss(rule, now_ns));
    CHECK_INT(1, rule->rejected);
    CHECK(access_rule_take(rule, now_ns)); /* acquisitions have a count of their own */
    /* Twenty too many are owed for two seconds. */
    CHECK(!access_rule_may_miss(rule, now_ns + 2 * RL_NS_PER_S));
    CHECK(access_rule_may_miss(rule, now_ns + 21 * RL_NS_PER_S / 10));
    for (int i = 0; i < 100000; i++)
        access_rule_missed(rule, now_ns + 3 * RL_NS_PER_S);
    CHECK(!access_rule_may_miss(rule, now_ns + 12 * RL_NS_PER_S));
    CHECK(access_rule_may_miss(rule, now_ns + 14 * RL_NS_PER_S));
    access_rule_missed(&rules.rule[1], now_ns);
    CHECK(access_rule_may_miss(&rules.rule[1], now_ns));
}

static void write_file(char *path, size_t size, const char *name, const char *text)
{
    FILE *file;

    snprintf(path, size, "%s/%s", check_dir(), name);
    file = fopen(path, "we");
    CHECK(file);
    fputs(text, file);
    CHECK_INT(0, fclose(file));
}

CASE(inputs_memory, "Reading rules, tokens and nodes again fails whole when memory is short.")
{
    static struct settings settings;
    static struct inputs inputs;
    char nodes[256], audit[256], text[1024], why[512];
    int number = 0, failed = 0;
    FILE *file;

    unsetenv("REDLOCK_NODES");
    write_file(nodes, sizeof nodes, "nodes", "nodes = 127.0.0.1:1\n");
    write_file(audit, sizeof audit, "audit", "");
    snprintf(text, sizeof text,
             "quorum-config = %s\naudit = %s\nallow = uid:1 * read\n"
             "class = a/*\nclass = b/*\n",
             nodes, audit);
    file = fmemopen(text, strlen(text), "r");
    CHECK(file);
    CHECK_INT(0, settings_pairs_read(&settings, file, why, sizeof why));
    fclose(file);
    for (;;) {
        int counted, result;

        CHECK(++number < FAILURES_MAX);
        inject_arm(INJECT_MEMORY, number, ENOMEM, false);
        result = inputs_read(&inputs, &settings, why, sizeof why);
        counted = inject_disarm();
        failed += result < 0;
        if (result == 0)
            inputs_free(&inputs);
        else
            CHECK_HAS("memory", why);
        if (counted < number) {
            CHECK_INT(0, result); /* none failed */
            break;
        }
    }
    CHECK_BETWEEN(2, FAILURES_MAX, failed);
}
