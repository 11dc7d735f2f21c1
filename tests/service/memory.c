/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"

#include <stdbool.h>

static bool counting;
static size_t allocations, failing_number;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool fails(void)
{
    return counting && ++allocations == failing_number;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

void memory_count(size_t failing)
{
    allocations = 0;
    failing_number = failing;
    counting = true;
}

size_t memory_counted(void)
{
    counting = false;
    return allocations;
}
