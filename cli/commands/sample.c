/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/inquiry.h"
#include "report/report.h"
#include "settings/open_client.h"
#include "system/timer.h"

#define IDLE_MAX 10
#define LOCKS_MAX 20000 /* remembered; the least busy are forgotten first */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct sample_lock *)a)->name, ((const struct sample_lock *)b)->name);
}

/* The first `known_count` locks are in the order of their names while names are listed. */
static void on_name(struct sample *s, const char *name)
{
    struct sample_lock wanted = {.name = (char *)name};
    if (!names_match(name, s->pattern, s->pattern_count))
        return;
    if (s->known_count > 0 &&
        bsearch(&wanted, s->locks, s->known_count, sizeof wanted, compare_names))
        return;
    char *copy = strdup(name);
    struct sample_lock *more = copy ? reallocarray(s->locks, s->count + 1, sizeof *more) : NULL;
    if (!more) {
        free(copy);
        s->out_of_memory = true;
        return;
    }
    s->locks = more;
    s->locks[s->count++] = (struct sample_lock){.name = copy, .changes = -1};
}

/* Has the holder changed? The token shows it even if the lock is free at the
 * moment of looking. */
static bool has_changed(const struct lock_brief *before, const redlock_info *now)
{
    return now->fence > before->fence ||
           (now->held && strcmp(before->value, now->holder.value) != 0);
}

static void take_answer(struct sample *s, struct sample_lock *lock, const redlock_info *info,
                        const redlock_report *report)
{
    struct lock_brief brief;
    if (!lock_brief_copy(&brief, lock->name, info, report_longest_ms(info, report))) {
        s->out_of_memory = true;
        return;
    }
    /* A node in quarantine has forgotten what the others know: its row says so. */
    brief.disagree = brief.disagree && !s->quarantined;
    int64_t now_ns = timer_now_ns();
    lock->changes = lock->asked_ns ? has_changed(&lock->brief, info) : -1;
    lock->span_ms = (now_ns - lock->asked_ns) / NS_PER_MS;
    lock->asked_ns = now_ns;
    bool busy = info->holder.votes > 0 || info->waiter_count > 0 || lock->changes > 0;
    lock->idle = busy ? 0 : lock->idle + 1;
    lock_brief_free(&lock->brief);
    lock->brief = brief;
}

static void free_lock(struct sample_lock *lock)
{
    lock_brief_free(&lock->brief);
    free(lock->name);
}

int64_t sample_rate_tenths(const struct sample_lock *lock)
{
    if (lock->changes < 0 || lock->span_ms <= 0)
        return -1;
    return (lock->changes * 10000 + lock->span_ms / 2) / lock->span_ms;
}

/* The longest hold of a lock; one that is unknown comes last. */
static int64_t age_ms(const struct lock_brief *b)
{
    const redlock_holder *longest = lock_brief_longest(b);
    return longest ? longest->held_ms : -1;
}

static int compare_age(const void *a, const void *b)
{
    int64_t x = age_ms(&((const struct sample_lock *)a)->brief);
    int64_t y = age_ms(&((const struct sample_lock *)b)->brief);
    return x == y ? compare_names(a, b) : x < y ? 1 : -1;
}

/* The order of the service's page: trouble, then what most wait for, then what is held for
 * longest, and records last, which nothing holds. */
static int compare_busy(const void *a, const void *b)
{
    const struct lock_brief *x = &((const struct sample_lock *)a)->brief;
    const struct lock_brief *y = &((const struct sample_lock *)b)->brief;
    if (x->disagree != y->disagree)
        return x->disagree ? -1 : 1;
    if (x->waiter_count != y->waiter_count)
        return x->waiter_count < y->waiter_count ? 1 : -1;
    if (x->record != y->record)
        return x->record ? 1 : -1;
    return compare_age(a, b);
}

static int64_t left_ms(const struct lock_brief *b)
{
    return b->held && b->left_ms >= 0 ? b->left_ms : INT64_MAX;
}

