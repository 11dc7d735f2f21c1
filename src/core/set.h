/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which nodes decide together (G8)?
 *
 * Two majorities have a node in common only if they are majorities of the same nodes. So
 * `redlock init` draws an id and writes it on all of them, with their number:
 *
 *     ID:NAMES/NUMBER;VERSION       of several quorums: ID:NAMES/NUMBER;VERSION QUORUM@QUORUMS
 *
 * What follows the names is the *tail*, and a client knows its own: a set whose tail is another
 * is not the client's, whatever its id. VERSION is that of the protocol: a client that does not
 * know it does not count the nodes. QUORUMS is a fingerprint of the names of all quorums.
 *
 * Each init draws its own id and writes it on as many nodes as it names. While no id is on more
 * nodes than its number, two majorities that carry one id share a node. A client counts nodes
 * of one id only, the one in force: that which most of its nodes report.
 *
 * A node without a set counts while no node of the client has one, as if there were none. Else
 * it counts only if the client has the very nodes, by name, that init was run with: then it is
 * taken for the node of that name, which has forgotten, and the client writes the set on it, in
 * a spelling of its own: ID~NAMES/NUMBER. That is all that NAMES, a fingerprint, is for: names
 * are what a client happens to call the nodes, and clients that call them otherwise are none
 * the worse. But a name that means one server here and another there puts the id on a server
 * too many. So a client and `redlock doctor` warn of a node that was given its set by a client,
 * until init draws a new id, which is on the nodes of its own list and no others.
 *
 * Sets with different ids must not have nodes in common that either still counts on. So init
 * takes no node from a set that may live on without it (rl_set_plan()), and it writes the set
 * twice: first as pending, which no client counts, and once every node has it, for good. An
 * init that fails half-way leaves a set that is not in force, or one that is on all its nodes;
 * and while it is not in force, its nodes remember the set that they were taken from.
 */
#ifndef RL_CORE_SET_H
#define RL_CORE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "core/guard.h"

#define RL_SET_ID_SIZE 16
#define RL_SET_NAMES_SIZE 16
#define RL_SET_HEAD_SIZE (RL_SET_ID_SIZE + 1 + RL_SET_NAMES_SIZE)
/* Of the protocol: what clients of one set do alike, beyond what each checks for itself. */
#define RL_SET_VERSION ";1"
/* "/15;1 ", the name of a quorum, @, sixteen digits, RL_SET_PENDING. */
#define RL_SET_TAIL_MAX 60
#define RL_SET_MAX (RL_SET_HEAD_SIZE + RL_SET_TAIL_MAX)
/* Behind a set that is not yet on all its nodes: it fits no client. What the node had before
 * follows. */
#define RL_SET_PENDING '?'
#define RL_SET_ANSWER_MAX (2 * RL_SET_MAX)
/* Between id and names: which of the two has written the set on this node. */
#define RL_SET_BY_INIT ':'
#define RL_SET_BY_CLIENT '~'

/* What a node has answered last about the set it belongs to. */
struct rl_set_answer {
    bool answered;               /* it has answered */
    bool unreadable;             /* with an error: `set` is what it reported before */
    bool by_client;              /* no init has written it there: a client has */
    char set[RL_SET_ANSWER_MAX]; /* empty: it belongs to none */
};

/* Longer ones are cut: they fit no client. RL_SET_BY_CLIENT is taken out, and noted. */
void rl_set_answer_read(struct rl_set_answer *answer, struct rl_slice set);
/* An error in place of the set. The node may be in any: that is not the same as
 * being in none. */
void rl_set_answer_refuse(struct rl_set_answer *answer);

/* The text as the node has it. */
void rl_set_answer_write(const struct rl_set_answer *answer, char out[RL_SET_ANSWER_MAX]);

/* What a client knows of its own set. */
struct rl_set_self {
    uint8_t node_count;
    char names[RL_SET_NAMES_SIZE + 1]; /* fingerprint; empty: two nodes share one */
    char tail[RL_SET_TAIL_MAX];        /* "/3;1", or "/3;1 blue@0123456789abcdef" */
    bool has_elected; /* set by the caller: an elected vote is among the nodes */
};

/* Another machine would take this address for another server, as far as it can be seen. */
bool rl_set_is_local(const char *address);
/* A number, not a name, and not local: it means one server on every machine. */
bool rl_set_is_literal(const char *address);

/* The order of the addresses means nothing. quorum: "NAME@QUORUMS", or empty. */
void rl_set_init(struct rl_set_self *self, const char *const *addresses, uint8_t node_count,
                 struct rl_slice quorum);

/*
 * The node whose set is in force: of the sets with the client's tail, the one reported by most
 * nodes; ties go to `current`, which was in force before. -1: no node reports any.
 */
int rl_set_in_force(const struct rl_set_self *self, const struct rl_set_answer *answers,
                    const char *current);

/* Why the vote of a node does not count, `in_force` being that set or empty; NONE: it does. */
enum redlock_reason rl_set_objection(const struct rl_set_self *self,
                                     const struct rl_set_answer *answers, uint8_t node,
                                     const char *in_force);

/* Is it the set of nodes that have the names of this client's? */
bool rl_set_has_names(const struct rl_set_self *self, const char *set);

/* How many nodes a set has; 0: that is no set. */
uint8_t rl_set_number(const char *set);

/* The set with this id. */
void rl_set_write(const struct rl_set_self *self, const char id[RL_SET_ID_SIZE],
                  char out[RL_SET_MAX]);
/* What is first written of it, on a node that gave this answer. */
void rl_set_write_pending(const char *set, const char *answer, char out[RL_SET_ANSWER_MAX]);
bool rl_set_is_pending(const char *answer);
/* What a client writes on a node that has forgotten this set. */
void rl_set_write_restored(const char set[RL_SET_MAX], char out[RL_SET_MAX]);

/* What `redlock init` does to the nodes that it reaches (G5, G8). */
enum rl_set_plan {
    RL_SET_KEEP,   /* the set that they are in, and have perhaps forgotten */
    RL_SET_DRAW,   /* a new set */
    RL_SET_REFUSE, /* a node is in a set that may live on without it */
};

/*
 * A new set may be made of the nodes of an old one if a majority of those is among them, or if
 * by name they all are: what is left of the old set has no majority any more. Otherwise two
 * sets with a node in common, each with a majority, would decide about the same locks. *node:
 * the one whose set is to be kept, or that is refused.
 */
enum rl_set_plan rl_set_plan(const struct rl_set_self *self,
                             const struct rl_set_answer *reached, uint8_t *node);

/*
 * How many of the nodes are not in the set that most of them are in, now or before an init that
 * has not finished? Only sets of as many nodes as these are looked at: 0 or 1 means that the
 * others are all that is left of one set.
 */
uint8_t rl_set_count_newcomers(const struct rl_set_self *self,
                               const struct rl_set_answer *reached);

/*
 * Is a node, or was it before an init that has not finished, in a set that may have other nodes
 * than these, or another quorum? Then locks may be held with nodes that are not among these. By
 * its id on all of them, or by its names, a set is known to have the same.
 */
bool rl_set_regroups(const struct rl_set_self *self, const struct rl_set_answer *reached);

#endif
