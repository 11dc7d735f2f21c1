/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recipes: which command asks a node for a step of a lock, and how its reply becomes a vote.
 *
 * The mutex is the plain string key of the Redlock specification. Where a server can compare
 * and delete (or compare and renew) by itself, that is used instead of a script: the rule is
 * the same, the server works half as much.
 */
#ifndef RL_CORE_RECIPE_H
#define RL_CORE_RECIPE_H

#include <stdbool.h>

#include "core/reply.h"
#include "redlock.h"

#define RL_ARGUMENTS_MAX 12

enum rl_op {
    RL_OP_ACQUIRE,
    RL_OP_EXTEND,
    RL_OP_RELEASE,  /* the holder gives the lock back; its reply counts */
    RL_OP_ROLLBACK, /* the same command for a failed attempt; nobody waits for its reply */
    RL_OP_HEAL,     /* set our key where a node misses it (A8) */
    RL_OP_ALIGN,    /* raise the fence counter to the token */
    RL_OP_INQUIRE,  /* how long does whatever is under the key live? */
    RL_OP_GET,      /* whose value is under the key? */
    RL_OP_FENCE,    /* what does the fence counter say? */
    RL_OP_FORGET,   /* delete the fence counter: only of names that the audit made up */
    RL_OP_ADMIT,    /* write the marker of this incarnation (G5) */
    RL_OP_PING,
};

#define RL_FENCE_PREFIX "redlock.fence:"
#define RL_MARKER_KEY "redlock.admit"
#define RL_PROBATION_KEY "redlock.probation"

/* A fence counter that nobody used for a day goes; the clock it starts from anew is later. */
#define RL_FENCE_LIFE_MS "86400000"

/* What a node can do without a script, learnt by probing it once per connection. */
enum rl_delete_style { RL_DELETE_SCRIPT, RL_DELETE_DELIFEQ, RL_DELETE_DELEX };

struct rl_abilities {
    enum rl_delete_style delete_style;
    bool set_ifeq;       /* SET key value IFEQ value PX ttl */
    bool script_by_text; /* send EVAL with the text: the server forgot the script */
};

/* The subject of a command: one attempt's key and value, and numbers in decimal. */
struct rl_subject {
    struct rl_slice key;
    struct rl_slice value;
    struct rl_slice ttl_ms;
    struct rl_slice fence_key;
    struct rl_slice token;    /* ALIGN */
    struct rl_slice identity; /* ADMIT: of the connection that the command goes to */
    bool fenced;              /* ACQUIRE gives a token */
    bool marked;              /* ACQUIRE tells the node's marker */
    bool may_shorten;         /* a renewal with a smaller TTL than the key may already have */
};

struct rl_command {
    uint32_t argument_count;
    struct rl_slice argument[RL_ARGUMENTS_MAX];
};

/* A node's vote, with the remaining life of the key where the reply told it (else -1). */
struct rl_answer {
    enum redlock_vote vote;
    bool is_ours; /* the node did not answer: this is what we make of it */
    int64_t key_ttl_ms;
    int64_t token;           /* a fenced grant, or FENCE; 0: none */
    bool has_marker;         /* the marker as it stood together with the acquire: */
    struct rl_slice marker;  /* points into the reply */
    struct rl_slice present; /* who the node is at that moment; points into the reply */
    int64_t marker_max_ttl_ms;
    bool beyond_max_ttl; /* the node does not allow such a long TTL */
    bool in_quarantine;  /* a renewal by a node that may not vote: see struct rl_lock, proven */
};

/* Fills *out; its slices point into *subject and static text. */
void rl_recipe_command(enum rl_op op, const struct rl_subject *subject,
                       const struct rl_abilities *abilities, struct rl_command *out);

struct rl_answer rl_recipe_answer(enum rl_op op, const struct rl_reply *reply);

/* The vote that an error reply means, by its first word. */
enum redlock_vote rl_recipe_error_vote(struct rl_slice error);

/* The server does not know the script (any more): the command must be sent with its text. */
bool rl_recipe_is_noscript(const struct rl_reply *reply);

/* Does this step use a script on a node of these abilities? */
bool rl_recipe_uses_script(enum rl_op op, const struct rl_subject *subject,
                           const struct rl_abilities *abilities);

bool rl_slice_equals(struct rl_slice slice, const char *text);
bool rl_slice_starts(struct rl_slice slice, const char *text);

#endif
