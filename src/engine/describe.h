/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From what the engine knows of an attempt to the words that a recipe needs: keys of every name,
 * numbers in decimal. Kept together for as long as a request is being encoded.
 */
#ifndef RL_ENGINE_DESCRIBE_H
#define RL_ENGINE_DESCRIBE_H

#include "core/lock.h"
#include "engine/claim.h"
#include "protocol/command.h"

struct rl_engine;
struct rl_handle;

#define RL_DIGITS_MAX 24
#define RL_INCARNATION_PART 8 /* of the server's run_id, and of its replid: both are random */
#define RL_INCARNATION_SIZE (2 * RL_INCARNATION_PART)
#define RL_CLIENT_ID_SIZE 16
#define RL_WAITER_MAX (1 + RL_CLIENT_ID_SIZE + 1 + RL_DIGITS_MAX)
/* Fence counter, queue and liveness of every name. */
#define RL_BESIDE_KEYS_MAX (3 * REDLOCK_NAMES_MAX * (sizeof RL_FENCE_HEAD + RL_KEY_MAX))

struct rl_description {
    struct rl_subject subject;
    struct rl_name_keys name[REDLOCK_NAMES_MAX];
    char ttl_ms[RL_DIGITS_MAX];
    char token[RL_DIGITS_MAX];
    char ticket[RL_DIGITS_MAX];
    char slots[RL_DIGITS_MAX];
    char slot[RL_DIGITS_MAX];
    char waiter[RL_WAITER_MAX];
    char incarnation[RL_INCARNATION_SIZE + 1];
    char beside[RL_BESIDE_KEYS_MAX];
};

/* handle: NULL for what a claim still wants after its handle has gone (giving back). */
void rl_describe(const struct rl_engine *engine, const struct rl_claim *claim,
                 const struct rl_handle *handle, enum rl_op op, int64_t now_ns,
                 struct rl_description *out);

/* What differs from node to node; before every use of the description. */
void rl_describe_node(struct rl_engine *engine, const struct rl_handle *handle, uint8_t node,
                      int64_t now_ns, struct rl_description *out);

struct rl_slice rl_write_decimal(int64_t number, char *out);

#endif
