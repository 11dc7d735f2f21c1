/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A question to all quorums: each member is asked at once, as a question of its own, a *part*. The
 * member that answers last makes one answer of all parts, and tells the caller. Members have drivers
 * of their own: a part is written by its member's driver only, and the count of parts that are left
 * passes them on to the last one. So there is no mutex that members would share.
 */
#ifndef RL_QUORUMS_JOINT_H
#define RL_QUORUMS_JOINT_H

#include <stdatomic.h>

#include "client/check_list.h"
#include "quorums/front.h"

/* What one member answered. */
struct rl_part {
    struct rl_joint *joint;
    size_t index;
    int error;
    char *detail; /* of an error; NULL: no memory */
    redlock_report report;
    char **names; /* LIST */
    size_t name_count;
    struct rl_check_list checks; /* AUDIT */
    size_t stranger_count;       /* AUDIT: locks on its nodes that live in another quorum */
};

struct rl_joint {
    const struct rl_front *front;
    struct rl_question_terms terms;
    bool blocks;      /* a thread is blocked in the call, to which it belongs */
    atomic_uint left; /* parts that are not answered */
    atomic_bool forgotten;
    /* Guarded by the mutex of the first member: */
    struct rl_call *call; /* the blocked one, once it waits */
    bool is_complete;
    struct rl_part part[];
};

/* NULL: out of memory. */
struct rl_joint *rl_joint_new(const struct rl_front *front,
                              const struct rl_question_terms *terms, bool blocks);
void rl_joint_free(struct rl_joint *joint);

/* Asks all; the asker will be told. On failure it is freed. */
int rl_joint_start(struct rl_joint *joint);
/* Asks all and waits. On failure it is freed; else the answers are in the parts. */
int rl_joint_wait(struct rl_joint *joint);

/* front_ask.c: tells the asker what the parts say together. */
int rl_joint_tell(struct rl_joint *joint);

#endif
