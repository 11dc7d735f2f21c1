/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/frame.h"

#include <stddef.h>

static _Thread_local struct rl_frame *innermost;

void rl_frame_push(struct rl_frame *frame)
{
    frame->outer = innermost;
    innermost = frame;
}

void rl_frame_pop(const struct rl_frame *frame)
{
    innermost = frame->outer;
}

bool rl_frame_is_of(const struct rl_spread *spread)
{
    for (const struct rl_frame *frame = innermost; frame; frame = frame->outer)
        if (frame->spread == spread)
            return true;
    return false;
}
