/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/attempt.h"

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
#define ATTEMPTS_KEPT 32768

#define DRAWN_BYTES_MAX 20

_Static_assert(RL_KEYS_MAX + REDLOCK_OWNER_MAX + REDLOCK_VALUE_MAX + ROOM_KEPT < UINT16_MAX,
               "the room for all texts can be counted");

/* ---- memory ---- */

struct rl_attempt *rl_attempt_new(struct rl_pool *pool, const struct rl_about *about,
                                  size_t value_max, struct rl_handle *handle)
{
    size_t text_size = about->key.size + 1 + about->owner.size + value_max + 1;
    struct rl_attempt *attempt = rl_pool_take(pool);
    char *at;

    /* One that was kept, if it is large enough; else it makes way for one that is. */
    if (!attempt || attempt->room < text_size) {
        size_t size = rl_piece_size(offsetof(struct rl_attempt, text) + text_size);

        free(attempt);
        attempt = malloc(size);
        if (!attempt)
            return NULL;
        attempt->room = (uint16_t)(size - offsetof(struct rl_attempt, text));
    }
    attempt->handle = handle;
    attempt->ttl_ns = attempt->expired_by_ns = 0;
    attempt->waiter = 0;
    attempt->ticket = 0;
    attempt->references = 1;
    attempt->touched = attempt->returned = 0;
    attempt->key_size = (uint16_t)about->key.size;
    attempt->owner_size = (uint8_t)about->owner.size;
    attempt->kind = REDLOCK_MUTEX;
    attempt->name_count = about->name_count;
    attempt->kind_unknown = attempt->contended = false;
    attempt->behind_release = attempt->handed_over = false;
    memcpy(attempt->text, about->key.data, about->key.size);
    at = attempt->text + about->key.size;
    *at++ = '\0';
    memcpy(at, about->owner.data, about->owner.size);
    rl_attempt_set_value(attempt, "", 0);
    return attempt;
}

void rl_attempt_set_value(struct rl_attempt *attempt, const char *value, size_t size)
{
    char *at = attempt->text + attempt->key_size + 1 + attempt->owner_size;

    assert(at + size < attempt->text + attempt->room);
    memcpy(at, value, size);
    at[size] = '\0';
    attempt->value_size = (uint8_t)size;
}

void rl_attempt_note_expiry(struct rl_attempt *attempt, int64_t now_ns)
{
    if (attempt->expired_by_ns < now_ns + 2 * attempt->ttl_ns)
        attempt->expired_by_ns = now_ns + 2 * attempt->ttl_ns;
}

void rl_attempt_unref(struct rl_pool *pool, struct rl_attempt *attempt)
{
    if (--attempt->references > 0)
        return;
    if (attempt->room > ROOM_KEPT)
        free(attempt);
    else
        rl_pool_give(pool, attempt, ATTEMPTS_KEPT);
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

int rl_attempt_draw_value(struct rl_engine *engine, struct rl_attempt *attempt,
                          struct rl_pending_acquire *acquire, uint16_t slot)
{
    char random[RL_VALUE_DRAWN];
    char text[RL_VALUE_WRITTEN_MAX];
    struct rl_value value = {
        .tag = {acquire->tag, acquire->tag_size},
        .random = {random, sizeof random},
        .slot = slot,
        .label = {acquire->label, acquire->label_size},
    };

    if (rl_engine_draw_hex(engine, RL_VALUE_RANDOM_BYTES, random) < 0)
        return -1;
    if (acquire->tag_size && acquire->drew)
        memcpy(random, acquire->digits, sizeof acquire->digits);
    memcpy(acquire->digits, random, sizeof acquire->digits);
    acquire->drew = true;
    if (value.label.size)
        value.stamp_ms = engine->wall_ms(engine->random_data);
    rl_attempt_set_value(attempt, text, rl_value_write(&value, text));
    return 0;
}

int rl_handle_renew_attempt(struct rl_engine *engine, struct rl_handle *handle,
                            size_t value_max)
{
    struct rl_attempt *old = handle->attempt;
    struct rl_slice value = rl_attempt_value(old);
    struct rl_about about = {
        .key = rl_attempt_key(old),
        .owner = rl_attempt_owner(old),
        .name_count = old->name_count,
    };
    struct rl_attempt *attempt = rl_attempt_new(
        &engine->attempts, &about, value.size > value_max ? value.size : value_max, handle);

    if (!attempt)
        return -1;
    attempt->kind = old->kind;
    rl_attempt_set_value(attempt, value.data, value.size);
    if (RL_RULE(ROUNDS))
        old->handle = NULL;
    rl_attempt_unref(&engine->attempts, old);
    handle->attempt = attempt;
    return 0;
}

/*
 * Every attempt gets a value of its own (A1): with a reused one, the late rollback of an
 * earlier attempt would delete the key of the later, successful one.
 */
bool rl_attempt_prepare(struct rl_engine *engine, struct rl_handle *handle, enum rl_op op,
                        int64_t now_ns)
{
    struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);
    struct rl_attempt *attempt = handle->attempt;
    bool has_slots = rl_kinds[attempt->kind].has_slots;

    if (op == RL_OP_EXTEND && attempt->value_size) {
        if (attempt->ttl_ns < rl_extension_ttl_ns(&handle->lock))
            attempt->ttl_ns = rl_extension_ttl_ns(&handle->lock);
        rl_attempt_note_expiry(attempt, now_ns);
    }
    if (op != RL_OP_ACQUIRE && attempt->value_size)
        return true;
    if (attempt->value_size &&
        rl_handle_renew_attempt(
            engine, handle, rl_value_size(has_slots, acquire->tag_size, acquire->label_size)) <
            0) {
        handle->prepare_error = REDLOCK_NOMEM;
        return false;
    }
    attempt = handle->attempt;
    if ((RL_RULE(FRESH_VALUE) || !attempt->value_size) &&
        rl_attempt_draw_value(engine, attempt, acquire, has_slots ? handle->lock.slot : 0) <
            0) {
        handle->prepare_error = REDLOCK_SYSTEM;
        return false;
    }
    handle->prepare_error = REDLOCK_OK;
    attempt->ttl_ns = rl_ttl_ns(&handle->lock);
    rl_attempt_note_expiry(attempt, now_ns);
    attempt->ticket = acquire->acquisition.ticket;
    attempt->waiter = attempt->ticket ? acquire->waiter : 0;
    attempt->contended = attempt->ticket != 0;
    attempt->behind_release =
        acquire->behind_release && rl_may_follow_release(engine, handle, now_ns);
    return true;
}
