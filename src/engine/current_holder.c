/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "engine/handle.h"

void rl_blocker_note(struct rl_blocker *blocker, uint8_t node, const struct rl_answer *answer,
                     int64_t now_ns)
{
    uint16_t bit = (uint16_t)(1u << node);
    struct rl_slice value = answer->holder;
    int64_t ends_ns;

    if (answer->vote == REDLOCK_VOTE_GRANTED)
        blocker->nodes &= (uint16_t)~bit;
    if (answer->vote != REDLOCK_VOTE_TAKEN || !answer->tells_holder)
        return;
    if (answer->waiters > blocker->waiters)
        blocker->waiters = answer->waiters;
    if (value.size > sizeof blocker->value)
        value.size = sizeof blocker->value;
    blocker->nodes &= (uint16_t)~bit;
    if (value.size == 0)
        return;
    if (blocker->size != value.size || memcmp(blocker->value, value.data, value.size) != 0) {
        if (blocker->nodes)
            return;
        memcpy(blocker->value, value.data, value.size);
        blocker->size = (uint8_t)value.size;
        blocker->since_ns = now_ns;
        blocker->ends_ns = 0;
    }
    blocker->nodes |= bit;
    ends_ns = answer->key_ttl_ms < 0 ? 0 : now_ns + answer->key_ttl_ms * RL_NS_PER_MS;
    if (ends_ns > blocker->ends_ns)
        blocker->ends_ns = ends_ns;
}

const struct rl_blocker *rl_blocker_of(const struct rl_handle *handle)
{
    const struct rl_local_queue *queue = rl_local_queue_of(handle);
    const struct rl_pending_acquire *acquire = rl_pending_acquire_of(handle);

    if (acquire && !acquire->blocker.nodes && queue)
        acquire = rl_pending_acquire_of(rl_local_queue_head(queue));
    return acquire && acquire->blocker.nodes ? &acquire->blocker : NULL;
}
