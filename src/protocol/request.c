/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/request.h"

#include <string.h>

#include "core/kind.h"
#include "protocol/resp.h"
#include "protocol/value.h"

#define TEXT(literal) ((struct rl_slice){(literal), sizeof(literal) - 1})

enum beside { BESIDE_FENCE = 1, BESIDE_QUEUE = 2, BESIDE_ALIVE = 4 };

/* Which keys beside the lock itself does the request need? */
static unsigned beside_of(const struct rl_request *request)
{
    switch (request->op) {
    case RL_OP_ACQUIRE:
    case RL_OP_ACQUIRE_AGAIN:
        if (request->is_plain && !request->as_waiter)
            return request->fenced ? BESIDE_FENCE : 0;
        return BESIDE_FENCE | BESIDE_QUEUE | BESIDE_ALIVE;
    case RL_OP_HEAL:
        return request->is_plain ? 0 : BESIDE_FENCE | BESIDE_QUEUE | BESIDE_ALIVE;
    case RL_OP_RELEASE:
    case RL_OP_ROLLBACK:
    case RL_OP_QUIT:
    case RL_OP_LEAVE:
    case RL_OP_WAKE:
        return BESIDE_QUEUE | BESIDE_ALIVE;
    case RL_OP_TICKET:
        return BESIDE_ALIVE;
    case RL_OP_WAITERS:
        return BESIDE_QUEUE;
    case RL_OP_ALIGN:
    case RL_OP_FORGET:
        return BESIDE_FENCE;
    case RL_OP_INQUIRE:
        return BESIDE_QUEUE;
    case RL_OP_BREAK:
        return BESIDE_QUEUE | BESIDE_ALIVE;
    case RL_OP_LOOK:
        return BESIDE_FENCE | BESIDE_QUEUE | BESIDE_ALIVE;
    default:
        return 0;
    }
}

/*
 * Beside the lock redlock:NAME stand redlock.fence:NAME and so on; beside any other KEY, of
 * another prefix, redlock.fence@KEY. Two locks never share what stands beside them.
 */
static char *write_beside(char *at, struct rl_slice head, struct rl_slice key,
                          struct rl_slice *out)
{
    const size_t usual_size = sizeof RL_USUAL_PREFIX - 1;
    bool is_usual = rl_slice_starts(key, RL_USUAL_PREFIX);
    size_t skipped = is_usual ? usual_size : 0;

    out->data = at;
    at = rl_slice_append(at, head);
    *at++ = is_usual ? ':' : '@';
    at = rl_slice_append(at, (struct rl_slice){key.data + skipped, key.size - skipped});
    out->size = (size_t)(at - out->data);
    return at;
}

static void write_keys(const struct rl_request *request, struct rl_words *out)
{
    unsigned beside = beside_of(request);
    const char *key = request->keys.data;
    const char *end = key + request->keys.size;
    char *at = out->beside;

    for (uint8_t i = 0; i < request->name_count; i++) {
        struct rl_name_keys *keys = &out->name[i];
        const char *stop =
            request->name_count > 1 ? memchr(key, RL_KEY_SEPARATOR, (size_t)(end - key)) : NULL;

        keys->lock = (struct rl_slice){key, (size_t)((stop ? stop : end) - key)};
        if (beside & BESIDE_FENCE)
            at = write_beside(at, TEXT(RL_FENCE_HEAD), keys->lock, &keys->fence);
        if (beside & BESIDE_QUEUE)
            at = write_beside(at, TEXT(RL_QUEUE_HEAD), keys->lock, &keys->queue);
        if (beside & BESIDE_ALIVE)
            at = write_beside(at, TEXT(RL_ALIVE_HEAD), keys->lock, &keys->alive);
        key = keys->lock.data + keys->lock.size + 1;
    }
}

static struct rl_slice write_decimal(int64_t number, char *out)
{
    return (struct rl_slice){out, (size_t)(rl_resp_decimal((uint64_t)number, out) - out)};
}

/*
 * The letter tells readers from exclusive waiters; the client's id is its channel. The label is for
 * people who look at the queue: a wake-up goes by the first word alone.
 */
static struct rl_slice write_waiter(const struct rl_request *request, char *out)
{
    struct rl_slice label = rl_label_of(request->value);
    char *at = out;

    *at++ = rl_kinds[request->kind].waiter;
    memcpy(at, request->client_id, RL_CLIENT_ID_SIZE);
    at += RL_CLIENT_ID_SIZE;
    *at++ = '.';
    at = rl_resp_decimal(request->waiter, at);
    if (label.size) {
        *at++ = ' ';
        at = rl_slice_append(at, label);
    }
    return (struct rl_slice){out, (size_t)(at - out)};
}

void rl_words_write(const struct rl_request *request, struct rl_words *out)
{
    out->request = request;
    out->waiter = request->as_waiter ? write_waiter(request, out->waiter_text) : TEXT("");
    out->ticket =
        request->ticket ? write_decimal(request->ticket, out->ticket_digits) : TEXT("0");
    if (request->ttl_ms)
        out->ttl_ms = write_decimal(request->ttl_ms, out->ttl_digits);
    if (request->op == RL_OP_ALIGN)
        out->token = write_decimal(request->token, out->number_digits[0]);
    out->group = request->owner;
    out->slot = TEXT("0");
    if (rl_kinds[request->kind].has_slots) {
        out->group = write_decimal(request->slots, out->number_digits[0]);
        out->slot = write_decimal(request->slot, out->number_digits[1]);
    }
    write_keys(request, out);
}
