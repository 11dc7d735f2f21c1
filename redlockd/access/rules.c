/* SPDX-License-Identifier: BSD-2-Clause */
#include "access/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/number.h"
#include "base/time.h"
#include "redlock.h"

#define GID "gid:"
#define ID_MOST 9999999999 /* above all of uid_t */
#define COUNT_MAX 1000000u
#define WORDS_MAX 8
#define MISSES_OWED_S 10
#define TEXT_MAX 1024

static int complain(char *why, size_t why_size, const char *what)
{
    snprintf(why, why_size, "allow: %s", what);
    return -1;
}

static bool has_group(const struct access_groups *groups, gid_t gid)
{
    for (unsigned i = 0; i < groups->count; i++)
        if (groups->list[i] == gid)
            return true;
    return false;
}

/* ---- words ------------------------------------------------------------------------------- */

static unsigned right_of(const char *word, size_t size)
{
    static const struct {
        const char *word;
        enum access_right right;
    } rights[] = {{"acquire", ACCESS_ACQUIRE},
                  {"read", ACCESS_READ},
                  {"break", ACCESS_BREAK},
                  {"admin", ACCESS_ADMIN}};

    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++)
        if (strlen(rights[i].word) == size && memcmp(rights[i].word, word, size) == 0)
            return rights[i].right;
    return 0;
}

/* 0: a word is no right. */
static unsigned rights_of(const char *text)
{
    unsigned rights = 0;

    for (;;) {
        size_t size = strcspn(text, ",");
        unsigned right = right_of(text, size);

        if (!right)
            return 0;
        rights |= right;
        if (!text[size])
            return rights;
        text += size + 1;
    }
}

static bool is_principal(const char *text)
{
    if (strlen(text) > ACCESS_PRINCIPAL_MAX)
        return false;
    if (strncmp(text, "uid:", 4) == 0 || strncmp(text, "gid:", 4) == 0)
        return rl_number_read(rl_slice_of(text + 4), ID_MOST) >= 0;
    return (strncmp(text, "token:", 6) == 0 && text[6] != '\0') ||
           (strncmp(text, "cert:", 5) == 0 && text[5] != '\0');
}

/* NAME=VALUE. NULL, or what is wrong with it. */
static const char *read_cap(struct access_rule *rule, const char *word)
{
    static const char unknown[] =
        "caps are leases=N, waiters=N, ttl=TIME and requests=N (per second), N from 1 to "
        "1000000";
    const char *value = strchr(word, '=');
    size_t size = value ? (size_t)(value - word) : 0;
    int64_t ttl_ms;
    unsigned *number = NULL;
    int64_t count;

    if (size == 6 && memcmp(word, "leases", size) == 0)
        number = &rule->leases_max;
    else if (size == 7 && memcmp(word, "waiters", size) == 0)
        number = &rule->waiters_max;
    else if (size == 8 && memcmp(word, "requests", size) == 0)
        number = &rule->requests_max;
    else if (size != 3 || memcmp(word, "ttl", size) != 0)
        return unknown;
    value++;
    if (!number) {
        if (rl_duration_parse(value, &ttl_ms) || ttl_ms < REDLOCK_TTL_MIN_MS ||
            ttl_ms > REDLOCK_TTL_LIMIT_MS)
            return "ttl= is a time from 10ms to 1d";
        rule->ttl_max_ms = ttl_ms;
        return NULL;
    }
    count = rl_number_read(rl_slice_of(value), COUNT_MAX);
    if (count < 1)
        return unknown;
    *number = (unsigned)count;
    return NULL;
}

static const char *read_rule(struct access_rule *rule, char *text)
{
    char *words[WORDS_MAX], *save = NULL;
    const char *wrong = NULL;
    unsigned count = 0;

    for (char *word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        if (count == WORDS_MAX)
            return "too many words";
        words[count++] = word;
    }
    if (count < 3 || strlen(words[1]) > ACCESS_NAME_MAX)
        return "expected PRINCIPAL NAME RIGHTS, as in uid:1000 billing/ acquire";
    if (!is_principal(words[0]))
        return "a principal is uid:NUMBER, gid:NUMBER, cert:NAME or token:NAME";
    rule->rights = rights_of(words[2]);
    if (!rule->rights)
        return "rights are acquire, read, break, admin, with commas between";
    if (rule->rights & ACCESS_ADMIN && strcmp(words[1], "*") != 0)
        return "admin is for all names: *";
    if (strcmp(words[1], "*") != 0 && strchr(words[1], '*'))
        return "a name is one name, a prefix that ends in a slash, or * by itself";
    strcpy(rule->principal, words[0]);
    rule->gid = strncmp(words[0], GID, strlen(GID)) == 0
                    ? rl_number_read(rl_slice_of(words[0] + strlen(GID)), ID_MOST)
                    : -1;
    strcpy(rule->name, words[1]);
    for (unsigned i = 3; i < count && !wrong; i++)
        wrong = read_cap(rule, words[i]);
    return wrong;
}

/* False: there is no room. */
static bool add_group(struct access_groups *groups, gid_t gid)
{
    if (has_group(groups, gid))
        return true;
    if (groups->count == ACCESS_GROUPS_MAX)
        return false;
    groups->list[groups->count++] = gid;
    return true;
}

