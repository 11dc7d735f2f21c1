/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/open_client.h"
#include "system/timer.h"

#define IDLE_MAX 10
#define LOCKS_MAX 20000 /* remembered; the least busy are forgotten first */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct sample_lock *)a)->name, ((const struct sample_lock *)b)->name);
}

/* The longest hold of a lock; one that is unknown comes last. */
static int64_t age_ms(const struct snapshot *b)
{
    const redlock_holder *longest = snapshot_longest(b);
    return longest ? longest->held_ms : -1;
}

static int compare_age(const void *a, const void *b)
{
    int64_t x = age_ms(&((const struct sample_lock *)a)->snapshot);
    int64_t y = age_ms(&((const struct sample_lock *)b)->snapshot);
    return x == y ? compare_names(a, b) : x < y ? 1 : -1;
}

/* The order of the service's page: trouble, then what most wait for, then what is held for
 * longest, and records last, which nothing holds. */
static int compare_busy(const void *a, const void *b)
{
    const struct snapshot *x = &((const struct sample_lock *)a)->snapshot;
    const struct snapshot *y = &((const struct sample_lock *)b)->snapshot;
    if (x->disagree != y->disagree)
        return x->disagree ? -1 : 1;
    if (x->waiter_count != y->waiter_count)
        return x->waiter_count < y->waiter_count ? 1 : -1;
    if (x->record != y->record)
        return x->record ? 1 : -1;
    return compare_age(a, b);
}

static int64_t left_ms(const struct snapshot *b)
{
    return b->held && b->left_ms >= 0 ? b->left_ms : INT64_MAX;
}

static int compare_left(const void *a, const void *b)
{
    int64_t x = left_ms(&((const struct sample_lock *)a)->snapshot);
    int64_t y = left_ms(&((const struct sample_lock *)b)->snapshot);
    return x == y ? compare_names(a, b) : x > y ? 1 : -1;
}

void sample_sort(struct sample *s, enum sample_order order)
{
    static int (*const compare[])(const void *, const void *) = {compare_busy, compare_names,
                                                                 compare_age, compare_left};
    s->order = order;
    if (s->count > 0)
        qsort(s->locks, s->count, sizeof *s->locks, compare[order]);
}

const char *sample_order_word(enum sample_order order)
{
    static const char *const words[] = {"busy", "name", "age", "left"};
    return words[order];
}

/* Of several failures the first is kept. */
static void fail(struct sample *s, int error, const char *detail)
{
    if (error == REDLOCK_OK || s->error != REDLOCK_OK)
        return;
    s->error = error;
    snprintf(s->detail, sizeof s->detail, "%s", detail);
}

/*
 * Has the holder changed? The token shows it even if the lock is free at the moment of looking.
 */
static bool has_changed(const struct snapshot *before, const struct snapshot *now)
{
    return now->fence > before->fence || (now->held && strcmp(before->value, now->value) != 0);
}

static void take_answer(struct sample *s, struct sample_lock *lock, const struct snapshot *now)
{
    struct snapshot before = lock->snapshot;
    int64_t now_ns = timer_now_ns();
    bool busy;
    if (!snapshot_copy(&lock->snapshot, now)) {
        fail(s, REDLOCK_NOMEM, "out of memory");
        return;
    }
    lock->snapshot.name = lock->name;
    /* A node in quarantine has forgotten what the others know: its row shows it. */
    lock->snapshot.disagree = now->disagree && !s->quarantined;
    lock->changes = lock->looked_ns ? has_changed(&before, now) : -1;
    lock->span_ms = (now_ns - lock->looked_ns) / RL_NS_PER_MS;
    lock->looked_ns = now_ns;
    busy = now->votes > 0 || now->waiter_count > 0 || lock->changes > 0;
    lock->idle = busy ? 0 : lock->idle + 1;
    snapshot_free(&before);
}

static void free_lock(struct sample_lock *lock)
{
    snapshot_free(&lock->snapshot);
    free(lock->name);
}

static void forget_idle(struct sample *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->locks[i].idle <= IDLE_MAX)
            s->locks[kept++] = s->locks[i];
        else
            free_lock(&s->locks[i]);
    }
    s->count = kept;
}

