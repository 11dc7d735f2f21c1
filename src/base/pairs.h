/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of settings: lines of `key = value`. A # at the start of a line or after a blank begins
 * a comment; blanks around key and value are none of theirs.
 */
#ifndef RL_BASE_PAIRS_H
#define RL_BASE_PAIRS_H

#include <stdio.h>

#define RL_PAIRS_LINE_MAX 4096   /* with its end */
#define RL_PAIRS_PROBLEM_MAX 160 /* what is wrong with a line, in words */

struct rl_pairs {
    FILE *file; /* not owned */
    unsigned line;
    char *key, *value; /* of that line, in text */
    char text[RL_PAIRS_LINE_MAX];
};

/* The next pair, over blank lines and comments. 1; 0: there is none; -1 with what is wrong in
 * `problem`, which never shows more of a line than what looks like a key: the rest may be a
 * password. */
int rl_pairs_next(struct rl_pairs *pairs, char problem[RL_PAIRS_PROBLEM_MAX]);

/* What is wrong with a key that is not one of `known`, which end with NULL. */
void rl_pairs_unknown(char problem[RL_PAIRS_PROBLEM_MAX], const char *key,
                      const char *const *known);

/* What is wrong with a key that the file has given already. */
void rl_pairs_twice(char problem[RL_PAIRS_PROBLEM_MAX], const char *key);

#endif
