/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in words, and words in numbers. */
#include "redlock.h"

#include <string.h>

#include "core/kind.h"

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *redlock_strerror(int error)
{
    switch (error) {
#define CASE(name, number, text)                                                               \
    case number:                                                                               \
        return text;
        REDLOCK_ERRORS(CASE)
#undef CASE
    default:
        return "unknown error";
    }
}

const char *redlock_error_name(int error)
{
    switch (error) {
#define CASE(name, number, text)                                                               \
    case number:                                                                               \
        return #name;
        REDLOCK_ERRORS(CASE)
#undef CASE
    default:
        return "UNKNOWN";
    }
}

const char *redlock_vote_text(int vote)
{
    switch (vote) {
#define CASE(name, text)                                                                       \
    case REDLOCK_VOTE_##name:                                                                  \
        return text;
        REDLOCK_VOTES(CASE)
#undef CASE
    default:
        return "unknown";
    }
}

const char *redlock_event_text(int type)
{
    switch (type) {
#define CASE(name, text)                                                                       \
    case REDLOCK_EVENT_##name:                                                                 \
        return text;
        REDLOCK_EVENTS(CASE)
#undef CASE
    default:
        return "unknown";
    }
}

const char *redlock_reason_text(int reason)
{
    switch (reason) {
#define CASE(name, text)                                                                       \
    case REDLOCK_REASON_##name:                                                                \
        return text;
        REDLOCK_REASONS(CASE)
#undef CASE
    default:
        return "unknown";
    }
}

const char *redlock_kind_text(int kind)
{
    switch (kind) {
#define CASE(name, number, text)                                                               \
    case number:                                                                               \
        return text;
        REDLOCK_KINDS(CASE)
#undef CASE
    default:
        return "unknown";
    }
}

int redlock_kind_number(const char *text)
{
#define SAME(name, number, word)                                                               \
    if (text && strcmp(text, word) == 0)                                                       \
        return number;
    REDLOCK_KINDS(SAME)
#undef SAME
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
