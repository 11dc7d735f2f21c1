/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of this client's nodes decide together (G8, core/set.h): what they report, and
 * judged.
 */
#ifndef RL_ENGINE_SETS_H
#define RL_ENGINE_SETS_H

#include "engine/engine.h"

/* Judges what the nodes report, as one of them has reported something. */
void rl_sets_judge(struct rl_engine *engine, uint8_t node, int64_t now_ns);

static inline void rl_sets_receive(struct rl_engine *engine, uint8_t node, int64_t now_ns)
{
    if (engine->node[node].session.set_news)
        rl_sets_judge(engine, node, now_ns);
}

/*
 * Nodes without a set decide only once every other has reported that it is in none either:
 * until then engine->awaits_sets. A node that could not be reached, or was silent for its time
 * in a round, is not waited for again.
 */
void rl_sets_give_up(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* The time of a round is over, but for nodes whose first connection has just been made. */
void rl_sets_wait_no_more(struct rl_engine *engine, uint16_t warming, int64_t now_ns);

/* The objection to a node's set, whether or not the guard is on. */
enum redlock_reason rl_sets_objection(const struct rl_engine *engine, uint8_t node);
/*
 * The set of a vote of a cluster was requested, and the server refuses its slot: moved, being
 * moved, or the cluster is down. No right to read it is missing.
 */
bool rl_sets_is_slot_refused(const struct rl_engine *engine, uint8_t node);

/*
 * It counts by its name: a client has written the set in force there, or is about to. A literal
 * address is no such name, since it means the same server everywhere.
 */
static inline bool rl_sets_is_by_client(const struct rl_engine *engine, uint8_t node)
{
    const struct rl_set_answer *answer = &engine->set_answer[node];
    bool is_known =
        answer->by_client || (answer->answered && !answer->set[0] && engine->set[0]);

    return is_known && !answer->unreadable && !rl_set_is_literal(engine->node[node].address);
}

/*
 * A node that has forgotten its set, and whose memory is trusted again, is sent it once a
 * connection.
 */
void rl_sets_restore(struct rl_engine *engine, uint8_t node, int64_t now_ns);

#define RL_SETS_OTHER_INIT "another init, or a client, has changed its set meanwhile"

/*
 * Before a plan: what the nodes report now, not what they reported when they were connected to.
 */
void rl_sets_request(struct rl_engine *engine, int64_t now_ns);

/*
 * What `redlock init` is to write on each node: a set that is pending first, unless they are in
 * it already; then rl_sets_put_in_force() and once more. GUARDED when it must not (*culprit is
 * the node), NOQUORUM when it is a new set and not all its nodes are reached, BUSY when the one
 * before met another init and *culprit has its set, SYSTEM without randomness, or OK.
 */
int rl_sets_plan(struct rl_engine *engine, bool *pending, uint8_t *culprit);
void rl_sets_put_in_force(struct rl_engine *engine);

/*
 * Why no init can make this node, which answers, part of a set; NONE: it can. *text: the same
 * in words; NULL: in those of the reason.
 */
enum redlock_reason rl_sets_find_obstacle(const struct rl_engine *engine, uint8_t node,
                                          const char **text);

/* Of the plan: is everything there that it would write? */
bool rl_sets_is_done(const struct rl_engine *engine);
/* How many nodes are new to the set, and may a set that it takes apart have had others? */
void rl_sets_compare(const struct rl_engine *engine, redlock_admission *out);

#endif
