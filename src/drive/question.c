/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/question.h"

#include <stdlib.h>
#include <string.h>

#include "drive/client.h"
#include "drive/detail.h"
#include "drive/handles.h"
#include "drive/order.h"
#include "drive/turn.h"
#include "engine/survey.h"
#include "io/clock.h"

static const uint32_t turns_max[RL_TURN_KINDS] = {
    [RL_TURN_QUERY] = REDLOCK_QUESTIONS_SENT,
    [RL_TURN_SEARCH] = REDLOCK_SEARCHES_SENT,
    [RL_TURN_ADMISSION] = 1,
};

void rl_questions_init(redlock *client)
{
    for (int i = 0; i < RL_TURN_KINDS; i++)
        TAILQ_INIT(&client->questions.waiting[i]);
    TAILQ_INIT(&client->questions.asked);
    TAILQ_INIT(&client->questions.finished);
}

/* ---- from list to list ---- */

static void move_to(struct rl_question *q, struct rl_question_list *list)
{
    if (q->list)
        TAILQ_REMOVE(q->list, q, in_list);
    q->list = list;
    if (list)
        TAILQ_INSERT_TAIL(list, q, in_list);
}

static bool has_turn(const redlock *client, const struct rl_question *q)
{
    return q->list == &client->questions.asked || q->list == &client->questions.finished;
}

/* Out of all lists: it is told, forgotten, or its blocked caller's. */
static void leave(redlock *client, struct rl_question *q)
{
    if (has_turn(client, q))
        client->questions.turn_count[q->kind->turn]--;
    client->questions.count--;
    move_to(q, NULL);
}

void rl_question_free(struct rl_question *q)
{
    if (!q)
        return;
    free(q->detail);
    q->kind->free(q);
}

static void drop_lock(redlock *client, struct rl_question *q)
{
    if (q->lock)
        rl_lock_discard(client, q->lock, false);
    q->lock = NULL;
}

bool rl_question_set_lock(redlock *client, struct rl_question *q, redlock_lock *lock)
{
    drop_lock(client, q);
    q->lock = lock;
    if (!lock)
        q->error = rl_detail(REDLOCK_NOMEM, "out of memory");
    return lock != NULL;
}

/* ---- its turn ---- */

static void finish(redlock *client, struct rl_question *q)
{
    if (q->error)
        q->detail = strdup(redlock_detail());
    drop_lock(client, q);
    if (q->call) {
        leave(client, q);
        rl_call_finish(q->call, q->error);
    } else {
        move_to(q, &client->questions.finished);
    }
}

static void go_on(redlock *client, struct rl_question *q)
{
    if (!q->kind->next(client, q)) {
        finish(client, q);
        return;
    }
    q->lock->operation = RL_QUESTION;
    q->lock->question = q;
    rl_handle_ask(&client->engine, &q->lock->handle, q->op, q->survey, rl_now_ns());
}

static void take_turn(redlock *client, struct rl_question *q)
{
    client->questions.turn_count[q->kind->turn]++;
    move_to(q, &client->questions.asked);
}

/* The one that has waited longest is the next. */
static void give_turns(redlock *client)
{
    struct rl_questions *questions = &client->questions;

    for (int i = 0; i < RL_TURN_KINDS; i++) {
        struct rl_question *q;

        while (questions->turn_count[i] < turns_max[i] &&
               (q = TAILQ_FIRST(&questions->waiting[i])) != NULL) {
            take_turn(client, q);
            go_on(client, q);
        }
    }
}

void rl_question_hear(redlock *client, redlock_lock *lock, int error)
{
    struct rl_question *q = lock->question;

    lock->operation = RL_NO_OPERATION;
    lock->question = NULL;
    q->error = error;
    go_on(client, q);
    give_turns(client);
}

/* ---- asking ---- */

static void add(redlock *client, struct rl_question *q)
{
    client->questions.count++;
    move_to(q, &client->questions.waiting[q->kind->turn]);
    give_turns(client);
}

static bool is_full(const redlock *client)
{
    return client->questions.count >= REDLOCK_QUESTIONS_MAX;
}

static int refuse(void)
{
    return rl_detail(REDLOCK_NOMEM, "%d questions are waiting for an answer already",
                     REDLOCK_QUESTIONS_MAX);
}

int rl_question_start(redlock *client, struct rl_question *q)
{
    int error = rl_client_enter(client, false);

    if (!error && is_full(client)) {
        error = refuse();
        rl_client_leave(client);
    }
    if (error) {
        rl_question_free(q);
        return error;
    }
    add(client, q);
    rl_wake(client);
    rl_client_leave(client);
    return REDLOCK_OK;
}

