/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs of one step, or two: a query, a break, a release by key, a ping, an admission. */
#include "client/calls.h"

#include <stdlib.h>
#include <string.h>

#include "client/deployment.h"
#include "engine/sets.h"
#include "engine/survey.h"
#include "io/clock.h"

/* What a query needs once it is sent, with room for what every node saw. */
struct work {
    enum rl_op op;          /* of its terms: LOOK, BREAK, REPLICATE, PING or ADMIT */
    int64_t answered_by_ns; /* ADMIT: how long sentinels may take to answer; 0: not begun */
    bool pending; /* ADMIT: the set that is written is put in force by a second round */
    char tag[REDLOCK_IDEMPOTENCY_KEY_SIZE + 1]; /* RELEASE_BY_KEY: what its value begins with */
    redlock_admission admission;                /* LOOK_AT_ADMISSION: the answer */
    struct rl_survey survey;
    redlock_info info;
    redlock_holder evicted;
    redlock_report report;
    struct rl_sight sight[];
};

/* ---- the requests ---- */

static bool begin(redlock *client, struct rl_job *job)
{
    static const enum rl_op ops[] = {
        [RL_JOB_QUERY] = RL_OP_LOOK,           [RL_JOB_BREAK] = RL_OP_BREAK,
        [RL_JOB_RELEASE_BY_KEY] = RL_OP_BREAK, [RL_JOB_PING] = RL_OP_PING,
        [RL_JOB_ADMIT] = RL_OP_ADMIT,          [RL_JOB_LOOK_AT_ADMISSION] = RL_OP_ADMIT,
        [RL_JOB_REPLICATE] = RL_OP_REPLICATE,
    };
    const struct rl_job_terms *terms = &job->terms;
    struct rl_lock_terms lock_terms = {0};
    size_t sights = terms->type == RL_JOB_QUERY ? client->engine.policy.node_count : 0;
    struct work *work = job->work = calloc(1, sizeof *work + sights * sizeof work->sight[0]);

    if (!work)
        return rl_job_set_lock(client, job, NULL);
    work->op = ops[terms->type];
    work->survey.sight = sights ? work->sight : NULL;
    work->survey.evicted = &work->evicted;
    work->evicted = (redlock_holder){.remaining_ms = -1, .held_ms = -1};
    work->survey.fingerprint = work->survey.tag = (struct rl_slice){"", 0};
    if (terms->type == RL_JOB_BREAK)
        work->survey.fingerprint = (struct rl_slice){terms->holder, REDLOCK_FINGERPRINT_SIZE};
    if (terms->type == RL_JOB_RELEASE_BY_KEY) {
        memcpy(work->tag, terms->holder, REDLOCK_IDEMPOTENCY_KEY_SIZE);
        work->tag[REDLOCK_IDEMPOTENCY_KEY_SIZE] = ':';
        work->survey.tag = (struct rl_slice){work->tag, sizeof work->tag};
    }
    job->survey = &work->survey;
    /* PING first: a node's identity and set are known once it has answered the greeting. */
    if (work->op == RL_OP_ADMIT) {
        rl_elected_plan(&client->engine, true, rl_now_ns());
        rl_sets_request(&client->engine, rl_now_ns());
    }
    job->op = work->op == RL_OP_ADMIT ? RL_OP_PING : work->op;
    return rl_job_set_lock(client, job, rl_lock_new_for(client, terms->name, &lock_terms));
}

static int report_other_init(const redlock *client, uint8_t node)
{
    return rl_detail(
        REDLOCK_BUSY,
        "%s: %s. Only one of them can succeed: see which set the nodes are in, and "
        "do it again if it is not this one",
        client->engine.node[node].address, RL_SETS_OTHER_INIT);
}

