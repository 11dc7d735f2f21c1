/* SPDX-License-Identifier: BSD-2-Clause */
/* What a node's reply to a step of a lock amounts to; protocol/answer.c reads it. */
#ifndef RL_CORE_ANSWER_H
#define RL_CORE_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "redlock.h"

#define RL_FREE_SLOTS_MAX 4

/*
 * Fence counters and tickets are microseconds of a clock, which reaches this in the year 2112.
 * What is not below it was planted or damaged, and counts as missing. The scripts write it in
 * digits. Their numbers are doubles, and from 2^53 on adding one changes nothing.
 */
#define RL_COUNTER_LIMIT ((int64_t)1 << 52)

/* Is it a number that a fence counter may have given? */
static inline bool rl_is_token(int64_t number)
{
    return number > 0 && number < RL_COUNTER_LIMIT;
}

/* A node's vote, with the remaining life of the key where the reply had it (else -1). */
struct rl_answer {
    enum redlock_vote vote;
    bool is_synthetic; /* made up for a node that did not answer */
    int64_t key_ttl_ms;
    int64_t token;            /* of a fenced grant; 0: none */
    bool has_marker;          /* the marker as it stood together with the acquire: */
    struct rl_slice marker;   /* points into the reply */
    struct rl_slice identity; /* the node's identity at that moment; points into the reply */
    int64_t marker_max_ttl_ms;
    struct rl_slice set; /* of nodes that it belongs to (G8); points into the reply */
    bool beyond_max_ttl; /* the node does not allow such a long TTL */
    bool is_unsafe;      /* it does not pass a safety check: waiting does not mend that */
    bool counts_once;    /* a grant of a server that votes by another name already (G8) */
    bool in_quarantine;  /* a renewal by a node that may not grant, or is not known to */
    bool of_new_term;    /* by an elected vote whose term is in quarantine (docs/elected.md) */

    /* The queue, from nodes that had a request about it. */
    bool contended; /* given back, and there are waiters */
    bool overtakes; /* granted, but not counted: other clients wait, it is to be taken back */
    int64_t owners_token;   /* REENTRANT: of the first hold of the owner here; 0: none */
    int64_t ticket;         /* the next that this node would give; 0: unknown */
    uint32_t place;         /* ours in its queue, from 1; 0: unknown */
    int64_t ahead_ms;       /* the waiter ahead of us may live this long; 0: none is */
    bool names_holder;      /* the refusal names the holder: */
    struct rl_slice holder; /* its value, cut; of size 0: only the queue is. Into the reply */
    uint32_t
        same_tag; /* that value has the tag of this request, but another made it: a number that
                       stands for the value; 0: not so */
    uint32_t waiters;                      /* how many wait here, where requested */
    uint16_t free_slot[RL_FREE_SLOTS_MAX]; /* of a semaphore, from 1; 0: none */
};

#endif
