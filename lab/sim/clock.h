/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock of a node or a client: it starts anywhere, runs a little too fast or too slow, and
 * may be set. Only the simulator knows the true time. */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdint.h>

struct sim_clock {
    int64_t offset_ns; /* what it showed at true time zero */
    int64_t rate_ppb;  /* how much faster than true time, in parts per billion */
    int64_t step_ns;   /* the sum of what it was set forward since */
};

int64_t sim_clock_read(const struct sim_clock *clock, int64_t true_ns);
/* The first true time at which it shows reading_ns or more; INT64_MAX stays that. */
int64_t sim_clock_when(const struct sim_clock *clock, int64_t reading_ns);

#endif
