/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line and the environment ask for. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlock.h"

#define NODES_TEXT_MAX 4096
#define LOCKS_COUNT_MAX 6
#define HELD_LOCKS_MAX 1000000

/* One line per part of a run: name, what it measures. In this order they run. */
#define PARTS(X)                                                                               \
    X(CYCLES, "cycles", "acquire and release against the floor, 1 to 256 callers")             \
    X(NATIVE, "native", "release without a script, on servers that can")                       \
    X(HUNG, "hung", "one of the nodes does not answer")                                        \
    X(CROWD, "crowd", "16 callers want one name")                                              \
    X(RUN, "run", "redlock run against redis-cli ping")                                        \
    X(HELD, "held", "one client keeps many locks renewed")

enum part {
#define PART_ENUM(NAME, name, what) PART_##NAME,
    PARTS(PART_ENUM)
#undef PART_ENUM
        PART_COUNT
};

struct options {
    unsigned rounds;
    double seconds;   /* of each measurement */
    unsigned parts;   /* which ones, a bit each */
    bool check;       /* a missed target is a failure */
    const char *json; /* file to write; NULL: standard output */

    unsigned locks[LOCKS_COUNT_MAX]; /* held: how many */
    unsigned locks_count;
    int64_t ttl_ms; /* held: of each lock */

    char nodes_text[NODES_TEXT_MAX];
    const char *node[REDLOCK_NODES_MAX];
    size_t node_count;
};

/* The words of a list, in place: separated by commas or white space. Returns how many; one more
 * than `max` when there are too many. */
size_t split_words(char *text, const char **word, size_t max);

/* 0 or -1, with a message. --help prints and exits. */
int options_parse(struct options *options, int argc, char **argv);

#endif
