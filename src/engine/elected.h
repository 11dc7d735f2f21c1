/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node that is an elected vote: a Sentinel group, or a slot of a cluster (docs/elected.md).
 *
 * Beside the node's own connection the client has one to each elector. What a majority of them
 * names is the term: the node's connection is made to its owner, belongs to it, and ends with
 * it. So every reply on a connection is one to what was sent in its term, and E4 comes to this:
 * grants and renewals are counted while a fresh majority still names the term of their
 * connection. Those that come when the last answers of the electors are too old wait for new
 * ones (vote.c).
 *
 * One answer of a node of a cluster names the owners of all its votes: the first vote, home,
 * has the connections to the electors, and the others count what they report there as well.
 *
 * The electors get a request once a second while there are locks, in front of the first use
 * after a pause, and when an answer of the server hints at a change (E10).
 */
#ifndef RL_ENGINE_ELECTED_H
#define RL_ENGINE_ELECTED_H

#include "core/answer.h"
#include "core/electors.h"
#include "protocol/session.h"

struct rl_engine;
struct rl_node;

#define RL_ELECTORS_EVERY_NS RL_NS_PER_S
/* Without locks requests to the electors are so rare that a stale answer is no news. */
#define RL_ELECTORS_SILENCE_NS (10 * RL_NS_PER_S)
#define RL_ELECTORS_AT_ONCE_NS (100 * RL_NS_PER_MS) /* after a hint; not more often than this */

struct rl_elected {
    /* Set by the caller, once. */
    struct rl_login login; /* at the electors */
    char address[RL_ELECTORS_MAX][REDLOCK_ADDRESS_MAX];
    struct rl_electors electors; /* their number is the caller's, too */
    struct rl_elected *home;     /* whose sessions these are; NULL: its own */
    uint8_t vote;                /* of a cluster: which of its votes */
    char tag[RL_TAG_MAX];        /* and what its keys begin with */

    struct rl_session session[RL_ELECTORS_MAX]; /* of home */
    int64_t requested_ns; /* of home: the last round of requests; 0: none yet */
    uint32_t term_number; /* of the node's connection; 0: its server is not chosen yet */
    char greeted[RL_ADMITTED_MAX]; /* term and incarnation that the holds know; empty: none */
    uint32_t warned_back_count;    /* of the electors' went_back_count, so many were reported */
    uint32_t tenure;               /* one more with each of these; 0: there was none yet */
    char obstacle[REDLOCK_TEXT_MAX]; /* of rl_elected_find_obstacle() */
};

/* The sessions with the electors. -1: out of memory. */
int rl_elected_init(struct rl_engine *engine, uint8_t node);
void rl_elected_free(struct rl_node *node);

/* A connection to an elector is being made, has ended, has received so much. */
void rl_elected_connecting(struct rl_engine *engine, uint8_t node, uint8_t elector,
                           int64_t now_ns);
void rl_elected_disconnected(struct rl_engine *engine, uint8_t node, uint8_t elector,
                             enum redlock_vote vote, enum redlock_reason reason,
                             const char *text);
/* The explanation for a port with TLS, or without it: the URL is of the group. */
const char *rl_elected_words(const struct rl_elected *elected, enum redlock_reason reason,
                             const char *text);
/* "sentinel", or "cluster node" */
const char *rl_elected_word(const struct rl_elected *elected);
int rl_elected_received(struct rl_engine *engine, uint8_t node, uint8_t elector, size_t size,
                        int64_t now_ns);

/* Requests the term from all electors, unless the last request is younger than that. */
void rl_elected_request(struct rl_engine *engine, uint8_t node, int64_t every_ns,
                        int64_t now_ns);

/* After the node's replies: who are the electors of its set, and which incarnation is it? */
void rl_elected_look(struct rl_engine *engine, uint8_t node, int64_t now_ns);
/* An admission begins to be planned, or has ended: electors may be changed by it (E2). */
void rl_elected_plan(struct rl_engine *engine, bool plans, int64_t now_ns);
/* The set of the node has changed: so may its electors have. Nothing counts until
 * it has reported them. */
void rl_elected_forget_list(struct rl_engine *engine, uint8_t node, int64_t now_ns);

/* Does a fresh majority name the term of the node's connection (E4)? */
bool rl_elected_is_vouched(const struct rl_node *node, int64_t now_ns);

/*
 * A number for the term and incarnation that the node has at this moment; another one whenever
 * either has changed. 0: they are not known, or no fresh majority names them.
 */
uint32_t rl_elected_tenure(const struct rl_node *node, int64_t now_ns);
/*
 * E13: is what was deleted final? tenure: when the deletion was sent; since_ns: when it was
 * answered. Until then a failover that loses it can bring the holder back.
 */
bool rl_elected_is_final(const struct rl_node *node, uint32_t tenure, int64_t since_ns,
                         int64_t now_ns);

/* How many electors that count have answered; of_term: that named the term last. */
uint8_t rl_elected_count(const struct rl_node *node, bool of_term);
/* Is it one of the set's, as far as that is known? */
bool rl_elected_is_listed(const struct rl_node *node, uint8_t elector);
/* Why the elector is away, or does not count; NONE: it does. */
enum redlock_reason rl_elected_reason_of(const struct rl_node *node, uint8_t elector);
/* Why not all of them can be written down as the electors of a set, and in words. */
enum redlock_reason rl_elected_find_obstacle(const struct rl_node *node, const char **text);
/*
 * Why no majority of the electors names it, and in words; NONE: one did, or its word has
 * been too old for no longer than silence_ns.
 */
enum redlock_reason rl_elected_explain(const struct rl_node *node, int64_t now_ns,
                                       int64_t silence_ns, char out[REDLOCK_TEXT_MAX]);

#endif
