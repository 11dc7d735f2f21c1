/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a node can do for a lock. The core decides which, protocol/command.c has the words for
 * each.
 */
#ifndef RL_CORE_OP_H
#define RL_CORE_OP_H

#include <stdbool.h>

enum rl_op {
    RL_OP_ACQUIRE,
    RL_OP_ACQUIRE_AGAIN, /* the acquire of the same attempt, for a node that has refused it */
    RL_OP_EXTEND,
    RL_OP_RELEASE,   /* the holder gives the lock back; its reply counts */
    RL_OP_ROLLBACK,  /* the same for a failed attempt; its reply decides nothing */
    RL_OP_QUIT,      /* a rollback that also leaves the queue */
    RL_OP_LEAVE,     /* leaves the queue, and nothing else */
    RL_OP_TICKET,    /* which place in the queue does the node offer? */
    RL_OP_WAITERS,   /* are there waiters? */
    RL_OP_WAKE,      /* wakes the head of the queue */
    RL_OP_REPAIR,    /* set our key where a node misses it (A8) */
    RL_OP_ALIGN,     /* raise the fence counter to the token */
    RL_OP_INQUIRE,   /* the remaining life of whatever is under the key, and who holds it */
    RL_OP_LOOK,      /* everything about a name */
    RL_OP_BREAK,     /* delete the hold that has a fingerprint, whosever it is */
    RL_OP_LIST,      /* names of locks on this node, from a cursor on */
    RL_OP_FORGET,    /* delete the fence counter: only of names that the audit made up */
    RL_OP_ADMIT,     /* write the marker of this incarnation (G5) */
    RL_OP_REPLICATE, /* wait for a replica to have what was written on this connection */
    RL_OP_PING,
};

#define RL_OP_COUNT (RL_OP_PING + 1)

/* What an op means for the lock and its key: one table, which every other place reads. */
struct rl_op_traits {
    const char *name;   /* for the trace */
    bool acquires;      /* its grant counts for an acquisition */
    bool sets_key;      /* after it the node may carry our key ... */
    bool restarts_ttl;  /* ... or may let it live for a whole TTL */
    bool times_node;    /* the first of its round: its round trip measures the node */
    bool deletes_key;   /* after it the node does not carry our key any more */
    bool outlives_lock; /* it is carried out even if its lock is gone */
};

extern const struct rl_op_traits rl_ops[RL_OP_COUNT];

#endif