void rl_question_join(redlock *client, struct rl_question *q)
{
    pthread_mutex_lock(&client->mutex);
    add(client, q);
    rl_wake(client);
    pthread_mutex_unlock(&client->mutex);
}

struct question_call {
    struct rl_call call; /* first */
    struct rl_question *q;
    bool refused;
};

static void carry_out_question(redlock *client, struct rl_order *order)
{
    struct question_call *c = (struct question_call *)order;

    c->refused = client->closing || is_full(client);
    if (c->refused)
        rl_call_finish(&c->call, client->closing ? REDLOCK_CANCELED : REDLOCK_NOMEM);
    else
        add(client, c->q);
}

static void tell_asker(struct rl_question *q)
{
    /* The sentence was made by the thread that drives. */
    if (q->error)
        rl_detail(q->error, "%s", q->detail ? q->detail : redlock_strerror(q->error));
    q->kind->tell(q);
}

int rl_question_wait(redlock *client, struct rl_question *q)
{
    struct question_call c = {.call.order.carry_out = carry_out_question, .q = q};
    int error;

    q->call = &c.call;
    error = rl_call_wait(client, &c.call);
    if (c.refused && error == REDLOCK_NOMEM)
        refuse();
    else if (c.refused)
        rl_detail(error, "the client has been closed");
    else if (error == q->error) /* else it was never asked, and why is said */
        tell_asker(q);
    rl_question_free(q);
    return error;
}

/* ---- telling ---- */

static void tell(redlock *client, struct rl_question *q)
{
    struct rl_questions *questions = &client->questions;
    struct rl_frame frame;

    questions->is_telling = true;
    questions->telling = q->asker.key;
    leave(client, q);
    pthread_mutex_unlock(&client->mutex);
    rl_frame_enter(&frame, client);
    tell_asker(q);
    rl_frame_leave(&frame);
    rl_question_free(q);
    pthread_mutex_lock(&client->mutex);
    questions->is_telling = false;
}

int rl_questions_tell(redlock *client)
{
    struct rl_questions *questions = &client->questions;
    uint32_t left = 0;
    int count = 0;

    /*
     * No more than had their turn when this began: a callback that asks again, of nodes that are all
     * down, has the answer at once, and would keep the driver here for ever.
     */
    for (int i = 0; i < RL_TURN_KINDS; i++)
        left += questions->turn_count[i];
    for (; left > 0 && !TAILQ_EMPTY(&questions->finished); left--) {
        tell(client, TAILQ_FIRST(&questions->finished));
        give_turns(client);
        count++;
    }
    return count;
}

/* ---- ending early ---- */

/* Those that tell a callback with this key; every one if `all`. */
static int forget_in(redlock *client, struct rl_question_list *list, const void *key, bool all)
{
    struct rl_question *q = TAILQ_FIRST(list);
    int count = 0;

    while (q) {
        struct rl_question *next = TAILQ_NEXT(q, in_list);

        if (all || (!q->call && q->asker.key == key)) {
            drop_lock(client, q);
            leave(client, q);
            count += q->asker.forgotten ? q->asker.forgotten(q->asker.data) : 1;
            rl_question_free(q);
        }
        q = next;
    }
    return count;
}

static int forget_all(redlock *client, const void *key, bool all)
{
    struct rl_questions *questions = &client->questions;
    int count = forget_in(client, &questions->asked, key, all);

    for (int i = 0; i < RL_TURN_KINDS; i++)
        count += forget_in(client, &questions->waiting[i], key, all);
    return count + forget_in(client, &questions->finished, key, all);
}

int rl_client_forget(redlock *client, const void *key)
{
    int count = rl_client_enter(client, false);

    if (count)
        return count;
    for (;;) {
        count += forget_all(client, key, false);
        if (!client->questions.is_telling || client->questions.telling != key ||
            rl_is_in_callback_of(client))
            break;
        pthread_cond_wait(&client->turn_cond, &client->mutex);
    }
    give_turns(client);
    rl_wake(client);
    rl_client_leave(client);
    return count;
}

static void cancel_in(redlock *client, const struct rl_question_list *list)
{
    struct rl_question *q;

    while ((q = TAILQ_FIRST(list)) != NULL) {
        if (!has_turn(client, q))
            take_turn(client, q);
        q->error = rl_detail(REDLOCK_CANCELED, "the client has been closed");
        finish(client, q);
    }
}

void rl_questions_cancel(redlock *client)
{
    /* What waits takes its turn, and so joins those that were asked. */
    for (int i = 0; i < RL_TURN_KINDS; i++)
        cancel_in(client, &client->questions.waiting[i]);
    cancel_in(client, &client->questions.asked);
}

void rl_questions_drop(redlock *client)
{
    forget_all(client, NULL, true);
}
