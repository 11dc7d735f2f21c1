/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a job is carried out: a query, a break, a release by key, a replication, a ping, an
 * admission, a list, an audit.
 *
 * A job is a series of surveys. A handle that stands for no lock sends the requests of each;
 * when a survey is complete, the job decides what to request next, until it has its outcome.
 * The outcome goes to the thread that is blocked in the call or, of a started job, to
 * redlock_next(); both get the job itself, which has the answer in it. Both may have to wait:
 * only as many jobs of a class are sent at a time as nodes answer within their deadline. A
 * started job counts among those until its answer is read, so a program that reads late does
 * not pile up answers.
 *
 *     waiting ---> sent --outcome--> finished --taken--> freed
 *
 * What is large (surveys, reports) is its work, allocated when it is sent, so a job that waits
 * costs little more than its name. The mutex guards all of it.
 */
#ifndef RL_DRIVE_JOB_H
#define RL_DRIVE_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/op.h"
#include "drive/submission.h"
#include "redlock.h"

struct rl_survey;
struct rl_job;

/* Only so many jobs of a class are sent at a time. */
enum rl_job_class {
    RL_CLASS_QUERY,
    RL_CLASS_SEARCH, /* of many steps: few are sent at a time */
    /* one at a time: the engine has one plan of what to write (engine/sets.h) */
    RL_CLASS_ADMISSION,
    /* made of parts, which have classes of their own (quorums/gather.c) */
    RL_CLASS_GATHER,
    RL_JOB_CLASSES,
};

enum rl_job_state {
    RL_UNLISTED, /* not begun yet, or the outcome belongs to its caller */
    RL_WAITING,
    RL_SENT,
    RL_FINISHED, /* started, and its event has not been returned */
    RL_JOB_STATES,
};

/* What the caller requests. */
enum rl_job_type {
    RL_JOB_QUERY, /* this and the next two are about a name */
    RL_JOB_BREAK,
    RL_JOB_RELEASE_BY_KEY,
    RL_JOB_REPLICATE,
    RL_JOB_PING,
    RL_JOB_ADMIT,
    RL_JOB_LOOK_AT_ADMISSION,
    RL_JOB_LIST,
    RL_JOB_AUDIT,
    RL_JOB_TYPES,
};

struct rl_job_terms {
    enum rl_job_type type;
    const char *name;
    const char *holder; /* BREAK: its fingerprint; RELEASE_BY_KEY: its idempotency key */
    int64_t ttl_ms;     /* AUDIT */
};

struct rl_job_kind {
    enum rl_job_class class;
    /*
     * With the mutex: at first without a lock, then after each survey, whose error is
     * job->error. Sets lock, op and survey of what to send (no lock: rl_job_finish() will be
     * called); false: it is over, job->error is the outcome, an error has been explained by
     * rl_detail(), and the answer points to memory of the job, which has no need of the client
     * any more.
     */
    bool (*next)(redlock *client, struct rl_job *job);
    /* Frees what the job's work points to; false: not yet, nor the rest. NULL: nothing. */
    bool (*release)(struct rl_job *job);
};

TAILQ_HEAD(rl_job_list, rl_job);

struct rl_job {
    TAILQ_ENTRY(rl_job) in_all;
    TAILQ_ENTRY(rl_job) in_list; /* WAITING or FINISHED */
    enum rl_job_state state;
    const struct rl_job_kind *kind;
    struct rl_job_terms terms; /* with texts of its own */
    void *work;                /* what its kind needs once it is sent; owned */
    struct rl_call call;       /* of the blocked caller; its submission, of a part as well */
    bool blocks;
    redlock_job id;
    void *data; /* the caller's */
    /* Of a part of another job: called when it is finished, with the mutex; else NULL. */
    void (*ended)(redlock *client, struct rl_job *job);
    const atomic_bool *canceled; /* the job that it is a part of */
    redlock_lock *lock;          /* sends; NULL: before it is sent, and afterwards */
    struct rl_survey *survey;    /* the answers, in its work */
    enum rl_op op;
    int error;
    char *detail;          /* about the error; NULL: there was no memory for it */
    redlock_check *checks; /* of an audit; owned, with their texts; the answer counts them */
    size_t check_room;
    bool lacks_check; /* for want of memory */
    redlock_answer answer;
    char texts[]; /* of the terms */
};

/* The jobs of a client. */
struct rl_jobs {
    struct rl_job_list all;
    struct rl_job_list waiting[RL_JOB_CLASSES];
    struct rl_job_list finished;
    uint32_t count[RL_JOB_CLASSES][RL_JOB_STATES];
    bool has_news;         /* jobs have finished since the driver last looked for events */
    uint32_t caller_count; /* those of callers: without the parts */
    uint64_t serial;       /* of the last one */
};

void rl_jobs_init(redlock *client);

/* NULL: out of memory. */
struct rl_job *rl_job_new_as(const struct rl_job_kind *kind, const struct rl_job_terms *terms);

/* Carries it out and waits for the outcome. The job stays the caller's. */
int rl_job_wait(redlock *client, struct rl_job *job);
/* Starts it. On failure it is freed. */
int rl_job_start(redlock *client, struct rl_job *job, void *data, redlock_job *id);
/*
 * Starts a part of another job, which keeps it; `ended` is set. The mutex is not needed.
 */
void rl_job_join(redlock *client, struct rl_job *job);
void rl_job_free(struct rl_job *job);

/* For the driver, with the mutex. A survey is complete: */
void rl_job_advance(redlock *client, redlock_lock *lock, int error);
/* Of one without a lock: job->error and the answer are its outcome. */
void rl_job_finish(redlock *client, struct rl_job *job);

/*
 * With the mutex: a job that is finished, for its event. The caller frees it. NULL: there is
 * none.
 */
struct rl_job *rl_job_take(redlock *client);
/* A sentence about its error; empty without one. */
const char *rl_job_detail(const struct rl_job *job);

/*
 * For `next`. A handle that sends, in place of the one before; false: no memory, which is the
 * outcome.
 */
bool rl_job_set_lock(redlock *client, struct rl_job *job, redlock_lock *lock);
/* Adds a copy to the answer, but for the name of the check, which is a constant. */
void rl_job_add_check(struct rl_job *job, const redlock_check *check);
/* All are added. One that is missing is an error. */
void rl_job_answer_checks(struct rl_job *job);

/*
 * The client is being closed: blocked callers get CANCELED, started jobs end without an event.
 */
void rl_jobs_cancel(redlock *client);
/* In a child of the process: frees all. */
void rl_jobs_drop(redlock *client);

#endif
