/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How often this process allocated memory and entered the kernel, the library included: the
 * executable defines these functions, so the library calls them here.
 */
#ifndef BENCH_COUNTS_H
#define BENCH_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct counts {
    uint64_t allocations; /* malloc, calloc, realloc; of libc itself too */
    uint64_t calls;       /* system calls for input, output, waiting and timers; no futexes */
    uint64_t switches;    /* how often a thread gave its core up to wait */
};

struct counts counts_now(void);

/* False where allocations cannot be counted: another libc, or a sanitizer that wants to. */
bool counts_see_allocations(void);

#endif
