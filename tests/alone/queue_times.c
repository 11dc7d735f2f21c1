/* SPDX-License-Identifier: BSD-2-Clause */
/* How soon the next waiter is served where the one before it died, or where
 * no message comes. */
#include "check.h"
#include "core/lock.h"
#include "loads.h"
#include "pulse.h"

#include <stdio.h>

enum {
    LIMIT_MS = 10000,
    LIFE_MS = RL_WAITER_TTL_MS,
    SIGN_MS = RL_WAITER_TTL_MS / 3, /* so often does a waiter look by itself */
    EXPIRY_SLACK_MS = 200,
};

/* Of `took_ms`, without what the machine was late by since `stalled_ms`. */
static void check_took(int64_t low_ms, int64_t high_ms, int64_t took_ms, int64_t stalled_ms)
{
    int64_t late_ms = pulse_late_ms() + pulse_stalled_ms() - stalled_ms;
    printf("# served after %lld ms\n", (long long)took_ms);
    CHECK_BETWEEN(low_ms - late_ms, high_ms + late_ms, took_ms);
}

CASE(dead_head, "A killed head of the queue blocks the next waiter no longer than its TTL.")
{
    int64_t stalled_ms = pulse_stalled_ms();
    int64_t took_ms = after_dead_head_ms(ALL_UP, LIMIT_MS);
    check_took(0, LIFE_MS + SLACK_MS, took_ms, stalled_ms);
}

CASE(dead_holder, "The waiter behind a killed holder is served when the lock's TTL ends.")
{
    int64_t stalled_ms = pulse_stalled_ms();
    int64_t took_ms = after_dead_holder_ms(ALL_UP, LIMIT_MS);
    /* The nodes' time starts before the holder knows of its grant. */
    check_took(-100, EXPIRY_SLACK_MS, took_ms, stalled_ms);
}

CASE(no_messages, "A waiter without subscriptions is served by its timer, within a second.")
{
    int64_t stalled_ms = pulse_stalled_ms();
    int64_t took_ms = without_messages_ms(ALL_UP, LIMIT_MS);
    check_took(0, SIGN_MS + SLACK_MS, took_ms, stalled_ms);
}
