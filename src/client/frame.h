/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which callbacks is this thread in? One client knows by itself (`calling`, `caller`). Members of
 * one front must know of each other: the threads of two quorums, each in a callback that waits for
 * the other quorum, would wait for ever. Frames lie on the stack of the call.
 */
#ifndef RL_CLIENT_FRAME_H
#define RL_CLIENT_FRAME_H

#include <stdbool.h>

struct rl_spread;

struct rl_frame {
    const struct rl_spread *spread;
    struct rl_frame *outer;
};

void rl_frame_push(struct rl_frame *frame);
void rl_frame_pop(const struct rl_frame *frame);

/* Around a callback of a member of `spread`; NULL: of an ordinary client, and nothing to do. */
static inline void rl_frame_enter(struct rl_frame *frame, const struct rl_spread *spread)
{
    frame->spread = spread;
    if (spread)
        rl_frame_push(frame);
}

static inline void rl_frame_leave(const struct rl_frame *frame)
{
    if (frame->spread)
        rl_frame_pop(frame);
}

/* Is this thread in a callback of a member of `spread`? */
bool rl_frame_is_of(const struct rl_spread *spread);

#endif
