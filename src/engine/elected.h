/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node that is an elected vote: a Sentinel group (docs/elected.md).
 *
 * Beside the node's own connection the client has one to each elector. What a majority of them names
 * is the term: the node's connection is made to its owner, belongs to it, and ends with it. So every
 * reply on a connection is one to what was sent in its term, and E4 comes to this: grants and
 * renewals are counted while a fresh majority still names the term of their connection. Those that
 * come when the electors were asked too long ago wait here for their answers.
 *
 * The electors are asked once a second while there are locks, in front of the first use after a
 * pause, and when the server says anything that hints at a change (E10).
 */
#ifndef RL_ENGINE_ELECTED_H
#define RL_ENGINE_ELECTED_H

#include "core/answer.h"
#include "core/electors.h"
#include "protocol/session.h"

struct rl_engine;
struct rl_node;

#define RL_ELECTORS_EVERY_NS RL_NS_PER_S
#define RL_ELECTORS_AT_ONCE_NS (100 * RL_NS_PER_MS) /* after a hint; not more often than this */

/* A grant or renewal that has passed every check but the electors' word. */
struct rl_unvouched {
    struct rl_pending pending; /* holds a reference to the claim */
    struct rl_answer answer;
};

struct rl_elected {
    /* Set by the caller, once. */
    struct rl_login login; /* at the electors */
    char address[RL_ELECTORS_MAX][REDLOCK_ADDRESS_MAX];
    struct rl_electors electors; /* their number is the caller's, too */

    struct rl_session session[RL_ELECTORS_MAX];
    int64_t asked_ns;        /* the last round of questions; 0: none yet */
    uint32_t term_number;    /* of the node's connection; 0: its server is not chosen yet */
    char greeted[RL_ADMITTED_MAX]; /* term and incarnation that the holds know; empty: none */
    struct rl_unvouched *unvouched;
    uint32_t unvouched_count;
    uint32_t unvouched_capacity;
};

/* The sessions with the electors. -1: out of memory. */
int rl_elected_init(struct rl_engine *engine, uint8_t node);
void rl_elected_free(struct rl_engine *engine, struct rl_node *node);

/* A connection to an elector is being made, has ended, has received so much. */
void rl_elected_connecting(struct rl_engine *engine, uint8_t node, uint8_t elector,
                           int64_t now_ns);
void rl_elected_disconnected(struct rl_engine *engine, uint8_t node, uint8_t elector,
                             enum redlock_vote vote, enum redlock_reason reason,
                             const char *text);
int rl_elected_received(struct rl_engine *engine, uint8_t node, uint8_t elector, size_t size,
                        int64_t now_ns);

/* Asks all electors for the term, unless they were asked less than so long ago. */
void rl_elected_ask(struct rl_engine *engine, uint8_t node, int64_t every_ns, int64_t now_ns);

/* After the node's replies: who are the electors of its set, and which incarnation is it? */
void rl_elected_look(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* The set of the node has changed: so may its electors have. Nothing counts until it has told. */
void rl_elected_forget_list(struct rl_engine *engine, uint8_t node, int64_t now_ns);

/* Does a fresh majority name the term of the node's connection (E4)? */
bool rl_elected_is_vouched(const struct rl_node *node, int64_t now_ns);
/* Keeps a grant or renewal until one does. False: out of memory. */
bool rl_elected_keep(struct rl_node *node, const struct rl_pending *pending,
                     const struct rl_answer *answer);
/* The connection has ended: what was kept is not counted. */
void rl_elected_lose(struct rl_engine *engine, uint8_t node, int64_t now_ns);

/* Why no majority of the electors speaks for it; NONE: one did, not long ago. */
enum redlock_reason rl_elected_reason(const struct rl_node *node, int64_t now_ns);

#endif
