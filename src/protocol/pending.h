/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of one connection that have no reply yet, oldest first: servers answer in
 * order. */
#ifndef RL_PROTOCOL_PENDING_H
#define RL_PROTOCOL_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#define RL_PENDING_MAX 65536 /* a power of two */

/* A request that has no reply yet. */
struct rl_pending {
    void *subject; /* the attempt it is about; NULL for the session's own requests */
    uint32_t round;
    uint16_t op;            /* enum rl_op, or enum rl_step */
    bool by_script;         /* how it was sent */
    bool needs_attestation; /* a grant counts once the attestation behind it has answered */
};

/* A ring. */
struct rl_pending_queue {
    struct rl_pending *entry;
    uint32_t capacity; /* 0 or a power of two */
    uint32_t first;    /* index of the oldest */
    uint32_t count;
    uint32_t sent_count; /* so many of them have left us, the last perhaps in part */
};

bool rl_pending_push(struct rl_pending_queue *queue, struct rl_pending entry);
bool rl_pending_pop(struct rl_pending_queue *queue, struct rl_pending *out);
void rl_pending_free(struct rl_pending_queue *queue);

#endif
