/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line prints for each kind of lock. */
#ifndef CLI_KIND_H
#define CLI_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <redlock.h>

struct kind_words {
    const char *inside;  /* why no lock of the same name can be taken inside one of this kind */
    const char *shown;   /* in a table: a plain lock of `run` is exclusive like any other */
    const char *holders; /* several at once are counted as these; NULL: one holder is named */
    bool has_slots;      /* and they are counted out of so many */
    bool same_owner_may; /* the same owner may take it again inside */
};

/* kind: any number; of an unknown one nothing special is printed. */
const struct kind_words *kind_words(int32_t kind);

/* The number of the kind with this word; -1: there is none. */
int32_t kind_of_word(const char *word, size_t length);

#endif