int access_rules_add(struct access_rules *rules, const char *text, char *why, size_t why_size)
{
    struct access_rule rule = {.rights = 0};
    char copy[TEXT_MAX];
    const char *wrong;

    if (rules->count == ACCESS_RULES_MAX)
        return complain(why, why_size, "at most 64 rules");
    if (strlen(text) >= sizeof copy)
        return complain(why, why_size, "too long");
    strcpy(copy, text);
    wrong = read_rule(&rule, copy);
    if (!wrong && rule.gid >= 0 && !add_group(&rules->groups, (gid_t)rule.gid))
        wrong = "at most 16 groups";
    if (wrong)
        return complain(why, why_size, wrong);
    rules->rule[rules->count++] = rule;
    return 0;
}

/* ---- which one --------------------------------------------------------------------------- */

static bool is_of(const struct access_rule *rule, const char *principal,
                  const struct access_groups *groups)
{
    return rule->gid < 0 ? strcmp(rule->principal, principal) == 0
                         : has_group(groups, (gid_t)rule->gid);
}

static bool covers(const struct access_rule *rule, const char *name)
{
    size_t size = strlen(rule->name);

    if (strcmp(rule->name, "*") == 0)
        return true;
    if (!name)
        return false;
    return rule->name[size - 1] == '/' ? strncmp(rule->name, name, size) == 0
                                       : strcmp(rule->name, name) == 0;
}

bool access_rule_hides(const struct access_rule *earlier, const struct access_rule *later)
{
    return strcmp(earlier->principal, later->principal) == 0 &&
           covers(earlier, strcmp(later->name, "*") == 0 ? NULL : later->name);
}

struct access_rule *access_rules_find(struct access_rules *rules, const char *principal,
                                      const struct access_groups *groups, const char *name)
{
    for (unsigned i = 0; i < rules->count; i++)
        if (is_of(&rules->rule[i], principal, groups) && covers(&rules->rule[i], name))
            return &rules->rule[i];
    return NULL;
}

bool access_rules_give(const struct access_rules *rules, const char *principal,
                       const struct access_groups *groups, enum access_right right)
{
    for (unsigned i = 0; i < rules->count; i++)
        if (is_of(&rules->rule[i], principal, groups) && rules->rule[i].rights & right)
            return true;
    return false;
}

struct access_rule *access_rules_any(struct access_rules *rules, const char *principal,
                                     const struct access_groups *groups)
{
    for (unsigned i = 0; i < rules->count; i++)
        if (is_of(&rules->rule[i], principal, groups))
            return &rules->rule[i];
    return NULL;
}

/* ---- caps -------------------------------------------------------------------------------- */

static void fill(struct access_bucket *bucket, double most, int64_t now_ns)
{
    if (bucket->filled_ns == 0)
        bucket->tokens = most;
    else if (now_ns > bucket->filled_ns)
        bucket->tokens += (double)(now_ns - bucket->filled_ns) / (double)RL_NS_PER_S * most;
    if (bucket->tokens > most)
        bucket->tokens = most;
    bucket->filled_ns = now_ns;
}

bool access_rule_take(struct access_rule *rule, int64_t now_ns)
{
    if (rule->requests_max == 0)
        return true;
    fill(&rule->requests, rule->requests_max, now_ns);
    if (rule->requests.tokens < 1) {
        rule->rejected++;
        return false;
    }
    rule->requests.tokens--;
    return true;
}

bool access_rule_may_miss(struct access_rule *rule, int64_t now_ns)
{
    if (rule->requests_max == 0)
        return true;
    fill(&rule->misses, rule->requests_max, now_ns);
    rule->rejected += rule->misses.tokens < 1;
    return rule->misses.tokens >= 1;
}

void access_rule_missed(struct access_rule *rule, int64_t now_ns)
{
    double most = rule->requests_max;

    if (rule->requests_max == 0)
        return;
    fill(&rule->misses, most, now_ns);
    /* Many may have been under way at once: they are owed, but not for ever. */
    if (rule->misses.tokens > -MISSES_OWED_S * most)
        rule->misses.tokens--;
}

bool access_rule_has_room(const struct access_rule *rule, bool is_waiter)
{
    return !(rule->leases_max && rule->leases >= rule->leases_max) &&
           !(is_waiter && rule->waiters_max && rule->waiters >= rule->waiters_max);
}

static bool is_same(const struct access_rule *a, const struct access_rule *b)
{
    return strcmp(a->principal, b->principal) == 0 && strcmp(a->name, b->name) == 0;
}

void access_rules_inherit(struct access_rules *fresh, const struct access_rules *old)
{
    for (unsigned i = 0; i < fresh->count; i++) {
        for (unsigned k = 0; k < old->count; k++) {
            if (!is_same(&fresh->rule[i], &old->rule[k]))
                continue;
            fresh->rule[i].requests = old->rule[k].requests;
            fresh->rule[i].misses = old->rule[k].misses;
            fresh->rule[i].rejected = old->rule[k].rejected;
            break;
        }
    }
}
