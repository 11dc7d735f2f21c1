/* SPDX-License-Identifier: BSD-2-Clause */
/* A stretch of text that is being read, and what its characters are, whatever the locale. */
#ifndef RL_PROTOCOL_SPAN_H
#define RL_PROTOCOL_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct rl_span {
    const char *at; /* not terminated */
    size_t length;
};

static inline bool rl_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char rl_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool rl_is_letter(char c)
{
    return rl_lower(c) >= 'a' && rl_lower(c) <= 'z';
}

static inline bool rl_is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

/* 0 to 15, or -1. */
static inline int rl_hex_value(char c)
{
    if (rl_is_digit(c))
        return c - '0';
    c = rl_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline bool rl_span_has(struct rl_span s, char c)
{
    return s.length > 0 && memchr(s.at, c, s.length) != NULL;
}

/* word is in lower case. */
static inline bool rl_span_is(struct rl_span s, const char *word)
{
    size_t i = 0;

    while (i < s.length && word[i] != '\0' && rl_lower(s.at[i]) == word[i])
        i++;
    return i == s.length && word[i] == '\0';
}

/* Only letters, digits and the characters of `more`; not empty. */
static inline bool rl_span_only(struct rl_span s, const char *more)
{
    for (size_t i = 0; i < s.length; i++) {
        char c = s.at[i];

        if (!rl_is_letter(c) && !rl_is_digit(c) && (c == '\0' || strchr(more, c) == NULL))
            return false;
    }
    return s.length > 0;
}

static inline void rl_span_skip(struct rl_span *s, size_t n)
{
    s->at += n;
    s->length -= n;
}

/* The start of s up to the first character of `stops`; s keeps the rest, the stop included. */
static inline struct rl_span rl_span_until(struct rl_span *s, const char *stops)
{
    struct rl_span head = {s->at, 0};

    while (head.length < s->length && strchr(stops, s->at[head.length]) == NULL)
        head.length++;
    rl_span_skip(s, head.length);
    return head;
}

/*
 * nearest.c: what a mistyped word was probably meant to be, of `names` (NULL-terminated, lower
 * case); NULL when none is near.
 */
const char *rl_nearest(struct rl_span word, const char *const *names);

#endif
