/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/op.h"

const struct rl_op_traits rl_ops[RL_OP_COUNT] = {
    [RL_OP_ACQUIRE] = {.acquires = true,
                       .sets_key = true,
                       .restarts_ttl = true,
                       .times_node = true},
    [RL_OP_ACQUIRE_AGAIN] = {.acquires = true, .sets_key = true, .restarts_ttl = true},
    [RL_OP_HEAL] = {.sets_key = true, .restarts_ttl = true},
    [RL_OP_EXTEND] = {.restarts_ttl = true},
    [RL_OP_RELEASE] = {.deletes_key = true, .outlives_lock = true},
    [RL_OP_ROLLBACK] = {.deletes_key = true, .outlives_lock = true},
    [RL_OP_QUIT] = {.deletes_key = true, .outlives_lock = true},
    [RL_OP_LEAVE] = {.outlives_lock = true},
    [RL_OP_WAITERS] = {.outlives_lock = true},
    [RL_OP_WAKE] = {.outlives_lock = true},
    [RL_OP_LOOK] = {.times_node = true},
    [RL_OP_BREAK] = {.times_node = true},
    [RL_OP_LIST] = {.times_node = true},
    [RL_OP_ADMIT] = {.times_node = true},
    [RL_OP_PING] = {.times_node = true},
};
