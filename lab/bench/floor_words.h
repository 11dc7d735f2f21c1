/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of the floor: encoded once, then only name and value are written into them, so
 * that the floor pays nothing for what does not change.
 */
#ifndef BENCH_FLOOR_WORDS_H
#define BENCH_FLOOR_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "floor_link.h"
#include "measure.h"

#define WORDS_VALUE_LENGTH 40 /* hex digits, as the library's */
#define WORDS_NAMES_MAX 4     /* how often a name may occur in what is sent at once */

/* What one step of a cycle sends to a node, and where name and value stand in it. */
struct words {
    char text[LINK_COMMAND_MAX];
    size_t size;
    size_t name_at[WORDS_NAMES_MAX];
    unsigned name_count;
    size_t value_at;
    unsigned replies; /* the first decides, the others are not waited for */
};

enum floor_release {
    FLOOR_AS_LIBRARY, /* what the library sends for a plain lock: native where there is such */
    FLOOR_CLASSIC,    /* the script of the Redlock specification: compare and delete one key */
};

void words_acquire(struct words *words);

/*
 * Asks the nodes what they can do and teaches them the script. Returns the word for it
 * ("EVALSHA", "DELIFEQ", "DELEX"), or NULL with a message on stderr.
 */
const char *words_release(struct words *words, enum floor_release release,
                          struct link *const *nodes, size_t node_count);

void words_fill(struct words *words, const struct name *name, const char *value);

#endif
