/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/sim/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 256

void *sim_realloc(void *old, size_t size)
{
    void *memory = realloc(old, size);

    if (memory)
        return memory;
    fputs("sim: out of memory\n", stderr);
    abort();
}

void *sim_alloc(size_t size)
{
    void *memory = sim_realloc(NULL, size);

    memset(memory, 0, size);
    return memory;
}

void sim_bytes_add(struct sim_bytes *bytes, const void *data, size_t size)
{
    if (size == 0)
        return;
    if (bytes->size + size > bytes->capacity) {
        size_t capacity = bytes->capacity ? bytes->capacity : CAPACITY_FIRST;

        while (capacity < bytes->size + size)
            capacity *= 2;
        bytes->data = sim_realloc(bytes->data, capacity);
        bytes->capacity = capacity;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void sim_bytes_take(struct sim_bytes *bytes, size_t size)
{
    bytes->size -= size;
    if (bytes->size > 0)
        memmove(bytes->data, bytes->data + size, bytes->size);
}

void sim_bytes_free(struct sim_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct sim_bytes){0};
}
