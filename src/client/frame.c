/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/frame.h"

#include <stddef.h>

static _Thread_local struct rl_frame *innermost;

void rl_frame_enter(struct rl_frame *frame, const struct rl_spread *spread)
{
    *frame = (struct rl_frame){.spread = spread, .outer = innermost};
    if (spread)
        innermost = frame;
}

void rl_frame_leave(const struct rl_frame *frame)
{
    if (frame->spread)
        innermost = frame->outer;
}

bool rl_frame_is_of(const struct rl_spread *spread)
{
    for (const struct rl_frame *frame = innermost; frame; frame = frame->outer)
        if (frame->spread == spread)
            return true;
    return false;
}
