/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive/drive.h"
#include "engine/survey.h"
#include "io/clock.h"

#define CHECKS_AT_FIRST 32

static const uint32_t sent_max[RL_JOB_CLASSES] = {
    [RL_CLASS_QUERY] = REDLOCK_JOBS_SENT,
    [RL_CLASS_SEARCH] = REDLOCK_SEARCHES_SENT,
    [RL_CLASS_ADMISSION] = 1,
    [RL_CLASS_GATHER] = REDLOCK_JOBS_SENT,
};

void rl_jobs_init(redlock *client)
{
    for (int i = 0; i < RL_JOB_CLASSES; i++)
        TAILQ_INIT(&client->jobs.waiting[i]);
    TAILQ_INIT(&client->jobs.all);
    TAILQ_INIT(&client->jobs.finished);
}

/* ---- from state to state ---- */

/* NULL: those in this state are in no list but that of all. */
static struct rl_job_list *list_of(redlock *client, const struct rl_job *job)
{
    if (job->state == RL_WAITING)
        return &client->jobs.waiting[job->kind->class];
    return job->state == RL_FINISHED ? &client->jobs.finished : NULL;
}

static void change(redlock *client, struct rl_job *job, enum rl_job_state state)
{
    uint32_t *count = client->jobs.count[job->kind->class];
    struct rl_job_list *list = list_of(client, job);

    if (list)
        TAILQ_REMOVE(list, job, in_list);
    count[job->state]--; /* that of UNLISTED means nothing */
    count[state]++;
    job->state = state;
    list = list_of(client, job);
    if (list)
        TAILQ_INSERT_TAIL(list, job, in_list);
}

/* A part is not counted: the job that it belongs to was. */
static bool is_part(const struct rl_job *job)
{
    return job->ended != NULL;
}

static void enter(redlock *client, struct rl_job *job)
{
    struct rl_jobs *jobs = &client->jobs;

    /* Never 0, and different for all jobs of several quorums. */
    job->id = ++jobs->serial * REDLOCK_QUORUMS_MAX + client->quorum_index;
    job->answer.size = sizeof job->answer;
    jobs->caller_count += !is_part(job);
    TAILQ_INSERT_TAIL(&jobs->all, job, in_all);
    change(client, job, RL_WAITING);
}

static void leave(redlock *client, struct rl_job *job)
{
    change(client, job, RL_UNLISTED);
    TAILQ_REMOVE(&client->jobs.all, job, in_all);
    client->jobs.caller_count -= !is_part(job);
}

struct rl_job *rl_job_new_as(const struct rl_job_kind *kind, const struct rl_job_terms *terms)
{
    size_t name_size = terms->name ? strlen(terms->name) + 1 : 0;
    size_t holder_size = terms->holder ? strlen(terms->holder) + 1 : 0;
    struct rl_job *job = calloc(1, sizeof *job + name_size + holder_size);

    if (!job)
        return NULL;
    job->kind = kind;
    job->terms = *terms;
    if (terms->name)
        job->terms.name = job->answer.name = memcpy(job->texts, terms->name, name_size);
    if (terms->holder)
        job->terms.holder = memcpy(job->texts + name_size, terms->holder, holder_size);
    return job;
}

void rl_job_free(struct rl_job *job)
{
    if (!job || (job->kind->release && !job->kind->release(job)))
        return;
    for (size_t i = 0; i < job->answer.check_count; i++)
        free((char *)job->checks[i].address);
    free(job->checks);
    free(job->detail);
    free(job->work);
    free(job);
}

void redlock_answer_free(redlock_answer *answer)
{
    if (answer)
        rl_job_free((struct rl_job *)((char *)answer - offsetof(struct rl_job, answer)));
}

const char *rl_job_detail(const struct rl_job *job)
{
    return !job->error ? "" : job->detail ? job->detail : redlock_strerror(job->error);
}

