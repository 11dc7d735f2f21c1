/* SPDX-License-Identifier: BSD-2-Clause */
/* What a step of a lock sends to a node, before command.c puts it into words. */
#ifndef RL_PROTOCOL_REQUEST_H
#define RL_PROTOCOL_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "core/kind.h"
#include "core/op.h"
#include "redlock.h"

#define RL_KEY_MAX (REDLOCK_PREFIX_MAX + REDLOCK_NAME_MAX)
#define RL_KEY_SEPARATOR '\0' /* between the keys of several names */
#define RL_KEYS_MAX (REDLOCK_NAMES_MAX * (RL_KEY_MAX + 1))

#define RL_USUAL_PREFIX "redlock:"
/* What stands beside a lock's key (command.c): no lock may have a key that begins so. */
#define RL_RESERVED_PREFIX "redlock."
#define RL_FENCE_HEAD "redlock.fence"
#define RL_QUEUE_HEAD "redlock.queue"
#define RL_ALIVE_HEAD "redlock.alive"
#define RL_WAKE_PREFIX "redlock.wake:" /* channels */
#define RL_MARKER_KEY "redlock.admit"
#define RL_PROBATION_KEY "redlock.probation"

/* A fence counter unused for a day expires; the clock it starts from anew is later. */
#define RL_FENCE_LIFE_MS "86400000"

#define RL_DIGITS_MAX 24
#define RL_INCARNATION_PART 8 /* of the server's run_id, and of its replid: both are random */
#define RL_INCARNATION_SIZE (2 * RL_INCARNATION_PART + RL_DIGITS_MAX) /* and an epoch */
#define RL_CLIENT_ID_SIZE 16
#define RL_WAITER_MAX (1 + RL_CLIENT_ID_SIZE + 1 + RL_DIGITS_MAX + 1 + REDLOCK_LABEL_MAX)
/* Fence counter, queue and liveness of every name. */
#define RL_BESIDE_KEYS_MAX (3 * REDLOCK_NAMES_MAX * (sizeof RL_FENCE_HEAD + RL_KEY_MAX))

/*
 * One request: what a step of a lock sends to a node, in numbers. The engine fills it; nothing
 * in it depends on the server's protocol.
 */
struct rl_request {
    enum rl_op op;
    enum redlock_kind kind;
    uint8_t name_count;
    bool kind_unknown;     /* the lock was taken over by its value */
    bool is_plain;         /* the lock of the specification: one key, a plain string */
    struct rl_slice keys;  /* of several names: one behind the other, with separators */
    struct rl_slice value; /* of this attempt */
    struct rl_slice owner; /* REENTRANT */
    uint16_t slots;        /* SEMAPHORE: how many there are */
    uint16_t slot;         /* SEMAPHORE: the one that is requested */
    int64_t ttl_ms;
    int64_t token; /* ALIGN */

    /* The place in the nodes' queues. */
    bool as_waiter;        /* the request is made in the name of this waiter: */
    uint64_t waiter;       /* its number within the client */
    const char *client_id; /* RL_CLIENT_ID_SIZE characters */
    int64_t ticket;        /* what the place was requested with; 0: none yet */

    bool fenced;       /* ACQUIRE gives a token */
    bool needs_marker; /* a grant counts only with the node's marker (G2) */
    bool contended;    /* there are waiters: a release must be quick to wake one */
    bool may_shorten;  /* EXTEND with a smaller TTL than the key may already have */

    /* Of the node that it goes to; these may change from one node to the next. */
    const char *identity;        /* of its connection, run_id:replid; empty: unknown */
    const char *term;            /* of an elected vote: EPOCH@owner; empty: it is none */
    const char *admitted;        /* ADMIT: what its marker is to name */
    struct rl_slice electors;    /* ADMIT: of an elected vote; of size 0: it is none */
    bool in_doubt;               /* it may not vote now: its counters begin in doubt */
    struct rl_slice set;         /* ADMIT: the set of nodes that it belongs to (G8) */
    struct rl_slice set_so_far;  /* ADMIT: its set, which must still be this; of size 0: none */
    struct rl_slice pattern;     /* LIST */
    struct rl_slice cursor;      /* LIST */
    bool bad_counters;           /* LIST: only fence counters that no clock can have reached */
    struct rl_slice fingerprint; /* BREAK: of the holder to be evicted */
    struct rl_slice
        tag; /* BREAK: with a colon; evict what has it. Of size 0: by the fingerprint */
};

#endif
