/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one attempt to acquire may have put on the nodes: a key with a value that no other
 * attempt ever uses (A1). It outlives its handle: requests under way refer to it, so that a
 * rollback can still be repeated (script forgotten, connection broken) when the lock has long
 * gone on to its next attempt or was freed.
 */
#ifndef RL_ENGINE_ATTEMPT_H
#define RL_ENGINE_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "engine/pool.h"
#include "protocol/request.h"
#include "redlock.h"

struct rl_pending_acquire;
struct rl_engine;
struct rl_handle;

/* What all attempts of a handle are about. */
struct rl_about {
    struct rl_slice key;   /* of several names: one behind the other, with separators */
    struct rl_slice owner; /* REENTRANT */
    struct rl_slice tag;   /* of its values, as the label; of size 0: none */
    struct rl_slice label;
    uint8_t name_count;
};

/*
 * One piece of memory, as long as its texts need: every lock that is held has one. `room` is a
 * bit more than that, so that names of similar length can follow each other in it.
 */
struct rl_attempt {
    struct rl_handle *handle; /* its lock counts the votes; NULL: no lock does any more */
    int64_t ttl_ns;           /* the longest that was requested */
    int64_t expired_by_ns;    /* by then every node has let it expire */
    uint64_t waiter;          /* the place in the queue of this attempt; 0: none */
    int64_t ticket;           /* what it was requested with */
    uint32_t references;      /* the handle, requests under way, undelivered releases */
    uint16_t touched;         /* nodes that may carry the key, a bit each */
    uint16_t returned;        /* nodes that were sent a release */
    uint16_t room;            /* for texts */
    uint16_t key_size;
    uint8_t owner_size;
    uint8_t value_size; /* 0: none yet */
    uint8_t kind;       /* enum redlock_kind */
    uint8_t name_count;
    bool kind_unknown : 1; /* taken over by value */
    bool contended : 1;    /* there are waiters, or were: a release must be quick to wake one */
    bool behind_release : 1; /* sent behind our own release, whose reply shows waiters */
    bool handed_over : 1;    /* such an attempt may travel behind its release */
    char text[];             /* key, terminated, owner, and value, terminated */
};

static inline struct rl_slice rl_attempt_key(const struct rl_attempt *attempt)
{
    return (struct rl_slice){attempt->text, attempt->key_size};
}

static inline struct rl_slice rl_attempt_owner(const struct rl_attempt *attempt)
{
    return (struct rl_slice){attempt->text + attempt->key_size + 1, attempt->owner_size};
}

static inline struct rl_slice rl_attempt_value(const struct rl_attempt *attempt)
{
    return (struct rl_slice){attempt->text + attempt->key_size + 1 + attempt->owner_size,
                             attempt->value_size};
}

/*
 * Without a value, with room for one of value_max bytes; the texts are copied. One reference,
 * the caller's. NULL: out of memory.
 */
struct rl_attempt *rl_attempt_new(struct rl_pool *pool, const struct rl_about *about,
                                  size_t value_max, struct rl_handle *handle);
void rl_attempt_set_value(struct rl_attempt *attempt, const char *value, size_t size);
/*
 * A node may have set or renewed the key until now: the request was sent, and it has answered
 * only now, or never will. However long the request lay on the way, the key has expired two
 * TTLs from here (twice for a node whose clock is slow).
 */
void rl_attempt_note_expiry(struct rl_attempt *attempt, int64_t now_ns);
void rl_attempt_unref(struct rl_pool *pool, struct rl_attempt *attempt);

/*
 * A value that cannot be guessed and that no other attempt has (A1), with the tag and the label
 * of the acquisition, and with the time if there is a label. -1: there is no randomness.
 */
int rl_attempt_draw_value(struct rl_engine *engine, struct rl_attempt *attempt,
                          struct rl_pending_acquire *acquire, uint16_t slot);
/*
 * Another attempt about the same in the place of the handle's; its value is the old one until
 * it gets its own (A1). Requests under way keep the old attempt. -1: no memory.
 */
int rl_handle_renew_attempt(struct rl_engine *engine, struct rl_handle *handle,
                            size_t value_max);
/* What a step needs of the handle's attempt; false: no memory or no randomness for it. */
bool rl_attempt_prepare(struct rl_engine *engine, struct rl_handle *handle, enum rl_op op,
                        int64_t now_ns);

/* Random bytes that cannot be guessed, two characters each, not terminated. -1:
 * there are none. */
int rl_engine_draw_hex(struct rl_engine *engine, size_t byte_count, char *out);

#endif
