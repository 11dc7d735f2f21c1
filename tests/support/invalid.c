/* SPDX-License-Identifier: BSD-2-Clause */
#include "invalid.h"

#include <stdio.h>
#include <string.h>

enum { DETAILS_MAX = 64 };

void invalid_expect_new_detail(const char *what)
{
    static char seen[DETAILS_MAX][512];
    static size_t seen_count;
    const char *detail = redlock_detail();
    if (detail[0] == '\0')
        FAIL("%s: no detail", what);
    for (size_t i = 0; i < seen_count; i++)
        if (strcmp(seen[i], detail) == 0)
            FAIL("%s: the same detail as before: %s", what, detail);
    CHECK(seen_count < DETAILS_MAX);
    snprintf(seen[seen_count++], sizeof seen[0], "%s", detail);
}
