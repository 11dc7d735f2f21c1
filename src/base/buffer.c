/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/wipe.h"

#define FIRST_CAPACITY 4096

static bool grow_buffer(struct rl_buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;
    char *bytes;

    while (capacity < needed)
        capacity *= 2;
    if (capacity > RL_BUFFER_MAX)
        return false;
    /* What realloc() copies it leaves behind. */
    bytes = buffer->secret ? malloc(capacity) : realloc(buffer->bytes, capacity);
    if (!bytes)
        return false;
    if (buffer->secret && buffer->bytes) {
        memcpy(bytes, buffer->bytes, buffer->start + buffer->size);
        rl_wipe(buffer->bytes, buffer->start + buffer->size);
        free(buffer->bytes);
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

char *rl_buffer_reserve(struct rl_buffer *buffer, size_t size)
{
    if (size > RL_BUFFER_MAX)
        return NULL;
    if (buffer->start + buffer->size + size > buffer->capacity && buffer->start > 0) {
        memmove(buffer->bytes, buffer->bytes + buffer->start, buffer->size);
        if (buffer->secret)
            rl_wipe(buffer->bytes + buffer->size, buffer->start);
        buffer->start = 0;
    }
    if (buffer->start + buffer->size + size > buffer->capacity &&
        !grow_buffer(buffer, buffer->size + size))
        return NULL;
    return buffer->bytes + buffer->start + buffer->size;
}

void rl_buffer_take(struct rl_buffer *buffer, size_t size)
{
    if (buffer->secret)
        rl_wipe(buffer->bytes + buffer->start, size);
    buffer->start += size;
    buffer->size -= size;
    if (buffer->size == 0)
        rl_buffer_clear(buffer);
}

void rl_buffer_clear(struct rl_buffer *buffer)
{
    if (buffer->secret)
        rl_wipe(buffer->bytes + buffer->start, buffer->size);
    buffer->secret = false;
    buffer->start = buffer->size = 0;
    if (buffer->capacity > RL_BUFFER_KEPT)
        rl_buffer_free(buffer);
}

void rl_buffer_free(struct rl_buffer *buffer)
{
    if (buffer->secret)
        rl_wipe(buffer->bytes + buffer->start, buffer->size);
    free(buffer->bytes);
    *buffer = (struct rl_buffer){0};
}
