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
    struct work *work;                          /* NULL: its turn has not come */
    char fingerprint[REDLOCK_FINGERPRINT_SIZE]; /* BREAK */
    size_t tag_size;                            /* 0: by the fingerprint */
    char tag[REDLOCK_IDEMPOTENCY_KEY_SIZE + 1];
    bool looks; /* ADMIT: nothing is to be written, and this is the answer: */
    redlock_admission admission;
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
    q->work->evicted = (redlock_holder){.remaining_ms = -1, .held_ms = -1};
    q->work->survey.fingerprint =
        (struct rl_slice){q->fingerprint, q->tag_size ? 0 : sizeof q->fingerprint};
    q->work->survey.tag = (struct rl_slice){q->tag, q->tag_size};
    q->question.survey = &q->work->survey;
    /* PING first: a node's identity and set are known once it has answered the greeting. */
    if (q->op == RL_OP_ADMIT)
        rl_sets_ask(&client->engine, rl_now_ns());
    q->question.op = q->op == RL_OP_ADMIT ? RL_OP_PING : q->op;
    return rl_question_set_lock(client, &q->question,
                                rl_lock_new_for(client, q->name, q->name_size, &terms));
}

static int tell_other_init(const redlock *client, uint8_t node)
{
    return rl_detail(
        REDLOCK_BUSY,
        "%s: %s. Only one of them can succeed: see which set the nodes are in, and "
        "do it again if it is not this one",
        client->engine.node[node].address, RL_SETS_OTHER_INIT);
}

/*
 * Nothing is written before every node that answers is known to be one that can take it: else some
 * of them would be left with a set that is not in force.
 */
static int find_obstacles(redlock *client, struct rl_survey *survey)
{
    struct rl_engine *engine = &client->engine;
    int error = REDLOCK_OK;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_session *session = &engine->node[i].session;
        const char *obstacle;
        enum redlock_reason reason = session->state == RL_SESSION_UP
                                         ? rl_sets_find_obstacle(engine, i, &obstacle)
                                         : REDLOCK_REASON_NONE;

        if (!reason)
            continue;
        rl_session_fail(session, REDLOCK_VOTE_ERROR, reason, obstacle);
        survey->node[i].vote = REDLOCK_VOTE_ERROR;
        if (!error)
            error = rl_detail(REDLOCK_NOQUORUM, "%s cannot be used: %s. Nothing was changed",
                              engine->node[i].address, session->failure_text);
    }
    return error;
}

/* Which set of nodes do they become (G8)? Nothing is written when there is none. */
static int plan_set(redlock *client, struct rl_survey *survey, bool *pending)
{
    struct rl_engine *engine = &client->engine;
    uint8_t culprit = 0;
    char text[RL_OF_QUORUM_MAX];
    const char *set;
    int error = find_obstacles(client, survey);

    if (error)
        return error;
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
    set = engine->node[culprit].set_answer.set;
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
    uint8_t admitted_count = rl_count_votes(survey->policy, survey->node, REDLOCK_VOTE_GRANTED);
    char text[RL_OF_QUORUM_MAX];

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
    if (survey->evicted->votes > 0)
        return REDLOCK_OK;
    if (survey->tag.size)
        return rl_detail(REDLOCK_EXPIRED, "no holder of '%s' has that idempotency key", name);
    return rl_detail(REDLOCK_EXPIRED,
                     rl_count_votes(survey->policy, survey->node, REDLOCK_VOTE_TAKEN)
                         ? "that holder of '%s' was gone already; another is there now"
                         : "that holder of '%s' was gone already; '%s' is free",
                     name, name);
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
    if (!q->question.error && q->op == RL_OP_LOOK)
        rl_survey_conclude(&work->survey, rl_wall_ms(NULL), &work->info);
}

static void describe_plan(const struct rl_engine *engine, redlock_admission *out)
{
    int64_t longest_ns = engine->max_ttl_ns;

    out->writes = !rl_sets_is_done(engine);
    out->newcomers = rl_sets_count_newcomers(engine);

    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        if (engine->node[i].session.guard.node_max_ttl_ns > longest_ns)
            longest_ns = engine->node[i].session.guard.node_max_ttl_ns;
    out->guard_ms = (longest_ns + RL_GUARD_MARGIN_NS) / RL_NS_PER_MS;
}

/* Every node has said its set, or failed. True: what was planned is to be written. */
static bool plan(redlock *client, struct query *q)
{
    struct rl_engine *engine = &client->engine;

    q->question.op = q->op;
    /* So many refused us that no plan could be carried out. */
    if (q->question.error == REDLOCK_AUTH || q->question.error == REDLOCK_PROTO)
        rl_explain(q->question.lock, RL_QUESTION, q->question.error);
    else
        q->question.error = plan_set(client, &q->work->survey, &q->pending);
    if (!q->question.error && !q->looks)
        return true;
    q->pending = false;
    if (q->question.error) {
        forget_grants(&q->work->survey);
    } else {
        describe_plan(engine, &q->admission);
        q->question.answer.admission = &q->admission;
    }
    return false;
}

static bool next(redlock *client, struct rl_question *question)
{
    struct query *q = (struct query *)question;

    if (!question->lock)
        return begin(client, q);
    if (question->op != q->op) {
        if (plan(client, q))
            return true;
    } else {
        conclude(client, q);
    }
    if (!question->error && q->pending) {
        q->pending = false;
        rl_sets_put_in_force(&client->engine);
        return true;
    }
    rl_report_survey(client, &q->work->survey, question->error ? NULL : &q->work->info,
                     &q->work->report);
    question->answer.report = &q->work->report;
    if (!question->error && q->op == RL_OP_LOOK)
        question->answer.info = &q->work->info;
    return false;
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
    .free = free_query,
};

static const struct rl_question_kind admission_kind = {
    .turn = RL_TURN_ADMISSION,
    .next = next,
    .free = free_query,
};

struct rl_question *rl_query_new(const struct rl_question_terms *terms)
{
    static const enum rl_op ops[] = {
        [RL_ASK_QUERY] = RL_OP_LOOK,           [RL_ASK_BREAK] = RL_OP_BREAK,
        [RL_ASK_RELEASE_BY_KEY] = RL_OP_BREAK, [RL_ASK_PING] = RL_OP_PING,
        [RL_ASK_ADMIT] = RL_OP_ADMIT,          [RL_ASK_LOOK_AT_ADMISSION] = RL_OP_ADMIT,
    };
    size_t name_size = terms->name ? strlen(terms->name) : 0;
    struct query *q = calloc(1, sizeof *q + name_size + 1);

    if (!q)
        return NULL;
    q->op = ops[terms->ask];
    q->looks = terms->ask == RL_ASK_LOOK_AT_ADMISSION;
    q->question.kind = q->op == RL_OP_ADMIT ? &admission_kind : &query_kind;
    q->name_size = name_size;
    if (name_size) {
        memcpy(q->name, terms->name, name_size);
        q->question.answer.name = q->name;
    }
    if (terms->ask == RL_ASK_BREAK)
        memcpy(q->fingerprint, terms->holder, sizeof q->fingerprint);
    if (terms->ask == RL_ASK_RELEASE_BY_KEY) {
        memcpy(q->tag, terms->holder, REDLOCK_IDEMPOTENCY_KEY_SIZE);
        q->tag[REDLOCK_IDEMPOTENCY_KEY_SIZE] = ':';
        q->tag_size = sizeof q->tag;
    }
    return &q->question;
}
