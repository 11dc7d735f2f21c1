/* SPDX-License-Identifier: BSD-2-Clause */
#include "protocol/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/wipe.h"

#define CAPACITY_FIRST 4096

static void wipe(struct rl_buffer *buffer, size_t from, size_t to)
{
    rl_wipe(buffer->bytes + from, to - from);
}

/* As realloc(), which leaves behind what it copied. */
static char *grow_secretly(struct rl_buffer *buffer, size_t capacity)
{
    char *bytes = malloc(capacity);

    if (!bytes)
        return NULL;
    memcpy(bytes, buffer->bytes, buffer->end);
    wipe(buffer, 0, buffer->end);
    free(buffer->bytes);
    return bytes;
}

static bool grow(struct rl_buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity ? buffer->capacity : CAPACITY_FIRST;

    while (capacity < needed)
        capacity *= 2;
    if (capacity > RL_BUFFER_MAX)
        return false;

    char *bytes = buffer->secret && buffer->bytes ? grow_secretly(buffer, capacity)
                                                  : realloc(buffer->bytes, capacity);

    if (!bytes)
        return false;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

char *rl_buffer_reserve(struct rl_buffer *buffer, size_t size)
{
    if (size > RL_BUFFER_MAX)
        return NULL;
    if (buffer->end + size > buffer->capacity && buffer->start > 0) {
        size_t kept = buffer->end - buffer->start;

        memmove(buffer->bytes, buffer->bytes + buffer->start, kept);
        if (buffer->secret)
            wipe(buffer, kept, buffer->end);
        buffer->end = kept;
        buffer->start = 0;
    }
    if (buffer->end + size > buffer->capacity && !grow(buffer, buffer->end + size))
        return NULL;
    return buffer->bytes + buffer->end;
}

size_t rl_buffer_size(const struct rl_buffer *buffer)
{
    return buffer->end - buffer->start;
}

void rl_buffer_take(struct rl_buffer *buffer, size_t size)
{
    if (buffer->secret)
        wipe(buffer, buffer->start, buffer->start + size);
    buffer->start += size;
    if (buffer->start == buffer->end)
        rl_buffer_clear(buffer);
}

void rl_buffer_clear(struct rl_buffer *buffer)
{
    if (buffer->secret)
        wipe(buffer, buffer->start, buffer->end);
    buffer->secret = false;
    buffer->start = buffer->end = 0;
    if (buffer->capacity > RL_BUFFER_KEPT)
        rl_buffer_free(buffer);
}

void rl_buffer_free(struct rl_buffer *buffer)
{
    if (buffer->secret)
        wipe(buffer, buffer->start, buffer->end);
    free(buffer->bytes);
    *buffer = (struct rl_buffer){0};
}
