/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes waiting to be sent: appended at the end, taken from the front. Grows to a bound and
 * gives memory back once it is empty, so that one burst is not paid for ever. While it is
 * secret, nothing that it held stays in memory: neither what was taken nor what it grew out of.
 */
#ifndef RL_BASE_BUFFER_H
#define RL_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#define RL_BUFFER_MAX (8u << 20)
#define RL_BUFFER_KEPT (64u << 10)

struct rl_buffer {
    char *bytes;
    size_t capacity;
    size_t start; /* first byte not taken yet */
    size_t size;  /* from there on */
    bool secret;  /* set by its owner, until it is empty or the owner clears it */
};

/*
 * Room for `size` more bytes at the end, or NULL (bound reached, or out of memory). What is
 * written there belongs to the buffer once its size has grown by that.
 */
char *rl_buffer_reserve(struct rl_buffer *buffer, size_t size);
void rl_buffer_take(struct rl_buffer *buffer, size_t size);
void rl_buffer_clear(struct rl_buffer *buffer);
void rl_buffer_free(struct rl_buffer *buffer);

#endif
