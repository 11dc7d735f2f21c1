/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/sets.h"

#include <string.h>

#include "core/rules.h"
#include "protocol/vetting.h"

enum redlock_reason rl_sets_objection(const struct rl_engine *engine, uint8_t node)
{
    return rl_set_objection(&engine->set_self, engine->set_answer, node, engine->set);
}

/* ---- one server, two names ---- */

/* A check that the node refuses to answer changes nothing: its earlier answer stands. */
static bool note_server(struct rl_engine *engine, uint8_t node)
{
    struct rl_node *at = &engine->node[node];
    const char *run_id = at->session.facts.run_id;

    if (!run_id[0] || strcmp(run_id, at->run_id) == 0)
        return false;
    memcpy(at->run_id, run_id, sizeof at->run_id);
    at->run_id_number = ++engine->server_count;
    return true;
}

/* Its slots are different registers, wherever they are (E1). */
static bool are_votes_of_one_cluster(const struct rl_node *a, const struct rl_node *b)
{
    return a->elected && b->elected && a->elected->home == b->elected->home;
}

/*
 * The keys of one server are one vote, by whatever names the client reaches it: the node that
 * reported the run_id first has it, also while it is not connected.
 */
static bool is_same_server(const struct rl_engine *engine, uint8_t node)
{
    const struct rl_node *at = &engine->node[node];

    for (uint8_t i = 0; i < engine->policy.node_count && at->run_id[0]; i++)
        if (engine->node[i].run_id_number < at->run_id_number &&
            strcmp(engine->node[i].run_id, at->run_id) == 0 &&
            !are_votes_of_one_cluster(&engine->node[i], at) && RL_RULE(SAME_SERVER))
            return true;
    return false;
}

/* ---- what counts ---- */

/* Its electors are written beside the set: without both there is no majority of them. */
static bool lacks_electors(const struct rl_engine *engine, uint8_t node)
{
    const struct rl_node *at = &engine->node[node];
    const struct rl_set_answer *answer = &engine->set_answer[node];

    if (!at->elected || !answer->answered || answer->unreadable)
        return false;
    if (!answer->set[0])
        return true;
    /* While a check is under way, its last answer is the one that has the list. */
    if (at->session.check_requested)
        return at->session.guard.objection == REDLOCK_REASON_NO_SET;
    return strlen(at->session.facts.electors) < RL_ELECTOR_ID_SIZE;
}

bool rl_sets_is_slot_refused(const struct rl_engine *engine, uint8_t node)
{
    const struct rl_session *session = &engine->node[node].session;
    struct rl_slice error = {session->marker_error, strlen(session->marker_error)};
    enum redlock_reason reason;

    rl_answer_error_vote(error, &reason);
    return session->login->tag && engine->set_answer[node].unreadable &&
           reason == REDLOCK_REASON_CLUSTER;
}

static enum redlock_reason find_objection(const struct rl_engine *engine, uint8_t node)
{
    enum redlock_reason reason = rl_sets_objection(engine, node);

    if (engine->guard_mode == RL_GUARD_OFF)
        return REDLOCK_REASON_NONE;
    /* It is not the right to read it that is missing. */
    if (reason == REDLOCK_REASON_SET_UNREADABLE && rl_sets_is_slot_refused(engine, node))
        return REDLOCK_REASON_SLOT;
    if (reason == REDLOCK_REASON_NONE && lacks_electors(engine, node))
        return REDLOCK_REASON_NO_SET;
    if (reason == REDLOCK_REASON_NONE && is_same_server(engine, node))
        return REDLOCK_REASON_SAME_SERVER;
    return reason;
}

/*
 * moved: it was in another set until now, or another server was its; why it does not
 * count, unless there is an objection.
 */
static void apply_objection(struct rl_engine *engine, uint8_t node, enum redlock_reason moved,
                            int64_t now_ns)
{
    struct rl_node *at = &engine->node[node];
    struct rl_guard *guard = &at->session.guard;
    enum redlock_reason why;
    bool counted = guard->objection == REDLOCK_REASON_NONE;

    guard->objection = find_objection(engine, node);
    why = guard->reason == REDLOCK_REASON_CLUSTER ? guard->reason : guard->objection;
    if (why == REDLOCK_REASON_NONE)
        why = moved;
    if (counted && why != REDLOCK_REASON_NONE && at->session.state != RL_SESSION_DOWN)
        rl_session_fail(&at->session, REDLOCK_VOTE_GUARDED, why, NULL);
    /* All grants that an attempt counts are of one set: of the one in force now. */
    if (counted && (moved || guard->objection != REDLOCK_REASON_NONE))
        rl_handles_step(
            engine,
            &(struct rl_event){.type = RL_EVENT_NODE_OUT, .now_ns = now_ns, .node = node},
            true);
}

