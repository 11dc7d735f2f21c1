/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/vote.h"

#include <string.h>

#include <redlock.h>

static const char *const names[] = {
#define VOTE_NAME(name, text) #name,
    REDLOCK_VOTES(VOTE_NAME)
#undef VOTE_NAME
};

#define VOTE_COUNT ((int32_t)(sizeof names / sizeof *names))

const char *vote_name(int32_t vote)
{
    return vote >= 0 && vote < VOTE_COUNT ? names[vote] : "UNKNOWN";
}

int32_t vote_number(const char *name)
{
    for (int32_t vote = 0; vote < VOTE_COUNT; vote++)
        if (strcmp(names[vote], name) == 0)
            return vote;
    return REDLOCK_VOTE_NONE;
}
