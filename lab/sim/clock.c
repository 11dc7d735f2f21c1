/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/clock.h"

#define BILLION 1000000000

/* Split so that hours of nanoseconds times the rate fit. */
static int64_t scaled(int64_t ns, int64_t rate_ppb)
{
    return ns / BILLION * rate_ppb + ns % BILLION * rate_ppb / BILLION;
}

int64_t sim_clock_read(const struct sim_clock *clock, int64_t true_ns)
{
    return clock->offset_ns + clock->step_ns + true_ns + scaled(true_ns, clock->rate_ppb);
}

int64_t sim_clock_when(const struct sim_clock *clock, int64_t reading_ns)
{
    int64_t elapsed_ns;
    int64_t true_ns;

    if (reading_ns == INT64_MAX)
        return INT64_MAX;
    elapsed_ns = reading_ns - clock->offset_ns - clock->step_ns;
    true_ns = elapsed_ns - scaled(elapsed_ns, clock->rate_ppb);
    /* One round of correction brings it to within a few nanoseconds. */
    for (int i = 0; i < 3; i++)
        true_ns += reading_ns - sim_clock_read(clock, true_ns);
    while (sim_clock_read(clock, true_ns) < reading_ns)
        true_ns++;
    return true_ns;
}
