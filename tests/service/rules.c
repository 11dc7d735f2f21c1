/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules, quotas and the ledger by themselves, with time as an argument; and memory that is short. */
#include "access/rules.h"
#include "access/pace.h"
#include "check.h"
#include "core/time.h"
#include "leases/ledger.h"
#include "life/inputs.h"
#include "memory.h"
#include "settings/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 200
#define STEPS 5000
#define FAILURES_MAX 200

/* ---- rules ------------------------------------------------------------------------------- */

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
    struct access_rule *rule = access_rules_find(&rules, principal, gid, name);

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

CASE(pace, "Ten renewals of a lease in the time of one TTL are free, and no more.")
{
    static struct pace pace;
    const char *one = "0123456789012345678901", *other = "a123456789012345678901";
    unsigned free_ones = 0;

    for (int i = 0; i < 20; i++)
        free_ones += pace_is_free(&pace, one, 1000, i);
    CHECK_INT(PACE_FREE, free_ones);
    CHECK(pace_is_free(&pace, other, 1000, 20));
    CHECK(!pace_is_free(&pace, one, 1000, 1000 * RL_NS_PER_MS - 1));
    CHECK(pace_is_free(&pace, one, 1000, 1000 * RL_NS_PER_MS));
}

/* ---- the ledger -------------------------------------------------------------------------- */

static struct lease_tag numbered(unsigned number)
{
    struct lease_tag tag;

    snprintf(tag.text, sizeof tag.text, "%022u", number);
    return tag;
}

CASE(ledger_order, "The ledger finds by tag and by time what a plain list finds.")
{
    int64_t due_ns[ENTRIES] = {0}; /* 0: not there */
    struct ledger ledger;
    unsigned seed = 1;

    CHECK_INT(0, ledger_init(&ledger));
    for (int step = 0; step < STEPS; step++) {
        unsigned number = (unsigned)rand_r(&seed) % ENTRIES, count = 0;
        struct lease_tag tag = numbered(number);
        struct ledger_entry *entry = ledger_find(&ledger, &tag);
        int64_t first_ns = INT64_MAX, new_ns = 1 + rand_r(&seed) % 1000;

        CHECK_INT(due_ns[number] != 0, entry != NULL);
        if (entry && rand_r(&seed) % 2) {
            ledger_remove(&ledger, entry);
            new_ns = 0;
        } else if (entry) {
            ledger_set_due(&ledger, entry, new_ns);
        } else {
            entry = ledger_add(&ledger, &tag, "name", "label", new_ns);
            CHECK_STR("label", entry->label);
        }
        due_ns[number] = new_ns;
        for (unsigned i = 0; i < ENTRIES; i++) {
            count += due_ns[i] != 0;
            if (due_ns[i] && due_ns[i] < first_ns)
                first_ns = due_ns[i];
        }
        CHECK_INT(count, ledger.count);
        if (count)
            CHECK_INT(first_ns, ledger_first(&ledger)->due_ns);
    }
    ledger_free(&ledger);
}

CASE(ledger_memory, "A ledger without memory adds nothing and loses nothing.")
{
    struct ledger ledger;
    unsigned added = 0;

    CHECK_INT(0, ledger_init(&ledger));
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct lease_tag tag = numbered(i);

        memory_count(i % 3 + 1);
        added += ledger_add(&ledger, &tag, "name", "", i) != NULL;
        memory_counted();
    }
    CHECK_INT(added, ledger.count);
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct lease_tag tag = numbered(i);
        struct ledger_entry *entry = ledger_find(&ledger, &tag);

        added -= entry != NULL;
        if (entry)
            CHECK_INT(i, entry->due_ns);
    }
    CHECK_INT(0, added);
    ledger_free(&ledger);
}

/* ---- what HUP reads ---------------------------------------------------------------------- */

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
    unsigned number = 0, failed = 0;

    unsetenv("REDLOCK_NODES");
    write_file(nodes, sizeof nodes, "nodes", "nodes = 127.0.0.1:1\n");
    write_file(audit, sizeof audit, "audit", "");
    snprintf(text, sizeof text, "quorum-config = %s\naudit = %s\nallow = uid:1 * read\n", nodes,
             audit);
    CHECK_INT(0, settings_read_text(&settings, text, why, sizeof why));
    for (;;) {
        size_t counted;
        int result;

        CHECK(++number < FAILURES_MAX);
        memory_count(number);
        result = inputs_read(&inputs, &settings, why, sizeof why);
        counted = memory_counted();
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
