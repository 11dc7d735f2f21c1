/* SPDX-License-Identifier: BSD-2-Clause */
#include "drive/frame.h"

#include <stddef.h>

#include "drive/client.h"

static _Thread_local struct rl_frame *innermost;

void rl_frame_enter(struct rl_frame *frame, const redlock *client)
{
    frame->client = client;
    frame->outer = innermost;
    innermost = frame;
}

void rl_frame_leave(const struct rl_frame *frame)
{
    innermost = frame->outer;
}

bool rl_is_in_callback_of(const redlock *client)
{
    for (const struct rl_frame *frame = innermost; frame; frame = frame->outer)
        if (frame->client == client || (client->group && frame->client->group == client->group))
            return true;
    return false;
}
