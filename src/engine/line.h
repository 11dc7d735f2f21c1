/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The waiters of one client for one name, in the order of their calls. Only the first of them is
 * sent to the nodes: the others would only fight it, and each other, over the network.
 *
 * The line's number is what the first one calls itself in the nodes' queues, so that a message
 * finds its way back; a new number is drawn whenever a place was given up, so that late messages
 * and late departures concern nobody.
 */
#ifndef RL_ENGINE_LINE_H
#define RL_ENGINE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/slice.h"

struct rl_handle;

struct rl_line {
    struct rl_handle *first;
    struct rl_handle *last;
    uint64_t hash;
    bool is_private;   /* in no bucket: nobody else may join */
    uint16_t unwaited; /* nodes where nobody waited when our last release passed, a bit each */
    uint32_t index;    /* in rl_lines.all */
    uint32_t generation;  /* of the index */
    struct rl_line *next; /* in its bucket, or in the list of free ones */
};

struct rl_lines {
    struct rl_line **all; /* by index; NULL where free */
    uint32_t capacity;
    uint32_t count; /* in use */
    uint32_t *generation;
    uint32_t *spare; /* free indexes, a stack */
    uint32_t spare_count;
    struct rl_line **bucket; /* a power of two of them */
    uint32_t bucket_count;
    struct rl_line *kept; /* for the next ones: a busy client allocates nothing */
    uint32_t kept_count;
};

/*
 * Puts the handle at the end of the line for its key, making one if there is none. is_private:
 * always a line of its own. NULL: out of memory.
 */
struct rl_line *rl_line_join(struct rl_lines *lines, struct rl_handle *handle, bool is_private);
/* Takes the handle out; returns the one that is first now because of it, or NULL. */
struct rl_handle *rl_line_leave(struct rl_lines *lines, struct rl_handle *handle);
uint64_t rl_line_hash(struct rl_slice key);
/* The line for a key, or NULL. */
struct rl_line *rl_line_find(const struct rl_lines *lines, struct rl_slice key);

/* What the first of the line is called at the nodes; never 0. */
uint64_t rl_line_number(const struct rl_line *line);
/* Draws another one. */
void rl_line_renumber(struct rl_lines *lines, struct rl_line *line);
/* The line of that number, or NULL. */
struct rl_line *rl_line_of_number(const struct rl_lines *lines, uint64_t number);

void rl_lines_free(struct rl_lines *lines);

#endif
