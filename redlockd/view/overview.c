/* SPDX-License-Identifier: BSD-2-Clause */
#include "view/overview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "io/clock.h"
#include "ui/record.h"

static void free_locks(struct overview_lock *locks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(locks[i].name);
    free(locks);
}

static void free_names(struct overview *overview)
{
    for (size_t i = 0; i < overview->name_count; i++)
        free(overview->names[i]);
    free(overview->names);
    overview->names = NULL;
    overview->name_count = overview->name_room = 0;
}

void overview_init(struct overview *overview, struct leases *leases)
{
    *overview = (struct overview){.job_type = JOB_OVERVIEW_NAMES, .leases = leases};
}

void overview_free(struct overview *overview)
{
    free_locks(overview->locks, overview->count);
    free_locks(overview->queried, overview->queried_count);
    free_names(overview);
    overview_init(overview, overview->leases);
}

/* ---- waits ------------------------------------------------------------------------------- */

void overview_await(struct overview *overview, struct overview_wait *wait, int64_t now_ns)
{
    wait->since_ns = now_ns;
    wait->previous = NULL;
    wait->next = overview->waits;
    if (wait->next)
        wait->next->previous = wait;
    overview->waits = wait;
    loop_wake(&overview->part);
}

void overview_forget(struct overview *overview, struct overview_wait *wait)
{
    *(wait->previous ? &wait->previous->next : &overview->waits) = wait->next;
    if (wait->next)
        wait->next->previous = wait->previous;
}

/* All that wait since that time or before. */
static void finish(struct overview *overview, int64_t since_ns)
{
    struct overview_wait *next;

    for (struct overview_wait *wait = overview->waits; wait; wait = next) {
        next = wait->next;
        if (wait->since_ns > since_ns)
            continue;
        overview_forget(overview, wait);
        wait->done(wait);
    }
}

/* ---- the end of a look ------------------------------------------------------------------- */

uint32_t overview_waiters(const struct overview_lock *lock)
{
    /* The head of ours stands in the queue of the nodes. */
    return lock->waiters + lock->waiters_here - (lock->waiters > 0 && lock->waiters_here > 0);
}

static int compare_lock_names(const void *a, const void *b)
{
    return strcmp(((const struct overview_lock *)a)->name,
                  ((const struct overview_lock *)b)->name);
}

/* A request waits here for this lock. */
static void count_wait(struct overview *overview, const struct lease_request *request)
{
    struct overview_lock wanted = {.name = (char *)redlock_name(request->lock)};
    struct overview_lock *lock = overview->count > 0
                                     ? bsearch(&wanted, overview->locks, overview->count,
                                               sizeof wanted, compare_lock_names)
                                     : NULL;

    if (lock)
        lock->waiters_here++;
}

/* The order of `redlock top`: trouble, then what most wait for, then what is held for longest,
 * then records. */
static int compare(const void *a, const void *b)
{
    const struct overview_lock *x = a, *y = b;
    uint32_t x_waiters = overview_waiters(x), y_waiters = overview_waiters(y);

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

static const struct overview_lock *find_last(const struct overview *overview, const char *name)
{
    for (size_t i = 0; i < overview->count; i++)
        if (strcmp(overview->locks[i].name, name) == 0)
            return &overview->locks[i];
    return NULL;
}

/* A node in quarantine has forgotten what the others know: the row of the node shows it. */
static bool has_quarantine(const struct overview *overview)
{
    redlock_node_info node = REDLOCK_NODE_INFO();

    for (size_t i = 0; redlock_node(overview->leases->client, i, &node) == REDLOCK_OK; i++)
        if (node.quarantined)
            return true;
    return false;
}

/* Drops what could not be queried, and what is free by now. */
static void sift(struct overview *overview)
{
    bool is_explained = has_quarantine(overview);
    size_t kept = 0;

    for (size_t i = 0; i < overview->queried_count; i++) {
        struct overview_lock *lock = &overview->queried[i];
        const struct overview_lock *last;

        if (!lock->answered || (!lock->held && !lock->waiters && !lock->differed)) {
            free(lock->name);
            continue;
        }
        /* A lock that is being taken or released differs for a moment: that is no trouble. */
        last = lock->differed ? find_last(overview, lock->name) : NULL;
        lock->disagree = last && last->differed && !is_explained;
        overview->queried[kept++] = *lock;
    }
    overview->queried_count = kept;
}

static void arrange(struct overview *overview)
{
    if (overview->count == 0)
        return;
    qsort(overview->locks, overview->count, sizeof *overview->locks, compare_lock_names);
    for (const struct lease_request *request = overview->leases->all; request;
         request = request->next)
        if (request->lease.state == LEASE_WAITING)
            count_wait(overview, request);
    qsort(overview->locks, overview->count, sizeof *overview->locks, compare);
}

static void end_look(struct overview *overview)
{
    int64_t now_ns = rl_now_ns(), took_ns = now_ns - overview->began_ns;
    int64_t pause_ns = (OVERVIEW_PAUSE + 1) * took_ns;

    overview->is_under_way = false;
    overview->next_ns =
        overview->began_ns + (pause_ns > OVERVIEW_EVERY_NS ? pause_ns : OVERVIEW_EVERY_NS);
    free_names(overview);
    /* If no quorum could be queried, what was known is all there is. */
    if (overview->failed < overview->quorums) {
        sift(overview);
        free_locks(overview->locks, overview->count);
        overview->locks = overview->queried;
        overview->count = overview->queried_count;
        arrange(overview);
        overview->looked_ns = now_ns;
        overview->queried = NULL;
        overview->queried_count = 0;
    }
    finish(overview, overview->began_ns);
    loop_wake(&overview->part); /* for those that have come since */
}

/* ---- locks ------------------------------------------------------------------------------- */

static void take(struct overview_lock *lock, const redlock_info *info)
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
        if (i < OVERVIEW_SHOWN) {
            strcpy(lock->label[i], holder->label);
            strcpy(lock->fingerprint[i], holder->fingerprint);
            lock->shown = i + 1;
        }
    }
}

