/* SPDX-License-Identifier: BSD-2-Clause */
/* The two queues of a connection: requests without reply, and bytes to send. */
#include "check.h"

#include "protocol/session.h"

#include <stdlib.h>

CASE(requests_come_out_in_order, "Pending requests come out first in, first out.")
{
    struct rl_pending_queue queue = {0};
    struct rl_pending entry;
    uint32_t in = 0, out = 0;
    srandom(4);
    CHECK(!rl_pending_pop(&queue, &entry));
    for (int n = 0; n < 100000; n++) {
        bool filling = n / 1000 % 2 == 0;
        if (random() % 10 < (filling ? 7 : 3)) {
            CHECK(rl_pending_push(&queue, (struct rl_pending){.round = in, .op = 3}));
            in++;
        } else if (rl_pending_pop(&queue, &entry)) {
            CHECK_INT(out, entry.round);
            CHECK_INT(3, entry.op);
            out++;
        }
        CHECK_INT(in - out, queue.count);
    }
    rl_pending_free(&queue);
}

CASE(requests_are_bounded, "The queue of pending requests refuses one beyond its bound.")
{
    struct rl_pending_queue queue = {0};
    struct rl_pending entry = {.round = 1};
    for (int n = 0; n < RL_PENDING_MAX; n++)
        CHECK(rl_pending_push(&queue, entry));
    CHECK(!rl_pending_push(&queue, entry));
    CHECK_INT(RL_PENDING_MAX, queue.count);
    CHECK(rl_pending_pop(&queue, &entry));
    CHECK(rl_pending_push(&queue, entry));
    rl_pending_free(&queue);
}

CASE(bytes_come_out_in_order, "Bytes appended in pieces and taken in others are the same.")
{
    struct rl_buffer buffer = {0};
    unsigned char next_in = 0, next_out = 0;
    srandom(5);
    for (int n = 0; n < 20000; n++) {
        size_t size = (size_t)(random() % 700);
        char *room = rl_buffer_reserve(&buffer, size);
        size_t have, taken;
        CHECK(room != NULL || size == 0);
        for (size_t i = 0; i < size; i++)
            room[i] = (char)next_in++;
        buffer.size += size;
        have = buffer.size;
        taken = have > 0 ? (size_t)random() % (have + 1) : 0;
        for (size_t i = 0; i < taken; i++)
            CHECK_INT(next_out++, (unsigned char)buffer.bytes[buffer.start + i]);
        rl_buffer_take(&buffer, taken);
        CHECK_INT(have - taken, buffer.size);
    }
    rl_buffer_free(&buffer);
}

CASE(bytes_are_bounded, "The output buffer has a bound, and gives memory back when empty.")
{
    struct rl_buffer buffer = {0};
    while (rl_buffer_reserve(&buffer, 65536)) {
        buffer.size += 65536;
        CHECK(buffer.size <= RL_BUFFER_MAX);
    }
    CHECK(buffer.size > RL_BUFFER_MAX / 2);
    CHECK(rl_buffer_reserve(&buffer, RL_BUFFER_MAX) == NULL);
    rl_buffer_take(&buffer, buffer.size);
    CHECK(rl_buffer_reserve(&buffer, 1) != NULL);
    CHECK(buffer.capacity <= RL_BUFFER_KEPT);
    rl_buffer_free(&buffer);
}
