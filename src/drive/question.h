/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a question to the nodes is carried out: a query, a ping, an admission, a list, an audit.
 *
 * A question is a series of surveys. A handle that stands for no lock asks each of them; when
 * it is complete, the question decides what to ask next, until it has its outcome. The outcome
 * goes to the thread that is blocked in the call, or, of a job, to redlock_next(); both get the
 * question itself, which has the answer in it. Both may have to wait for their turn: so many
 * questions are asked at a time that nodes answer all of them within their deadline. The answer
 * to a job keeps its turn until it is read, so a program that reads late does not pile up
 * answers.
 *
 *     waiting --turn--> asked --outcome--> finished --taken--> freed
 *
 * What is large (surveys, reports) is its work, allocated when its turn comes, so a question
 * that waits costs little more than its name. The mutex guards all of it.
 */
#ifndef RL_DRIVE_QUESTION_H
#define RL_DRIVE_QUESTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/op.h"
#include "drive/order.h"
#include "redlock.h"

struct rl_survey;
struct rl_question;

/* Which questions wait for each other's turns. */
enum rl_turn_kind {
    RL_TURN_QUERY,
    RL_TURN_SEARCH, /* of many steps: few are asked at a time */
    /* one at a time: the engine has one plan of what to write (engine/sets.h) */
    RL_TURN_ADMISSION,
    RL_TURN_JOINT, /* answered by its parts, which have their own turns (quorums/joint.c) */
    RL_TURN_KINDS,
};

enum rl_question_state {
    RL_UNLISTED, /* not asked for yet, or the outcome belongs to its caller */
    RL_WAITING,
    RL_ASKED,
    RL_FINISHED, /* a job whose event has not been returned */
    RL_QUESTION_STATES,
};

/* What the caller asks for. */
enum rl_ask {
    RL_ASK_QUERY, /* these three are about a name */
    RL_ASK_BREAK,
    RL_ASK_RELEASE_BY_KEY,
    RL_ASK_REPLICATE,
    RL_ASK_PING,
    RL_ASK_ADMIT,
    RL_ASK_LOOK_AT_ADMISSION,
    RL_ASK_LIST,
    RL_ASK_AUDIT,
    RL_ASKS,
};

struct rl_question_terms {
    enum rl_ask ask;
    const char *name;
    const char *holder; /* BREAK: its fingerprint; RELEASE_BY_KEY: its idempotency key */
    int64_t ttl_ms;     /* AUDIT */
};

struct rl_question_kind {
    enum rl_turn_kind turn;
    /*
     * With the mutex: at first without a lock, then after each survey, whose error is q->error.
     * Sets lock, op and survey of what to ask (no lock: rl_question_finish() will be called);
     * false: it is over, q->error is the outcome, an error has been explained by rl_detail(),
     * and the answer points to memory of the question, which has no need of the client any
     * more.
     */
    bool (*next)(redlock *client, struct rl_question *q);
    /* Frees what the question's work points to; false: not yet, nor the rest. NULL: nothing. */
    bool (*release)(struct rl_question *q);
};

TAILQ_HEAD(rl_question_list, rl_question);

struct rl_question {
    TAILQ_ENTRY(rl_question) in_all;
    TAILQ_ENTRY(rl_question) in_list; /* WAITING or FINISHED */
    enum rl_question_state state;
    const struct rl_question_kind *kind;
    struct rl_question_terms terms; /* with texts of its own */
    void *work;                     /* what its kind needs once its turn has come; owned */
    struct rl_call call;            /* of the blocked caller; its order, of a part as well */
    bool blocks;
    redlock_job id;
    void *data; /* the caller's */
    /* Of a part of another question: gets it when it is finished, with the mutex; else NULL. */
    void (*ended)(redlock *client, struct rl_question *q);
    const atomic_bool *canceled; /* the question that it is a part of */
    redlock_lock *lock;          /* asks; NULL: its turn has not come, or is over */
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

/* The questions of a client. */
struct rl_questions {
    struct rl_question_list all;
    struct rl_question_list waiting[RL_TURN_KINDS];
    struct rl_question_list finished;
    uint32_t count[RL_TURN_KINDS][RL_QUESTION_STATES];
    bool has_news;        /* jobs have finished since the driver last looked for events */
    uint32_t asker_count; /* those of callers: without the parts */
    uint64_t serial;      /* of the last one */
};

void rl_questions_init(redlock *client);

/* NULL: out of memory. */
struct rl_question *rl_question_new(const struct rl_question_kind *kind,
                                    const struct rl_question_terms *terms);

/* Asks and waits for the outcome. The question stays the caller's. */
int rl_question_wait(redlock *client, struct rl_question *q);
/* Starts a job. On failure the question is freed. */
int rl_question_start(redlock *client, struct rl_question *q, void *data, redlock_job *job);
/*
 * Starts a part of another question, which keeps it; `ended` is set. The mutex is not needed.
 */
void rl_question_join(redlock *client, struct rl_question *q);
void rl_question_free(struct rl_question *q);

/* For the driver, with the mutex. A survey is complete: */
void rl_question_hear(redlock *client, redlock_lock *lock, int error);
/* Of one without a lock: q->error and the answer are its outcome. */
void rl_question_finish(redlock *client, struct rl_question *q);

/*
 * With the mutex: a job that is finished, for its event. The caller frees it. NULL: there is
 * none.
 */
struct rl_question *rl_question_take(redlock *client);
/* A sentence about its error; empty without one. */
const char *rl_question_detail(const struct rl_question *q);

/*
 * For `next`. A handle that asks, in place of the one before; false: no memory, which is the
 * outcome.
 */
bool rl_question_set_lock(redlock *client, struct rl_question *q, redlock_lock *lock);
/* Adds a copy to the answer, but for the name of the check, which is a constant. */
void rl_question_add_check(struct rl_question *q, const redlock_check *check);
/* All are added. One that is missing is an error. */
void rl_question_answer_checks(struct rl_question *q);

/* The client is being closed: blocked callers get CANCELED, jobs go without an event. */
void rl_questions_cancel(redlock *client);
/* In a child of the process: frees all. */
void rl_questions_drop(redlock *client);

#endif
