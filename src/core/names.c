/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in words, and words in numbers. */
#include "redlock.h"

#include <string.h>

#include "core/kind.h"

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

/* One line of a list of redlock.h. */
#define NUMBER_TEXT(name, number, text)                                                        \
    case number:                                                                               \
        return text;
#define NUMBER_NAME(name, number, text) NUMBER_TEXT(name, number, #name)
#define VOTE_TEXT(name, text) NUMBER_TEXT(name, REDLOCK_VOTE_##name, text)
#define EVENT_TEXT(name, text) NUMBER_TEXT(name, REDLOCK_EVENT_##name, text)
#define REASON_TEXT(name, text) NUMBER_TEXT(name, REDLOCK_REASON_##name, text)
#define REASON_NAME(name, text) NUMBER_TEXT(name, REDLOCK_REASON_##name, #name)

#define IN_WORDS(function, LIST, LINE, otherwise)                                              \
    const char *function(int number)                                                           \
    {                                                                                          \
        switch (number) {                                                                      \
            LIST(LINE)                                                                         \
        default:                                                                               \
            return otherwise;                                                                  \
        }                                                                                      \
    }

IN_WORDS(redlock_strerror, REDLOCK_ERRORS, NUMBER_TEXT, "unknown error")
IN_WORDS(redlock_error_name, REDLOCK_ERRORS, NUMBER_NAME, "UNKNOWN")
IN_WORDS(redlock_vote_text, REDLOCK_VOTES, VOTE_TEXT, "unknown")
IN_WORDS(redlock_event_text, REDLOCK_EVENTS, EVENT_TEXT, "unknown")
IN_WORDS(redlock_reason_text, REDLOCK_REASONS, REASON_TEXT, "unknown")
IN_WORDS(redlock_reason_name, REDLOCK_REASONS, REASON_NAME, "UNKNOWN")
IN_WORDS(redlock_kind_text, REDLOCK_KINDS, NUMBER_TEXT, "unknown")

int redlock_kind_number(const char *text)
{
#define SAME(name, number, word)                                                               \
    if (text && strcmp(text, word) == 0)                                                       \
        return number;
    REDLOCK_KINDS(SAME)
#undef SAME
    return -1;
}

const char *redlock_profile_text(int profile)
{
    return profile == REDLOCK_PROFILE_CORRECTNESS ? "correctness" : "efficiency";
}

int redlock_profile_number(const char *text)
{
    for (int i = REDLOCK_PROFILE_EFFICIENCY; i <= REDLOCK_PROFILE_CORRECTNESS; i++)
        if (text && strcmp(text, redlock_profile_text(i)) == 0)
            return i;
    return -1;
}

uint32_t redlock_kind_traits(int kind)
{
    const struct rl_kind *row;

    if (!rl_kind_is_known(kind))
        return 0;
    row = &rl_kinds[kind];
    return (row->exclusive ? REDLOCK_KIND_EXCLUSIVE : REDLOCK_KIND_SEVERAL) |
           (row->single ? REDLOCK_KIND_NAMES : 0) | (row->has_owner ? REDLOCK_KIND_OWNER : 0) |
           (row->has_slots ? REDLOCK_KIND_SLOTS : 0);
}

const char *redlock_version(void)
{
    return VERSION_TEXT(REDLOCK_VERSION_MAJOR, REDLOCK_VERSION_MINOR, REDLOCK_VERSION_PATCH);
}
