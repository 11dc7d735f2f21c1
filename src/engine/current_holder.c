/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "engine/handle.h"

void rl_current_holder_note(struct rl_current_holder *holder, uint8_t node,
                            const struct rl_answer *answer, int64_t now_ns)
{
    uint16_t bit = (uint16_t)(1u << node);
    struct rl_slice value = answer->holder;
    int64_t ends_ns;

    if (answer->vote == REDLOCK_VOTE_GRANTED)
        holder->nodes &= (uint16_t)~bit;
    if (answer->vote != REDLOCK_VOTE_TAKEN || !answer->names_holder)
        return;
    if (answer->waiters > holder->waiters)
        holder->waiters = answer->waiters;
    if (value.size > sizeof holder->value)
        value.size = sizeof holder->value;
    holder->nodes &= (uint16_t)~bit;
    if (value.size == 0)
        return;
    if (holder->size != value.size || memcmp(holder->value, value.data, value.size) != 0) {
        if (holder->nodes)
            return;
        memcpy(holder->value, value.data, value.size);
        holder->size = (uint8_t)value.size;
        holder->since_ns = now_ns;
        holder->ends_ns = 0;
    }
    holder->nodes |= bit;
    ends_ns = answer->key_ttl_ms < 0 ? 0 : now_ns + answer->key_ttl_ms * RL_NS_PER_MS;
    if (ends_ns > holder->ends_ns)
        holder->ends_ns = ends_ns;
}

const struct rl_current_holder *rl_current_holder_of(const struct rl_handle *handle)
{
    const struct rl_local_queue *queue = rl_local_queue_of(handle);
    const struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);

    if (acquire && !acquire->current_holder.nodes && queue)
        acquire = rl_pending_acquire_of(rl_local_queue_head(queue));
    return acquire && acquire->current_holder.nodes ? &acquire->current_holder : NULL;
}
