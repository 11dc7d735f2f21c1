/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a question to the nodes is carried out: a query, a ping, an admission, a list, an audit.
 *
 * A question is a series of surveys. A handle that stands for no lock asks each of them; when it is
 * complete, the question decides what to ask next, until it has its outcome. The outcome goes to the
 * thread that is blocked in the call, or to the callback of an asynchronous one. Both take the same
 * way, and both may have to wait for their turn: so many questions are asked at a time that nodes
 * answer all of them within their deadline.
 *
 *     waiting --turn--> asked --outcome--> finished --told--> freed
 *
 * What is large (surveys, reports) is allocated when its turn comes, so a question that waits costs
 * little more than its name. The mutex guards all of it.
 */
#ifndef RL_DRIVE_QUESTION_H
#define RL_DRIVE_QUESTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/op.h"
#include "drive/order.h"
#include "redlock.h"

struct rl_survey;
struct rl_question;

/* Whom a question tells: the caller of an asynchronous one, or what copies for a blocked one. */
struct rl_asker {
    redlock_answer_fn *done;
    void *data;
    const void *key; /* what redlock_forget() finds it by: the caller's data */
    /* It was forgotten, `done` will not run; returns whether that is news. NULL: not needed. */
    bool (*forgotten)(void *data);
};

/* Which questions wait for each other's turns. */
enum rl_turn_kind {
    RL_TURN_QUERY,
    RL_TURN_SEARCH, /* of many steps: few are asked at a time */
    RL_TURN_ADMISSION, /* one at a time: the engine has one plan of what to write (engine/sets.h) */
    RL_TURN_KINDS,
};

struct rl_question_kind {
    enum rl_turn_kind turn;
    /*
     * With the mutex: at first without a lock, then after each survey, whose error is q->error. Sets
     * lock, op and survey of what to ask; false: it is over, q->error is the outcome, and an error
     * has been explained by rl_detail().
     */
    bool (*next)(redlock *client, struct rl_question *q);
    /* Without the mutex: tells q->asker. */
    void (*tell)(struct rl_question *q);
    void (*free)(struct rl_question *q);
};

TAILQ_HEAD(rl_question_list, rl_question);

struct rl_question {
    TAILQ_ENTRY(rl_question) in_list;
    struct rl_question_list *list; /* of the client; NULL: in none */
    const struct rl_question_kind *kind;
    struct rl_asker asker;
    struct rl_call *call; /* the blocked one, which tells and frees it; NULL: the driver does */
    redlock_lock *lock;   /* asks; NULL: its turn has not come, or is over */
    struct rl_survey *survey; /* the answers, in memory of the question */
    enum rl_op op;
    int error;
    char *detail; /* about the error; NULL: there was no memory for it */
};

/* The questions of a client. */
struct rl_questions {
    struct rl_question_list waiting[RL_TURN_KINDS];
    struct rl_question_list asked;
    struct rl_question_list finished;   /* to be told by the driver */
    uint32_t count;                     /* in all lists */
    uint32_t turn_count[RL_TURN_KINDS]; /* asked or finished, not yet told */
    bool is_telling;                    /* `done` of a question with this key runs: */
    const void *telling;
};

void rl_questions_init(redlock *client);

/* Asks, waits for the outcome and tells it to the asker, in this thread. The question is freed. */
int rl_question_wait(redlock *client, struct rl_question *q);
/* Starts it; `done` will run. On failure it is freed. */
int rl_question_start(redlock *client, struct rl_question *q);
void rl_question_free(struct rl_question *q);
/* The same for one of several that belong together, of which the first was started. */
void rl_question_join(redlock *client, struct rl_question *q);

/* For the driver, with the mutex. A survey is complete: */
void rl_question_hear(redlock *client, redlock_lock *lock, int error);
/* Tells what is finished; the number of callbacks that ran. */
int rl_questions_tell(redlock *client);

/* For `next`: a handle that asks, in place of the one before. False: no memory, which is the outcome. */
bool rl_question_set_lock(redlock *client, struct rl_question *q, redlock_lock *lock);

/* redlock_forget() of one client. */
int rl_client_forget(redlock *client, const void *key);
/* The client is being closed: what is not answered is finished with CANCELED. */
void rl_questions_cancel(redlock *client);
/* In a child of the process: frees all, tells no caller. */
void rl_questions_drop(redlock *client);

#endif
