/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/claim.h"

#include <stdlib.h>
#include <string.h>

struct rl_claim *rl_claim_new(struct rl_claims *claims, struct rl_slice key,
                              struct rl_handle *handle)
{
    struct rl_claim *claim = claims->free;
    char *bytes;

    if (claim) {
        claims->free = claim->next_free;
        claims->free_count--;
    } else {
        claim = malloc(sizeof *claim);
        if (!claim)
            return NULL;
    }
    claim->key_long = key.size > RL_CLAIM_KEY_INLINE ? malloc(key.size) : NULL;
    if (key.size > RL_CLAIM_KEY_INLINE && !claim->key_long) {
        free(claim);
        return NULL;
    }
    bytes = claim->key_long ? claim->key_long : claim->key_inline;
    memcpy(bytes, key.data, key.size);
    claim->key = (struct rl_slice){bytes, key.size};
    claim->value = (struct rl_slice){claim->value_bytes, 0};
    claim->references = 1;
    claim->handle = handle;
    claim->touched = claim->returned = 0;
    claim->gone_ns = 0;
    claim->waiter = 0;
    claim->ticket = 0;
    claim->kind = REDLOCK_MUTEX;
    claim->name_count = 1;
    claim->prefix_size = 0;
    claim->kind_unknown = claim->contended = false;
    return claim;
}

void rl_claim_set_value(struct rl_claim *claim, const char *value, size_t size)
{
    memcpy(claim->value_bytes, value, size);
    claim->value_bytes[size] = '\0';
    claim->value.size = size;
}

void rl_claim_ref(struct rl_claim *claim)
{
    claim->references++;
}

void rl_claim_unref(struct rl_claims *claims, struct rl_claim *claim)
{
    if (--claim->references > 0)
        return;
    free(claim->key_long);
    if (claims->free_count >= RL_CLAIMS_KEPT) {
        free(claim);
        return;
    }
    claim->next_free = claims->free;
    claims->free = claim;
    claims->free_count++;
}

void rl_claims_free(struct rl_claims *claims)
{
    while (claims->free) {
        struct rl_claim *claim = claims->free;

        claims->free = claim->next_free;
        free(claim);
    }
    claims->free_count = 0;
}
