/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlines of which there are many, of few different spans. Each span has its own list: what
 * is set last is due last, so setting, moving and removing cost nothing that grows with their
 * number.
 */
#ifndef RL_BASE_SPANS_H
#define RL_BASE_SPANS_H

#include <stdint.h>

struct rl_span;

/* Lives inside of what it wakes. */
struct rl_deadline {
    struct rl_span *list; /* NULL: not set */
    struct rl_deadline *previous, *next;
    int64_t due_ns;
};

struct rl_span {
    struct rl_deadline *first, *last;
    unsigned count;
    int64_t span_ns;
};

/* Sets or moves it: due span_ns after now_ns, which never goes back. */
void rl_deadline_set(struct rl_span *list, struct rl_deadline *deadline, int64_t now_ns);
void rl_deadline_remove(struct rl_deadline *deadline);

/* The first that is due, or NULL; it stays set. */
struct rl_deadline *rl_span_due(struct rl_span *list, int64_t now_ns);
/* When the first is due; RL_NEVER_NS. */
int64_t rl_span_next_ns(const struct rl_span *list);

#endif
