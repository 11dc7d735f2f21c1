/* SPDX-License-Identifier: BSD-2-Clause */
#include "wallclock.h"

#include "stepped_clock.h"

#include <stdatomic.h>

static _Atomic int64_t offset_ms;

void wallclock_step_ms(int64_t ms)
{
    offset_ms += ms;
}

int64_t stepped_clock_offset_ms(void)
{
    return offset_ms;
}
