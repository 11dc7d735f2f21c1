/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/sight.h"

#include <stdbool.h>
#include <string.h>

#include "core/answer.h"
#include "core/kind.h"

static void copy_text(const struct rl_reply *reply, uint32_t index, char *out, size_t max)
{
    struct rl_slice text = {"", 0};

    if (index < reply->element_count && reply->element[index].type == RL_REPLY_BULK)
        text = reply->element[index].text;
    if (text.size > max)
        text.size = max;
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
}

static int32_t kind_of(struct rl_slice type)
{
    for (int32_t kind = 0; kind < RL_KIND_COUNT; kind++)
        if (rl_slice_equals(type, rl_kind(kind)->key_type))
            return kind;
    return -1;
}

void rl_sight_read(const struct rl_reply *reply, struct rl_sight *out)
{
    out->kind = kind_of(reply->element[0].text);
    out->fence = rl_reply_integer(reply, 2, 0);
    if (!rl_is_token(out->fence))
        out->fence = 0;
    out->waiters = (uint32_t)rl_reply_integer(reply, 3, 0);
    copy_text(reply, 4, out->head, sizeof out->head - 1);
    copy_text(reply, 5, out->group, sizeof out->group - 1);
    out->holder_count = (uint32_t)rl_reply_integer(reply, 6, 0);
    for (uint32_t i = 0; i < RL_SEEN_HOLDERS_MAX; i++) {
        copy_text(reply, 7 + 2 * i, out->holder[i], REDLOCK_VALUE_MAX);
        out->ttl_ms[i] = rl_reply_integer(reply, 8 + 2 * i, -1);
        if (out->ttl_ms[i] < 0)
            out->ttl_ms[i] = -1;
        if (out->ttl_ms[i] > REDLOCK_WAIT_MAX_MS)
            out->ttl_ms[i] = REDLOCK_WAIT_MAX_MS;
    }
}
