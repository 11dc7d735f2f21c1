/* SPDX-License-Identifier: BSD-2-Clause */
#include "holds.h"

#include "check.h"
#include "helper.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRINTED_MAX = 3 };

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
    return x->name != y->name ? compare(x->name, y->name) : compare(x->token, y->token);
}

static struct hold_record *sorted(const struct holds *h, int *count,
                                  int (*order)(const void *, const void *))
{
    *count = h->count < h->capacity ? h->count : h->capacity;
    struct hold_record *copy = calloc((size_t)*count + 1, sizeof *copy);
    CHECK(copy != NULL);
    memcpy(copy, h->record, (size_t)*count * sizeof *copy);
    qsort(copy, (size_t)*count, sizeof *copy, order);
    return copy;
}

int holds_doubles(const struct holds *h)
{
    int64_t end_ns[HOLD_NAMES_MAX] = {0};
    int count = 0, doubles = 0;
    struct hold_record *r = sorted(h, &count, by_granted);
    for (int i = 0; i < count; i++) {
        int64_t *end = &end_ns[r[i].name];
        if (r[i].granted_ns < *end && r[i].granted_ns < r[i].ended_ns) {
            if (doubles++ < PRINTED_MAX)
                printf("# name %d: granted %.3f ms before another hold of it ended\n",
                       r[i].name, (double)(*end - r[i].granted_ns) / 1e6);
        }
        if (r[i].ended_ns > *end)
            *end = r[i].ended_ns;
    }
    free(r);
    return doubles;
}

static int count_equal_tokens(const struct holds *h)
{
    int count = 0, equal = 0;
    struct hold_record *r = sorted(h, &count, by_token);
    for (int i = 1; i < count; i++)
        equal += r[i].name == r[i - 1].name && r[i].token == r[i - 1].token;
    if (equal > 0)
        printf("# %d tokens were given twice\n", equal);
    free(r);
    return equal;
}

int holds_disorders(const struct holds *h)
{
    int64_t largest[HOLD_NAMES_MAX] = {0};
    int count = 0, completed = 0, disorders = 0;
    struct hold_record *asked = sorted(h, &count, by_asked);
    struct hold_record *granted = sorted(h, &count, by_granted);
    for (int i = 0; i < count; i++) {
        for (; completed < count && granted[completed].granted_ns < asked[i].asked_ns;
             completed++) {
            const struct hold_record *g = &granted[completed];
            if (g->token > largest[g->name])
                largest[g->name] = g->token;
        }
        if (asked[i].token <= largest[asked[i].name] && disorders++ < PRINTED_MAX)
            printf("# name %d: token %lld after %lld had been given\n", asked[i].name,
                   (long long)asked[i].token, (long long)largest[asked[i].name]);
    }
    free(asked);
    free(granted);
    return disorders + count_equal_tokens(h);
}