/* ---- answers of all ---- */

/* A set in force decides which nodes count: no answer that is still out can add to it. */
static void update_awaits_sets(struct rl_engine *engine, int64_t now_ns)
{
    bool awaited = engine->awaits_sets;

    engine->awaits_sets = false;
    if (engine->guard_mode != RL_GUARD_OFF && !engine->set[0] && RL_RULE(SETS_KNOWN))
        for (uint8_t i = 0; i < engine->policy.node_count; i++)
            engine->awaits_sets |=
                !engine->set_answer[i].answered && !engine->node[i].had_its_time;
    if (awaited && !engine->awaits_sets)
        rl_handles_step(
            engine, &(struct rl_event){.type = RL_EVENT_SETS_KNOWN, .now_ns = now_ns}, true);
}

void rl_sets_give_up(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    engine->node[node].had_its_time = true;
    if (engine->awaits_sets)
        update_awaits_sets(engine, now_ns);
}

void rl_sets_wait_no_more(struct rl_engine *engine, uint16_t warming, int64_t now_ns)
{
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        if (!(warming & (1u << i)) || !engine->node[i].connected)
            engine->node[i].had_its_time = true;
    update_awaits_sets(engine, now_ns);
}

void rl_sets_judge(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_session *session = &engine->node[node].session;
    struct rl_set_answer before = engine->set_answer[node];
    enum redlock_reason moved = REDLOCK_REASON_NONE;
    bool changed = !before.answered || strcmp(before.set, session->set_answer.set) != 0 ||
                   before.unreadable != session->set_answer.unreadable;
    bool is_elected = engine->node[node].elected != NULL;
    bool lacked, lacks;
    int best;

    session->set_news = false;
    engine->set_answer[node] = session->set_answer;
    if (before.set[0])
        moved = changed || !is_elected ? REDLOCK_REASON_SET_CHANGED : REDLOCK_REASON_NEW_TERM;
    /* The list of electors may go, or come, while the set stays. */
    lacked = session->guard.objection == REDLOCK_REASON_NO_SET;
    lacks = lacks_electors(engine, node);
    if (!note_server(engine, node) && !changed &&
        (!is_elected || lacked == lacks || engine->guard_mode == RL_GUARD_OFF))
        return;
    if (is_elected && before.answered && (changed || (lacks && !lacked)))
        rl_elected_forget_list(engine, node, now_ns);
    session->has_news = true;
    /* The set that most nodes report. */
    best = rl_set_in_force(&engine->set_self, engine->set_answer, engine->set);
    if (best >= 0)
        memcpy(engine->set, engine->set_answer[best].set, sizeof engine->set);
    else
        memset(engine->set, 0, sizeof engine->set);
    /*
     * A node that joins the set in force during an attempt keeps the grants it gave without a
     * set: a client writes it there while it tries to get a lock.
     */
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        apply_objection(engine, i, i == node ? moved : REDLOCK_REASON_NONE, now_ns);
    rl_sets_restore(engine, node, now_ns);
    update_awaits_sets(engine, now_ns);
}

void rl_sets_restore(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    struct rl_session *session = &engine->node[node].session;
    const struct rl_set_answer *answer = &engine->set_answer[node];
    char set[RL_SET_MAX];

    if (session->restore_requested || !answer->answered || answer->set[0] ||
        engine->node[node].elected || engine->guard_mode == RL_GUARD_OFF ||
        !rl_set_has_names(&engine->set_self, engine->set) ||
        !rl_guard_check_vote(&session->guard, now_ns))
        return;
    rl_set_write_restored(engine->set, set);
    rl_vetting_restore_set(session, set);
}

static void write_new_set(struct rl_engine *engine)
{
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        memcpy(engine->node[i].new_set, engine->new_set, sizeof engine->new_set);
}

/* Each write compares: of inits at the same moment with a node in common at
 * most one succeeds. */
void rl_sets_put_in_force(struct rl_engine *engine)
{
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        memcpy(engine->node[i].set_so_far, engine->node[i].new_set,
               sizeof engine->node[i].set_so_far);
    write_new_set(engine);
}

void rl_sets_request(struct rl_engine *engine, int64_t now_ns)
{
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_session *session = &engine->node[i].session;

        if (session->state != RL_SESSION_UP)
            continue;
        if (!session->check_requested)
            rl_vetting_check(session, now_ns);
        else
            rl_vetting_request_set(session);
    }
}

static void gather_reached(const struct rl_engine *engine, struct rl_set_answer *out)
{
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        out[i] = engine->set_answer[i];
        out[i].answered = out[i].answered && !out[i].unreadable &&
                          engine->node[i].session.state == RL_SESSION_UP;
    }
}

