/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/op.h"

const struct rl_op_traits rl_ops[RL_OP_COUNT] = {
    [RL_OP_ACQUIRE] = {"acquire", .acquires = true, .sets_key = true, .restarts_ttl = true,
                       .times_node = true},
    [RL_OP_ACQUIRE_AGAIN] = {"acquire again", .acquires = true, .sets_key = true,
                             .restarts_ttl = true},
    [RL_OP_EXTEND] = {"extend", .restarts_ttl = true},
    [RL_OP_RELEASE] = {"release", .deletes_key = true, .outlives_lock = true},
    [RL_OP_ROLLBACK] = {"rollback", .deletes_key = true, .outlives_lock = true},
    [RL_OP_QUIT] = {"rollback, leave queue", .deletes_key = true, .outlives_lock = true},
    [RL_OP_LEAVE] = {"leave queue", .outlives_lock = true},
    [RL_OP_TICKET] = {"ticket"},
    [RL_OP_WAITERS] = {"waiters", .outlives_lock = true},
    [RL_OP_WAKE] = {"wake", .outlives_lock = true},
    [RL_OP_HEAL] = {"heal", .sets_key = true, .restarts_ttl = true},
    [RL_OP_ALIGN] = {"align"},
    [RL_OP_INQUIRE] = {"inquire"},
    [RL_OP_LOOK] = {"look", .times_node = true},
    [RL_OP_BREAK] = {"break", .times_node = true},
    [RL_OP_LIST] = {"list", .times_node = true},
    [RL_OP_FORGET] = {"forget"},
    [RL_OP_ADMIT] = {"admit", .times_node = true},
    [RL_OP_PING] = {"ping", .times_node = true},
};
