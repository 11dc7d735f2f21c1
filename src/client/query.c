/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/query.h"

#include <stdlib.h>
#include <string.h>

#include "client/report.h"
#include "client/request.h"
#include "drive/detail.h"
#include "drive/explain.h"
#include "drive/handles.h"
#include "drive/order.h"
#include "engine/conclusion.h"
#include "engine/sets.h"
#include "io/clock.h"

/* What a query needs once its turn has come, with room for what every node saw. */
struct work {
    struct rl_survey survey;
    redlock_info info;
    redlock_holder evicted;
    redlock_report report;
    struct rl_sight sight[];
};

/* RL_OP_LOOK, RL_OP_BREAK, RL_OP_PING or RL_OP_ADMIT. */
struct query {
    struct rl_question question; /* first */
    enum rl_op op;
    struct work *work;            /* NULL: its turn has not come */
    char mark[REDLOCK_MARK_SIZE]; /* BREAK */
    size_t tag_size;              /* 0: by the mark */
    char tag[REDLOCK_TAG_SIZE + 1];
    bool pending; /* ADMIT: the set that is written is put in force by a second round */
    size_t name_size;
    char name[];
};

/* ---- asking ---- */

static bool begin(redlock *client, struct query *q)
{
    struct rl_lock_terms terms = {0};
    size_t sights = q->op == RL_OP_LOOK ? client->engine.policy.node_count : 0;

    q->work = calloc(1, sizeof *q->work + sights * sizeof q->work->sight[0]);
    if (!q->work) {
        q->question.error = rl_detail(REDLOCK_NOMEM, "out of memory");
        return false;
    }
    q->work->survey.sight = sights ? q->work->sight : NULL;
    q->work->survey.evicted = &q->work->evicted;
    q->work->evicted = (redlock_holder){.ttl_ms = -1, .held_ms = -1};
    q->work->survey.mark = (struct rl_slice){q->mark, q->tag_size ? 0 : sizeof q->mark};
    q->work->survey.tag = (struct rl_slice){q->tag, q->tag_size};
    q->question.survey = &q->work->survey;
    /* PING first: a node's identity and set are known once it has answered the greeting. */
    if (q->op == RL_OP_ADMIT)
        rl_sets_ask(&client->engine);
    q->question.op = q->op == RL_OP_ADMIT ? RL_OP_PING : q->op;
    return rl_question_set_lock(client, &q->question,
                                rl_lock_new_for(client, q->name, q->name_size, &terms));
}

static int tell_other_init(const redlock *client, uint8_t node)
{
    return rl_detail(REDLOCK_BUSY,
                     "%s: %s. Only one init can succeed: see which set the nodes are in with "
                     "`redlock doctor`, and do it again if it is not this one",
                     client->engine.node[node].address, RL_SETS_OTHER_INIT);
}

/* Which set of nodes do they become (G8)? Nothing is written when there is none. */
static int plan_set(redlock *client, bool *pending)
{
    struct rl_engine *engine = &client->engine;
    uint8_t culprit = 0;
    char text[RL_OF_QUORUM_MAX];
    const char *set;

    switch (rl_sets_plan(engine, pending, &culprit)) {
    case REDLOCK_OK:
        return REDLOCK_OK;
    case REDLOCK_SYSTEM:
        return rl_detail(REDLOCK_SYSTEM, "the kernel has no randomness (getrandom)");
    case REDLOCK_BUSY:
        return tell_other_init(client, culprit);
    case REDLOCK_NOQUORUM:
        return rl_detail(REDLOCK_NOQUORUM,
                         "not all nodes%s answer, and they are a new set: all of them have to "
                         "be there. Nothing was changed",
                         rl_of_quorum(client, text));
    default:
        break;
    }
    set = engine->node[culprit].said.set;
    return rl_detail(
        REDLOCK_GUARDED,
        "%s belongs to another set, of %u nodes, and most of those are not among "
        "these or do not answer: two sets must not share a node. Nothing was "
        "changed. Name the right nodes. If the other nodes of that set have gone for "
        "good, and no client uses them, delete the key %s on %s first",
        engine->node[culprit].address, rl_set_number(set), RL_MARKER_KEY,
        engine->node[culprit].address);
}

/* A node said of its set something else than the plan had heard. OK: none did. */
static int find_other_init(const redlock *client, const struct rl_survey *survey)
{
    for (uint8_t i = 0; i < client->engine.policy.node_count; i++)
        if (survey->node[i].vote == REDLOCK_VOTE_GUARDED)
            return tell_other_init(client, i);
    return REDLOCK_OK;
}