enum redlock_reason rl_sets_find_obstacle(const struct rl_engine *engine, uint8_t node,
                                          const char **text)
{
    const struct rl_node *at = &engine->node[node];
    const struct rl_session *session = &at->session;
    const struct rl_facts *facts = &session->facts;
    char list[RL_ELECTOR_LIST_MAX];

    *text = NULL;
    if (facts->sentinel)
        return REDLOCK_REASON_SENTINEL;
    if (facts->cluster)
        return REDLOCK_REASON_CLUSTER;
    if (facts->has_persistence && facts->loading)
        return REDLOCK_REASON_LOADING;
    if (facts->has_replication && !facts->master)
        return REDLOCK_REASON_REPLICA;
    /* A marker without an identity would admit no node, and shut out the one
     * it named before. */
    if (!session->guard.identity[0]) {
        *text = "its identity is unknown: INFO must be allowed";
        return REDLOCK_REASON_INFO;
    }
    if (at->elected && !rl_electors_write_list(&at->elected->electors, list)) {
        return rl_elected_find_obstacle(at, text);
    }
    if (session->set_answer.unreadable) {
        *text = session->marker_error;
        return REDLOCK_REASON_SET_UNREADABLE;
    }
    if (is_same_server(engine, node))
        return REDLOCK_REASON_SAME_SERVER;
    return REDLOCK_REASON_NONE;
}

bool rl_sets_is_done(const struct rl_engine *engine)
{
    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        const struct rl_session *session = &engine->node[i].session;
        const struct rl_node *at = &engine->node[i];

        if (session->state != RL_SESSION_UP || strcmp(at->new_set, at->set_so_far) != 0 ||
            strcmp(session->facts.marker, session->guard.admitted) != 0 ||
            strcmp(session->facts.electors, at->new_electors) != 0 ||
            session->guard.node_max_ttl_ns != engine->max_ttl_ns)
            return false;
    }
    return true;
}

void rl_sets_compare(const struct rl_engine *engine, redlock_admission *out)
{
    struct rl_set_answer reached[REDLOCK_NODES_MAX];

    gather_reached(engine, reached);
    out->newcomers = rl_set_count_newcomers(&engine->set_self, reached);
    out->regroups = rl_set_regroups(&engine->set_self, reached);
}

/* True: a node has other electors than it was given before. */
static bool write_new_electors(struct rl_engine *engine)
{
    bool changed = false;

    for (uint8_t i = 0; i < engine->policy.node_count; i++) {
        struct rl_node *at = &engine->node[i];

        if (!at->elected || !rl_electors_write_list(&at->elected->electors, at->new_electors))
            continue;
        changed |= strcmp(at->session.facts.electors, at->new_electors) != 0;
    }
    return changed;
}

int rl_sets_plan(struct rl_engine *engine, bool *pending, uint8_t *culprit)
{
    struct rl_set_answer reached[REDLOCK_NODES_MAX];
    char id[RL_SET_ID_SIZE];
    enum rl_set_plan plan;

    *pending = false;
    gather_reached(engine, reached);
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        rl_set_answer_write(&reached[i], engine->node[i].set_so_far);
    plan = rl_set_plan(&engine->set_self, reached, culprit);
    /* Other electors, another set: majorities of the two lists need not meet (E2). */
    if (write_new_electors(engine) && plan == RL_SET_KEEP)
        plan = RL_SET_DRAW;
    switch (plan) {
    case RL_SET_KEEP:
        memcpy(engine->new_set, reached[*culprit].set, sizeof engine->new_set);
        write_new_set(engine);
        for (uint8_t i = 0; i < engine->policy.node_count; i++)
            if (reached[i].by_client || !reached[i].set[0])
                rl_set_write_restored(engine->new_set, engine->node[i].new_set);
        return REDLOCK_OK;
    case RL_SET_REFUSE:
        return REDLOCK_GUARDED;
    case RL_SET_DRAW:
        break;
    }
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        if (!reached[i].answered)
            return REDLOCK_NOQUORUM;
    /* Tried again, it takes no node from the set of the init that it met: that may
     * be in use. */
    for (uint8_t i = 0; engine->met_other_init && i < engine->policy.node_count; i++)
        if (reached[i].set[0] && !rl_set_has_names(&engine->set_self, reached[i].set)) {
            *culprit = i;
            return REDLOCK_BUSY;
        }
    if (rl_engine_draw_hex(engine, RL_SET_ID_SIZE / 2, id) < 0)
        return REDLOCK_SYSTEM;
    rl_set_write(&engine->set_self, id, engine->new_set);
    for (uint8_t i = 0; i < engine->policy.node_count; i++)
        rl_set_write_pending(engine->new_set, reached[i].set, engine->node[i].new_set);
    *pending = true;
    return REDLOCK_OK;
}
