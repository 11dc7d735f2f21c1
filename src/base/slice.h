/* SPDX-License-Identifier: BSD-2-Clause */
/* A text of known size in memory that it does not own, not terminated; and what its
 * characters are, whatever the locale. */
#ifndef RL_BASE_SLICE_H
#define RL_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rl_slice {
    const char *data;
    size_t size;
};

/* Of a terminated text. */
static inline struct rl_slice rl_slice_of(const char *text)
{
    return (struct rl_slice){text, strlen(text)};
}

static inline bool rl_slice_starts(struct rl_slice slice, const char *text)
{
    size_t size = strlen(text);

    return slice.size >= size && memcmp(slice.data, text, size) == 0;
}

static inline bool rl_slice_equals(struct rl_slice slice, const char *text)
{
    return slice.size == strlen(text) && rl_slice_starts(slice, text);
}

/* FNV-1a of 64 bits. */
static inline uint64_t rl_slice_hash(struct rl_slice text)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (uint8_t)text.data[i]) * 0x100000001b3u;
    return hash;
}

/* Copies the text; returns what is behind it. */
static inline char *rl_slice_append(char *at, struct rl_slice text)
{
    memcpy(at, text.data, text.size);
    return at + text.size;
}

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

static inline bool rl_slice_has(struct rl_slice s, char c)
{
    return s.size > 0 && memchr(s.data, c, s.size) != NULL;
}

/* word is in lower case. */
static inline bool rl_slice_is(struct rl_slice s, const char *word)
{
    size_t i = 0;

    while (i < s.size && word[i] != '\0' && rl_lower(s.data[i]) == word[i])
        i++;
    return i == s.size && word[i] == '\0';
}

/* Only letters, digits and the characters of `more`; not empty. */
static inline bool rl_slice_only(struct rl_slice s, const char *more)
{
    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];

        if (!rl_is_letter(c) && !rl_is_digit(c) && (c == '\0' || strchr(more, c) == NULL))
            return false;
    }
    return s.size > 0;
}

static inline void rl_slice_skip(struct rl_slice *s, size_t n)
{
    s->data += n;
    s->size -= n;
}

/* The start of s up to the first character of `stops`; s keeps the rest, the stop included. */
static inline struct rl_slice rl_slice_until(struct rl_slice *s, const char *stops)
{
    struct rl_slice head = {s->data, 0};

    while (head.size < s->size && strchr(stops, s->data[head.size]) == NULL)
        head.size++;
    rl_slice_skip(s, head.size);
    return head;
}

#endif
