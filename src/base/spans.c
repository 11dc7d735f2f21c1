/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/spans.h"

#include <stddef.h>

#include "base/time.h"

void rl_deadline_remove(struct rl_deadline *deadline)
{
    struct rl_span *list = deadline->list;

    if (!list)
        return;
    if (deadline->previous)
        deadline->previous->next = deadline->next;
    else
        list->first = deadline->next;
    if (deadline->next)
        deadline->next->previous = deadline->previous;
    else
        list->last = deadline->previous;
    deadline->list = NULL;
    list->count--;
}

void rl_deadline_set(struct rl_span *list, struct rl_deadline *deadline, int64_t now_ns)
{
    rl_deadline_remove(deadline);
    deadline->list = list;
    deadline->due_ns = now_ns + list->span_ns;
    deadline->previous = list->last;
    deadline->next = NULL;
    if (list->last)
        list->last->next = deadline;
    else
        list->first = deadline;
    list->last = deadline;
    list->count++;
}

struct rl_deadline *rl_span_due(struct rl_span *list, int64_t now_ns)
{
    return list->first && list->first->due_ns <= now_ns ? list->first : NULL;
}

int64_t rl_span_next_ns(const struct rl_span *list)
{
    return list->first ? list->first->due_ns : RL_NEVER_NS;
}
