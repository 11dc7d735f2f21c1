/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/kind.h"

#include <stdio.h>

/* By the library's traits of a kind: the first that it has. */
static const struct {
    uint32_t trait; /* REDLOCK_KIND_; 0: no kind */
    struct kind_words words;
} rows[] = {
    {REDLOCK_KIND_SLOTS,
     {.shown = "slots",
      .inside = "as one of its slots: a wait for a second one can be a wait for itself",
      .holders = "slot",
      .has_slots = true}},
    {REDLOCK_KIND_SEVERAL,
     {.shown = "shared",
      .inside = "as a reader: inside it, a wait for the same name can be a wait for itself",
      .holders = "reader"}},
    {REDLOCK_KIND_OWNER,
     {.shown = "exclusive",
      .inside = "exclusively: only a plain `redlock run` of this one name may take it again",
      .same_owner_may = true}},
    {REDLOCK_KIND_NAMES,
     {.shown = "exclusive",
      .inside = "together with other names: such a lock cannot be taken again"}},
    {REDLOCK_KIND_EXCLUSIVE,
     {.shown = "exclusive", .inside = "exclusively: such a lock cannot be taken again"}},
    {0, {.shown = "unknown"}},
};

const struct kind_words *kind_words(int32_t kind)
{
    uint32_t traits = redlock_kind_traits(kind);
    size_t i = 0;
    while (rows[i].trait && !(traits & rows[i].trait))
        i++;
    return &rows[i].words;
}

int32_t kind_of_word(const char *word, size_t length)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%.*s", (int)length, word);
    return (size_t)size < sizeof text ? redlock_kind_number(text) : -1;
}
