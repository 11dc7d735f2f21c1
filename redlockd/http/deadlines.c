/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/deadlines.h"

#include <stddef.h>

#include "base/time.h"

void http_deadline_remove(struct http_deadline *deadline)
{
    struct http_deadlines *list = deadline->list;

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

void http_deadline_set(struct http_deadlines *list, struct http_deadline *deadline,
                       int64_t now_ns)
{
    http_deadline_remove(deadline);
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

struct http_deadline *http_deadlines_due(struct http_deadlines *list, int64_t now_ns)
{
    return list->first && list->first->due_ns <= now_ns ? list->first : NULL;
}

int64_t http_deadlines_next_ns(const struct http_deadlines *list)
{
    return list->first ? list->first->due_ns : RL_NEVER_NS;
}
