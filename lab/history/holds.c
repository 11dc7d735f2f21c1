/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/history/holds.h"

#include "helper.h"

#include <redlock.h>

#include <stdio.h>
#include <stdlib.h>

enum { NAMES_MAX = 64, PRINTED_MAX = 3, FIRST_ROOM = 64 };

bool hold_excludes(const struct hold_record *a, const struct hold_record *b)
{
    if (!(a->names & b->names))
        return false;
    if (a->kind != b->kind)
        return true;
    switch ((enum redlock_kind)a->kind) {
    case REDLOCK_MUTEX:
        return true;
    case REDLOCK_SHARED:
        return false;
    case REDLOCK_REENTRANT:
        return a->owner != b->owner;
    case REDLOCK_SEMAPHORE:
        return a->slot == b->slot && a->slot != 0;
    }
    return true;
}

static void *need(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

void hold_list_add(struct hold_list *l, const struct hold_record *hold)
{
    if (l->count == l->room) {
        l->room = l->room > 0 ? 2 * l->room : FIRST_ROOM;
        l->hold = need(realloc(l->hold, l->room * sizeof *l->hold));
    }
    l->hold[l->count++] = *hold;
}

void hold_list_free(struct hold_list *l)
{
    free(l->hold);
    *l = (struct hold_list){0};
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_granted(const void *a, const void *b)
{
    const struct hold_record *x = a, *y = b;
    return compare(x->granted_ns, y->granted_ns);
}

static int by_asked(const void *a, const void *b)
{
    const struct hold_record *x = a, *y = b;
    return compare(x->asked_ns, y->asked_ns);
}

static int by_token(const void *a, const void *b)
{
    const struct hold_record *x = a, *y = b;
    return compare(x->token, y->token);
}

static void sort(struct hold_list *l, int (*order)(const void *, const void *))
{
    if (l->count > 0)
        qsort(l->hold, l->count, sizeof *l->hold, order);
}

void hold_list_sort(struct hold_list *l)
{
    sort(l, by_granted);
}

void hold_list_visit(struct hold_list *l, hold_visit_fn *visit, void *data)
{
    const struct hold_record **active = need(calloc(l->count + 1, sizeof *active));
    size_t count = 0;
    sort(l, by_granted);
    for (size_t i = 0; i < l->count; i++) {
        const struct hold_record *hold = &l->hold[i];
        size_t kept = 0;
        for (size_t k = 0; k < count; k++)
            if (active[k]->ended_ns > hold->granted_ns)
                active[kept++] = active[k];
        count = kept;
        if (hold->ended_ns <= hold->granted_ns)
            continue;
        visit(data, hold, active, count);
        active[count++] = hold;
    }
    free(active);
}

int64_t hold_list_order(struct hold_list *l, int64_t floor, hold_order_fn *found, void *data)
{
    struct hold_list granted = {0};
    const struct hold_record *largest = NULL;
    size_t completed = 0;
    for (size_t i = 0; i < l->count; i++)
        hold_list_add(&granted, &l->hold[i]);
    sort(&granted, by_granted);
    sort(l, by_asked);
    for (size_t i = 0; i < l->count; i++) {
        const struct hold_record *hold = &l->hold[i];
        for (; completed < granted.count && granted.hold[completed].granted_ns < hold->asked_ns;
             completed++)
            if (largest == NULL || granted.hold[completed].token > largest->token)
                largest = &granted.hold[completed];
        if (hold->token <= (largest != NULL ? largest->token : floor))
            found(data, hold, largest);
    }
    sort(l, by_token);
    for (size_t i = 1; i < l->count; i++)
        if (l->hold[i].token == l->hold[i - 1].token)
            found(data, &l->hold[i], &l->hold[i - 1]);
    hold_list_free(&granted);
    return l->count > 0 && l->hold[l->count - 1].token > floor ? l->hold[l->count - 1].token
                                                               : floor;
}

struct holds *holds_new(int capacity)
{
    struct holds *h = helper_memory(sizeof *h + (size_t)capacity * sizeof(struct hold_record));
    h->capacity = capacity;
    return h;
}

struct hold_record *holds_add(struct holds *h)
{
    int place = h->count++;
    if (place < h->capacity)
        return &h->record[place];
    h->stop = 1;
    return NULL;
}

int holds_count(const struct holds *h)
{
    return h->count < h->capacity ? h->count : h->capacity;
}

static struct hold_list list_of(const struct holds *h, uint64_t names)
{
    struct hold_list l = {0};
    for (int i = 0; i < holds_count(h); i++)
        if (h->record[i].names & names)
            hold_list_add(&l, &h->record[i]);
    return l;
}

static void count_doubles(void *data, const struct hold_record *hold,
                          const struct hold_record *const *others, size_t count)
{
    int *found = data;
    for (size_t i = 0; i < count; i++)
        if (hold_excludes(hold, others[i]) && (*found)++ < PRINTED_MAX)
            printf("# names %llx: %s granted %.3f ms before the end of %s\n",
                   (unsigned long long)hold->names, redlock_kind_text(hold->kind),
                   (double)(others[i]->ended_ns - hold->granted_ns) / 1e6,
                   redlock_kind_text(others[i]->kind));
}

int holds_doubles(const struct holds *h)
{
    struct hold_list l = list_of(h, UINT64_MAX);
    int found = 0;
    hold_list_visit(&l, count_doubles, &found);
    hold_list_free(&l);
    return found;
}

struct peak {
    int kind, most;
};

static void find_peak(void *data, const struct hold_record *hold,
                      const struct hold_record *const *others, size_t count)
{
    struct peak *peak = data;
    int together = hold->kind == peak->kind;
    for (size_t i = 0; together > 0 && i < count; i++)
        together += others[i]->kind == peak->kind;
    peak->most = together > peak->most ? together : peak->most;
}

int holds_peak(const struct holds *h, int kind)
{
    struct hold_list l = list_of(h, UINT64_MAX);
    struct peak peak = {.kind = kind};
    hold_list_visit(&l, find_peak, &peak);
    hold_list_free(&l);
    return peak.most;
}

static void count_disorders(void *data, const struct hold_record *hold,
                            const struct hold_record *earlier)
{
    int *found = data;
    if ((*found)++ < PRINTED_MAX)
        printf("# names %llx: token %lld after %lld had been given\n",
               (unsigned long long)hold->names, (long long)hold->token,
               earlier != NULL ? (long long)earlier->token : 0);
}

int holds_disorders(const struct holds *h)
{
    int found = 0;
    for (int name = 0; name < NAMES_MAX; name++) {
        struct hold_list l = list_of(h, UINT64_C(1) << name);
        hold_list_order(&l, 0, count_disorders, &found);
        hold_list_free(&l);
    }
    return found;
}