static int compare_left(const void *a, const void *b)
{
    int64_t x = left_ms(&((const struct sample_lock *)a)->brief);
    int64_t y = left_ms(&((const struct sample_lock *)b)->brief);
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
static void fail(struct sample *s, int error)
{
    if (s->error != REDLOCK_OK)
        return;
    s->error = error;
    snprintf(s->detail, sizeof s->detail, "%s", redlock_detail());
}

static void list(struct sample *s)
{
    s->known_count = s->count;
    if (s->count > 0)
        qsort(s->locks, s->count, sizeof *s->locks, compare_names);
    for (size_t i = 0; i < s->quorum_count; i++) {
        redlock_answer *answer = NULL;
        if (!s->available[i])
            continue;
        int error = redlock_list(redlock_member(s->client, i), &answer);
        for (size_t k = 0; error == REDLOCK_OK && k < answer->name_count; k++)
            on_name(s, answer->names[k]);
        redlock_answer_free(answer);
        s->available[i] = error == REDLOCK_OK;
        if (error != REDLOCK_OK)
            fail(s, error);
    }
    if (s->count > 0)
        qsort(s->locks, s->count, sizeof *s->locks, compare_busy);
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

/* Does any quorum answer? */
static bool ping(struct sample *s)
{
    redlock *member;
    bool any = false;
    redlock_node_info node = REDLOCK_NODE_INFO();
    if (!s->pings)
        s->pings = calloc(REDLOCK_QUORUMS_MAX, sizeof *s->pings);
    if (!s->pings) {
        s->error = REDLOCK_NOMEM;
        snprintf(s->detail, sizeof s->detail, "out of memory");
        return false;
    }
    for (s->quorum_count = 0; (member = redlock_member(s->client, s->quorum_count));
         s->quorum_count++) {
        int error = client_ping(member, &s->pings[s->quorum_count]);
        s->available[s->quorum_count] = error == REDLOCK_OK;
        any = any || error == REDLOCK_OK;
        if (error != REDLOCK_OK)
            fail(s, error);
    }
    s->quarantined = false;
    for (size_t i = 0; redlock_node(s->client, i, &node) == REDLOCK_OK; i++)
        s->quarantined = s->quarantined || node.quarantined;
    return any;
}

/* One round of questions: the locks are answered in their order. */
struct round {
    struct sample *sample;
    size_t next;
    int64_t end_ns;
    sample_stop_fn *stop;
    void *data;
    bool stopped;
};

static bool on_answer(const struct inquiry_answer *a, void *data)
{
    struct round *r = data;
    if (a->error == REDLOCK_OK)
        take_answer(r->sample, &r->sample->locks[r->next], a->info, a->report);
    r->next++;
    r->stopped = r->stop(r->data);
    return !r->stopped && timer_now_ns() < r->end_ns;
}

/* The busiest of the last time come first: they are seen whatever the rest costs. */
static void ask_all(struct round *r)
{
    struct sample *s = r->sample;
    char **names = calloc(s->count + 1, sizeof *names);
    if (!names) {
        s->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < s->count; i++)
        names[i] = s->locks[i].name;
    inquire(&(struct source){.client = s->client}, s->settings, names, s->count, on_answer, r);
    s->unasked = s->count - r->next;
    free(names);
}

void sample_take(struct sample *s, int64_t budget_ms, sample_stop_fn *stop, void *data)
{
    struct round r = {.sample = s,
                      .end_ns = timer_now_ns() + budget_ms * NS_PER_MS,
                      .stop = stop,
                      .data = data};
    s->unasked = 0;
    s->error = REDLOCK_OK;
    s->detail[0] = '\0';
    if (!ping(s))
        return;
    list(s);
    ask_all(&r);
    if (r.stopped)
        return;
    forget_idle(s);
    if (s->count > 0)
        qsort(s->locks, s->count, sizeof *s->locks, compare_busy);
    while (s->count > LOCKS_MAX)
        free_lock(&s->locks[--s->count]);
    sample_sort(s, s->order);
}

bool sample_has_locks(const struct sample *s)
{
    for (size_t i = 0; i < s->quorum_count; i++) {
        if (s->available[i])
            return true;
    }
    return false;
}

void sample_free(struct sample *s)
{
    for (size_t i = 0; i < s->count; i++)
        free_lock(&s->locks[i]);
    free(s->locks);
    free(s->pings);
    s->pings = NULL;
    s->locks = NULL;
    s->count = 0;
}
