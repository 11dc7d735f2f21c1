/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/op.h"

const struct rl_op_traits rl_ops[RL_OP_COUNT] = {
    [RL_OP_ACQUIRE] = {.acquires = true,
                       .sets_key = true,
                       .lets_live = true,
                       .times_node = true},
    [RL_OP_ACQUIRE_AGAIN] = {.acquires = true, .sets_key = true, .lets_live = true},
    [RL_OP_HEAL] = {.sets_key = true, .lets_live = true},
    [RL_OP_EXTEND] = {.lets_live = true},
    [RL_OP_RELEASE] = {.gives_back = true, .tidies_up = true},
    [RL_OP_ROLLBACK] = {.gives_back = true, .tidies_up = true},
    [RL_OP_QUIT] = {.gives_back = true, .tidies_up = true},
    [RL_OP_LEAVE] = {.tidies_up = true},
    [RL_OP_WAITERS] = {.tidies_up = true},
    [RL_OP_WAKE] = {.tidies_up = true},
    [RL_OP_LOOK] = {.times_node = true},
    [RL_OP_BREAK] = {.times_node = true},
    [RL_OP_LIST] = {.times_node = true},
    [RL_OP_ADMIT] = {.times_node = true},
    [RL_OP_PING] = {.times_node = true},
};
