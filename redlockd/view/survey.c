/* SPDX-License-Identifier: BSD-2-Clause */
#include "view/survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "io/clock.h"
#include "ui/record.h"

static void free_locks(struct survey_lock *locks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(locks[i].name);
    free(locks);
}

static void free_names(struct survey *survey)
{
    for (size_t i = 0; i < survey->name_count; i++)
        free(survey->names[i]);
    free(survey->names);
    survey->names = NULL;
    survey->name_count = survey->name_room = 0;
}

void survey_init(struct survey *survey, struct leases *leases)
{
    *survey = (struct survey){.asked_for = ASKED_SURVEY_NAMES, .leases = leases};
}

void survey_free(struct survey *survey)
{
    free_locks(survey->locks, survey->count);
    free_locks(survey->asked, survey->asked_count);
    free_names(survey);
    survey_init(survey, survey->leases);
}

/* ---- waits ------------------------------------------------------------------------------- */

void survey_await(struct survey *survey, struct survey_wait *wait, int64_t now_ns)
{
    wait->asked_ns = now_ns;
    wait->previous = NULL;
    wait->next = survey->waits;
    if (wait->next)
        wait->next->previous = wait;
    survey->waits = wait;
    loop_wake(&survey->part);
}

void survey_forget(struct survey *survey, struct survey_wait *wait)
{
    *(wait->previous ? &wait->previous->next : &survey->waits) = wait->next;
    if (wait->next)
        wait->next->previous = wait->previous;
}

/* All that asked at that time or before. */
static void finish(struct survey *survey, int64_t asked_ns)
{
    struct survey_wait *next;

    for (struct survey_wait *wait = survey->waits; wait; wait = next) {
        next = wait->next;
        if (wait->asked_ns > asked_ns)
            continue;
        survey_forget(survey, wait);
        wait->done(wait);
    }
}

/* ---- the end of a look ------------------------------------------------------------------- */

uint32_t survey_waiters(const struct survey_lock *lock)
{
    /* The head of ours stands in the queue of the nodes. */
    return lock->waiters + lock->waiters_here - (lock->waiters > 0 && lock->waiters_here > 0);
}

static int compare_lock_names(const void *a, const void *b)
{
    return strcmp(((const struct survey_lock *)a)->name, ((const struct survey_lock *)b)->name);
}

/* A request waits here for this lock. */
static void count_wait(struct survey *survey, const struct lease_request *request)
{
    struct survey_lock wanted = {.name = (char *)redlock_name(request->lock)};
    struct survey_lock *lock =
        survey->count > 0
            ? bsearch(&wanted, survey->locks, survey->count, sizeof wanted, compare_lock_names)
            : NULL;

    if (lock)
        lock->waiters_here++;
}

/* The order of `redlock top`: trouble, then what most wait for, then what is held for longest,
 * then records. */
static int compare(const void *a, const void *b)
{
    const struct survey_lock *x = a, *y = b;
    uint32_t x_waiters = survey_waiters(x), y_waiters = survey_waiters(y);

    if (x->disagree != y->disagree)
        return x->disagree ? -1 : 1;
    if (x_waiters != y_waiters)
        return x_waiters > y_waiters ? -1 : 1;
    if (x->is_record != y->is_record)
        return x->is_record ? 1 : -1;
    if (x->held_ms != y->held_ms)
        return x->held_ms > y->held_ms ? -1 : 1;
    return strcmp(x->name, y->name);
}

static const struct survey_lock *find_last(const struct survey *survey, const char *name)
{
    for (size_t i = 0; i < survey->count; i++)
        if (strcmp(survey->locks[i].name, name) == 0)
            return &survey->locks[i];
    return NULL;
}

/* A node in quarantine has forgotten what the others know: that is told of the node. */
static bool has_quarantine(const struct survey *survey)
{
    redlock_node_info node = REDLOCK_NODE_INFO();

    for (size_t i = 0; redlock_node(survey->leases->client, i, &node) == REDLOCK_OK; i++)
        if (node.quarantined)
            return true;
    return false;
}