static void drop_lock(redlock *client, struct rl_job *job)
{
    if (job->lock)
        rl_lock_discard(client, job->lock, false);
    job->lock = NULL;
}

bool rl_job_set_lock(redlock *client, struct rl_job *job, redlock_lock *lock)
{
    drop_lock(client, job);
    job->lock = lock;
    if (!lock)
        job->error = rl_detail(REDLOCK_NOMEM, "out of memory");
    return lock != NULL;
}

/* ---- its answer, where that is a list of checks ---- */

void rl_job_add_check(struct rl_job *job, const redlock_check *check)
{
    redlock_check *kept;
    char *texts; /* one behind the other; the address is the first */

    if (job->answer.check_count == job->check_room) {
        size_t room = job->check_room ? 2 * job->check_room : CHECKS_AT_FIRST;
        redlock_check *more = reallocarray(job->checks, room, sizeof *more);

        job->lacks_check |= !more;
        if (!more)
            return;
        job->checks = more;
        job->check_room = room;
    }
    if (asprintf(&texts, "%s%c%s%c%s%c%s", check->address, '\0', check->text, '\0',
                 check->remedy, '\0', check->quorum) < 0) {
        job->lacks_check = true;
        return;
    }
    kept = &job->checks[job->answer.check_count++];
    *kept = *check;
    kept->address = texts;
    kept->text = strchr(kept->address, '\0') + 1;
    kept->remedy = strchr(kept->text, '\0') + 1;
    kept->quorum = strchr(kept->remedy, '\0') + 1;
}

void rl_job_answer_checks(struct rl_job *job)
{
    if (job->lacks_check)
        job->error = rl_detail(REDLOCK_NOMEM, "out of memory");
    job->answer.checks = job->checks;
}

/* ---- sending, survey by survey ---- */

static void finish(redlock *client, struct rl_job *job)
{
    if (job->error)
        job->detail = strdup(redlock_detail());
    drop_lock(client, job);
    if (!job->blocks && !is_part(job)) {
        change(client, job, RL_FINISHED);
        client->jobs.has_news = true;
        return;
    }
    leave(client, job);
    if (job->blocks)
        rl_call_finish(&job->call, job->error);
    else
        job->ended(client, job);
}

static void go_on(redlock *client, struct rl_job *job)
{
    if (job->canceled && atomic_load(job->canceled)) {
        job->error = rl_detail(REDLOCK_CANCELED, "canceled");
        finish(client, job);
    } else if (!job->kind->next(client, job)) {
        finish(client, job);
    } else if (job->lock) {
        job->lock->operation = RL_JOB;
        job->lock->job = job;
        rl_handle_survey(&client->engine, &job->lock->handle, job->op, job->survey,
                         rl_now_ns());
    }
}

/*
 * The one that has waited longest. Answers that are not read keep jobs back, but not a caller
 * that is blocked: it may be the one that would read them.
 */
static struct rl_job *next_waiting(struct rl_jobs *jobs, int kind)
{
    const uint32_t *count = jobs->count[kind];
    struct rl_job *job = TAILQ_FIRST(&jobs->waiting[kind]);

    if (count[RL_SENT] >= sent_max[kind])
        return NULL;
    if (count[RL_SENT] + count[RL_FINISHED] >= sent_max[kind])
        while (job && !job->blocks && !is_part(job))
            job = TAILQ_NEXT(job, in_list);
    return job;
}

static void send_waiting(redlock *client)
{
    for (int i = 0; i < RL_JOB_CLASSES; i++) {
        struct rl_job *job;

        while ((job = next_waiting(&client->jobs, i)) != NULL) {
            change(client, job, RL_SENT);
            go_on(client, job);
            rl_wake(client);
        }
    }
}

void rl_job_advance(redlock *client, redlock_lock *lock, int error)
{
    struct rl_job *job = lock->job;

    lock->operation = RL_NO_OPERATION;
    lock->job = NULL;
    job->error = error;
    go_on(client, job);
    send_waiting(client);
}

