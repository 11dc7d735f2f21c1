/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/kind.h"

#include <string.h>

static const struct kind_words words[] = {
    [REDLOCK_MUTEX] = {.shown = "exclusive",
                       .inside =
                           "together with other names: such a lock cannot be taken again"},
    [REDLOCK_SHARED] = {.shown = "shared",
                        .inside =
                            "as a reader: inside it, a wait for the same name can be a wait "
                            "for itself",
                        .holders = "reader"},
    [REDLOCK_REENTRANT] = {.shown = "exclusive",
                           .inside =
                               "exclusively: only a plain `redlock run` of this one name may "
                               "take it again",
                           .same_owner_may = true},
    [REDLOCK_SEMAPHORE] = {.shown = "slots",
                           .inside =
                               "as one of its slots: a wait for a second one can be a wait "
                               "for itself",
                           .holders = "slot",
                           .has_slots = true},
};

#define ONE(name, number, text) +1
_Static_assert(sizeof words / sizeof words[0] == 0 REDLOCK_KINDS(ONE), "a row for every kind");
#undef ONE

const struct kind_words *kind_words(int32_t kind)
{
    static const struct kind_words none = {.shown = "unknown"};
    return kind >= 0 && (size_t)kind < sizeof words / sizeof words[0] ? &words[kind] : &none;
}

int32_t kind_of_word(const char *word, size_t length)
{
    for (int32_t kind = 0; (size_t)kind < sizeof words / sizeof words[0]; kind++) {
        const char *text = redlock_kind_text(kind);
        if (strlen(text) == length && strncmp(word, text, length) == 0)
            return kind;
    }
    return -1;
}
