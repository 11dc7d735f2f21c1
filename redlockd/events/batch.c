/* SPDX-License-Identifier: BSD-2-Clause */
#include "events/batch.h"

#include <string.h>

bool batch_add(struct batch *batch, const char *name, const char *text, size_t size)
{
    size_t name_size = strlen(name) + 1;
    uint32_t at = batch->size;

    if (batch->count == BATCH_EVENTS || name_size + size > BATCH_BYTES - at)
        return false;
    batch->events[batch->count].name_at = at;
    batch->events[batch->count].text_at = at + (uint32_t)name_size;
    batch->events[batch->count].text_size = (uint32_t)size;
    memcpy(batch->bytes + at, name, name_size);
    memcpy(batch->bytes + at + name_size, text, size);
    batch->size += (uint32_t)(name_size + size);
    batch->count++;
    return true;
}

size_t batch_choose(const struct batch *batch,
                    bool (*sees)(const void *context, const char *name), const void *context,
                    char *out)
{
    size_t size = 0;

    for (unsigned i = 0; i < batch->count; i++) {
        if (!sees(context, batch->bytes + batch->events[i].name_at))
            continue;
        memcpy(out + size, batch->bytes + batch->events[i].text_at, batch->events[i].text_size);
        size += batch->events[i].text_size;
    }
    return size;
}

void batch_clear(struct batch *batch)
{
    batch->count = 0;
    batch->size = 0;
}
