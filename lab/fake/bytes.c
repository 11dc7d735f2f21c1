/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/fake/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 256

void *fake_realloc(void *old, size_t size)
{
    void *memory = realloc(old, size);

    if (memory)
        return memory;
    fputs("sim: out of memory\n", stderr);
    abort();
}

void *fake_alloc(size_t size)
{
    void *memory = fake_realloc(NULL, size);

    memset(memory, 0, size);
    return memory;
}

void fake_bytes_add(struct fake_bytes *bytes, const void *data, size_t size)
{
    if (size == 0)
        return;
    if (bytes->size + size > bytes->capacity) {
        size_t capacity = bytes->capacity ? bytes->capacity : CAPACITY_FIRST;

        while (capacity < bytes->size + size)
            capacity *= 2;
        bytes->data = fake_realloc(bytes->data, capacity);
        bytes->capacity = capacity;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void fake_bytes_take(struct fake_bytes *bytes, size_t size)
{
    bytes->size -= size;
    if (bytes->size > 0)
        memmove(bytes->data, bytes->data + size, bytes->size);
}

void fake_bytes_free(struct fake_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct fake_bytes){0};
}