/*
 * Nothing is written before every node that answers is known to be one that can take it: else
 * some of them would be left with a set that is not in force.
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
    const char *set;
    const char *tag;
    int error = find_obstacles(client, survey);

    if (error)
        return error;
    switch (rl_sets_plan(engine, pending, &culprit)) {
    case REDLOCK_OK:
        return REDLOCK_OK;
    case REDLOCK_SYSTEM:
        return rl_detail(REDLOCK_SYSTEM, "the kernel has no randomness (getrandom)");
    case REDLOCK_BUSY:
        return report_other_init(client, culprit);
    case REDLOCK_NOQUORUM:
        return rl_detail(REDLOCK_NOQUORUM,
                         "not all nodes%s answer, and they are a new set: all of them have to "
                         "be there. Nothing was changed",
                         client->of_quorum);
    default:
        break;
    }
    set = engine->set_answer[culprit].set;
    tag = engine->node[culprit].login.tag;
    return rl_detail(
        REDLOCK_GUARDED,
        "%s belongs to another set, of %u nodes, and most of those are not among "
        "these or do not answer: two sets must not share a node. Nothing was "
        "changed. Name the right nodes. If the other nodes of that set have gone for "
        "good, and no client uses them, delete the key %s%s on %s first",
        engine->node[culprit].address, rl_set_number(set), tag ? tag : "", RL_MARKER_KEY,
        engine->node[culprit].address);
}

/* Has every node taken the marker? */
static int judge_admission(redlock *client, const struct work *work, int error)
{
    const struct rl_survey *survey = &work->survey;
    uint8_t node_count = client->engine.policy.node_count;
    uint8_t admitted_count = rl_count_votes(survey->policy, survey->node, REDLOCK_VOTE_GRANTED);

    for (uint8_t i = 0; i < node_count; i++)
        /* Its set is not the one that the plan was made from. */
        if (survey->node[i].vote == REDLOCK_VOTE_GUARDED) {
            client->engine.met_other_init = true;
            return report_other_init(client, i);
        }
    if (error || admitted_count == node_count)
        return error;
    return rl_detail(REDLOCK_NOQUORUM, "only %u of %u nodes%s took the marker%s",
                     admitted_count, node_count, client->of_quorum,
                     admitted_count == 0 ? ""
                     : work->pending     ? "; they do not count until all have it"
                                         : "; they may vote already");
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

/* A majority has answered: has a majority of the nodes made it sure, as far as they can? */
static int judge_replication(const redlock *client, const struct rl_survey *survey)
{
    uint8_t sure_count = 0;

    for (uint8_t i = 0; i < client->engine.policy.node_count; i++)
        sure_count +=
            survey->node[i].vote == REDLOCK_VOTE_GRANTED ||
            (survey->node[i].vote == REDLOCK_VOTE_MISSING && !client->engine.node[i].elected);
    return sure_count >= client->engine.policy.quorum
               ? REDLOCK_OK
               : rl_detail(REDLOCK_TIMEOUT, "no replica has confirmed it in time");
}

static void conclude(redlock *client, struct rl_job *job)
{
    struct work *work = job->work;

    rl_explain(job->lock, RL_JOB, job->error);
    if (work->op == RL_OP_ADMIT)
        job->error = judge_admission(client, work, job->error);
    if (!job->error && work->op == RL_OP_BREAK)
        job->error = judge_break(&work->survey, job->terms.name);
    if (!job->error && work->op == RL_OP_REPLICATE)
        job->error = judge_replication(client, &work->survey);
    if (!job->error && work->op == RL_OP_LOOK)
        rl_survey_conclude(&work->survey, rl_wall_ms(NULL), &work->info);
}

static void describe_plan(const struct rl_engine *engine, redlock_admission *out)
{
    int64_t longest_ns = engine->max_ttl_ns;

    out->writes = !rl_sets_is_done(engine);
    rl_sets_compare(engine, out);
    out->electors_changed = 0;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_node *node = &engine->node[i];

        if (node->session.guard.node_max_ttl_ns > longest_ns)
            longest_ns = node->session.guard.node_max_ttl_ns;
        out->electors_changed |= node->elected && node->session.facts.electors[0] &&
                                 strcmp(node->session.facts.electors, node->new_electors) != 0;
    }
    out->guard_ms = (longest_ns + RL_GUARD_MARGIN_NS) / RL_NS_PER_MS;
}

/*
 * The set of every node is known, or the node failed. True: what was planned is to be written.
 */
static bool plan(redlock *client, struct rl_job *job)
{
    struct work *work = job->work;

    job->op = work->op;
    /* So many refused us that no plan could be carried out. */
    if (job->error == REDLOCK_AUTH || job->error == REDLOCK_PROTO)
        rl_explain(job->lock, RL_JOB, job->error);
    else
        job->error = plan_set(client, &work->survey, &work->pending);
    if (!job->error && job->terms.type == RL_JOB_ADMIT)
        return true;
    work->pending = false;
    if (job->error) {
        /* Nodes that have answered got no further request. */
        for (uint8_t i = 0; i < client->engine.policy.node_count; i++)
            if (work->survey.node[i].vote == REDLOCK_VOTE_GRANTED)
                work->survey.node[i].vote = REDLOCK_VOTE_NONE;
    } else {
        describe_plan(&client->engine, &work->admission);
        job->answer.admission = &work->admission;
    }
    return false;
}

/*
 * A majority of the sentinels suffices to find the server, and it may have answered before the
 * others were connected to. A set is made with all of them: those get their time.
 */
static bool awaits_electors(const redlock *client, struct work *work)
{
    if (work->answered_by_ns == 0)
        work->answered_by_ns = rl_now_ns() + client->conn[0].link.connect_timeout_ns;
    return !rl_deployment_is_settled(client) && rl_now_ns() < work->answered_by_ns;
}

static bool next(redlock *client, struct rl_job *job)
{
    struct work *work = job->work;

    if (!job->lock)
        return begin(client, job);
    if (job->op != work->op) {
        if (awaits_electors(client, work))
            return true;
        if (plan(client, job))
            return true;
    } else {
        conclude(client, job);
    }
    if (!job->error && work->pending) {
        work->pending = false;
        rl_sets_put_in_force(&client->engine);
        return true;
    }
    if (job->terms.type == RL_JOB_ADMIT)
        rl_elected_plan(&client->engine, false, rl_now_ns());
    rl_report_survey(client, &work->survey, job->error ? NULL : &work->info, &work->report);
    job->answer.report = &work->report;
    if (!job->error && work->op == RL_OP_LOOK)
        job->answer.info = &work->info;
    return false;
}

const struct rl_job_kind rl_query_kind = {.class = RL_CLASS_QUERY, .next = next};
const struct rl_job_kind rl_admission_kind = {.class = RL_CLASS_ADMISSION, .next = next};
