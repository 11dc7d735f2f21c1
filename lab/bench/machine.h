/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine was doing meanwhile: without it noise looks like a difference. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stddef.h>
#include <stdint.h>

struct machine {
    int cores;
    char kernel[160];
    double load_before; /* load average of the last minute; negative: unknown */
    double load_after;
    double steal_percent; /* of all CPU time of the run, taken by the hypervisor */
    char server[48];
    size_t nodes;
    double floor_spread_percent; /* the same work in every round; negative: not measured */
    uint64_t cpu_start;          /* ticks of /proc/stat when the run began */
    uint64_t steal_start;
};

void machine_begin(struct machine *machine);
void machine_end(struct machine *machine);

#endif