/* Drops what could not be asked, and what is free by now. */
static void sift(struct survey *survey)
{
    bool is_explained = has_quarantine(survey);
    size_t kept = 0;

    for (size_t i = 0; i < survey->asked_count; i++) {
        struct survey_lock *lock = &survey->asked[i];
        const struct survey_lock *last;

        if (!lock->answered || (!lock->held && !lock->waiters && !lock->differed)) {
            free(lock->name);
            continue;
        }
        /* A lock that is being taken or released differs for a moment: that is no trouble. */
        last = lock->differed ? find_last(survey, lock->name) : NULL;
        lock->disagree = last && last->differed && !is_explained;
        survey->asked[kept++] = *lock;
    }
    survey->asked_count = kept;
}

static void arrange(struct survey *survey)
{
    if (survey->count == 0)
        return;
    qsort(survey->locks, survey->count, sizeof *survey->locks, compare_lock_names);
    for (const struct lease_request *request = survey->leases->all; request;
         request = request->next)
        if (request->lease.state == LEASE_WAITING)
            count_wait(survey, request);
    qsort(survey->locks, survey->count, sizeof *survey->locks, compare);
}

static void end_look(struct survey *survey)
{
    int64_t now_ns = rl_now_ns(), took_ns = now_ns - survey->began_ns;
    int64_t pause_ns = (SURVEY_PAUSE + 1) * took_ns;

    survey->is_under_way = false;
    survey->next_ns =
        survey->began_ns + (pause_ns > SURVEY_EVERY_NS ? pause_ns : SURVEY_EVERY_NS);
    free_names(survey);
    /* If no quorum could be asked, what was known is all there is. */
    if (survey->failed < survey->quorums) {
        sift(survey);
        free_locks(survey->locks, survey->count);
        survey->locks = survey->asked;
        survey->count = survey->asked_count;
        arrange(survey);
        survey->looked_ns = now_ns;
        survey->asked = NULL;
        survey->asked_count = 0;
    }
    finish(survey, survey->began_ns);
    loop_wake(&survey->part); /* for those that have come since */
}

/* ---- locks ------------------------------------------------------------------------------- */

static void take(struct survey_lock *lock, const redlock_info *info)
{
    bool has_several = redlock_kind_traits(info->kind) & REDLOCK_KIND_SEVERAL;

    lock->answered = true;
    lock->held = info->held;
    lock->is_record = record_is(lock->name, info);
    lock->differed = info->disagree && !lock->is_record;
    lock->kind = info->kind;
    lock->holder_count = info->holder_count;
    lock->slots = info->slots;
    lock->waiters = info->waiter_count;
    lock->held_ms = -1;
    lock->remaining_ms = info->held ? info->holder.remaining_ms : -1;
    for (uint32_t i = 0; i < info->holders_shown && info->held; i++) {
        const redlock_holder *holder = &info->holders[i];

        if (holder->held_ms > lock->held_ms) {
            lock->held_ms = holder->held_ms;
            lock->held_at_least = holder->held_at_least;
        }
        if (has_several && holder->remaining_ms > lock->remaining_ms)
            lock->remaining_ms = holder->remaining_ms;
        if (i < SURVEY_SHOWN) {
            strcpy(lock->label[i], holder->label);
            strcpy(lock->fingerprint[i], holder->fingerprint);
            lock->shown = i + 1;
        }
    }
}

void survey_answered(struct survey *survey, const redlock_event *event)
{
    if (!event->error)
        take(event->data, event->answer->info);
    if (--survey->pending == 0)
        end_look(survey);
}