/* pending: they took a set that does not count yet. */
static int judge_admission(const redlock *client, const struct rl_survey *survey, bool pending)
{
    uint8_t node_count = client->engine.policy.node_count;
    uint8_t admitted_count = 0;
    char text[RL_OF_QUORUM_MAX];

    for (uint8_t i = 0; i < node_count; i++)
        admitted_count += survey->node[i].vote == REDLOCK_VOTE_GRANTED;
    if (admitted_count == node_count)
        return REDLOCK_OK;
    return rl_detail(REDLOCK_NOQUORUM, "only %u of %u nodes%s took the marker%s",
                     admitted_count, node_count, rl_of_quorum(client, text),
                     admitted_count == 0 ? ""
                     : pending           ? "; they do not count until all have it"
                                         : "; they may vote already");
}

/* Nodes that have answered were asked for no more than that. */
static void forget_grants(struct rl_survey *survey)
{
    for (uint8_t i = 0; i < survey->policy->node_count; i++)
        if (survey->node[i].vote == REDLOCK_VOTE_GRANTED)
            survey->node[i].vote = REDLOCK_VOTE_NONE;
}

/* A majority has answered: was there a holder to evict? */
static int judge_break(const struct rl_survey *survey, const char *name)
{
    uint8_t other_count = 0;

    if (survey->evicted->votes > 0)
        return REDLOCK_OK;
    if (survey->tag.size)
        return rl_detail(REDLOCK_EXPIRED, "no holder of '%s' has that tag", name);
    for (uint8_t i = 0; i < survey->policy->node_count; i++)
        other_count += survey->node[i].vote == REDLOCK_VOTE_HELD;
    return rl_detail(REDLOCK_EXPIRED,
                     other_count ? "that holder of '%s' was gone already; another is there now"
                                 : "that holder of '%s' was gone already; '%s' is free",
                     name, name);
}

static void fill_report(redlock *client, const struct query *q)
{
    struct work *work = q->work;

    work->report.size = sizeof work->report;
    if (q->op == RL_OP_LOOK)
        rl_report_query(client, &work->survey, q->question.error ? NULL : &work->info,
                        &work->report);
    else if (q->op == RL_OP_BREAK)
        rl_report_break(client, &work->survey, &work->report);
    else
        rl_report_survey(client, &work->survey, &work->report);
}

static void conclude(redlock *client, struct query *q)
{
    struct work *work = q->work;

    rl_explain(q->question.lock, RL_QUESTION, q->question.error);
    if (q->op == RL_OP_ADMIT) {
        int other = find_other_init(client, &work->survey);

        client->engine.met_other_init |= other != REDLOCK_OK;
        if (other)
            q->question.error = other;
        else if (!q->question.error)
            q->question.error = judge_admission(client, &work->survey, q->pending);
    }
    if (!q->question.error && q->op == RL_OP_BREAK)
        q->question.error = judge_break(&work->survey, q->name);
    work->info.size = sizeof work->info;
    if (!q->question.error && q->op == RL_OP_LOOK)
        rl_survey_conclude(&work->survey, rl_wall_ms(NULL), &work->info);
}

static bool next(redlock *client, struct rl_question *question)
{
    struct query *q = (struct query *)question;

    if (!question->lock)
        return begin(client, q);
    if (question->op != q->op) {
        question->op = q->op;
        question->error = plan_set(client, &q->pending);
        if (!question->error)
            return true;
        forget_grants(&q->work->survey);
    } else {
        conclude(client, q);
    }
    if (!question->error && q->pending) {
        q->pending = false;
        rl_sets_put_in_force(&client->engine);
        return true;
    }
    fill_report(client, q);
    return false;
}

/* ---- telling ---- */

/* NULL: no node was asked. */
static const redlock_report *report_of(const struct query *q)
{
    return q->work && q->work->report.size ? &q->work->report : NULL;
}

static void tell(struct rl_question *question)
{
    const struct query *q = (struct query *)question;
    redlock_answer answer = {
        .size = sizeof answer,
        .name = q->name_size ? q->name : NULL,
        .info = q->op == RL_OP_LOOK && !question->error ? &q->work->info : NULL,
        .report = report_of(q),
    };

    question->asker.done(question->error, &answer, question->asker.data);
}

static void free_query(struct rl_question *question)
{
    struct query *q = (struct query *)question;

    free(q->work);
    free(q);
}

static const struct rl_question_kind query_kind = {
    .turn = RL_TURN_QUERY,
    .next = next,
    .tell = tell,
    .free = free_query,
};

static const struct rl_question_kind admission_kind = {
    .turn = RL_TURN_ADMISSION,
    .next = next,
    .tell = tell,
    .free = free_query,
};

/* ---- the calls ---- */

static struct query *new_query(enum rl_op op, const char *name, size_t name_size,
                               const struct rl_asker *asker)
{
    struct query *q = calloc(1, sizeof *q + name_size + 1);

    if (!q) {
        rl_detail(REDLOCK_NOMEM, "out of memory");
        return NULL;
    }
    q->question.kind = op == RL_OP_ADMIT ? &admission_kind : &query_kind;
    if (asker)
        q->question.asker = *asker;
    q->op = op;
    q->name_size = name_size;
    memcpy(q->name, name, name_size);
    return q;
}

