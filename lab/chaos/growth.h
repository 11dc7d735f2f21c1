/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Did a process grow? Judged from the file of the sampler (sampler.h): of each process that
 * lived for at least half of the run, the median of the second quarter of its life is compared
 * with that of the last.
 */
#ifndef REDLOCK_CHAOS_GROWTH_H
#define REDLOCK_CHAOS_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    GROWTH_MAX = 64,            /* processes that are judged */
    MEMORY_KIB_PER_HOUR = 1024, /* what may be added in an hour between the two medians, */
    MEMORY_KIB = 512,           /* and in any case: allocators round up */
    DESCRIPTORS_PER_HOUR = 4,   /* a leak of one per fault would be hundreds */
    DESCRIPTORS = 8, /* connections of short-lived clients, at the moment of a sample */
    ZOMBIE_S = 30,
};

struct growth {
    char words[40];
    int pid;
    double from_s, to_s;
    long rss_kib[2], pss_kib[2], descriptors[2]; /* medians of the two quarters */
    double cpu_percent;                          /* of one core, over its life */
    bool memory_grew, descriptors_grew;
};

struct growths {
    struct growth growth[GROWTH_MAX];
    size_t count;
    size_t grew;      /* how many of them */
    size_t zombies;   /* processes that had ended for ZOMBIE_S, and were not reaped */
    size_t processes; /* that were seen at all */
    size_t samples;
};

/* False: the file cannot be read, or has nothing to judge. */
bool growths_read(const char *path, struct growths *out);
void growths_print(FILE *out, const struct growths *g);

#endif
