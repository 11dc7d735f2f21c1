/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal/classes.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"

#define SPECIAL "*?[]\\"
#define WORD sizeof(uint32_t)

void classes_free(struct classes *classes)
{
    free(classes->list);
    *classes = (struct classes){.list = NULL};
}

/* `size` bytes, and zeros behind them: a word, if there are as many. */
static uint32_t first_bytes(const char *text, size_t size)
{
    uint32_t bytes = 0;

    memcpy(&bytes, text, size < WORD ? size : WORD);
    return bytes;
}

/* The last ones of `size`, and zeros in front of them. */
static uint32_t last_bytes(const char *text, size_t size)
{
    size_t count = size < WORD ? size : WORD;
    uint32_t bytes = 0;

    memcpy((char *)&bytes + WORD - count, text + size - count, count);
    return bytes;
}

static struct class_ends ends_of(const char *pattern)
{
    static const char ones[] = "\xff\xff\xff\xff";
    size_t size = strlen(pattern), head = strcspn(pattern, SPECIAL), tail = 0;

    /* The end of a pattern that is all literal is in its head. */
    while (tail < size - head && !strchr(SPECIAL, pattern[size - tail - 1]))
        tail++;
    return (struct class_ends){
        .head = first_bytes(pattern + (head > WORD ? head - WORD : 0), head),
        .head_mask = first_bytes(ones, head),
        .tail = last_bytes(pattern + size - tail, tail),
        .tail_mask = last_bytes(ones, tail < WORD ? tail : WORD),
        .head_size = (uint8_t)head,
        .tail_size = (uint8_t)tail,
        .is_one_star = head + 1 + tail == size && pattern[head] == '*',
    };
}

int classes_add(struct classes *classes, const char *pattern, char *why, size_t why_size)
{
    size_t size = strlen(pattern);
    struct lock_class *list;

    if (classes->count == CLASSES_MAX) {
        snprintf(why, why_size, "class: at most %d patterns", CLASSES_MAX);
        return -1;
    }
    for (size_t i = 0; i < size; i++) {
        if (pattern[i] > ' ' && pattern[i] != 0x7f)
            continue;
        snprintf(why, why_size, "class: a pattern is printable ASCII without blanks");
        return -1;
    }
    if (size == 0 || size > CLASS_PATTERN_MAX) {
        snprintf(why, why_size, "class: a pattern has 1 to %d characters, as in jobs/*/nightly",
                 CLASS_PATTERN_MAX);
        return -1;
    }
    for (unsigned i = 0; i < classes->count; i++) {
        if (strcmp(classes->list[i].pattern, pattern) != 0)
            continue;
        snprintf(why, why_size, "class: %s stands twice", pattern);
        return -1;
    }
    list = realloc(classes->list, (classes->count + 1) * sizeof *list);
    if (!list) {
        snprintf(why, why_size, "class: out of memory");
        return -1;
    }
    classes->list = list;
    list[classes->count] = (struct lock_class){.wait.count = 0};
    strcpy(list[classes->count].pattern, pattern);
    classes->ends[classes->count++] = ends_of(pattern);
    return 0;
}

void classes_replace(struct classes *classes, struct classes *fresh)
{
    for (unsigned i = 0; i < fresh->count; i++)
        for (unsigned k = 0; k < classes->count; k++)
            if (strcmp(fresh->list[i].pattern, classes->list[k].pattern) == 0)
                fresh->list[i] = classes->list[k];
    classes_free(classes);
    *classes = *fresh;
    *fresh = (struct classes){.list = NULL};
}

/* ---- counting ---------------------------------------------------------------------------- */

/* Behind the words at its ends. */
static bool fits(const struct classes *classes, unsigned i, const char *name, size_t size)
{
    const struct class_ends *ends = &classes->ends[i];
    const char *pattern = classes->list[i].pattern;

    if (!ends->is_one_star)
        return fnmatch(pattern, name, 0) == 0;
    return size >= (size_t)ends->head_size + ends->tail_size &&
           memcmp(name, pattern, ends->head_size) == 0 &&
           memcmp(name + size - ends->tail_size, pattern + ends->head_size + 1,
                  ends->tail_size) == 0;
}

struct lock_class *classes_find(const struct classes *classes, const char *name)
{
    uint32_t head, tail;
    size_t size;

    if (classes->count == 0)
        return NULL;
    size = strlen(name);
    head = first_bytes(name, size);
    tail = last_bytes(name, size);
    for (unsigned i = 0; i < classes->count; i++) {
        const struct class_ends *ends = &classes->ends[i];
        uint32_t here = head;

        if (size < ends->head_size || (tail & ends->tail_mask) != ends->tail)
            continue;
        if (ends->head_size > WORD)
            here = first_bytes(name + ends->head_size - WORD, WORD);
        if ((here & ends->head_mask) == ends->head && fits(classes, i, name, size))
            return &classes->list[i];
    }
    return NULL;
}

static void add(struct class_times *times, int64_t took_ns)
{
    times->count++;
    times->sum_us += took_ns > 0 ? (uint64_t)(took_ns / RL_NS_PER_US) : 0;
}

void classes_note(struct classes *classes, const struct journal_entry *entry)
{
    bool is_end = entry->event == JOURNAL_RELEASED || entry->event == JOURNAL_ENDED ||
                  entry->event == JOURNAL_EXPIRED || entry->event == JOURNAL_LOST ||
                  entry->event == JOURNAL_BROKEN;
    bool is_counted =
        is_end || entry->event == JOURNAL_GRANTED || entry->event == JOURNAL_TIMEOUT;
    struct lock_class *class = is_counted ? classes_find(classes, entry->name) : NULL;

    if (!class)
        return;
    class->timeouts += entry->event == JOURNAL_TIMEOUT;
    class->lost += entry->event == JOURNAL_LOST;
    class->expired += entry->event == JOURNAL_EXPIRED;
    if (entry->event == JOURNAL_GRANTED)
        add(&class->wait, entry->waited_ns);
    if (entry->held_ns > 0)
        add(&class->hold, entry->held_ns);
}
