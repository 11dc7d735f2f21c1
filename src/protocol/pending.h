/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requests of one connection that have no reply yet, oldest first. Servers answer in order,
 * so the oldest entry is always the one that the next reply belongs to.
 */
#ifndef RL_PROTOCOL_PENDING_H
#define RL_PROTOCOL_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#define RL_PENDING_MAX 65536 /* a power of two */

struct rl_pending {
    void *subject; /* the claim it is about; NULL for the session's own requests */
    uint32_t round;
    uint16_t op;    /* enum rl_op, or a step of the greeting */
    bool by_script; /* how it was asked */
    bool witnessed; /* a grant counts once the witness behind it has spoken */
};

struct rl_pending_queue {
    struct rl_pending *entry; /* a ring */
    uint32_t capacity;        /* 0 or a power of two */
    uint32_t head;            /* index of the oldest, counted without wrapping */
    uint32_t tail;
};

uint32_t rl_pending_count(const struct rl_pending_queue *queue);
bool rl_pending_push(struct rl_pending_queue *queue, struct rl_pending entry);
bool rl_pending_pop(struct rl_pending_queue *queue, struct rl_pending *out);
void rl_pending_free(struct rl_pending_queue *queue);

#endif