void rl_job_finish(redlock *client, struct rl_job *job)
{
    finish(client, job);
    send_waiting(client);
}

struct rl_job *rl_job_take(redlock *client)
{
    struct rl_job *job = TAILQ_FIRST(&client->jobs.finished);

    if (job) {
        leave(client, job);
        send_waiting(client);
    }
    return job;
}

/* ---- the requests ---- */

static int check_room(const redlock *client)
{
    if (client->jobs.caller_count < REDLOCK_JOBS_MAX)
        return REDLOCK_OK;
    return rl_detail(REDLOCK_NOMEM,
                     "%d requests are under way already, or their answers are not read",
                     REDLOCK_JOBS_MAX);
}

int rl_job_start(redlock *client, struct rl_job *job, void *data, redlock_job *id)
{
    int error = rl_client_enter(client);

    if (!error) {
        error = check_room(client);
        if (!error) {
            job->data = data;
            enter(client, job);
            /* Before another thread can have its event. */
            if (id)
                *id = job->id;
            send_waiting(client);
        }
        rl_client_leave(client);
    }
    if (error)
        rl_job_free(job);
    return error;
}

static void carry_out_job(redlock *client, struct rl_submission *submission)
{
    struct rl_job *job =
        (struct rl_job *)((char *)submission - offsetof(struct rl_job, call.submission));

    if (client->closing)
        job->error = rl_detail(REDLOCK_CANCELED, "the client has been closed");
    else if (!is_part(job))
        job->error = check_room(client);
    enter(client, job);
    if (job->error)
        finish(client, job);
    else
        send_waiting(client);
}

void rl_job_join(redlock *client, struct rl_job *job)
{
    job->call.submission.carry_out = carry_out_job;
    rl_submit(client, &job->call.submission);
    rl_wake(client);
}

int rl_job_wait(redlock *client, struct rl_job *job)
{
    int error;

    job->call.submission.carry_out = carry_out_job;
    job->blocks = true;
    error = rl_call_wait(client, &job->call);
    /*
     * The sentence was made by the thread that drives. Without job->error it was never entered.
     */
    if (job->error)
        rl_detail(error, "%s", rl_job_detail(job));
    return error;
}

/* ---- ending early ---- */

static void discard(redlock *client, struct rl_job *job)
{
    drop_lock(client, job);
    leave(client, job);
    rl_job_free(job);
}

int redlock_cancel_job(redlock *client, redlock_job id)
{
    size_t index = id % REDLOCK_QUORUMS_MAX;
    struct rl_job *job;
    int error;

    /* The number of a job has that of its quorum in it. */
    if (client && client->is_sharded)
        client = client->reader->member[index < client->reader->count ? index : 0];
    error = rl_client_enter(client);
    if (error)
        return error;
    TAILQ_FOREACH (job, &client->jobs.all, in_all)
        if (job->id == id && !job->blocks && !is_part(job))
            break;
    if (job) {
        discard(client, job);
        send_waiting(client);
    } else {
        error = rl_detail(REDLOCK_INVAL, "this is no job of the client, or it has ended");
    }
    rl_client_leave(client);
    return error;
}

void rl_jobs_cancel(redlock *client)
{
    struct rl_job *job;

    while ((job = TAILQ_FIRST(&client->jobs.all)) != NULL) {
        if (job->blocks || is_part(job)) {
            job->error = rl_detail(REDLOCK_CANCELED, "the client has been closed");
            finish(client, job);
        } else {
            discard(client, job);
        }
    }
}

void rl_jobs_drop(redlock *client)
{
    struct rl_job *job;

    /* Parts before the job that they belong to, which frees them: they came after it. */
    while ((job = TAILQ_LAST(&client->jobs.all, rl_job_list)) != NULL) {
        drop_lock(client, job);
        leave(client, job);
        if (!is_part(job))
            rl_job_free(job);
    }
}
