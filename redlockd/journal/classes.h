/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classes of locks: what happens to locks, counted by the first pattern of the settings that
 * the name matches (`class = PATTERN`). A name that matches none is not counted. Names are
 * other people's text and may be millions; patterns are the operator's, and at most
 * CLASSES_MAX.
 *
 * A name is looked up twice in the life of a lease. What decides about most patterns, their
 * literal ends, is in a table of 2 KB, which a cold cache reads in one go.
 */
#ifndef REDLOCKD_JOURNAL_CLASSES_H
#define REDLOCKD_JOURNAL_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/entry.h"

#define CLASSES_MAX 100
#define CLASS_PATTERN_MAX 64

struct class_times {
    uint64_t count;
    uint64_t sum_us;
};

struct lock_class {
    char pattern[CLASS_PATTERN_MAX + 1]; /* as fnmatch() reads it: a * matches slashes, too */
    struct class_times wait, hold;       /* of what was granted; of what has ended */
    uint64_t timeouts;                   /* waits that ended without the lock */
    uint64_t lost;
    uint64_t expired; /* without a release */
};

/* Up to 4 bytes of each literal end of a pattern: the last in front of its first special
 * character, and the last behind its last one. */
struct class_ends {
    uint32_t head, head_mask;
    uint32_t tail, tail_mask;
    uint8_t head_size, tail_size; /* of the whole of them */
    bool is_one_star;             /* between them, and nothing else: fnmatch() is not needed */
};

struct classes {
    struct lock_class *list; /* owned; in the order of the settings */
    struct class_ends ends[CLASSES_MAX];
    unsigned count;
};

void classes_free(struct classes *classes);

/* 0, or -1 with a sentence in why. */
int classes_add(struct classes *classes, const char *pattern, char *why, size_t why_size);

/* For HUP: takes `fresh`; a class with the same pattern goes on with what it has counted. */
void classes_replace(struct classes *classes, struct classes *fresh);

/* NULL: the name is of no class. */
struct lock_class *classes_find(const struct classes *classes, const char *name);

/* What was granted, what ended and how, and waits that ended without the lock. */
void classes_note(struct classes *classes, const struct journal_entry *entry);

#endif