/* The name becomes the lock's. */
static void choose(struct survey *survey, size_t index)
{
    if (!survey->names[index])
        return;
    survey->asked[survey->asked_count++] =
        (struct survey_lock){.asked_for = ASKED_SURVEY_LOCK, .name = survey->names[index]};
    survey->names[index] = NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Which of more names than can be asked for: contended ones, and others in turns. */
static void choose_some(struct survey *survey)
{
    size_t contended[SURVEY_LOCKS_MAX / 2], kept = 0, count = survey->name_count;

    if (survey->quorums > 1)
        qsort(survey->names, count, sizeof *survey->names, compare_names);
    /* All are found before the first is taken out of the order of the names. */
    for (size_t i = 0; i < survey->count && kept < SURVEY_LOCKS_MAX / 2; i++) {
        const struct survey_lock *last = &survey->locks[i];
        char **found =
            last->waiters > 0 || last->differed
                ? bsearch(&last->name, survey->names, count, sizeof *found, compare_names)
                : NULL;

        if (found)
            contended[kept++] = (size_t)(found - survey->names);
    }
    for (size_t i = 0; i < kept; i++)
        choose(survey, contended[i]);
    for (size_t i = 0; i < count && survey->asked_count < SURVEY_LOCKS_MAX; i++) {
        survey->cursor = (survey->cursor + 1) % count;
        choose(survey, survey->cursor);
    }
}

static void ask_for_locks(struct survey *survey)
{
    size_t count = survey->name_count;
    redlock_job job;

    free_locks(survey->asked, survey->asked_count); /* of a look that found no quorum */
    survey->asked_count = 0;
    survey->asked = calloc(SURVEY_LOCKS_MAX, sizeof *survey->asked);
    if (survey->asked && count <= SURVEY_LOCKS_MAX)
        for (size_t i = 0; i < count; i++)
            choose(survey, i);
    else if (survey->asked)
        choose_some(survey);
    survey->unasked = survey->unlisted + count - survey->asked_count;
    survey->pending = 0;
    for (size_t i = 0; i < survey->asked_count; i++)
        survey->pending += redlock_start_query(survey->leases->client, survey->asked[i].name,
                                               &survey->asked[i], &job) == REDLOCK_OK;
    loop_wake(&survey->leases->library);
    if (survey->pending == 0)
        end_look(survey);
}

/* ---- names ------------------------------------------------------------------------------- */

static void add_name(struct survey *survey, const char *name)
{
    char *copy = NULL;

    if (survey->name_count == survey->name_room && survey->name_room < SURVEY_NAMES_MAX) {
        size_t room = survey->name_room ? 2 * survey->name_room : 64;
        char **more = reallocarray(survey->names, room, sizeof *more);

        if (more) {
            survey->names = more;
            survey->name_room = room;
        }
    }
    if (survey->name_count < survey->name_room)
        copy = strdup(name);
    if (copy)
        survey->names[survey->name_count++] = copy;
    else
        survey->unlisted++;
}

static void fail(struct survey *survey, int error, const char *detail)
{
    survey->failed++;
    survey->error = error;
    snprintf(survey->detail, sizeof survey->detail, "%s", detail);
}

void survey_listed(struct survey *survey, const redlock_event *event)
{
    if (event->error)
        fail(survey, event->error, event->detail);
    for (size_t i = 0; !event->error && i < event->answer->name_count; i++)
        add_name(survey, event->answer->names[i]);
    if (--survey->lists == 0)
        ask_for_locks(survey);
}

static void begin_look(struct survey *survey)
{
    redlock *member;
    redlock_job job;

    survey->is_under_way = true;
    survey->began_ns = rl_now_ns();
    survey->unlisted = 0;
    survey->failed = survey->quorums = 0;
    survey->error = REDLOCK_OK;
    survey->detail[0] = '\0';
    survey->lists = 0;
    for (; (member = redlock_member(survey->leases->client, survey->quorums));
         survey->quorums++) {
        int error = redlock_start_list(member, survey, &job);

        if (error)
            fail(survey, error, redlock_detail());
        else
            survey->lists++;
    }
    loop_wake(&survey->leases->library);
    if (survey->lists == 0)
        ask_for_locks(survey);
}

/* ---- turns ------------------------------------------------------------------------------- */

int64_t survey_turn(void *context, int64_t now_ns)
{
    struct survey *survey = context;
    int64_t next_ns = RL_NEVER_NS;

    finish(survey, now_ns - SURVEY_PATIENCE_NS);
    if (!survey->waits)
        return RL_NEVER_NS;
    if (!survey->is_under_way && now_ns >= survey->next_ns)
        begin_look(survey);
    if (!survey->is_under_way)
        next_ns = survey->next_ns;
    for (struct survey_wait *wait = survey->waits; wait; wait = wait->next)
        if (wait->asked_ns + SURVEY_PATIENCE_NS < next_ns)
            next_ns = wait->asked_ns + SURVEY_PATIENCE_NS;
    return next_ns;
}
