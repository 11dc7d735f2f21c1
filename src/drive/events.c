/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "drive/drive.h"
#include "io/clock.h"

uint32_t rl_events_waiting(const redlock *client)
{
    uint32_t count = client->events.count + client->events.warning_count;

    for (int i = 0; i < RL_JOB_CLASSES; i++)
        count += client->jobs.count[i][RL_FINISHED];
    return count;
}

/* ---- adding and removing ---- */

/* Of events of one kind only the latest waits. */
static enum redlock_event_type kind_of(enum redlock_event_type type)
{
    if (type == REDLOCK_EVENT_EXTENDED || type == REDLOCK_EVENT_RELEASED)
        return REDLOCK_EVENT_ACQUIRED;
    return type == REDLOCK_EVENT_RECOVERED ? REDLOCK_EVENT_JEOPARDY : type;
}

static struct rl_event_locks *locks_in(redlock *client, enum rl_event_list list)
{
    return list == RL_IN_URGENT ? &client->events.urgent : &client->events.others;
}

static void move_to(redlock *client, redlock_lock *lock, enum rl_event_list list)
{
    if (lock->unread.list == list)
        return;
    if (lock->unread.list != RL_IN_NO_LIST)
        TAILQ_REMOVE(locks_in(client, lock->unread.list), lock, unread.in_list);
    lock->unread.list = (uint8_t)list;
    if (list != RL_IN_NO_LIST)
        TAILQ_INSERT_TAIL(locks_in(client, list), lock, unread.in_list);
}

static void remove_at(redlock *client, redlock_lock *lock, uint8_t at)
{
    struct rl_unread *unread = &lock->unread;

    unread->count--;
    client->events.count--;
    memmove(unread->type + at, unread->type + at + 1, unread->count - at);
    if (unread->count == 0)
        move_to(client, lock, RL_IN_NO_LIST);
}

void rl_event_add(redlock *client, redlock_lock *lock, enum redlock_event_type type)
{
    struct rl_unread *unread = &lock->unread;
    bool is_urgent = type == REDLOCK_EVENT_LOST || type == REDLOCK_EVENT_JEOPARDY;

    for (uint8_t i = 0; i < unread->count; i++)
        if (kind_of(unread->type[i]) == kind_of(type)) {
            remove_at(client, lock, i);
            break;
        }
    unread->type[unread->count++] = (uint8_t)type;
    client->events.count++;
    if (is_urgent || unread->list == RL_IN_NO_LIST)
        move_to(client, lock, is_urgent ? RL_IN_URGENT : RL_IN_OTHERS);
}

void rl_events_purge(redlock *client, redlock_lock *lock)
{
    while (lock->unread.count > 0)
        remove_at(client, lock, 0);
}

void rl_event_warn(redlock *client, const char *address, enum redlock_reason reason,
                   const char *text)
{
    struct rl_events *events = &client->events;
    struct rl_warning *warning;

    if (events->warning_count == REDLOCK_WARNINGS_KEPT) {
        events->first_warning = (events->first_warning + 1) % REDLOCK_WARNINGS_KEPT;
        events->warning_count--;
        events->dropped++;
    }
    warning =
        &events
             ->warning[(events->first_warning + events->warning_count) % REDLOCK_WARNINGS_KEPT];
    events->warning_count++;
    warning->reason = reason;
    snprintf(warning->address, sizeof warning->address, "%s", address);
    snprintf(warning->text, sizeof warning->text, "%s", text);
}

/* ---- taking ---- */

void rl_reader_clear(struct rl_reader *reader)
{
    rl_job_free(reader->job);
    reader->job = NULL;
}

static void begin_event(struct rl_reader *reader, enum redlock_event_type type, int error,
                        const char *detail)
{
    snprintf(reader->detail, sizeof reader->detail, "%s", detail);
    reader->event = (redlock_event){
        .size = sizeof reader->event,
        .type = type,
        .error = error,
        .detail = reader->detail,
        .address = "",
    };
}

