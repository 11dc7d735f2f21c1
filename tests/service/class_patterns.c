/* SPDX-License-Identifier: BSD-2-Clause */
/* The class of a name, beside a search that only knows fnmatch(). */
#include "check.h"
#include "journal/classes.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 2000
#define NAMES 50
#define PATTERN_ROOM 24

static uint64_t seed = 0x9e3779b97f4a7c15u;

static unsigned next(unsigned below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (unsigned)(seed % below);
}

/* Of few characters, so that many names fit. */
static void make(char *text, const char *from)
{
    unsigned size = 1 + next(PATTERN_ROOM - 2);

    for (unsigned i = 0; i < size; i++)
        text[i] = from[next((unsigned)strlen(from))];
    text[size] = '\0';
}

static int expected(const struct classes *classes, const char *name)
{
    for (unsigned i = 0; i < classes->count; i++)
        if (fnmatch(classes->list[i].pattern, name, 0) == 0)
            return (int)i;
    return -1;
}

CASE(as_fnmatch,
     "The first pattern that fnmatch() takes is the class, whatever its literal ends.")
{
    char pattern[PATTERN_ROOM], name[PATTERN_ROOM], why[256];
    unsigned fitting = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct classes classes = {.list = NULL};

        for (unsigned i = 0; i < 1 + next(4); i++) {
            make(pattern, next(2) ? "aaaab/*" : "ab/*?[a-]\\");
            classes_add(&classes, pattern, why, sizeof why);
        }
        for (unsigned i = 0; i < NAMES; i++) {
            const struct lock_class *found;
            int wanted;

            make(name, "aaaaab/");
            found = classes_find(&classes, name);
            wanted = expected(&classes, name);
            fitting += found != NULL;
            if ((found ? (int)(found - classes.list) : -1) != wanted)
                FAIL("%s: class %d", name, wanted);
        }
        classes_free(&classes);
    }
    CHECK(fitting > ROUNDS);
}

CASE(long_ends, "Literal beginnings and ends longer than a word are compared whole.")
{
    struct classes classes = {.list = NULL};
    char why[256];

    CHECK_INT(0, classes_add(&classes, "production/team-1/*", why, sizeof why));
    CHECK_INT(0, classes_add(&classes, "production/team-2/*", why, sizeof why));
    CHECK_INT(0, classes_add(&classes, "*/backup-of-the-night", why, sizeof why));
    CHECK_INT(0, classes_add(&classes, "exactly-this-name", why, sizeof why));
    CHECK(classes_find(&classes, "production/team-1/x") == &classes.list[0]);
    CHECK(classes_find(&classes, "production/team-2/x/y") == &classes.list[1]);
    CHECK(classes_find(&classes, "a/backup-of-the-night") == &classes.list[2]);
    CHECK(classes_find(&classes, "exactly-this-name") == &classes.list[3]);
    CHECK(classes_find(&classes, "exactly-this-name2") == NULL);
    CHECK(classes_find(&classes, "producti") == NULL);
    CHECK(classes_find(&classes, "b") == NULL);
    classes_free(&classes);
}

CASE(replaced,
     "After HUP a pattern that stays goes on with what it has counted, wherever it stands.")
{
    struct classes classes = {.list = NULL}, fresh = {.list = NULL};
    char why[256];

    classes_add(&classes, "a/*", why, sizeof why);
    classes_add(&classes, "b/*", why, sizeof why);
    classes_note(&classes, &(struct journal_entry){.event = JOURNAL_LOST, .name = "b/1"});
    classes_add(&fresh, "b/*", why, sizeof why);
    classes_add(&fresh, "c/*", why, sizeof why);
    classes_replace(&classes, &fresh);
    CHECK_INT(2, (int)classes.count);
    CHECK_INT(1, (int)classes.list[0].lost);
    CHECK_INT(0, (int)classes.list[1].lost);
    CHECK_INT(0, (int)fresh.count);
    classes_free(&classes);
}
