/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pairs.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/nearest.h"
#include "base/slice.h"

#define KEY_MAX 32

static int complain(char problem[RL_PAIRS_PROBLEM_MAX], const char *text)
{
    snprintf(problem, RL_PAIRS_PROBLEM_MAX, "%s", text);
    return -1;
}

/* A line without its end. 1; 0 at the end of the file; -1. */
static int read_line(struct rl_pairs *pairs, char problem[RL_PAIRS_PROBLEM_MAX])
{
    size_t used = 0;
    int c = getc(pairs->file);

    if (c == EOF && !ferror(pairs->file))
        return 0;
    pairs->line++;
    for (; c != EOF && c != '\n'; c = getc(pairs->file)) {
        if (c == '\0')
            return complain(problem, "the line contains a NUL byte");
        if (used == RL_PAIRS_LINE_MAX - 1)
            return complain(problem, "the line is too long: at most 4095 bytes");
        pairs->text[used++] = (char)c;
    }
    if (ferror(pairs->file))
        return complain(problem, strerror(errno));
    pairs->text[used] = '\0';
    return 1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts comment and blanks off both ends. */
static char *trim(char *text)
{
    char *end;

    while (is_blank(*text))
        text++;
    end = text;
    for (char *c = text; *c; c++) {
        if (*c == '#' && (c == text || is_blank(c[-1])))
            break;
        if (!is_blank(*c))
            end = c + 1;
    }
    *end = '\0';
    return text;
}

int rl_pairs_next(struct rl_pairs *pairs, char problem[RL_PAIRS_PROBLEM_MAX])
{
    char *text, *equals;
    struct rl_slice key;

    do {
        int result = read_line(pairs, problem);

        if (result <= 0)
            return result;
        text = trim(pairs->text);
    } while (*text == '\0');
    equals = strchr(text, '=');
    if (!equals)
        return complain(problem, "expected: key = value");
    *equals = '\0';
    pairs->key = trim(text);
    pairs->value = trim(equals + 1);
    key = rl_slice_of(pairs->key);
    if (key.size > KEY_MAX || !rl_slice_only(key, "-_"))
        return complain(problem, "expected: key = value");
    return 1;
}

void rl_pairs_unknown(char problem[RL_PAIRS_PROBLEM_MAX], const char *key,
                      const char *const *known)
{
    const char *nearest = rl_nearest(rl_slice_of(key), known);

    snprintf(problem, RL_PAIRS_PROBLEM_MAX, "unknown key '%s'%s%s%s", key,
             nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

void rl_pairs_twice(char problem[RL_PAIRS_PROBLEM_MAX], const char *key)
{
    snprintf(problem, RL_PAIRS_PROBLEM_MAX, "'%s' is given twice", key);
}
