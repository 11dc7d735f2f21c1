/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/query.h"

#include <stdlib.h>
#include <string.h>

#include "client/report.h"
#include "client/request.h"
#include "drive/detail.h"
#include "drive/enter.h"
#include "drive/explain.h"
#include "drive/handles.h"
#include "io/clock.h"

struct question_call {
    struct rl_call call; /* first */
    redlock_lock *lock;
    enum rl_op question;
    struct rl_survey *survey;
};

static void carry_out_question(redlock *client, struct rl_order *order)
{
    struct question_call *q = (struct question_call *)order;

    if (client->closing) {
        rl_call_finish(&q->call, REDLOCK_CANCELED);
        return;
    }
    q->lock->operation = RL_QUESTION;
    q->lock->call = &q->call;
    if (rl_handle_ask(&client->engine, &q->lock->handle, q->question, q->survey, rl_now_ns()) >=
        0)
        return;
    q->lock->operation = RL_NO_OPERATION;
    q->lock->call = NULL;
    rl_call_finish(&q->call, REDLOCK_NOMEM);
}

int rl_ask(redlock *client, redlock_lock *lock, enum rl_op question, struct rl_survey *survey)
{
    struct question_call q = {
        .call.order.carry_out = carry_out_question,
        .lock = lock,
        .question = question,
        .survey = survey,
    };
    int error = rl_call_wait_locked(client, &q.call);

    return error == REDLOCK_NOMEM ? rl_detail(error, "out of memory") : error;
}

/* The mutex is held. */
static int ask(redlock *client, enum rl_op question, const char *name, size_t name_size,
               struct rl_survey *survey)
{
    struct rl_lock_terms terms = {0};
    redlock_lock *lock = rl_lock_new_for(client, name, name_size, &terms);
    int error;

    if (!lock)
        return REDLOCK_NOMEM;
    error = rl_ask(client, lock, question, survey);
    if (error != REDLOCK_NOMEM)
        rl_explain(lock, RL_QUESTION, error);
    rl_lock_discard(client, lock, false);
    return error;
}

static int check_report(const redlock_report *report)
{
    return report ? rl_struct_check("redlock_report", report) : REDLOCK_OK;
}

int rl_client_query(redlock *client, const char *name, redlock_info *info,
                    redlock_report *report)
{
    struct rl_survey survey = {0};
    redlock_info known = {.size = sizeof known};
    size_t name_size = 0;
    int error = rl_client_enter(client, true);

    if (error)
        return error;
    error = rl_name_check(client, name, &name_size);
    if (!error)
        error = rl_struct_check("redlock_info", info);
    if (!error)
        error = check_report(report);
    if (!error) {
        survey.sight = calloc(client->engine.policy.node_count, sizeof *survey.sight);
        if (!survey.sight)
            error = rl_detail(REDLOCK_NOMEM, "out of memory");
    }
    if (!error) {
        error = ask(client, RL_OP_LOOK, name, name_size, &survey);
        if (!error) {
            rl_survey_conclude(&survey, rl_wall_ms(NULL), &known);
            rl_struct_fill(info, &known, sizeof known);
        }
        if (report && survey.policy)
            rl_report_query(client, &survey, error ? NULL : &known, report);
    }
    rl_client_leave(client);
    free(survey.sight);
    return error;
}

static int check_mark(const char *mark)
{
    size_t length = mark ? strnlen(mark, REDLOCK_MARK_SIZE + 1) : 0;

    if (length == REDLOCK_MARK_SIZE && strspn(mark, "0123456789abcdef") == length)
        return REDLOCK_OK;
    return rl_detail(REDLOCK_INVAL,
                     "a mark has %d hex digits; it is what redlock_query() tells of a holder",
                     REDLOCK_MARK_SIZE);
}

/* A majority has answered: was there a holder to evict? */
static int judge_break(const struct rl_survey *survey, const char *name)
{
    uint8_t other_count = 0;

    if (survey->evicted->votes > 0)
        return REDLOCK_OK;
    for (uint8_t i = 0; i < survey->policy->node_count; i++)
        other_count += survey->node[i].vote == REDLOCK_VOTE_HELD;
    return rl_detail(REDLOCK_EXPIRED,
                     other_count ? "that holder of '%s' was gone already; another is there now"
                                 : "that holder of '%s' was gone already; '%s' is free",
                     name, name);
}

int rl_client_break(redlock *client, const char *name, const char *mark, redlock_report *report)
{
    redlock_holder evicted = {.ttl_ms = -1, .held_ms = -1};
    struct rl_survey survey = {.evicted = &evicted, .mark = {mark, REDLOCK_MARK_SIZE}};
    size_t name_size = 0;
    int error = rl_client_enter(client, true);

    if (error)
        return error;
    error = rl_name_check(client, name, &name_size);
    if (!error)
        error = check_mark(mark);
    if (!error)
        error = check_report(report);
    if (!error) {
        error = ask(client, RL_OP_BREAK, name, name_size, &survey);
        if (!error)
            error = judge_break(&survey, name);
        if (report && survey.policy)
            rl_report_break(client, &survey, report);
    }
    rl_client_leave(client);
    return error;
}

int rl_client_ping(redlock *client, redlock_report *report)
{
    struct rl_survey survey = {0};
    int error = rl_client_enter(client, true);

    if (error)
        return error;
    error = check_report(report);
    if (!error) {
        error = ask(client, RL_OP_PING, "", 0, &survey);
        if (report && survey.policy)
            rl_report_survey(client, &survey, report);
    }
    rl_client_leave(client);
    return error;
}

int rl_client_admit(redlock *client, redlock_report *report)
{
    struct rl_survey survey = {0};
    char text[RL_OF_QUORUM_MAX];
    uint8_t admitted_count = 0;
    int error;

    error = rl_client_enter(client, true);
    if (error)
        return error;
    error = check_report(report);
    if (error)
        goto cleanup;
    /* PING first: a node's identity is known once it has answered the greeting. */
    ask(client, RL_OP_PING, "", 0, &survey);
    error = ask(client, RL_OP_ADMIT, "", 0, &survey);
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++)
        admitted_count += survey.node[i].vote == REDLOCK_VOTE_GRANTED;
    if (!error && admitted_count < client->engine.policy.node_count)
        error =
            rl_detail(REDLOCK_NOQUORUM, "only %u of %u nodes%s took the marker", admitted_count,
                      client->engine.policy.node_count, rl_of_quorum(client, text));
    if (report && survey.policy)
        rl_report_survey(client, &survey, report);
cleanup:
    rl_client_leave(client);
    return error;
}
