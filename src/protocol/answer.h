/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers: what a node's reply to a step of a lock means. recipe.h asks. */
#ifndef RL_PROTOCOL_ANSWER_H
#define RL_PROTOCOL_ANSWER_H

#include <stdbool.h>

#include "protocol/command.h"
#include "protocol/reply.h"
#include "redlock.h"

#define RL_FREE_SLOTS_MAX 4

/* A node's vote, with the remaining life of the key where the reply told it (else -1). */
struct rl_answer {
    enum redlock_vote vote;
    bool is_ours; /* the node did not answer: this is what we make of it */
    int64_t key_ttl_ms;
    int64_t token;           /* of a fenced grant; 0: none */
    bool has_marker;         /* the marker as it stood together with the acquire: */
    struct rl_slice marker;  /* points into the reply */
    struct rl_slice present; /* who the node is at that moment; points into the reply */
    int64_t marker_max_ttl_ms;
    bool beyond_max_ttl; /* the node does not allow such a long TTL */
    bool in_quarantine;  /* a renewal by a node that may not grant */

    /* The queue, from those who were asked about it. */
    bool contended;   /* given back, and others wait */
    bool out_of_turn; /* granted, but not counted: others wait, and it is to be taken back */
    int64_t owners_token; /* REENTRANT: of the first hold of the owner here; 0: none */
    int64_t ticket;       /* the next that this node would give; 0: unknown */
    uint32_t place;       /* ours in its queue, from 1; 0: unknown */
    int64_t ahead_ms;     /* who is ahead of us may live this long; 0: nobody is */
    uint16_t free_slot[RL_FREE_SLOTS_MAX]; /* of a semaphore, from 1; 0: none */
};

/* Is it a number that a fence counter may have given? */
bool rl_is_token(int64_t number);

/* by_script: what was asked was a script, and must be answered like one. */
struct rl_answer rl_recipe_answer(enum rl_op op, bool by_script, const struct rl_reply *reply);

/* What a witness says; GRANTED with the marker, or why it says nothing. */
struct rl_answer rl_recipe_witness_answer(const struct rl_reply *reply);

/* The vote that an error reply means, by its first word. */
enum redlock_vote rl_recipe_error_vote(struct rl_slice error);

/* The server does not know the script (any more): the command must be sent with its text. */
bool rl_recipe_is_noscript(const struct rl_reply *reply);

/* One number of an array reply; `otherwise` where there is none. */
int64_t rl_reply_integer(const struct rl_reply *reply, uint32_t index, int64_t otherwise);

bool rl_slice_equals(struct rl_slice slice, const char *text);
bool rl_slice_starts(struct rl_slice slice, const char *text);

#endif