struct rl_question *rl_poll_new(enum rl_op op, const struct rl_asker *asker)
{
    struct query *q = new_query(op, "", 0, asker);

    return q ? &q->question : NULL;
}

int rl_done_check(redlock_answer_fn *done)
{
    return done ? REDLOCK_OK : rl_detail(REDLOCK_INVAL, "a done function is needed");
}

/* Asks and waits; the answers go to the caller's structs. */
static int ask(redlock *client, struct query *q, redlock_info *info, redlock_report *report)
{
    const redlock_report *found;
    int error;

    if (!q)
        return REDLOCK_NOMEM;
    error = rl_question_wait(client, &q->question);
    found = report_of(q);
    if (info && !error)
        rl_struct_fill(info, &q->work->info, sizeof q->work->info);
    if (report && found)
        rl_struct_fill(report, found, sizeof *found);
    rl_question_free(&q->question);
    return error;
}

static int check_report(const redlock_report *report)
{
    return report ? rl_struct_check("redlock_report", report) : REDLOCK_OK;
}

int rl_client_query(redlock *client, const char *name, redlock_info *info,
                    redlock_report *report)
{
    size_t name_size = 0;
    int error = rl_client_check(client);

    if (!error)
        error = rl_name_check(client, name, &name_size);
    if (!error)
        error = rl_struct_check("redlock_info", info);
    if (!error)
        error = check_report(report);
    return error ? error
                 : ask(client, new_query(RL_OP_LOOK, name, name_size, NULL), info, report);
}

int rl_client_start_query(redlock *client, const char *name, const struct rl_asker *asker)
{
    struct query *q;
    size_t name_size = 0;
    int error = rl_client_check(client);

    if (!error)
        error = rl_done_check(asker->done);
    if (!error)
        error = rl_name_check(client, name, &name_size);
    if (error)
        return error;
    q = new_query(RL_OP_LOOK, name, name_size, asker);
    return q ? rl_question_start(client, &q->question) : REDLOCK_NOMEM;
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

/* Evicts a holder, which a mark names, or a tag: by_tag. *out: to be asked or started. */
static int prepare_eviction(redlock *client, const char *name, const char *text, bool by_tag,
                            const struct rl_asker *asker, struct query **out)
{
    size_t name_size = 0;
    int error = rl_client_check(client);
    struct query *q;

    if (!error)
        error = rl_name_check(client, name, &name_size);
    if (!error)
        error = by_tag ? rl_tag_check(text) : check_mark(text);
    if (error)
        return error;
    *out = q = new_query(RL_OP_BREAK, name, name_size, asker);
    if (!q)
        return REDLOCK_NOMEM;
    if (by_tag) {
        memcpy(q->tag, text, REDLOCK_TAG_SIZE);
        q->tag[REDLOCK_TAG_SIZE] = ':';
        q->tag_size = sizeof q->tag;
    } else {
        memcpy(q->mark, text, sizeof q->mark);
    }
    return REDLOCK_OK;
}

static int evict(redlock *client, const char *name, const char *text, bool by_tag,
                 redlock_report *report)
{
    struct query *q = NULL;
    int error = check_report(report);

    if (!error)
        error = prepare_eviction(client, name, text, by_tag, NULL, &q);
    return error ? error : ask(client, q, NULL, report);
}

static int start_eviction(redlock *client, const char *name, const char *text, bool by_tag,
                          const struct rl_asker *asker)
{
    struct query *q = NULL;
    int error = rl_done_check(asker->done);

    if (!error)
        error = prepare_eviction(client, name, text, by_tag, asker, &q);
    return error ? error : rl_question_start(client, &q->question);
}

int rl_client_break(redlock *client, const char *name, const char *mark, redlock_report *report)
{
    return evict(client, name, mark, false, report);
}

int rl_client_start_break(redlock *client, const char *name, const char *mark,
                          const struct rl_asker *asker)
{
    return start_eviction(client, name, mark, false, asker);
}

int rl_client_release_tagged(redlock *client, const char *name, const char *tag,
                             redlock_report *report)
{
    return evict(client, name, tag, true, report);
}

int rl_client_start_release_tagged(redlock *client, const char *name, const char *tag,
                                   const struct rl_asker *asker)
{
    return start_eviction(client, name, tag, true, asker);
}

static int poll(redlock *client, enum rl_op op, redlock_report *report)
{
    int error = rl_client_check(client);

    if (!error)
        error = check_report(report);
    return error ? error : ask(client, new_query(op, "", 0, NULL), NULL, report);
}

int rl_client_ping(redlock *client, redlock_report *report)
{
    return poll(client, RL_OP_PING, report);
}

int rl_client_admit(redlock *client, redlock_report *report)
{
    return poll(client, RL_OP_ADMIT, report);
}