/* Takes those that are new out of the list. */
static void add_names(struct sample *s, struct names *names)
{
    size_t known = s->count;
    struct sample_lock *more = reallocarray(s->locks, known + names->count + 1, sizeof *more);
    if (!more) {
        fail(s, REDLOCK_NOMEM, "out of memory");
        return;
    }
    s->locks = more;
    qsort(s->locks, known, sizeof *s->locks, compare_names);
    for (size_t i = 0; i < names->count; i++) {
        struct sample_lock wanted = {.name = names->name[i], .changes = -1};
        if (bsearch(&wanted, s->locks, known, sizeof wanted, compare_names))
            continue;
        s->locks[s->count++] = wanted;
        names->name[i] = NULL;
    }
    qsort(s->locks, s->count, sizeof *s->locks, compare_busy);
}

/* Queries all nodes, and those of each quorum that answers for its locks. */
static void list(struct sample *s)
{
    redlock *member, *client = s->look->client;
    redlock_node_info node = REDLOCK_NODE_INFO();
    struct names names = {.count = 0};
    s->available = s->quarantined = false;
    for (s->quorum_count = 0; (member = redlock_member(client, s->quorum_count));
         s->quorum_count++) {
        int error = client_ping(member, &s->pings[s->quorum_count]);
        fail(s, error, redlock_detail());
        if (error != REDLOCK_OK)
            continue;
        error = look_names_of(s->look, &names, s->quorum_count);
        fail(s, error, s->look->detail);
        s->available = s->available || error == REDLOCK_OK;
    }
    for (size_t i = 0; redlock_node(client, i, &node) == REDLOCK_OK; i++)
        s->quarantined = s->quarantined || node.quarantined;
    add_names(s, &names);
    names_free(&names);
}

/* one round of looks: the locks are answered in their order. */
struct round {
    struct sample *sample;
    size_t next;
    int64_t end_ns;
    sample_stop_fn *stop;
    void *data;
    bool stopped;
};

static bool on_answer(const struct snapshot *snapshot, void *data)
{
    struct round *r = data;
    if (!snapshot->error)
        take_answer(r->sample, &r->sample->locks[r->next], snapshot);
    r->next++;
    r->stopped = r->stop(r->data);
    return !r->stopped && timer_now_ns() < r->end_ns;
}

/* The busiest of the last time come first: they are seen whatever the rest costs. */
static void look_at_all(struct round *r)
{
    struct sample *s = r->sample;
    char **names = calloc(s->count + 1, sizeof *names);
    for (size_t i = 0; names && i < s->count; i++)
        names[i] = s->locks[i].name;
    if (names)
        look_at(s->look, names, s->count, on_answer, r);
    else
        fail(s, REDLOCK_NOMEM, "out of memory");
    s->unseen = s->count - r->next;
    free(names);
}

void sample_take(struct sample *s, int64_t budget_ms, sample_stop_fn *stop, void *data)
{
    struct round r = {.sample = s,
                      .end_ns = timer_now_ns() + budget_ms * RL_NS_PER_MS,
                      .stop = stop,
                      .data = data};
    s->unseen = 0;
    s->error = REDLOCK_OK;
    s->detail[0] = '\0';
    if (!s->pings)
        s->pings = calloc(REDLOCK_QUORUMS_MAX, sizeof *s->pings);
    if (!s->pings) {
        fail(s, REDLOCK_NOMEM, "out of memory");
        return;
    }
    list(s);
    if (!s->available)
        return;
    look_at_all(&r);
    if (r.stopped)
        return;
    forget_idle(s);
    if (s->count > LOCKS_MAX)
        qsort(s->locks, s->count, sizeof *s->locks, compare_busy);
    while (s->count > LOCKS_MAX)
        free_lock(&s->locks[--s->count]);
    sample_sort(s, s->order);
}

void sample_free(struct sample *s)
{
    for (size_t i = 0; i < s->count; i++)
        free_lock(&s->locks[i]);
    free(s->locks);
    free(s->pings);
    *s = (struct sample){0};
}