void overview_answered(struct overview *overview, const redlock_event *event)
{
    if (!event->error)
        take(event->data, event->answer->info);
    if (--overview->pending == 0)
        end_look(overview);
}

/* The name becomes the lock's. */
static void choose(struct overview *overview, size_t index)
{
    if (!overview->names[index])
        return;
    overview->queried[overview->queried_count++] =
        (struct overview_lock){.job_type = JOB_OVERVIEW_LOCK, .name = overview->names[index]};
    overview->names[index] = NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Which of more names than can be queried: contended ones, and others in turns. */
static void choose_some(struct overview *overview)
{
    size_t contended[OVERVIEW_LOCKS_MAX / 2], kept = 0, count = overview->name_count;

    if (overview->quorums > 1)
        qsort(overview->names, count, sizeof *overview->names, compare_names);
    /* All are found before the first is taken out of the order of the names. */
    for (size_t i = 0; i < overview->count && kept < OVERVIEW_LOCKS_MAX / 2; i++) {
        const struct overview_lock *last = &overview->locks[i];
        char **found =
            last->waiters > 0 || last->differed
                ? bsearch(&last->name, overview->names, count, sizeof *found, compare_names)
                : NULL;

        if (found)
            contended[kept++] = (size_t)(found - overview->names);
    }
    for (size_t i = 0; i < kept; i++)
        choose(overview, contended[i]);
    for (size_t i = 0; i < count && overview->queried_count < OVERVIEW_LOCKS_MAX; i++) {
        overview->cursor = (overview->cursor + 1) % count;
        choose(overview, overview->cursor);
    }
}

static void ask_for_locks(struct overview *overview)
{
    size_t count = overview->name_count;
    redlock_job job;

    free_locks(overview->queried, overview->queried_count); /* of a look that found no quorum */
    overview->queried_count = 0;
    overview->queried = calloc(OVERVIEW_LOCKS_MAX, sizeof *overview->queried);
    if (overview->queried && count <= OVERVIEW_LOCKS_MAX)
        for (size_t i = 0; i < count; i++)
            choose(overview, i);
    else if (overview->queried)
        choose_some(overview);
    overview->unasked = overview->unlisted + count - overview->queried_count;
    overview->pending = 0;
    for (size_t i = 0; i < overview->queried_count; i++)
        overview->pending +=
            redlock_start_query(overview->leases->client, overview->queried[i].name,
                                &overview->queried[i], &job) == REDLOCK_OK;
    loop_wake(&overview->leases->library);
    if (overview->pending == 0)
        end_look(overview);
}

/* ---- names ------------------------------------------------------------------------------- */

static void add_name(struct overview *overview, const char *name)
{
    char *copy = NULL;

    if (overview->name_count == overview->name_room &&
        overview->name_room < OVERVIEW_NAMES_MAX) {
        size_t room = overview->name_room ? 2 * overview->name_room : 64;
        char **more = reallocarray(overview->names, room, sizeof *more);

        if (more) {
            overview->names = more;
            overview->name_room = room;
        }
    }
    if (overview->name_count < overview->name_room)
        copy = strdup(name);
    if (copy)
        overview->names[overview->name_count++] = copy;
    else
        overview->unlisted++;
}

static void fail(struct overview *overview, int error, const char *detail)
{
    overview->failed++;
    overview->error = error;
    snprintf(overview->detail, sizeof overview->detail, "%s", detail);
}

void overview_listed(struct overview *overview, const redlock_event *event)
{
    if (event->error)
        fail(overview, event->error, event->detail);
    for (size_t i = 0; !event->error && i < event->answer->name_count; i++)
        add_name(overview, event->answer->names[i]);
    if (--overview->lists == 0)
        ask_for_locks(overview);
}

static void begin_look(struct overview *overview)
{
    redlock *member;
    redlock_job job;

    overview->is_under_way = true;
    overview->began_ns = rl_now_ns();
    overview->unlisted = 0;
    overview->failed = overview->quorums = 0;
    overview->error = REDLOCK_OK;
    overview->detail[0] = '\0';
    overview->lists = 0;
    for (; (member = redlock_member(overview->leases->client, overview->quorums));
         overview->quorums++) {
        int error = redlock_start_list(member, overview, &job);

        if (error)
            fail(overview, error, redlock_detail());
        else
            overview->lists++;
    }
    loop_wake(&overview->leases->library);
    if (overview->lists == 0)
        ask_for_locks(overview);
}

/* ---- turns ------------------------------------------------------------------------------- */

int64_t overview_turn(void *context, int64_t now_ns)
{
    struct overview *overview = context;
    int64_t next_ns = RL_NEVER_NS;

    finish(overview, now_ns - OVERVIEW_PATIENCE_NS);
    if (!overview->waits)
        return RL_NEVER_NS;
    if (!overview->is_under_way && now_ns >= overview->next_ns)
        begin_look(overview);
    if (!overview->is_under_way)
        next_ns = overview->next_ns;
    for (struct overview_wait *wait = overview->waits; wait; wait = wait->next)
        if (wait->since_ns + OVERVIEW_PATIENCE_NS < next_ns)
            next_ns = wait->since_ns + OVERVIEW_PATIENCE_NS;
    return next_ns;
}
