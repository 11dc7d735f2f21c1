/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A question to all quorums: a question of the first member, which asks no node itself. Its
 * *parts* are questions of the members, asked at once. A part belongs to its member's driver
 * until it has ended; the last one to end sends an order to the first member, which makes one
 * answer of all. So no thread ever holds two mutexes.
 */
#ifndef RL_QUORUMS_JOINT_H
#define RL_QUORUMS_JOINT_H

#include "quorums/front.h"

/* To be asked of the first member. NULL: out of memory. */
struct rl_question *rl_joint_new(const struct rl_front *front,
                                 const struct rl_question_terms *terms);

#endif
