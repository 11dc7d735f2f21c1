/* SPDX-License-Identifier: BSD-2-Clause */
/* A string of bytes that grows. Running out of memory ends the simulator. */
#ifndef FAKE_BYTES_H
#define FAKE_BYTES_H

#include <stddef.h>

struct fake_bytes {
    char *data;
    size_t size;
    size_t capacity;
};

void fake_bytes_add(struct fake_bytes *bytes, const void *data, size_t size);
/* Takes so many bytes away from the front. */
void fake_bytes_take(struct fake_bytes *bytes, size_t size);
void fake_bytes_free(struct fake_bytes *bytes);

/* Memory or the end: what the whole simulator allocates with. */
void *fake_alloc(size_t size);
void *fake_realloc(void *old, size_t size);

#endif