static int take_outcome(redlock *client, redlock_lock *lock)
{
    enum rl_operation operation = lock->operation;
    int error = lock->unread.outcome;

    if (operation == RL_ACQUISITION) {
        /* A9: the moment at which the owner learns that it holds the lock, or does not. */
        if (!error) {
            error = rl_handle_hand_out(&client->engine, &lock->handle, lock->wait_deadline_ns,
                                       rl_now_ns());
            if (error) /* the keys are to be deleted, also if this was the last call */
                rl_wake(client);
        }
        if (error)
            rl_events_purge(client, lock);
        else
            lock->adopted |= lock->handle.lock.terms.keep;
    }
    lock->operation = RL_NO_OPERATION;
    lock->released |= operation == RL_RELEASE && error == REDLOCK_OK;
    rl_explain(lock, operation, error);
    return error;
}

static void take_of_lock(redlock *client, redlock_lock *lock, struct rl_reader *reader)
{
    enum redlock_event_type type = lock->unread.type[0];
    int error = REDLOCK_OK;
    int32_t place = 0;

    remove_at(client, lock, 0);
    switch (type) {
    case REDLOCK_EVENT_LOST:
        error = rl_explain(lock, RL_EXTENSION, REDLOCK_LOST);
        break;
    case REDLOCK_EVENT_JEOPARDY:
        error = rl_explain(lock, RL_EXTENSION, lock->unread.jeopardy);
        break;
    case REDLOCK_EVENT_RECOVERED:
        break;
    case REDLOCK_EVENT_QUEUED:
        place = (int32_t)lock->unread.place;
        break;
    default:
        error = take_outcome(client, lock);
    }
    begin_event(reader, type, error, error ? redlock_detail() : "");
    reader->event.lock = lock;
    reader->event.data = lock->data;
    reader->event.place = place;
}

static void take_warning(redlock *client, struct rl_reader *reader)
{
    struct rl_events *events = &client->events;

    begin_event(reader, REDLOCK_EVENT_WARNING, REDLOCK_OK, "");
    reader->warning = events->warning[events->first_warning];
    reader->event.address = reader->warning.address;
    reader->event.detail = reader->warning.text;
    reader->event.reason = (int32_t)reader->warning.reason;
    reader->event.dropped = events->dropped;
    events->dropped = 0;
    events->first_warning = (events->first_warning + 1) % REDLOCK_WARNINGS_KEPT;
    events->warning_count--;
}

static bool take_answer(redlock *client, struct rl_reader *reader)
{
    struct rl_job *job = rl_job_take(client);

    if (!job)
        return false;
    begin_event(reader, REDLOCK_EVENT_ANSWERED, job->error, rl_job_detail(job));
    reader->event.job = job->id;
    reader->event.data = job->data;
    reader->event.answer = &job->answer;
    reader->job = job;
    return true;
}

/*
 * A lock that a thread is just being given by redlock_acquire() waits until that has returned:
 * its owner would learn of the loss before the grant.
 */
static redlock_lock *first_of(const struct rl_event_locks *list)
{
    redlock_lock *lock;

    TAILQ_FOREACH (lock, list, unread.in_list)
        if (!atomic_load_explicit(&lock->is_returning, memory_order_acquire) &&
            !atomic_load_explicit(&lock->is_freed, memory_order_relaxed))
            return lock;
    return NULL;
}

bool rl_event_take(redlock *client, struct rl_reader *reader, bool urgent)
{
    struct rl_events *events = &client->events;
    redlock_lock *lock = first_of(&events->urgent);

    if (events->drain == 0 || (urgent && !lock))
        return false;
    events->drain--;
    /* Warnings before grants: what is granted may be acted on at once. */
    if (!lock && events->warning_count > 0) {
        take_warning(client, reader);
        return true;
    }
    if (!lock)
        lock = first_of(&events->others);
    if (!lock)
        return take_answer(client, reader);
    take_of_lock(client, lock, reader);
    return true;
}
