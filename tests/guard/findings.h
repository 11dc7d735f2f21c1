/* SPDX-License-Identifier: BSD-2-Clause */
/* What an audit finds, and what it was to find. */
#ifndef REDLOCK_TESTS_FINDINGS_H
#define REDLOCK_TESTS_FINDINGS_H

#include "servers.h"

enum { TTL_MS = 10000 };

/* Valid until the next audit. */
struct findings {
    const redlock_check *each;
    size_t count;
};

void audit_with(const redlock_options *o, int64_t ttl_ms, struct findings *all);
void audit(const struct cluster *c, struct findings *all);

void print_findings(const struct findings *all);

/* The verdict on one check of one node, by its place; node -1: of all together. */
const redlock_check *find(const struct findings *all, const struct cluster *c, int node,
                          const char *name);
void expect(const struct findings *all, const struct cluster *c, int node, const char *name,
            int verdict);

/* Whatever is not named here is ok. */
void expect_only(const struct findings *all, const char *const *suspects);

#endif
