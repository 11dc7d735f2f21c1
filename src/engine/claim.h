/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A claim is what one attempt may have put on the nodes: a key with a value that no other
 * attempt ever uses (A1). It outlives its handle: requests under way refer to it, so that a
 * rollback can still be repeated (script forgotten, connection broken) when the lock has long
 * gone on to its next attempt or was freed.
 */
#ifndef RL_ENGINE_CLAIM_H
#define RL_ENGINE_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/reply.h"
#include "redlock.h"

#define RL_KEY_MAX (REDLOCK_PREFIX_MAX + REDLOCK_NAME_MAX)
#define RL_KEY_SEPARATOR '\0' /* between the keys of several names */
#define RL_CLAIM_KEY_INLINE 96
#define RL_CLAIMS_KEPT                                                                         \
    32768 /* a slow minority keeps this many alive, and a busy client wants them again */

struct rl_handle;

struct rl_claim {
    uint32_t references;      /* the handle, requests under way, orphans */
    struct rl_handle *handle; /* who counts its votes; NULL: nobody any more */
    uint16_t touched;         /* nodes that may carry the key, a bit each */
    uint16_t returned;        /* nodes that were told to give it back */
    int64_t ttl_ns;           /* the longest that was asked for */
    int64_t gone_ns;          /* by then every node has let it expire; see rl_claim_seen() */
    uint64_t waiter;          /* the place in the queue of this attempt; 0: none */
    int64_t ticket;           /* what it was asked for with */
    uint8_t kind;             /* enum redlock_kind */
    uint8_t name_count;
    uint8_t prefix_size; /* of every key */
    bool kind_unknown;   /* taken over by value */
    bool contended;      /* others wait, or did: a release must be quick to tell */
    struct rl_slice key; /* of several names: one behind the other, with separators */
    struct rl_slice value;
    char value_bytes[REDLOCK_VALUE_MAX + 1];
    char key_inline[RL_CLAIM_KEY_INLINE];
    char *key_long; /* NULL when the key fits inline */
    struct rl_claim *next_free;
};

/* Freed claims are kept for the next attempts, so that a busy client allocates nothing. */
struct rl_claims {
    struct rl_claim *free;
    size_t free_count;
};

/* One reference, the caller's. NULL: out of memory. */
struct rl_claim *rl_claim_new(struct rl_claims *claims, struct rl_slice key,
                              struct rl_handle *handle);
void rl_claim_set_value(struct rl_claim *claim, const char *value, size_t size);
/*
 * A node may have set or renewed the key until now: it was asked to, and has answered only now,
 * or never will. However long the request lay on the way, the key is gone two TTLs from here
 * (twice for a node whose clock is slow).
 */
void rl_claim_seen(struct rl_claim *claim, int64_t now_ns);
void rl_claim_ref(struct rl_claim *claim);
void rl_claim_unref(struct rl_claims *claims, struct rl_claim *claim);
void rl_claims_free(struct rl_claims *claims);

#endif
