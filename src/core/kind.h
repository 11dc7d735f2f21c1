/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a kind of lock is: one table, which every other place reads. A number that is not in it
 * is an error, and a key of another type is nothing of ours.
 *
 * All kinds of one name use one key, so they exclude each other. docs/kinds.md, "Adding a
 * kind", lists what else a new one needs.
 */
#ifndef RL_CORE_KIND_H
#define RL_CORE_KIND_H

#include <stdbool.h>

#include "redlock.h"

#define RL_WAITER_WRITES 'w' /* waits for every waiter ahead of it */
#define RL_WAITER_READS 'r'  /* waits only for those ahead of it that write */

/*
 * One line per kind: name, type of its key, letter of its waiters, exclusive, single, has an
 * owner, has slots, the script that takes it.
 */
#define RL_KINDS(X)                                                                            \
    X(MUTEX, "string", RL_WAITER_WRITES, true, true, false, false, TAKE_MUTEX)                 \
    X(SHARED, "zset", RL_WAITER_READS, false, false, false, false, TAKE_SHARED)                \
    X(REENTRANT, "hash:owner", RL_WAITER_WRITES, true, false, true, false, TAKE_OWNER)         \
    X(SEMAPHORE, "hash:slots", RL_WAITER_WRITES, false, false, false, true, TAKE_SLOTS)

enum {
#define RL_KIND_COUNT_ONE(name, ...) RL_KIND_INDEX_##name,
    RL_KINDS(RL_KIND_COUNT_ONE)
#undef RL_KIND_COUNT_ONE
        RL_KIND_COUNT
};

struct rl_kind {
    /*
     * As look.lua returns it: the Redis type, of a hash with the field that shows what is held.
     */
    const char *key_type;
    char waiter; /* the letter of its waiters in the nodes' queues */
    /* One holder or owner at a time. So it may have a fencing token, and a grant takes its
     * place in the queue along: no other waiter is served meanwhile. */
    bool exclusive;
    /* One hold at a time: the key is the plain string of the value, several names can be taken
     * at once, a key of another value is another's lock, and the holder may hand over to the
     * next waiter of its client. */
    bool single;
    bool has_owner; /* holds of one owner do not exclude each other, nor wait for each other */
    bool has_slots; /* the value names the slot that it holds */
};

extern const struct rl_kind rl_kinds[RL_KIND_COUNT]; /* by enum redlock_kind, a known one */

static inline bool rl_kind_is_known(int kind)
{
    return kind >= 0 && kind < RL_KIND_COUNT;
}

#endif
