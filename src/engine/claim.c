/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/claim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/rules.h"
#include "engine/engine.h"
#include "engine/pool.h"
#include "protocol/value.h"

/* Long names, and many at a time, are rare: their memory is given back. */
#define ROOM_KEPT 512

/* A slow minority keeps this many alive, and a busy client wants them again. */
#define CLAIMS_KEPT 32768

#define DRAWN_BYTES_MAX 20

_Static_assert(RL_KEYS_MAX + REDLOCK_OWNER_MAX + REDLOCK_VALUE_MAX + ROOM_KEPT < UINT16_MAX,
               "the room for all texts can be counted");

/* ---- memory ---- */

struct rl_claim *rl_claim_new(struct rl_pool *pool, const struct rl_about *about,
                              size_t value_max, struct rl_handle *handle)
{
    size_t text_size = about->key.size + 1 + about->owner.size + value_max + 1;
    struct rl_claim *claim = rl_pool_take(pool);
    char *at;

    /* One that was kept, if it is large enough; else it makes way for one that is. */
    if (!claim || claim->room < text_size) {
        size_t size = rl_piece_size(offsetof(struct rl_claim, text) + text_size);

        free(claim);
        claim = malloc(size);
        if (!claim)
            return NULL;
        claim->room = (uint16_t)(size - offsetof(struct rl_claim, text));
    }
    claim->handle = handle;
    claim->ttl_ns = claim->expired_by_ns = 0;
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

void rl_claim_set_value(struct rl_claim *claim, const char *value, size_t size)
{
    char *at = claim->text + claim->key_size + 1 + claim->owner_size;

    assert(at + size < claim->text + claim->room);
    memcpy(at, value, size);
    at[size] = '\0';
    claim->value_size = (uint8_t)size;
}

void rl_claim_note_expiry(struct rl_claim *claim, int64_t now_ns)
{
    if (claim->expired_by_ns < now_ns + 2 * claim->ttl_ns)
        claim->expired_by_ns = now_ns + 2 * claim->ttl_ns;
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

/* ---- every attempt has its own value ---- */

int rl_engine_draw_hex(struct rl_engine *engine, size_t byte_count, char *out)
{
    static const char hex[] = "0123456789abcdef";
    uint8_t bytes[DRAWN_BYTES_MAX];

    assert(byte_count <= sizeof bytes);
    if (engine->secret(engine->random_data, bytes, byte_count) < 0)
        return -1;
    for (size_t i = 0; i < byte_count; i++) {
        out[2 * i] = hex[bytes[i] >> 4];
        out[2 * i + 1] = hex[bytes[i] & 15];
    }
    return 0;
}

int rl_claim_draw_value(struct rl_engine *engine, struct rl_claim *claim,
                        struct rl_acquirer *acquirer, uint16_t slot)
{
    char random[RL_VALUE_DRAWN];
    char text[RL_VALUE_WRITTEN_MAX];
    struct rl_value value = {
        .tag = {acquirer->tag, acquirer->tag_size},
        .random = {random, sizeof random},
        .slot = slot,
        .label = {acquirer->label, acquirer->label_size},
    };

    if (rl_engine_draw_hex(engine, RL_VALUE_RANDOM_BYTES, random) < 0)
        return -1;
    if (acquirer->tag_size && acquirer->drew)
        memcpy(random, acquirer->digits, sizeof acquirer->digits);
    memcpy(acquirer->digits, random, sizeof acquirer->digits);
    acquirer->drew = true;
    if (value.label.size)
        value.stamp_ms = engine->wall_ms(engine->random_data);
    rl_claim_set_value(claim, text, rl_value_write(&value, text));
    return 0;
}

int rl_handle_renew_claim(struct rl_engine *engine, struct rl_handle *handle, size_t value_max)
{
    struct rl_claim *old = handle->claim;
    struct rl_slice value = rl_claim_value(old);
    struct rl_about about = {
        .key = rl_claim_key(old),
        .owner = rl_claim_owner(old),
        .name_count = old->name_count,
    };
    struct rl_claim *claim = rl_claim_new(
        &engine->claims, &about, value.size > value_max ? value.size : value_max, handle);

    if (!claim)
        return -1;
    claim->kind = old->kind;
    rl_claim_set_value(claim, value.data, value.size);
    if (RL_RULE(ROUNDS))
        old->handle = NULL;
    rl_claim_unref(&engine->claims, old);
    handle->claim = claim;
    return 0;
}

/*
 * Every attempt gets a value of its own (A1): with a reused one, the late rollback of an
 * earlier attempt would delete the key of the later, successful one.
 */
bool rl_claim_prepare(struct rl_engine *engine, struct rl_handle *handle, enum rl_op op,
                      int64_t now_ns)
{
    struct rl_acquirer *acquirer = rl_acquirer_of(handle);
    struct rl_claim *claim = handle->claim;
    bool has_slots = rl_kinds[claim->kind].has_slots;

    if (op == RL_OP_EXTEND && claim->value_size) {
        if (claim->ttl_ns < rl_extension_ttl_ns(&handle->lock))
            claim->ttl_ns = rl_extension_ttl_ns(&handle->lock);
        rl_claim_note_expiry(claim, now_ns);
    }
    if (op != RL_OP_ACQUIRE && claim->value_size)
        return true;
    if (claim->value_size && rl_handle_renew_claim(engine, handle,
                                                   rl_value_size(has_slots, acquirer->tag_size,
                                                                 acquirer->label_size)) < 0) {
        handle->prepare_error = REDLOCK_NOMEM;
        return false;
    }
    claim = handle->claim;
    if ((RL_RULE(FRESH_VALUE) || !claim->value_size) &&
        rl_claim_draw_value(engine, claim, acquirer, has_slots ? handle->lock.slot : 0) < 0) {
        handle->prepare_error = REDLOCK_SYSTEM;
        return false;
    }
    handle->prepare_error = REDLOCK_OK;
    claim->ttl_ns = rl_ttl_ns(&handle->lock);
    rl_claim_note_expiry(claim, now_ns);
    claim->ticket = acquirer->acquisition.ticket;
    claim->waiter = claim->ticket ? acquirer->waiter : 0;
    claim->contended = claim->ticket != 0;
    claim->behind_release =
        acquirer->behind_release && rl_may_follow_release(engine, handle, now_ns);
    return true;
}
