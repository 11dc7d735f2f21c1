/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive/drive.h"
#include "engine/survey.h"
#include "io/clock.h"

#define CHECKS_AT_FIRST 32

static const uint32_t turns_max[RL_TURN_KINDS] = {
    [RL_TURN_QUERY] = REDLOCK_JOBS_SENT,
    [RL_TURN_SEARCH] = REDLOCK_SEARCHES_SENT,
    [RL_TURN_ADMISSION] = 1,
    [RL_TURN_JOINT] = REDLOCK_JOBS_SENT,
};

void rl_questions_init(redlock *client)
{
    for (int i = 0; i < RL_TURN_KINDS; i++)
        TAILQ_INIT(&client->questions.waiting[i]);
    TAILQ_INIT(&client->questions.all);
    TAILQ_INIT(&client->questions.finished);
}

/* ---- from state to state ---- */

/* NULL: those in this state are in no list but that of all. */
static struct rl_question_list *list_of(redlock *client, const struct rl_question *q)
{
    if (q->state == RL_WAITING)
        return &client->questions.waiting[q->kind->turn];
    return q->state == RL_FINISHED ? &client->questions.finished : NULL;
}

static void change(redlock *client, struct rl_question *q, enum rl_question_state state)
{
    uint32_t *count = client->questions.count[q->kind->turn];
    struct rl_question_list *list = list_of(client, q);

    if (list)
        TAILQ_REMOVE(list, q, in_list);
    count[q->state]--; /* that of UNLISTED means nothing */
    count[state]++;
    q->state = state;
    list = list_of(client, q);
    if (list)
        TAILQ_INSERT_TAIL(list, q, in_list);
}

/* A part is none of its own: the question that it belongs to was counted. */
static bool is_part(const struct rl_question *q)
{
    return q->ended != NULL;
}

static void enter(redlock *client, struct rl_question *q)
{
    struct rl_questions *questions = &client->questions;

    /* Never 0, and the same of no two questions of a group of quorums. */
    q->id = ++questions->serial * REDLOCK_QUORUMS_MAX + client->quorum_index;
    q->answer.size = sizeof q->answer;
    questions->asker_count += !is_part(q);
    TAILQ_INSERT_TAIL(&questions->all, q, in_all);
    change(client, q, RL_WAITING);
}

static void leave(redlock *client, struct rl_question *q)
{
    change(client, q, RL_UNLISTED);
    TAILQ_REMOVE(&client->questions.all, q, in_all);
    client->questions.asker_count -= !is_part(q);
}

struct rl_question *rl_question_new(const struct rl_question_kind *kind,
                                    const struct rl_question_terms *terms)
{
    size_t name_size = terms->name ? strlen(terms->name) + 1 : 0;
    size_t holder_size = terms->holder ? strlen(terms->holder) + 1 : 0;
    struct rl_question *q = calloc(1, sizeof *q + name_size + holder_size);

    if (!q)
        return NULL;
    q->kind = kind;
    q->terms = *terms;
    if (terms->name)
        q->terms.name = q->answer.name = memcpy(q->texts, terms->name, name_size);
    if (terms->holder)
        q->terms.holder = memcpy(q->texts + name_size, terms->holder, holder_size);
    return q;
}

void rl_question_free(struct rl_question *q)
{
    if (!q || (q->kind->release && !q->kind->release(q)))
        return;
    for (size_t i = 0; i < q->answer.check_count; i++)
        free((char *)q->checks[i].address);
    free(q->checks);
    free(q->detail);
    free(q->work);
    free(q);
}

void redlock_answer_free(redlock_answer *answer)
{
    if (answer)
        rl_question_free(
            (struct rl_question *)((char *)answer - offsetof(struct rl_question, answer)));
}

