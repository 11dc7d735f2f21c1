/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/claim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/piece.h"

/* Long names, and many at a time, are rare: their memory is given back. */
#define ROOM_KEPT 512

/* A slow minority keeps this many alive, and a busy client wants them again. */
#define CLAIMS_KEPT 32768

_Static_assert(RL_KEYS_MAX + REDLOCK_OWNER_MAX + REDLOCK_VALUE_MAX + ROOM_KEPT < UINT16_MAX,
               "the room for all texts can be counted");

static struct rl_claim *allocate(size_t text_size)
{
    size_t size = rl_piece_size(offsetof(struct rl_claim, text) + text_size);
    struct rl_claim *claim = malloc(size);

    if (claim)
        claim->room = (uint16_t)(size - offsetof(struct rl_claim, text));
    return claim;
}

/* One that was kept, if it is large enough; else it makes way for one that is. */
static struct rl_claim *take(struct rl_pool *pool, size_t text_size)
{
    struct rl_claim *claim = rl_pool_take(pool);

    if (claim && claim->room >= text_size)
        return claim;
    free(claim);
    return allocate(text_size);
}

struct rl_claim *rl_claim_new(struct rl_pool *pool, const struct rl_about *about,
                              size_t value_max, struct rl_handle *handle)
{
    struct rl_claim *claim =
        take(pool, about->key.size + 1 + about->owner.size + value_max + 1);
    char *at;

    if (!claim)
        return NULL;
    claim->handle = handle;
    claim->ttl_ns = claim->gone_ns = 0;
    claim->waiter = 0;
    claim->ticket = 0;
    claim->references = 1;
    claim->touched = claim->returned = 0;
    claim->key_size = (uint16_t)about->key.size;
    claim->owner_size = (uint8_t)about->owner.size;
    claim->kind = REDLOCK_MUTEX;
    claim->name_count = about->name_count;
    claim->kind_unknown = claim->contended = false;
    claim->behind_release = claim->handed_over = false;
    memcpy(claim->text, about->key.data, about->key.size);
    at = claim->text + about->key.size;
    *at++ = '\0';
    memcpy(at, about->owner.data, about->owner.size);
    rl_claim_set_value(claim, "", 0);
    return claim;
}

struct rl_claim *rl_claim_copy(struct rl_pool *pool, const struct rl_claim *claim,
                               size_t value_max, struct rl_handle *handle)
{
    struct rl_slice value = rl_claim_value(claim);
    struct rl_about about = {
        .key = rl_claim_key(claim),
        .owner = rl_claim_owner(claim),
        .name_count = claim->name_count,
    };
    struct rl_claim *copy =
        rl_claim_new(pool, &about, value.size > value_max ? value.size : value_max, handle);

    if (!copy)
        return NULL;
    copy->kind = claim->kind;
    rl_claim_set_value(copy, value.data, value.size);
    return copy;
}

void rl_claim_set_value(struct rl_claim *claim, const char *value, size_t size)
{
    char *at = claim->text + claim->key_size + 1 + claim->owner_size;

    assert(at + size < claim->text + claim->room);
    memcpy(at, value, size);
    at[size] = '\0';
    claim->value_size = (uint8_t)size;
}

void rl_claim_seen(struct rl_claim *claim, int64_t now_ns)
{
    if (claim->gone_ns < now_ns + 2 * claim->ttl_ns)
        claim->gone_ns = now_ns + 2 * claim->ttl_ns;
}

void rl_claim_unref(struct rl_pool *pool, struct rl_claim *claim)
{
    if (--claim->references > 0)
        return;
    if (claim->room > ROOM_KEPT)
        free(claim);
    else
        rl_pool_give(pool, claim, CLAIMS_KEPT);
}
