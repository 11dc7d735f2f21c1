/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/line.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#define LINES_FIRST 16
#define LINES_KEPT 1024

uint64_t rl_line_hash(struct rl_slice key)
{
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < key.size; i++)
        hash = (hash ^ (unsigned char)key.data[i]) * 1099511628211u;
    return hash ^ hash >> 32;
}

static bool has_key(const struct rl_line *line, uint64_t hash, struct rl_slice key)
{
    struct rl_slice other = rl_claim_key(line->first->claim);

    return line->hash == hash && other.size == key.size &&
           memcmp(other.data, key.data, key.size) == 0;
}

static struct rl_line *find(const struct rl_lines *lines, uint64_t hash, struct rl_slice key)
{
    struct rl_line *line;

    if (lines->count == 0)
        return NULL;
    line = lines->bucket[hash & (lines->bucket_count - 1)];
    while (line && !has_key(line, hash, key))
        line = line->next;
    return line;
}

struct rl_line *rl_line_find(const struct rl_lines *lines, struct rl_slice key)
{
    return lines->count ? find(lines, rl_line_hash(key), key) : NULL;
}

static void put_in_bucket(struct rl_lines *lines, struct rl_line *line)
{
    struct rl_line **bucket = &lines->bucket[line->hash & (lines->bucket_count - 1)];

    line->next = *bucket;
    *bucket = line;
}

static void take_out_of_bucket(struct rl_lines *lines, const struct rl_line *line)
{
    struct rl_line **at = &lines->bucket[line->hash & (lines->bucket_count - 1)];

    while (*at != line)
        at = &(*at)->next;
    *at = line->next;
}

/* Room for twice as many lines, with as many buckets. */
static bool grow(struct rl_lines *lines)
{
    uint32_t capacity = lines->capacity ? 2 * lines->capacity : LINES_FIRST;
    struct rl_line **all = realloc(lines->all, capacity * sizeof *all);
    uint32_t *generation =
        all ? realloc(lines->generation, capacity * sizeof *generation) : NULL;
    uint32_t *spare = generation ? realloc(lines->spare, capacity * sizeof *spare) : NULL;
    struct rl_line **bucket = spare ? malloc(capacity * sizeof *bucket) : NULL;

    /* What has moved already is kept where it is now, also when the rest fails. */
    if (all)
        lines->all = all;
    if (generation)
        lines->generation = generation;
    if (spare)
        lines->spare = spare;
    if (!bucket)
        return false;
    for (uint32_t i = capacity; i-- > lines->capacity;) {
        lines->all[i] = NULL;
        lines->generation[i] = 1;
        lines->spare[lines->spare_count++] = i;
    }
    for (uint32_t i = 0; i < capacity; i++)
        bucket[i] = NULL;
    free(lines->bucket);
    lines->bucket = bucket;
    lines->bucket_count = capacity;
    for (uint32_t i = 0; i < lines->capacity; i++)
        if (lines->all[i] && !lines->all[i]->is_private)
            put_in_bucket(lines, lines->all[i]);
    lines->capacity = capacity;
    return true;
}

static struct rl_line *new_line(struct rl_lines *lines)
{
    struct rl_line *line = lines->kept;

    if (lines->spare_count == 0 && !grow(lines))
        return NULL;
    if (line) {
        lines->kept = line->next;
        lines->kept_count--;
    } else {
        line = malloc(sizeof *line);
        if (!line)
            return NULL;
    }
    *line = (struct rl_line){0};
    line->index = lines->spare[--lines->spare_count];
    line->generation = ++lines->generation[line->index];
    lines->all[line->index] = line;
    lines->count++;
    return line;
}

static void append(struct rl_line *line, struct rl_handle *handle)
{
    struct rl_seeker *seeker = rl_seeker_of(handle);

    seeker->line = line;
    seeker->line_next = NULL;
    seeker->line_previous = line->last;
    if (line->last)
        rl_seeker_of(line->last)->line_next = handle;
    else
        line->first = handle;
    line->last = handle;
}

struct rl_line *rl_line_join(struct rl_lines *lines, struct rl_handle *handle, bool is_private)
{
    struct rl_slice key = rl_claim_key(handle->claim);
    uint64_t hash = rl_line_hash(key);
    struct rl_line *line = is_private ? NULL : find(lines, hash, key);

    if (line) {
        append(line, handle);
        return line;
    }
    line = new_line(lines);
    if (!line)
        return NULL;
    line->hash = hash;
    line->is_private = is_private;
    append(line, handle);
    if (!is_private)
        put_in_bucket(lines, line);
    return line;
}

static void free_line(struct rl_lines *lines, struct rl_line *line)
{
    if (!line->is_private)
        take_out_of_bucket(lines, line);
    lines->all[line->index] = NULL;
    lines->spare[lines->spare_count++] = line->index;
    lines->count--;
    if (lines->kept_count == LINES_KEPT) {
        free(line);
        return;
    }
    line->next = lines->kept;
    lines->kept = line;
    lines->kept_count++;
}

struct rl_handle *rl_line_leave(struct rl_lines *lines, struct rl_handle *handle)
{
    struct rl_seeker *seeker = rl_seeker_of(handle);
    struct rl_line *line = rl_line_of(handle);
    struct rl_handle *promoted = NULL;

    if (!line)
        return NULL;
    if (seeker->line_previous)
        rl_seeker_of(seeker->line_previous)->line_next = seeker->line_next;
    else
        promoted = line->first = seeker->line_next;
    if (seeker->line_next)
        rl_seeker_of(seeker->line_next)->line_previous = seeker->line_previous;
    else
        line->last = seeker->line_previous;
    seeker->line = NULL;
    seeker->line_next = seeker->line_previous = NULL;
    if (!line->first)
        free_line(lines, line);
    else if (promoted)
        rl_line_renumber(lines, line);
    return promoted;
}

uint64_t rl_line_number(const struct rl_line *line)
{
    return (uint64_t)line->generation << 32 | line->index;
}

void rl_line_renumber(struct rl_lines *lines, struct rl_line *line)
{
    line->generation = ++lines->generation[line->index];
}

struct rl_line *rl_line_of_number(const struct rl_lines *lines, uint64_t number)
{
    uint32_t index = (uint32_t)number;
    struct rl_line *line = index < lines->capacity ? lines->all[index] : NULL;

    return line && line->generation == (uint32_t)(number >> 32) ? line : NULL;
}

void rl_lines_free(struct rl_lines *lines)
{
    for (uint32_t i = 0; i < lines->capacity; i++)
        free(lines->all[i]);
    while (lines->kept) {
        struct rl_line *next = lines->kept->next;

        free(lines->kept);
        lines->kept = next;
    }
    free(lines->all);
    free(lines->generation);
    free(lines->spare);
    free(lines->bucket);
    *lines = (struct rl_lines){0};
}
