/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/kind.h"

const struct rl_kind rl_kinds[RL_KIND_COUNT] = {
#define ROW(name, key_type, waiter, exclusive, single, has_owner, has_slots, script)           \
    [REDLOCK_##name] = {key_type, waiter, exclusive, single, has_owner, has_slots},
    RL_KINDS(ROW)
#undef ROW
};

#define ONE(name, number, text) +1
_Static_assert(0 REDLOCK_KINDS(ONE) == RL_KIND_COUNT,
               "redlock.h and kind.h list the same kinds");
#undef ONE
