/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recipes: which command asks a node for a step of a lock. answer.h turns the reply into a vote.
 *
 * The mutex is the plain string key of the Redlock specification. Where a server can compare
 * and delete (or compare and renew) by itself, that is used instead of a script: the rule is
 * the same, the server works half as much. Everything that needs a queue, another kind of lock
 * or several names at once is a script.
 */
#ifndef RL_PROTOCOL_COMMAND_H
#define RL_PROTOCOL_COMMAND_H

#include <stdbool.h>

#include "core/op.h"
#include "core/slice.h"
#include "redlock.h"

/* The longest takes a lock: script, number of keys, four keys a name, the marker, arguments. */
#define RL_ARGUMENTS_MAX (3 + 4 * REDLOCK_NAMES_MAX + 1 + 10)

#define RL_USUAL_PREFIX "redlock:"
/* What stands beside a lock's key, see describe.c: no lock may have a key that begins so. */
#define RL_RESERVED_PREFIX "redlock."
#define RL_FENCE_HEAD "redlock.fence"
#define RL_QUEUE_HEAD "redlock.queue"
#define RL_ALIVE_HEAD "redlock.alive"
#define RL_WAKE_PREFIX "redlock.wake:" /* channels */
#define RL_MARKER_KEY "redlock.admit"
#define RL_PROBATION_KEY "redlock.probation"

/* A fence counter that nobody used for a day goes; the clock it starts from anew is later. */
#define RL_FENCE_LIFE_MS "86400000"

/* What a node can do without a script, learnt once per connection (native.lua). */
enum rl_delete_style { RL_DELETE_SCRIPT, RL_DELETE_DELIFEQ, RL_DELETE_DELEX };

struct rl_abilities {
    enum rl_delete_style delete_style;
    bool set_ifeq;       /* SET key value IFEQ value PX ttl */
    bool script_by_text; /* send EVAL with the text: the server forgot the script */
    uint32_t
        known_scripts; /* a bit each: EVALSHA will do; the others are sent with their text */
};

enum rl_script {
    RL_SCRIPT_ID_RELEASE,
    RL_SCRIPT_ID_EXTEND,
    RL_SCRIPT_ID_ACQUIRE,
    RL_SCRIPT_ID_TAKE_MUTEX,
    RL_SCRIPT_ID_TAKE_SHARED,
    RL_SCRIPT_ID_TAKE_OWNER,
    RL_SCRIPT_ID_TAKE_SLOTS,
    RL_SCRIPT_ID_WAIT,
    RL_SCRIPT_ID_ALIGN,
    RL_SCRIPT_ID_GIVEBACK,
    RL_SCRIPT_ID_LEAVE,
    RL_SCRIPT_ID_RENEW,
    RL_SCRIPT_ID_TICKET,
    RL_SCRIPT_ID_LOOK,
    RL_SCRIPT_ID_LIST,
    RL_SCRIPT_ID_WITNESS,
};

/* The keys of one name. Only those that a command needs are filled. */
struct rl_name_keys {
    struct rl_slice lock;
    struct rl_slice fence;
    struct rl_slice queue;
    struct rl_slice alive; /* until when each waiter lives */
};

/* The subject of a command: one attempt's names and value, and numbers in decimal. */
struct rl_subject {
    uint8_t name_count;
    const struct rl_name_keys *name;
    enum redlock_kind kind;
    bool kind_unknown; /* taken over by value */
    struct rl_slice value;
    struct rl_slice ttl_ms;
    struct rl_slice token;       /* ALIGN */
    struct rl_slice identity;    /* ADMIT: of the connection that the command goes to */
    struct rl_slice placement;   /* ADMIT: the quorum that the node belongs to */
    struct rl_slice incarnation; /* of the node, where a token is asked for */
    struct rl_slice group;       /* REENTRANT: the owner; SEMAPHORE: how many slots */
    struct rl_slice slot;        /* SEMAPHORE */
    struct rl_slice waiter;      /* our place in the queue; empty: none */
    struct rl_slice ticket;      /* what it was asked for with; "0": none yet */
    struct rl_slice pattern;     /* LIST */
    struct rl_slice cursor;      /* LIST */
    bool bad_counters;           /* LIST: only fence counters that no clock can have reached */
    bool fenced;                 /* ACQUIRE gives a token */
    bool marked;                 /* a grant counts only with the node's marker (G2) */
    bool contended;              /* somebody waits: a release must be quick to tell */
    bool may_shorten; /* a renewal with a smaller TTL than the key may already have */
};

struct rl_command {
    uint32_t argument_count;
    struct rl_slice argument[RL_ARGUMENTS_MAX];
    uint32_t script; /* a bit: the script that it runs; 0: none */
    bool witnessed;  /* its grant counts once a witness behind it has spoken for the node */
};

/* Fills *out; its slices point into *subject and static text. */
void rl_recipe_command(enum rl_op op, const struct rl_subject *subject,
                       const struct rl_abilities *abilities, struct rl_command *out);

/* The witness: who is the node, and whom does its marker name? */
void rl_recipe_witness(const struct rl_abilities *abilities, struct rl_command *out);

/* Does this step delete without a script on a node of these abilities? */
bool rl_recipe_deletes_natively(const struct rl_subject *subject,
                                const struct rl_abilities *abilities);

/* Is the lock that of the specification, one plain key? */
bool rl_recipe_is_plain(const struct rl_subject *subject);

#endif
