/* SPDX-License-Identifier: BSD-2-Clause */
/* A string of bytes that grows. Running out of memory ends the simulator. */
#ifndef SIM_BYTES_H
#define SIM_BYTES_H

#include <stddef.h>

struct sim_bytes {
    char *data;
    size_t size;
    size_t capacity;
};

void sim_bytes_add(struct sim_bytes *bytes, const void *data, size_t size);
/* Takes so many bytes away from the front. */
void sim_bytes_take(struct sim_bytes *bytes, size_t size);
void sim_bytes_free(struct sim_bytes *bytes);

/* Memory or the end: what the whole simulator allocates with. */
void *sim_alloc(size_t size);
void *sim_realloc(void *old, size_t size);

#endif