const char *rl_question_detail(const struct rl_question *q)
{
    return !q->error ? "" : q->detail ? q->detail : redlock_strerror(q->error);
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

/* ---- its answer, where that is a list of checks ---- */

void rl_question_add_check(struct rl_question *q, const redlock_check *check)
{
    redlock_check *kept;
    char *texts; /* one behind the other; the address is the first */

    if (q->answer.check_count == q->check_room) {
        size_t room = q->check_room ? 2 * q->check_room : CHECKS_AT_FIRST;
        redlock_check *more = reallocarray(q->checks, room, sizeof *more);

        q->lacks_check |= !more;
        if (!more)
            return;
        q->checks = more;
        q->check_room = room;
    }
    if (asprintf(&texts, "%s%c%s%c%s%c%s", check->address, '\0', check->text, '\0',
                 check->remedy, '\0', check->quorum) < 0) {
        q->lacks_check = true;
        return;
    }
    kept = &q->checks[q->answer.check_count++];
    *kept = *check;
    kept->address = texts;
    kept->text = strchr(kept->address, '\0') + 1;
    kept->remedy = strchr(kept->text, '\0') + 1;
    kept->quorum = strchr(kept->remedy, '\0') + 1;
}

void rl_question_answer_checks(struct rl_question *q)
{
    if (q->lacks_check)
        q->error = rl_detail(REDLOCK_NOMEM, "out of memory");
    q->answer.checks = q->checks;
}

/* ---- its turn ---- */

static void finish(redlock *client, struct rl_question *q)
{
    if (q->error)
        q->detail = strdup(redlock_detail());
    drop_lock(client, q);
    if (!q->blocks && !is_part(q)) {
        change(client, q, RL_FINISHED);
        client->questions.has_news = true;
        return;
    }
    leave(client, q);
    if (q->blocks)
        rl_call_finish(&q->call, q->error);
    else
        q->ended(client, q);
}

static void go_on(redlock *client, struct rl_question *q)
{
    if (q->canceled && atomic_load(q->canceled)) {
        q->error = rl_detail(REDLOCK_CANCELED, "canceled");
        finish(client, q);
    } else if (!q->kind->next(client, q)) {
        finish(client, q);
    } else if (q->lock) {
        q->lock->operation = RL_QUESTION;
        q->lock->question = q;
        rl_handle_ask(&client->engine, &q->lock->handle, q->op, q->survey, rl_now_ns());
    }
}

/*
 * The one that has waited longest. Answers that are not read keep jobs back, but not a caller
 * that is blocked: it may be the one that would read them.
 */
static struct rl_question *next_in_turn(struct rl_questions *questions, int kind)
{
    const uint32_t *count = questions->count[kind];
    struct rl_question *q = TAILQ_FIRST(&questions->waiting[kind]);

    if (count[RL_ASKED] >= turns_max[kind])
        return NULL;
    if (count[RL_ASKED] + count[RL_FINISHED] >= turns_max[kind])
        while (q && !q->blocks && !is_part(q))
            q = TAILQ_NEXT(q, in_list);
    return q;
}

static void give_turns(redlock *client)
{
    for (int i = 0; i < RL_TURN_KINDS; i++) {
        struct rl_question *q;

        while ((q = next_in_turn(&client->questions, i)) != NULL) {
            change(client, q, RL_ASKED);
            go_on(client, q);
            rl_wake(client);
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

void rl_question_finish(redlock *client, struct rl_question *q)
{
    finish(client, q);
    give_turns(client);
}

struct rl_question *rl_question_take(redlock *client)
{
    struct rl_question *q = TAILQ_FIRST(&client->questions.finished);

    if (q) {
        leave(client, q);
        give_turns(client);
    }
    return q;
}

/* ---- asking ---- */

static int check_room(const redlock *client)
{
    if (client->questions.asker_count < REDLOCK_JOBS_MAX)
        return REDLOCK_OK;
    return rl_detail(REDLOCK_NOMEM,
                     "%d requests are under way already, or their answers are not read",
                     REDLOCK_JOBS_MAX);
}

int rl_question_start(redlock *client, struct rl_question *q, void *data, redlock_job *job)
{
    int error = rl_client_enter(client);

    if (!error) {
        error = check_room(client);
        if (!error) {
            q->data = data;
            enter(client, q);
            /* Before another thread can have its event. */
            if (job)
                *job = q->id;
            give_turns(client);
        }
        rl_client_leave(client);
    }
    if (error)
        rl_question_free(q);
    return error;
}

static void carry_out_question(redlock *client, struct rl_order *order)
{
    struct rl_question *q =
        (struct rl_question *)((char *)order - offsetof(struct rl_question, call.order));

    if (client->closing)
        q->error = rl_detail(REDLOCK_CANCELED, "the client has been closed");
    else if (!is_part(q))
        q->error = check_room(client);
    enter(client, q);
    if (q->error)
        finish(client, q);
    else
        give_turns(client);
}

void rl_question_join(redlock *client, struct rl_question *q)
{
    q->call.order.carry_out = carry_out_question;
    rl_order_put(client, &q->call.order);
    rl_wake(client);
}

int rl_question_wait(redlock *client, struct rl_question *q)
{
    int error;

    q->call.order.carry_out = carry_out_question;
    q->blocks = true;
    error = rl_call_wait(client, &q->call);
    /* The sentence was made by the thread that drives. Without q->error it was never asked. */
    if (q->error)
        rl_detail(error, "%s", rl_question_detail(q));
    return error;
}

/* ---- ending early ---- */

static void discard(redlock *client, struct rl_question *q)
{
    drop_lock(client, q);
    leave(client, q);
    rl_question_free(q);
}

int redlock_cancel_job(redlock *client, redlock_job job)
{
    size_t index = job % REDLOCK_QUORUMS_MAX;
    struct rl_question *q;
    int error;

    /* The number of a job tells its quorum. */
    if (client && client->is_front)
        client = client->reader->member[index < client->reader->count ? index : 0];
    error = rl_client_enter(client);
    if (error)
        return error;
    TAILQ_FOREACH (q, &client->questions.all, in_all)
        if (q->id == job && !q->blocks && !is_part(q))
            break;
    if (q) {
        discard(client, q);
        give_turns(client);
    } else {
        error = rl_detail(REDLOCK_INVAL, "this is no job of the client, or it has ended");
    }
    rl_client_leave(client);
    return error;
}

void rl_questions_cancel(redlock *client)
{
    struct rl_question *q;

    while ((q = TAILQ_FIRST(&client->questions.all)) != NULL) {
        if (q->blocks || is_part(q)) {
            q->error = rl_detail(REDLOCK_CANCELED, "the client has been closed");
            finish(client, q);
        } else {
            discard(client, q);
        }
    }
}

void rl_questions_drop(redlock *client)
{
    struct rl_question *q;

    /* Parts before the question that they belong to, which frees them: they came after it. */
    while ((q = TAILQ_LAST(&client->questions.all, rl_question_list)) != NULL) {
        drop_lock(client, q);
        leave(client, q);
        if (!is_part(q))
            rl_question_free(q);
    }
}
