/* SPDX-License-Identifier: BSD-2-Clause */
#include "findings.h"

#include "check.h"
#include "client.h"

#include <stdio.h>
#include <string.h>

static const char *const verdicts[] = {"ok", "warn", "fail", "unknown"};

void print_findings(const struct findings *all)
{
    for (size_t i = 0; i < all->count; i++)
        printf("# %s %s %s: %s (%s)\n", all->each[i].address, all->each[i].name,
               verdicts[all->each[i].verdict], all->each[i].text, all->each[i].remedy);
}

void audit_with(const redlock_options *o, int64_t ttl_ms, struct findings *all)
{
    static redlock_answer *answer;
    redlock *r = client_open_with(o);
    redlock_answer_free(answer);
    CHECK_OK(redlock_audit(r, ttl_ms, &answer));
    *all = (struct findings){answer->checks, answer->check_count};
    client_close(r);
}

void audit(const struct cluster *c, struct findings *all)
{
    redlock_options o = client_options(c);
    audit_with(&o, TTL_MS, all);
}

const redlock_check *find(const struct findings *all, const struct cluster *c, int node,
                          const char *name)
{
    char address[REDLOCK_ADDRESS_MAX] = "";
    if (node >= 0) {
        const char *host = strstr(c->urls[node], "127.0.0.1");
        snprintf(address, sizeof address, "%s", host);
    }
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->each[i].address, address) == 0 && strcmp(all->each[i].name, name) == 0)
            return &all->each[i];
    print_findings(all);
    FAIL("no check \"%s\" of \"%s\"", name, address);
}

void expect(const struct findings *all, const struct cluster *c, int node, const char *name,
            int verdict)
{
    const redlock_check *f = find(all, c, node, name);
    if (f->verdict != verdict) {
        print_findings(all);
        FAIL("%s of node %d: expected %s, got %s", name, node, verdicts[verdict],
             verdicts[f->verdict]);
    }
    CHECK(f->text[0] != '\0');
    if (verdict == REDLOCK_CHECK_WARN || verdict == REDLOCK_CHECK_FAIL)
        CHECK(f->remedy[0] != '\0');
}

void expect_only(const struct findings *all, const char *const *suspects)
{
    for (size_t i = 0; i < all->count; i++) {
        bool named = false;
        for (size_t n = 0; suspects[n] != NULL; n++)
            named = named || strcmp(all->each[i].name, suspects[n]) == 0;
        /* The servers of the tests are admitted one by one: they belong to no set. */
        named = named || (strcmp(all->each[i].name, "membership") == 0 &&
                          all->each[i].verdict == REDLOCK_CHECK_WARN);
        if (!named && all->each[i].verdict != REDLOCK_CHECK_OK) {
            print_findings(all);
            FAIL("%s: expected ok, got %s", all->each[i].name, verdicts[all->each[i].verdict]);
        }
    }
}
